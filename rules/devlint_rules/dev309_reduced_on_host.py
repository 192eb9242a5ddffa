"""DEV309: a whole tensor is copied to the host, only to be reduced there."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.facts import Facts, Move, Site
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers.assumptions import assume_if, time_matters, warm_code
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.causes import habits
from devlint_rules.helpers.chains import Step, reduction
from devlint_rules.helpers.queues import Counted
from devlint_rules.helpers.rewrites import atom, receiver, text_of
from devlint_rules.helpers.sync_costs import busy_at, repeated
from devlint_rules.helpers.wording import loop_note


def _fix(move: Move, steps: list[Step], added: bool) -> tuple[Replacement, ...]:
    """`x.cpu().mean()` becomes `x.mean().cpu()`, and `x.mean()` where it is added up."""
    before = receiver(move.site.node)
    if before is None or len(steps) != 1 or move.non_blocking:
        return ()
    call = steps[0].call
    assert isinstance(move.site.node, cst.Call)
    moved = cst.Attribute(before, cst.Name(steps[0].method))
    reduced = text_of(call.with_changes(func=moved, lpar=(), rpar=()))
    if not text_of(move.site.node).startswith(atom(before)):
        return ()
    how = "" if added else text_of(move.site.node)[len(atom(before)) :]
    return (Replacement(Site(move.site.source, call), f"{reduced}{how}"),)


def _check(facts: Facts) -> Iterator[Claim]:
    yield from habits(facts, _of_moves(facts))


def _of_moves(facts: Facts) -> Iterator[Claim]:
    for move in facts.moves:
        steps = reduction(facts, move)
        if not steps:
            continue
        name = steps[-1].method
        added = name == "sum" and _is_added_up(facts, steps[-1].call)
        assumed = (
            time_matters(facts, move.site)
            + assume_if(
                move.subject.placement is None,
                AssumptionKind.SOURCE_OF_MOVE_IS_ELSEWHERE,
                move.site,
                f"`{move.subject.name}` is not on the host already",
            )
            + _are_worth_it(facts, move, added)
            + busy_at(facts, move.site, repeated(move.loop, move.function), Counted.NUMBERS)
        )
        yield Claim(
            move.site,
            Severity.PERFORMANCE,
            confidence_of(assumed),
            f"all of `{move.subject.name}` is copied to the host, where `.{name}()` reduces it",
            advice=_advice(move, name, added),
            trace=(loop_note(move.loop),) if move.loop is not None else (),
            fix=_fix(move, steps, added),
            applicability=Applicability.UNSAFE,
            assumptions=assumed,
        )


def _is_added_up(facts: Facts, result: cst.CSTNode) -> bool:
    """`correct += result`."""
    around = path_to(facts.source.tree, result)
    return bool(around) and isinstance(around[0], cst.AugAssign)


def _are_worth_it(facts: Facts, move: Move, added: bool) -> Assumptions:
    """The assumption that what is copied is large: the host waits for the result either way. Added
    up on the device it saves the wait in every turn, which an evaluation need not be spared."""
    trains = move.loop is not None and move.loop.trains
    waits = [sync for sync in facts.syncs if sync.site.node is move.site.node]
    seldom = not trains and any(sync.evaluates for sync in waits)
    message = f"`{move.subject.name}` is too much to copy, though the host waits in any case"
    return warm_code(not added or seldom, move.site, message)


def _advice(move: Move, name: str, added: bool) -> str:
    before = receiver(move.site.node)
    text = atom(before) if before is not None else move.subject.name
    reduced = f"{text if len(text) < 60 else '(…)'}.{name}(…)"
    if added:
        return f"add up on the device, and read the sum once after the loop: `{reduced}`"
    return f"reduce it on the device, and copy the result: `{reduced}.cpu()`"


RULE = Rule(
    code="DEV309",
    name="reduced-on-host",
    severity=Severity.PERFORMANCE,
    summary="A whole tensor is copied to the host, only to be reduced there.",
    what="""\
Reports `x.cpu().mean()` and its like in hot code: a move to the host, with `.detach()`, `.numpy()`
or a conversion behind it perhaps, and then a reduction. One finding for each function.""",
    why="""\
The copy takes time in proportion to what is copied, and the reduction runs on the slower of the two
machines. Reduced first, a few numbers cross the bus. The host waits for the device either way.""",
    reference="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    bad=(
        """\
from torch.utils.data import DataLoader


def evaluate(model, dataset):
    model.cuda()
    scores = []
    for batch in DataLoader(dataset, batch_size=16):
        scores.append(model(batch.cuda()).cpu().mean())
    return scores
""",
        """\
import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(width, width)
        self.seen = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states = self.mix(x)
        self.seen.append(states.detach().cpu().max())
        return states
""",
        """\
import torch


class Trainer:
    def training_step(self, batch):
        loss, rewards = self.compute(batch)  # wherever that is, it is not on the host
        self.log("rewards", rewards.cpu().mean())
        return loss
""",
        """\
from torch import nn
from torch.utils.data import DataLoader


def sparsity(dataset, device):
    model = nn.Linear(8, 8).to(device)
    shares = []
    for batch in DataLoader(dataset):
        hidden = model(batch.to(device)).relu()
        shares.append((hidden == 0).cpu().numpy().sum())
    return shares
""",
    ),
    good=(
        """\
from torch.utils.data import DataLoader


def evaluate(model, dataset):
    model.cuda()
    scores = []
    for batch in DataLoader(dataset, batch_size=16):
        scores.append(model(batch.cuda()).mean().cpu())
    return scores
""",
        """\
from torch.utils.data import DataLoader


def predictions(model, dataset):
    model.cuda()
    for batch in DataLoader(dataset, batch_size=16):
        logits = model(batch.cuda()).cpu()
        yield logits, logits.mean()  # the host needs all of them
""",
        """\
import torch


def report(history: torch.Tensor) -> float:
    return history.cpu().mean().item()  # once
""",
    ),
    check=_check,
    fix="""\
Exchanges the two: `x.cpu().mean()` becomes `x.mean().cpu()`, and leaves the sum of
`total += x.cpu().sum()` on the device. Unsafe: the device adds up in another order, and what is
added up is there.""",
    twin="The guard sees a transfer to the host of more than one element at the line.",
    limits="""\
The host waits for the result either way, and mostly copies little: a `possible` finding, unless a
loop that trains adds the results up and need not wait for them in every turn. A mean of a mask
needs `.float()` on the device, which NumPy does not ask for. Only chains of calls: a copy that gets
a name may be needed for something else. A NumPy function around the copy
(`np.mean(x.cpu().numpy())`) is not reported.""",
)
