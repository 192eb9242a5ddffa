"""Classes: their attributes through all methods, their bases, and the device variable of `self`.

Attributes are inferred on demand: reading `self.mask` in `forward` first infers the methods that
assign it. Inside an `nn.Module` all registered parameters, buffers and submodules live at one
rigid variable, δ(self): whoever writes the class does not choose it.
"""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from devlint.inference.conventions import found, holds, without
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.heap import latest
from devlint.inference.domain.host import Const, DeviceValue
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import ALWAYS, Predicate
from devlint.inference.domain.placement import (
    CPU,
    Device,
    Placement,
    Variable,
    VariableKind,
)
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import (
    DEFAULT,
    EMPTY,
    GRAD,
    KEPT,
    LOADED,
    MAYBE_SCALAR,
    NON_LEAF,
    PARAMETER,
    SCALAR,
    SHAPED,
    Tensor,
)
from devlint.inference.domain.value import (
    UNKNOWN,
    Union,
    Value,
    alternatives,
    choose,
    join_branches,
    under,
    union,
)
from devlint.inference.interpreter import contract_checks, contract_places, contracts
from devlint.inference.models.devices import parse_device
from devlint.inference.models.module_places import baked, replaced
from devlint.inference.models.registration import as_submodule, registered_tensor
from devlint.inference.program import roles
from devlint.inference.program.classes import AttributeNote, ClassInfo, Written
from devlint.inference.program.constructors import runs_in_constructor
from devlint.inference.program.device_awareness import is_assigned_outside
from devlint.inference.program.events import NonLeafUsed
from devlint.inference.program.frames import Frame
from devlint.inference.program.loops import Flag
from devlint.inference.program.outcomes import AttributeWrite
from devlint.inference.program.values import Instance
from devlint.inference.syntax.attribute_moves import is_mover
from devlint.inference.syntax.text import code, dotted, every

_OF_MODULES = frozenset({"to", "cuda", "xpu", "npu"})  # the moves of a module as a whole


_SAYS_HOW = ("_apply", "to", "cuda")  # by one of these a class says how it is moved


IN_TURN = ": setattr"  # behind the name of a method that moves attributes in a loop


def moves_plain_attribute(info: ClassInfo, name: str) -> bool:
    """The class says itself how it is moved, and may move a plain attribute by that: the
    method names it, calls another that does, or hands its object on."""
    methods = [m for m in map(info.method, _SAYS_HOW) if m is not None]
    for method in methods:  # grows on the way
        text = without("aside", code(method.node.body))
        if holds("mention", text, name) or holds("object-handed-on", text):
            return True
        called = [info.method(each) for each in found("own-call", text)]
        if None in called:
            return True  # a method out of sight
        methods += [m for m in called if m is not None and m not in methods]
    return False


def attribute_of_class(info: ClassInfo, name: str) -> Value | None:
    """What `self.name` holds, by all methods that assign it; None when nothing says."""
    declared = contracts.of_class(info, name)
    if declared is not None:
        return contract_places.attribute(info, declared, _assigned_value(info, name))
    return _assigned_value(info, name)


def _assigned_value(info: ClassInfo, name: str) -> Value | None:
    held = _assigned_inside(info, name)
    if held is not None and _is_device(held) and is_assigned_outside(info.unit.source.text, name):
        return DeviceValue(None)  # the constructor's is what it starts with
    return held


def _assigned_inside(info: ClassInfo, name: str) -> Value | None:
    if name in info.reading:
        held_so_far = info.attributes.get(name)
        return None if held_so_far is None else _where_read(info, name, held_so_far)
    info.reading.add(name)
    try:
        found: Value | None = None
        for ancestor in info.lineage():
            for method in ancestor.writers.get(name, ()):
                function = ancestor.methods.get(method)
                if (
                    function is not None
                    and function.summary is None
                    and not _is_being_made(ancestor, method)
                ):
                    function.unit.context.interpreter.summarize(function)
            held = ancestor.attributes.get(name)
            if held is None:
                held = _written_so_far(ancestor, name)
            if held is None:
                held = ancestor.members.get(name)
            if held is not None:
                found = held if found is None else join_branches(found, held)
                if ancestor is info:
                    break
        return None if found is None else _where_read(info, name, found)
    finally:
        info.reading.discard(name)


def _is_being_made(info: ClassInfo, reader: str) -> bool:
    """Its constructor runs: what other methods leave is not there yet."""
    return reader != "__init__" and any(
        frame.function is not None and frame.function.name == "__init__" for frame in info.running
    )


def _where_read(info: ClassInfo, name: str, found: Value) -> Value:
    """What an attribute holds by the time that others read what the constructor left."""
    if not _is_moved_later(info, name):
        return found
    return union(_once_moved(info, v) for v in alternatives(found))


def _is_moved_later(info: ClassInfo, name: str) -> bool:
    """Some other method than the one that reads the attribute moves it."""
    if any(name in ancestor.remade for ancestor in info.lineage()):
        return False
    movers = {method for ancestor in info.lineage() for method in ancestor.moved.get(name, ())}
    reader = info.running[-1].function if info.running else None
    return bool(movers) and (reader is None or reader.name not in movers)


def moved_on_demand(
    info: ClassInfo, frame: Frame, name: str, found: Value, node: cst.Attribute
) -> Value:
    """What an attribute holds that a method of the object moves, if somebody calls it: it may
    be in either place, where the code around `node` does not call that method. Of a module
    these are the parts that do not follow it then."""
    movers = _movers_of(info, name)
    function = frame.function
    if not movers or (function is not None and function.name in movers):
        return found
    contains = frame.unit.contains if function is None else function.contains
    calls = [f"{owner}.{mover}(" for owner in (code(node.value), ")") for mover in movers]
    if any(map(contains, calls)):
        return found
    return union(
        _somewhere(v) if not info.is_module or _follows_module(info, v) else v
        for v in alternatives(found)
    )


def _follows_module(info: ClassInfo, value: Value) -> bool:
    """A parameter, buffer or submodule."""
    return isinstance(value, (Tensor, Instance)) and value.place is info.variable


def _movers_of(info: ClassInfo, name: str) -> frozenset[str]:
    """The methods that move an attribute by itself, and that no other method calls."""
    found = info.movers.get(name)
    if found is None:
        moved = [m for ancestor in info.lineage() for m in ancestor.moved.get(name, ())]
        movers = {m.removesuffix(IN_TURN) for m in moved}
        if info.is_module:
            movers -= _OF_MODULES
        else:
            movers |= _movers_of_all(info)
        found = frozenset(m for m in movers if is_mover(m) and not _is_called_inside(info, m))
        info.movers[name] = found
    return found


def _movers_of_all(info: ClassInfo) -> set[str]:
    """The methods that hand the object on, and may move whatever it holds by that:
    `for name, value in vars(self).items(): setattr(self, name, value.to(device))`."""
    return {
        name
        for ancestor in info.lineage()
        for name, method in ancestor.methods.items()
        if is_mover(name) and holds("object-handed-on", without("aside", code(method.node.body)))
    }


def _is_called_inside(info: ClassInfo, method: str) -> bool:
    return any(f"self.{method}(" in ancestor.text for ancestor in info.lineage())


def _is_anew(info: ClassInfo, value: Value) -> bool:
    """On the host, and not computed of what the constructor left there."""
    if type(value) is not Tensor or value.place != CPU:
        return False
    steps = value.origin.chain() if value.origin is not None else ()
    return not any(step.node in info.constructed for step in steps)


def _once_moved(info: ClassInfo, value: Value) -> Value:
    """What the constructor left on the host, when it has been moved: somewhere."""
    if type(value) is Mapping or type(value) is Sequence:
        return UNKNOWN
    if not isinstance(value, (Tensor, Instance)):
        return value
    step = value.origin
    if value.place != CPU or step is None or not _is_of_constructor(info, step):
        return value
    if isinstance(value, Tensor):
        traits = value.traits & (SCALAR | GRAD)
        return Tensor(None, step, traits, value.evidence)

    return replaced(value, None, step, value.parent)


def _is_of_constructor(info: ClassInfo, step: Provenance) -> bool:
    return step.kind is StepKind.ATTRIBUTE and any(
        step.node in ancestor.constructed for ancestor in info.lineage()
    )


def _written_so_far(info: ClassInfo, name: str) -> Value | None:
    """What a method that is still being inferred, and called the one that reads, has
    registered under a name: the constructor calls `self.reset()`, which reads `self.weight`."""
    for frame in info.running:
        written = frame.state.env.get(f"self.{name}")
        if written is None:
            continue
        found: list[Value] = []
        for value in alternatives(written):
            if type(value) is Instance and value.module:
                found.append(as_submodule(info, value))
            elif type(value) is Tensor and value.traits & PARAMETER:
                made = value.origin.node if value.origin is not None else info.node
                found.append(registered_tensor(info, frame, made, value.traits))
            elif type(value) is not Const:
                return None
        if found:
            return union(found)
    return None


def held_under(info: ClassInfo, name: str, found: Value, flags: Iterable[Flag]) -> Value:
    """What `self.name` holds where conditions came out as they did when it was assigned."""
    written = info.branches.get(name, ())
    opposite = {(path, not outcome) for path, outcome in flags}
    fitting = [each.value for each in written if not each.flags & opposite]
    return union(fitting) if fitting and len(fitting) < len(written) else found


def told_apart(info: ClassInfo, name: str, found: Value) -> Value:
    """The alternatives of an attribute, each with the fact which suite left it there: where
    others are always assigned beside it, what one suite left never meets another's."""
    if type(found) is not Union or found is not info.attributes.get(name):
        return found
    suites = _suites_of(info, name)
    if len(suites) < 2 or len(_assigned_with(info, suites)) < 2:
        return found
    choice = info.together.setdefault(suites, Predicate())
    by_source: dict[cst.CSTNode, cst.BaseSuite] = {v: suite for suite, v in info.assigned[name]}
    left = []
    for each in info.branches.get(name, ()):
        suite = by_source.get(each.source)
        when = ((choice, True, suite),) if suite in suites else ALWAYS
        left.append((under(each.value, when), when))
    return choose(left)


def _stands_in(info: ClassInfo, name: str, value: Tensor, source: cst.CSTNode) -> bool:
    """An attribute begins with nothing, and is given its content later: a tensor without
    elements where the class asks for that, or one of memory that nobody has written to."""
    if value.traits & EMPTY:
        return _awaits(info, name)
    is_unwritten = isinstance(source, cst.Call) and dotted(source.func) == "torch.empty"
    return is_unwritten and len(_suites_of(info, name)) > 1


def _awaits(info: ClassInfo, name: str) -> bool:
    """The class gives an attribute its content later, and asks whether that has been: of the
    attribute itself, or of one that always gets its own with it."""
    suites = _suites_of(info, name)
    if len(suites) < 2:
        return False
    return any(
        holds("emptiness-test", info.text, f"self.{n}") for n in _assigned_with(info, suites)
    )


def _assigned_with(info: ClassInfo, suites: frozenset[cst.BaseSuite]) -> list[str]:
    """The attributes to which these suites give a value of their own, and no other ones."""
    if not info.alike:
        for name in info.assigned:
            info.alike.setdefault(_suites_of(info, name), []).append(name)
    return info.alike.get(suites, [])


def _suites_of(info: ClassInfo, name: str) -> frozenset[cst.BaseSuite]:
    """The suites that give an attribute a value of its own, not computed of the one before."""
    suites = info.sets.get(name)
    if suites is None:
        assigned = info.assigned.get(name, ())
        suites = frozenset(
            suite for suite, value in assigned if not holds("mention", code(value), f"self.{name}")
        )
        info.sets[name] = suites
    return suites


def unassigned_attribute(info: ClassInfo, name: str) -> Value:
    """An attribute of a module that nothing in sight assigns: perhaps a tensor of its own."""
    if any(name in ancestor.writers for ancestor in info.lineage()):
        return UNKNOWN  # by a method that is being inferred
    held = info.cache.get(name)
    if held is None:
        held = Tensor(info.variable, None, 0, Evidence()) if info.is_module else UNKNOWN
        info.cache[name] = held
    return held


def write_attribute(
    info: ClassInfo, frame: Frame, name: str, value: Value, node: cst.CSTNode, source: cst.CSTNode
) -> None:
    """`self.name = value` in one of the methods: what survives counts when it is done."""
    if type(value) is Tensor:
        value = under(value, frame.state.when)
    flags = frozenset(frame.control.branches)
    frame.outcome.writes.append(AttributeWrite(name, value, node, source, flags))


def write_parameter_data(
    info: ClassInfo,
    frame: Frame,
    holder: Tensor,
    value: Value,
    node: cst.Attribute,
    source: cst.CSTNode,
) -> None:
    """`self.weight.data = value`: the parameter lives where the value does."""
    owner = node.value
    if frame.constructing or not (isinstance(owner, cst.Attribute) and info.is_module):
        return
    if frame.eval(owner.value) is not frame.instance:
        return  # of another module
    name = owner.attr.value
    if holder.traits & PARAMETER and type(value) is Tensor and value.traits & DEFAULT:
        keep_note(
            info,
            name + ".data",
            AttributeNote(node, source, name, value, False, _method(frame), "parameter"),
        )


def settle_writes(info: ClassInfo, frame: Frame) -> None:
    """What a method leaves in the attributes that it assigns."""
    registered = RegisteredModules(frame)
    for name, value, node, source, flags in frame.outcome.writes:
        left = [env[f"self.{name}"] for env in frame.outcome.exits if f"self.{name}" in env]
        moved = _moved_in_place(left)
        if moved is None and left and not any(_survives(value, final) for final in left):
            continue
        kept = _write_value(info, frame, registered, name, moved or latest(value), node, source)
        info.branches.setdefault(name, []).append(Written(kept, flags, source))


def _moved_in_place(left: list[Value]) -> Tensor | None:
    """`self.net = net`, `self.net.to(device)`: what the method leaves is the moved one, if it is
    that in any case."""
    for value in left:
        if type(value) is not Tensor or value.origin is None or value.assumed:
            return None
        in_place = value.evidence is not None and value.evidence.effects.in_place
        if not in_place or value.origin.kind is not StepKind.MOVED:
            return None
    return left[0] if left and type(left[0]) is Tensor else None


def _write_value(
    info: ClassInfo,
    frame: Frame,
    registered: RegisteredModules,
    name: str,
    value: Value,
    node: cst.CSTNode,
    source: cst.CSTNode,
) -> Value:
    value = baked(frame, value)
    declared = contracts.of_class(info, name)
    if declared is not None:
        value = contract_checks.hold(frame, node, f"`self.{name}`", value, source, declared)
        old = info.attributes.get(name)
        info.attributes[name] = value if old is None else join_branches(old, value)
        return value
    if _method(frame) == "__init__" or frame.constructing:
        info.constructed.add(node)
    elif any(_is_anew(info, v) for v in alternatives(value)):
        info.remade.add(name)
    values = alternatives(value)
    if any(type(v) is Instance and v.module for v in values):
        # A module, or several, by a setting: which of them it is here is not in sight.
        values = tuple(UNKNOWN if _holds_modules(v) else v for v in values)
    kept = union(_kept_value(info, frame, registered, name, v, node, source) for v in values)
    held = info.attributes.get(name)
    info.attributes[name] = kept if held is None else join_branches(held, kept)
    return kept


def _kept_value(
    info: ClassInfo,
    frame: Frame,
    registered: RegisteredModules,
    name: str,
    value: Value,
    node: cst.CSTNode,
    source: cst.CSTNode,
) -> Value:
    if type(value) is Tensor and _stands_in(info, name, value, source):
        return Tensor(None, value.origin)  # it has its content where it is used
    if not info.is_module:
        return _kept_by_object(info, frame, value, node)
    if type(value) is Tensor:
        return _kept_tensor(info, frame, name, value, node, source)
    if type(value) is Instance and value.module:
        info.registered.setdefault(name, "module")
        _note_place(info, value.place)
        return as_submodule(info, value)
    if isinstance(value, (Sequence, Mapping)) and frame.function is not None:
        inner = value.any()
        hidden = type(value) is Sequence and value.kind == "cache"
        modules = modules_in(inner)
        own = [m for m in modules if hidden or is_own(frame, m, registered)]
        if modules and not hidden and (registers_by_name(info) or is_handed_on(info, name, source)):
            return UNKNOWN  # they move by names of their own
        if own and type(inner) is not Tensor:
            stand_in = Tensor(CPU, frame.origin(StepKind.CREATED, source), 0)
            for module in own:
                module.place = None  # nobody moves it: that is said once, here
            keep_note(
                info, name, AttributeNote(node, source, name, stand_in, True, _method(frame), "")
            )
        elif any(module in registered for module in modules):
            return UNKNOWN  # they move by names of their own
        elif not own:
            return _kept_container(info, frame, name, value, node, source)
    return value


def _kept_container(
    info: ClassInfo, frame: Frame, name: str, value: Value, node: cst.CSTNode, source: cst.CSTNode
) -> Value:
    """A list or dict of tensors: nothing in it moves with the module."""
    if type(value) is not Sequence:
        return value
    parts = value.items if value.items is not None else [value.any()]
    found = [
        v
        for v in parts
        if type(v) is Tensor
        and v.evidence is None
        and v.traits & DEFAULT
        and not v.traits & PARAMETER
    ]
    if not found or len(found) < len(parts):
        return value
    if all(_is_placeholder(v) for v in found) and _refilled(info, name):
        return Sequence(None, Tensor(None), value.kind)
    if moves_plain_attribute(info, name):
        inner = registered_tensor(info, frame, node, 0)
        return Sequence(None, inner, value.kind)
    keep_note(info, name, AttributeNote(node, source, name, found[0], False, _method(frame), ""))
    origin = frame.origin(
        StepKind.ATTRIBUTE, node, found[0].origin, "kept here as a plain attribute"
    )
    kept: list[Value] = [Tensor(v.place, origin, v.traits | KEPT) for v in found]
    if value.items is None:
        return Sequence(None, kept[0], value.kind)
    return Sequence(kept, None, value.kind)


def _moves_attribute(info: ClassInfo, node: cst.CSTNode) -> bool:
    """Some method of the class moves the module that it keeps there."""
    path = dotted(node)
    return bool(path) and holds("moved-name", info.text, path)


def _kept_by_object(info: ClassInfo, frame: Frame, value: Value, node: cst.CSTNode) -> Value:
    if type(value) is Instance and value.module and type(value.place) is Device:
        if info.has_base_out_of_sight:
            return replaced(value, None, None, value.parent)  # it may be what moves them
        if value.place == CPU and _moves_attribute(info, node):
            return replaced(value, None, value.origin, value.parent)
        step = frame.origin(StepKind.ATTRIBUTE, node, value.origin, "kept here")
        return replaced(value, value.place, step, value.parent)
    if isinstance(value, (Sequence, Mapping)) and modules_in(value.any()):
        return _kept_modules(info, frame, value, node)
    if type(value) is Tensor and type(value.place) is not Variable:
        place = value.place
        if value.traits & PARAMETER and info.has_base_out_of_sight:
            place = None  # a module after all: it moves with the object
        return Tensor(
            place,
            frame.origin(StepKind.ATTRIBUTE, node, value.origin, "kept here"),
            value.traits,
            value.evidence,
        )
    if type(value) is Tensor and value.evidence is not None and _is_computed(value):
        # What becomes of it by this name is nothing that becomes of what it was computed from.
        return Tensor(value.place, value.origin, value.traits, Evidence(parents=(value.evidence,)))
    return value


def _is_computed(value: Tensor) -> bool:
    return value.origin is not None and value.origin.kind is StepKind.COMPUTED


def _kept_modules(
    info: ClassInfo, frame: Frame, value: Sequence | Mapping, node: cst.CSTNode
) -> Sequence | Mapping:
    """A list or dict of modules that an object keeps: each as if it kept that alone."""

    def kept(part: Value) -> Value:
        return union(
            _kept_by_object(info, frame, v, node) if type(v) is Instance and v.module else v
            for v in alternatives(part)
        )

    element = None if value.element is None else kept(value.element)
    if isinstance(value, Mapping):
        return Mapping({k: kept(v) for k, v in value.entries.items()}, element)
    items = None if value.items is None else [kept(v) for v in value.items]
    return Sequence(items, element, value.kind, value.node, value.names)


def _kept_tensor(
    info: ClassInfo, frame: Frame, name: str, value: Tensor, node: cst.CSTNode, source: cst.CSTNode
) -> Value:
    if value.traits & NON_LEAF:
        frame.emit(NonLeafUsed(value, "attribute", node))
    if (
        value.traits & PARAMETER
        and value.origin is not None
        and (
            value.origin.kind is StepKind.CREATED
            or (value.origin.kind is StepKind.REGISTERED and value.traits & GRAD)
        )
    ):
        if _is_made_anew(info, frame, name, value):
            note = AttributeNote(node, source, name, value, False, _method(frame), "parameter")
            keep_note(info, name + "*", note)
        info.registered[name] = "parameter"
        _note_place(info, value.place)
        if value.place is None and not value.traits & DEFAULT:
            info.places_itself = True  # of what the constructor was given, which is somewhere
        return registered_tensor(info, frame, node, value.traits)
    if value.evidence is not None and not value.evidence.is_tensor:
        return value
    if _is_copy(frame, value) and value.place in {i.variable for i in info.lineage()}:
        # Made before anybody could move the module, it stays where the module was built.
        open_size = MAYBE_SCALAR if value.traits & SHAPED else 0
        value = value.with_place(CPU, value.origin, add=DEFAULT | open_size)
    _note_place(info, value.place)
    was_given = _was_given(info, frame, name, value)
    if was_given:
        open_size = MAYBE_SCALAR if value.traits & SHAPED else 0
        value = value.with_place(CPU, value.origin, add=DEFAULT | open_size)
    was_chosen = _is_on_constructors_device(frame, value)
    if not was_chosen and (value.place is None or type(value.place) is Variable):
        return value
    if moves_plain_attribute(
        info, name
    ):  # by an `_apply` or `to` of its own, or one that it inherits
        return registered_tensor(info, frame, node, value.traits)
    overwrites = info.registered.get(name, "")
    if overwrites == "module":
        overwrites = ""
    if overwrites == "buffer" or overwrites == "parameter":
        if (
            not frame.constructing
            and not runs_in_constructor(frame)
            and value.traits & DEFAULT
            and not value.traits & SCALAR
            and not (value.traits & MAYBE_SCALAR and _is_scalar(info, name))
            and not _packs_on_host(frame)
        ):
            keep_note(
                info,
                name + "*",
                AttributeNote(node, source, name, value, False, _method(frame), overwrites),
            )
        if overwrites == "buffer":
            return registered_tensor(info, frame, node, value.traits)
    if not value.traits & LOADED:
        is_made_here = value.traits & DEFAULT and not was_given
        given = roles.by_default(frame) if is_made_here else None
        keep_note(
            info,
            name,
            AttributeNote(
                node, source, name, value, False, _method(frame), overwrites, given, was_given
            ),
        )
    origin = frame.origin(StepKind.ATTRIBUTE, node, value.origin, "kept here as a plain attribute")
    return Tensor(value.place, origin, value.traits | KEPT, value.evidence)


def _is_on_constructors_device(frame: Frame, value: Tensor) -> bool:
    """A tensor that the constructor made on the device that it was given: it is where the module
    is for as long as nobody moves that.

    `def __init__(self, device): self.kernel = torch.ones(3, 3, device=device)`
    """
    place, origin = value.place, value.origin
    if type(place) is not Variable or place.kind is not VariableKind.DEVICE or origin is None:
        return False
    is_made = origin.root.kind is StepKind.CREATED and not value.traits & (PARAMETER | SCALAR)
    return frame.constructing and place.parameter and is_made and value.is_sure


def _is_made_anew(info: ClassInfo, frame: Frame, name: str, value: Tensor) -> bool:
    """A method puts a parameter on the default device in the place of one that the constructor
    registered, and that the module has taken with it since."""
    if frame.constructing or runs_in_constructor(frame) or value.place != CPU:
        return False
    return info.registered.get(name) == "parameter" and bool(value.traits & DEFAULT)


def _was_given(info: ClassInfo, frame: Frame, name: str, value: Tensor) -> bool:
    """A tensor that the constructor was given: it was made before the module could be moved, as the
    module's own parts were, and unlike those it does not follow.

    `def __init__(self, points: Tensor): self.points = points`
    """
    origin = value.origin
    if value.place is not None or origin is None or not frame.constructing:
        return False
    root = origin.root
    if root.kind is not StepKind.PARAMETER or not isinstance(root.node, cst.Param):
        return False
    if name in info.registered or not value.is_sure or f"{name}.device" in info.text:
        return False
    annotation = root.node.annotation
    return annotation is None or "Parameter" not in code(annotation.annotation)


def _is_scalar(info: ClassInfo, name: str) -> bool:
    """What was registered by this name is 0-dim: a flag, a counter."""
    held = info.attributes.get(name, UNKNOWN)
    return any(type(v) is Tensor and v.traits & SCALAR for v in alternatives(held))


def _note_place(info: ClassInfo, place: Placement) -> None:
    """A part that is elsewhere than on the default device: the class places itself. Of a part
    without state nothing is known, and nothing needs to be."""
    if place is not None and place != CPU and place is not info.variable:
        info.places_itself = True


def keep_note(info: ClassInfo, name: str, note: AttributeNote) -> None:
    info.notes.setdefault(name, note)


def _packs_on_host(frame: Frame) -> bool:
    """A method that hands tensors to NumPy as they are, and takes arrays back: the module is on the
    host while it runs, or the first of them raises."""
    text = frame.function.text if frame.function is not None else ""
    return "from_numpy(" in text and holds("numpy-without-cpu", text)


def _is_device(value: Value) -> bool:
    """One device that is written down: `torch.device("cpu")`, `"cpu"`."""
    if type(value) is DeviceValue:
        return type(value.place) is Device
    return type(value) is Const and isinstance(value.value, str) and bool(parse_device(value.value))


def _somewhere(value: Value) -> Value:
    """A value that is moved or not, as others chose."""
    if type(value) is Tensor:
        return Tensor(None, value.origin, value.traits & (SCALAR | GRAD), value.evidence)
    if type(value) is Mapping or type(value) is Sequence:
        return UNKNOWN
    if type(value) is Instance and value.module:
        return replaced(value, None, value.origin, value.parent)
    return value


def _is_placeholder(tensor: Tensor) -> bool:
    """One element or none, by its factory's only argument: `torch.zeros(1)`."""
    made = tensor.origin.root.node if tensor.origin is not None else None
    if not isinstance(made, cst.Call) or len(made.args) != 1:
        return False
    size = made.args[0].value
    return isinstance(size, cst.Integer) and size.value in ("0", "1")


def _refilled(info: ClassInfo, name: str) -> bool:
    """The class puts other elements into a list, or hands it to somebody who may."""
    return holds("refilled-list", info.text, f"self.{name}")


class RegisteredModules:
    """Modules that an object holds by a name of their own, as a function leaves it:
    `self.last = last` beside `self.layers = [last]`, or in a `ModuleDict` of the same object."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._found: set[Value] | None = None

    def __contains__(self, module: Instance) -> bool:
        if self._found is None:
            self._found = set()
            for key, held in self._frame.state.env.items():
                if isinstance(key, str) and key.startswith("self."):
                    for value in alternatives(held):
                        self._found.add(value)
                        if type(value) is Instance and value.items is not None:
                            self._found.update(modules_in(value.items.any()))
        return module in self._found


def _holds_modules(value: Value) -> bool:
    return isinstance(value, (Sequence, Mapping)) and bool(modules_in(value.any()))


def is_own(frame: Frame, module: Instance, registered: RegisteredModules) -> bool:
    """A module with state that only the container holds: not handed in, not registered besides."""
    if module.origin is not None and module.origin.kind is StepKind.PARAMETER:
        return False
    if module in registered:
        return False
    if type(module.place) is Variable or module.parent is not None:
        return False
    made = module.origin.node if module.origin is not None else None
    if isinstance(made, cst.Call) and any(
        dotted(a.keyword) == "device" for a in made.args if a.keyword
    ):
        return False  # it was told where to be
    return has_state(frame, module)


# Bases without a parameter of their own.
_EMPTY_BASES = frozenset(
    f"torch.nn.{name}" for name in ("Module", "Sequential", "ModuleList", "ModuleDict")
)


def has_state(frame: Frame, module: Instance, depth: int = 4) -> bool:
    """Whether a module has parameters or buffers, as far as is known."""
    if module.items is not None and module.items.items is not None:
        return any(
            has_state(frame, v, depth - 1) if type(v) is Instance else True
            for v in module.items.items
        )
    if module.info is not None:
        if module.info.library_bases and not all(
            b.startswith("torch.nn.") for b in module.info.library_bases
        ):
            return True
        for base in module.info.library_bases:  # `class Block(nn.Conv2d)`
            known = frame.unit.context.knowledge.module(base)
            if known is not None and known.stateful == "always" and base not in _EMPTY_BASES:
                return True
        for info in module.info.lineage():
            for name, kind in info.registered.items():
                held = info.attributes.get(name)
                if kind != "module" or type(held) is not Instance:
                    return True
                if depth and has_state(frame, held, depth - 1):
                    return True
        return False
    if module.library:
        known = frame.unit.context.knowledge.module(module.library)
        if known is not None and known.stateful == "weight":
            return bool(module.name)  # a loss that was given one
        return known is None or known.stateful != "never"
    return True


def modules_in(value: Value, depth: int = 2) -> list[Instance]:
    """The modules in a container, nested ones too."""
    found: list[Instance] = []
    for alternative in alternatives(value):
        if type(alternative) is Instance and alternative.module:
            found.append(alternative)
        elif type(alternative) is Sequence and depth:
            for item in alternative.items or [alternative.any()]:
                found += modules_in(item, depth - 1)
        elif type(alternative) is Mapping and depth:
            found += modules_in(alternative.any(), depth - 1)
    return found


def _survives(value: Value, final: Value) -> bool:
    """Whether what was assigned may still be there at the end."""
    if final is value:
        return True
    if type(value) is Sequence:
        return any(type(v) is Sequence for v in alternatives(final))
    if type(value) is Mapping:
        # one that was put together from others holds their entries
        return any(
            type(v) is Mapping and value.entries.keys() <= v.entries.keys()
            for v in alternatives(final)
        )
    if type(value) is Tensor:
        found = [v.origin for v in alternatives(final) if type(v) is Tensor]
        return any(o is value.origin or (o and o.is_same(value.origin)) for o in found)
    return True


def _is_copy(frame: Frame, value: Tensor) -> bool:
    """What a constructor computes from a parameter or buffer is a tensor of its own."""
    if frame.function is None or frame.function.name != "__init__" or value.origin is None:
        return False
    return value.origin.kind is StepKind.COMPUTED and value.origin.root.kind is StepKind.REGISTERED


def _method(frame: Frame) -> str:
    return frame.function.name if frame.function is not None else ""


def registers_by_name(info: ClassInfo) -> bool:
    """The class registers modules under computed names besides, or their parameters:
    `self.register_parameter(f"weight_{i}", layer.weight)`."""
    text = info.text
    if "add_module(" in text or "register_module(" in text or "setattr(self" in text:
        return True
    calls = every(info.node, cst.Call) if "register_parameter(" in text else []
    return any(_registers_computed(call) for call in calls)


def _registers_computed(call: cst.Call) -> bool:
    if not dotted(call.func).endswith("self.register_parameter"):
        return False
    named = [each.value for each in call.args if each.keyword and each.keyword.value == "name"]
    given = named or [each.value for each in call.args[:1]]
    return not any(isinstance(value, cst.SimpleString) for value in given)


def is_handed_on(info: ClassInfo, name: str, source: cst.CSTNode) -> bool:
    """The class hands the container that it keeps there to a constructor, which may register what
    is in it: `self.layers = nn.ModuleList(self.layer_list)`."""
    own = {source.value} if isinstance(source, cst.Name) else set()
    return info.lists.hand_on({f"self.{name}", *own})
