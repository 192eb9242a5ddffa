"""DEV104: an index, mask or `out=` on a device that the indexed tensor does not accept."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from devlint.findings import Severity
from devlint.inference.domain.placement import Variable
from devlint.inference.facts import Facts, Meeting
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers.edits import MOVE
from devlint_rules.helpers.meetings import claims
from devlint_rules.helpers.operand_device import made_for
from devlint_rules.helpers.rewrites import (
    append_to,
    name_as_atom,
    sole_factory,
    takes_device,
    where_it_meets,
)
from devlint_rules.helpers.wording import (
    HIDDEN,
    device_expression,
    has_methods,
    is_host,
    place_of,
)

SUBSCRIPT = "index"  # the operation of `x[i]`; others have the name of the function


def _message(meeting: Meeting) -> str:
    left, right = meeting.left, meeting.right
    there = f"`{left.name}` is on {place_of(left)}, `{right.name}` on {place_of(right)}"
    hidden = HIDDEN if meeting.caught else ""
    if meeting.operation == SUBSCRIPT:
        return f"{there}: an index may be on the CPU or on the indexed tensor's own device{hidden}"
    return f"{there}: `{meeting.operation}` needs one device{hidden}"


def _index_to_host(meeting: Meeting) -> bool:
    """`rows[order]` with `rows` on the host: the index comes to the tensor."""
    return meeting.operation == SUBSCRIPT and is_host(meeting.left.placement)


def _advice(facts: Facts, meeting: Meeting) -> str:
    left, right = meeting.left, meeting.right
    if _index_to_host(meeting):
        index = name_as_atom(right)
        return f"bring the index to the host, `{index}.cpu()`, or the tensor to the index"
    device = device_expression(facts, right, meeting.site.node)
    if device is None or not has_methods(left):
        return f"move `{left.name}` to the device of the other one before they meet"
    return f"move it before they meet: `{name_as_atom(left)}.to({device})`"


def _move(meeting: Meeting) -> str:
    if not _index_to_host(meeting):
        return MOVE
    made, anywhere = sole_factory(meeting.left), isinstance(meeting.right.placement, Variable)
    if not (made is not None and anywhere and meeting.left.by_default):
        return "bring the index to the host"
    if takes_device(meeting.left, made):
        return "make the tensor where its index lives, or bring the index to the host"
    return "bring the index to the host"


def _fix(facts: Facts, meeting: Meeting) -> tuple[Replacement, ...]:
    if not _index_to_host(meeting):
        left, right = meeting.left, meeting.right
        return where_it_meets(facts, left, right) or made_for(facts, left, right)
    return append_to(facts, meeting.right, ".cpu()")


def _check(facts: Facts) -> Iterator[Claim]:
    advice = partial(_advice, facts)
    return claims(facts, "DEV104", advice=advice, fix=_fix, message=_message, move=_move)


RULE = Rule(
    code="DEV104",
    name="index-on-wrong-device",
    severity=Severity.ERROR,
    summary="An index, mask or `out=` that the indexed tensor's device does not accept.",
    what="""\
Reports an index or boolean mask on an accelerator at which a host tensor is read, an index for
`gather`, `scatter`, `index_select` and their like on another device than the tensor, and an `out=`
on another device than the result.""",
    why="""\
Indices may be on the CPU or on the device of the indexed tensor, and nowhere else: `x[i]` with `x`
on the host and `i` on an accelerator raises `RuntimeError: indices should be either on cpu or on
the same device as the indexed tensor (cpu)`. `gather`, `scatter` and `index_select` accept only the
tensor's own device. Writing is laxer: `x[i] = 0` and `index_put_` copy the index to the tensor.""",
    reference="https://docs.pytorch.org/docs/stable/generated/torch.index_select.html",
    bad=(
        """\
import torch

rows = torch.randn(100, 4)
scores = torch.rand(100, device="cuda")
best = rows[scores.argsort()[:10]]
""",
        """\
import torch

logits = torch.randn(8, 5, device="cuda")
labels = torch.zeros(8, 1, dtype=torch.long)
chosen = logits.gather(1, labels)
""",
        """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
labels = torch.arange(10)
keep = torch.rand(10, device=device) > 0.5
kept = labels[keep]
""",
    ),
    good=(
        """\
import torch

rows = torch.randn(100, 4)
scores = torch.rand(100, device="cuda")
best = rows[scores.argsort()[:10].cpu()]
""",
        """\
import torch

logits = torch.randn(8, 5, device="cuda")
labels = torch.zeros(8, 1, dtype=torch.long, device="cuda")
chosen = logits.gather(1, labels)
""",
        """\
import torch

table = torch.randn(10, 4, device="cuda")
order = torch.tensor([3, 1, 2])
picked = table[order]  # a host index of a device tensor is accepted
""",
    ),
    check=_check,
    fix="""\
Copies the index of a host tensor to the host, or moves the operand where the two meet, or, if it is
written there (`out.scatter_(…)`), makes it on the other's device. Unsafe: it may be the tensor that
should have moved.""",
    twin="`devlint confirm` waits for PyTorch's mixed-device error on the way through the line.",
    limits="An index whose place is unknown is left alone.",
)
