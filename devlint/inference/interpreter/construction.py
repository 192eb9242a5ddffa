"""Construction of objects of the project's classes: where they are, and what they are given."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import Const, DeviceValue
from devlint.inference.domain.placement import Device, Placement
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import UNKNOWN, Value, alternatives, is_untold
from devlint.inference.interpreter import contract_checks, declared_fields
from devlint.inference.interpreter.class_attributes import attribute_of_class
from devlint.inference.interpreter.conditions import asks_for_host
from devlint.inference.models.devices import place_of
from devlint.inference.models.module_places import WITHOUT_STATE, placed
from devlint.inference.models.registration import hand_over_parameters
from devlint.inference.models.tensor_classes import TENSOR, is_tensor_by_another_name
from devlint.inference.models.tensor_constructors import TENSOR_CONSTRUCTORS
from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.events import ModuleMade, PartMade
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import ClassValue, FunctionValue, Instance
from devlint.inference.syntax.text import dotted, is_super_constructor


def construct(frame: Frame, node: cst.Call, callee: ClassValue, arguments: Arguments) -> Value:
    """An object of a project class."""
    info = callee.info
    hand_over_parameters(arguments)
    if is_tensor_by_another_name(info):
        return TENSOR_CONSTRUCTORS[TENSOR](frame, node, arguments)
    origin = frame.origin(StepKind.CREATED, node, None, "made here, on the default device")
    place = frame.default_device if info.is_module else None
    instance = Instance(info, "", info.is_module, place, origin)
    if info.is_module:
        frame.emit(ModuleMade(node, info))
    if not info.is_module:
        if info.declared:
            _check_fields(frame, node, info, arguments)
        if _is_named_tuple(info):
            return named_tuple(tuple(info.declared_fields()), node, arguments)
        frame.emit(PartMade(info))
    elif _is_placed_by_library(info):
        instance.place = None
        return instance
    function = info.method("__init__")
    if function is None:
        fields = _declared_fields(info, arguments)
        instance.fields.entries.update(fields)
        instance.given = declared_fields.given_to(info, fields)
        if info.is_module and _may_be_elsewhere(frame, info, arguments):
            instance.place = None
        return instance
    frame.interpreter.call_function(frame, node, FunctionValue(function, instance), arguments)
    instance.stateless_given = _given_without_state(function, arguments)
    if any(asks_for_host(key, value) for key, (value, _) in arguments.keywords.items()):
        return UNKNOWN  # `use_gpu=False`: what the class was taken to do is not done here
    if not info.is_module:
        _fields_from(instance, function, arguments)
    else:
        _put_where_built(frame, node, instance, function, arguments)
    _flags_from(instance, info, function, arguments)
    return instance


def _put_where_built(
    frame: Frame, node: cst.Call, module: Instance, function: Function, arguments: Arguments
) -> None:
    """Put a new module where its constructor left it, if that says so."""
    built_on = _built_on(frame, function, arguments)
    if built_on is not None:
        told = "made here, put there by its class"
        module.place, module.origin = built_on, frame.origin(StepKind.CREATED, node, None, told)
    elif module.info is not None and _may_be_elsewhere(frame, module.info, arguments):
        module.place = None


def _is_placed_by_library(info: ClassInfo) -> bool:
    """A trainer puts the module somewhere."""
    return any("lightning" in base.lower() for base in info.library_bases)


def _may_be_elsewhere(frame: Frame, info: ClassInfo, arguments: Arguments) -> bool:
    """Its class, or what its constructor is given, may put the new module on another device."""
    return (
        any(ancestor.places_itself for ancestor in info.lineage())
        or _library_built(info)
        or "device" in arguments.keywords
        or any(
            type(value) is DeviceValue
            or _is_given_module(value)
            or _is_moved(frame, value, node)
            or _is_open_module(value, node)
            for given, node in arguments.all()
            for value in alternatives(given)
        )
    )


def _built_on(frame: Frame, function: Function, arguments: Arguments) -> Placement:
    """Where the constructor of a module leaves all of it: by `self.to(device)`, or since it makes
    each part there."""
    info, summary = function.info, function.summary
    if info is None or summary is None or len(info.lineage()) > 1 or _library_built(info):
        return None  # another constructor has a say
    place = _place_of_parts(info)
    if info.moved_whole is not None:
        place, later = info.moved_whole
        if not later.isdisjoint(info.registered):
            return None
    if type(place) is Device:
        return place if place.is_accelerator else None
    for index, parameter in enumerate(summary.parameters[1:]):
        if parameter.is_device and parameter.variable is place and place is not None:
            value = arguments.get(index, parameter.name) or parameter.default
            return None if value is None or arguments.open else place_of(frame, value)
    return None


def _place_of_parts(info: ClassInfo) -> Placement:
    """The one place of all parts with state; None where one has another."""
    places = set(info.parts.values())
    whole = info.registered.keys() <= info.parts.keys() | info.stateless
    return places.pop() if whole and len(places) == 1 else None


def _declared_fields(info: ClassInfo, arguments: Arguments) -> dict[str, Value]:
    """What a generated constructor puts into the fields of an object."""
    declared = info.declared_fields()
    is_own = not _library_built(info)  # a base out of sight makes of it what it likes
    named = arguments.keywords.items()
    fields = {key: value for key, (value, _) in named if is_own or key in declared}
    if not info.is_module:
        values = (value for value, _ in arguments.positional)
        fields.update(zip(declared, values, strict=False))
    if not arguments.open:
        left_out = declared_fields.handed_in(info) - fields.keys()
        defaults = ((name, attribute_of_class(info, name)) for name in sorted(left_out))
        fields.update((name, held) for name, held in defaults if held is not None)
    return fields


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


def _fields_from(instance: Instance, function: Function, arguments: Arguments) -> None:
    """`self.net = net` in a constructor, or in one that this one hands `net` up to: the field holds
    what this call handed in."""
    parameters = function.summary.parameters if function.summary is not None else ()
    given = {name: v for name, v in _given_by_name(function, arguments) if v is not None}
    actual = {id(each.value): given[each.name] for each in parameters if each.name in given}
    info = function.info
    for name, held in info.attributes.items() if info is not None else ():
        if type(held) is not Const and not is_untold(held) and id(held) in actual:
            instance.fields.entries.setdefault(name, actual[id(held)])
    for above, handed_up in _handed_up(function, given):
        _fields_from(instance, above, handed_up)


def _handed_up(function: Function, given: dict[str, Value]) -> Iterator[tuple[Function, Arguments]]:
    """The constructor above that `super().__init__(net)` calls, with what it is given."""
    bases = function.info.bases if function.info is not None else ()
    above = next((b.method("__init__") for b in bases if type(b) is ClassInfo), None)
    body = function.node.body
    for line in body.body if above is not None and isinstance(body, cst.IndentedBlock) else ():
        for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            call = small.value if isinstance(small, cst.Expr) else None
            if above is not None and isinstance(call, cst.Call) and is_super_constructor(call):
                yield above, _arguments_of(call, given)


def _arguments_of(call: cst.Call, given: dict[str, Value]) -> Arguments:
    """The arguments of a call, as far as they are parameters of the function around it."""
    arguments = Arguments([], {}, any(arg.star for arg in call.args))
    for arg in call.args:
        name = arg.value.value if isinstance(arg.value, cst.Name) else ""
        value = given.get(name, UNKNOWN), arg.value
        if arg.keyword is not None:
            arguments.keywords[arg.keyword.value] = value
        elif not arguments.open:
            arguments.positional.append(value)
    return arguments


def _flags_from(
    instance: Instance, info: ClassInfo, function: Function, arguments: Arguments
) -> None:
    """`self.flag = flag` in a constructor, and nowhere else: what this call said, or left out."""
    given = dict(_given_by_name(function, arguments))
    for name, assigned in function.info.assigned.items() if function.info is not None else ():
        suite, value = assigned[0]
        if suite is not function.node.body or not isinstance(value, cst.Name):
            continue
        if sum(len(each.writers.get(name, ())) for each in info.lineage()) > 1:
            continue
        actual = given[value.value] if value.value in given else arguments.get(-1, value.value)
        if actual is None and not arguments.open:
            actual = function.defaults.get(value.value)
        if len(assigned) == 1 and type(actual) is Const and type(actual.value) is bool:
            instance.fields.entries[name] = actual


def _given_without_state(function: Function, arguments: Arguments) -> tuple[str, ...]:
    """The parameters of a constructor that a call gives no tensor and no module, or leaves so."""
    params = function.node.params
    found: list[str] = []
    for index, each in enumerate((*params.params[1:], *params.kwonly_params)):
        name = each.name.value
        given = arguments.get(index if index < len(params.params) - 1 else -1, name)
        if given is None and not arguments.open:
            given = function.defaults.get(name)
        if given is not None and type(given) in WITHOUT_STATE:
            found.append(name)
    return tuple(found)


def _given_by_name(function: Function, arguments: Arguments) -> Iterator[tuple[str, Value | None]]:
    """What a call gives for each parameter of a constructor."""
    for index, parameter in enumerate(function.node.params.params[1:]):
        yield parameter.name.value, arguments.get(index, parameter.name.value)


def named_tuple(names: tuple[str, ...], node: cst.CSTNode, arguments: Arguments) -> Value:
    """A named tuple of what its constructor is given; a field that is left out has a default."""
    if arguments.open:
        return UNKNOWN
    found = [arguments.get(index, name) for index, name in enumerate(names)]
    return Sequence([UNKNOWN if v is None else v for v in found], None, "tuple", node, names)


def _is_named_tuple(info: ClassInfo) -> bool:
    return any(base in ("typing.NamedTuple", "NamedTuple") for base in info.library_bases)
