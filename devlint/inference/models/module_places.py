"""Modules: where they are, whether they have state, and what becomes of them as a whole."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Loader, Mapping, Sequence
from devlint.inference.domain.host import Const, DeviceValue, External, Host
from devlint.inference.domain.path_conditions import ALWAYS, PathCondition, both
from devlint.inference.domain.placement import CPU, Placement, same_place
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import DEFAULT, LOADED, PARAMETER, Tensor
from devlint.inference.domain.value import (
    UNKNOWN,
    Union,
    Value,
    alternatives,
    cases,
    choose,
    union,
)
from devlint.inference.program.declarations import ClassInfo
from devlint.inference.program.frames import Frame, globals_of
from devlint.inference.program.values import FunctionValue, Instance, Placed
from devlint.inference.syntax.text import code


def placed(frame: Frame, module: Instance) -> tuple[Placement, Provenance | None]:
    """Where a module is now, and the step that put it there."""
    holder: Instance | None = module
    seen = 0
    while holder is not None and seen < 8:
        state = _state(frame, holder)
        if state is not None:
            return state.place, state.origin
        if holder.parent is None:
            return holder.place, holder.origin
        holder = holder.parent
        seen += 1
    return module.place, module.origin


def was_placed(frame: Frame, module: Instance) -> bool:
    """The code that is being inferred has put the module somewhere, as far as it has come."""
    return _state(frame, module) is not None


def _state(frame: Frame, module: Instance) -> Placed | None:
    current: Frame | None = frame
    while current is not None:
        state = current.state.env.get(module)
        if type(state) is Placed:
            # A closure runs at some time: before or after the second move.
            is_open = current is not frame and module.moves > 0
            return Placed(None, None) if is_open else state.within(frame.state.when)
        current = current.outer
    unit = frame.unit
    state = globals_of(unit).get(module)
    if state is None:
        state = unit.env.get(module)
    if type(state) is Placed:
        return state
    return Placed(None, None) if module.others_move_it else None


def move_module(
    frame: Frame,
    module: Instance,
    place: Placement,
    node: cst.CSTNode,
    when: PathCondition = ALWAYS,
) -> None:
    """`Module.to`: in place, seen through every alias. `when`: what holds where it goes there."""
    _, origin = placed(frame, module)
    step = Provenance(StepKind.MOVED, node, frame.unit.source, origin, "moved here")
    step.when = both(step.when, when)
    if type(frame.state.env.get(module)) is Placed:
        module.moves += 1
    frame.state.env[module] = Placed(place, step)
    for part in parts_left(frame, module):
        frame.state.env[part] = Placed(place, step)
    for twin in module.twins:
        frame.state.env[twin] = Placed(None, None)  # moved, too, where it was the one meant
    move_what_was_handed_in(module)


def put_into(
    frame: Frame, part: Instance, owner: cst.BaseExpression, target: cst.Attribute | cst.Subscript
) -> None:
    """`net.head = nn.Linear(8, 2)`, `net.layers[0] = …`: a part goes where its module goes from
    then on, and not where that went before."""
    place, origin = placed(frame, part)
    if place != CPU or _is_moved(origin) or not stateful(frame, part):
        return
    for holder in _modules_around(frame, owner):
        if holder is frame.instance or not _is_moved(placed(frame, holder)[1]):
            continue
        said = "put in here, after the module was moved"
        step = Provenance(StepKind.ATTRIBUTE, target, frame.unit.source, origin, said)
        frame.state.env[part] = Placed(place, step)
        while holder.parent is not None:
            holder = holder.parent
        fields = frame.fields_of(holder)
        frame.write(fields, fields.putting({code(target).partition(".")[2]: part}))


def put_back(
    frame: Frame, value: Value, owner: cst.BaseExpression, target: cst.Attribute | cst.Subscript
) -> None:
    """`net.embed = net.embed.to(device)`: a part was moved, so that the module is nowhere as a
    whole from then on, nor is what it is a part of, unless they are there."""
    if type(owner) is cst.Name and owner.value == "self":
        return  # what becomes of an object by its own methods is told by these
    if type(value) is Instance and value.module:
        place, origin = placed(frame, value)
    elif type(value) is Tensor and not value.is_sure:
        place, origin = value.place, value.origin
    else:
        return
    if origin is None or not _is_moved(origin) or not isinstance(origin.node, cst.Call):
        return
    moved = origin.node.func
    if not isinstance(moved, cst.Attribute) or code(moved.value) != code(target):
        return
    for found in _modules_around(frame, owner):
        holder: Instance | None = found
        while holder is not None and holder is not frame.instance:
            if not same_place(placed(frame, holder)[0], place):
                frame.state.env[holder] = Placed(None, None)
            holder = holder.parent


def _modules_around(frame: Frame, owner: cst.BaseExpression) -> list[Instance]:
    """The innermost module in sight of those that an expression goes through, as any branch
    has it."""
    while True:
        values = alternatives(frame.eval(owner))
        found = [each for each in values if type(each) is Instance and each.module]
        if found or not isinstance(owner, (cst.Attribute, cst.Subscript)):
            return found
        owner = owner.value


def _is_moved(origin: Provenance | None) -> bool:
    return origin is not None and origin.kind is StepKind.MOVED


def parts_left(frame: Frame, module: Instance) -> list[Instance]:
    """The parts of a module that have a place of their own, of what was put into it."""
    held = frame.fields_of(module).entries.values()
    return [each for each in held if type(each) is Instance and each in frame.state.env]


def move_what_was_handed_in(module: Instance, depth: int = 3) -> None:
    """A container moves the parameters of the function that it was made of: they are modules."""
    members = module.items.items if module.items is not None else None
    for value in members or ():
        for each in alternatives(value):
            if type(each) is Tensor and each.evidence is not None:
                each.evidence.effects.moved = True
            elif type(each) is Instance and each.module and depth:
                move_what_was_handed_in(each, depth - 1)


def in_parallel(module: Instance) -> Instance:
    """A module seen through `DataParallel` or `DistributedDataParallel`: it is where that is."""
    wrapper = Instance(None, "Parallel", True, None, module.origin, module)
    wrapper.fields.entries["module"] = module
    return wrapper


def scatters(module: Instance) -> bool:
    """A wrapper brings what it is given to its own cards."""
    return module.library.endswith("Parallel")


def baked(frame: Frame, value: Value, depth: int = 3) -> Value:
    """The value as it leaves this function: a module keeps the place that it has now."""
    if type(value) is Instance:
        if value.library == "Parallel" and value.parent is not None:
            inner = baked(frame, value.parent, depth)
            if type(inner) is Instance and inner is not value.parent:
                return in_parallel(inner)
            return value
        if not value.module or _state(frame, value) is None:
            return value
        place, origin = placed(frame, value)
        return replaced(value, place, origin, None)
    if depth and type(value) is Union:
        now = [baked(frame, v, depth - 1) for v in value.alternatives]
        changed = any(a is not b for a, b in zip(now, value.alternatives, strict=True))
        return union(now) if changed else value
    if depth and type(value) is Sequence and value.items is not None:
        items = [baked(frame, v, depth - 1) for v in value.items]
        if any(a is not b for a, b in zip(items, value.items, strict=True)):
            return Sequence(items, None, value.kind, value.node, value.names)
    elif depth and type(value) is Sequence and value.element is not None:
        any_of_it = baked(frame, value.element, depth - 1)
        if any_of_it is not value.element:
            left = Sequence(None, any_of_it, value.kind, value.node, value.names)
            left.mixed = value.mixed
            return left
    if depth and type(value) is Mapping:
        entries = {k: baked(frame, v, depth - 1) for k, v in value.entries.items()}
        element = None if value.element is None else baked(frame, value.element, depth - 1)
        if element is not value.element or any(entries[k] is not value.entries[k] for k in entries):
            return Mapping(entries, element)
    return value


def replaced(
    module: Instance, place: Placement, origin: Provenance | None, parent: Instance | None
) -> Instance:
    """The same module elsewhere, or as a part of another."""
    copy = Instance(
        module.info, module.library, module.module, place, origin, parent, module.items, module.name
    )
    copy.fields = module.fields
    copy.given, copy.stateless_given = module.given, module.stateless_given
    return copy


def others_move(module: Instance, origin: Provenance | None, left: Provenance | None) -> Instance:
    """A module that is somewhere when a method begins, as others move it. `left`: the step by which
    a constructor left it where it is."""
    copy = replaced(module, None, origin, module.parent)
    copy.left = None if left is None else Placed(module.place, left)
    return copy


def stateful(frame: Frame, module: Instance, above: frozenset[ClassInfo] = frozenset()) -> bool:
    """Whether a module may hold parameters or buffers. `above`: the classes of those that it is
    part of, as far as they are asked: what a class holds of its own kind adds nothing."""
    if module.items is not None:
        held = module.items.items
        parts = held if held is not None else alternatives(module.items.any())
        return any(stateful(frame, v, above) if type(v) is Instance else True for v in parts)
    if module.library:
        knowledge = frame.unit.context.knowledge
        if not module.module and knowledge.class_(module.library) is not None:
            return False  # a transform, which is called in turn: no layer
        known = knowledge.module(module.library)
        if known is not None and known.stateful == "weight":
            return bool(module.name)  # a loss that was given no weight
        return known is None or known.stateful != "never"
    info = module.info
    if info is None or module.stateless_given in info.stateful:
        return True
    lineage, given = info.lineage(), _given_without_state(info, module)
    around = above.union(lineage)
    if any(_adds_state(frame, each, given, around) for each in lineage if each not in above):
        info.stateful.add(module.stateless_given)
        return True
    return False


def _given_without_state(info: ClassInfo, module: Instance) -> frozenset[cst.CSTNode]:
    """The parameters of a module's constructor that were given no tensor and no module."""
    built = info.method("__init__") if module.stateless_given else None
    params = () if built is None else (*built.node.params.params, *built.node.params.kwonly_params)
    return frozenset(each for each in params if each.name.value in module.stateless_given)


WITHOUT_STATE = (Const, Host, FunctionValue, DeviceValue)


def _adds_state(
    frame: Frame,
    info: ClassInfo,
    given: frozenset[cst.CSTNode],
    above: frozenset[ClassInfo],
) -> bool:
    """Whether a class of the project may register anything, as far as its own methods show, in a
    module whose constructor was given nothing with state for some of its parameters."""
    for base in info.bases:
        known = type(base) is External and base.name in ("torch.nn.Module", "builtins.object")
        if not known and type(base) is not ClassInfo:
            return True
    if info.writers.keys() != info.attributes.keys() or info.says("registering-text"):
        return True
    held = [v for value in info.attributes.values() for v in alternatives(value)]
    return any(_may_hold(frame, v, above) for v in held if not _is_made_of(v, given))


def _is_made_of(value: Value, given: frozenset[cst.CSTNode]) -> bool:
    """`self.loss = nn.NLLLoss(weight=weight)`, of what the constructor was given."""
    origin = value.origin if type(value) is Instance or type(value) is Tensor else None
    return origin is not None and origin.root.node in given


def _may_hold(frame: Frame, value: Value, above: frozenset[ClassInfo]) -> bool:
    if type(value) is Instance and value.module:
        return stateful(frame, value, above)
    plain = type(value) is Tensor and value.evidence is None and not value.traits & PARAMETER
    return not (plain or type(value) in WITHOUT_STATE)


def carry(frame: Frame, node: cst.Call, value: Value, place: Placement) -> Value:
    """All that a value holds, brought to one place: tensors, modules, batches of a loader."""
    step = Provenance(StepKind.MOVED, node, frame.unit.source, getattr(value, "origin", None))
    if type(value) is Instance and value.module:
        move_module(frame, value, place, node)
        return value
    if type(value) is Loader:
        batch = value.batch
        if type(batch) is Tensor:
            return Loader(batch.with_place(place, step, drop=LOADED))
        return Loader(UNKNOWN)
    if type(value) is Tensor:
        return value.with_place(place, step, drop=DEFAULT | LOADED)
    if type(value) is Sequence and value.items is not None:
        return Sequence([carry(frame, node, v, place) for v in value.items], None, value.kind)
    if type(value) is Mapping:
        entries = {key: carry(frame, node, v, place) for key, v in value.entries.items()}
        return Mapping(entries, None)
    if type(value) is Union:
        return choose((carry(frame, node, v, place), when) for v, when in cases(value))
    return value
