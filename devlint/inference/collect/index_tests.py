"""Numbers of cards that are asked for their truth: the number of the first card is false.

    device = torch.device(f"cuda:{gpu}") if gpu else torch.device("cpu")

`gpu` is None where no card is chosen, and a number else. Under a test for its truth it is taken for
the number of a card, and card 0 goes the other way. It does no harm where that leads to the first
card, too (`else "cuda"`), and where a branch only makes a card the current one, as card 0 is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import libcst as cst

from devlint.inference.collect.index_declarations import Declarations, Parents, scope_of
from devlint.inference.conventions import found, holds
from devlint.inference.domain.provenance import Site
from devlint.inference.facts import IndexTest
from devlint.inference.program.units import Unit
from devlint.inference.syntax.card_numbers import CardNumber, card_numbers
from devlint.inference.syntax.text import called_name, code, dotted, every, parents_below, shorten
from devlint.records import NamedTuple

_SCOPES = (cst.FunctionDef, cst.Lambda, cst.ClassDef)
_MOVES = frozenset({"cuda", "to"})


class _Guard(NamedTuple):
    """A condition that asks a value for its truth, and the branch where that is true."""

    choice: cst.If | cst.IfExp
    branch: cst.CSTNode
    asked: cst.BaseExpression  # `gpu`, of `not gpu` the whole
    is_negated: bool

    @property
    def other(self) -> cst.CSTNode | None:
        """The other branch."""
        choice = self.choice
        return choice.orelse if self.branch is choice.body else choice.body


def settle(unit: Unit) -> None:
    """Note the numbers of cards whose truth decides whether the card is used."""
    text = unit.source.text
    named = set(found("card-number", text))
    asked = {name for name in named if holds("truth-asked", text, name)}
    if not asked:
        return
    numbers = [each for each in card_numbers(unit.tree) if dotted(each.subject) in asked]
    parents = parents_below(unit.tree) if numbers else {}
    declarations = Declarations(unit.tree, parents)
    noted: dict[cst.CSTNode, IndexTest] = {}
    for number in numbers:
        guard = _guard_of(number, parents)
        if guard is None or guard.asked in noted or _is_bound(guard.branch, dotted(number.subject)):
            continue
        declared = declarations.of(number)
        if declared is None or dotted(number.subject) in declarations.counts:
            continue
        if _stays_behind(declarations, guard, number):
            site, used = Site(unit.source, guard.asked), Site(unit.source, number.node)
            noted[guard.asked] = IndexTest(
                site,
                dotted(number.subject),
                guard.is_negated,
                used,
                shorten(number.node),
                Site(unit.source, declared.node),
                declared.absent,
            )
    unit.facts.index_tests += noted.values()


def _guard_of(number: CardNumber, parents: Parents) -> _Guard | None:
    """The nearest condition, in the same function, that asks for the truth of the number."""
    path = dotted(number.subject)
    node: cst.CSTNode = number.node
    while node in parents:
        inner, node = node, parents[node]
        if isinstance(node, _SCOPES):
            return None
        if isinstance(node, (cst.If, cst.IfExp)) and inner is not node.test:
            asked = _asked(node.test, path, inner is node.body)
            if asked is not None:
                return _Guard(node, inner, asked, isinstance(asked, cst.UnaryOperation))
    return None


def _asked(test: cst.BaseExpression, path: str, outcome: bool) -> cst.BaseExpression | None:
    """The part of a condition that asks for the truth of a value, which is true where the
    condition came out so: `gpu` of `gpu and available`, and `not gpu`, where that is false."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return test if not outcome and dotted(test.expression) == path else None
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And) is outcome:
        left = _asked(test.left, path, outcome)
        return left if left is not None else _asked(test.right, path, outcome)
    return test if outcome and dotted(test) == path else None


def _is_bound(branch: cst.CSTNode, path: str) -> bool:
    """The branch gives it another value."""
    bound: Iterator[cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.NamedExpr | cst.For]
    bound = chain(
        every(branch, cst.AssignTarget),
        every(branch, cst.AugAssign),
        every(branch, cst.AnnAssign),
        every(branch, cst.NamedExpr),
        every(branch, cst.For),
    )
    return any(dotted(each.target) == path for each in bound)


def _stays_behind(file: Declarations, guard: _Guard, number: CardNumber) -> bool:
    """What is done with a card is done on the host, or not at all, without one."""
    other = guard.other
    if other is not None:
        leads = _leads(other, by_none=isinstance(guard.choice, cst.IfExp))
        if leads is not None or isinstance(guard.choice, cst.IfExp):
            return leads is True
    if not number.selects:
        return _is_elsewhere(file, guard, number)
    around = scope_of(number.node, file.parents) or file.tree
    moves = _moved(guard.branch, number.node)
    return bool(moves) and moves.isdisjoint(_moved(around, guard.branch))


def _leads(other: cst.CSTNode, by_none: bool) -> bool | None:
    """The other branch leads to the host, and to no card; None if it says nothing."""
    text = code(other)
    if "cuda" in text or "gpu" in text:
        return False
    return True if "cpu" in text or (by_none and text == "None") else None


def _is_elsewhere(file: Declarations, guard: _Guard, number: CardNumber) -> bool:
    """By what the statement does with the number: what it moves nobody else moves; what it binds,
    or returns, is the host else."""
    around = scope_of(number.node, file.parents) or file.tree
    node: cst.CSTNode = number.node
    while node is not guard.branch:
        if isinstance(node, cst.Call) and called_name(node) in _MOVES:
            moved = _receiver(node)
            return bool(moved) and moved not in _moved(around, guard.branch)
        if isinstance(node, cst.Assign):
            path = dotted(node.targets[0].target)
            inside = set(file.values(guard.branch, path))
            return bool(path) and _is_host(set(file.values(around, path)) - inside)
        if isinstance(node, cst.Return):
            return _is_host(_returned(around) - _returned(guard.branch))
        node = file.parents[node]
    return False


def _returned(within: cst.CSTNode) -> set[cst.BaseExpression]:
    return {each.value for each in every(within, cst.Return) if each.value is not None}


def _is_host(values: Iterable[cst.BaseExpression]) -> bool:
    """One of these leads to the host, and none to a card."""
    leads = [_leads(value, by_none=False) for value in values]
    return True in leads and False not in leads


def _moved(within: cst.CSTNode, but: cst.CSTNode) -> set[str]:
    """What is moved in a part of the code, but not in a part of that."""
    left_out = set(every(but, cst.Call))
    calls = (call for call in every(within, cst.Call) if call not in left_out)
    return {_receiver(call) for call in calls if called_name(call) in _MOVES} - {""}


def _receiver(call: cst.Call) -> str:
    return dotted(call.func.value) if isinstance(call.func, cst.Attribute) else ""
