"""DEV405: a clock is read while the device may still be at the work that is timed."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.facts import Facts, Timing
from devlint.rule import Claim, Note, Rule
from devlint_rules.helpers.assumptions import assume, assume_if, warm_file
from devlint_rules.helpers.rewrites import short
from devlint_rules.helpers.wording import MAX_TWINS, and_more


def _check(facts: Facts) -> Iterator[Claim]:
    by_function: dict[int, list[Timing]] = {}
    for timing in facts.timings:
        if timing.sure or facts.accelerated:
            key = id(timing.function.node) if timing.function is not None else 0
            by_function.setdefault(key, []).append(timing)
    for timings in by_function.values():
        timings.sort(key=lambda t: not t.sure)
        yield _claim(facts, timings[0], timings[1:])


def _assumptions(facts: Facts, timing: Timing) -> Assumptions:
    """The assumptions that the time is to be the work's, and that the work is an accelerator's."""
    site = timing.end
    meant = assume(AssumptionKind.RESULT_WAS_WANTED, site, "the time is to be that of the work")
    message = f"callers have `{short(timing.work.node)}` done on an accelerator"
    elsewhere = assume_if(not timing.sure, AssumptionKind.INPUT_MAY_BE_ACCELERATED, site, message)
    return meant + elsewhere + warm_file(facts, site)


def _claim(facts: Facts, timing: Timing, others: list[Timing]) -> Claim:
    work = short(timing.work.node)
    assumed = _assumptions(facts, timing)
    return Claim(
        timing.end,
        Severity.WARNING,
        confidence_of(assumed),
        f"`{short(timing.end.node)}` is read while the device may still be at `{work}`"
        f"{and_more(len(others))}: the time is that of queueing it",
        advice=(
            "call `torch.cuda.synchronize()` before both readings, or take the time with "
            "`torch.cuda.Event(enable_timing=True)`"
        ),
        trace=(
            Note(timing.start, f"the time starts here, as `{timing.name}`"),
            Note(timing.work, "this is queued, and nothing behind it waits for the device"),
            *(Note(other.end, "nothing has waited here either") for other in others[:MAX_TWINS]),
        ),
        assumptions=assumed,
    )


RULE = Rule(
    code="DEV405",
    name="unsynchronized-timing",
    severity=Severity.WARNING,
    summary="The time of device work is taken with nothing that waits for the device.",
    what="""\
Reports the difference of two readings of a clock (`time.time()`, `time.perf_counter()`,
`time.monotonic()`, `timeit.default_timer()`) with work for an accelerator between them and nothing
that waits for it: no `synchronize()`, no event, no `.item()`, `.cpu()` or other read by the
host.""",
    why="""\
A kernel is queued, and the call returns. The clock then says how long the queueing took, which is
much shorter than the work and does not grow with it; whoever reads a result later pays for the
rest. Numbers of this kind have been published and withdrawn.""",
    reference="https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution",
    bad=(
        """\
import time

import torch
from torch import nn

model = nn.Linear(512, 512).cuda()
x = torch.randn(64, 512, device="cuda")
start = time.time()
y = model(x)
print("forward:", time.time() - start)
""",
        """\
import time

import torch


def latency(model, device, runs=50):
    model = model.to(device).eval()
    x = torch.randn(1, 3, 224, 224, device=device)
    begin = time.perf_counter()
    with torch.no_grad():
        for _ in range(runs):
            model(x)
    end = time.perf_counter()
    return (end - begin) / runs
""",
        """\
from timeit import default_timer

import torch

a = torch.randn(1024, 1024, device="cuda")
t0 = default_timer()
b = a @ a
t1 = default_timer()
print(t1 - t0)
""",
    ),
    good=(
        """\
import time

import torch
from torch import nn

model = nn.Linear(512, 512).cuda()
x = torch.randn(64, 512, device="cuda")
torch.cuda.synchronize()
start = time.time()
y = model(x)
torch.cuda.synchronize()
print("forward:", time.time() - start)
""",
        """\
import time

import torch


def latency(model, device, runs=50):
    model = model.to(device).eval()
    x = torch.randn(1, 3, 224, 224, device=device)
    begin = time.perf_counter()
    with torch.no_grad():
        for _ in range(runs):
            answer = model(x).cpu()  # waits
    return (time.perf_counter() - begin) / runs, answer
""",
        """\
import time

from torch.utils.data import DataLoader


def train(model, dataset, optimizer):
    model.cuda()
    end = time.time()
    for x in DataLoader(dataset):
        loss = model(x.cuda()).sum()
        loss.backward()
        optimizer.step()
        print("step:", time.time() - end)  # from lap to lap nothing gets lost
        end = time.time()
""",
    ),
    check=_check,
    limits="""\
A callee out of sight may wait, and counts as waiting unless it is a module by its name or its use.
The time of whole epochs is left alone: what is still queued at its end is little beside it. So is
a clock that is asked whether the time is up, and one that is kept on an object from one method to
another. Where the work is done on what a caller hands in, the finding is a `possible` one. The rule
is in preview: of 29 findings on 16 repositories, at most four of each (November 2026), 24 were
right and worth saying, which is a little less than it takes, and too few to tell.""",
    twin="A virtual device does its work at once, so that a run leaves the finding undecided.",
    preview=True,
)
