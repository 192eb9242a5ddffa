"""What a call hands in for each parameter, and the callee's values in the caller's terms."""

from __future__ import annotations

from collections.abc import Hashable

import libcst as cst

from devlint.inference.domain import path_conditions
from devlint.inference.domain.containers import Loader, Mapping, Sequence
from devlint.inference.domain.host import HOST, Const, DeviceValue, Host
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import Literal, PathCondition, Predicate, both
from devlint.inference.domain.placement import CPU, Device, Variable, VariableKind
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import (
    DEFAULT,
    EMPTY,
    INHERITED,
    LOADED,
    MAYBE_SCALAR,
    PARAMETER,
    SCALAR,
    SHAPED,
    Tensor,
)
from devlint.inference.domain.value import (
    UNKNOWN,
    Union,
    Unknown,
    Value,
    alternatives,
    cases,
    choose,
    under,
)
from devlint.inference.interpreter.comparisons import truth_of
from devlint.inference.models.devices import place_of
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.module_places import placed, replaced, stateful
from devlint.inference.models.places import was_moved
from devlint.inference.models.unification.exemptions import joins
from devlint.inference.program import shape_tests, tests
from devlint.inference.program.declarations import Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Parameter
from devlint.inference.program.values import Generator, Instance, Placed, self_of
from devlint.inference.syntax.text import code

_ARRAYS = frozenset({"np.ndarray", "numpy.ndarray"})


# Python's own classes, of which no tensor and no array is one.
_PLAIN = frozenset({"bool", "dict", "float", "int", "list", "set", "str", "tuple"})


class Binding:
    """What a call puts in the place of a function's parameters."""

    def __init__(self, frame: Frame, node: cst.CSTNode, function: Function) -> None:
        self.frame = frame
        self.node = node
        self.function = function
        self.places: dict[Variable, Tensor] = {}  # a stand-in with the actual place and traits
        self.values: dict[Evidence, Value] = {}
        self.nodes: dict[Variable, cst.CSTNode] = {}
        self.owners: set[Variable] = set()  # where modules live: their parts need be no tensors
        self.inside = False  # the caller is a method of the same object
        self.holder: Instance | None = None  # the object of a method, seen from outside
        self.actuals: dict[Variable, Value] = {}  # those that differ from branch to branch
        self.given: dict[str, tuple[Value, cst.CSTNode]] = {}  # by parameter
        self.choices: dict[Predicate, Predicate] = {}  # the callee's, in this call
        self.fresh: tuple[Value, ...] = ()
        self.made: dict[Instance, Instance] = {}  # what this call makes, by what any call does

    def chosen(self, when: PathCondition) -> PathCondition:
        """Facts of the callee: they hold for this call alone."""
        for choice, _, _ in when:
            if choice not in self.choices:
                seen = tests.seen_from(self.frame, choice, self.function, self._expressions())
                self.choices[choice] = seen
        return tuple((self.choices[choice], is_so, value) for choice, is_so, value in when)

    def facts(self, when: PathCondition) -> PathCondition:
        """What this call's arguments say of the callee's choices on a parameter alone."""
        found: list[Literal] = []
        for fact in when:
            choice = fact[0]
            by_shape = self._by_shape(fact)
            if by_shape is not None:
                found.append(by_shape)
                continue
            subject, asks_truth = choice.subject, False
            if isinstance(subject, tuple) and subject[0] == "bool":
                subject, asks_truth = subject[1], True
            is_one = self._is_instance(subject) if asks_truth and not choice.born else None
            if is_one is not None:
                found.append((choice, is_one, path_conditions.TRUE))
                continue
            actual = self._known(subject) if not choice.born else None
            if actual is None:
                continue
            if asks_truth:
                answer = truth_of(actual)
                if answer is not None:
                    found.append((choice, answer, path_conditions.TRUE))
            elif type(actual) is Const:
                found.append((choice, True, repr(actual.value)))
            elif type(actual) is Tensor and actual.is_sure:
                found.append((choice, False, "None"))
        return tuple(found)

    def _by_shape(self, fact: Literal) -> Literal | None:
        """What the shape of a tensor that is handed in says: `mask.size(1) != 0` of
        `torch.ones((0, 0))`."""
        path = shape_tests.asked_tensor(fact[0].subject) if not fact[0].born else ""
        actual = self._known(path) if path else None
        if type(actual) is not Tensor or not actual.is_sure:
            return None
        return shape_tests.literal(fact, actual)

    def _is_instance(self, subject: Hashable) -> bool | None:
        """`isinstance(x, np.ndarray)`, `isinstance(x, (int, float))`, of what this call hands
        in."""
        if not (isinstance(subject, tuple) and len(subject) == 4 and subject[0] is cst.Call):
            return None
        _, func, name, kind = subject
        if func != "isinstance" or name not in self.given:
            return None
        kinds = kind[1:] if isinstance(kind, tuple) and kind and kind[0] is cst.Tuple else (kind,)
        answers = [_is_of(self.given[name][0], each) for each in kinds]
        if True in answers:
            return True
        return None if None in answers else False

    def _known(self, subject: Hashable) -> Value | None:
        """A parameter, one of a tuple that is handed in, or what the object of a method holds by
        the call that made it."""
        if isinstance(subject, tuple) and len(subject) == 3 and subject[0] is cst.Subscript:
            held, index = self._known(subject[1]), subject[2]
            if type(held) is not Sequence or held.kind != "tuple" or held.items is None:
                return None
            known = isinstance(index, str) and index.isdigit() and int(index) < len(held.items)
            return held.items[int(index)] if known else None
        if not isinstance(subject, str):
            return None
        if subject in self.given:
            return self.given[subject][0]
        owner, _, name = subject.partition(".")
        parameters = self.function.parameters
        if self.holder is None or not parameters or owner != parameters[0].name:
            return None
        return self.frame.fields_of(self.holder).entries.get(name)

    def _expressions(self) -> dict[str, cst.BaseExpression]:
        """What the caller wrote for each parameter, and for the object of a method."""
        params = self.function.node.params
        found = {
            p.name.value: p.default
            for p in (*params.posonly_params, *params.params, *params.kwonly_params)
            if p.default is not None
        }
        for name, (_, node) in self.given.items():
            if isinstance(node, cst.BaseExpression) and node is not self.node:
                found[name] = node
        parameters = self.function.parameters
        if self.function.info is not None and parameters and isinstance(self.node, cst.Call):
            func = self.node.func
            found.setdefault(
                parameters[0].name, func.value if isinstance(func, cst.Attribute) else func
            )
        return found

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
        if type(actual) is Instance and actual.module and _moves_parameter(value):
            self.frame.state.env[actual] = Placed(None, None)  # the callee puts it somewhere
        handled = self.frame.unit.context.none_handled
        if parameter.is_device and parameter.variable in handled:
            handed = actual.place if type(actual) is DeviceValue else None
            if type(handed) is Variable and handed.parameter:
                handled.add(handed)  # on to a callee that knows what None means
        if parameter.variable is not None:
            stand_in = self._stand_in(actual, parameter.is_device, parameter.variable)
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
            if type(actual) is Union:
                self.actuals[parameter.variable] = actual
            self.nodes[parameter.variable] = node

    def _stand_in(self, actual: Value, is_device: bool, variable: Variable) -> Tensor:

        frame = self.frame
        if is_device:
            if type(actual) is Const and actual.value is None:
                if variable in frame.unit.context.none_handled:
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

    def _strange(self, value: Tensor, place: Variable) -> Tensor:
        """A tensor whose place is a parameter of some other function: unknown out here."""
        if not place.parameter or self.inside:
            return value
        return Tensor(None, value.origin, value.traits & SCALAR, value.evidence)

    def odd_branches(self, tensor: Tensor) -> list[Tensor]:
        """The callee's tensor, once for each alternative that the caller may hand in."""
        place = tensor.place
        actual = self.actuals.get(place) if type(place) is Variable else None
        if actual is None:
            return tensors_in(self.substitute(tensor))
        found = [t for t in tensors_in(actual) if t.place is not None]
        scalar = tensor.traits & SCALAR  # what the callee computes of it
        return [
            Tensor(t.place, t.origin, t.traits & ~PARAMETER | scalar, t.evidence) for t in found
        ]

    def substitute(self, value: Value, depth: int = 4) -> Value:
        """A value of the callee, seen from the caller."""
        if type(value) is Tensor:
            return self.tensor(value)
        if depth == 0:
            return UNKNOWN
        if type(value) is DeviceValue:
            place = value.place
            if type(place) is Variable and place in self.places:
                return DeviceValue(self.places[place].place)
            if type(place) is Variable and place.parameter and not self.inside:
                return DeviceValue(None)
            return value
        if type(value) is Sequence:
            if value.items is not None:
                items = [self.substitute(v, depth - 1) for v in value.items]
                return Sequence(items, None, value.kind, value.node, value.names)
            element = value.element
            changed = None if element is None else self.substitute(element, depth - 1)
            return Sequence(None, changed, value.kind, value.node)
        if type(value) is Mapping:
            entries = {k: self.substitute(v, depth - 1) for k, v in value.entries.items()}
            element = value.element
            return Mapping(
                entries, None if element is None else self.substitute(element, depth - 1)
            )
        if type(value) is Union:
            return choose((self.substitute(v, depth - 1), when) for v, when in cases(value))
        if type(value) is Instance and value in self.fresh:
            return self._made_anew(value)
        if type(value) is Instance:
            place = value.place
            if self.holder is not None and value is self._own_object():
                return self.holder  # `return self`
            if type(place) is Variable and place in self.places:
                source: Instance = value
                moved = Instance(
                    source.info,
                    source.library,
                    source.module,
                    self.places[place].place,
                    source.origin,
                    None,
                    source.items,
                    source.name,
                )
                moved.fields = source.fields
                if source.tensor is not None:
                    held = self.tensor(source.tensor)
                    moved.tensor = held if type(held) is Tensor else None
                return moved
        if type(value) is Host and value.sizes is not None:
            return HOST
        return value

    def _own_object(self) -> Instance | None:
        """The object of a method, as the method sees it."""
        info = self.function.info
        return None if info is None else self_of(info)

    def _made_anew(self, module: Instance) -> Instance:
        """What each call makes: a move of the one is no move of the others."""

        if module not in self.made:
            copy = self.made[module] = replaced(module, module.place, module.origin, None)
            copy.fields = Mapping(dict(self.frame.fields_of(module).entries))
        return self.made[module]

    def _batch_of(self, loader: Value, batch: Tensor) -> Value:
        """A batch of what by its name alone is a DataLoader: the caller may know what it is."""
        if type(loader) in (Loader, Instance):
            return self.frame.interpreter.element_of(self.frame, loader, self.node)
        return batch

    def _rival(self, value: Tensor) -> Tensor | None:
        """What the caller hands in for an operand that decides where a value of the callee is,
        should it be a tensor."""
        if value.origin is None:
            return None
        for step in value.origin.chain():
            if step.kind is StepKind.MOVED:
                return None
            rival = step.rival
            if type(rival) is not Tensor or rival.evidence is None or rival.evidence.is_host:
                continue  # by its use in the callee it is a number, whatever is handed in
            if type(rival.place) is not Variable:
                continue
            stand_in = self.places.get(rival.place)
            for evidence in (rival.evidence, *rival.evidence.parents):
                actual = self.values.get(evidence)
                if type(actual) is Unknown:
                    return Tensor(None)
                if stand_in is not None and type(actual) is Tensor:
                    return stand_in
        return None

    def _kind(self, value: Tensor) -> Evidence | None:
        """Whether what the callee has is a tensor: by its use there, or by what this call hands in
        for what it was computed from."""
        evidence = value.evidence
        if evidence is None or evidence.is_tensor:
            return None
        handed = [self.values[each] for each in evidence.ancestry() if each in self.values]
        tensors = [v for actual in handed for v in alternatives(actual) if type(v) is Tensor]
        if any(v.is_sure for v in tensors):
            return None
        parents = [v.evidence for v in tensors if v.evidence is not None]
        return Evidence(parents=tuple(each for each in parents if not each.is_host))

    def _computed(self, tensor: Tensor) -> Provenance:
        return Provenance(StepKind.COMPUTED, self.node, self.frame.unit.source, tensor.origin)

    def tensor(self, value: Tensor) -> Value:
        """A tensor of the callee, seen from the caller."""
        if value.evidence is not None and value.evidence in self.values:
            actual = self.values[value.evidence]
            if value.origin is None or value.origin.kind is StepKind.PARAMETER:
                return under(actual, value.when)
            if type(actual) is Host or type(actual) is Const:
                return HOST
        place = value.place
        if type(place) is Variable:
            stand_in = self.places.get(place)
            if stand_in is None:
                return self._strange(value, place)
            origin = self._computed(stand_in)
            origin.when = both(origin.when, value.when)
            is_device = place.kind is VariableKind.DEVICE
            traits = value.traits & ~(PARAMETER | SHAPED) | stand_in.traits & (INHERITED & ~DEFAULT)
            if value.traits & SHAPED:
                traits |= stand_in.traits & (SCALAR | MAYBE_SCALAR | SHAPED)
            # What the callee moves to the device that it is given is meant to be there, also where
            # that is its host by default:
            # `def rescale(x, scale, device=torch.device("cpu")): return x * scale.to(device)`.
            if stand_in.traits & DEFAULT and not (is_device and was_moved(value)):
                traits |= DEFAULT
            if not _joined(value):
                traits |= stand_in.traits & EMPTY  # no part of a placeholder has elements
            evidence = stand_in.evidence if value.evidence is not None else None
            if is_device:
                evidence = self._kind(value)  # the device that was handed in says nothing of it
            if stand_in.traits & ~traits & SCALAR and _by_operator(value):
                return Tensor(None, origin, 0, evidence)  # where the other operand is
            if value.evidence is not None and place in self.owners:
                evidence = Evidence(value.evidence.is_tensor)
            elif value.evidence is not None and value.evidence.effects.in_place:
                given = self.values.get(value.evidence)
                evidence = given.evidence if type(given) is Tensor else Evidence()
            return Tensor(stand_in.place, origin, traits, evidence)
        handed = [self.values.get(p) for p in value.evidence.parents] if value.evidence else []
        if value.traits & LOADED and len(handed) == 1 and handed[0] is not None:
            return self._batch_of(handed[0], value)
        rival = self._rival(value)
        if rival is not None:
            if rival.place is None or rival.is_sure:
                return Tensor(rival.place, self._computed(rival), rival.traits & INHERITED)
            step = self._computed(value)
            step.rival = rival
            return Tensor(place, step, value.traits, value.evidence, value.sizes)
        if any(_is_tensor(actual) for actual in handed):
            return Tensor(place, value.origin, value.traits, None, value.sizes)
        return value


def _joined(value: Tensor) -> bool:
    """The value was put together of several: of those one may be a placeholder."""
    steps = value.origin.chain() if value.origin is not None else ()
    return any(isinstance(step.node, cst.Call) and joins(code(step.node.func)) for step in steps)


def _by_operator(value: Tensor) -> bool:
    return value.origin is not None and type(value.origin.node) is cst.BinaryOperation


def _is_tensor(value: Value | None) -> bool:
    return type(value) is Tensor and value.evidence is None


def _moves_parameter(value: Value) -> bool:
    return any(
        type(v) is Tensor
        and v.evidence is not None
        and (v.evidence.effects.moved or v.evidence.effects.handed)
        for v in alternatives(value)
    )


def _pass_evidence(value: Value, actual: Value) -> None:
    """What the callee uses as a tensor is one in the caller, too."""
    if not any(
        type(v) is Tensor and v.evidence is not None and v.evidence.is_tensor
        for v in alternatives(value)
    ):
        return
    for tensor in alternatives(actual):
        if type(tensor) is Tensor:
            tensor.show()


def _is_of(value: Value, kind: Hashable) -> bool | None:
    """Whether a value is an instance of a class, by the name that the test gives it; None where
    the value or the class may be anything."""
    if kind != "torch.Tensor" and kind not in _ARRAYS and kind not in _PLAIN:
        return None
    if type(value) is Tensor and value.is_sure:
        return kind == "torch.Tensor"
    if type(value) is Host and value.array:
        return kind in _ARRAYS
    return None
