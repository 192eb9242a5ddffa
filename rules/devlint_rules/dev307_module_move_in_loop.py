"""DEV307: a module is moved in every iteration."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

import libcst as cst

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.facts import Facts, Hotness, Move, Site
from devlint.rule import Claim, Note, Rule
from devlint_rules.helpers.assumptions import time_matters
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.causes import habits
from devlint_rules.helpers.rewrites import short
from devlint_rules.helpers.wording import is_host, loop_note


def _check(facts: Facts) -> Iterator[Claim]:
    yield from habits(facts, _of_moves(facts))


def _of_moves(facts: Facts) -> Iterator[Claim]:
    for move in facts.moves:
        if not move.of_module or move.cold:
            continue
        if move.recursive and move.function is not None and move.loop is None:
            yield _in_recursion(facts, move, move.function)
        if not move.invariant or move.loop is None or move.loop.hotness is not Hotness.HOT:
            continue
        if _is_offloaded(facts, move):
            continue
        assumed = time_matters(facts, move.site)
        yield Claim(
            move.site,
            Severity.PERFORMANCE,
            confidence_of(assumed),
            f"`{move.subject.name}` is moved in every iteration over `{move.loop.over}`: each move "
            "goes through all its parameters",
            advice=f"move it once before the loop: `{short(move.site.node)}`",
            trace=(loop_note(move.loop),),
            assumptions=assumed,
        )


def _is_offloaded(facts: Facts, move: Move) -> bool:
    """Under a condition of its own the loop brings the module back to the host: `if args.offload:
    vae.cpu()`. Whoever asks for that pays for it on purpose."""
    loop = move.loop
    if loop is None:
        return False
    return any(
        is_host(other.target)
        and other.loop is not None
        and other.loop.site.node is loop.site.node
        and other.subject.name == move.subject.name
        and any(
            isinstance(step, cst.If)
            for step in takewhile(
                lambda step: step is not loop.site.node, path_to(facts.source.tree, other.site.node)
            )
        )
        for other in facts.moves
        if other.of_module
    )


def _in_recursion(facts: Facts, move: Move, function: Site) -> Claim:
    name = function.node.name if isinstance(function.node, cst.FunctionDef) else function.node
    assumed = time_matters(facts, move.site)
    return Claim(
        move.site,
        Severity.PERFORMANCE,
        confidence_of(assumed),
        f"`{move.subject.name}` is moved whenever this function calls itself in its loop: each "
        "move goes through all its parameters",
        advice=f"move it once, where the recursion begins: `{short(move.site.node)}`",
        trace=(Note(Site(function.source, name), "this function calls itself in a loop"),),
        assumptions=assumed,
    )


RULE = Rule(
    code="DEV307",
    name="module-move-in-loop",
    severity=Severity.PERFORMANCE,
    summary="A module is moved in every iteration.",
    what="""\
Reports `Module.to`, `.cuda()` or `.cpu()` of the same module inside a hot loop, and in a function
that calls itself in a loop.""",
    why="""\
Each call goes through every parameter and buffer, and copies those that are elsewhere. A module
that goes back and forth crosses the bus with all its weights, twice per iteration.""",
    reference="https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to",
    bad=(
        """\
from torch.utils.data import DataLoader


def run(model, dataset, device):
    for batch in DataLoader(dataset, batch_size=8):
        model.to(device)
        yield model(batch.to(device))
""",
        """\
import torch
from torch import nn

model = nn.Linear(4, 4)
for step in range(1000):
    output = model.cuda()(torch.randn(2, 4, device="cuda"))
""",
        """\
from torch import nn
from torch.utils.data import DataLoader


def train(model: nn.Module, dataset, optimizer):
    criterion = nn.CrossEntropyLoss()
    for x, y in DataLoader(dataset):
        model.cuda()
        loss = criterion(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        model.cpu()
""",
    ),
    good=(
        """\
from torch.utils.data import DataLoader


def run(model, dataset, device):
    model.to(device)
    for batch in DataLoader(dataset, batch_size=8):
        yield model(batch.to(device))
""",
        """\
from torch import nn

models = [nn.Linear(4, 4), nn.Linear(4, 4)]
for model in models:
    model.to("cuda")  # another module in every iteration
""",
        """\
import torch
from torch import nn


def train(model: nn.Module, epochs, device):
    for epoch in range(epochs):
        model.to(device)
        loss = model(torch.randn(8, 4, device=device)).sum()
        loss.backward()
        model.cpu()
        torch.save(model.state_dict(), "model.pt")
""",
        """\
from torch import nn
from torch.utils.data import DataLoader


def encode(vae: nn.Module, dataset, offload, device):
    for batch in DataLoader(dataset):
        yield vae.to(device)(batch.to(device))
        if offload:
            vae.cpu()  # on purpose: its memory is needed
""",
    ),
    check=_check,
    twin="The guard counts how often the line goes over the module.",
    limits="Once per epoch is no finding: a checkpoint may want the weights on the host.",
)
