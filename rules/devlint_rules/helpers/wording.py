"""How rules speak: operands, devices and traces in one voice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from devlint.inference.domain.placement import CPU, Placement, Variable, VariableKind, describe
from devlint.inference.facts import (
    Facts,
    Loop,
    Meeting,
    MeetingKind,
    Operand,
    Site,
    Step,
    StepKind,
)
from devlint.rule import Note
from devlint_rules.helpers.parameters import is_tensor_of
from devlint_rules.helpers.rewrites import (
    device_by_name,
    is_path,
    name_as_atom,
    short,
    sole_factory,
    stands_for_device,
    takes_device,
    text_of,
)
from devlint_rules.helpers.scopes import is_bound

HIDDEN = "; the `except` around it hides the error"
# What is no tensor by its form.
_NO_TENSORS = (cst.BaseNumber, cst.BaseString, cst.BaseList, cst.Tuple, cst.BaseDict, cst.BaseSet)
MAX_TWINS = 8  # places of one cause that a trace names
WAITS = "the host waits for all queued kernels"


def place_of(operand: Operand) -> str:
    """Where an operand is, as messages name it."""
    if operand.placement is None and operand.by_default:
        return str(CPU)
    return describe(operand.placement)


def _operation(meeting: Meeting) -> str:
    """The operation, and the function called here that it lies in."""
    operation = f"`{meeting.operation}`"
    call = meeting.site.node
    if meeting.inside is None or not isinstance(call, cst.Call):
        return operation
    return f"{operation} inside `{short(call.func)}`"


def module_is(meeting: Meeting) -> str:
    """Which operand is the module called: "left", "right", or "" when both are its inputs."""
    if meeting.kind is not MeetingKind.INPUT or not _is_call_of_operation(meeting):
        return ""
    if meeting.operation == meeting.right.name:
        return "right"
    return "left" if meeting.operation == meeting.left.name else ""


def _is_call_of_operation(meeting: Meeting) -> bool:
    """The operation has a name of this function's, and none of a callee's own."""
    call = meeting.site.node
    if meeting.inside is None:
        return True
    return isinstance(call, cst.Call) and short(call.func) == meeting.operation


def is_made_inside(meeting: Meeting) -> bool:
    """The odd operand is nothing that is handed over: the function that is called makes it."""
    return meeting.inside is not None and meeting.left.site.node is meeting.site.node


def made_inside(meeting: Meeting) -> str:
    """What to do about an operand that the function called makes itself."""
    call, made = meeting.site.node, sole_factory(meeting.left)
    if made is not None and meeting.left.by_default and takes_device(meeting.left, made):
        assert isinstance(made.node, cst.Call)
        return f"make it where the other one lives: pass `device=` to `{text_of(made.node.func)}`"
    around = f"`{short(call.func)}`" if isinstance(call, cst.Call) else "the callee"
    return f"bring it there in {around}, before they meet"


def moved(operand: Operand, device: str) -> str:
    """How to move an operand where it meets another one: a container has no `.to`."""
    if not has_methods(operand):
        return f"move what is on {place_of(operand)} before they meet: `.to({device})`"
    return f"move it before they meet: `{name_as_atom(operand)}.to({device})`"


def has_methods(operand: Operand) -> bool:
    """The text of an operand stands for the tensor itself: for no container of it, nor for a number
    that it was computed with."""
    return not operand.element and not isinstance(operand.site.node, _NO_TENSORS)


def sends_to_group(meeting: Meeting) -> bool:
    """The operation is a collective: it stands itself for the process group and its devices."""
    return meeting.kind is MeetingKind.OPERATION and meeting.operation == meeting.right.name


def _called_with(module: Operand, given: Operand) -> str:
    there = f"`{module.name}` is on {place_of(module)}"
    return f"{there}, its input `{given.name}` on {place_of(given)}"


def clash(meeting: Meeting) -> str:
    """The claim of a meeting: both values and both devices, then what brings them together."""
    left, right = meeting.left, meeting.right
    operation = _operation(meeting)
    is_inside = left.site.node is right.site.node or stands_for_device(right)
    if is_inside and meeting.inside is not None:
        there = f"`{left.name}` is on {place_of(left)}, what it meets on {place_of(right)}"
    elif left.site.node is right.site.node:
        there = f"`{left.name}` holds tensors on {place_of(left)} and on {place_of(right)}"
    else:
        there = f"`{left.name}` is on {place_of(left)}, `{right.name}` on {place_of(right)}"
    if module_is(meeting) == "right":
        claim = _called_with(right, left)
    elif module_is(meeting) == "left":
        claim = _called_with(left, right)
    elif sends_to_group(meeting):
        claim = (
            f"`{left.name}` is on {place_of(left)}: {operation} sends it through a process group "
            "that takes tensors of accelerators only"
        )
    elif meeting.kind is MeetingKind.CARDS:
        claim = (
            f"`{left.name}` is on {place_of(left)}: {operation} needs its parameters on the first "
            f"card of `{right.name}`"
        )
    elif meeting.kind is MeetingKind.SHAPE:
        claim = (
            f"`{left.name}` is made on the default device with the shape of a tensor on "
            f"{place_of(right)}, and nothing moves it there"
        )
    elif meeting.kind is MeetingKind.RETURN:
        claim = f"{there}: {operation} returns now one, now the other"
    elif meeting.kind is MeetingKind.CALLEE:
        claim = f"{there}: {operation} gets both"
    else:
        claim = f"{there}: {operation} needs one device"
    return claim + (HIDDEN if meeting.caught else "")


def history(operand: Operand) -> tuple[Note, ...]:
    """How an operand came to be where it is, oldest step first; the last one says where that is."""
    return _told(operand, operand.steps)


def _told(operand: Operand, steps: Sequence[Step]) -> tuple[Note, ...]:
    if not steps:
        return ()
    *earlier, last = steps
    conclusion = f"`{operand.name}` is on {place_of(operand)}: {last.text}"
    return (*(Note(step.site, step.text) for step in earlier), Note(last.site, conclusion))


def meeting_trace(meeting: Meeting, twins: Sequence[Site] = ()) -> tuple[Note, ...]:
    """The histories of both operands, the operation in the callee where there is one, and `twins`,
    where the same value meets others."""
    inside: tuple[Note, ...] = ()
    if meeting.inside is not None:
        by = "" if module_is(meeting) else f", by `{meeting.operation}`"
        inside = (Note(meeting.inside, f"they meet here{by}"),)
    also = (Note(site, "it meets another device here, too") for site in twins[:MAX_TWINS])
    return (*_until(meeting, meeting.left), *_until(meeting, meeting.right), *inside, *also)


def _until(meeting: Meeting, operand: Operand) -> tuple[Note, ...]:
    """The history of an operand before the meeting, which computes what comes next."""
    steps = operand.steps
    last = steps[-1] if len(steps) > 1 else None
    if last is not None and last.kind is StepKind.COMPUTED and last.site.node is meeting.site.node:
        steps = steps[:-1]
    return _told(operand, steps)


def device_expression(facts: Facts, operand: Operand, place: cst.CSTNode) -> str | None:
    """An expression for the device that an operand is on, in the user's own names, of which each
    has a value at the place.

    A known device without an index is no such: the code may choose it, and we analyse the world in
    which it chose the accelerator.
    """
    told = () if operand.element else _device_texts(facts, operand)
    return next((text for text in told if is_bound(facts, text, place)), None)


def _device_texts(facts: Facts, operand: Operand) -> Iterator[str]:
    placement = operand.placement
    if isinstance(placement, Variable):
        kind, name = placement.kind, placement.name
        if kind is VariableKind.DEVICE and _is_named(operand, name):
            yield name
        if is_path(operand.name):
            yield device_by_name(operand)
        if kind is VariableKind.INPUT and is_path(name) and is_tensor_of(facts, operand, name):
            yield f"{name}.device"
        if kind is VariableKind.MODULE and is_path(name):
            yield from (f"{own}.device" for own in _registered_in(operand))
            yield device_of_module(name)
    elif is_path(operand.name):
        yield device_by_name(operand)
    elif placement is not None and placement.index is not None:
        yield f'"{placement}"'


def _registered_in(operand: Operand) -> Iterator[str]:
    """The parameters and buffers in the text of an operand: `self.weight` of
    `torch.norm(self.weight)`."""
    for step in operand.steps:
        own = registered_path(step.site.node) if step.kind is StepKind.REGISTERED else ""
        if own and re.search(rf"(?<![\w.]){own}\b", operand.name):
            yield own


def registered_path(node: cst.CSTNode) -> str:
    """What is registered: `self.weight = nn.Parameter(…)`, `self.register_buffer("table", …)`."""
    if isinstance(node, cst.Attribute) and text_of(node.value) == "self":
        return text_of(node)
    if isinstance(node, cst.Call) and text_of(node.func) == "self.register_buffer" and node.args:
        name = node.args[0].value
        if isinstance(name, cst.SimpleString) and isinstance(name.evaluated_value, str):
            return f"self.{name.evaluated_value}"
    return ""


def device_there(facts: Facts, meeting: Meeting, place: cst.CSTNode) -> str | None:
    """The same of what a meeting goes by. A module whose call it lies in has no `.device`."""
    operand, call = meeting.right, meeting.site.node
    if operand.site.node is meeting.left.site.node:
        operand = operand._replace(element=True)  # what both are in: `torch.cat(parts)`
    if meeting.inside is None or not isinstance(call, cst.Call) or operand.element:
        return device_expression(facts, operand, place)
    func = call.func
    holder = func.value if isinstance(func, cst.Attribute) else func
    if operand.name not in (short(func), short(holder)):
        return device_expression(facts, operand, place)
    text = device_of_module(operand.name) if is_path(operand.name) else None
    return text if text is not None and is_bound(facts, text, place) else None


def device_of_module(name: str) -> str:
    """Where a module's parameters are, which is called by this name: `net`, or `net.forward`."""
    return f"next({name.removesuffix('.forward')}.parameters()).device"


def _is_named(operand: Operand, device: str) -> bool:
    """Whether the move or factory that put an operand there calls the device by this name. Where a
    function chose it, the name is that function's own."""
    put = [s for s in operand.steps if s.kind in (StepKind.MOVED, StepKind.CREATED)]
    return is_path(device) and (
        not put
        or re.search(rf"(?<![\w.]){re.escape(device)}\b", text_of(put[-1].site.node)) is not None
    )


def is_host(placement: Placement) -> bool:
    """Whether a placement is plainly the CPU."""
    return placement == CPU


def loop_head(loop: Loop) -> Site:
    """The line that opens a loop."""
    return head_of(loop.site)


def head_of(loop: Site) -> Site:
    """The line that opens a loop: a frame around the whole body would show nothing."""
    node = loop.node
    if isinstance(node, cst.For):
        return Site(loop.source, node.iter)
    if isinstance(node, cst.While):
        return Site(loop.source, node.test)
    return loop


def and_more(count: int) -> str:
    """How many places more a finding stands for, behind the first."""
    if count == 0:
        return ""
    return " (and at one more place)" if count == 1 else f" (and at {count} more places)"


def loop_note(loop: Loop) -> Note:
    """The trace's step for the loop around a fact."""
    return Note(loop_head(loop), f"in every iteration of this loop, over `{loop.over}`")
