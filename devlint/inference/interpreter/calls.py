"""Calls: what the callee is, and what that makes of the arguments' devices.

Arguments are evaluated by position and by keyword, those of `*xs` and `**kw` spread. A method that
one class in sight has is taken for that of an object whose class is out of sight.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Loader, Mapping, NamedTuple, Sequence
from devlint.inference.domain.host import HOST, Const, DeviceValue, External, Host, without_none
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import PathCondition
from devlint.inference.domain.placement import Variable
from devlint.inference.domain.tensors import Tensor, tensor_like
from devlint.inference.domain.value import PLACED, UNKNOWN, Union, Value, choose, union, without
from devlint.inference.interpreter import contracts, module_attributes
from devlint.inference.interpreter.attributes import attribute_of
from devlint.inference.interpreter.class_attributes import attribute_of_class
from devlint.inference.interpreter.construction import construct, named_tuple
from devlint.inference.interpreter.external_calls import call_external
from devlint.inference.interpreter.iteration import TRAINING, note_training
from devlint.inference.interpreter.object_lives import check_held
from devlint.inference.interpreter.unknown_calls import (
    call_recursively,
    call_unknown,
    is_guess,
    is_over_moved_data,
    is_told_a_device,
    move_of_unknown,
)
from devlint.inference.models import autograd, gradients, modules, objects
from devlint.inference.models.container_methods import CONTAINERS, call_container
from devlint.inference.models.module_places import placed
from devlint.inference.models.other_frameworks import takes_other_framework
from devlint.inference.models.places import brought_to_host
from devlint.inference.models.tensor_methods import call_tensor_method
from devlint.inference.models.unification.pending_meetings import of_one_module
from devlint.inference.models.unknown_methods import is_of_no_array
from devlint.inference.program.declarations import Function, classes_of
from devlint.inference.program.events import Called, Formatted, HandedOver, HostWaits, MethodRead
from devlint.inference.program.frames import EVALUATORS, Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.traffic import HostCopies
from devlint.inference.program.values import (
    ClassValue,
    FunctionValue,
    Generator,
    Instance,
    Method,
    Optimizer,
    Partial,
    ProjectModule,
    Super,
)
from devlint.inference.syntax.moved_globals import MOVING_METHODS
from devlint.inference.syntax.text import dotted
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
    if callee_name.endswith("Loader") and is_over_moved_data(frame, arguments):
        return Loader(UNKNOWN)
    if is_guess(result, node) and is_told_a_device(frame, arguments):
        return PLACED
    return result


def call_attribute(
    frame: Frame, node: cst.Call, base: Value, func: cst.Attribute, arguments: Arguments
) -> Value:
    """`base.name(…)`."""
    name = func.attr.value
    if name in TRAINING:
        note_training(frame, func)
    if name == "backward":
        gradients.went_back(frame, arguments.get(0, "loss") if type(base) is not Tensor else base)
    elif name == "save_for_backward":
        autograd.save(frame, func, arguments)
    elif name in ("synchronize", "query"):
        frame.kept(HostCopies).landing.clear()  # of a stream or an event
    if type(base) is External:
        return call_external(frame, node, f"{base.name}.{name}", arguments)
    if name == "forward" and type(base) is Tensor:
        return call_unknown(frame, node, base, arguments)  # no tensor has one: it is called
    only = method_of_only_class(frame, base, func)
    if only is not None:
        return _call_function(frame, node, only, arguments, base)
    if type(base) is Tensor:
        result = call_tensor_method(frame, node, base, name, arguments)
        return gradients.after_call(frame, name, base, arguments, result)
    if type(base) is Instance:
        return _call_on_instance(frame, node, base, func, arguments)
    if type(base) is Super:
        return modules.super_method(frame, node, base, name, arguments)
    if type(base) is Union:
        with frame.under(choosing=brought_to_host(base), receiver=base):
            results = frame.each(
                without_none(base), lambda v: call_attribute(frame, node, v, func, arguments)
            )
        frame.emit(MethodRead(node, base))
        return _of_either(base, results)
    if type(base) in CONTAINERS:
        return call_container(frame, node, base, name, arguments)
    if type(base) is ProjectModule or type(base) is ClassValue:
        return call_value(frame, node, attribute_of(frame, func, base, name), arguments)
    return _call_on_other(frame, node, base, func, arguments)


def _call_on_other(
    frame: Frame, node: cst.Call, base: Value, func: cst.Attribute, arguments: Arguments
) -> Value:
    """`base.name(…)` of what is on the host, or of something unknown."""
    name = func.attr.value
    if type(base) is Generator:
        return base if name == "manual_seed" else HOST
    if type(base) is Optimizer or type(base) is Loader:
        return UNKNOWN if name != "__iter__" else base
    if type(base) is Host and name != "to":
        if base.array and is_of_no_array(name):
            return UNKNOWN  # what was taken for an array is none
        return base if base.array else HOST
    if type(base) is Const:
        if name == "format" and isinstance(base.value, str):
            for value, argument in arguments.all():
                frame.emit(Formatted(node, ".format()", value, argument))
        return HOST
    if type(base) is not DeviceValue:
        if name in ("item", "tolist") and not arguments.all():
            frame.emit(HostWaits(node, f".{name}()", Tensor(None), func.value))
            return HOST
        if name in ("cuda", "cpu", "to"):
            return move_of_unknown(frame, node, base, name, arguments)
    return call_unknown(frame, node, base, arguments)


def _call_function(
    frame: Frame, node: cst.Call, callee: FunctionValue, arguments: Arguments, base: Value = UNKNOWN
) -> Value:
    """A function of the project; one that has no summary yet is out of sight."""
    result = frame.interpreter.call_function(frame, node, callee, arguments)
    return call_unknown(frame, node, base, arguments) if result is None else result


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


def _call_on_instance(
    frame: Frame, node: cst.Call, base: Instance, func: cst.Attribute, arguments: Arguments
) -> Value:
    name, info = func.attr.value, base.info
    is_self = modules.is_self(frame, base)
    if name == "add_state" and base.module and is_self:
        modules.add_state(frame, node, arguments)
    function = info.method(name) if info is not None else None
    if function is not None and not function.is_property:
        return _call_own_method(frame, node, base, function, arguments)
    kept = frame.state.env.get(f"self.{name}") if info is not None and is_self else None
    if function is None and kept is not None:
        return call_value(frame, node, kept, arguments)
    if function is None and info is not None and attribute_of_class(info, name) is not None:
        return call_value(frame, node, attribute_of(frame, func, base, name), arguments)
    if function is not None or name in frame.fields_of(base).entries:
        value = module_attributes.attribute(frame, func, base, name)
        return call_value(frame, node, value, arguments)
    if base.module and name == "forward":
        return call_value(frame, node, base, arguments)
    if base.module:
        return modules.call_method(frame, node, base, name, arguments)
    return _call_on_object(frame, node, base, name, arguments)


def _call_own_method(
    frame: Frame, node: cst.Call, base: Instance, function: Function, arguments: Arguments
) -> Value:
    """A method of a class of the project."""
    bound = FunctionValue(function, None if function.is_static else base)
    if modules.is_self(frame, base):
        modules.register_by_helper(frame, node, function, arguments)
    if not function.is_abstract or contracts.signature_of(function):
        result = _call_function(frame, node, bound, arguments)
        if base.module and function.moves_object and function.name in _MOVES:
            # `def to(self, device): …; return super().to(device)`
            modules.call_method(frame, node, base, function.name, arguments)
        return result
    declared = frame.interpreter.call_function(frame, node, bound, arguments)
    return _of_override(call_unknown(frame, node, UNKNOWN, arguments), declared)


def _call_on_object(
    frame: Frame, node: cst.Call, base: Instance, name: str, arguments: Arguments
) -> Value:
    """A method of an object of a library, as the tables say."""
    found = objects.call_method(frame, node, base, name, arguments) if base.library else None
    return call_unknown(frame, node, UNKNOWN, arguments) if found is None else found


def _of_override(result: Value, declared: Value | None) -> Value:
    """An override runs, and no contract says what it gives: a tensor, if it is used or declared as
    one. What it makes of what is on the host may be anywhere, as of a batch."""
    is_tensor = type(declared) is Tensor and declared.is_sure
    if type(result) is not Tensor or type(result.place) is not Variable:
        return declared if is_tensor and declared is not None else UNKNOWN
    return Tensor(result.place, result.origin, result.traits, Evidence(is_tensor))


def call_value(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> Value:
    """Call a value."""
    if type(callee) is External:
        return call_external(frame, node, callee.name, arguments)
    if type(callee) is FunctionValue:
        result = frame.interpreter.call_function(frame, node, callee, arguments)
        if result is None and callee.function.running:
            return call_recursively(frame, node, arguments)
        return call_unknown(frame, node, UNKNOWN, arguments) if result is None else result
    if type(callee) is ClassValue:
        return construct(frame, node, callee, arguments)
    if type(callee) is Instance:
        return _call_instance(frame, node, callee, arguments)
    if type(callee) is Method:
        return _call_method(frame, node, callee, arguments)
    if type(callee) is NamedTuple:
        return named_tuple(callee.names, node, arguments)
    if type(callee) is Partial:
        merged = Arguments(
            [*((value, node) for value in callee.args), *arguments.positional],
            {**{k: (v, node) for k, v in callee.keywords.items()}, **arguments.keywords},
            arguments.open,
        )
        return call_value(frame, node, callee.callee, merged)
    if type(callee) is Union:  # which one it is goes with what it is given
        if any(_takes(each, arguments) for each in callee.alternatives):
            callee = without(callee, lambda each: not _takes(each, arguments))
        if type(callee) is not Union:
            return call_value(frame, node, callee, arguments)
        choosing = not _are_of_one_object(callee)
        with frame.under(choosing=choosing), of_one_module(frame, node, callee):
            results = frame.each(callee, lambda v: call_value(frame, node, v, arguments))
            return _of_either(callee, results)
    return call_unknown(frame, node, callee, arguments)


def _are_of_one_object(callees: Union) -> bool:
    """`ax.plot if few else ax.scatter`: whichever is called, the object is the same."""
    methods = [each for each in callees.alternatives if type(each) is Method]
    same = all(each.receiver is methods[0].receiver for each in methods)
    return same and len(methods) == len(callees.alternatives)


def _takes(callee: Value, arguments: Arguments) -> bool:
    """A call with these arguments may be one of this callee, as far as its parameters are known."""
    function = callee.function if type(callee) is FunctionValue else None
    if type(callee) is Instance and callee.info is not None:
        function = callee.info.method("forward" if callee.module else "__call__")
    if function is None or function.decorators:
        return True
    if type(callee) is FunctionValue and callee.given is not None:
        return True
    if type(callee) is FunctionValue and callee.bound is None and function.info is not None:
        return True
    return function.takes(arguments)


def _call_instance(frame: Frame, node: cst.Call, callee: Instance, arguments: Arguments) -> Value:
    """`object(…)`: a module, or what has a `__call__`."""
    if callee.module:
        if callee.info is None and takes_other_framework(arguments):
            return UNKNOWN
        if callee.left is not None:
            check_held(frame, node, callee, arguments)
        output = modules.call_module(frame, node, callee, arguments)
        return gradients.after_module(frame, node, callee, arguments, output)
    function = callee.info.method("__call__") if callee.info is not None else None
    if function is not None:
        bound = FunctionValue(function, callee)
        result = frame.interpreter.call_function(frame, node, bound, arguments)
        if result is not None:
            return result
    return _call_on_object(frame, node, callee, "__call__", arguments)


def _call_method(frame: Frame, node: cst.Call, callee: Method, arguments: Arguments) -> Value:
    """A method that a name holds."""
    receiver, name = callee.receiver, callee.name
    if type(receiver) is Tensor:
        return call_tensor_method(frame, node, receiver, name, arguments)
    if type(receiver) is Instance and receiver.module:
        return modules.call_method(frame, node, receiver, name, arguments)
    if type(receiver) is Instance and name not in _MOVES:
        return _call_on_object(frame, node, receiver, name, arguments)
    if type(receiver) in CONTAINERS:
        return call_container(frame, node, receiver, name, arguments)
    return call_unknown(frame, node, UNKNOWN, arguments)


EVALUATORS[cst.Call] = _call


def method_of_only_class(frame: Frame, base: Value, func: cst.Attribute) -> FunctionValue | None:
    """A method of what a caller hands in as a model, of which one class of the file has one of this
    name: `model.init_hidden(n)`."""
    name, knowledge = func.attr.value, frame.unit.context.knowledge
    if not classes_of(frame.unit) or name in knowledge.methods or name in MOVING_METHODS:
        return None
    if not _is_open_model(base, func.value):
        return None
    assert isinstance(base, (Instance, Tensor))
    place, origin = placed(frame, base) if type(base) is Instance else (base.place, base.origin)
    found = {
        function: info
        for info in classes_of(frame.unit)
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
