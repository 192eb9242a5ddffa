"""DEV106: two accelerators of one type meet."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Applicability, Severity
from devlint.inference.domain.placement import Device
from devlint.inference.facts import Facts, Meeting
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers.edits import told
from devlint_rules.helpers.meetings import causes_of
from devlint_rules.helpers.operand_device import moved_there_instead, moved_where_it_meets
from devlint_rules.helpers.ownership import strays
from devlint_rules.helpers.rewrites import moved_to, name_as_atom, where_it_meets
from devlint_rules.helpers.wording import (
    clash,
    device_there,
    meeting_trace,
    module_is,
)


def _indices(meeting: Meeting) -> tuple[int | None, int | None]:
    left, right = meeting.left.placement, meeting.right.placement
    assert isinstance(left, Device) and isinstance(right, Device)
    return left.index, right.index


def _advice(facts: Facts, meeting: Meeting) -> str:
    left, right = meeting.left, meeting.right
    if strays(meeting) and module_is(meeting) != "right":
        there = device_there(facts, meeting, meeting.site.node)
        return f"go by the other: `.to({there})`" if there else "go by the other's device"
    if strays(meeting) or None in _indices(meeting):
        return "name one device once and pass it to both, instead of the current device"
    moved = f'{name_as_atom(left)}.to("{right.placement}")'
    return f"choose one device for both: `{moved}` or one `device`"


def _fix(facts: Facts, meeting: Meeting) -> tuple[Replacement, ...]:
    """Move the one to the other; a module has no `.device` to go by, but a card in sight."""
    if not module_is(meeting):
        left, right = meeting.left, meeting.right
        return (
            where_it_meets(facts, left, right)
            or moved_where_it_meets(facts, left, right)
            or moved_there_instead(facts, left, right)
        )
    there = meeting.right.placement
    if module_is(meeting) != "right" or not isinstance(there, Device) or there.index is None:
        return ()
    return moved_to(facts, meeting.left, f'"{there}"')


def _check(facts: Facts) -> Iterator[Claim]:
    for cause in causes_of(facts, "DEV106"):
        meeting = cause.meeting
        if strays(meeting) and not isinstance(meeting.left.placement, Device):
            meeting = meeting._replace(left=meeting.right, right=meeting.left)
        on_current = strays(meeting) or None in _indices(meeting)
        current = " (`cuda` is the current device)" if on_current else ""
        # What may be on any card is on the current one, unless a machine's others are used.
        severity = Severity.WARNING if strays(meeting) else Severity.ERROR
        fix = _fix(facts, meeting)
        move = "go by the other" if strays(meeting) else "choose one device for both"
        yield Claim(
            meeting.site,
            severity,
            meeting.confidence,
            clash(meeting) + current,
            advice=told(facts, fix, move) if fix else _advice(facts, meeting),
            trace=meeting_trace(meeting, cause.twins),
            fix=fix,
            applicability=Applicability.UNSAFE,
            assumptions=meeting.assumptions,
        )


RULE = Rule(
    code="DEV106",
    name="mixed-accelerator-indices",
    severity=Severity.ERROR,
    summary="`cuda:0` meets `cuda:1`, or the current device meets another.",
    what="""\
Reports operands on two accelerators of one type: `cuda:0` and `cuda:1`, or `cuda` without an index
(the current device) and a fixed index. It claims these whatever brings them together: an operation,
a module and its input, an index. In a library, a tensor that a bare `.cuda()` behind a condition
(`if x.is_cuda`), or code for CUDA alone, puts on the current device is reported where it meets an
input, too: as a warning, since it raises only where other cards are used. So is what a bare
`.cuda()` puts there, where it meets a card by its number (`f"cuda:{rank}"`) and nothing makes that
the current one.""",
    why="""\
Cross-GPU operations are not allowed: PyTorch raises `RuntimeError: Expected all tensors to be on
the same device`, even where the two could reach each other's memory. `"cuda"` and `.cuda()` mean
the current device, which `torch.cuda.set_device` or a launcher may change.""",
    reference="https://docs.pytorch.org/docs/stable/notes/cuda.html",
    bad=(
        """\
import torch

left = torch.randn(4, 4).cuda(0)
right = torch.randn(4, 4).cuda(1)
product = left @ right
""",
        """\
import torch
from torch import nn

encoder = nn.Linear(16, 16).to("cuda:0")
decoder = nn.Linear(16, 16).to("cuda:1")
hidden = encoder(torch.randn(2, 16, device="cuda:0"))
out = decoder(hidden)
""",
        """\
import torch

table = torch.arange(10.0, device="cuda:1")
offset = torch.ones(10, device="cuda")
shifted = table + offset
""",
        """\
import torch


def pad(mask: torch.Tensor, length: int) -> torch.Tensor:
    filler = torch.zeros(mask.size(0), length - mask.size(1))
    if mask.is_cuda:
        filler = filler.cuda()
    return torch.cat([mask.float(), filler], dim=1)
""",
        """\
import torch
from torch import nn


def score(rows: torch.Tensor, number: int) -> torch.Tensor:
    device = f"cuda:{number}"
    head = nn.Linear(8, 1).cuda()
    return head(rows.to(device))
""",
    ),
    good=(
        """\
import torch

left = torch.randn(4, 4).cuda(1)
right = torch.randn(4, 4).cuda(1)
product = left @ right
""",
        """\
import torch
from torch import nn

encoder = nn.Linear(16, 16).to("cuda:0")
decoder = nn.Linear(16, 16).to("cuda:1")
hidden = encoder(torch.randn(2, 16, device="cuda:0"))
out = decoder(hidden.to("cuda:1"))
""",
        """\
import torch

table = torch.arange(10.0, device="cuda")
offset = torch.ones(10, device="cuda")
shifted = table + offset
""",
        """\
import torch


def pad(mask: torch.Tensor, length: int) -> torch.Tensor:
    filler = torch.zeros(mask.size(0), length - mask.size(1), device=mask.device)
    return torch.cat([mask.float(), filler], dim=1)
""",
        """\
import torch
from torch import nn


def score(rows: torch.Tensor, number: int) -> torch.Tensor:
    device = f"cuda:{number}"
    head = nn.Linear(8, 1).to(device)
    return head(rows.to(device))


def score_on_current(rows: torch.Tensor, number: int) -> torch.Tensor:
    with torch.cuda.device(number):
        head = nn.Linear(8, 1).cuda()
    return head(rows.to(f"cuda:{number}"))
""",
    ),
    check=_check,
    fix="""\
Moves one operand to the other's device where they meet, or changes the move that took it
elsewhere. Unsafe: which of the two devices was meant, only the author knows. None for tensors that
meet in a list (`torch.stack([left, right])`), since any of its elements may be the odd one.""",
    twin="`devlint confirm` waits for PyTorch's mixed-device error on the way through the line.",
    limits="""\
An index that the program computes is not followed. `cuda` beside `cuda:0` is only `possible`: the
current device is 0 until somebody sets another.""",
)
