"""DEV308: indexing or assigning copies a host tensor to the device in silence."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Confidence, Severity
from devlint.inference.facts import Facts, HiddenCopy
from devlint.rule import Claim, Rule
from devlint_rules.helpers.waiting import is_cold_file
from devlint_rules.helpers.wording import device_expression, history, place_of


def _message(fact: HiddenCopy) -> str:
    tensor, base = fact.operand, fact.base
    if fact.what == "index":
        return (
            f"`{tensor.name}` is on {place_of(tensor)} and indexes `{base.name}` on "
            f"{place_of(base)}: each use copies it there, and the host waits for the copy"
        )
    return (
        f"`{tensor.name}` is on {place_of(tensor)} and is written into `{base.name}` on "
        f"{place_of(base)}: a blocking copy that the code does not show"
    )


def _check(facts: Facts) -> Iterator[Claim]:
    for fact in facts.hidden_copies:
        if fact.prepares or is_cold_file(facts):
            continue  # data is made on the host, and what is built once costs once
        device = device_expression(fact.base)
        likely = fact.operand.by_default
        yield Claim(
            fact.site,
            Severity.PERFORMANCE,
            Confidence.LIKELY if likely else Confidence.POSSIBLE,
            _message(fact),
            advice=f"make it where it is used: pass `device={device}` to the factory"
            if device
            else "make it where it is used: pass `device=` to the factory",
            trace=(*history(fact.operand), *history(fact.base)),
        )


RULE = Rule(
    code="DEV308",
    name="hidden-copy",
    severity=Severity.PERFORMANCE,
    summary="An index or a value on the host is copied to the device by indexing or assignment.",
    what="""\
Reports a host tensor that indexes a tensor on the module's, an input's or a chosen device, and one
that is assigned to a part of such a tensor.""",
    why="""\
PyTorch accepts a host index for a device tensor, and `device[i] = host`: it copies the host tensor
first. The copy is from pageable memory, so that the host waits, in every call.""",
    reference="https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution",
    bad=(
        """\
import torch


def shuffle(samples: torch.Tensor) -> torch.Tensor:
    order = torch.randperm(samples.size(0))
    return samples[order].to(samples.device)
""",
        """\
import torch
from torch import nn


class Subsample(nn.Module):
    def forward(self, points: torch.Tensor) -> torch.Tensor:
        chosen = torch.randperm(points.shape[0])[:64]
        return points[chosen]
""",
        """\
import torch


def relabel(nodes: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    table = torch.empty_like(nodes, device=nodes.device)
    for start in range(3):
        table[start] = torch.arange(kept.size(0))
    return table
""",
    ),
    good=(
        """\
import torch


def shuffle(samples: torch.Tensor) -> torch.Tensor:
    order = torch.randperm(samples.size(0), device=samples.device)
    return samples[order]
""",
        """\
import torch
from torch import nn


class Subsample(nn.Module):
    def forward(self, points: torch.Tensor) -> torch.Tensor:
        return points[:64]
""",
        """\
import torch


def first_rows(count: int) -> torch.Tensor:
    rows = torch.zeros(count, 4)
    return rows[torch.arange(2)]
""",
    ),
    check=_check,
    twin="The guard sees the transfer that indexing or assigning makes.",
    limits="""\
Code that prepares data (a `collate_fn`, a `Dataset`) or that builds something once is passed over.
A host index that the caller hands in is not reported: it may be on the device already. Where the
index is needed on the host as well, one explicit copy beside it costs no more.""",
)
