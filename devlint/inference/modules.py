"""Objects and `nn.Module`s: attributes, methods, and where a module is now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from devlint.inference.assumption_sites import at
from devlint.inference.callees import call_function
from devlint.inference.conventions import holds
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import DTYPE, HOST, NONE, Const, DeviceValue, External, Host
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import CPU, Placement, Variable, VariableKind
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import (
    DEFAULT,
    EMPTY,
    GRAD,
    PARAMETER,
    RECORDED,
    SCALAR,
    Tensor,
)
from devlint.inference.domain.value import (
    UNKNOWN,
    Union,
    Value,
    alternatives,
    cases,
    choose,
    is_untold,
    union,
)
from devlint.inference.facts import MeetingKind
from devlint.inference.frame import Frame
from devlint.inference.functions import Arguments, Function
from devlint.inference.meetings import (
    add_pending,
    contradiction,
    fed_from_elsewhere,
    meet,
    never_meet,
    note,
    stands_in,
    tensors_in,
)
from devlint.inference.text import code, shorten
from devlint.inference.values import (
    ClassValue,
    FunctionValue,
    Instance,
    Method,
    Parameters,
    Placed,
    Super,
)
from devlint.knowledge import Agreement, Call, Result

if TYPE_CHECKING:
    from devlint.inference.classes import ClassInfo


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


def _state(frame: Frame, module: Instance) -> Placed | None:
    current: Frame | None = frame
    while current is not None:
        state = current.env.get(module)
        if type(state) is Placed:
            # A closure runs at some time: before or after the second move.
            return state if current is frame or module.moves == 0 else Placed(None, None)
        current = current.outer
    unit = frame.unit
    state = unit.globals.get(module)
    if state is None:
        state = unit.env.get(module)
    return state if type(state) is Placed else None


def move_module(frame: Frame, module: Instance, place: Placement, node: cst.CSTNode) -> None:
    """`Module.to`: in place, seen through every alias."""
    _, origin = placed(frame, module)
    step = Provenance(StepKind.MOVED, node, frame.unit.source, origin, "moved here")
    if type(frame.env.get(module)) is Placed:
        module.moves += 1
    frame.env[module] = Placed(place, step)
    for twin in module.twins:
        frame.env[twin] = Placed(None, None)  # moved, too, where it was the one meant
    move_what_was_handed_in(module)


def move_what_was_handed_in(module: Instance, depth: int = 3) -> None:
    """A container moves the parameters of the function that it was made of: they are modules."""
    members = module.items.items if module.items is not None else None
    for value in members or ():
        for each in alternatives(value):
            if type(each) is Tensor and each.evidence is not None:
                each.evidence.moved = True
            elif type(each) is Instance and each.module and depth:
                move_what_was_handed_in(each, depth - 1)


def in_parallel(module: Instance) -> Instance:
    """A module seen through `DataParallel` or `DistributedDataParallel`: it is where that is."""
    wrapper = Instance(None, "Parallel", True, None, module.origin, module)
    wrapper.fields["module"] = module
    return wrapper


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
    copy.given = module.given
    return copy


def member(holder: Instance, value: Value) -> Value:
    """An element of a ModuleList or ModuleDict: it lives where its holder lives."""
    if type(value) is Instance and value.module:
        return replaced(value, None, value.origin, holder)
    if type(value) is Union:
        return choose((member(holder, v), when) for v, when in cases(value))
    if type(value) is Sequence:
        items = None if value.items is None else [member(holder, v) for v in value.items]
        element = None if value.element is None else member(holder, value.element)
        return Sequence(items, element, value.kind, value.node)
    return value


_PARAMETER_LISTS = frozenset(
    f"torch.nn.{path}Parameter{kind}"
    for path in ("", "modules.", "modules.container.")
    for kind in ("List", "Dict")
)


def parameter_in(frame: Frame, node: cst.CSTNode, holder: Instance) -> Value:
    """An element of a ParameterList or ParameterDict: it lives where its holder lives."""
    if holder.library not in _PARAMETER_LISTS:
        return UNKNOWN
    place, origin = placed(frame, holder)
    step = Provenance(StepKind.REGISTERED, node, frame.unit.source, origin)
    return Tensor(place, step, PARAMETER | GRAD)


def is_self(frame: Frame, value: Instance) -> bool:
    return value is frame.instance


def attribute(frame: Frame, node: cst.Attribute, holder: Instance, name: str) -> Value:
    """`object.name`."""
    held = holder.fields.get(name)
    if held is not None:
        modules = [v for v in alternatives(held) if type(v) is Instance and v.module]
        if holder.module and any(module.parent is not holder for module in modules):
            held = member(holder, held)  # whichever of several it is
            holder.fields[name] = held
        if type(held) is Tensor and held.traits & PARAMETER and holder.module:
            return _registered(frame, node, holder, held)
        return held
    info = holder.info
    if info is not None:
        function = info.method(name)
        if function is not None:
            bound = FunctionValue(function, holder)
            if function.is_property:
                result = call_function(frame, node, bound, Arguments([], {}))
                return UNKNOWN if result is None else result
            return bound
        found = info.attribute(name)
        if found is not None and frame.branches and is_self(frame, holder):
            found = info.held_where(name, found, frame.branches)
        if found is not None and is_self(frame, holder):
            found = info.told_apart(name, found)
        if found is not None:
            found = info.on_demand(frame, name, found, node)
        if found is not None:
            return _seen_from(frame, node, holder, found)
    if holder.module:
        if name in ("device", "_device"):
            return DeviceValue(placed(frame, holder)[0])
        if name in ("weight", "bias", "in_proj_weight", "running_mean", "running_var"):
            place, origin = placed(frame, holder)
            step = Provenance(StepKind.REGISTERED, node, frame.unit.source, origin)
            traits = PARAMETER
            if "running" not in name:
                of_torch = holder.library.startswith("torch.nn.") and not frame.unit.freezes
                traits |= GRAD | (RECORDED if of_torch else 0)
            return Tensor(place, step, traits)
        if name == "module":
            return holder
        if name == "dtype":
            return DTYPE
        if name in _HOST_ATTRIBUTES:
            return HOST
    if info is not None:
        if is_self(frame, holder) or not holder.module:
            return info.unknown_attribute(name)
        return UNKNOWN
    if holder.module and not holder.library:
        place, _ = placed(frame, holder)
        return Tensor(place, None, 0, Evidence())
    if holder.library and not holder.module:
        from devlint.inference import objects

        of_library = objects.attribute(frame, node, holder, name)
        if of_library is not None:
            return of_library
    return Method(holder, name)


_HOST_ATTRIBUTES = frozenset(
    {"training", "dtype", "in_features", "out_features", "in_channels", "out_channels"}
    | {"kernel_size", "stride", "padding", "num_embeddings", "embedding_dim", "hidden_size"}
)


def _seen_from(frame: Frame, node: cst.Attribute, holder: Instance, value: Value) -> Value:
    """An attribute's value, with δ(self) replaced by where this object is."""
    if is_self(frame, holder) or holder.info is None:
        return value
    if type(value) is Union:
        return choose((_seen_from(frame, node, holder, v), when) for v, when in cases(value))
    variables = {i.variable for i in holder.info.lineage()}
    place = getattr(value, "place", None)
    if type(place) is Variable and place not in variables and place.parameter:
        return _given(holder, value, place)
    if type(value) is Tensor and value.place in variables:
        place, origin = placed(frame, holder)
        step = Provenance(StepKind.REGISTERED, node, frame.unit.source, origin).known(value.when)
        return Tensor(place, step, value.traits, value.evidence)
    if type(value) is Instance and value.place in variables:
        sub = replaced(value, None, value.origin, holder)
        holder.fields[node.attr.value] = sub
        return sub
    if type(value) is DeviceValue and value.place in variables:
        return DeviceValue(placed(frame, holder)[0])
    return value


def _registered(frame: Frame, node: cst.Attribute, holder: Instance, value: Tensor) -> Tensor:
    """A Parameter that was assigned to a module from outside: it moves with the module."""
    if value.place != CPU:
        return value
    place, origin = placed(frame, holder)
    step = Provenance(StepKind.REGISTERED, node, frame.unit.source, origin).known(value.when)
    return value.with_place(place, step, drop=DEFAULT)


def _given(holder: Instance, value: Value, place: Variable) -> Value:
    """An attribute on a parameter's device, seen from outside: as the constructor's call says."""
    stand_in = holder.given.get(place) if holder.given is not None else None
    where = stand_in.place if stand_in is not None else None
    if type(value) is DeviceValue:
        return DeviceValue(where)
    if type(value) is Tensor:
        traits = value.traits | (stand_in.traits & DEFAULT if stand_in is not None else 0)
        return Tensor(where, value.origin, traits, value.evidence)
    return UNKNOWN


# ----------------------------------------------------------------- calling a module


def call_module(frame: Frame, node: cst.Call, module: Instance, arguments: Arguments) -> Value:
    """`module(x)`: its inputs must be where it is, and its result is there."""
    place, origin = placed(frame, module)
    if module.info is not None:
        function = module.info.method("forward") or module.info.method("__call__")
        if function is not None:
            # What its inputs must agree with stands in forward's summary.
            result = call_function(
                frame, node, FunctionValue(function, module), arguments, as_module=True
            )
            if result is not None and not is_untold(result):
                return result
        return _result(frame, node, place, origin, arguments)
    if module.items is not None and module.library.endswith("Sequential"):
        if not stateful(frame, module):
            return meet(frame, node, shorten(node.func), arguments.all(), False)
        if _begins_with_layer(module):
            _show_input(arguments)
        _check_inputs(frame, node, place, origin, arguments)
        return _result(frame, node, place, origin, arguments)
    known = frame.unit.context.knowledge.module(module.library) if module.library else None
    if module.library.endswith("Parallel"):
        # The wrappers scatter their inputs to their own devices.
        return _scattered(frame, node, place, origin, arguments)
    if known is not None and (
        known.stateful == "never" or (known.stateful == "weight" and not module.name)
    ):
        mark_tensors(arguments)
        operands = arguments.all()
        if known.agreement is Agreement.FREE:
            operands = operands[:1]  # the others may be anywhere
        result = meet(frame, node, shorten(node.func), operands, False, MeetingKind.INPUT)
        return _shape(result, known.results, known.scalar)
    if known is None and module.library:
        return _result(frame, node, place, origin, arguments)
    if _is_layer(module):
        _show_input(arguments)
    at_fault = _check_inputs(frame, node, place, origin, arguments)
    result = _result(frame, node, None if at_fault else place, origin, arguments)
    if known is not None:
        return _shape(result, known.results, known.scalar)
    return result


def _scattered(
    frame: Frame,
    node: cst.Call,
    place: Placement,
    origin: Provenance | None,
    arguments: Arguments,
) -> Value:
    """The output of a wrapper: on its module's device, wherever its inputs were."""
    if place is None:
        inputs = tensors_in_arguments(arguments)
        moved = next((t for t in inputs if t.place is not None and t.place != CPU), None)
        place, origin = (moved.place, moved.origin) if moved is not None else (None, None)
    step = Provenance(StepKind.COMPUTED, node, frame.unit.source, origin)
    return Tensor(place, step, GRAD, Evidence(True))


def mark_tensors(arguments: Arguments) -> None:
    """A library's module is called with them: they are tensors."""
    for tensor in tensors_in_arguments(arguments):
        tensor.show()


def _show_input(arguments: Arguments) -> None:
    """What a layer is called with, and what else may be left out: the first is a tensor."""
    for value, _ in arguments.positional[:1]:
        for tensor in tensors_in(value):
            tensor.show()


def _is_layer(module: Instance) -> bool:
    """A module of torch itself, that holds no others of which it depends what they take."""
    return module.library.startswith("torch.nn.") and module.items is None


def _begins_with_layer(container: Instance) -> bool:
    held = container.items
    if held is None:
        return False
    first = held.items[0] if held.items else held.any()
    return all(type(v) is Instance and _is_layer(v) for v in alternatives(first))


def stateful(frame: Frame, module: Instance) -> bool:
    """Whether a module may hold parameters or buffers."""
    if module.items is not None:
        held = module.items.items
        parts = held if held is not None else alternatives(module.items.any())
        return any(stateful(frame, v) if type(v) is Instance else True for v in parts)
    if module.library:
        knowledge = frame.unit.context.knowledge
        if not module.module and knowledge.class_(module.library) is not None:
            return False  # a transform, which is called in turn: no layer
        known = knowledge.module(module.library)
        return known is None or known.stateful != "never"
    return module.info is None or any(_adds_state(frame, each) for each in module.info.lineage())


_WITHOUT_STATE = (Const, Host, FunctionValue, DeviceValue)


def _adds_state(frame: Frame, info: ClassInfo) -> bool:
    """Whether a class of the project may register anything, as far as its own methods show."""
    for base in info.bases:
        known = type(base) is External and base.name in ("torch.nn.Module", "builtins.object")
        if not known and type(base) is not ClassValue:
            return True
    held = [v for value in info.attributes.values() for v in alternatives(value)]
    return (
        any(_may_hold(frame, value) for value in held)
        or info.writers.keys() != info.attributes.keys()
        or holds("registering-text", code(info.node))
    )


def _may_hold(frame: Frame, value: Value) -> bool:
    if type(value) is Instance and value.module:
        return stateful(frame, value)
    plain = type(value) is Tensor and value.evidence is None and not value.traits & PARAMETER
    return not (plain or type(value) in _WITHOUT_STATE)


def _check_inputs(
    frame: Frame,
    node: cst.Call,
    place: Placement,
    origin: Provenance | None,
    arguments: Arguments,
) -> bool:
    """Note the inputs that are elsewhere. True when the module is what is out of place."""
    at_fault = False
    if place is None:
        return False
    by_default = DEFAULT if type(place) is not Variable and place == CPU else 0
    own = Tensor(place, origin, by_default)
    for value, argument in arguments.all():
        inputs = tensors_in(value)
        for tensor in inputs:
            if tensor.place is None or tensor.place is place or tensor.traits & EMPTY:
                continue  # without elements it is a placeholder
            if never_meet(frame, tensor, own):
                continue
            found = contradiction(frame, tensor, own, pointwise=False)
            if found is None:
                if Variable in (type(place), type(tensor.place)):
                    add_pending(
                        frame, node, MeetingKind.INPUT, shorten(node.func), tensor, own, False
                    )
                continue
            assumed = [*found]
            if not (_is_settled(value, tensor, inputs) or stands_in(frame, tensor, inputs)):
                message = f"`{shorten(argument)}` is as this one of its branches leaves it"
                assumed.append(at(frame, AssumptionKind.BRANCH_TAKEN, argument, message))
            if not tensor.is_sure:
                tensor.show()
            if tensor.traits & SCALAR:
                message = f"`{shorten(node.func)}` takes no 0-dim tensor of the host"
                assumed.append(at(frame, AssumptionKind.MODULE_REFUSES_NUMBERS, argument, message))
            if (
                origin is not None
                and origin.kind is StepKind.ATTRIBUTE
                and type(tensor.place) is Variable
                and tensor.place.kind is VariableKind.INPUT
            ):
                assumed.append(fed_from_elsewhere(frame, node.func))
            module_at_fault = type(place) is not Variable and place == CPU and tensor.place != CPU
            if module_at_fault:
                at_fault = True
                note(
                    frame,
                    node,
                    MeetingKind.INPUT,
                    shorten(node.func),
                    own,
                    node.func,
                    tensor,
                    argument,
                    tuple(assumed),
                )
            else:
                note(
                    frame,
                    node,
                    MeetingKind.INPUT,
                    shorten(node.func),
                    tensor,
                    argument,
                    own,
                    node.func,
                    tuple(assumed),
                )
    return at_fault


def _is_settled(value: Value, tensor: Tensor, inputs: list[Tensor]) -> bool:
    """Whatever an input turns out to be, it is where this tensor is."""
    parts = alternatives(value)
    if len(parts) == 1:
        return True
    held = all(type(part) in (Tensor, Sequence) and tensors_in(part) for part in parts)
    return held and all(each.place == tensor.place for each in inputs)


def _result(
    frame: Frame,
    node: cst.Call,
    place: Placement,
    origin: Provenance | None,
    arguments: Arguments,
) -> Value:
    """A module's output: where the module is, else where its inputs are."""
    if place is not None:
        step = Provenance(StepKind.COMPUTED, node, frame.unit.source, origin)
        parts = tensors_in_arguments(arguments)
        if parts and type(place) is Variable and place.kind.value == "input":
            chosen = next((t for t in parts if t.place is not None), None)
            if chosen is not None:
                return Tensor(chosen.place, step, GRAD, Evidence(True))
        return Tensor(place, step, GRAD, Evidence(True))
    return meet(frame, node, shorten(node.func), arguments.all(), indirect=True)


def tensors_in_arguments(arguments: Arguments) -> list[Tensor]:
    found: list[Tensor] = []
    for value, _ in arguments.all():
        found += tensors_in(value)
    return found


def _shape(value: Value, results: int, scalar: bool) -> Value:
    if type(value) is not Tensor:
        return value
    if results > 0:
        return Sequence(
            [Tensor(value.place, value.origin, value.traits, value.evidence)] * results,
            None,
            "tuple",
        )
    if results < 0:
        return Sequence(None, value, "tuple")
    if scalar:
        return Tensor(value.place, value.origin, value.traits | SCALAR, value.evidence)
    return value


# ----------------------------------------------------------------- methods of any module

_SAME = frozenset(
    {"train", "eval", "float", "half", "double", "bfloat16", "type", "requires_grad_", "apply"}
    | {"share_memory", "zero_grad", "compile", "to_empty"}
)


def call_method(
    frame: Frame, node: cst.Call, module: Instance, name: str, arguments: Arguments
) -> Value:
    """A method that every `nn.Module` has."""
    from devlint.inference import moves

    if name in ("to", "cuda", "cpu", "xpu", "npu"):
        return moves.move_of_module(frame, node, module, name, arguments)
    if name in _SAME:
        return module
    place, origin = placed(frame, module)
    if name in ("parameters", "buffers", "named_parameters", "named_buffers"):
        step = Provenance(StepKind.REGISTERED, node, frame.unit.source, origin)
        tensor = Tensor(place, step, PARAMETER | GRAD)
        if name.startswith("named"):
            return Sequence(None, Sequence([HOST, tensor], None, "tuple"), "iterator")
        return Parameters(module, tensor)
    if name in ("get_parameter", "get_buffer"):
        step = Provenance(StepKind.REGISTERED, node, frame.unit.source, origin)
        return Tensor(place, step, PARAMETER | GRAD if name == "get_parameter" else 0)
    if name in ("children", "modules", "named_children", "named_modules"):
        inner = Instance(None, "", True, place, origin, module)
        if name.startswith("named"):
            return Sequence(None, Sequence([HOST, inner], None, "tuple"), "iterator")
        return Sequence(None, inner, "iterator")
    if name in ("register_buffer", "register_parameter", "add_module", "register_module"):
        _register(frame, node, module, name, arguments)
        return NONE
    if name == "state_dict":
        if is_self(frame, module):
            return UNKNOWN  # for a file, mostly: by then it is on the host
        step = Provenance(StepKind.REGISTERED, node, frame.unit.source, origin)
        return Mapping({}, Tensor(place, step))
    if name in ("load_state_dict", "extra_repr"):
        return HOST
    if name in ("append", "extend", "insert") and module.items is not None:
        for value, _ in arguments.positional:
            _take_in(frame, module, value.any() if type(value) is Sequence else value)
        return module
    of_parameters = module.library in _PARAMETER_LISTS
    if name in ("items", "values", "keys") and (module.items is not None or of_parameters):
        inner_value = parameter_in(frame, node, module)
        if module.items is not None:
            inner_value = member(module, module.items.any())
        if name == "items":
            return Sequence(None, Sequence([HOST, inner_value], None, "tuple"), "iterator")
        return Sequence(None, inner_value, "iterator") if name == "values" else HOST
    known_method = _method_known(frame, module, name)
    if known_method is not None:
        return _call_known(frame, node, known_method, place, origin, arguments)
    if module.library or module.info is not None:
        return meet(frame, node, shorten(node.func), arguments.all(), indirect=True)
    return _result(frame, node, place, origin, arguments)


def _method_known(frame: Frame, module: Instance, name: str) -> Call | None:
    """What the tables say of a method of a library's module, or of what inherits from one."""
    knowledge = frame.unit.context.knowledge
    owners = [module.library] if module.info is None else module.info.library_bases
    for owner in owners:
        found = knowledge.method_of(owner, name) if owner else None
        if found is not None:
            return found
    return None


def _call_known(
    frame: Frame,
    node: cst.Call,
    known: Call,
    place: Placement,
    origin: Provenance | None,
    arguments: Arguments,
) -> Value:
    """A method that the tables know: `model.generate(ids)`, `metric.update(preds, target)`."""
    from devlint.inference.libraries import apply_call, operands_of

    if known.agreement is not Agreement.FREE:
        given = operands_of(known, arguments)
        given += [arguments.keywords["**"]] if "**" in arguments.keywords else []
        _check_inputs(frame, node, place, origin, Arguments(given, {}))
    own = (Tensor(place, origin), node.func)
    if known.result is Result.FIRST:
        step = Provenance(StepKind.COMPUTED, node, frame.unit.source, origin)
        return Tensor(place, step, 0, Evidence())
    if known.agreement is not Agreement.FREE:
        return HOST if known.result is Result.HOST else UNKNOWN
    receiver = own if known.result is Result.OPERANDS and not known.tensors else None
    return apply_call(frame, node, shorten(node.func), known, arguments, receiver)


def _register(
    frame: Frame, node: cst.Call, module: Instance, method: str, arguments: Arguments
) -> None:
    name = arguments.get(0, "name")
    value = arguments.get(1, "module" if "module" in method else "tensor")
    if "module" in method and module.items is not None and value is not None:
        _take_in(frame, module, value)  # whatever its name: `layers.add_module(str(i), layer)`
    if type(name) is not Const or not isinstance(name.value, str) or value is None:
        return
    kind = {"register_buffer": "buffer", "register_parameter": "parameter"}.get(method, "module")
    if is_self(frame, module) and frame.info is not None:
        frame.info.register(frame, name.value, kind, value, node)
        frame.env.pop(f"self.{name.value}", None)
    elif kind == "module":
        module.fields[name.value] = value


def _take_in(frame: Frame, container: Instance, value: Value) -> None:
    """A container is given one more member: it is where its members are, if they are together."""
    assert container.items is not None
    container.items.add(value)
    members = [v for v in alternatives(value) if type(v) is Instance and stateful(frame, v)]
    if any(placed(frame, each)[0] != container.place for each in members):
        container.place = None


def register_by_helper(
    frame: Frame, node: cst.Call, function: Function, arguments: Arguments
) -> None:
    """A method that hands its own argument on to `register_buffer` as the name."""
    if function.registers is None:
        return
    method, name = function.registers
    names = [p.name.value for p in function.node.params.params[1:]]
    given = arguments.get(names.index(name), name) if name in names else None
    if given is not None and frame.instance is not None:
        spread: list[tuple[Value, cst.CSTNode]] = [(given, node), (UNKNOWN, node)]
        _register(frame, node, frame.instance, method, Arguments(spread, {}))


def _rebound_by_base(frame: Frame, base: ClassInfo, method: str) -> None:
    """A base's method puts something else into attributes that this method has assigned before.
    What it was handed itself, it only keeps."""
    for name, writers in base.writers.items():
        path = f"self.{name}"
        if method in writers and path in frame.env:
            left = base.attributes.get(name)
            if left is not None and not all(_is_handed_in(v) for v in alternatives(left)):
                frame.bind(path, left)


def _is_handed_in(value: Value) -> bool:
    origin = getattr(value, "origin", None)
    return isinstance(origin, Provenance) and origin.kind is StepKind.PARAMETER


def super_method(
    frame: Frame, node: cst.Call, base: Super, name: str, arguments: Arguments
) -> Value:
    """`super().name(…)`."""
    lineage = base.info.lineage()[1:]
    for info in lineage:
        function = info.methods.get(name)
        if function is not None:
            result = call_function(frame, node, FunctionValue(function, base.instance), arguments)
            _rebound_by_base(frame, info, name)
            return UNKNOWN if result is None else result
    if type(base.instance) is Instance and base.instance.module and name != "__init__":
        return call_method(frame, node, base.instance, name, arguments)
    return UNKNOWN
