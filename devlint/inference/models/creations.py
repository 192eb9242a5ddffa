"""Tensors that are made only to be moved: the factory, where all that is moved is made here.

`torch.zeros(n).to(d)`, `torch.triu(torch.ones(n, n)).to(d)`, `(torch.ones(n) * k).to(d)`: there is
no tensor in it that anybody else has made, so that it could be made where it goes to. It may come
by way of names, if all that reads these leads to a move, and out of a function of the file that
makes all that it returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import Const, External, Host
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import DEFAULT, Tensor
from devlint.inference.domain.value import UNKNOWN, Value, alternatives
from devlint.inference.program.declarations import Function
from devlint.inference.program.frames import Assigned, Frame
from devlint.inference.program.units import Unit
from devlint.inference.program.values import FunctionValue, Instance
from devlint.inference.syntax.definitions import Definition, Definitions
from devlint.inference.syntax.loops import targets_of
from devlint.inference.syntax.text import called_name, code, dotted, every, names_in, parts
from devlint.knowledge import Call, Result

# They give no tensor whatever they are given; so do all functions of `math`.
_COUNTS = frozenset({"len", "int", "float", "round", "range"})


_SIZES = frozenset({"size", "dim", "numel", "stride"})
# To ask for these, nothing has to be on the host.
_SHAPES = _SIZES | {"shape", "ndim", "dtype"}

_WRITING = (cst.Assign, cst.AugAssign)
_OF_DATA = ("torch.tensor", "torch.as_tensor")
# On the way from a name to what is moved.
_PASSING = (
    cst.Arg,
    cst.Call,
    cst.BinaryOperation,
    cst.UnaryOperation,
    cst.Comparison,
    cst.ComparisonTarget,
    cst.Tuple,
    cst.List,
    cst.Element,
    cst.Subscript,
    cst.SubscriptElement,
    cst.Index,
)


# The generator, or the host's own memory, is what the numbers come from.
_BOUND = frozenset({"device", "generator", "out", "pin_memory"})


class Creation(NamedTuple):
    """The factory call of a tensor that is moved. `apart`: other statements stand in between."""

    factory: cst.CSTNode
    apart: bool = False


def creation_of(frame: Frame, tensor: Tensor, node: cst.BaseExpression) -> Creation | None:
    """The creation of a tensor that is only made to be moved: in the same expression, by a name
    that the statement before assigned, or by names that are read for nothing else."""
    origin = tensor.origin
    if origin is None or not _is_made_by_default(tensor):
        return None
    factory = origin.root.node
    if _is_made_at_once(frame, factory, node):
        return Creation(factory)
    if frame.function is None:
        return None
    flow = _Flow(frame, factory)
    return Creation(factory, apart=True) if flow.leads_from_factory(node) else None


def _is_made_by_default(tensor: Tensor) -> bool:
    """Made on the default device, and nothing but computed with since then."""
    origin = tensor.origin
    if origin is None or origin.root.kind is not StepKind.CREATED or not tensor.traits & DEFAULT:
        return False
    return all(step.kind is StepKind.COMPUTED for step in origin.chain() if step.parent)


def _is_made_at_once(frame: Frame, factory: cst.CSTNode, node: cst.BaseExpression) -> bool:
    latest = frame.fresh
    if latest is not None and not _is_last_use(frame, latest, node):
        latest = None
    if isinstance(node, cst.Name):
        if latest is None or latest.name != node.value:
            return False
        node, latest = latest.value, _before(frame, latest)
    made = _Made(frame, latest)
    if factory is node or is_receiver(factory, node):
        return True
    return made.holds(node) and factory in made.factories


def note_result(frame: Frame, node: cst.BaseExpression, value: Value) -> None:
    """Remember of a function whether it makes all that it returns here: whoever moves that could
    have it made there."""
    function = frame.function
    if function is None:
        return
    tensors = (value.items or ()) if type(value) is Sequence else (value,)
    roots: list[cst.CSTNode] = []
    for tensor in tensors:
        if type(tensor) is not Tensor or not _is_made_by_default(tensor):
            roots.clear()
            break
        assert tensor.origin is not None
        roots.append(tensor.origin.root.node)
    function.makes[node] = ()
    if roots:  # most functions return something else, and need no look at their names
        flow = _Flow(frame, None)
        if flow.is_returned(node) and all(each in flow.factories for each in roots):
            function.makes[node] = tuple(flow.factories)


def _is_last_use(frame: Frame, latest: Assigned, moved: cst.BaseExpression) -> bool:
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
    if isinstance(moved, cst.Name) and _before(frame, latest) is None:
        return False
    return _is_read_only_by(frame, latest)


def _before(frame: Frame, latest: Assigned) -> Assigned | None:
    """`x = torch.ones(n)` before `x = x * 2`, and before `y = x * 2` where nothing else ever
    reads `x`."""
    before = latest.before
    if before is None or before.name == latest.name or not _mentions(latest.value, before.name):
        return before if before is not None and before.name == latest.name else None
    if frame.function is None:
        return None
    read = _mentions(latest.value, before.name)
    return before if _is_read_only_by(frame, before, read) else None


def _is_read_only_by(frame: Frame, latest: Assigned, reads: int = 1) -> bool:
    """The function reads a name as often as that, and else only to rebind it."""
    assert frame.function is not None
    name, known = latest.name, reads
    step: Assigned | None = latest
    while step is not None and step.name == name:
        known += 1 + _mentions(step.value, name)
        step = step.before
    return _mentions(frame.function.node, name) == known


def _mentions(node: cst.CSTNode, name: str) -> int:
    return sum(each.value == name for each in every(node, cst.Name))


def is_receiver(inner: cst.CSTNode, node: cst.CSTNode) -> bool:
    """`inner.op().op().to(…)`: the whole path from `inner` to `node` is one chain of methods."""
    while isinstance(node, (cst.Call, cst.Attribute)):
        node = node.func if isinstance(node, cst.Call) else node.value
        if node is inner:
            return True
    return False


class _Made:
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
            picked = all(_is_number(self.frame, element) for element in node.slice)
            return picked and self.holds(node.value)
        return False

    def _holds_name(self, node: cst.Name) -> bool:
        """`x = torch.ones(n)`, then `x = x * 2`."""
        if self.latest is None or self.latest.name != node.value:
            return False
        before = _Made(self.frame, _before(self.frame, self.latest))
        made = before.holds(self.latest.value)
        self.factories += before.factories
        return made

    def _hold(self, *operands: cst.BaseExpression) -> bool:
        made = [operand for operand in operands if self.holds(operand)]
        return bool(made) and all(each in made or _is_number(self.frame, each) for each in operands)

    def _is_made_by(self, call: cst.Call) -> bool:
        """By a factory, or an operation on what is made here."""
        func = call.func
        known = _function(self.frame, func)
        if known is not None and known.result is Result.DEVICE:
            self.factories.append(call)
            words = {each.keyword.value for each in call.args if each.keyword is not None}
            return not words & _BOUND
        operands: list[cst.BaseExpression] = []
        if known is None and isinstance(func, cst.Attribute):
            known = self.frame.unit.context.knowledge.methods.get(func.attr.value)
            operands.append(func.value)
        if known is None or known.result not in (Result.OPERANDS, Result.FIRST):
            return False
        given = _operands(known, call)
        return given is not None and self._hold(*operands, *given)


MAX_READS = 16  # of one value: what so many read serves more than one move


class _Flow(_Made):
    """Whether names hold what is made in the function, and all that reads them leads to moves to
    one device, or to what the function returns."""

    def __init__(self, frame: Frame, factory: cst.CSTNode | None) -> None:
        super().__init__(frame, None)
        assert frame.function is not None
        self.factory = factory
        self.definitions = _definitions_in(frame.function)
        self.known: dict[Definition, bool] = {}  # taken for granted while it is being asked for
        self.targets: set[str] = set()
        self.returns = False
        self.loop: cst.CSTNode | None = None

    def _is_made_by(self, call: cst.Call) -> bool:
        if dotted(call.func) in _OF_DATA and self._is_of_data(call):
            self.factories.append(call)
            return True
        returned = _returned_by(self.frame, call.func)
        self.factories += returned
        return bool(returned) or super()._is_made_by(call) or self._is_computed_by(call)

    def _is_computed_by(self, call: cst.Call) -> bool:
        """By a function of the file that is given nothing but what is made here, and that reads no
        tensors of its object."""
        function = _function_called(self.frame, call.func)
        if function is None:
            return False
        own = [a for a in every(function.node, cst.Attribute) if dotted(a).startswith("self.")]
        held = [each for a in own for each in alternatives(self.frame.eval(a))]
        if any(type(each) in (Tensor, Instance, FunctionValue) for each in held):
            return False
        return self._hold(*(argument.value for argument in call.args))

    def _is_of_data(self, call: cst.Call) -> bool:
        """`torch.tensor(rows)`, of what is no tensor as far as names show."""
        words = {each.keyword.value for each in call.args if each.keyword is not None}
        names = [name for each in call.args[:1] for name in names_in(each.value)]
        held = [self.frame.lookup(name) or UNKNOWN for name in names]
        known = [each for value in held for each in alternatives(value)]
        return not words & _BOUND and all(type(v) is not Tensor or _is_host(v) for v in known)

    def leads_from_factory(self, node: cst.BaseExpression) -> bool:
        """Of what is moved."""
        self.loop = self.definitions.loop_around(node)
        return self.holds(node) and self.factory in self.factories and len(self.targets) < 2

    def is_returned(self, node: cst.BaseExpression) -> bool:
        """Of what is returned: the elements of a tuple one by one."""
        self.returns, self.loop = True, self.definitions.loop_around(node)
        parts = [e.value for e in node.elements] if isinstance(node, cst.Tuple) else [node]
        return all(map(self.holds, parts))

    def _holds_name(self, node: cst.Name) -> bool:
        found = self.definitions.reaching(node)
        return found is not None and self._is_spent(found)

    def _is_spent(self, found: Definition) -> bool:
        """It holds what is made here, and nothing reads it but on the way to a move."""
        if found not in self.known:
            self.known[found] = True
            self.known[found] = (
                found.loop is self.loop
                and len(found.reads) <= MAX_READS
                and self.holds(found.value)
                and all(map(self._is_led_on, found.reads))
            )
        return self.known[found]

    def _is_led_on(self, read: cst.Name) -> bool:
        inner: cst.CSTNode = read
        for around in self.definitions.around(read):
            if isinstance(around, cst.Attribute):
                if around.attr.value in _SHAPES:
                    return True
            elif isinstance(around, cst.Call) and around.func is inner:
                target = _moved_to(around)
                if target:
                    self.targets.add(target)
                    return self.definitions.loop_around(around) is self.loop and self._is_made(
                        around
                    )
            elif isinstance(around, (cst.AssignTarget, cst.AugAssign, cst.Expr)):
                return self._is_written_with(around, inner)
            elif isinstance(around, cst.Assign):
                made = self.definitions.made_by(around.value)
                return bool(made) and all(map(self._is_spent, made))
            elif isinstance(around, cst.Return):
                return self.returns
            elif not isinstance(around, _PASSING):
                return False
            inner = around
        return False

    def _is_written_with(self, around: cst.CSTNode, inner: cst.CSTNode) -> bool:
        """`mask[rows] = 1`, `mask.fill_diagonal_(0)`: with nothing but what is made here."""
        if isinstance(around, cst.Expr):
            in_place = isinstance(inner, cst.Call) and called_name(inner).endswith("_")
            return in_place and self.holds(around.value)
        statement = next(self.definitions.around(around), around)
        written = around if isinstance(around, cst.AugAssign) else statement
        if not isinstance(inner, cst.Subscript) or not isinstance(written, _WRITING):
            return False
        loops = [*self._loops_around(written)]
        if not all(map(self._goes_over_slices, loops)):
            return False  # the host fills it sooner than as many kernels would
        bound = {name for loop in loops for name in targets_of(loop)}
        given = [e for e in inner.slice if not bound.issuperset(names_in(e)) or not names_in(e)]
        if not all(_is_number(self.frame, element) for element in given):
            return False  # a list of rows would be copied to the device
        return _is_number(self.frame, written.value) or self.holds(written.value)

    def _loops_around(self, node: cst.CSTNode) -> Iterator[cst.For | cst.While]:
        """Those inside the loop that is around the move."""
        for around in self.definitions.around(node):
            if around is self.loop:
                return
            if isinstance(around, (cst.For, cst.While)):
                yield around

    def _goes_over_slices(self, loop: cst.For | cst.While) -> bool:
        """`for rows in (slice(0, 3), slice(3, None))`: they are written out, and few."""
        over = loop.iter if isinstance(loop, cst.For) else None
        found = self.definitions.reaching(over) if isinstance(over, cst.Name) else None
        held = found.value if found is not None else over
        elements = held.elements if isinstance(held, (cst.Tuple, cst.List)) else ()
        calls = [e.value for e in elements if isinstance(e.value, cst.Call)]
        return (
            bool(calls)
            and len(calls) == len(elements)
            and all(dotted(call.func) == "slice" for call in calls)
        )

    def _is_made(self, move: cst.Call) -> bool:
        assert isinstance(move.func, cst.Attribute)
        return self.holds(move.func.value)


def _moved_to(call: cst.Call) -> str:
    """The device that a call moves to, as it is written; "" where it moves to none."""
    func = call.func
    name = func.attr.value if isinstance(func, cst.Attribute) else ""
    given = [code(each.value) for each in call.args]
    if name == "cuda":
        return f"cuda {given}"
    if name not in ("to", "type_as") or not given:
        return ""
    is_dtype = given[0].startswith("torch.") and not given[0].startswith("torch.device")
    return "" if is_dtype else given[0].removesuffix(".device")


def _returned_by(frame: Frame, func: cst.BaseExpression) -> list[cst.CSTNode]:
    """The factories of what a function of the file returns, if it makes all of it."""
    function = _function_called(frame, func)
    makes = function.makes if function is not None else {}
    return [each for made in makes.values() for each in made] if all(makes.values()) else []


def _function_called(frame: Frame, func: cst.BaseExpression) -> Function | None:
    """A function of the file, or a method of the object."""
    if not isinstance(func, cst.Name) and not dotted(func).startswith("self."):
        return None
    value = frame.eval(func)
    is_own = type(value) is FunctionValue and value.function.unit is frame.unit
    return value.function if is_own and type(value) is FunctionValue else None


class _DefinitionsOf:
    """Of the functions of one file."""

    def __init__(self, unit: Unit) -> None:
        self.known: dict[Function, Definitions] = {}
        self.sizes: dict[Function, frozenset[str]] = {}


def _definitions_in(function: Function) -> Definitions:
    known = function.unit.kept(_DefinitionsOf).known
    if function not in known:
        names = [each.name for each in function.parameters]
        known[function] = Definitions(function.node.body, names)
    return known[function]


# What their arguments count: sizes, bounds of counting.
_SIZED = frozenset({"arange", "zeros", "ones", "empty", "eye", "rand", "randn", "randperm"})


def _sizes_in(function: Function) -> frozenset[str]:
    """The names and attributes that a function gives to a factory for a size: numbers."""
    known = function.unit.kept(_DefinitionsOf).sizes
    if function not in known:
        calls = [c for c in every(function.node, cst.Call) if dotted(c.func).startswith("torch.")]
        sized = [c for c in calls if dotted(c.func)[6:] in _SIZED]
        known[function] = frozenset(
            dotted(each.value) for c in sized for each in c.args if each.keyword is None
        ) - {""}
    return known[function]


def _operands(known: Call, call: cst.Call) -> list[cst.BaseExpression] | None:
    """What is given to parameters that take tensors, the elements of a list one by one."""
    found: list[cst.BaseExpression] = []
    for index, argument in enumerate(call.args):
        if argument.star:
            return None
        params = known.params
        at = params[min(index, len(params) - 1)] if params else ""
        name = argument.keyword.value if argument.keyword is not None else at
        if name in _BOUND:
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


def _is_number(frame: Frame, node: cst.CSTNode) -> bool:
    """No tensor for sure: literals, sizes, counts, and names of what was shown to be none."""
    if isinstance(node, (cst.Name, cst.Attribute)):
        function, path = frame.function, dotted(node)
        if function is not None and path in _sizes_in(function):
            return True
        if function is not None and function.says("counted-name", path):
            return True
        return all(map(_is_host, alternatives(frame.eval(node))))
    if isinstance(node, cst.Call):
        path, _, last = dotted(node.func).rpartition(".")
        return last in _SIZES if path not in ("", "math") else path == "math" or last in _COUNTS
    if isinstance(node, cst.Subscript) and isinstance(node.value, cst.Attribute):
        return node.value.attr.value == "shape"
    return all(map(partial(_is_number, frame), parts(node)))


def _is_host(value: object) -> bool:
    if type(value) is Tensor:
        return value.evidence is not None and value.evidence.is_host
    return type(value) in (Const, Host, External)
