"""Contradictions: two tensors that can't be in one place, and what has to be assumed for that.

Which of the two is out of place is no part of it: `contradiction(a, b)` and `contradiction(b, a)`
hold together.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

import libcst as cst

from devlint.inference.domain.assumptions import Assumption, AssumptionKind, Assumptions
from devlint.inference.domain.path_conditions import exclude
from devlint.inference.domain.placement import LAZY, Device
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import LOADED, MAYBE_SCALAR, Tensor
from devlint.inference.models.elements import HostRows
from devlint.inference.models.factories import FROM_HOST
from devlint.inference.models.unification.exemptions import (
    has_dimensions,
    is_exempt,
    is_made_up,
    is_on_cpu,
)
from devlint.inference.models.unification.rigid_devices import rigid_contradiction
from devlint.inference.program.assumption_sites import guess, of_code, of_value
from devlint.inference.program.frames import Frame
from devlint.inference.program.predicates import is_falsy
from devlint.inference.syntax.text import called_name, dotted


def contradiction(frame: Frame, a: Tensor, b: Tensor, pointwise: bool) -> Assumptions | None:
    """The assumptions under which the two may not meet; None if they may."""
    if a.place is None or b.place is None or a.place is b.place:
        return None
    if never_meet(frame, a, b) or (pointwise and (is_exempt(a) or is_exempt(b))):
        return None
    found = _of_places(frame, a, b)
    if found is None:
        return None
    return (
        *found,
        *_loaded_on_host(frame, a, b),
        *_made_by_default(frame, a, b),
        *_left_behind(frame, a, b),
        *_of_test(frame),
        *(has_dimensions(frame, t) for t in (a, b) if pointwise and _may_be_exempt(t)),
    )


def never_meet(frame: Frame, a: Tensor, b: Tensor) -> bool:
    """The two belong to different branches, or one to another branch than this code; or one was
    moved on the way that the other has not come, or to a device that is None here."""
    when = frame.state.when
    if exclude(a.assumed, b.assumed) or exclude(a.when, when) or exclude(b.when, when):
        return True
    missing = set(map(is_falsy, when)) - {""}
    return bool(missing) and (_went_to(a, missing) or _went_to(b, missing))


def _went_to(tensor: Tensor, devices: Container[str]) -> bool:
    """It was moved to one of these: `self.net.to(self.device)`."""
    return any(
        step.kind is StepKind.MOVED
        and isinstance(step.node, cst.Call)
        and any(dotted(argument.value) in devices for argument in step.node.args)
        for step in (tensor.origin.chain() if tensor.origin is not None else ())
    )


def _of_places(frame: Frame, a: Tensor, b: Tensor) -> Assumptions | None:
    if type(a.place) is Device and type(b.place) is Device:
        found, guessed = clash(frame, a, b), guess(frame, a, b)
        return found if found is None or guessed is None else (*found, guessed)
    if type(a.place) is Device:
        return rigid_contradiction(frame, a, b)
    if type(b.place) is Device:
        return rigid_contradiction(frame, b, a)
    return None


def clash(frame: Frame, a: Tensor, b: Tensor) -> Assumptions | None:
    """The assumptions under which two known devices differ, as in `contradiction`."""
    one, other = a.place, b.place
    assert type(one) is Device and type(other) is Device
    if one.type != other.type:
        if "meta" in (one.type, other.type):
            return None
        if one.is_accelerator and other.is_accelerator:
            # One machine has one kind: these are mostly branches of a choice.
            message = f"one machine has {one} and {other}"
            return (of_value(frame, AssumptionKind.TWO_ACCELERATORS_MEET, a, message),)
        if not LAZY.isdisjoint((one.type, other.type)):
            message = f"`{other.type if other.is_accelerator else one.type}` runs eagerly"
            return (of_value(frame, AssumptionKind.BACKEND_RUNS_EAGERLY, a, message),)
        return ()
    if one.index == other.index:
        return None
    if one.index is None or other.index is None:
        if not (one.index or other.index):
            return None  # the current device is 0 unless somebody set it
        message = f"the current device is not {other if one.index is None else one}"
        return (of_value(frame, AssumptionKind.CURRENT_DEVICE_IS_ANOTHER, a, message),)
    return ()


def _of_test(frame: Frame) -> Iterator[Assumption]:
    """The assumption that a file which asks for no accelerator runs on one."""
    if frame.unit.keeps_to_host:
        message = "this file runs on an accelerator, though it asks for none"
        yield of_code(frame, AssumptionKind.SCRIPT_RUNS_ON_ACCELERATOR, message)


def _may_be_exempt(tensor: Tensor) -> bool:
    return bool(tensor.traits & MAYBE_SCALAR) and is_on_cpu(tensor)


def _loaded_on_host(frame: Frame, *tensors: Tensor) -> Iterator[Assumption]:
    """The assumption that a batch is on the host, in a project whose data sets move what they
    hold: what a loader yields is where its rows are."""
    importer = frame.unit.context.importer
    for tensor in tensors:
        root = tensor.origin.root if tensor.origin is not None else None
        if root is None or root.kind is not StepKind.LOADED or not is_on_cpu(tensor):
            continue
        if root.node in frame.unit.context.kept(HostRows).loaders:
            continue
        if tensor.traits & LOADED and importer is not None and importer.moves_data():
            message = "{} is of none of the project's data sets that move what they hold"
            yield of_value(frame, AssumptionKind.DATA_STAYS_ON_HOST, tensor, message)
            return


def _made_by_default(frame: Frame, *tensors: Tensor) -> Iterator[Assumption]:
    """The assumption that a factory makes its tensor on the host, in a file whose programs choose
    another default device: that belongs to the process, whoever sets it."""
    importer = frame.unit.context.importer
    for tensor in tensors:
        if importer is None or tensor.origin is None or not is_made_up(tensor):
            continue
        made = tensor.origin.root
        converted = isinstance(made.node, cst.Call) and called_name(made.node) in FROM_HOST
        if not converted and importer.programs_choose_default_device(made.source.path):
            message = "{} is made before a program chooses its default device"
            yield of_value(frame, AssumptionKind.DEFAULT_DEVICE_IS_CPU, tensor, message)
            return


def _left_behind(frame: Frame, *tensors: Tensor) -> Iterator[Assumption]:
    """The assumption that a parameter which another object was handed is not moved with it: a move
    of a module changes its parameters in place, whoever else has them.

    self.support = nn.Parameter(torch.linspace(0, 1, 3))
    self.net = Net(self.support).cuda()    # `self.support` is on CUDA from here on
    """
    for tensor in tensors:
        if is_on_cpu(tensor) and tensor.origin is not None and tensor.origin.root.handed:
            message = "{} is not moved with what it was handed to"
            yield of_value(frame, AssumptionKind.PARAMETER_STAYS_BEHIND, tensor, message)
            return
