"""DEV102: a tensor made on the default device meets one that lives where the module does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from devlint.findings import Applicability, Severity
from devlint.inference.domain.placement import Variable, VariableKind
from devlint.inference.facts import Facts, Meeting, MeetingKind, Operand
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers.meetings import claims
from devlint_rules.helpers.operand_device import (
    bound_anew,
    is_made_for,
    made_by_name,
    made_for,
    moved_where_it_meets,
)
from devlint_rules.helpers.parameters import is_tensor_of
from devlint_rules.helpers.rewrites import (
    is_path,
    sole_factory,
    takes_device,
    text_of,
    where_it_meets,
    with_argument,
)
from devlint_rules.helpers.scopes import function_around, is_bound
from devlint_rules.helpers.wording import device_there, moved


def _device(facts: Facts, meeting: Meeting, place: cst.CSTNode) -> str | None:
    """The device to make the tensor on, in a name that is bound where it is made."""
    placement = meeting.right.placement
    if (
        isinstance(placement, Variable)
        and placement.kind is VariableKind.INPUT
        and is_path(placement.name)
        and is_bound(facts, placement.name, place)
        and is_tensor_of(facts, meeting.right, placement.name)
    ):
        return f"{placement.name}.device"
    return device_there(facts, meeting, place)


def _advice(facts: Facts, meeting: Meeting) -> str:
    left, made = meeting.left, sole_factory(meeting.left)
    here = meeting.site.node
    if made is not None and function_around(facts, made.node) is not function_around(facts, here):
        made = None  # what is called so here has no name there
    if left.by_default and made is not None and takes_device(left, made):
        device = _device(facts, meeting, made.node)
        if device is None:
            return "make it on the device of the other operand: pass `device=` to the factory"
        assert isinstance(made.node, cst.Call)
        call = with_argument(made.node, f"device={device}")
        if call is None or len(call) > 80 or "\n" in call:
            call = f"{text_of(made.node.func)}(…, device={device})"
        return f"make it where the other one lives: `{call}`"
    device = (
        _device(facts, meeting, here) if made is not None else device_there(facts, meeting, here)
    )
    anew = bound_anew(facts, left, meeting.right, device)
    return anew or (moved(left, device) if device is not None else _apart(left))


def _apart(operand: Operand) -> str:
    """What to do where nothing at hand has the device of the other operand."""
    made = sole_factory(operand)
    if operand.by_default and made is not None and takes_device(operand, made):
        return "make it on the device of the other operand: pass `device=` to the factory"
    return "bring it to the device of the other operand, before they meet"


def _fix(facts: Facts, meeting: Meeting) -> tuple[Replacement, ...]:
    """`device=` at a factory that serves this place alone, else a move where the two meet."""
    left, right = meeting.left, meeting.right
    if meeting.inside is not None:
        return ()
    if meeting.kind is MeetingKind.SHAPE:
        return made_for(facts, left, right)
    if is_made_for(facts, left):
        found = made_by_name(facts, left, right) or made_for(facts, left, right)
        if found:
            return found
    return where_it_meets(facts, left, right) or moved_where_it_meets(facts, left, right)


def _at_the_factory(facts: Facts, meeting: Meeting) -> tuple[Replacement, ...]:
    """`device=` at a factory further up, for a tensor that is changed in place where it meets."""
    return () if meeting.inside is not None else made_for(facts, meeting.left, meeting.right)


def _check(facts: Facts) -> Iterator[Claim]:
    return claims(
        facts,
        "DEV102",
        advice=partial(_advice, facts),
        fix=_fix,
        applicability=Applicability.SAFE,
        otherwise=_at_the_factory,
    )


RULE = Rule(
    code="DEV102",
    name="cpu-tensor-meets-module-device",
    severity=Severity.ERROR,
    summary=(
        "A tensor made on the default device meets one that lives where the module or the input "
        "lives."
    ),
    what="""\
Reports a tensor made without `device=` (or plainly on the CPU) that meets a parameter of the
module, an input, or a value computed from them. Whoever writes the method does not choose that
device: the caller does, with `Module.to` or by the tensor handed in. Code is right only if it
works for all of them.""",
    why="""\
A factory such as `torch.zeros(n)` makes its tensor on the default device, which is the CPU unless
somebody changes it. Once the module is on an accelerator, the operation raises `RuntimeError:
Expected all tensors to be on the same device`. On the CPU it works, which is why tests on CPU-only
machines never see it.""",
    reference="https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device",
    bad=(
        """\
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        scores = self.proj(x) @ x.transpose(-2, -1)
        mask = torch.triu(torch.ones(x.size(1), x.size(1)), diagonal=1)
        return scores - 1e9 * mask
""",
        """\
import torch
from torch import nn


class NoisyLinear(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, width))

    def forward(self, x):
        noise = torch.randn(self.weight.shape)
        return x @ (self.weight + 0.1 * noise)
""",
        """\
import torch


def dice_loss(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    weights = torch.linspace(0.0, 1.0, prediction.shape[1])
    overlap = (prediction * target * weights).sum()
    return 1 - 2 * overlap / (prediction.sum() + target.sum())
""",
    ),
    good=(
        """\
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        scores = self.proj(x) @ x.transpose(-2, -1)
        mask = torch.triu(torch.ones(x.size(1), x.size(1), device=x.device), diagonal=1)
        return scores - 1e9 * mask
""",
        """\
import torch
from torch import nn


class NoisyLinear(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, width))

    def forward(self, x):
        noise = torch.randn_like(self.weight)
        return x @ (self.weight + 0.1 * noise)
""",
        """\
import torch


def dice_loss(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    weights = torch.linspace(0.0, 1.0, prediction.shape[1], device=prediction.device)
    overlap = (prediction * target * weights).sum()
    return 1 - 2 * overlap / (prediction.sum() + target.sum())
""",
    ),
    check=_check,
    fix="""\
Gives the factory `device=` where it makes the tensor for this place alone, and the other's device
is known there, else moves the tensor where the two meet. Both do nothing on the CPU. A tensor that
is changed in place where they meet (`total += x`) cannot be moved there; its factory further up
gets `device=`, which is unsafe: others may meet it on the host.""",
    twin="`devlint confirm` waits for PyTorch's mixed-device error on the way through the line.",
    limits="""\
Under `torch.set_default_device` or `with torch.device(...)` the default device is followed only as
far as it is in sight: in the file, in what calls it, and in a script beside it or above it that
imports it. In a file named for export (`onnx`, `export`) in which nothing is put on a device,
models stay on the host. Where the tensor goes through a function that devlint cannot see, it is
taken to stay where its arguments are, and the confidence is lower. Of returns that differ, one is
left alone where the function has asked for its input's type, or found nothing handed in: there is
no device to follow. A dummy of one element for what a flag of the caller's switches off is no more
than `possible`. So is what only calls on the host would reach: an input of a plain function counts
as elsewhere if a call hands in something from a device or, where no call tells, if the function
minds devices or is public and annotated with tensors.""",
)
