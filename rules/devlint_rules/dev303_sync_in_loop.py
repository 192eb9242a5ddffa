"""DEV303: the host waits for the device in every iteration of a loop."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Confidence, Severity
from devlint.inference.facts import Facts, Hotness, Loop, Sync
from devlint.rule import Claim, Note, Rule
from devlint_rules.wording import WAITS, loop_note, may_be_accelerator


def _hot_loop(sync: Sync) -> Loop | None:
    """The loop that this sync slows down, if it does."""
    loop = sync.loop
    if loop is None or sync.cold or loop.hotness is not Hotness.HOT or not loop.feeds_device:
        return None
    return loop if may_be_accelerator(sync.operand.placement) else None


# What the inference calls a sync that lies in a function called here.
_IN_CALLEE = "call"


def _claim(sync: Sync) -> str:
    if sync.call == _IN_CALLEE:
        return f"`{sync.operand.name}` reads a device tensor inside, in every iteration"
    return f"`{sync.call}` reads `{sync.operand.name}` in every iteration"


def _step(sync: Sync) -> str:
    name = sync.operand.name if sync.call == _IN_CALLEE else sync.call
    return f"`{name}` waits here, too"


def _advice(syncs: list[Sync]) -> str:
    if all(sync.for_logging for sync in syncs):
        return (
            "log every n-th step, or add up on the device (`total += loss.detach()`) and read the "
            "sum once after the loop"
        )
    return "keep the value on the device, and read it once after the loop"


def _check(facts: Facts) -> Iterator[Claim]:
    loops: dict[int, tuple[Loop, list[Sync]]] = {}
    for sync in facts.syncs:
        loop = _hot_loop(sync)
        if loop is not None:
            loops.setdefault(id(loop.site.node), (loop, []))[1].append(sync)
    for loop, syncs in loops.values():
        first, others = syncs[0], syncs[1:]
        more = f" (and at {len(others)} more places)" if others else ""
        yield Claim(
            first.site,
            Severity.PERFORMANCE,
            Confidence.LIKELY,
            f"{_claim(first)}{more}: {WAITS}",
            advice=_advice(syncs),
            trace=(
                loop_note(loop),
                *(Note(sync.site, _step(sync)) for sync in others),
            ),
        )


RULE = Rule(
    code="DEV303",
    name="sync-in-loop",
    severity=Severity.PERFORMANCE,
    summary="A sync in every iteration of a loop that feeds the device.",
    what="""\
Reports reads of a device tensor by the host (`.item()`, `float(t)`, `if t:`, `print(t)`,
`.tolist()`, `.cpu()`, `nonzero`, boolean-mask indexing, …) in a hot loop that also feeds the
device. One finding for each loop, with all places in its trace.""",
    why="""\
Kernels are queued and run behind the host's back. A read of their result makes the host wait for
all queued kernels, and then the device waits for the host to queue the next ones. A read every
n-th step, or once after the loop, leaves the queue full.""",
    reference="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    bad=(
        """\
import torch.nn.functional as F
from torch.utils.data import DataLoader


def train(model, dataset, optimizer, device):
    model.to(device)
    total = 0.0
    for x, y in DataLoader(dataset, batch_size=16):
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
""",
        """\
import torch
from torch.utils.data import DataLoader


def accuracy(model, dataset):
    model.cuda()
    hits = 0
    for x, y in DataLoader(dataset, batch_size=16):
        wrong = model(x.cuda()).argmax(dim=1) != y.cuda()
        if wrong.any():
            hits += 1
    return hits
""",
        """\
import torch
from torch.utils.data import DataLoader


def losses(model, dataset):
    model.to("cuda")
    for step, batch in enumerate(DataLoader(dataset)):
        loss = model(batch.to("cuda")).mean()
        print(f"step {step}: {loss}")
        loss.backward()
""",
    ),
    good=(
        """\
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader


def train(model, dataset, optimizer, device):
    model.to(device)
    total = torch.zeros((), device=device)
    for x, y in DataLoader(dataset, batch_size=16):
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return total.item()
""",
        """\
from torch.utils.data import DataLoader


def losses(model, dataset):
    model.to("cuda")
    for step, batch in enumerate(DataLoader(dataset)):
        loss = model(batch.to("cuda")).mean()
        if step % 100 == 0:
            print(f"step {step}: {loss.item()}")
        loss.backward()
""",
        """\
import torch


def total(values: list[float]) -> float:
    result = torch.zeros(())
    for value in values:
        result = result + value
    return result.item()
""",
    ),
    check=_check,
    limits="""\
Whether the wait costs anything depends on how long the queue is, which only a profile shows; hence
severity `performance`. A sampling loop that has to read each token is right as it is.""",
)
