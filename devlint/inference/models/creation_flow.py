"""Flow of what is made: whether all that reads its names leads to moves, or is returned."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import UNKNOWN, alternatives
from devlint.inference.models.factory_expressions import (
    BOUND,
    SIZES,
    FactoryExpression,
    is_host,
    is_number,
)
from devlint.inference.program.declarations import Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.program.values import FunctionValue, Instance
from devlint.inference.syntax.definitions import Definition, Definitions
from devlint.inference.syntax.loops import targets_of
from devlint.inference.syntax.text import called_name, code, dotted, every, names_in

# To ask for these, nothing has to be on the host.
_SHAPES = SIZES | {"shape", "ndim", "dtype"}

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


MAX_READS = 16  # of one value: what so many read serves more than one move


class CreationFlow(FactoryExpression):
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
        return not words & BOUND and all(type(v) is not Tensor or is_host(v) for v in known)

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
        if not all(is_number(self.frame, element) for element in given):
            return False  # a list of rows would be copied to the device
        return is_number(self.frame, written.value) or self.holds(written.value)

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


def _definitions_in(function: Function) -> Definitions:
    known = function.unit.kept(_DefinitionsOf).known
    if function not in known:
        names = [each.name for each in function.parameters]
        known[function] = Definitions(function.node.body, names)
    return known[function]
