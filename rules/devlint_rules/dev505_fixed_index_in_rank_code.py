"""DEV505: a fixed card in code that runs once per rank."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.facts import Facts
from devlint.rule import Claim, Rule
from devlint_rules.helpers.assumptions import assume, assume_if, own_card
from devlint_rules.helpers.causes import repeats
from devlint_rules.helpers.mentions import twins
from devlint_rules.helpers.ownership import rule_of_mention


def _global_ranks(facts: Facts) -> Iterator[Claim]:
    """One finding for all places that take the one rank for the other."""
    mentions = [m for m in facts.mentions if m.global_rank and not m.guarded]
    if mentions:
        first, *others = mentions
        assumed = assume(
            AssumptionKind.OTHER_CARDS_ARE_USED, first.site, "the code runs on several nodes"
        ) + own_card(first)
        yield Claim(
            first.site,
            Severity.WARNING,
            confidence_of(assumed),
            f"`{first.text}` takes the rank among all nodes for the number of a card of this one: "
            "from the second node on there is no such card",
            advice='use the rank on this node: `torch.device("cuda", local_rank)`',
            trace=twins(others),
            assumptions=assumed,
        )


def _check(facts: Facts) -> Iterator[Claim]:
    yield from repeats(facts, _claims(facts))


def _claims(facts: Facts) -> Iterator[Claim]:
    yield from _global_ranks(facts)
    for mention in facts.mentions:
        if rule_of_mention(mention) != "DEV505":
            continue
        fixed = mention.index is not None
        if mention.global_rank:
            continue
        if mention.guarded and not fixed:
            continue
        assumed = assume(
            AssumptionKind.OTHER_CARDS_ARE_USED, mention.site, "each rank has a card of its own"
        ) + assume_if(
            not (fixed or mention.stays_on_first),
            AssumptionKind.RANK_SETS_NO_DEVICE,
            mention.site,
            "`torch.cuda.set_device` does not come first",
        )
        if not fixed:
            assumed += own_card(mention)
        yield Claim(
            mention.site,
            Severity.WARNING,
            confidence_of(assumed),
            f"`{mention.text}` is the same card on every rank"
            + ("" if fixed else ", unless `torch.cuda.set_device` comes first"),
            advice='use the rank\'s own card: `torch.device("cuda", local_rank)`',
            assumptions=assumed,
        )


RULE = Rule(
    code="DEV505",
    name="fixed-index-in-rank-code",
    severity=Severity.WARNING,
    summary="`cuda:0` or a bare `.cuda()` in code that runs once per rank.",
    what="""\
Reports a fixed index, or the current device without `torch.cuda.set_device`, in code that every
rank of a distributed job runs, or that calls a collective; and the global rank
(`torch.distributed.get_rank()`, or `RANK` of the environment) as the number of a card.""",
    why="""\
All ranks put their tensors on the same card: it runs out of memory, NCCL refuses two ranks on one
device (`Duplicate GPU detected`) or hangs, and the other cards idle. The global rank counts the
processes of all nodes, while cards are counted on each node: with two nodes of eight cards rank 8
asks for `cuda:8`, which raises `invalid device ordinal`.""",
    reference="https://docs.pytorch.org/docs/stable/distributed.html",
    bad=(
        """\
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def worker(rank, world_size):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    model = nn.Linear(4, 2).to("cuda:0")
    return DistributedDataParallel(model)
""",
        """\
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def worker(rank, world_size):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    total = torch.zeros(1, device=torch.device("cuda", 0))
    dist.all_reduce(total)


if __name__ == "__main__":
    mp.spawn(worker, args=(2,), nprocs=2)
""",
        """\
import torch
import torch.distributed as dist


def worker(rank, world_size):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    value = torch.ones(1).cuda()
    dist.all_reduce(value)
""",
        """\
import torch
import torch.distributed as dist


def setup():
    dist.init_process_group("nccl")
    return torch.device("cuda", dist.get_rank())
""",
    ),
    good=(
        """\
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def worker(rank, world_size):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    model = nn.Linear(4, 2).to(torch.device("cuda", rank))
    return DistributedDataParallel(model, device_ids=[rank])
""",
        """\
import os

import torch
import torch.distributed as dist


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    total = torch.zeros(1).cuda()
    dist.all_reduce(total)
""",
        """\
import torch

if torch.cuda.is_available():
    print(torch.ones(1, device="cuda:0"))
""",
    ),
    check=_check,
    twin="""\
A process uses another card than the one of its local rank, or one that its machine does not have
(`torchrun --nproc-per-node 2 -m -- devlint confirm …`). Processes that the program itself starts
(`mp.spawn`) are not watched.""",
    limits="""\
Code counts as per-rank where it starts or joins a process group, or is what `mp.spawn` runs; a
helper that such code calls from another file is not seen. The current device is a `possible` one
unless the code that joins the group names the card of its rank (`device_ids=[local_rank]`,
`LOCAL_RANK`): else a launcher may have chosen it. Where the function, or the set-up of its
tests, says that there is one process (`world_size=1`), there is but one card to name.""",
)
