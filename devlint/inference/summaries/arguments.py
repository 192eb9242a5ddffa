"""Arguments of a call, bound to the parameters of its callee."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import Const, DeviceValue
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import Predicate
from devlint.inference.domain.placement import CPU, Device, Placement, Variable
from devlint.inference.domain.tensors import (
    DEFAULT,
    Tensor,
)
from devlint.inference.domain.value import (
    Union,
    Value,
    alternatives,
)
from devlint.inference.models.devices import place_of
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.module_places import parts_left, placed, scatters, stateful
from devlint.inference.program.declarations import Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Parameter
from devlint.inference.program.values import Generator, Instance, Placed
from devlint.records import NamedTuple


class Binding:
    """What a call puts in the place of a function's parameters."""

    def __init__(self, frame: Frame, node: cst.CSTNode, function: Function) -> None:
        self.frame = frame
        self.node = node
        self.callee: cst.CSTNode = node.func if isinstance(node, cst.Call) else node
        self.function = function
        self.places: dict[Variable, Tensor] = {}  # a stand-in with the actual place and traits
        self.values: dict[Evidence, Value] = {}
        self.nodes: dict[Variable, cst.CSTNode] = {}
        self.owners: set[Variable] = set()  # where modules live: their parts need be no tensors
        self.scattering: set[Placement] = set()  # the places of modules that move their inputs
        self.parts_left: dict[Variable, Tensor] = {}  # by the same, a part that was put in later
        self.inside = False  # the caller is a method of the same object
        self.holder: Instance | None = None  # the object of a method, seen from outside
        self.actuals: dict[Variable, Value] = {}  # those that differ from branch to branch
        self.given: dict[str, tuple[Value, cst.CSTNode]] = {}  # by parameter
        self.spread: dict[str, Value] = {}  # by parameters that `**batch` has to give, what it has
        self.choices: dict[Predicate, Predicate] = {}  # the callee's, in this call
        self.fresh: tuple[Value, ...] = ()
        self.left_out: set[Variable] = set()  # devices, for which something in the callee stands in
        self.made: dict[Instance, Instance] = {}  # what this call makes, by what any call does

    def handed_in(self, called: Evidence) -> Value | None:
        """What this call hands in for a parameter, or what its object's constructor was given."""
        if called in self.values or self.holder is None or self.holder.info is None:
            return self.values.get(called)
        for name, given in self.frame.fields_of(self.holder).entries.items():
            held = self.holder.info.attributes.get(name)
            if type(held) is Tensor and held.evidence is called:
                return given
        return None

    def put(self, parameter: Parameter, actual: Value, node: cst.CSTNode) -> None:
        """Bind one parameter."""
        self.given[parameter.name] = (actual, node)
        value = parameter.value
        if type(value) is Tensor or type(value) is Union:
            _pass_evidence(value, actual)
        if type(value) is Union:
            for alternative in value.alternatives:
                if type(alternative) is Tensor and alternative.evidence is not None:
                    self.values[alternative.evidence] = actual
        elif type(value) is Tensor and value.evidence is not None:
            self.values[value.evidence] = actual
        if _moves_parameter(value):
            self._note_moved(actual)
        if parameter.handles_none:
            handed = actual.place if type(actual) is DeviceValue else None
            if type(handed) is Variable and handed.parameter:  # on to a callee that does
                self.frame.unit.context.none_handled.add(handed)
        if parameter.variable is not None:
            stand_in = _stand_in(self.frame, actual, parameter)
            if parameter.is_device and actual is parameter.default and stand_in.place == CPU:
                stand_in = stand_in.with_place(CPU, stand_in.origin, add=DEFAULT)  # left out
            self.places[parameter.variable] = stand_in
            is_index = (
                type(value) is Tensor
                and value.evidence is not None
                and value.evidence.effects.as_index
            )
            if is_index and type(actual) is Const and type(actual.value) is int:
                self.places[parameter.variable] = Tensor(Device("cuda", actual.value))
            if type(actual) is Instance:
                self.owners.add(parameter.variable)
                if scatters(actual):
                    self.scattering.add(parameter.variable)
                self._note_parts_left(parameter.variable, actual)
            if type(actual) is Union or _holds_several(actual):
                self.actuals[parameter.variable] = actual
            self.nodes[parameter.variable] = node

    def _note_parts_left(self, variable: Variable, module: Instance) -> None:
        for part in parts_left(self.frame, module):
            place, origin = placed(self.frame, part)
            if place == CPU:
                self.parts_left[variable] = Tensor(place, origin, 0)

    def _note_moved(self, actual: Value) -> None:
        """The callee puts it somewhere, and so does who hands in what it was handed. Of `*args` it
        may be any."""
        if type(actual) is Sequence:
            for item in actual.items if actual.items is not None else (actual.any(),):
                self._note_moved(item)
            return
        if type(actual) is Instance and actual.module:
            self.frame.state.env[actual] = Placed(None, None)
        for each in alternatives(actual):
            if type(each) is Tensor and each.evidence is not None:
                each.evidence.effects.handed = True

    def fall_back(self, parameters: Iterable[Parameter]) -> None:
        """Bind the devices that are left out to what stands in for them."""
        for parameter in parameters:
            place, variable = parameter.fallback, parameter.variable
            actual, _ = self.given.get(parameter.name, (None, None))
            if (
                place is None
                or variable is None
                or type(actual) is not Const
                or actual.value is not None
            ):
                continue
            stand_in = self.places.get(place) if type(place) is Variable else Tensor(place)
            if stand_in is None and self.inside:
                stand_in = Tensor(place)  # of the object that is the caller's, too
            if stand_in is not None:
                self.places[variable] = Tensor(stand_in.place, None, stand_in.traits & DEFAULT)
                self.left_out.add(variable)


def _stand_in(frame: Frame, actual: Value, parameter: Parameter) -> Tensor:
    if parameter.is_device:
        if type(actual) is Const and actual.value is None:
            if parameter.handles_none:
                return Tensor(None)
            traits = 0 if frame.has_default_device else DEFAULT
            return Tensor(frame.default_device, None, traits)
        return Tensor(place_of(frame, actual), None, 0)
    if type(actual) is Instance and actual.tensor is None:
        place, origin = placed(frame, actual)
        if actual.module and not stateful(frame, actual):
            place = None  # it is wherever its inputs are
        # What a module computes is a tensor, what another object's methods return is open.
        return Tensor(place, origin, 0, None if actual.module else Evidence())
    if type(actual) is DeviceValue:
        return Tensor(actual.place, None, 0)
    if type(actual) is Generator:
        return Tensor(actual.place, actual.origin, DEFAULT if actual.place == CPU else 0)
    found = tensors_in(actual)
    if not found:
        return Tensor(None, None, 0, Evidence())  # perhaps no tensor at all
    first = found[0]
    if all(t.place is first.place or t.place == first.place for t in found):
        return first
    sure = all(t.is_sure for t in found)
    return Tensor(None, None, 0, None if sure else Evidence())


def _holds_several(value: Value) -> bool:
    """A list whose elements are not all in one place: the callee comes to each of them."""
    return type(value) is Sequence and value.items is None and type(value.element) is Union


def _moves_parameter(value: Value) -> bool:
    """A function puts somewhere what it was handed, in `*args` perhaps, or hands it to what may."""
    if type(value) is Sequence and value.items is None:
        value = value.any()
    return any(
        type(v) is Tensor
        and v.evidence is not None
        and (v.evidence.effects.moved or v.evidence.effects.handed)
        for v in alternatives(value)
    )


def _pass_evidence(value: Value, actual: Value) -> None:
    """What the callee uses as a tensor is one in the caller, too; but not if it makes a tensor of
    it where it is none."""
    shown = [v.evidence for v in alternatives(value) if type(v) is Tensor]
    if not any(e is not None and e.is_tensor and not e.effects.converted for e in shown):
        return
    for tensor in alternatives(actual):
        if type(tensor) is Tensor:
            tensor.show()


class ArgumentsBound(NamedTuple):
    """The arguments of a call are bound to the parameters of a function."""

    node: cst.CSTNode
    function: Function
    binding: Binding


class CallBound(NamedTuple):
    """A call hands its arguments to a function of the project."""

    function: Function
    binding: Binding
