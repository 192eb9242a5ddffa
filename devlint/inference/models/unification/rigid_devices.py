"""Rigid devices: what is known to be on the host, and what lives where somebody else chose."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.confidence.policy import strength
from devlint.inference.domain.assumptions import Assumption, AssumptionKind, Assumptions
from devlint.inference.domain.placement import CPU, Device, Variable, VariableKind
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import DEFAULT, LOADED, Tensor
from devlint.inference.models.current_device import strays
from devlint.inference.models.factories import LEAVING
from devlint.inference.models.unification.accelerated_code import (
    in_test,
    leaves_host,
    with_device_data,
)
from devlint.inference.program.assumption_sites import guess, of_value
from devlint.inference.program.constructors import runs_in_constructor
from devlint.inference.program.device_awareness import is_transform
from devlint.inference.program.frames import Frame
from devlint.inference.program.traffic import HostInputs
from devlint.inference.syntax.text import dotted

# What the host has read or made of data goes to them: nobody put it on the host for its own sake.
_CHOSEN_AWAY = (VariableKind.DEVICE, VariableKind.MODULE)


def rigid_contradiction(frame: Frame, known: Tensor, variable: Tensor) -> Assumptions | None:
    """The assumptions under which a known device is not one that somebody else chooses, as in
    `contradictions.contradiction`."""
    place = known.place
    assert type(place) is Device
    if place.type != "cpu":
        return strays(frame, known, variable)
    if frame.constructing:
        return None  # nothing has been moved yet
    assumed = [
        *_of_what_stays(frame, known),
        *_of_why_on_host(frame, known, variable),
        *_of_what_left(frame, known, variable),
    ]
    if strength(assumed) > 0 and runs_in_constructor(frame):
        return None
    return (*assumed, *_of_callers(frame, known, variable))


def _of_what_stays(frame: Frame, known: Tensor) -> Iterator[Assumption]:
    if known.was_given:
        message = "{} is no parameter, and stays where it was when the module is moved"
        yield of_value(frame, AssumptionKind.GIVEN_TENSOR_STAYS_BEHIND, known, message)
    if _was_left(known):
        message = "{} is where it was made, though under a condition its module moves it"
        yield of_value(frame, AssumptionKind.BRANCH_TAKEN, known, message)


def _was_left(tensor: Tensor) -> bool:
    """The constructor kept it twice under one name: as it was made, and where a condition holds
    moved."""
    for step in tensor.origin.chain() if tensor.origin is not None else ():
        before = step.parent
        if before is not None and before.kind is step.kind is StepKind.ATTRIBUTE:
            return dotted(before.node) == dotted(step.node)
    return False


def _of_why_on_host(frame: Frame, known: Tensor, variable: Tensor) -> Iterator[Assumption]:
    """Whoever put it on the host, or gave the other one its device, meant them for each other."""
    rigid = variable.place
    assert type(rigid) is Variable
    is_input = rigid.kind is VariableKind.INPUT
    if known.traits & DEFAULT:
        if is_input and not frame.in_module:
            message = "callers hand in {} on an accelerator"
            yield of_value(frame, AssumptionKind.CALLER_IS_ACCELERATED, variable, message)
    elif _was_brought_from(known, rigid):
        message = f"{{}} was not on the host before, and `{rigid.name}` is where it was"
        yield of_value(frame, AssumptionKind.SOURCE_OF_MOVE_IS_ELSEWHERE, known, message)
    elif is_input and _left_the_host(variable):
        message = f"{{}} was brought from the host to `{rigid.name}`, which is not there"
        yield of_value(frame, AssumptionKind.SOURCE_OF_MOVE_IS_ELSEWHERE, variable, message)
    elif is_input:
        message = f"`{rigid.name}` is elsewhere than {{}}, which was put on the host"
        yield of_value(frame, AssumptionKind.EXPLICIT_HOST_MEETS_INPUT, known, message)
    elif rigid.kind not in _CHOSEN_AWAY or not known.traits & LOADED:
        message = "{} was put on the host, and not for what it meets here"
        yield of_value(frame, AssumptionKind.EXPLICIT_HOST_IS_MEANT_ELSEWHERE, known, message)


def _of_what_left(frame: Frame, known: Tensor, variable: Tensor) -> Iterator[Assumption]:
    """What lives where somebody else chose is not on the host, for all that this code does."""
    rigid = variable.place
    assert type(rigid) is Variable
    guessed = guess(frame, known, variable)
    if guessed is not None:
        yield guessed
    if rigid.kind is not VariableKind.DEVICE:
        yield from leaves_host(frame)
    if rigid in frame.kept(HostInputs).inputs:
        message = f"the host reads `{rigid.name}` only where it is on the host"
        yield of_value(frame, AssumptionKind.HOST_READS_OTHERS, variable, message)
    feeds_host = frame.unit.feeds_host or is_transform(frame.function)
    if feeds_host and rigid.kind is VariableKind.INPUT and not _is_movable(frame):
        yield with_device_data(frame)
    if frame.unit.is_test:
        yield in_test(frame)


_MOVES = ("to", "cuda")


def _is_movable(frame: Frame) -> bool:
    """The method is of an object that is brought to devices itself: its class has a `to`."""
    info = frame.info
    return info is not None and any(info.method(name) is not None for name in _MOVES)


def _of_callers(frame: Frame, known: Tensor, variable: Tensor) -> Iterator[Assumption]:
    if answers_to_callers(frame, variable):
        message = "calls of this inner function hand in {} on an accelerator"
        yield of_value(frame, AssumptionKind.LOCAL_CALLS_HAND_IN_ACCELERATOR, variable, message)
    rigid = variable.place
    is_input = type(rigid) is Variable and rigid.kind is VariableKind.INPUT
    if is_input and not frame.in_module and _was_array(known):
        message = "callers that hand in arrays for {} hand in tensors of an accelerator, too"
        yield of_value(frame, AssumptionKind.CALLER_HANDS_IN_TENSORS, known, message)


def _was_brought_from(tensor: Tensor, place: Variable) -> bool:
    """A move says where its source is not: this one brought the tensor to the host from where the
    other one still is. `rows[mask] + columns[mask].cpu()` So does what is made on the host in the
    likeness of the other: `torch.zeros_like(rows, device="cpu")`"""
    for step in tensor.origin.chain() if tensor.origin is not None else ():
        if step.kind is StepKind.MOVED or (step.kind is StepKind.CREATED and _is_likened(step)):
            return step.before is place
    return False


def _left_the_host(tensor: Tensor) -> bool:
    """A move says where its source is not, and so where it goes: this one brought the tensor from
    the host to where an input is. `table.cpu()[mask.to(x.device)]`, of a mask made on the host"""
    for step in tensor.origin.chain() if tensor.origin is not None else ():
        if step.kind is StepKind.MOVED:
            return step.before == CPU
    return False


def _is_likened(step: Provenance) -> bool:
    return isinstance(step.node, cst.Call) and dotted(step.node.func).endswith("_like")


def _was_array(tensor: Tensor) -> bool:
    """`if isinstance(x, np.ndarray): x = torch.from_numpy(x)`, `x` being handed in; or what leaves
    a tensor where it is, `torch.as_tensor(x)`."""
    step = tensor.origin.root if tensor.origin is not None else None
    if step is None or not isinstance(step.node, cst.Call):
        return False
    made, given = dotted(step.node.func).rpartition(".")[2], step.rival
    if made in LEAVING and type(given) is Tensor:
        return type(given.place) is Variable and given.place.parameter and not _is_no_tensor(given)
    return type(step.before) is Variable and made == "from_numpy"


def answers_to_callers(frame: Frame, tensor: Tensor) -> bool:
    """A parameter of a function that is defined in another and called only there: its calls are in
    sight, and say what it gets."""
    place, function = tensor.place, frame.function
    if type(place) is not Variable or place.kind is not VariableKind.INPUT or function is None:
        return False
    return function.is_local and any(place is p.variable for p in function.parameters)


def _is_no_tensor(tensor: Tensor) -> bool:
    return tensor.evidence is not None and tensor.evidence.is_host
