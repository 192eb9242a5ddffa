"""Assignment: what binding a target does.

As a statement, `x = value`, `x: Tensor = value` or `x += value`, it may declare something, which is
held against the value, and what it binds to a name is noted in its order.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import Const
from devlint.inference.domain.placement import same_place
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import PARAMETER, Tensor
from devlint.inference.domain.value import UNKNOWN, Union, Value, alternatives, cases, choose
from devlint.inference.interpreter import contract_checks, contracts
from devlint.inference.interpreter.annotations import says_tensor
from devlint.inference.interpreter.attribute_writes import write_attribute, write_parameter_data
from devlint.inference.interpreter.class_attributes import left_so_far
from devlint.inference.interpreter.item_assignments import assign_item
from devlint.inference.interpreter.operators import in_place
from devlint.inference.models import gradients
from devlint.inference.models.elements import told_by_position, unpacked
from devlint.inference.models.module_places import placed, put_back, put_into
from devlint.inference.program.declarations import ClassInfo
from devlint.inference.program.events import AddedUp, AttributeSet, DeviceNameKept
from devlint.inference.program.frames import Assigned, Frame
from devlint.inference.program.values import Instance, Placed
from devlint.inference.syntax.text import code, dotted


def assign(frame: Frame, target: cst.BaseExpression, value: Value, source: cst.CSTNode) -> None:
    """Bind a target of any form to a value; `source` is the expression it came from."""
    if type(target) is cst.Name:
        frame.bind(target.value, value)
    elif type(target) is cst.Attribute:
        _assign_attribute(frame, target, value, source)
    elif type(target) is cst.Tuple or type(target) is cst.List:
        _unpack(frame, target, value, source)
    elif type(target) is cst.Subscript:
        assign_item(frame, target, value, source)
    elif type(target) is cst.StarredElement:
        assign(frame, target.value, Sequence(None, value), source)


def _assign_attribute(
    frame: Frame, target: cst.Attribute, value: Value, source: cst.CSTNode
) -> None:
    receiver = frame.eval(target.value)
    name = target.attr.value
    if name == "data":
        _put_into_module(frame, target.value, value)
    if type(value) is Instance and value.module:
        put_into(frame, value, target.value, target)
    put_back(frame, value, target.value, target)
    for holder in alternatives(receiver):
        if type(holder) is Instance:
            frame.emit(AttributeSet(target, holder, value))
            if holder is frame.instance and frame.info is not None:
                if _is_refused(frame, frame.info, name, value):
                    return
                _keep_before(frame, frame.info, name)
                write_attribute(frame, name, value, target, source)
            else:
                declared = contracts.of_class(holder.info, name) if holder.info else None
                if declared is not None:
                    said = f"`{code(target)}`"
                    value = contract_checks.hold(frame, target, said, value, source, declared)
                foreign = holder.info is None and not holder.module
                if foreign and type(value) is Instance and value.module:
                    value = UNKNOWN  # who knows what an object of a library does with a module
                fields = frame.fields_of(holder)
                frame.write(fields, fields.putting({name: value}))
                if holder.module and type(value) is Instance and value.module:
                    value.parent = holder
        elif type(holder) is Tensor and name == "data":
            if type(target.value) is cst.Name:
                frame.bind(target.value.value, _with_data(holder, value))
            if frame.info is not None:
                write_parameter_data(frame.info, frame, holder, value, target, source)
                _write_plain_data(frame, target.value, holder, value, source)
        elif type(holder) is Tensor and name == "requires_grad":
            _require_grad(frame, target.value, holder, value)
        elif type(holder) is Tensor and holder.evidence is not None and name != "grad":
            # A graph, a batch: nobody gives tensors attributes.
            holder.evidence.effects.foreign = True
    path = dotted(target)
    owner = target.value
    if name == "forward" and type(owner) is cst.Name and receiver is not frame.instance:
        frame.bind(owner.value, UNKNOWN)  # what its calls do and want is another's from now on
    elif path:
        frame.bind(path, value)
        if _moves_along(frame, receiver, value) or _keeps_fields(frame, receiver):
            # The module tells where it is, or the object what it holds.
            frame.state.env.pop(path, None)
        else:
            frame.state.hold(path, value)


def _keep_before(frame: Frame, info: ClassInfo, name: str) -> None:
    """Where a branch or a loop assigns an attribute first, it is on the other way what it was."""
    path, state = f"self.{name}", frame.state
    if path in state.env or path in state.before or not (state.when or frame.control.loops):
        return
    if frame.function is None or frame.function.name == "__init__":
        return
    held = left_so_far(info, name)
    if held is not None and any(type(v) is Tensor for v in alternatives(held)):
        state.before[path] = held


def _is_refused(frame: Frame, info: ClassInfo, name: str, value: Value) -> bool:
    """A tensor that is no `Parameter`, for the name of one: `Module.__setattr__` raises a
    TypeError, and the name keeps what it has. `self.prompt = self.prompt.repeat(2)`"""
    if type(value) is not Tensor or value.traits & PARAMETER or value.origin is None:
        return False
    if value.origin.kind not in (StepKind.CREATED, StepKind.COMPUTED) or not value.is_sure:
        return False
    held = frame.state.env.get(f"self.{name}") or info.attributes.get(name, UNKNOWN)
    return info.is_module and all(_is_parameter(info, name, v) for v in alternatives(held))


def _is_parameter(info: ClassInfo, name: str, held: Value) -> bool:
    """An `nn.Parameter` that the name has: registered, or made by the constructor above."""
    if type(held) is not Tensor or not held.traits & PARAMETER or held.origin is None:
        return False
    if name in info.registered:
        return info.registered[name] == "parameter"
    return held.origin.kind is StepKind.CREATED


def _put_into_module(frame: Frame, parameter: cst.BaseExpression, value: Value) -> None:
    """`cell.weight.data = tensor`: from now on the module is, in part, where the tensor is."""
    if not isinstance(parameter, cst.Attribute) or not dotted(parameter.value):
        return
    found = frame.eval(parameter.value)
    module = found if type(found) is Instance and found.module else None
    while module is not None and module is not frame.instance:
        if type(value) is not Tensor or not same_place(placed(frame, module)[0], value.place):
            frame.state.env[module] = Placed(None, None)
        module = module.parent  # and whatever that is a part of


def _with_data(tensor: Tensor, data: Value) -> Value:
    """`x.data = x.data.cuda()`: the tensor of the name is where its data is from then on."""
    if type(data) is not Tensor:
        return UNKNOWN
    return tensor.with_place(data.place, data.origin)


def _write_plain_data(
    frame: Frame, owner: cst.BaseExpression, holder: Tensor, value: Value, source: cst.CSTNode
) -> None:
    """`self.rows.data = value`: a plain tensor is where the value is, as with `self.rows = value`.
    A parameter keeps its name, and may be moved with it."""
    if (
        holder.traits & PARAMETER
        or type(value) is not Tensor
        or not isinstance(owner, cst.Attribute)
    ):
        return
    info, name = frame.info, owner.attr.value
    if info is None or name in info.registered or frame.eval(owner.value) is not frame.instance:
        return
    _keep_before(frame, info, name)
    write_attribute(frame, name, value, owner, source)
    frame.bind(dotted(owner), value)


def _keeps_fields(frame: Frame, receiver: Value) -> bool:
    """An object whose attributes live on the heap, where each of its names finds them."""
    return type(receiver) is Instance and receiver is not frame.instance


def _moves_along(frame: Frame, receiver: Value, value: Value) -> bool:
    """A Parameter that is given to another module: it goes where that goes."""
    return (
        type(receiver) is Instance
        and receiver.module
        and receiver is not frame.instance
        and type(value) is Tensor
        and bool(value.traits & PARAMETER)
    )


def _require_grad(frame: Frame, node: cst.BaseExpression, tensor: Tensor, value: Value) -> None:
    path = dotted(node)
    if path:
        frame.bind(path, gradients.leaf(tensor, value))


def _of_fitting(value: Union, count: int) -> list[Value] | None:
    """The elements of the alternatives that have as many: no other is unpacked into so many names.

    `if n == 0: return empty`, `return rows, index`, of which the caller takes `rows, index = …`
    """
    fitting = [
        (v.items, when)
        for v, when in cases(value)
        if type(v) is Sequence and v.items is not None and len(v.items) == count
    ]
    if not fitting:
        return None
    return [choose((items[index], when) for items, when in fitting) for index in range(count)]


def _unpack(frame: Frame, target: cst.Tuple | cst.List, value: Value, source: cst.CSTNode) -> None:
    elements = target.elements
    count = len(elements)
    star = next((i for i, e in enumerate(elements) if type(e) is cst.StarredElement), None)
    items: list[Value] | None = None
    if type(value) is Sequence and star is None:
        items = value.unpacked(count)
    elif type(value) is Sequence and value.items is not None:
        assert star is not None
        if len(value.items) >= count - 1:
            tail = count - star - 1
            stop = len(value.items) - tail
            middle = Sequence(list(value.items[star:stop]))
            items = [*value.items[:star], middle, *value.items[stop:]]
    elif type(value) is Union and star is None:
        items = _of_fitting(value, count)
    if items is None:
        is_lost = type(value) is Sequence and told_by_position(value)
        element = UNKNOWN if is_lost else frame.interpreter.element_of(frame, value, source)
        items = [element] * count
    for item, element_node in zip(items, elements, strict=True):
        inner = element_node.value
        if type(item) is Tensor and type(value) is Tensor:
            item = unpacked(value, item)
        if type(element_node) is cst.StarredElement and type(item) is not Sequence:
            item = Sequence(None, item)
        assign(frame, inner, item, source)


def run_assign(frame: Frame, node: cst.Assign) -> bool:
    """Run `x = value`."""
    if type(node.value) is cst.Call and all(_is_slice(t.target) for t in node.targets):
        frame.unit.moved_calls.add(node.value)  # copied to where that is
    value = frame.eval(node.value)
    only = node.targets[0].target
    if type(node.value) is cst.SimpleString and type(only) in (cst.Name, cst.Attribute):
        frame.emit(DeviceNameKept(node.value, only))
    own = _own_move(only, node.value)
    fresh = [loop for loop in frame.control.loops if own and own not in loop.assigned]
    declared = frame.control.contract
    if declared is not None:
        value = contract_checks.hold(frame, node, f"`{code(only)}`", value, node.value, declared)
    for target in node.targets:
        assign(frame, target.target, value, node.value)
        if (
            type(value) is Const
            and type(value.value) is bool
            and isinstance(target.target, cst.Name)
        ):
            frame.state.flags[target.target.value] = None
    for loop in fresh:
        loop.assigned.discard(own)
        loop.rebound.add(own)
    frame.fresh = _assigned(frame, only.value, node.value) if isinstance(only, cst.Name) else None
    return True


def _assigned(frame: Frame, name: str, value: cst.BaseExpression) -> Assigned:
    return Assigned(name, value) if frame.fresh is None else frame.fresh.then(name, value)


def _is_slice(target: cst.BaseExpression) -> bool:
    """`x[:, 1:3]`."""
    return isinstance(target, cst.Subscript) and any(
        isinstance(element.slice, cst.Slice) for element in target.slice
    )


def _own_move(target: cst.BaseExpression, value: cst.BaseExpression) -> str:
    """`x` of `x = x.to(d)`."""
    if (
        type(value) is cst.Call
        and type(value.func) is cst.Attribute
        and value.func.attr.value in ("to", "cuda", "cpu")
    ):
        path = dotted(target)
        return path if path == dotted(value.func.value) else ""
    return ""


def run_annotated(frame: Frame, node: cst.AnnAssign) -> bool:
    """Run `x: Tensor = value`."""
    if node.value is not None:
        value = frame.eval(node.value)
        declared = frame.control.contract or contracts.of_annotation(
            frame, node.annotation.annotation
        )
        for each in alternatives(value) if says_tensor(frame, node.annotation) else ():
            if type(each) is Tensor:
                each.show()
        if declared is not None:
            value = contract_checks.hold(
                frame, node, f"`{code(node.target)}`", value, node.value, declared
            )
        assign(frame, node.target, value, node.value)
    return True


def run_augmented(frame: Frame, node: cst.AugAssign) -> bool:
    """Run `x += value`."""
    before = frame.eval(node.target)
    value = frame.eval(node.value)
    if isinstance(node.operator, cst.AddAssign):
        frame.emit(AddedUp(node, value))
    result = in_place(frame, node, before, value)
    assign(frame, node.target, result, node.value)
    frame.fresh = None
    return True
