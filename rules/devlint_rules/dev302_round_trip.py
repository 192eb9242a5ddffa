"""DEV302: to a device and back, with nothing in between that needs it."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.placement import describe
from devlint.inference.facts import Facts
from devlint.rule import Claim, Note, Rule
from devlint_rules.helpers.assumptions import time_matters
from devlint_rules.helpers.rewrites import short


def _check(facts: Facts) -> Iterator[Claim]:
    for trip in facts.round_trips:
        if trip.subject.mixed:
            continue  # it met another tensor there, which would stay
        name, start, middle = trip.subject.name, describe(trip.start), describe(trip.middle)
        assumed = time_matters(facts, trip.back)
        yield Claim(
            trip.back,
            Severity.PERFORMANCE,
            confidence_of(assumed),
            f"`{name}` goes from {start} to {middle} and back, and nothing in between needs it "
            f"on {middle}",
            advice=f"drop both moves, or keep working with it on {middle}",
            trace=(Note(trip.away, f"moved to {middle} here, by `{short(trip.away.node)}`"),),
            assumptions=assumed,
        )


RULE = Rule(
    code="DEV302",
    name="round-trip",
    severity=Severity.PERFORMANCE,
    summary="To a device and back, with nothing in between that needs it.",
    what="""\
Reports a tensor that is moved away from a device and back to it, with no operation in between that
had to run elsewhere.""",
    why="""\
Both copies cross the bus, and the copy to the host makes the host wait for all queued kernels.
Reshaping, slicing, `detach` and arithmetic run on the accelerator as well as on the host.""",
    reference="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    bad=(
        """\
import torch

scores = torch.randn(4, 10, device="cuda")
best = scores.cpu().argmax(dim=1).cuda()
""",
        """\
from torch import nn
from torch.utils.data import DataLoader


def predict(dataset):
    model = nn.Linear(4, 2)
    for (batch,) in DataLoader(dataset, batch_size=8):
        batch = batch.to("cuda")
        yield model(batch.to("cpu"))
""",
        """\
import torch

hidden = torch.randn(2, 32, device="cuda")
host = hidden.cpu()
host = host.reshape(4, 16)
hidden = host.to("cuda")
""",
    ),
    good=(
        """\
import torch

scores = torch.randn(4, 10, device="cuda")
best = scores.argmax(dim=1)
""",
        """\
from torch import nn
from torch.utils.data import DataLoader


def predict(dataset):
    model = nn.Linear(4, 2)
    for (batch,) in DataLoader(dataset, batch_size=8):
        yield model(batch)
""",
        """\
import numpy as np
import torch

hidden = torch.randn(2, 32, device="cuda")
ranks = np.argsort(hidden.cpu().numpy())
hidden = torch.from_numpy(ranks).to("cuda")
""",
    ),
    check=_check,
    twin="The guard sees a transfer there and a transfer back.",
    limits="""\
A round trip that frees accelerator memory in between, or that has the host do work on purpose, is
not told apart where nothing in sight shows it.""",
)
