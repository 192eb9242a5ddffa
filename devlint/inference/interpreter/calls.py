"""Calls: what the callee is, and what that makes of the arguments' devices."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Loader, Mapping, NamedTuple, Sequence
from devlint.inference.domain.host import (
    ARRAY,
    HOST,
    NONE,
    Const,
    DeviceValue,
    External,
    Host,
    without_none,
)
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import PathCondition
from devlint.inference.domain.placement import CPU, Device, Variable
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import INDIRECT, PARAMETER, Tensor, tensor_like
from devlint.inference.domain.value import (
    PLACED,
    UNKNOWN,
    Union,
    Unknown,
    Value,
    alternatives,
    choose,
    is_untold,
    join,
    union,
)
from devlint.inference.facts import MeetingKind
from devlint.inference.interpreter import (
    contract_checks,
    contracts,
    declared_fields,
    module_attributes,
    part_moves,
)
from devlint.inference.interpreter.attributes import attribute_of
from devlint.inference.interpreter.class_attributes import attribute_of_class
from devlint.inference.interpreter.conditions import asks_for_host
from devlint.inference.interpreter.iteration import TRAINING, note_training
from devlint.inference.models import (
    builtins,
    elements,
    generators,
    gradients,
    modules,
    objects,
    python_functions,
)
from devlint.inference.models.devices import place_of
from devlint.inference.models.elements import is_open_batch, names_loader, under_key
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.libraries import check_collective, construct_library, is_number
from devlint.inference.models.library_calls import call_library
from devlint.inference.models.loaders import is_indifferent, is_measure, makes_batch
from devlint.inference.models.module_inputs import leave_inputs_to_callers, show_moved
from devlint.inference.models.module_places import placed
from devlint.inference.models.moves.copies import wait_for_copies
from devlint.inference.models.moves.in_place import module_alone
from devlint.inference.models.moves.targets import target_of
from devlint.inference.models.places import brought_to_host, on_accelerator
from devlint.inference.models.tensor_methods import call_tensor_method
from devlint.inference.models.tokenizers import tokenized
from devlint.inference.models.unification.meeting import meet
from devlint.inference.program.classes import ClassInfo
from devlint.inference.program.events import (
    Called,
    Formatted,
    HandedOver,
    HostNeeds,
    HostReads,
    HostWaits,
    MethodRead,
    NumberTaken,
    PartMade,
    UnknownCalled,
)
from devlint.inference.program.frames import EVALUATORS, Frame
from devlint.inference.program.functions import Arguments, Function
from devlint.inference.program.traffic import HostCopies
from devlint.inference.program.values import (
    ClassValue,
    FunctionValue,
    Generator,
    Instance,
    Method,
    Optimizer,
    Parameters,
    Partial,
    Placed,
    ProjectModule,
    Super,
)
from devlint.inference.syntax.moved_globals import MOVING_METHODS
from devlint.inference.syntax.text import called, dotted, shorten
from devlint.inference.syntax.words import names_module

_MOVES = frozenset({"to", "cuda", "cpu", "type_as"})


def _call(frame: Frame, node: cst.Call) -> Value:
    func = node.func
    if type(func) is cst.Attribute:
        base = frame.eval(func.value)
        arguments = evaluate_arguments(frame, node)
        if type(func.value) is cst.Call and func.attr.value in _MOVES:
            frame.unit.moved_calls.add(func.value)
        frame.emit(Called(node, base, arguments))
        result = call_attribute(frame, node, base, func, arguments)
        callee_name = func.attr.value
    else:
        callee = frame.eval(func)
        arguments = evaluate_arguments(frame, node)
        frame.emit(Called(node, callee, arguments))
        result = call_value(frame, node, callee, arguments)
        callee_name = func.value if type(func) is cst.Name else ""
    frame.emit(HandedOver(callee_name, arguments))
    if callee_name.endswith("Loader") and _is_over_moved_data(frame, arguments):
        return Loader(UNKNOWN)
    if _is_guess(result, node) and _is_told_a_device(frame, arguments):
        return PLACED
    return result


def _is_guess(result: Value, node: cst.Call) -> bool:
    """Of what a callee out of sight returns nothing is known, or what its arguments suggest."""
    if type(result) is Instance and result.info is not None:
        is_loader = any(base.endswith("DataLoader") for base in result.info.library_bases)
        return is_loader and result.info.method("__iter__") is None
    if type(result) is not Tensor:
        return is_untold(result)
    made_here = result.origin is not None and result.origin.node is node
    return made_here and bool(result.traits & INDIRECT) and on_accelerator(result) < 1


def _is_told_a_device(frame: Frame, arguments: Arguments) -> bool:
    """The callee gets a device, and may put there what it makes."""
    found: list[Value] = [v for v, _ in arguments.all() if type(v) is DeviceValue]
    named = arguments.keywords.get("device")
    if named is not None and named[0] is not NONE:
        found.append(named[0])
    return any(place_of(frame, value) != CPU for value in found)


def _is_over_moved_data(frame: Frame, arguments: Arguments) -> bool:
    """A loader over data that was moved as a whole yields parts of it, each where it is."""
    if not arguments.positional:
        return False
    given, node = arguments.positional[0]
    if dotted(node) in frame.unit.moved_objects:
        return True
    if type(given) is not Tensor or given.origin is None or on_accelerator(given) < 1:
        return False
    return given.origin.kind is StepKind.MOVED


def evaluate_arguments(frame: Frame, node: cst.Call) -> Arguments:
    """The arguments of a call; `*xs` of known length is spread."""
    positional: list[tuple[Value, cst.CSTNode]] = []
    keywords: dict[str, tuple[Value, cst.CSTNode]] = {}
    is_open = False
    spreads: list[int] = []
    if not node.args:
        return Arguments([], {})
    with frame.under(consumer=node):
        for argument in node.args:
            value = frame.eval(argument.value)
            if argument.keyword is not None:
                keywords[argument.keyword.value] = (value, argument.value)
            elif argument.star == "":
                positional.append((value, argument.value))
            elif argument.star == "*":
                if type(value) is Sequence and value.items is not None:
                    positional.extend((item, argument.value) for item in value.items)
                else:
                    is_open = True
                    spreads.append(len(positional))
                    positional.append(
                        (frame.interpreter.element_of(frame, value, argument.value), argument.value)
                    )
            elif type(value) is Mapping and value.element is None:
                for key, item in value.entries.items():
                    if isinstance(key, str):
                        keywords.setdefault(key, (item, argument.value))
            else:
                is_open = True
                inner = value.any() if type(value) is Mapping else tensor_like(value)
                if type(value) is Instance:
                    inner = objects.elements(frame, argument.value, value)
                keywords["**"] = (inner, argument.value)
    return Arguments(positional, keywords, is_open, spreads[0] if len(spreads) == 1 else None)


def call_attribute(
    frame: Frame, node: cst.Call, base: Value, func: cst.Attribute, arguments: Arguments
) -> Value:
    """`base.name(…)`."""
    name = func.attr.value
    if name in TRAINING:
        note_training(frame, func)
    if name == "backward":
        gradients.went_back(frame, arguments.get(0, "loss") if type(base) is not Tensor else base)
    elif name in ("synchronize", "query"):
        frame.kept(HostCopies).landing.clear()  # of a stream or an event
    elif name == "apply":
        moved = part_moves.move_of_parts(frame, node, base, arguments)
        if moved is not None:
            return moved
    if type(base) is External:
        return call_external(frame, node, f"{base.name}.{name}", arguments)
    if name == "forward" and type(base) is Tensor:
        return call_unknown(frame, node, base, arguments)  # no tensor has one: it is called
    only = _method_of_only_class(frame, base, func)
    if only is not None:
        called_there = frame.interpreter.call_function(frame, node, only, arguments)
        return call_unknown(frame, node, base, arguments) if called_there is None else called_there
    if type(base) is Tensor:
        result = call_tensor_method(frame, node, base, name, arguments)
        return gradients.after_call(frame, name, base, arguments, result)
    if type(base) is Instance:
        return _call_on_instance(frame, node, base, func, arguments)
    if type(base) is Super:
        return modules.super_method(frame, node, base, name, arguments)
    if type(base) is Union:
        brought = brought_to_host(base)
        with frame.under(choosing=brought):
            results = frame.each(
                without_none(base), lambda v: call_attribute(frame, node, v, func, arguments)
            )
        frame.emit(MethodRead(node, base))
        return _of_either(base, results)
    if type(base) in _CONTAINERS:
        return call_container(frame, node, base, name, arguments)
    if type(base) is ProjectModule or type(base) is ClassValue:
        return call_value(frame, node, attribute_of(frame, func, base, name), arguments)
    if type(base) is Generator:
        return base if name == "manual_seed" else HOST
    if type(base) is Optimizer or type(base) is Loader:
        return UNKNOWN if name != "__iter__" else base
    if type(base) is Host and name not in ("to",):
        return base if base.array else HOST
    if type(base) is Const:
        if name == "format" and isinstance(base.value, str):
            for value, argument in arguments.all():
                frame.emit(Formatted(node, ".format()", value, argument))
        return HOST
    if name in ("item", "tolist") and type(base) is not DeviceValue and not arguments.all():
        frame.emit(HostWaits(node, f".{name}()", Tensor(None), func.value))
        return HOST
    if name in ("cuda", "cpu", "to") and type(base) is not DeviceValue:
        return _move_of_unknown(frame, node, base, name, arguments)
    return call_unknown(frame, node, base, arguments)


def _method_of_only_class(frame: Frame, base: Value, func: cst.Attribute) -> FunctionValue | None:
    """A method of what a caller hands in as a model, of which one class of the file has one of this
    name: `model.init_hidden(n)`."""
    name, knowledge = func.attr.value, frame.unit.context.knowledge
    if not frame.unit.classes or name in knowledge.methods or name in MOVING_METHODS:
        return None
    if not _is_open_model(base, func.value):
        return None
    assert isinstance(base, (Instance, Tensor))
    place, origin = placed(frame, base) if type(base) is Instance else (base.place, base.origin)
    found = {
        function: info
        for info in frame.unit.classes
        if info.is_module and (function := info.method(name)) is not None
    }
    if len(found) != 1:
        return None
    ((function, info),) = found.items()
    if function.is_property or function.is_abstract:
        return None
    bound = Instance(info, "", True, place, origin)
    return FunctionValue(function, None if function.is_static else bound)


def _is_open_model(value: Value, node: cst.BaseExpression) -> bool:
    """A module of a class out of sight, by its use or by its name; no part of another one."""
    if type(value) is Instance:
        return value.module and value.info is None and not value.library and value.parent is None
    if type(value) is not Tensor or value.evidence is None or value.evidence.is_tensor:
        return False
    is_named = names_module(dotted(node).rpartition(".")[2])
    return value.place is not None and (value.evidence.effects.in_place or is_named)


def _of_either(callees: Union, results: list[tuple[Value, PathCondition]]) -> Value:
    """What one of several gives. Which object it is decides later branches, too."""
    if sum(type(v) is Instance and not v.module for v in callees.alternatives) > 1:
        return union(_agreed([result for result, _ in results]))
    return choose(results)


def _agreed(results: list[Value]) -> list[Value]:
    """What different objects return: tensors whose places differ are somewhere."""
    if all(type(v) is Sequence and v.items is not None for v in results):
        rows = [v.items for v in results if type(v) is Sequence and v.items is not None]
        if len({len(row) for row in rows}) == 1:
            columns = zip(*rows, strict=True)
            return [Sequence([union(_agreed(list(c))) for c in columns], None, "tuple")]
    tensors = [v for v in results if type(v) is Tensor]
    if len(tensors) == len(results) and any(t.place != tensors[0].place for t in tensors):
        return [Tensor(None, tensors[0].origin)]
    return results


def _move_of_unknown(
    frame: Frame, node: cst.Call, base: Value, name: str, arguments: Arguments
) -> Value:
    """A move of something unknown: what comes back is there, whatever it is."""

    target, _ = target_of(frame, name, arguments)
    if not isinstance(target, (Device, Variable)):
        return base
    wait_for_copies(frame, name, target, arguments)
    step = Provenance(StepKind.MOVED, node, frame.unit.source, None)
    evidence = Evidence()
    evidence.effects.moved = True
    path = module_alone(frame, node)
    if path:
        frame.unit.moved_objects.add(path)
        if type(base) is Unknown:  # alone: it moves in place, as modules do
            evidence.effects.in_place = True
            frame.state.hold(path, Tensor(target, step, 0, evidence))
    return Tensor(target, step, 0, evidence)


def _call_on_instance(
    frame: Frame, node: cst.Call, base: Instance, func: cst.Attribute, arguments: Arguments
) -> Value:
    name = func.attr.value
    info = base.info
    if name == "add_state" and base.module and modules.is_self(frame, base):
        modules.add_state(frame, node, arguments)
    if info is not None:
        function = info.method(name)
        if function is not None:
            bound = FunctionValue(function, None if function.is_static else base)
            if function.is_property:
                value = module_attributes.attribute(frame, func, base, name)
                return call_value(frame, node, value, arguments)
            if modules.is_self(frame, base):
                modules.register_by_helper(frame, node, function, arguments)
            result = frame.interpreter.call_function(frame, node, bound, arguments)
            if function.is_abstract and not contracts.signature_of(function):
                return _of_override(call_unknown(frame, node, UNKNOWN, arguments))
            return call_unknown(frame, node, UNKNOWN, arguments) if result is None else result
        path_value = frame.state.env.get(f"self.{name}") if modules.is_self(frame, base) else None
        held = path_value if path_value is not None else attribute_of_class(info, name)
        if held is not None:
            value = path_value if path_value is not None else attribute_of(frame, func, base, name)
            return call_value(frame, node, value, arguments)
    if name in frame.fields_of(base).entries:
        return call_value(
            frame, node, module_attributes.attribute(frame, func, base, name), arguments
        )
    if base.module and name == "forward":
        return call_value(frame, node, base, arguments)
    if base.module:
        return modules.call_method(frame, node, base, name, arguments)
    if base.library:
        of_library = objects.call_method(frame, node, base, name, arguments)
        if of_library is not None:
            return of_library
    return call_unknown(frame, node, UNKNOWN, arguments)


def _of_override(result: Value) -> Value:
    """An override runs, and no contract says what it gives: a tensor, if it is used as one. What
    it makes of what is on the host may be anywhere, as of a batch."""
    if type(result) is not Tensor or type(result.place) is not Variable:
        return UNKNOWN
    return Tensor(result.place, result.origin, result.traits, Evidence())


def call_value(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> Value:
    """Call a value."""
    if type(callee) is External:
        return call_external(frame, node, callee.name, arguments)
    if type(callee) is FunctionValue:
        result = frame.interpreter.call_function(frame, node, callee, arguments)
        if result is None and callee.function.running:
            return UNKNOWN  # a recursion says nothing that its function does not say otherwise
        return call_unknown(frame, node, UNKNOWN, arguments) if result is None else result
    if type(callee) is ClassValue:
        return construct(frame, node, callee, arguments)
    if type(callee) is Instance:
        if callee.module:
            output = modules.call_module(frame, node, callee, arguments)
            return gradients.after_module(frame, node, callee, arguments, output)
        info = callee.info
        function = info.method("__call__") if info is not None else None
        if function is not None:
            result = frame.interpreter.call_function(
                frame, node, FunctionValue(function, callee), arguments
            )
            if result is not None:
                return result
        if callee.library:
            of_library = objects.call_method(frame, node, callee, "__call__", arguments)
            if of_library is not None:
                return of_library
        return call_unknown(frame, node, UNKNOWN, arguments)
    if type(callee) is Method:
        receiver, name = callee.receiver, callee.name
        if type(receiver) is Tensor:
            return call_tensor_method(frame, node, receiver, name, arguments)
        if type(receiver) is Instance and receiver.module:
            return modules.call_method(frame, node, receiver, name, arguments)
        if type(receiver) in _CONTAINERS:
            return call_container(frame, node, receiver, name, arguments)
        return call_unknown(frame, node, UNKNOWN, arguments)
    if type(callee) is NamedTuple:
        return named_tuple(callee.names, node, arguments)
    if type(callee) is Partial:
        merged = Arguments(
            [(v, node) for v in callee.args] + arguments.positional,
            {**{k: (v, node) for k, v in callee.keywords.items()}, **arguments.keywords},
            arguments.open,
        )
        return call_value(frame, node, callee.callee, merged)
    if type(callee) is Union:
        return _call_one_of(frame, node, callee, arguments)
    return call_unknown(frame, node, callee, arguments)


def _call_one_of(frame: Frame, node: cst.Call, callee: Union, arguments: Arguments) -> Value:
    """One of several callees: which one it is goes with what it is given."""
    with frame.under(choosing=True):
        results = frame.each(callee, lambda v: call_value(frame, node, v, arguments))
        return _of_either(callee, results)


def call_external(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """A function or class of a library, by its dotted name."""
    if name.startswith("<refused>"):
        _hand_over_parameters(arguments)
        frame.emit(UnknownCalled(node, arguments))
        return UNKNOWN  # a function of the project that was not read: it may do anything
    generators.check_data(frame, node, name, arguments)
    handler = builtins.FUNCTIONS.get(name)
    if handler is not None:
        return handler(frame, node, arguments)
    if name.startswith("logging."):
        _log(frame, node, arguments)
    if name.startswith("builtins."):
        return python_functions.call_builtin(frame, node, name[9:], arguments)
    result = call_library(frame, node, name, arguments)
    last = name.rpartition(".")[2]
    root = name.partition(".")[0]
    if root == "numpy" and last in _OF_NUMBERS and not _holds_array(arguments):
        return HOST if all(is_number(value) for value, _ in arguments.all()) else UNKNOWN
    if result is not None:
        return gradients.after_call(frame, last, None, arguments, result)
    if root == "numpy":
        for value, argument in arguments.all():
            frame.emit(HostReads(node, shorten(node.func), value, argument))
        return ARRAY
    if holds("class-name", last):
        if not name.startswith("torch.optim."):
            _hand_over_parameters(arguments)
        return construct_library(frame, node, name, arguments)
    return call_unknown(frame, node, External(name), arguments)


# Functions of NumPy that turn a number into a number.
_OF_NUMBERS = frozenset(
    {"log", "log2", "log10", "exp", "sqrt", "radians", "deg2rad", "degrees", "rad2deg", "sin"}
    | {"cos", "tan", "arctan", "arctan2", "abs", "prod", "ceil", "floor", "power", "tanh"}
)


def _holds_array(arguments: Arguments) -> bool:
    return any(
        (type(v) is Host and v.array) or type(v) is Tensor or type(v) is Sequence
        for value, _ in arguments.all()
        for v in alternatives(value)
    )


def _log(frame: Frame, node: cst.Call, arguments: Arguments) -> None:
    """`logging.info("loss %s", t)`: what is put into the message is read."""
    for value, argument in arguments.positional[1:]:
        frame.emit(NumberTaken(node, f"{shorten(node.func)}()", value, argument))


def call_unknown(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> Value:
    """An unknown callee keeps the device of its tensor arguments, and wants them together."""
    name = shorten(called(node.func))
    last = name.rpartition(".")[2]
    values = arguments.all()
    frame.emit(UnknownCalled(node, arguments))
    for value, _ in values:
        for tensor in tensors_in(value):
            frame.emit(HostNeeds(tensor))
    _may_move(frame, last, arguments)
    if isinstance(node.func, cst.Subscript):
        return UNKNOWN  # one of a table of callees
    if type(callee) is Tensor and callee.evidence is not None:
        callee.evidence.mark_host()  # what is called is no tensor
        leave_inputs_to_callers(frame, node, callee, arguments)
    if names_loader(frame, node.func) and not any(tensors_in(v) for v, _ in values):
        return UNKNOWN
    if type(callee) is Tensor and callee.evidence is not None and not callee.evidence.is_tensor:
        named = holds("criterion-callee", last) or names_module(last)
        for value, _ in values if named else ():
            for tensor in tensors_in(value):
                if not is_open_batch(tensor):
                    tensor.show()
        moved = callee.origin is not None and callee.origin.taken.kind is StepKind.MOVED
        if moved and callee.place is not None:
            output = _call_moved(frame, node, callee, arguments)
            return gradients.after_unknown(frame, node, output)
    if holds("class-name", last):
        _hand_over_parameters(arguments)
        return UNKNOWN
    if names_module(last):
        show_moved(values)
    if makes_batch(arguments):
        batch = tokenized(frame, node, last, arguments)
        return UNKNOWN if batch is None else batch
    spread = {argument.value for argument in node.args if argument.star}
    handed = [(v, n) for v, n in values if n in spread]
    values = [(v, n) for v, n in values if n not in spread and not is_measure(arguments, n)]
    if not values and not frame.in_module and _may_be_together(handed):
        values = handed  # `net(*inputs)`; a module's parts are where it is
    if is_indifferent(last):
        found = [t for v, _ in values for t in tensors_in(v)]
        if len(found) == 1:
            only = found[0]
            return Tensor(None, None, 0, Evidence()) if only.place is None else UNKNOWN
        return UNKNOWN
    if last in _COLLECTIVES:
        check_collective(frame, node, last, values)
    if holds("criterion-callee", last):
        for value, _ in values:
            for tensor in tensors_in(value):
                tensor.show()
    output = meet(frame, node, name, values, True, MeetingKind.CALLEE, indirect=True)
    if type(output) is Tensor and names_module(last):
        output = elements.output(output)
    return gradients.after_unknown(frame, node, output)


def _may_be_together(handed: list[tuple[Value, cst.CSTNode]]) -> bool:
    """One place, or several that callers choose."""
    places = {tensor.place for value, _ in handed for tensor in tensors_in(value)}
    return len(places) == 1 or all(type(place) is Variable for place in places)


def _may_move(frame: Frame, name: str, arguments: Arguments) -> None:
    """A module handed to an unknown callee may come back anywhere."""
    for value, _ in arguments.all():
        for module in alternatives(value):
            if (
                type(module) is Instance
                and module.module
                and not holds("module-keeping-callee", name)
            ):
                if modules.is_self(frame, module):
                    continue
                frame.state.env[module] = Placed(None, None)
            elif (
                type(module) is Tensor
                and module.evidence is not None
                and not holds("module-keeping-callee", name)
            ):
                module.evidence.effects.handed = True


_COLLECTIVES = frozenset({"gather_for_metrics"})  # of what is called on an unknown object


def _call_moved(frame: Frame, node: cst.Call, callee: Tensor, arguments: Arguments) -> Value:
    """A callee that was moved is a module: its inputs must be where it is. One that takes records
    may be a pipeline, which moves what is in them."""
    module = Instance(None, "", True, callee.place, callee.origin)
    handed = Arguments(
        [(_no_record(value), given) for value, given in arguments.positional],
        {name: (_no_record(value), given) for name, (value, given) in arguments.keywords.items()},
        arguments.open,
    )
    return modules.call_module(frame, node, module, handed)


def _no_record(value: Value) -> Value:
    return UNKNOWN if type(value) is Mapping else value


def construct(frame: Frame, node: cst.Call, callee: ClassValue, arguments: Arguments) -> Value:
    """An object of a project class."""
    info = callee.info
    _hand_over_parameters(arguments)
    origin = frame.origin(StepKind.CREATED, node, None, "made here, on the default device")
    if info.is_module:
        place = frame.default_device
        instance: Value = Instance(info, "", True, place, origin)
        if any("lightning" in base.lower() for base in info.library_bases):
            return Instance(info, "", True, None, origin)
    else:
        if info.declared:
            _check_fields(frame, node, info, arguments)
        if _is_named_tuple(info):
            return named_tuple(tuple(info.declared_fields()), node, arguments)
        instance = Instance(info, "", False, None, origin)
        frame.emit(PartMade(info))
    function = info.method("__init__")
    if function is not None:
        frame.interpreter.call_function(frame, node, FunctionValue(function, instance), arguments)
        if any(asks_for_host(key, value) for key, (value, _) in arguments.keywords.items()):
            return UNKNOWN  # `use_gpu=False`: what the class was taken to do is not done here
        if type(instance) is Instance and instance.module:
            given = [v for v, _ in arguments.all()]
            if (
                any(i.places_itself for i in info.lineage())
                or _library_built(info)
                or any(type(v) is DeviceValue or _is_given_module(v) for v in given)
                or any(_is_moved(frame, v, part) for v, part in arguments.all())
                or any(_is_open_module(v, part) for v, part in arguments.all())
                or "device" in arguments.keywords
            ):
                instance.place = None
        _fields_from(instance, function, arguments)
        _flags_from(instance, function, arguments)
    else:
        declared = info.declared_fields()
        fields = {
            key: value
            for key, (value, _) in arguments.keywords.items()
            if key in declared
            or not _library_built(info)  # a base out of sight makes of it what it likes
        }
        if not info.is_module:
            values = (value for value, _ in arguments.positional)
            fields.update(zip(declared, values, strict=False))
        if type(instance) is Instance:
            instance.fields.entries.update(fields)
            instance.given = declared_fields.given_to(info, fields)
    return instance


def _hand_over_parameters(arguments: Arguments) -> None:
    """The object may register them."""
    for value, _ in arguments.all():
        for tensor in tensors_in(value):
            if tensor.traits & PARAMETER and tensor.origin is not None:
                tensor.origin.root.handed = True


def _check_fields(frame: Frame, node: cst.Call, info: ClassInfo, arguments: Arguments) -> None:
    """What a dataclass or named tuple is made of, against the contracts of its fields."""
    if info.method("__init__") is None:
        given = dict(zip(info.declared_fields(), arguments.positional, strict=False))
        contract_checks.check_fields(frame, node, info, {**given, **arguments.keywords})


def _is_given_module(value: Value) -> bool:
    """A module that the caller handed in, by its name: it may be anywhere, and so its wrapper."""
    origin = value.origin if type(value) is Tensor and not value.is_sure else None
    node = origin.node if origin is not None and origin.kind is StepKind.PARAMETER else None
    return isinstance(node, cst.Param) and holds("module-name", node.name.value)


def _is_open_module(value: Value, node: cst.CSTNode) -> bool:
    """Something out of sight that is called a module, `Acquisition(self.model)`: what is made of it
    is where that is."""
    name = dotted(node).rpartition(".")[2]
    is_open = is_untold(value) or (type(value) is Tensor and not value.is_sure)
    return is_open and bool(name) and holds("module-name", name)


def _is_moved(frame: Frame, value: Value, node: cst.CSTNode) -> bool:
    """A part that is put somewhere before the whole is made of it, `Pair(critic.cuda())`, or that
    may be anywhere."""
    if type(value) is Instance:
        return value.module and placed(frame, value)[0] != frame.default_device
    func = node.func if isinstance(node, cst.Call) else None
    return isinstance(func, cst.Attribute) and func.attr.value in ("to", "cuda")


def _library_built(info: ClassInfo) -> bool:
    """A base outside of sight, which may place itself, or take over a module that is somewhere
    already (`torch.fx.GraphModule`), other than those of torch.nn."""
    return any(
        not base.startswith(("torch.nn.", "builtins.", "abc.", "typing."))
        for base in info.library_bases
    )


def _fields_from(instance: Value, function: Function, arguments: Arguments) -> None:
    """`self.x = x` in a constructor: the field holds what this call handed in."""
    if type(instance) is not Instance or instance.info is None or instance.module:
        return
    names = [p.name.value for p in function.node.params.params[1:]]
    for index, name in enumerate(names):
        actual = arguments.get(index, name)
        if actual is None:
            continue
        held = instance.info.attributes.get(name)
        summary = function.summary
        if held is None or summary is None:
            continue
        for parameter in summary.parameters:
            if parameter.name == name and held is parameter.value:
                instance.fields.entries[name] = actual


def _flags_from(instance: Value, function: Function, arguments: Arguments) -> None:
    """`self.flag = flag` in a constructor, and nowhere else: what this call said, or left out."""
    info = function.info
    if type(instance) is not Instance or instance.info is None or info is None:
        return
    params = function.node.params.params[1:]
    positions = {param.name.value: index for index, param in enumerate(params)}
    for name, assigned in info.assigned.items():
        suite, value = assigned[0]
        if suite is not function.node.body or not isinstance(value, cst.Name):
            continue
        if sum(len(each.writers.get(name, ())) for each in instance.info.lineage()) > 1:
            continue
        actual = arguments.get(positions.get(value.value, -1), value.value)
        if actual is None and not arguments.open:
            actual = function.defaults.get(value.value)
        if len(assigned) == 1 and type(actual) is Const and type(actual.value) is bool:
            instance.fields.entries[name] = actual


def named_tuple(names: tuple[str, ...], node: cst.CSTNode, arguments: Arguments) -> Value:
    """A named tuple of what its constructor is given; a field that is left out has a default."""
    if arguments.open:
        return UNKNOWN
    found = [arguments.get(index, name) for index, name in enumerate(names)]
    return Sequence([UNKNOWN if v is None else v for v in found], None, "tuple", node, names)


def _is_named_tuple(info: ClassInfo) -> bool:
    return any(base in ("typing.NamedTuple", "NamedTuple") for base in info.library_bases)


_CONTAINERS = frozenset({Sequence, Mapping, Parameters})


def call_container(
    frame: Frame, node: cst.Call, base: Value, name: str, arguments: Arguments
) -> Value:
    """A method of a list or dict."""
    if type(base) is Sequence:
        return _call_list(frame, node, base, name, arguments)
    if type(base) is Mapping:
        return _call_dict(frame, node, base, name, arguments)
    return UNKNOWN


def _call_list(
    frame: Frame, node: cst.Call, base: Sequence, name: str, arguments: Arguments
) -> Value:
    func = node.func
    if isinstance(func, cst.Attribute) and isinstance(func.value, cst.Name):
        frame.touch(func.value.value)
    if name in ("append", "add", "appendleft"):
        if arguments.positional:
            frame.write(base, base.adding(frame.stored(arguments.positional[0][0])))
        return NONE
    if name == "insert" and len(arguments.positional) > 1:
        frame.write(base, base.adding(frame.stored(arguments.positional[1][0])))
        return NONE
    if name == "extend":
        for value, argument in arguments.positional:
            element = frame.interpreter.element_of(frame, value, argument)
            base = base.adding(frame.stored(element))
        frame.write(base, base)
        return NONE
    if name in ("pop", "popleft"):
        return base.any()
    if name == "copy":
        items = None if base.items is None else list(base.items)
        return Sequence(items, base.element, base.kind)
    if name in ("index", "count"):
        return HOST
    return NONE if name in ("sort", "reverse", "clear", "remove") else UNKNOWN


def _call_dict(
    frame: Frame, node: cst.Call, base: Mapping, name: str, arguments: Arguments
) -> Value:
    if name == "items":
        return Sequence(None, Sequence([HOST, base.any()], None, "tuple"), "iterator")
    if name == "values":
        return Sequence(None, base.any(), "iterator")
    if name == "keys":
        return HOST
    if name in ("get", "pop", "setdefault"):
        key = arguments.get(0, "key") or UNKNOWN
        held = under_key(frame, node, base.get(key), key)
        default = arguments.get(1, "default")
        if default is not None and not is_untold(held):
            return join(held, default)
        if default is not None and name == "setdefault":
            frame.write(base, base.putting({}, default))
            return default
        return held
    if name == "update":
        updated = base
        for value, _ in arguments.positional:
            if type(value) is Mapping:
                updated = updated.putting(value.entries, value.element)
            elif type(value) is Tensor:
                updated = updated.putting({}, tensor_like(value))
        named = {name: value for name, (value, _) in arguments.keywords.items()}
        frame.write(base, updated.putting(named))
        return NONE
    if name == "copy":
        return Mapping(dict(base.entries), base.element)
    return UNKNOWN


EVALUATORS[cst.Call] = _call
