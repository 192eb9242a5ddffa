"""Values of a callee in the terms of its caller, at one call."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Loader, Mapping, Sequence
from devlint.inference.domain.host import HOST, Const, DeviceValue, Host
from devlint.inference.domain.kinds import Evidence, Kind
from devlint.inference.domain.path_conditions import both
from devlint.inference.domain.placement import Variable, VariableKind
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import (
    DEFAULT,
    EMPTY,
    INDIRECT,
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
from devlint.inference.models.elements import derive
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.module_places import replaced
from devlint.inference.models.places import was_moved
from devlint.inference.models.unification.exemptions import joins
from devlint.inference.program.assumption_sites import guessed_step
from devlint.inference.program.values import Generator, Instance, self_of
from devlint.inference.summaries.arguments import Binding
from devlint.inference.syntax.text import code


def substitute(binding: Binding, value: Value, depth: int = 4) -> Value:
    """A value of the callee, seen from the caller."""
    if type(value) is Tensor:
        return _tensor(binding, value)
    if depth == 0:
        return UNKNOWN
    if type(value) is DeviceValue:
        return _device(binding, value)
    if type(value) is Sequence:
        if value.items is not None:
            items = [substitute(binding, v, depth - 1) for v in value.items]
            return Sequence(items, None, value.kind, value.node, value.names)
        element = value.element and substitute(binding, value.element, depth - 1)
        return Sequence(None, element, value.kind, value.node)
    if type(value) is Mapping:
        entries = {k: substitute(binding, v, depth - 1) for k, v in value.entries.items()}
        return Mapping(entries, value.element and substitute(binding, value.element, depth - 1))
    if type(value) is Union:
        return choose((substitute(binding, v, depth - 1), when) for v, when in cases(value))
    if type(value) is Instance:
        return _object(binding, value)
    if type(value) is Generator:
        return _generator(binding, value)
    return HOST if type(value) is Host and value.sizes is not None else value


def _device(binding: Binding, value: DeviceValue) -> DeviceValue:
    place = value.place
    if type(place) is Variable and place in binding.places:
        return DeviceValue(binding.places[place].place)
    if type(place) is Variable and place.parameter and not binding.inside:
        return DeviceValue(None)
    return value


def _generator(binding: Binding, value: Generator) -> Generator:
    """A generator that the callee makes where it is told: `torch.Generator(device=x.device)`."""
    place = value.place
    if type(place) is not Variable:
        return value
    stand_in = binding.places.get(place)
    if stand_in is not None:
        return Generator(stand_in.place, _computed(binding, stand_in))
    is_strange = place.parameter and not binding.inside
    return Generator(None, value.origin) if is_strange else value


def _object(binding: Binding, value: Instance) -> Instance:
    if value in binding.fresh:
        return _made_anew(binding, value)
    if binding.holder is not None and value is _own_object(binding):
        return binding.holder  # `return self`
    if type(value.place) is not Variable or value.place not in binding.places:
        return _made_of(binding, value)
    moved = replaced(value, binding.places[value.place].place, value.origin, None)
    moved.given = None  # its constructor's arguments are none of the caller's
    held = _tensor(binding, value.tensor) if value.tensor is not None else None
    moved.tensor = held if type(held) is Tensor else None
    return moved


def _made_of(binding: Binding, value: Instance) -> Instance:
    """An object that the callee made of what it was given: `def build(device): return Net(device)`
    makes one of this call's device."""
    if value.module or not any(_is_handed(binding, t) for t in (value.given or {}).values()):
        return value
    copy = replaced(value, value.place, value.origin, None)
    held = ((v, _tensor(binding, t)) for v, t in (value.given or {}).items())
    copy.given = {v: t for v, t in held if type(t) is Tensor}
    return copy


def _is_handed(binding: Binding, tensor: Tensor) -> bool:
    return type(tensor.place) is Variable and tensor.place in binding.places


def _own_object(binding: Binding) -> Instance | None:
    """The object of a method, as the method sees it."""
    info = binding.function.info
    return None if info is None else self_of(info)


def _made_anew(binding: Binding, module: Instance) -> Instance:
    """What each call makes: a move of the one is no move of the others."""
    if module not in binding.made:
        copy = binding.made[module] = replaced(module, module.place, module.origin, None)
        copy.fields = Mapping(dict(binding.frame.fields_of(module).entries))
    return binding.made[module]


def odd_branches(binding: Binding, tensor: Tensor) -> list[Tensor]:
    """The callee's tensor, once for each alternative that the caller may hand in."""
    place = tensor.place
    actual = binding.actuals.get(place) if type(place) is Variable else None
    if actual is None:
        return tensors_in(substitute(binding, tensor))
    whole = [v for v in alternatives(actual) if type(v) is Tensor]  # no part of another return
    found = [t for t in whole or tensors_in(actual) if t.place is not None]
    scalar = tensor.traits & SCALAR  # what the callee computes of it
    return [Tensor(t.place, t.origin, t.traits & ~PARAMETER | scalar, t.evidence) for t in found]


def _tensor(binding: Binding, value: Tensor) -> Value:
    """A tensor of the callee, seen from the caller."""
    if value.evidence is not None and value.evidence in binding.values:
        actual = binding.values[value.evidence]
        if value.origin is None or value.origin.kind is StepKind.PARAMETER:
            return under(actual, value.when)
        if type(actual) is Host or type(actual) is Const:
            return HOST
    given = _given_batch(binding, value)
    if given is not None:
        return given
    place = value.place
    if type(place) is Variable:
        stand_in = binding.places.get(place)
        if stand_in is None:
            return _strange(binding, value, place)
        several = binding.actuals.get(place)
        if stand_in.place is None and type(several) is Union and _are_tensors(several):
            return choose(
                (_in_place_of(binding, value, place, t), when)
                for t, when in cases(several)
                if type(t) is Tensor
            )
        return _in_place_of(binding, value, place, stand_in)
    value = _converted(binding, value)
    handed = [binding.values.get(p) for p in value.evidence.parents] if value.evidence else []
    if value.traits & LOADED and len(handed) == 1 and handed[0] is not None:
        return _batch_of(binding, handed[0], value)
    rival = _rival(binding, value)
    if rival is not None:
        if rival.place is None or rival.is_sure:
            return Tensor(rival.place, _computed(binding, rival), rival.traits & INHERITED)
        step = _computed(binding, value)
        step.rival = rival
        return Tensor(place, step, value.traits, value.evidence, value.sizes)
    if any(_is_tensor(actual) for actual in handed):
        return Tensor(place, value.origin, value.traits, None, value.sizes)
    return value


def _converted(binding: Binding, value: Tensor) -> Tensor:
    """What the callee makes a tensor of where it is none is, if it was one, where this call's
    argument is: `to_tensor(x)` of `def to_tensor(x): return torch.tensor(x) if … else x`."""
    origin = value.origin
    before = origin.root.before if origin is not None and value.was_converted else None
    stand_in = binding.places.get(before) if type(before) is Variable else None
    if origin is None or stand_in is None:
        return value
    root = origin.root.known(origin.root.when)
    root.before = stand_in.place
    if origin is not origin.root:
        root = Provenance(StepKind.COMPUTED, binding.node, binding.frame.unit.source, root)
    root.when, root.assumed = origin.when, origin.assumed
    return Tensor(value.place, root, value.traits, value.evidence, value.sizes)


def _in_place_of(binding: Binding, value: Tensor, place: Variable, stand_in: Tensor) -> Tensor:
    """A tensor whose place is a parameter's: it is where this call's argument is."""
    origin, made = _computed(binding, stand_in), _parameter_made(value)
    if made is not None:
        origin = made.known(origin.when)
    origin.when = both(origin.when, value.when)
    if value.traits & INDIRECT and value.origin is not None:
        origin.within = guessed_step(binding.frame, value.origin)
    is_device = place.kind is VariableKind.DEVICE
    traits = value.traits & ~(PARAMETER | SHAPED) | stand_in.traits & (INHERITED & ~DEFAULT)
    traits |= PARAMETER if made is not None else 0
    if value.traits & SHAPED:
        traits |= stand_in.traits & (SCALAR | MAYBE_SCALAR | SHAPED)
    # What the callee moves to the device that it is given is meant to be there, also where that is
    # its host by default:
    # `def rescale(x, scale, device=torch.device("cpu")): return x * scale.to(device)`.
    is_chosen = is_device and place not in binding.left_out
    if stand_in.traits & DEFAULT and not (is_chosen and was_moved(value)):
        traits |= DEFAULT
    if not _joined(value):
        traits |= stand_in.traits & EMPTY  # no part of a placeholder has elements
    evidence = None if _is_shown(value) else stand_in.evidence
    if is_device:
        evidence = _kind(binding, value)  # the device that was handed in says nothing of it
    if stand_in.traits & ~traits & SCALAR and _by_operator(value):
        return Tensor(None, origin, 0, evidence)  # where the other operand is
    if value.evidence is not None and place in binding.owners:
        evidence = Evidence(value.evidence.is_tensor)
    elif value.evidence is not None and value.evidence.effects.in_place:
        given = binding.values.get(value.evidence)
        evidence = given.evidence if type(given) is Tensor else Evidence()
    return Tensor(stand_in.place, origin, traits, evidence)


def _are_tensors(several: Union) -> bool:
    return all(type(each) is Tensor for each in several.alternatives)


def _is_shown(value: Tensor) -> bool:
    """The callee shows that what it made is a tensor: `torch.cat((boxes, scores), 1)`."""
    made = value.evidence
    return made is None or (made.kind is Kind.TENSOR and not made.effects.converted)


def _strange(binding: Binding, value: Tensor, place: Variable) -> Tensor:
    """A tensor whose place is a parameter of some other function: unknown out here."""
    if not place.parameter or binding.inside:
        return value
    return Tensor(None, value.origin, value.traits & SCALAR, value.evidence)


def _batch_of(binding: Binding, loader: Value, batch: Tensor) -> Value:
    """A batch of what by its name alone is a DataLoader: the caller may know what it is."""
    if type(loader) in (Loader, Instance):
        return binding.frame.interpreter.element_of(binding.frame, loader, binding.node)
    return batch


def _given_batch(binding: Binding, value: Tensor) -> Tensor | None:
    """A batch of what this call hands in, or a part of one, where the callee goes through what it
    is given: `for batch in batches` of a DataLoader."""
    whole = value.evidence.taken_from if value.evidence is not None else None
    loader = binding.values.get(whole) if whole is not None else None
    batch = loader.batch if type(loader) is Loader else None
    if type(batch) is not Tensor or value.origin is None or value.evidence is None:
        return None
    if value.origin.kind is not StepKind.PARAMETER:
        return None
    part = derive(batch)
    if part.evidence is not None:
        part.evidence.hints.part = value.evidence.hints.part
    return part


def _rival(binding: Binding, value: Tensor) -> Tensor | None:
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
        stand_in = binding.places.get(rival.place)
        for evidence in (rival.evidence, *rival.evidence.parents):
            actual = binding.values.get(evidence)
            if type(actual) is Unknown:
                return Tensor(None)
            if stand_in is not None and type(actual) is Tensor:
                return stand_in
    return None


def _kind(binding: Binding, value: Tensor) -> Evidence | None:
    """Whether what the callee has is a tensor: by its use there, or by what this call hands in
    for what it was computed from."""
    evidence = value.evidence
    if evidence is None or evidence.is_tensor:
        return None
    handed = [binding.values[each] for each in evidence.ancestry() if each in binding.values]
    tensors = [v for actual in handed for v in alternatives(actual) if type(v) is Tensor]
    if any(v.is_sure for v in tensors):
        return None
    parents = [v.evidence for v in tensors if v.evidence is not None]
    return Evidence(parents=tuple(each for each in parents if not each.is_host))


def _computed(binding: Binding, tensor: Tensor) -> Provenance:
    return Provenance(StepKind.COMPUTED, binding.node, binding.frame.unit.source, tensor.origin)


def _parameter_made(value: Tensor) -> Provenance | None:
    """The call by which the callee makes a parameter, of whatever: `return nn.Parameter(x)`."""
    origin = value.origin if value.traits & PARAMETER else None
    return origin if origin is not None and origin.kind is StepKind.CREATED else None


def _joined(value: Tensor) -> bool:
    """The value was put together of several: of those one may be a placeholder."""
    steps = value.origin.chain() if value.origin is not None else ()
    return any(isinstance(step.node, cst.Call) and joins(code(step.node.func)) for step in steps)


def _by_operator(value: Tensor) -> bool:
    return value.origin is not None and type(value.origin.node) is cst.BinaryOperation


def _is_tensor(value: Value | None) -> bool:
    return type(value) is Tensor and value.evidence is None
