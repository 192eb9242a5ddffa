"""A function is asked for a device, and does not keep to it: what its text shows.

The device says where a checkpoint is loaded to, and the model that takes it up stays where it was
made; it may be None, and is used beside what it was resolved to; it is asked for its type, and then
the current card is waited for; or all is copied there, on streams of the current card.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.collect.devices_beside import beside, others, uses
from devlint.inference.collect.plain_states import is_of_numbers
from devlint.inference.conventions import found, holds
from devlint.inference.domain.host import Const, DeviceValue
from devlint.inference.domain.placement import Device
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import DroppedArgument, Neglect
from devlint.inference.program.accelerator_notes import Mentions
from devlint.inference.program.declarations import Function
from devlint.inference.program.events import FunctionReturns
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.summaries.arguments import ArgumentsBound
from devlint.inference.syntax.text import called_name, code, dotted, every, parts, shorten
from devlint.records import NamedTuple


class _Passed(NamedTuple):
    """What one call passes for a device parameter."""

    names_card: bool  # `torch.device("cuda")` names none
    is_receivers: bool  # `self.encode(x, self.device)`: the device of the object that is called


class _Open:
    """What calls decide: waits for the current card, and moves to `self.device`, by the device
    parameter that they pass by; and what calls of the same file pass there."""

    def __init__(self, unit: Unit) -> None:
        self.parameters: dict[cst.CSTNode, tuple[Function, str]] = {}
        self.calls: dict[tuple[Function, str], dict[cst.CSTNode, _Passed]] = {}
        self._bound: dict[Function, dict[str, list[str]]] = {}

    def bound(self, function: Function, name: str) -> list[str]:
        """What a function binds a name to, as far as that has a name itself."""
        if function not in self._bound:
            found = self._bound[function] = {}
            for assign in every(function.node.body, cst.Assign):
                for target in assign.targets:
                    found.setdefault(dotted(target.target), []).append(dotted(assign.value))
        return self._bound[function].get(name, [])


def of_function(frame: Frame, event: FunctionReturns) -> None:
    """Note where a function leaves the device that it was given."""
    function = event.function
    node = function.node
    if not isinstance(node, cst.FunctionDef) or frame.unit.is_test:
        return
    for stream, device in _on_other_streams(function):
        frame.unit.dropped[stream] = DroppedArgument(
            frame.site(stream), function.name, device, shorten(stream), None, neglect=Neglect.STREAM
        )
    for parameter in function.parameters:
        if not parameter.is_device or parameter.name == "map_location":
            continue
        found = (
            *((name, Neglect.MAPPED) for name in _only_mapped(function, parameter.name)),
            *((call, Neglect.UNRESOLVED) for call in _unresolved(node, parameter.name)),
            *((other, Neglect.BESIDE) for other in beside(function, parameter.name)),
            *((call, Neglect.CURRENT) for call in _on_current(function, parameter.name)),
        )
        for at, neglect in found:
            if neglect in (Neglect.CURRENT, Neglect.BESIDE):
                frame.unit.kept(_Open).parameters[at] = (function, parameter.name)
            frame.unit.dropped[at] = DroppedArgument(
                frame.site(at), function.name, parameter.name, shorten(at), None, neglect=neglect
            )


def of_call(frame: Frame, event: ArgumentsBound) -> None:
    """Remember what a call of the same file passes for each device."""
    node, function, binding = event
    if function.unit is not frame.unit:
        return
    for parameter in function.parameters:
        if parameter.is_device and parameter.name in binding.given:
            value, written = binding.given[parameter.name]
            calls = frame.unit.kept(_Open).calls.setdefault((function, parameter.name), {})
            calls[node] = _Passed(
                any(_may_name_a_card(v) for v in alternatives(value)),
                _is_receivers(frame, node, written),
            )


def _is_receivers(frame: Frame, call: cst.CSTNode, passed: cst.CSTNode) -> bool:
    """The device that a call passes is that of the object whose method it calls, or a name that the
    caller has for it: `device = self.device`."""
    func = call.func if isinstance(call, cst.Call) else None
    if not isinstance(func, cst.Attribute) or not dotted(func.value):
        return False
    own = f"{dotted(func.value)}.device"
    if not isinstance(passed, cst.Name) or frame.function is None:
        return dotted(passed) == own
    return frame.unit.kept(_Open).bound(frame.function, passed.value) == [own]


def _may_name_a_card(value: Value) -> bool:
    place = value.place if type(value) is DeviceValue else None
    if type(value) is Const and isinstance(value.value, str):
        return ":" in value.value
    return type(place) is not Device or place.index is not None


def settle(unit: Unit) -> None:
    """The current card is the one, where all calls in sight of a helper say no more than its type;
    and `self.device`, where all pass that very device."""
    noted = unit.kept(_Open)
    for at, (function, name) in noted.parameters.items():
        calls = noted.calls.get((function, name), {}).values()
        dropped = unit.dropped.get(at)
        if not calls or dropped is None:
            continue
        if dropped.neglect is Neglect.BESIDE:
            is_none = all(passed.is_receivers for passed in calls)
        else:
            helps = function.name.startswith("_") or unit.kept(Mentions).is_script
            is_none = helps and not any(passed.names_card for passed in calls)
        if is_none:
            del unit.dropped[at]


def _only_mapped(function: Function, name: str) -> Iterator[cst.Name]:
    """The models that are made and returned, where the device is only one to load weights to."""
    body = function.node.body
    if (
        not function.contains(".load_state_dict(")
        or function.says("moves-in-text")
        or _is_moved_outside(function)
    ):
        return
    mapped = [
        use
        for argument in every(body, cst.Arg)
        if argument.keyword is not None and argument.keyword.value == "map_location"
        for use in uses(argument, name)
    ]
    asked = [use for test in every(body, cst.Comparison) for use in _asked_for_host(test, name)]
    if not mapped or len(mapped) + len(asked) != len(uses(body, name)):
        return
    # of modules: an optimizer, which is where they are, has no `to`
    loaded = {
        dotted(call.func.value)
        for call in every(body, cst.Call)
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "load_state_dict"
        if not (is_of_numbers(function.unit, call) or holds("optimizer-name", code(call.func)))
    }
    made = {
        dotted(target.target)
        for assign in every(body, cst.Assign)
        if isinstance(assign.value, cst.Call)
        for target in assign.targets
    }
    parallel = {
        each.value: each
        for call in every(body, cst.Call)
        if called_name(call) in _WANTING_CARDS
        for each in [argument.value for argument in call.args[:1]]
        if isinstance(each, cst.Name)
    }
    for statement in every(body, cst.Return):
        value = statement.value
        returned = [e.value for e in value.elements] if isinstance(value, cst.Tuple) else [value]
        for result in returned:
            if isinstance(result, cst.Name) and result.value in loaded & made:
                yield parallel.get(result.value, result)


# They move none of their module's parameters, which have to be on a card.
_WANTING_CARDS = frozenset({"DataParallel", "DistributedDataParallel"})


def _asked_for_host(test: cst.Comparison, name: str) -> list[cst.Name]:
    """`device == "cpu"` puts nothing anywhere."""
    others = [target.comparator for target in test.comparisons]
    if len(others) == 1 and isinstance(others[0], cst.SimpleString):
        return uses(test.left, name)
    return []


def _is_moved_outside(function: Function) -> bool:
    """All callers in its own file move what comes back."""
    text = function.unit.source.text
    names = found("bound-result", text, function.name)
    return holds("moved-result", text, function.name) or any(
        holds("moved-name", text, name) for name in names
    )


def _unresolved(node: cst.FunctionDef, name: str) -> Iterator[cst.Call]:
    """Moves to the device as it was given, perhaps None, after it was resolved to a better one."""
    params = (*node.params.params, *node.params.kwonly_params)
    default = next((p.default for p in params if p.name.value == name), None)
    if default is None or dotted(default) != "None":
        return
    statements = node.body.body
    resolving = next((n for n, s in enumerate(statements) if _resolves(s, name)), len(statements))
    rest = statements[resolving + 1 :]
    if not rest or _is_rebound(node.body, name):
        return
    for statement in rest:
        if isinstance(statement, cst.If) and uses(statement.test, name):
            return
        yield from _moves_to(statement, name)


def _resolves(statement: cst.CSTNode, name: str) -> bool:
    """`self.device = device or default_device()`, under a name that is a device's."""
    line = statement.body if isinstance(statement, cst.SimpleStatementLine) else ()
    for each in line:
        if isinstance(each, cst.Assign) and len(each.targets) == 1:
            target, value = each.targets[0].target, each.value
        elif isinstance(each, cst.AnnAssign) and each.value is not None:
            target, value = each.target, each.value
        else:
            continue
        if "device" in dotted(target).rpartition(".")[2]:
            return any(not holds("host-or-none", code(other)) for other in others(value, name))
    return False


def _moves_to(statement: cst.CSTNode, name: str) -> Iterator[cst.Call]:
    """`x.to(device)`, `torch.zeros(3, device=device)`, where nothing asks whether it is None."""
    if isinstance(statement, (cst.If, cst.IfExp)) and uses(statement.test, name):
        return
    if isinstance(statement, cst.Call):
        func = statement.func
        moves = isinstance(func, cst.Attribute) and func.attr.value in ("to", "cuda")
        makes = dotted(func).startswith("torch.")
        for index, argument in enumerate(statement.args):
            word = argument.keyword.value if argument.keyword is not None else ""
            given = dotted(argument.value) == name
            if given and (
                (moves and (index == 0 or word == "device")) or (makes and word == "device")
            ):
                yield statement
    for part in parts(statement):
        yield from _moves_to(part, name)


def _is_rebound(node: cst.CSTNode, name: str) -> bool:
    targets: list[cst.CSTNode] = [each.target for each in every(node, cst.AssignTarget)]
    targets += [each.target for each in every(node, cst.AnnAssign)]
    targets += [each.target for each in every(node, cst.NamedExpr)]
    return any(dotted(target) == name for target in targets)


def _on_current(function: Function, name: str) -> Iterator[cst.Call]:
    """`torch.cuda.synchronize()`, where the device is asked for its type and for nothing else."""
    body = function.node.body
    if not function.contains("torch.cuda.synchronize()"):
        return
    if not holds("open-device-option", function.unit.source.text):
        return  # perhaps there is but one card to choose
    tests = list(every(body, cst.If))
    allowed = {use for test in tests for use in uses(test.test, name)}
    if not allowed:
        return
    for raised in every(body, cst.Raise):
        allowed.update(uses(raised, name))
    for call in every(body, cst.Call):
        if holds("telling-callee", dotted(call.func)):
            allowed.update(uses(call, name))
    if not allowed.issuperset(uses(body, name)):
        return
    for test in tests:
        if uses(test.test, name):
            for call in every(test.body, cst.Call):
                if dotted(call.func) == "torch.cuda.synchronize" and not call.args:
                    yield call


_STREAMS = frozenset(
    f"torch.{kind}.{made}"
    for kind in ("cuda", "npu", "xpu")
    for made in ("Stream", "current_stream")
)


def _on_other_streams(function: Function) -> Iterator[tuple[cst.Call, str]]:
    """`stream = torch.cuda.Stream()` beside copies that all go to `self.device`, another card
    perhaps; and that device. One finding for all streams of a function."""
    text = function.unit.source.text
    if not function.unit.contains("tream()") or holds("card-choosing-text", text):
        return
    calls = list(every(function.node, cst.Call))
    streams = [call for call in calls if dotted(call.func) in _STREAMS and not call.args]
    goals = {dotted(goal) for call in calls if (goal := _goal(call)) is not None}
    if len(goals) != 1 or not streams:
        return
    (device,) = goals
    given = {p.name for p in function.parameters if p.is_device}
    if device in given or (device.startswith("self.") and holds("device-name", device)):
        yield streams[0], device


def _goal(call: cst.Call) -> cst.BaseExpression | None:
    """`d` of `x.to(d, non_blocking=True)` and of `x.to(device=d)`."""
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "to":
        return None
    named = (a.value for a in call.args if a.keyword is not None and a.keyword.value == "device")
    first = (a.value for a in call.args[:1] if a.keyword is None and "dtype" not in dotted(a.value))
    return next(named, None) or next(first, None)
