"""Device contracts on real tensors: what ``devlint.contracts`` declares, checked as a program runs.

``check_contracts`` checks one function or class wherever it is called; inside a
``DeviceGuard(on_contract=...)`` every function of the user's that has a contract is checked.
Nothing is looked at otherwise: a contract by itself costs nothing.  The modules, lowest first:

    declarations: annotations and comments, read
    checks: a value held against them
    decorator: one function or class
    watch: all functions, while a guard is there
"""

from runtime_guard.contracts.checks import BrokenContract
from runtime_guard.contracts.declarations import signature_of
from runtime_guard.contracts.decorator import check_contracts
from runtime_guard.contracts.watch import Watch

__all__ = ["BrokenContract", "Watch", "check_contracts", "signature_of"]
