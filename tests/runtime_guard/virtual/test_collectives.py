"""NCCL, SyncBatchNorm, DTensor and FSDP2 on two virtual cards: one run of two ranks."""

from __future__ import annotations

import pytest
import torch_ranks

torch = pytest.importorskip("torch")

from runtime_guard.virtual import process_groups  # noqa: E402
from runtime_guard.virtual.collectives import _reduce_everywhere  # noqa: E402
from runtime_guard.virtual.process_groups import (  # noqa: E402
    _barrier_of_the_host,
    _RandomNumbersOfTheHost,
)

pytestmark = [
    pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device"),
    pytest.mark.skipif(not torch.distributed.is_available(), reason="without torch.distributed"),
    pytest.mark.skipif(not hasattr(torch, "accelerator"), reason="older than torch 2.6"),
]

PROGRAM = """
import copy, json, os, warnings
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.experimental import context_parallel
from torch.distributed.tensor.experimental._attention import context_parallel_unshard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from runtime_guard import DeviceGuard, virtual_devices

warnings.simplefilter("ignore")
found = {}


def attempt(case):
    try:
        found[case.__name__] = case(dist.get_rank(), dist.get_world_size())
    except Exception as error:
        found[case.__name__] = f"{type(error).__name__}: {error}"


def flat_gather(rank, world):
    part = torch.full((3, 4), float(rank), device="cuda")
    whole = torch.empty(world * 12, device="cuda")
    dist.all_gather_into_tensor(whole, part)
    return whole.view(world, -1)[:, 0].tolist()


def stacked_gather(rank, world):
    whole = torch.empty(world, 2, device="cuda")
    dist.all_gather_into_tensor(whole, torch.full((2,), float(rank), device="cuda"))
    return whole.tolist()


def gather_of_the_wrong_size(rank, world):
    dist.all_gather_into_tensor(torch.empty(5, device="cuda"), torch.ones(2, device="cuda"))


def flat_scatter(rank, world):
    part = torch.empty(2, 3, device="cuda")
    dist.reduce_scatter_tensor(part, torch.arange(6.0 * world, device="cuda"))
    return part.tolist()


def copies_between_devices(rank, world):
    model = fully_shard(nn.Linear(4, 4).cuda())
    part, whole = torch.empty(2, device="cuda"), torch.arange(2.0 * world, device="cuda")
    data = torch.ones(2, 4, device="cuda")
    with DeviceGuard() as guard:
        dist.reduce_scatter_tensor(part, whole)
        dist.all_reduce(part, async_op=True).wait()
        model(data).sum().backward()
    return [guard.count("transfer"), guard.count("sync"), part.tolist()]


def gradients_that_are_views_of_buckets(rank, world):
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)).cuda()
    options = {"gradient_as_bucket_view": True, "bucket_cap_mb": 1e-6}
    net = nn.parallel.DistributedDataParallel(net, device_ids=[rank], **options)
    data, where = torch.ones(1, 2, device="cuda"), set()
    with DeviceGuard() as guard:
        for _ in range(2):
            loss = net(data).sum()
            where |= {str(p.grad.device) for p in net.parameters() if p.grad is not None}
            loss.backward()
    where |= {str(p.grad.device) for p in net.parameters()}
    return [guard.count("transfer"), guard.count("sync"), sorted(where)]


def mean_of_integers(rank, world):
    number = torch.tensor([rank + 3, -rank - 3], device="cuda")
    dist.all_reduce(number, op=dist.ReduceOp.AVG)
    return [*number.tolist(), str(number.device), str(number.dtype)]


def coalesced(rank, world):
    parts = [torch.ones(2, device="cuda") * rank for _ in range(2)]
    for module in (dist, dist.distributed_c10d):
        with module._coalescing_manager(device=torch.device("cuda", rank)):
            for part in parts:
                dist.all_reduce(part)
    return [part.tolist() for part in parts]


def gather_of_several_sizes(rank, world):
    parts = [torch.zeros(size + 1, device="cuda") for size in range(world)]
    dist.all_gather(parts, torch.full((rank + 1,), rank + 1.0, device="cuda"))
    return [part.tolist() for part in parts] + [str(parts[0].device)]


def scatter_of_several_sizes(rank, world):
    part = torch.empty(rank + 1, device="cuda")
    parts = [torch.full((size + 1,), size + rank + 1.0, device="cuda") for size in range(world)]
    dist.reduce_scatter(part, parts)
    return part.tolist()


def exchange_of_several_sizes(rank, world):
    parts = [torch.empty(rank + 1, device="cuda") for _ in range(world)]
    dist.all_to_all(parts, [torch.full((n + 1,), float(rank), device="cuda") for n in range(world)])
    return [part.tolist() for part in parts] + [str(parts[0].device)]


def attention_over_a_cut_sequence(rank, world):
    mesh, weights = init_device_mesh("cuda", (world,)), torch.arange(16.0, device="cuda")
    torch.manual_seed(0)
    whole = [torch.randn(2, 3, 8, 16, device="cuda").requires_grad_() for _ in range(3)]
    expected = nn.functional.scaled_dot_product_attention(*whole, is_causal=True)
    (expected * weights).sum().backward()
    parts = [tensor.detach().clone() for tensor in whole]
    with context_parallel(mesh, buffers=parts, buffer_seq_dims=[2, 2, 2]):
        mine = [part.detach().requires_grad_() for part in parts]
        result = nn.functional.scaled_dot_product_attention(*mine, is_causal=True)
        (result * weights).sum().backward()
        found = [result, *(part.grad for part in mine)]
        found = context_parallel_unshard(mesh, found, [2] * 4)
    wanted = [expected, *(tensor.grad for tensor in whole)]
    same = [torch.allclose(*pair, atol=1e-4) for pair in zip(found, wanted, strict=True)]
    return [*same, str(found[0].device), str(mine[0].grad.device)]


def attention_over_cut_heads(rank, world):
    mesh = init_device_mesh("cuda", (world,))
    torch.manual_seed(0)
    whole = [torch.randn(2, 4, 8, 16, device="cuda") for _ in range(3)]
    cut = [distribute_tensor(part, mesh, [Shard(1)]).requires_grad_() for part in whole]
    result = nn.functional.scaled_dot_product_attention(*cut, is_causal=True)
    result.to_local().sum().backward()
    expected = nn.functional.scaled_dot_product_attention(*whole, is_causal=True)
    same = torch.allclose(result.full_tensor(), expected, atol=1e-5)
    return [same, str(cut[0].grad.device), str(cut[0].grad.to_local().device)]


def attention_with_dropout_over_cut_heads(rank, world):
    mesh = init_device_mesh("cuda", (world,))
    query = distribute_tensor(torch.ones(1, 2, 8, 8, device="cuda"), mesh, [Shard(1)])
    nn.functional.scaled_dot_product_attention(query, query, query, dropout_p=0.5)


def gradient_of_another_layout(rank, world):
    mesh = init_device_mesh("cuda", (world,))
    weight = distribute_tensor(torch.ones(4, 4, device="cuda"), mesh, [Shard(1)]).requires_grad_()
    weight.t().contiguous().view(-1).to_local().sum().backward()
    return [str(weight.grad.device), str(weight.grad.to_local().device)]


def what_a_group_says_of_itself(rank, world):
    groups = [None, dist.new_group(), dist.new_group(backend="cpu:gloo,cuda:nccl")]
    return [str(dist.get_backend(group)) for group in groups]


def a_tensor_of_the_host(rank, world):
    number = torch.ones(2)
    dist.all_reduce(number)


def a_tensor_of_the_host_where_gloo_serves_it(rank, world):
    number = torch.ones(2)
    dist.all_reduce(number, group=dist.new_group(backend="cpu:gloo,cuda:nccl"))
    return number.tolist()


def objects(rank, world):
    everyone = [None] * world
    dist.all_gather_object(everyone, f"rank {rank}")
    return everyone


def gather_with_gradients(rank, world):
    from torch.distributed.nn.functional import all_gather

    part = torch.ones(2, device="cuda", requires_grad=True)
    sum(t.sum() * (i + 1) for i, t in enumerate(all_gather(part))).backward()
    return part.grad.tolist()


def barrier_of_a_card(rank, world):
    return dist.barrier(device_ids=[rank])


def sync_batch_norm(rank, world):
    torch.manual_seed(0)
    batch, weights = torch.randn(4 * world, 3, 5), torch.arange(5.0)
    reference, whole = nn.BatchNorm1d(3), batch.clone().requires_grad_()
    (reference(whole) * weights).sum().backward()
    net = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(3)).cuda()
    net = nn.parallel.DistributedDataParallel(net, device_ids=[rank])
    mine = slice(4 * rank, 4 * rank + 4)
    part = batch[mine].cuda().requires_grad_()
    (net(part) * weights.cuda()).sum().backward()
    return [
        torch.allclose(part.grad.cpu(), whole.grad[mine], atol=1e-5),
        torch.allclose(net.module.running_var.cpu(), reference.running_var),
        torch.allclose(net.module.running_mean.cpu(), reference.running_mean),
        torch.allclose(net.module.weight.grad.cpu() * world, reference.weight.grad, atol=1e-4),
    ]


def compressed_gradients(rank, world):
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook

    net = nn.parallel.DistributedDataParallel(nn.Linear(4, 2).cuda(), device_ids=[rank])
    net.register_comm_hook(None, bf16_compress_hook)
    net(torch.ones(3, 4, device="cuda")).sum().backward()
    return net.module.weight.grad.tolist() == [[3.0] * 4] * 2


def whole_dtensor(rank, world):
    mesh = init_device_mesh("cuda", (world,))
    shard = distribute_tensor(torch.arange(8.0).view(4, 2).cuda(), mesh, [Shard(0)])
    everywhere = shard.redistribute(mesh, [Replicate()])
    same = torch.equal(everywhere.to_local().cpu(), torch.arange(8.0).view(4, 2))
    return [str(shard.device), str(shard.to_local().device), str(shard.cpu().device), same]


def tensor_parallel(rank, world):
    mesh = init_device_mesh("cuda", (world,))
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).cuda()
    x = torch.ones(3, 4, device="cuda")
    expected = net(x)
    net = parallelize_module(net, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    result = net(x)
    result.sum().backward()
    return torch.allclose(result, expected)


def fully_sharded(rank, world):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).cuda()
    losses = []
    for model in (copy.deepcopy(net), net):
        if model is net:
            for part in (net[0], net[2], net):
                fully_shard(part)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(2):
            loss = model(torch.ones(3, 4, device="cuda")).sum()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1e9)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item())
    return abs(losses[0] - losses[1]) < 1e-4


def sharded_from_meta(rank, world):
    with torch.device("meta"):
        net = nn.Linear(8, 4)
    fully_shard(net)
    net.to_empty(device="cuda")
    net.reset_parameters()
    part = net.weight.to_local()
    loss = net(torch.ones(1, 8, device="cuda")).sum()
    return [str(net.weight.device), str(part.device), tuple(part.shape), str(loss.device)]


with virtual_devices("cuda:2"):
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    for case in (flat_gather, stacked_gather, gather_of_the_wrong_size, flat_scatter, coalesced,
                 copies_between_devices, gradients_that_are_views_of_buckets,
                 mean_of_integers,
                 gather_of_several_sizes, scatter_of_several_sizes, exchange_of_several_sizes,
                 attention_over_a_cut_sequence, attention_over_cut_heads,
                 attention_with_dropout_over_cut_heads, gradient_of_another_layout,
                 what_a_group_says_of_itself, a_tensor_of_the_host,
                 a_tensor_of_the_host_where_gloo_serves_it, objects, gather_with_gradients,
                 sharded_from_meta, barrier_of_a_card, sync_batch_norm,
                 compressed_gradients, whole_dtensor, tensor_parallel, fully_sharded):
        attempt(case)
    dist.barrier()
    dist.destroy_process_group()
if rank == 1:
    print(json.dumps(found), flush=True)
os._exit(0)  # gloo's threads sometimes abort the interpreter's teardown, after all is said
"""
LINE_OF_THE_HOSTS = 1 + PROGRAM.partition("number = torch.ones(2)")[0].count("\n")
EXPECTED = {
    "flat_gather": [0.0, 1.0],
    "stacked_gather": [[0.0, 0.0], [1.0, 1.0]],
    "gather_of_the_wrong_size": "ValueError: output tensor size must be equal to world_size times "
    "input tensor size",
    "flat_scatter": [[12.0, 14.0, 16.0], [18.0, 20.0, 22.0]],
    "copies_between_devices": [0, 0, [4.0, 8.0]],
    "gradients_that_are_views_of_buckets": [0, 0, ["cuda:1"]],
    "mean_of_integers": [3, -3, "cuda:1", "torch.int64"],
    "coalesced": [[2.0, 2.0], [2.0, 2.0]],
    "gather_of_several_sizes": [[1.0], [2.0, 2.0], "cuda:1"],
    "scatter_of_several_sizes": [5.0, 5.0],
    "exchange_of_several_sizes": [[0.0, 0.0], [1.0, 1.0], "cuda:1"],
    "attention_over_a_cut_sequence": [True] * 4 + ["cuda:1", "cuda:1"],
    "attention_over_cut_heads": [True, "cuda:1", "cuda:1"],
    "gradient_of_another_layout": ["cuda:1", "cuda:1"],
    "what_a_group_says_of_itself": ["nccl", "nccl", "cpu:gloo,cuda:nccl"],
    "a_tensor_of_the_host": "RuntimeError: No backend type associated with device type cpu\n"
    f"  `number`: made on cpu at program.py:{LINE_OF_THE_HOSTS} (devlint explain DEV101)",
    "a_tensor_of_the_host_where_gloo_serves_it": [2.0, 2.0],
    "objects": ["rank 0", "rank 1"],
    "gather_with_gradients": [4.0, 4.0],
    "sharded_from_meta": ["cuda:1", "cuda:1", [2, 8], "cuda:1"],
    "barrier_of_a_card": None,
    "sync_batch_norm": [True] * 4,
    "compressed_gradients": True,
    "whole_dtensor": ["cuda:1", "cuda:1", "cpu", True],
    "tensor_parallel": True,
    "fully_sharded": True,
}


@pytest.fixture(scope="module")
def second_rank(tmp_path_factory):
    """What every case gave in rank 1."""
    return torch_ranks.last_rank_says(tmp_path_factory.mktemp("ranks"), PROGRAM)


def test_an_operation_that_does_not_say_what_it_is_goes_to_gloo():
    """In some releases of PyTorch (2.9 is one) no operation does."""
    number = torch.tensor([3])
    args = ([number], object(), object())
    assert _reduce_everywhere(lambda *given: given, args, {}) == args


def test_a_barrier_needs_no_more_options_than_pytorch_has(monkeypatch):
    """In torch 2.6 its options do not say whether somebody waits."""

    class Options:
        __slots__ = ("device", "device_ids", "timeout")

    class Work:
        def wait(self):
            passed.append("waited for")

    class Group:
        def barrier(self, opts):
            passed.append(str(opts.device))
            return Work()

    passed = []
    monkeypatch.setattr(torch.distributed, "BarrierOptions", Options)
    monkeypatch.setattr(process_groups.communicators, "meet_at_barrier", lambda group, cards: None)
    api = torch.distributed.distributed_c10d
    monkeypatch.setattr(api, "_rank_not_in_group", lambda group: False)
    _barrier_of_the_host(api)(Group())
    assert passed == ["cpu", "waited for"]


def test_a_dtensor_may_be_drawn_with_a_generator():
    """In some releases of PyTorch (2.9 is one) each is, None if the program names none."""
    with _RandomNumbersOfTheHost._distribute_region(object(), generator=None):
        pass


def test_attention_of_a_dtensor_says_what_is_missing(second_rank):
    wanted = "UnsupportedVirtually: scaled_dot_product_attention of a DTensor with dropout"
    assert second_rank["attention_with_dropout_over_cut_heads"].startswith(wanted)


@pytest.mark.parametrize("case", EXPECTED)
def test_as_on_two_cards(second_rank, case):
    assert second_rank[case] == EXPECTED[case]
