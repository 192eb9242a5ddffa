"""DEV109: a device contract that says nothing."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Confidence, Severity
from devlint.inference.facts import Facts
from devlint.rule import Claim, Rule


def _check(facts: Facts) -> Iterator[Claim]:
    for unread in facts.unread_contracts:
        yield Claim(unread.site, Severity.WARNING, Confidence.CERTAIN, unread.message)


RULE = Rule(
    code="DEV109",
    name="unread-contract",
    severity=Severity.WARNING,
    summary="A device contract is not understood, or is of nothing.",
    what="""\
Reports a device contract that devlint can't read: `On` with a name that no device has, `SameDevice`
of something that is no parameter, a comment `# devlint: device[…]` that is misspelt, names no
parameter of the function, or stands where there is no `def` and no assignment.""",
    why="""\
It looks as if it were checked, and nothing is.""",
    reference="https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device",
    bad=(
        """\
from typing import Annotated

from torch import Tensor

from devlint.contracts import On


def fuse(feats: Annotated[Tensor, On("cudda")]):
    return feats.softmax(-1)
""",
        """\
def attend(query, mask):  # devlint: device[masks=same(query)]
    return query.masked_fill(mask, 0.0)
""",
        """\
def attend(query, mask):
    # devlint: device[query=cuda]
    return query.masked_fill(mask, 0.0)
""",
    ),
    good=(
        """\
from typing import Annotated

from torch import Tensor

from devlint.contracts import On


def fuse(feats: Annotated[Tensor, On("cuda")]):
    return feats.softmax(-1)
""",
        """\
def attend(query, mask):  # devlint: device[mask=same(query)]
    return query.masked_fill(mask, 0.0)
""",
        """\
import torch

ids = torch.arange(8)  # devlint: device[cpu]
""",
    ),
    check=_check,
    twin="None: nothing happens.",
    limits="""\
A contract whose device or name is computed is not read, and not reported.""",
)
