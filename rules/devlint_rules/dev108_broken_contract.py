"""DEV108: a value is elsewhere than its contract says."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Severity
from devlint.inference.domain.placement import Device
from devlint.inference.facts import Facts, Meeting, StepKind
from devlint.rule import Claim, Note, Rule
from devlint_rules.helpers.meetings import causes_of
from devlint_rules.helpers.rewrites import is_path
from devlint_rules.helpers.wording import HIDDEN, device_expression, history, place_of


def _declaration(meeting: Meeting) -> Note | None:
    """Where the contract stands, when it names a device and no other value."""
    steps = meeting.right.steps
    if not steps or steps[-1].kind is not StepKind.DECLARED:
        return None
    return Note(steps[-1].site, steps[-1].text)


def _message(meeting: Meeting) -> str:
    left, right = meeting.left, meeting.right
    there = f"`{left.name}` is on {place_of(left)}"
    if _declaration(meeting) is not None:
        claim = f"{there}, but {meeting.operation} is declared to be on {place_of(right)}"
    else:
        claim = (
            f"{there}, `{right.name}` on {place_of(right)}, but {meeting.operation} is declared to "
            "be on the same device"
        )
    return claim + (HIDDEN if meeting.caught else "")


def _advice(facts: Facts, meeting: Meeting) -> str:
    left, right = meeting.left, meeting.right
    if _declaration(meeting) is None:
        device = device_expression(facts, right, meeting.site.node)
    else:
        device = f'"{right.placement}"' if isinstance(right.placement, Device) else None
    if device is None or not is_path(left.name):
        return "move it there, or change the contract"
    return f"move it there, `{left.name}.to({device})`, or change the contract"


def _trace(meeting: Meeting) -> Iterator[Note]:
    yield from history(meeting.left)
    declaration = _declaration(meeting)
    if declaration is not None:
        yield declaration
    else:
        yield from history(meeting.right)
    if meeting.inside is not None:
        yield Note(meeting.inside, "it is handed on here")


def _check(facts: Facts) -> Iterator[Claim]:
    for cause in causes_of(facts, "DEV108"):
        meeting = cause.meeting
        yield Claim(
            meeting.site,
            Severity.ERROR,
            meeting.confidence,
            _message(meeting),
            advice=_advice(facts, meeting),
            trace=tuple(_trace(meeting)),
            assumptions=meeting.assumptions,
        )


RULE = Rule(
    code="DEV108",
    name="broken-contract",
    severity=Severity.ERROR,
    summary="A value is on another device than its annotation or comment declares.",
    what="""\
Reports a value that is known to live elsewhere than a device contract says: an argument at a call,
a value at a `return`, what is assigned to an attribute, a field or a variable. A contract is an
annotation, `Annotated[Tensor, On("cuda")]` or `Annotated[Tensor, SameDevice("x")]`, or a comment,
`# devlint: device[x=cuda, mask=same(x)]`.""",
    why="""\
Whoever wrote the contract relies on it: the function behind it is read, and checked, as if it held.
Where it is broken, the operation that fails lies somewhere behind the call, perhaps in another
library; at the call the cause can be seen.""",
    reference="https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device",
    bad=(
        """\
from typing import Annotated

import torch
from torch import Tensor

from devlint.contracts import On


def fuse(feats: Annotated[Tensor, On("cuda")]):
    return feats.softmax(-1)


fuse(torch.zeros(8, 16))
""",
        """\
import torch


def attend(query, mask):  # devlint: device[mask=same(query)]
    return query.masked_fill(mask, 0.0)


query = torch.zeros(8, 16, device="cuda")
attend(query, torch.ones(8, 16, dtype=torch.bool))
""",
        """\
from typing import Annotated

from torch import Tensor

from devlint.contracts import On


def to_rows(scores: Annotated[Tensor, On("cuda")]) -> Annotated[Tensor, On("cpu")]:
    return scores.flatten(1)
""",
    ),
    good=(
        """\
from typing import Annotated

import torch
from torch import Tensor

from devlint.contracts import On


def fuse(feats: Annotated[Tensor, On("cuda")]):
    return feats.softmax(-1)


fuse(torch.zeros(8, 16, device="cuda"))
""",
        """\
import torch


def attend(query, mask):  # devlint: device[mask=same(query)]
    return query.masked_fill(mask, 0.0)


query = torch.zeros(8, 16, device="cuda")
attend(query, torch.ones(8, 16, dtype=torch.bool, device=query.device))
""",
        """\
from typing import Annotated

from torch import Tensor

from devlint.contracts import On


def to_rows(scores: Annotated[Tensor, On("cuda")]) -> Annotated[Tensor, On("cpu")]:
    return scores.flatten(1).cpu()
""",
    ),
    check=_check,
    twin="""\
The guard checks contracts of parameters and results at each call, those of names it does not.""",
    limits="""\
A value whose place is unknown keeps every contract in silence. `On("accelerator")` is read as
`On("cuda")`.""",
)
