"""The host's use of what it reads from the device, as the text of the function shows."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from functools import lru_cache

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.facts import Facts, Sync
from devlint.inference.syntax.text import dotted, parts
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.chains import REDUCTIONS
from devlint_rules.helpers.scopes import function_around


class Use(enum.IntEnum):
    """In the order in which one use outweighs another."""

    INDEX = enum.auto()  # it picks a layer, an element of a list, a branch by number
    SIZE = enum.auto()  # of a range, a slice or a shape
    TESTED = enum.auto()
    HANDED_ON = enum.auto()  # to a function that computes with it
    SUMMED = enum.auto()
    KEPT = enum.auto()
    SHOWN = enum.auto()
    RETURNED = enum.auto()
    OTHER = enum.auto()


_CONVERTS = re.compile(r"float|int|round|str|bool|max|min|abs|sum|len|list|tuple|math\.\w+")
_SIZES = re.compile(
    r"range|view|reshape|expand|repeat|(new_)?(zeros|ones|empty|full)|arange|rand\w*|linspace"
    r"|narrow|split|chunk|topk|pad|eye"
)
_SHOWS = re.compile(
    r"print|log\w*|info|debug|warning|write\w*|add_\w+|set_\w+|format|report\w*|update\w*|record\w*"
)
_KEEPS = re.compile(r"append|extend|insert|put|setdefault|dict|add")
_TESTS = (cst.Comparison, cst.BooleanOperation, cst.If, cst.While, cst.Assert, cst.IfExp)
_PASSED = (
    cst.Arg,
    cst.Element,
    cst.DictElement,
    cst.BinaryOperation,
    cst.UnaryOperation,
    cst.Tuple,
)
_HOLDERS = (cst.List, cst.Dict)


def use_of(facts: Facts, sync: Sync) -> Use:
    """The weightiest use of a value that the host has read."""
    if sync.is_operand:
        return Use.HANDED_ON
    if sync.call in ("if", "while", "assert"):
        return Use.TESTED
    return min(_uses(facts, facts.source.tree, sync.site.node), default=Use.OTHER)


def _uses(
    facts: Facts, tree: cst.Module, node: cst.CSTNode, follow: bool = True, whole: bool = False
) -> Iterator[Use]:
    """whole: it was made a whole number, which no 0-dim tensor stands for."""
    listed = isinstance(node, cst.Call) and _method(node) == "tolist"  # `rows += x.tolist()`
    inner, whole = node, whole or (isinstance(node, cst.Call) and dotted(node.func) == "int")
    for step in path_to(tree, node):
        if isinstance(step, cst.Call) and step.func is not inner:
            name = dotted(step.func) or _method(step)
            whole = whole or name == "int"
            if _makes_object(name):
                yield Use.INDEX
                return
            if _CONVERTS.fullmatch(name) is None:
                use = _by_callee(name.rpartition(".")[2])
                yield Use.INDEX if whole and use is Use.HANDED_ON else use
                return
        elif isinstance(step, cst.BinaryOperation) and _is_text(step.left):
            yield Use.SHOWN
            return
        elif isinstance(step, (cst.Assign, cst.AnnAssign)):
            names = _names(step)
            if follow and names:
                scope = function_around(facts, node) or tree
                for name in names:
                    for read in reads_in(tree, scope).get(name, ()):
                        yield from _uses(facts, tree, read, False, whole)
            else:
                yield Use.KEPT
            return
        else:
            use_here = _by_place(step, inner)
            if use_here is not None:
                yield Use.KEPT if listed and use_here is Use.SUMMED else use_here
                return
            listed = listed or (isinstance(step, cst.Call) and _method(step) == "tolist")
        inner = step


def is_reduced(facts: Facts, node: cst.CSTNode) -> bool:
    """A value is made smaller at once: `x[mask].mean()`, `torch.sum(x[mask])`; or all that reads
    the name that it is bound to does so, or asks how many there are."""
    tree = facts.source.tree
    path = list(path_to(tree, node))
    if _is_reduced_in(path):
        return True
    bound = next((step for step in path if isinstance(step, (cst.Assign, cst.AnnAssign))), None)
    if bound is None or bound.value is not node:
        return False
    known = reads_in(tree, function_around(facts, node) or tree)
    paths = [list(path_to(tree, read)) for n in _names(bound) for read in known.get(n, ())]
    used = [path for path in paths if not _is_counted(path)]
    return bool(used) and all(map(_is_reduced_in, used))


def _is_counted(path: list[cst.CSTNode]) -> bool:
    """`len(rows)`, `rows.numel()`, `rows.shape[0]`."""
    if path and isinstance(path[0], cst.Attribute) and path[0].attr.value == "shape":
        return True
    call = next((step for step in path if isinstance(step, (cst.Call, cst.BaseStatement))), None)
    names = ("len", "numel", "size")
    return isinstance(call, cst.Call) and (_method(call) or dotted(call.func)) in names


def _is_reduced_in(path: list[cst.CSTNode]) -> bool:
    """The innermost call around a value reduces it: the value's own method, or it is handed in."""
    call = next((step for step in path if isinstance(step, (cst.Call, cst.BaseStatement))), None)
    if not isinstance(call, cst.Call):
        return False
    return (_method(call) or dotted(call.func)) in REDUCTIONS


def _by_place(step: cst.CSTNode, inner: cst.CSTNode) -> Use | None:
    """The use that a place in the code makes of a value; None where that is passed on."""
    if isinstance(step, cst.FormattedStringExpression):
        return Use.SHOWN
    if isinstance(step, cst.IfExp):
        return Use.TESTED if step.test is inner else None
    if isinstance(step, _TESTS):
        return Use.TESTED
    if isinstance(step, cst.Slice):
        return Use.SIZE
    if isinstance(step, cst.Index):
        return Use.INDEX
    if isinstance(step, cst.Return):
        return Use.RETURNED
    if isinstance(step, cst.AugAssign):
        return Use.SUMMED
    if isinstance(step, _HOLDERS):
        return Use.KEPT
    if isinstance(step, (*_PASSED, cst.Attribute, cst.Call)):
        return None
    return Use.OTHER


def _makes_object(name: str) -> bool:
    """`State(number)`, of a class of Python's or of the project's: it may be no tensor."""
    head, _, last = name.rpartition(".")
    return holds("class-name", last) and not head.startswith(("torch", "nn"))


def _by_callee(name: str) -> Use:
    for known, use in ((_SIZES, Use.SIZE), (_SHOWS, Use.SHOWN), (_KEEPS, Use.KEPT)):
        if known.fullmatch(name):
            return use
    return Use.HANDED_ON


def _method(call: cst.Call) -> str:
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else ""


def _is_text(node: cst.CSTNode) -> bool:
    return isinstance(node, (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString))


def _names(node: cst.Assign | cst.AnnAssign) -> list[str]:
    targets = [node.target] if isinstance(node, cst.AnnAssign) else [t.target for t in node.targets]
    return [target.value for target in targets if isinstance(target, cst.Name)]


Reads = dict[str, list[cst.CSTNode]]


def reads_in(tree: cst.Module, scope: cst.CSTNode) -> Reads:
    """The places in a function, or in the file, where each name is read."""
    known = _known_reads(tree)
    if scope not in known:
        known[scope] = {}
        for read in names_read(scope):
            known[scope].setdefault(read.value, []).append(read)
    return known[scope]


@lru_cache(maxsize=1)  # the file under check
def _known_reads(tree: cst.Module) -> dict[cst.CSTNode, Reads]:
    return {}


def names_read(scope: cst.CSTNode) -> Iterator[cst.Name]:
    waiting = [scope]
    while waiting:
        current = waiting.pop()
        if isinstance(current, cst.Name):
            yield current
        elif isinstance(current, (cst.AssignTarget, cst.Param)):
            continue
        elif isinstance(current, (cst.Attribute, cst.Arg)):
            waiting.append(current.value)
        else:
            waiting += parts(current)
