"""Expressions all of whose tensors are made in them: `torch.triu(torch.ones(n, n)) * 2`.

With them: expressions that are numbers for sure, and no tensors; and chains of assignments: one
line after the other binds a name, which nothing else reads.
"""

from __future__ import annotations

from functools import partial

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.host import Const, External, Host
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.program.declarations import Function
from devlint.inference.program.frames import Assigned, Frame
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import dotted, every, parts
from devlint.knowledge import Call, Result


def is_last_use(frame: Frame, latest: Assigned, moved: cst.BaseExpression) -> bool:
    """`x = x.to(d)`, `return x.to(d)`, or `y = x.exp().to(d)` where the function never reads `x`
    but to rebind it: nothing else reads the tensor before the move.

    A tensor that is no more than made, and moved under another name, mostly stands for data.
    """
    statement, name = frame.current, latest.name
    if isinstance(statement, cst.Return):
        return _mentions(statement, name) == 1
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0].target
    if isinstance(target, cst.Name) and target.value == name:
        return True
    if frame.function is None or _mentions(statement, name) != 1:
        return False
    if isinstance(moved, cst.Name) and assigned_before(frame, latest) is None:
        return False
    return _is_read_only_by(frame, latest)


def assigned_before(frame: Frame, latest: Assigned) -> Assigned | None:
    """`x = torch.ones(n)` before `x = x * 2`, and before `y = x * 2` where nothing else ever
    reads `x`."""
    before = latest.before
    if before is None or before.name == latest.name:
        return before
    reads = _mentions(latest.value, before.name)
    if frame.function is None or not reads:
        return None
    return before if _is_read_only_by(frame, before, reads) else None


def _is_read_only_by(frame: Frame, latest: Assigned, reads: int = 1) -> bool:
    """The function reads a name as often as that, and else only to rebind it."""
    function, name, known = frame.function, latest.name, reads
    assert function is not None
    step: Assigned | None = latest
    while step is not None and step.name == name:
        known += 1 + _mentions(step.value, name)
        step = step.before
    return function.outermost.names.counts(function.node, name)[0] == known


def _mentions(node: cst.CSTNode, name: str) -> int:
    return sum(each.value == name for each in every(node, cst.Name))


# They give no tensor whatever they are given; so do all functions of `math`.
_COUNTS = frozenset({"len", "int", "float", "round", "range"})


SIZES = frozenset({"size", "dim", "numel", "stride"})


# What their arguments count: sizes, bounds of counting.
_SIZED = frozenset({"arange", "zeros", "ones", "empty", "eye", "rand", "randn", "randperm"})


class _Sizes:
    """Of the functions of one file."""

    def __init__(self, unit: Unit) -> None:
        self.known: dict[Function, frozenset[str]] = {}


def _sizes_in(function: Function) -> frozenset[str]:
    """The names and attributes that a function gives to a factory for a size: numbers."""
    known = function.unit.kept(_Sizes).known
    if function not in known:
        calls = [c for c in every(function.node, cst.Call) if dotted(c.func).startswith("torch.")]
        sized = [c for c in calls if dotted(c.func)[6:] in _SIZED]
        known[function] = frozenset(
            dotted(each.value) for c in sized for each in c.args if each.keyword is None
        ) - {""}
    return known[function]


def is_number(frame: Frame, node: cst.CSTNode) -> bool:
    """No tensor for sure: literals, sizes, counts, and names of what was shown to be none."""
    if isinstance(node, (cst.Name, cst.Attribute)):
        function, path = frame.function, dotted(node)
        if function is not None and path in _sizes_in(function):
            return True
        if function is not None and function.says("counted-name", path):
            return True
        is_called_one = holds("one-number-name", path.rpartition(".")[2])
        held = alternatives(frame.eval(node))
        return all(is_host(v) or (is_called_one and _may_be_number(v)) for v in held)
    if isinstance(node, cst.Call):
        path, _, last = dotted(node.func).rpartition(".")
        return last in SIZES if path not in ("", "math") else path == "math" or last in _COUNTS
    if isinstance(node, cst.Subscript) and isinstance(node.value, cst.Attribute):
        return node.value.attr.value == "shape"
    return all(map(partial(is_number, frame), parts(node)))


def is_host(value: object) -> bool:
    """No tensor, as far as is known."""
    if type(value) is Tensor:
        return value.evidence is not None and value.evidence.is_host
    return type(value) in (Const, Host, External)


def _may_be_number(value: Value) -> bool:
    """Handed in, and not shown to be a tensor: beside a tensor of the host it would be one of the
    host, too."""
    if type(value) is not Tensor or value.evidence is None or value.origin is None:
        return False
    return value.origin.root.kind is StepKind.PARAMETER and not value.evidence.is_tensor


# The generator, or the host's own memory, is what the numbers come from.
BOUND = frozenset({"device", "generator", "out", "pin_memory"})


class FactoryExpression:
    """Whether all tensors of an expression are made in it, or in the line before that bound them
    to the name that this one replaces. `factories`: the calls that make them."""

    def __init__(self, frame: Frame, latest: Assigned | None) -> None:
        self.frame = frame
        self.latest = latest
        self.factories: list[cst.CSTNode] = []

    def holds(self, node: cst.BaseExpression) -> bool:
        if isinstance(node, cst.Name):
            return self._holds_name(node)
        if isinstance(node, cst.Call):
            return self._is_made_by(node)
        if isinstance(node, cst.UnaryOperation):
            return self.holds(node.expression)
        if isinstance(node, cst.BinaryOperation):
            return self._hold(node.left, node.right)
        if isinstance(node, cst.Comparison):
            return self._hold(node.left, *(each.comparator for each in node.comparisons))
        if isinstance(node, cst.Subscript):
            picked = all(is_number(self.frame, element) for element in node.slice)
            return picked and self.holds(node.value)
        return False

    def _holds_name(self, node: cst.Name) -> bool:
        """`x = torch.ones(n)`, then `x = x * 2`."""
        if self.latest is None or self.latest.name != node.value:
            return False
        earlier = FactoryExpression(self.frame, assigned_before(self.frame, self.latest))
        made = earlier.holds(self.latest.value)
        self.factories += earlier.factories
        return made

    def _hold(self, *operands: cst.BaseExpression) -> bool:
        made = [operand for operand in operands if self.holds(operand)]
        return bool(made) and all(each in made or is_number(self.frame, each) for each in operands)

    def _is_made_by(self, call: cst.Call) -> bool:
        """By a factory, or an operation on what is made here."""
        func = call.func
        known = _function(self.frame, func)
        if known is not None and known.result is Result.DEVICE:
            self.factories.append(call)
            words = {each.keyword.value for each in call.args if each.keyword is not None}
            return not words & BOUND
        operands: list[cst.BaseExpression] = []
        if known is None and isinstance(func, cst.Attribute):
            known = self.frame.unit.context.knowledge.methods.get(func.attr.value)
            operands.append(func.value)
        if known is None or known.result not in (Result.OPERANDS, Result.FIRST):
            return False
        given = _operands(known, call)
        return given is not None and self._hold(*operands, *given)


def _operands(known: Call, call: cst.Call) -> list[cst.BaseExpression] | None:
    """What is given to parameters that take tensors, the elements of a list one by one."""
    found: list[cst.BaseExpression] = []
    for index, argument in enumerate(call.args):
        if argument.star:
            return None
        params = known.params
        at = params[min(index, len(params) - 1)] if params else ""
        name = argument.keyword.value if argument.keyword is not None else at
        if name in BOUND:
            return None
        if name not in known.tensors | known.indices:
            continue
        value = argument.value
        if isinstance(value, (cst.List, cst.Tuple)):
            found += [element.value for element in value.elements]
        else:
            found.append(value)
    return found


def _function(frame: Frame, func: cst.BaseExpression) -> Call | None:
    """What is known of a function of torch, by the name that it is called by."""
    functions = frame.unit.context.knowledge.functions
    if isinstance(func, cst.Name):
        value = frame.eval(func)
        return functions.get(value.name) if type(value) is External else None
    if isinstance(func, cst.Attribute) and isinstance(func.value, (cst.Name, cst.Attribute)):
        owner = frame.eval(func.value)
        return functions.get(f"{owner.name}.{func.attr.value}") if type(owner) is External else None
    return None
