"""Objects and `nn.Module`s: attributes, methods, and where a module is now."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import HOST, NONE, Const
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import CPU, Device, Placement, Variable, same_place
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import GRAD, INDIRECT, PARAMETER, SCALAR, Tensor
from devlint.inference.domain.value import (
    UNKNOWN,
    Union,
    Unknown,
    Value,
    alternatives,
    cases,
    choose,
    is_untold,
)
from devlint.inference.facts import MeetingKind
from devlint.inference.models.elements import output
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.library_functions import apply_call
from devlint.inference.models.module_inputs import check_inputs
from devlint.inference.models.module_places import parts_left, placed, replaced, scatters, stateful
from devlint.inference.models.moves.objects import move_of_module
from devlint.inference.models.operands import operands_of
from devlint.inference.models.parallel import check_call
from devlint.inference.models.registration import (
    hand_over_parameters,
    note_registered,
    register_attribute,
)
from devlint.inference.models.unification.meetings import meet
from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import FunctionValue, Instance, Parameters, Super
from devlint.inference.syntax.moved_globals import MOVING_METHODS
from devlint.inference.syntax.text import receiver_of, shorten
from devlint.knowledge import Agreement, Call, Result


def member(holder: Instance, value: Value) -> Value:
    """An element of a ModuleList or ModuleDict: it lives where its holder lives. What a function
    out of sight made for it, `nn.ModuleList(build(n) for n in sizes)`, is a module as well."""
    if type(value) is Instance and value.module:
        return replaced(value, None, value.origin, holder)
    is_open = type(value) is Unknown or (type(value) is Tensor and not value.is_sure)
    if is_open and holder.module:
        return Instance(None, "", True, None, holder.origin, holder)
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


def call_module(frame: Frame, node: cst.Call, module: Instance, arguments: Arguments) -> Value:
    """`module(x)`: its inputs must be where it is, and its result is there."""
    place, origin = placed(frame, module)
    callee = arguments.called_by(node)
    if module.info is not None and not stateful(frame, module):
        place = None
    for part in parts_left(frame, module):
        _check_part(frame, node, part, arguments)
    if module.info is not None:
        function = module.info.method("forward") or module.info.method("__call__")
        if function is not None:
            # What its inputs must agree with stands in forward's summary.
            result = frame.interpreter.call_function(
                frame, node, FunctionValue(function, module), arguments, as_module=True
            )
            if result is not None and not is_untold(result):
                return result
        return _result(frame, node, place, origin, arguments)
    if module.items is not None and module.library.endswith("Sequential"):
        if not stateful(frame, module):
            return meet(frame, node, shorten(callee), arguments.all(), False)
        if _begins_with_layer(module):
            _show_input(arguments)
        check_inputs(frame, node, callee, place, origin, arguments)
        return _result(frame, node, place, origin, arguments)
    known = frame.unit.context.knowledge.module(module.library) if module.library else None
    if scatters(module):
        check_call(frame, node, module)
        return _scattered(frame, node, place, origin, arguments)
    if known is not None and (
        known.stateful == "never" or (known.stateful == "weight" and not module.name)
    ):
        mark_tensors(arguments)
        operands = arguments.all()
        if known.agreement is Agreement.FREE:
            operands = operands[:1]  # the others may be anywhere
        result = meet(frame, node, shorten(callee), operands, False, MeetingKind.INPUT)
        return _shape(result, known.results, known.scalar)
    if known is None and module.library:
        return _result(frame, node, place, origin, arguments)
    if _is_layer(module):
        _show_input(arguments)
    at_fault = check_inputs(frame, node, callee, place, origin, arguments, known is not None)
    result = _result(frame, node, None if at_fault else place, origin, arguments)
    if known is not None:
        return _shape(result, known.results, known.scalar)
    return result


def _check_part(frame: Frame, node: cst.Call, part: Instance, arguments: Arguments) -> None:
    """A part that its module left on the host: what the module is called with is not there."""
    place, origin = placed(frame, part)
    named = origin.node if origin is not None else None
    if isinstance(named, (cst.Attribute, cst.Subscript)):
        check_inputs(frame, node, named, place, origin, arguments)


def output_of(frame: Frame, node: cst.Call, module: Instance, arguments: Arguments) -> Value:
    """What a module gives back, whatever it makes of its inputs."""
    place, origin = placed(frame, module)
    return _result(frame, node, place, origin, arguments)


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
    return output(Tensor(place, step, GRAD))


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


def _result(
    frame: Frame,
    node: cst.Call,
    place: Placement,
    origin: Provenance | None,
    arguments: Arguments,
) -> Value:
    """A module's output: where the module is, else where its inputs are. `place` is None for a
    module without parameters, too."""
    if place is not None:
        step = Provenance(StepKind.COMPUTED, node, frame.unit.source, origin)
        parts = tensors_in_arguments(arguments)
        if parts and type(place) is Variable and place.kind.value == "input":
            chosen = next((t for t in parts if t.place is not None), None)
            if chosen is not None:
                # What is handed in on the host stays there or is scattered, as the caller's module
                # has it.
                there = None if chosen.place == CPU else chosen.place
                return output(Tensor(there, step, GRAD))
        # Where an input is elsewhere the call fails, or the module brings it, or its output, where
        # it likes.
        apart = type(place) is Device and any(
            type(t.place) is Device and not same_place(t.place, place) for t in parts
        )
        return output(Tensor(place, step, GRAD | INDIRECT if apart else GRAD))
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


_SAME = frozenset(
    {"train", "eval", "float", "half", "double", "bfloat16", "type", "requires_grad_", "apply"}
    | {"share_memory", "zero_grad", "compile", "to_empty"}
)


def call_method(
    frame: Frame, node: cst.Call, module: Instance, name: str, arguments: Arguments
) -> Value:
    """A method that every `nn.Module` has."""

    if name in MOVING_METHODS:
        return move_of_module(frame, node, module, name, arguments)
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
    return _perhaps(_result(frame, node, place, origin, arguments))


def _perhaps(value: Value) -> Value:
    """What a method of a module out of sight gives, `score, hits = net.evaluate(x)`: a tensor where
    the module is, or no tensor at all. Its use says which."""
    if type(value) is not Tensor:
        return value
    return Tensor(value.place, value.origin, value.traits | INDIRECT, Evidence())


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

    if known.agreement is not Agreement.FREE:
        given = operands_of(known, arguments)
        given += [arguments.keywords["**"]] if "**" in arguments.keywords else []
        check_inputs(frame, node, receiver_of(node), place, origin, Arguments(given, {}))
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
    if method == "register_parameter":
        hand_over_parameters(arguments)  # a list that has one, too, has what the module moves
    if value is None:
        return
    kind = {"register_buffer": "buffer", "register_parameter": "parameter"}.get(method, "module")
    of_self = frame.info if is_self(frame, module) else None
    if type(name) is not Const or not isinstance(name.value, str):
        if of_self is not None:
            note_registered(of_self, kind, value)
    elif of_self is not None:
        register_attribute(of_self, frame, name.value, kind, value, node)
        frame.state.env.pop(f"self.{name.value}", None)
    elif kind == "module":
        fields = frame.fields_of(module)
        frame.write(fields, fields.putting({name.value: value}))


def add_state(frame: Frame, node: cst.CSTNode, arguments: Arguments) -> None:
    """`self.add_state("scores", default=[])` of a metric: a state is moved with it, and a list
    holds what `update` appends, where that is."""
    name, default = arguments.get(0, "name"), arguments.get(1, "default")
    if frame.info is None or type(name) is not Const or not isinstance(name.value, str):
        return
    if type(default) is Tensor:
        register_attribute(frame.info, frame, name.value, "buffer", default, node)
    elif type(default) is Sequence and default.items == []:
        frame.info.attributes[name.value] = Sequence([], None, "list", node)


def _take_in(frame: Frame, container: Instance, value: Value) -> None:
    """A container is given one more member: it is where its members are, if they are together."""
    assert container.items is not None
    container.take_in(value)
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
        if method in writers and path in frame.state.env:
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
            result = frame.interpreter.call_function(
                frame, node, FunctionValue(function, base.instance), arguments
            )
            _rebound_by_base(frame, info, name)
            return UNKNOWN if result is None else result
    if type(base.instance) is Instance and base.instance.module and name != "__init__":
        return call_method(frame, node, base.instance, name, arguments)
    return UNKNOWN
