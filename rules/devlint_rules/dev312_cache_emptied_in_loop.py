"""DEV312: the cached memory of the card is given back in every iteration."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.facts import Facts
from devlint.rule import Claim, Rule
from devlint_rules.helpers.assumptions import time_matters, warm_code
from devlint_rules.helpers.card_wide import runs_each_step, step_notes, when
from devlint_rules.helpers.rewrites import short


def _check(facts: Facts) -> Iterator[Claim]:
    for call in facts.card_wide_calls:
        if call.call != "empty_cache" or call.measured or not runs_each_step(facts, call):
            continue
        assumed = time_matters(facts, call.site) + warm_code(
            call.meant, call.site, "the memory that the comment speaks of is there without it"
        )
        yield Claim(
            call.site,
            Severity.PERFORMANCE,
            confidence_of(assumed),
            f"`{short(call.site.node)}` gives the cached memory back {when(call)}: the next one "
            "waits for the card and asks it for the same memory again",
            advice=(
                "remove it: PyTorch reuses what it cached. Against fragments, set "
                "`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`, or call it now and then"
            ),
            trace=tuple(step_notes(call)),
            assumptions=assumed,
        )


RULE = Rule(
    code="DEV312",
    name="cache-emptied-in-loop",
    severity=Severity.PERFORMANCE,
    summary="`empty_cache()` in every iteration of a hot loop, or in a function of each step.",
    what="""\
Reports `torch.cuda.empty_cache()`, and that of other backends, in every iteration of a hot loop
that feeds the device, and in functions that run once per step.""",
    why="""\
PyTorch keeps freed memory, since `cudaMalloc` and `cudaFree` are slow and `cudaFree` waits for the
whole card. `empty_cache()` gives all of it back, and the next step has to ask for it again. It
frees nothing that a tensor still uses, so it does not help against running out of memory, but for
fragments.""",
    reference="https://docs.pytorch.org/docs/stable/generated/torch.cuda.memory.empty_cache.html",
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
        torch.cuda.empty_cache()
""",
        """\
import torch


def train(model, loader, criterion, optimizer, device):
    for inputs, labels in loader:
        torch.cuda.empty_cache()
        loss = criterion(model(inputs.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
""",
        """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        hidden = self.inner(x)
        torch.cuda.empty_cache()
        return hidden.relu()
""",
    ),
    good=(
        """\
import torch


def train(model, loader, criterion, optimizer, device, epochs):
    for epoch in range(epochs):
        for inputs, labels in loader:
            loss = criterion(model(inputs.to(device)), labels.to(device))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        torch.cuda.empty_cache()  # once per epoch
""",
        """\
import torch


def train(model, loader, optimizer, device):
    for step, x in enumerate(loader):
        loss = model(x.to(device)).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 500 == 0:
            torch.cuda.empty_cache()
""",
        """\
import torch


def train(model, loader, optimizer, device):
    for x in loader:
        try:
            model(x.to(device)).mean().backward()
        except torch.cuda.OutOfMemoryError:
            torch.cuda.empty_cache()  # only when something has failed
            optimizer.zero_grad()
            continue
        optimizer.step()
        optimizer.zero_grad()
""",
    ),
    check=_check,
    twin="The guard does not watch the allocator: a run leaves the finding undecided.",
    limits="""\
Whether it costs much depends on how much memory a step takes anew, which only a profile shows.
Where each step needs other sizes, and memory is nearly used up, it may be what keeps the run alive:
with a comment right above that speaks of memory the finding is a `possible` one. The rule is in
preview: of 26 findings on 16 repositories, at most four of each (November 2026), 17 were right and
worth saying; the others stood between stages that need most of the memory, or in functions that do
not run once per step, whatever their names say.""",
    preview=True,
)
