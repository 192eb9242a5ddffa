"""NCCL's law: each rank of a communicator has a card of its own."""

from __future__ import annotations

import pytest
import torch_ranks

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device"),
    pytest.mark.skipif(not torch.distributed.is_available(), reason="without torch.distributed"),
    pytest.mark.skipif(not hasattr(torch, "accelerator"), reason="older than torch 2.6"),
]

PROGRAM = """
import json, os, warnings
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed._functional_collectives import all_reduce as functional_all_reduce
from runtime_guard import DeviceGuard, virtual_devices
from runtime_guard.recording.events import Kind

warnings.simplefilter("ignore")
found = {}
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def attempt(case):
    group = dist.new_group(list(range(world)))
    try:
        found[case.__name__] = case(group)
    except Exception as error:
        found[case.__name__] = f"{type(error).__name__}: {error}"


def reduced(group, device):
    number = torch.ones(2, device=device)
    dist.all_reduce(number, group=group)
    return number.tolist()


def a_card_each(group):
    return reduced(group, f"cuda:{rank}")


def one_card_for_all(group):
    return reduced(group, "cuda")


def a_card_each_by_what_is_seen(group):
    os.environ["CUDA_VISIBLE_DEVICES"] = str(rank)
    try:
        return reduced(group, "cuda:0")
    finally:
        del os.environ["CUDA_VISIBLE_DEVICES"]


def on_two_hosts(group):
    os.environ["NCCL_HOSTID"] = f"node{rank}"
    try:
        return reduced(group, "cuda:0")
    finally:
        del os.environ["NCCL_HOSTID"]


def change_of_cards(group):
    reduced(group, f"cuda:{rank}")
    return reduced(group, f"cuda:{1 - rank}")


def functional(group):
    return functional_all_reduce(torch.ones(2, device="cuda"), "sum", group).tolist()


def objects(group):
    dist.all_gather_object([None] * world, rank, group=group)


def one_barrier_card(group):
    dist.barrier(group, device_ids=[0])


def guessed_barrier_cards(group):
    dist.barrier(group)


def parallel(group):
    net = nn.Linear(2, 2).cuda()
    nn.parallel.DistributedDataParallel(net, process_group=group)


def seen_by_the_guard(group):
    with DeviceGuard(on_mixed="record") as guard:
        reduced(group, "cuda")
    return [[event.rule, event.target] for event in guard.ledger.of(Kind.SHARED_CARD)]


def on_the_host(group):
    both = dist.new_group(backend="gloo")
    return reduced(both, "cuda")


def a_second_card_of_one_rank_alone(group):
    reduced(group, f"cuda:{rank}")
    if rank == 1:
        return reduced(group, "cuda:0")
    dist.all_reduce(torch.ones(2, device="cuda:0"), group=group, async_op=True)


with virtual_devices("cuda:2"):
    dist.init_process_group("nccl")
    for case in (a_card_each, one_card_for_all, a_card_each_by_what_is_seen, on_two_hosts,
                 change_of_cards, functional, objects, one_barrier_card,
                 guessed_barrier_cards, parallel, seen_by_the_guard, on_the_host):
        attempt(case)
    dist.destroy_process_group()
    os.environ["MASTER_PORT"] = os.environ["SECOND_PORT"]
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    for device in (f"cuda:{rank}", f"cuda:{1 - rank}"):
        try:
            found[device] = reduced(None, device)
        except Exception as error:
            found[device] = f"{type(error).__name__}: {error}"
    dist.destroy_process_group()
    os.environ["MASTER_PORT"] = os.environ["THIRD_PORT"]
    dist.init_process_group("nccl")
    attempt(a_second_card_of_one_rank_alone)
    store = dist.distributed_c10d._get_default_store()
if rank == 1:
    print(json.dumps(found), flush=True)
    store.set("said", "yes")
else:
    store.wait(["said"])  # the store ends with this rank, and not under the other one
os._exit(0)  # gloo's threads sometimes abort the interpreter's teardown, after all is said
"""
DUPLICATE = (
    "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\n"
    "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000\n"
)
CURE = (
    "ranks 1 and 0 are both on cuda:0; each rank needs a card of its own: "
    "`torch.cuda.set_device(local_rank)` before the first (devlint explain DEV505)"
)


@pytest.fixture(scope="module")
def second_rank(tmp_path_factory):
    """What every case gave in rank 1."""
    ports = {name: str(torch_ranks.free_port()) for name in ("SECOND_PORT", "THIRD_PORT")}
    return torch_ranks.last_rank_says(tmp_path_factory.mktemp("ranks"), PROGRAM, **ports)


@pytest.mark.parametrize(
    "case", ["one_card_for_all", "functional", "objects", "one_barrier_card", "parallel"]
)
def test_a_card_for_two_ranks_is_refused_as_nccl_does(second_rank, case):
    assert second_rank[case].startswith("DistBackendError: NCCL error in: ")
    assert DUPLICATE in second_rank[case]
    assert second_rank[case].endswith(CURE)


@pytest.mark.parametrize(
    "case",
    [
        "a_card_each",
        "a_card_each_by_what_is_seen",
        "on_two_hosts",
        "change_of_cards",
        "on_the_host",
    ],
)
def test_a_card_each_goes_through(second_rank, case):
    assert second_rank[case] == [2.0, 2.0]


def test_a_card_that_one_rank_alone_goes_on_with_is_waited_for_for_ever(second_rank):
    said = second_rank["a_second_card_of_one_rank_alone"]
    assert said.startswith("DistBackendError: NCCL makes a communicator for a new card, and waits")
    assert "rank 1 takes part with cuda:0 for the first time" in said


def test_a_barrier_takes_the_card_of_the_rank(second_rank):
    assert second_rank["guessed_barrier_cards"] is None


def test_it_is_a_problem_of_dev505_at_the_users_line(second_rank):
    assert second_rank["seen_by_the_guard"] == [["DEV505", "cuda:0"]]


def test_a_group_that_was_made_for_a_card_takes_no_other(second_rank):
    assert second_rank["cuda:1"] == [2.0, 2.0]
    assert second_rank["cuda:0"].startswith(
        "DistBackendError: Attempt to perform collective on tensor not on device passed to "
        "init_process_group"
    )
