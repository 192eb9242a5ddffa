"""Expressions other than operators, subscripts and calls."""

from __future__ import annotations

import re

import libcst as cst

from devlint.inference import gradients, mentions, modules, syncs
from devlint.inference.conventions import holds
from devlint.inference.devices import named_device
from devlint.inference.domain.containers import Loader, Mapping, Sequence
from devlint.inference.domain.host import (
    DTYPE,
    FALSE,
    GLOBAL_RANK,
    HOST,
    NONE,
    TRUE,
    Const,
    DeviceValue,
    External,
    Host,
)
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import lasting
from devlint.inference.domain.placement import Device, Variable
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import EXPECTED, GRAD, RECORDED, SCALAR, Tensor, tensor_like
from devlint.inference.domain.value import (
    UNKNOWN,
    Union,
    Value,
    choose,
    join,
    possible,
    union,
)
from devlint.inference.frame import EVALUATORS, Frame, LoopState, read
from devlint.inference.functions import lambda_value
from devlint.inference.iteration import element_of, hotness_of
from devlint.inference.text import dotted
from devlint.inference.values import (
    ClassValue,
    FunctionValue,
    Generator,
    Instance,
    Method,
    Placed,
    ProjectModule,
    Super,
)
from devlint.knowledge import Result

_CONSTANTS: dict[str, Value] = {"None": NONE, "True": TRUE, "False": FALSE}

# What frameworks call a process's number among those of all nodes.
_GLOBAL_RANKS = frozenset({"process_index", "global_rank"})

# Attributes of a tensor that say that their owner is one.
_TELLING = frozenset(
    {"device", "is_cuda", "requires_grad", "grad", "grad_fn", "is_sparse", "is_leaf"}
)


def _name(frame: Frame, node: cst.Name) -> Value:
    name = node.value
    value = read(frame.env, name)
    if value is not None:
        return possible(value, frame.when) if frame.when and type(value) is Union else value
    constant = _CONSTANTS.get(name)
    if constant is not None:
        return constant
    value = frame.lookup(name)
    return UNKNOWN if value is None else value


def _attribute(frame: Frame, node: cst.Attribute) -> Value:
    path = dotted(node)
    if path:
        held = frame.env.get(path)
        if held is not None:
            return possible(held, frame.when) if frame.when else held
    value = attribute_of(frame, node, frame.eval(node.value), node.attr.value)
    if node.attr.value in _GLOBAL_RANKS and type(value) not in (Const, Union):
        return GLOBAL_RANK
    if type(value) is External:
        mentions.of_type_name(frame, node, value)
    return value


_RESULTS = {"values": 0, "indices": -1}  # of max, sort, topk, …


def attribute_of(frame: Frame, node: cst.Attribute, base: Value, name: str) -> Value:
    """`base.name`."""
    if type(base) is External:
        return External(f"{base.name}.{name}")
    if type(base) is Tensor:
        return _of_tensor(frame, node, base, name)
    if type(base) is Instance:
        return modules.attribute(frame, node, base, name)
    if type(base) is ProjectModule:
        unit = base.unit
        unit.run()
        found = read(unit.env, name)
        if found is not None:
            return found
        return unit.member(unit.source.module_name, name)
    if type(base) is ClassValue:
        return _of_class(base, name)
    if type(base) is DeviceValue:
        return _of_device(base, name)
    if type(base) is Union and name == "device":
        return _device_of_branches(frame, node, base)
    if type(base) is Union:
        return choose(frame.each(base, lambda v: attribute_of(frame, node, v, name)))
    if type(base) is Loader and name == "dataset":
        return UNKNOWN
    if type(base) is Host or type(base) is Const:
        return Method(base, name) if type(base) is Const else HOST
    if type(base) is Generator and name == "device":
        return DeviceValue(base.place)
    if type(base) is Sequence and name in base.names and base.items is not None:
        return base.items[base.names.index(name)]
    if type(base) is Sequence and base.kind == "tuple" and name in _RESULTS and base.items:
        return base.items[_RESULTS[name]]
    if type(base) in (Sequence, Mapping, Super, Method, FunctionValue, Loader):
        return Method(base, name)
    if holds("device-attribute", name):
        owner = dotted(node.value).rpartition(".")[2]
        if holds("device-owner", owner):
            return named_device(frame, dotted(node))  # `args.device`: the configuration chooses it
        return DeviceValue(None)
    return UNKNOWN


def _device_of_branches(frame: Frame, node: cst.Attribute, base: Union) -> Value:
    """`x.device` of a value that differs from branch to branch: one device, not known which."""
    found = [attribute_of(frame, node, v, "device") for v in base.alternatives if v is not NONE]
    devices = [v for v in found if type(v) is DeviceValue]
    if not devices or any(v.place != devices[0].place for v in devices):
        return DeviceValue(None)
    return devices[0]


def _of_tensor(frame: Frame, node: cst.Attribute, base: Tensor, name: str) -> Value:
    evidence = base.evidence
    if evidence is not None and name in _TELLING and name != "device":
        evidence.mark_tensor()
    if name == "device":
        if evidence is not None and not evidence.is_tensor:
            return _device_of_unknown(frame, node, base)
        return DeviceValue(base.place, base, sure=True)
    if name == "is_cuda":
        return _is_cuda(base)
    if name in ("shape", "size"):
        if evidence is not None and frame.in_module:
            evidence.mark_tensor()  # modules are given no arrays
        return Host(base, whole=True)
    if name == "dtype":
        return DTYPE
    known = frame.unit.context.knowledge.attributes.get(name)
    if known is Result.HOST:
        return HOST
    if known is Result.FIRST:
        cut = GRAD | RECORDED | EXPECTED if name in ("data", "grad") else 0
        traits = gradients.kept(frame, base.traits & ~cut)
        origin = frame.origin(StepKind.COMPUTED, node, base.origin)
        return Tensor(base.place, origin, traits, evidence)
    if evidence is None:
        return Method(base, name)
    if name not in frame.unit.context.knowledge.methods:
        evidence.foreign = True
        if evidence.is_tensor:
            return UNKNOWN  # of a subclass: it may hold anything
    # An attribute of something unknown: in the same place, a tensor if it is used as one.
    key = (id(evidence), name)
    held = frame.paths.get(key)
    if type(held) is Tensor and held.place is base.place:
        return held
    derived = Tensor(base.place, base.origin, base.traits & ~SCALAR, Evidence())
    frame.paths[key] = derived
    return derived


def _device_of_unknown(frame: Frame, node: cst.Attribute, base: Tensor) -> Value:
    """`args.device` or `x.device`, when it is open whether the owner is a tensor.

    Either way it is one device for all that use it; a tensor's is the owner's own.
    """
    path = dotted(node.value)
    owner = path.rpartition(".")[2]
    if holds("device-owner", owner):
        return DeviceValue(named_device(frame, dotted(node)).place)
    assert base.evidence is not None
    if not base.evidence.in_place:  # objects that move as modules do have a device, too
        base.evidence.mark_tensor()
    return DeviceValue(base.place, base)


def _is_cuda(base: Tensor) -> Value:
    place = base.place
    if type(place) is Variable:
        return TRUE
    if type(place) is Device:
        return TRUE if place.type == "cuda" else FALSE
    return HOST


def _of_class(base: ClassValue, name: str) -> Value:
    function = base.info.method(name)
    if function is not None:
        return FunctionValue(function, base if function.is_class_method else None)
    for info in base.info.lineage():
        found = info.members.get(name)
        if found is not None:
            return found
    return UNKNOWN


def _of_device(base: DeviceValue, name: str) -> Value:
    place = base.place
    if name == "type":
        if type(place) is Device:
            return Const(place.type)
        return DeviceValue(place)  # compares as the device does
    if name == "index" and type(place) is Device:
        return Const(place.index)
    return HOST


# ----------------------------------------------------------------- literals


def _string(frame: Frame, node: cst.SimpleString) -> Value:
    text = node.value
    first = text[0]
    if first in "'\"":
        quote = 3 if text[:3] in ("'''", '"""') else 1
        inner = text[quote:-quote]
        return Const(inner) if "\\" not in inner else HOST
    return HOST


def _concatenated(frame: Frame, node: cst.ConcatenatedString) -> Value:
    left, right = frame.eval(node.left), frame.eval(node.right)
    if type(left) is Const and type(right) is Const:
        return Const(str(left.value) + str(right.value))
    return HOST


def _formatted(frame: Frame, node: cst.FormattedString) -> Value:
    text: str | None = ""
    for part in node.parts:
        if isinstance(part, cst.FormattedStringText):
            text = None if text is None else text + part.value
            continue
        if not isinstance(part, cst.FormattedStringExpression):
            text = None
            continue
        value = frame.eval(part.expression)
        if type(value) is Tensor:
            syncs.sync(frame, part, "f-string", value, part.expression)
        if type(value) is Const and text is not None and part.format_spec is None:
            text += str(value.value)
        elif text is not None and re.fullmatch(r"(cuda|xpu|mps):", text):
            mentions.of_name(frame, node, value)
            return named_device(frame, dotted(part.expression) or "index")
        else:
            text = None
    return HOST if text is None else Const(text)


def _integer(frame: Frame, node: cst.Integer) -> Value:
    try:
        return Const(int(node.value.replace("_", ""), 0))
    except ValueError:  # more digits than int() reads
        return HOST


def _host(frame: Frame, node: cst.BaseExpression) -> Value:
    return HOST


def _list(frame: Frame, node: cst.List | cst.Tuple | cst.Set) -> Value:
    kind = "tuple" if type(node) is cst.Tuple else "list"
    items: list[Value] = []
    open_end = False
    for element in node.elements:
        value = frame.eval(element.value)
        if type(element) is cst.StarredElement:
            if type(value) is Sequence and value.items is not None:
                items.extend(value.items)
                continue
            value = element_of(frame, value, element.value)
            open_end = True
        items.append(value)
    if open_end or len(items) > 64:
        return Sequence(None, union(items) if items else None, kind, node)
    return Sequence(items, None, kind, node)


def _dict(frame: Frame, node: cst.Dict) -> Value:
    result = Mapping()
    for element in node.elements:
        if isinstance(element, cst.DictElement):
            key = frame.eval(element.key)
            value = frame.eval(element.value)
            if type(key) is Const and len(result.entries) < 128:
                try:
                    result.entries[key.value] = value
                    continue
                except TypeError:
                    pass
            result.element = value if result.element is None else join(result.element, value)
        else:
            value = frame.eval(element.value)
            if type(value) is Mapping:
                result.entries.update(value.entries)
                if value.element is not None:
                    result.element = value.element
            elif type(value) is Tensor:
                result.element = tensor_like(value)
    return result


# ----------------------------------------------------------------- comprehensions


def _comprehension(frame: Frame, node: cst.BaseSimpleComp | cst.DictComp) -> Value:
    before, when, since = frame.env, frame.when, frame.now
    frame.env = dict(before)
    depth = len(frame.loops)
    try:
        _enter(frame, node.for_in, node)
        if isinstance(node, cst.DictComp):
            frame.eval(node.key)
            return Mapping({}, _lasting(frame.eval(node.value), since))
        element = _lasting(frame.eval(node.elt), since)
        kind = "iterator" if type(node) is cst.GeneratorExp else "list"
        return Sequence(None, element, kind, node)
    finally:
        # Its names are its own; where it put a module outlives it.
        before.update({k: v for k, v in frame.env.items() if type(v) is Placed})
        frame.env, frame.when = before, when
        del frame.loops[depth:]


def _lasting(value: Value, since: int) -> Value:
    """What is known of one element, as far as it holds for all."""
    return value.with_facts(lambda when: lasting(when, since))


def _enter(frame: Frame, clause: cst.CompFor, whole: cst.CSTNode) -> None:
    from devlint.inference.conditions import enter_branch
    from devlint.inference.statements import assign

    while True:
        iterable = frame.eval(clause.iter)
        heat = hotness_of(frame, clause, iterable)
        depth = len(frame.loops) + 1
        loop = LoopState(whole, clause.iter, heat, depth, outer=frame.loop, since=frame.now)
        frame.loops.append(loop)
        assign(frame, clause.target, element_of(frame, iterable, clause.iter), clause.iter)
        for condition in clause.ifs:
            frame.eval(condition.test)
            enter_branch(frame, condition.test, True)
        if clause.inner_for_in is None:
            return
        clause = clause.inner_for_in


def _lambda(frame: Frame, node: cst.Lambda) -> Value:
    return lambda_value(frame, node)


def _named(frame: Frame, node: cst.NamedExpr) -> Value:
    from devlint.inference.statements import assign

    value = frame.eval(node.value)
    assign(frame, node.target, value, node.value)
    return value


def _await(frame: Frame, node: cst.Await) -> Value:
    return frame.eval(node.expression)


def _yield(frame: Frame, node: cst.Yield) -> Value:
    if node.value is None:
        return UNKNOWN
    if isinstance(node.value, cst.From):
        value = frame.eval(node.value.item)
        frame.yields.append(element_of(frame, value, node.value.item))
    else:
        frame.yields.append(frame.eval(node.value))
    return UNKNOWN


EVALUATORS.update(
    {
        cst.Name: _name,
        cst.Attribute: _attribute,
        cst.SimpleString: _string,
        cst.ConcatenatedString: _concatenated,
        cst.FormattedString: _formatted,
        cst.Integer: _integer,
        cst.Float: _host,
        cst.Imaginary: _host,
        cst.Ellipsis: _host,
        cst.List: _list,
        cst.Tuple: _list,
        cst.Set: _list,
        cst.Dict: _dict,
        cst.ListComp: _comprehension,
        cst.SetComp: _comprehension,
        cst.GeneratorExp: _comprehension,
        cst.DictComp: _comprehension,
        cst.Lambda: _lambda,
        cst.NamedExpr: _named,
        cst.Await: _await,
        cst.Yield: _yield,
    }
)
