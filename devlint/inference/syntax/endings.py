"""Endings: calls that don't return, and statements behind which nothing of a block runs.

    if not torch.cuda.is_available():
        pytest.skip("needs a card")

What stands behind the `if` runs with a card.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.syntax.text import dotted

_PROGRAM = frozenset({"sys.exit", "exit", "quit", "os._exit", "os.abort"})
_TEST = frozenset({"pytest.skip", "pytest.xfail", "pytest.fail", "pytest.exit", "skip"})
_TEST_METHODS = frozenset({"skipTest", "fail"})  # of unittest's cases
_LEAVING = (cst.Return, cst.Raise, cst.Continue, cst.Break)


def never_returns(node: cst.CSTNode) -> bool:
    """A call that ends the program, or the test: `sys.exit(1)`, `self.skipTest("no card")`."""
    if not isinstance(node, cst.Call):
        return False
    path = dotted(node.func)
    owner, _, name = path.rpartition(".")
    return path in _PROGRAM or path in _TEST or (owner == "self" and name in _TEST_METHODS)


def leaves(statement: cst.CSTNode | None) -> bool:
    """What follows in the block does not run."""
    if isinstance(statement, cst.Expr):
        return never_returns(statement.value)
    return isinstance(statement, _LEAVING)


def fails(statement: cst.CSTNode | None) -> bool:
    """The same, by an error or the end of the program or the test."""
    if isinstance(statement, cst.Expr):
        return never_returns(statement.value)
    return isinstance(statement, cst.Raise)
