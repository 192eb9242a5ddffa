"""Calls that leave out a `device`, or a flag for accelerators, which the caller has at hand under
the same name; or a `device` that stands for an accelerator, beside tensors of the caller's own."""

from __future__ import annotations

import libcst as cst

from devlint.findings import Confidence
from devlint.inference.conventions import found, holds, without
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import ASSUMED, TRUE, Const, DeviceValue
from devlint.inference.domain.placement import Device, Variable, VariableKind
from devlint.inference.domain.provenance import Provenance, Site, StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Unknown, Value, alternatives
from devlint.inference.facts import DroppedArgument, Neglect
from devlint.inference.models.devices import place_of
from devlint.inference.program.accelerator_notes import Mentions
from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.events import DefaultTaken, FunctionReturns
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Parameter
from devlint.inference.program.units import Unit
from devlint.inference.program.values import FunctionValue, Instance
from devlint.inference.syntax.text import code, dotted, every, shorten


def of_default(frame: Frame, event: DefaultTaken) -> None:
    """A call that leaves a callee's device to its default, though the result lives there."""
    node, function, parameter, summary = event
    if frame.function is None or frame.control.guarded or frame.unit.kept(Mentions).meant:
        return
    if _leaves_out_flag(frame.function, function, parameter):
        _note(frame, node, function, parameter.name, neglect=Neglect.FLAG)
        return
    if not parameter.is_device or parameter.variable is None:
        return
    if not _is_device(frame.state.env.get(parameter.name)):
        placed = _placed_there(summary.result, parameter.variable)
        if placed is not None and _is_accelerator(frame, parameter) and not frame.unit.is_test:
            given = _given_tensor(frame, node, function)
            if given:
                neglect = Neglect.DEFAULTED
                _note(frame, node, function, given, placed.origin, neglect=neglect)
        return
    if parameter.name == "map_location" and _is_mapped_elsewhere(frame.function, function):
        return  # what is loaded here is meant to stay on the host
    if _goes_by_given(frame, node, function):
        return
    placed = None
    if not _is_thrown_away(frame, node):
        placed = _placed_there(summary.result, parameter.variable)
    if placed is None and function.name == "__init__" and function.info is not None:
        placed = _kept_there(frame, function.info, parameter.variable)
    if placed is not None:
        _note(frame, node, function, parameter.name, placed.origin)


def _is_thrown_away(frame: Frame, node: cst.CSTNode) -> bool:
    """Nothing is done with what a call returns, wherever that is."""
    return isinstance(frame.current, cst.Expr) and frame.current.value is node


def _leaves_out_flag(caller: Function, callee: Function, flag: Parameter) -> bool:
    """`def fit(net, use_cuda): prepare(net)`, where `prepare(net, use_cuda=False)` goes by its flag
    as well, and the caller moves nothing itself."""
    if caller is callee or not holds("accelerator-flag", flag.name):
        return False
    if type(flag.default) is not Const or type(flag.default.value) is not bool:
        return False
    used, _ = callee.names.counts(callee.node, flag.name)
    given = any(parameter.name == flag.name for parameter in caller.parameters)
    return given and used > 1 and not holds("moves-in-text", caller.text)


def _is_accelerator(frame: Frame, parameter: Parameter) -> bool:
    place = place_of(frame, parameter.default) if parameter.default is not None else None
    return type(place) is Device and place.is_accelerator


def _given_tensor(frame: Frame, node: cst.CSTNode, callee: Function) -> str:
    """The name of an input that the caller hands on to a callee, which takes a tensor there."""
    taken = zip(callee.positional, node.args if isinstance(node, cst.Call) else (), strict=False)
    inside = {p.name: p.value for p in callee.parameters}
    for name, argument in taken:
        value = inside.get(name)
        if argument.keyword is not None or not isinstance(argument.value, cst.Name):
            break
        given = frame.eval(argument.value)
        if type(value) is Tensor and value.is_sure and type(given) is Tensor:
            place = given.place
            if type(place) is Variable and place.kind is VariableKind.INPUT:
                return argument.value.value
    return ""


def _goes_by_given(frame: Frame, node: cst.CSTNode, callee: Function) -> bool:
    """Without a device the callee takes that of the tensor or module which it is handed: `device =
    x.device` in `def as_tensor(x, device=None)`."""
    arguments = node.args if isinstance(node, cst.Call) else ()
    by_position = zip(callee.positional, arguments, strict=False)
    given = [(name, each.value) for name, each in by_position if each.keyword is None]
    given += [(each.keyword.value, each.value) for each in arguments if each.keyword is not None]
    return any(
        callee.contains(f"next({name}.parameters()).device")
        or (callee.contains(f"{name}.device") and _is_shown_tensor(frame, value))
        for name, value in given
    )


def _is_shown_tensor(frame: Frame, node: cst.BaseExpression) -> bool:
    value = frame.eval(node) if isinstance(node, cst.Name) else None
    return type(value) is Tensor and (value.evidence is None or value.evidence.is_tensor)


def _is_mapped_elsewhere(caller: Function, callee: Function) -> bool:
    """Another call of the loader in the same function says where to load to."""
    return any(
        "map_location" in code(call)
        for call in every(caller.node, cst.Call)
        if dotted(call.func).rpartition(".")[2] == callee.name
    )


def of_replaced(frame: Frame, event: FunctionReturns) -> None:
    """A function that takes a device, asks whether it is the CPU, and else takes the first card."""
    function = event.function
    if not isinstance(function.node, cst.FunctionDef) or frame.unit.kept(Mentions).meant:
        return
    names = [p.name for p in function.parameters if p.is_device and p.name != "map_location"]
    if not names or not function.unit.contains("cuda"):
        return
    choices = list(every(function.node, cst.IfExp))
    if not choices or not function.contains("cuda"):
        return
    text = without("remark", code(function.node.body))
    for name in names:
        used = len(found("plain-use", text, name))
        kept = len(found("kept-as-it-is", text, name))
        asked = len(found("compared-with-host", text, name))
        of_kept = len(found("compared-with-host", text, f"self.{name}"))
        if used > kept + asked or not asked + of_kept:
            continue
        for choice in choices:
            chosen = code(choice)
            named = "cuda:0" in chosen or f"torch.device({chosen}" in text  # no device's type alone
            if named and holds("first-card-or-host", " ".join(chosen.split())):
                frame.unit.dropped[choice] = DroppedArgument(
                    frame.site(choice),
                    function.name,
                    name,
                    shorten(choice),
                    None,
                    neglect=Neglect.REPLACED,
                )


def of_recursion(frame: Frame, node: cst.Call, callee: FunctionValue) -> None:
    """A function that calls itself, and loses its own device on the way."""
    function = callee.function
    if frame.function is not function or any(argument.star for argument in node.args):
        return
    params = function.node.params
    names = [p.name.value for p in (*params.posonly_params, *params.params)]
    if function.info is not None and not function.is_static:
        names = names[1:]
    given = {a.keyword.value for a in node.args if a.keyword is not None}
    if callee.given is not None:  # by `functools.partial`
        given.update(names[: len(callee.given[0])], callee.given[1])
        names = names[len(callee.given[0]) :]
    given.update(names[: sum(a.keyword is None for a in node.args)])
    for param in (*params.params, *params.kwonly_params):
        name = param.name.value
        if param.default is None or name in given:
            continue
        held = frame.state.env.get(name)
        chosen = type(held) is DeviceValue and held.of is None and held.place is not None
        if chosen or (holds("accelerator-flag", name) and held in (TRUE, ASSUMED)):
            _note(frame, node, function, name)


def of_arguments(frame: Frame, node: cst.Call) -> None:
    """`f(make(), device)`: whoever gets both is to bring the one to the other."""
    dropped = frame.unit.dropped
    for argument in node.args:
        fact = dropped.get(argument.value)
        if fact is not None and any(dotted(a.value) == fact.parameter for a in node.args):
            del dropped[argument.value]


def _is_device(value: Value | None) -> bool:
    """A device that somebody chose: not None, and not where some tensor happens to be."""
    return value is not None and any(
        type(v) is Unknown
        or (type(v) is DeviceValue and v.of is None and v.place is not None)
        or (type(v) is Const and isinstance(v.value, str))
        for v in alternatives(value)
    )


def _placed_there(result: Value, variable: Variable, depth: int = 3) -> Tensor | Instance | None:
    """The result, or the part of it, that is on the callee's device whatever else comes in."""
    placed = [v for v in alternatives(result) if isinstance(v, (Tensor, Instance))]
    if placed and all(value.place is variable and _made_here(value) for value in placed):
        return placed[0]
    for value in alternatives(result) if depth else ():
        parts: list[Value] = []
        if isinstance(value, Sequence):
            parts = list(value.items) if value.items is not None else [value.any()]
        elif isinstance(value, Mapping):
            parts = list(value.entries.values())
        for part in parts:
            found = _placed_there(part, variable, depth - 1)
            if found is not None:
                return found
    return None


def _kept_there(frame: Frame, info: ClassInfo, variable: Variable) -> Tensor | Instance | None:
    """What an object keeps on its constructor's device: made there, or moved there. What a module
    registers goes along where another one holds it."""
    if info.is_module and frame.info is not None and frame.info.is_module:
        return None
    kept = [part for value in info.attributes.values() for part in alternatives(value)]
    for part in kept:
        if isinstance(part, (Tensor, Instance)) and part.place is variable:
            return part
    registered = variable in info.parts.values() or info.stands_on is variable
    return Instance(info) if registered else None


def _made_here(value: Tensor | Instance) -> bool:
    """The value is no input that the callee only moves, as it is or as a parameter."""
    root = value.origin.root if value.origin is not None else None
    return root is None or not (root.kind is StepKind.PARAMETER or _is_moved_inside(root.node))


def _is_moved_inside(node: cst.CSTNode) -> bool:
    """`nn.Parameter(value.to(device=device))`: it has the data of what is moved."""
    given = every(node.args[0], cst.Call) if isinstance(node, cst.Call) and node.args else ()
    moves = (each.func for each in given if isinstance(each.func, cst.Attribute))
    return any(func.attr.value == "to" and isinstance(func.value, cst.Name) for func in moves)


def _note(
    frame: Frame,
    node: cst.CSTNode,
    function: Function,
    name: str,
    origin: Provenance | None = None,
    neglect: Neglect = Neglect.LEFT_OUT,
) -> None:
    assert frame.function is not None
    statement = frame.current
    if isinstance(statement, cst.Assign) and statement.value is node:
        names = (dotted(target.target) for target in statement.targets)
        frame.unit.dropped_into[node] = [(frame.function.node, n) for n in names]
    if holds("choosing-text", function.text):
        frame.unit.dropped_choosing.add(node)
    frame.unit.dropped[node] = DroppedArgument(
        frame.site(node),
        frame.function.name,
        name,
        _called(function),
        Site(function.unit.source, function.node.params),
        placed=_placed_at(origin),
        neglect=neglect,
        moved=_moves_its_object(frame.function),
    )


def _called(function: Function) -> str:
    """What a call of it names: a constructor is its class's."""
    is_constructor = function.name == "__init__" and function.info is not None
    return function.info.name if is_constructor and function.info is not None else function.name


def _moves_its_object(function: Function) -> bool:
    """A constructor that moves its object, and all that it has made for it: `self.to(device)`."""
    return function.name == "__init__" and any(
        dotted(call.func) in ("self.to", "self.cuda") for call in every(function.node, cst.Call)
    )


def _placed_at(origin: Provenance | None) -> Site | None:
    """Where the callee moves its result to its device, or else makes it there."""
    if origin is None:
        return None
    step = next((step for step in origin.chain() if step.kind is StepKind.MOVED), origin.root)
    return Site(step.source, step.node)


def settle(unit: Unit) -> None:
    """Turn the file's notes into facts; what meets another device is said there, if it is."""
    met = {
        step.site.node
        for meeting in unit.facts.meetings
        if meeting.confidence is not Confidence.POSSIBLE
        for operand in (meeting.left, meeting.right)
        for step in operand.steps
    }
    moved = {node for node in unit.dropped if _is_moved(unit, node)}
    unit.facts.dropped_arguments += [
        fact._replace(moved=fact.moved or node in moved)
        for node, fact in unit.dropped.items()
        if node not in met
    ]


def _is_moved(unit: Unit, node: cst.CSTNode) -> bool:
    """What a call made is moved at once, or under the name that it is bound to. A module counts
    where its maker would not have put it on an accelerator of its own choice."""
    names = unit.dropped_into.get(node, ())
    for move in unit.facts.moves:
        if move.of_module and node in unit.dropped_choosing:
            continue
        if move.function is not None and (move.function.node, move.subject.name) in names:
            return True
        func = move.site.node.func if isinstance(move.site.node, cst.Call) else None
        moved = every(func.value, cst.Call) if isinstance(func, cst.Attribute) else ()
        if any(call is node for call in moved):
            return True
    return False
