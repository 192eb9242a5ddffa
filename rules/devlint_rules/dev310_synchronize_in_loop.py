"""DEV310: the host waits for the whole card in every iteration, and nothing is timed."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.facts import Facts
from devlint.rule import Claim, Rule
from devlint_rules.helpers.assumptions import time_matters
from devlint_rules.helpers.card_wide import runs_each_step, step_notes, when
from devlint_rules.helpers.rewrites import short
from devlint_rules.helpers.wording import WAITS


def _check(facts: Facts) -> Iterator[Claim]:
    for call in facts.card_wide_calls:
        if call.call != "synchronize" or call.measured or call.overlapping:
            continue
        if not runs_each_step(facts, call):
            continue
        assumed = time_matters(facts, call.site)
        yield Claim(
            call.site,
            Severity.PERFORMANCE,
            confidence_of(assumed),
            f"`{short(call.site.node)}` stands {when(call)}, and nothing is timed there: {WAITS}",
            advice=(
                "remove it: reads by the host wait by themselves, and kernels of one stream run "
                "one after the other"
            ),
            trace=tuple(step_notes(call)),
            assumptions=assumed,
        )


RULE = Rule(
    code="DEV310",
    name="synchronize-in-loop",
    severity=Severity.PERFORMANCE,
    summary="`synchronize()` in every iteration of a hot loop that nothing times.",
    what="""\
Reports `torch.cuda.synchronize()`, and that of `torch.accelerator` and other backends, in every
iteration of a hot loop and in functions that run once per step, where neither time nor memory is
measured and no streams, events, collectives or copies without waiting need it.""",
    why="""\
It makes the host wait for all work of the card. The queue runs dry, and the card then waits for the
host to fill it again. Results need no such wait: a read by the host (`.item()`, `.cpu()`) waits by
itself, and kernels on one stream run in their order.""",
    reference="https://docs.pytorch.org/docs/stable/generated/torch.cuda.synchronize.html",
    bad=(
        """\
import torch
from torch.utils.data import DataLoader


def train(model, dataset, optimizer):
    model.cuda()
    for x in DataLoader(dataset, batch_size=16):
        loss = model(x.cuda()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
""",
        """\
import torch


class Step(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        x = self.layer(x)
        torch.cuda.synchronize()
        return x.relu()
""",
        """\
import torch
from torch.utils.data import DataLoader


def features(model, dataset, device):
    model.to(device)
    found = []
    with torch.no_grad():
        for x in DataLoader(dataset):
            found.append(model(x.to(device)))
            torch.accelerator.synchronize()
    return torch.cat(found).cpu()
""",
    ),
    good=(
        """\
import time

import torch
from torch.utils.data import DataLoader


def train(model, dataset, optimizer):
    model.cuda()
    for x in DataLoader(dataset, batch_size=16):
        start = time.perf_counter()
        loss = model(x.cuda()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        print(time.perf_counter() - start)
""",
        """\
import torch
from torch.utils.data import DataLoader


def train(model, dataset, optimizer):
    model.cuda()
    for x in DataLoader(dataset, batch_size=16):
        loss = model(x.cuda()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
""",
        """\
import torch
from torch.utils.data import DataLoader


def upload(dataset, device):
    side = torch.cuda.Stream()
    for x in DataLoader(dataset, pin_memory=True):
        with torch.cuda.stream(side):
            y = x.to(device, non_blocking=True)
        torch.cuda.synchronize()
        yield y
""",
    ),
    check=_check,
    twin="The guard counts the waits at the line: more than one confirms it.",
    limits="""\
A clock in the caller, or a handle that another library took to the memory, is out of sight. Some
loops wait on purpose, to keep the queue short or an error near its cause; suppress it there.

A preview: in 249 public repositories there were eleven findings (November 2026), of which four were
right and worth saying; the others stood in profiling, in warm-ups and in optimizers that swap their
state to the host.""",
    preview=True,
)
