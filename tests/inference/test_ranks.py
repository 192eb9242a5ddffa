"""Which cards are named in code that every rank runs."""

import pytest
from given import given


def per_rank(code):
    return [fact.per_rank for fact in given(code).mentions if fact.kind == "device"]


@pytest.mark.parametrize(
    ("rank", "is_global"),
    [
        ("dist.get_rank()", True),
        ("dist.get_rank() if dist.is_initialized() else 0", True),
        ("dist.get_rank() if dist.is_initialized() else int(os.environ['LOCAL_RANK'])", True),
        ("dist.get_rank() % torch.cuda.device_count()", False),
        ("int(os.environ['LOCAL_RANK'])", False),
        ("args.rank if args.rank >= 0 else dist.get_rank()", False),  # it may be of this node
    ],
)
def test_a_rank_is_global_if_it_is_so_on_one_way(rank, is_global):
    code = f"""
        import os
        import torch.distributed as dist
        def start(args):
            rank = {rank}
            torch.cuda.set_device(rank)
    """
    assert any(fact.global_rank for fact in given(code).mentions) is is_global


@pytest.mark.parametrize(
    ("asked", "is_global"),
    [
        ("from mmengine.dist import get_rank\nrank = get_rank()", True),
        ("from mmcv.runner import get_dist_info\nrank, _ = get_dist_info()", True),
        ("from mmcv.runner import get_dist_info\n_, rank = get_dist_info()", False),
        ("import deepspeed.comm as comm\nrank = comm.get_rank()", True),
        ("import ignite.distributed as idist\nrank = idist.get_rank()", True),
        ("import ignite.distributed as idist\nrank = idist.get_local_rank()", False),
        (
            "from mmengine.dist import get_rank\nrank = get_rank() % torch.cuda.device_count()",
            False,
        ),
    ],
)
def test_a_wrapper_gives_the_global_rank_as_torch_does(asked, is_global):
    imported, _, asked = asked.partition("\n")
    code = f"{imported}\ndef start():\n    {asked}\n    torch.cuda.set_device(rank)\n"
    assert any(fact.global_rank for fact in given(code).mentions) is is_global


@pytest.mark.parametrize(
    ("group", "load", "guarded"),
    [
        # each process loads: onto the one card that it was saved from
        ('dist.init_process_group("nccl")', 'torch.load("net.pt")', False),
        ('dist.init_process_group("nccl")', 'torch.load("net.pt") if rank == 0 else {}', True),
        ("pass", 'torch.load("net.pt")', True),  # one process, on a card in any case
    ],
)
def test_a_load_of_every_rank_is_no_matter_of_the_cards_being_there(group, load, guarded):
    code = f"""
        import torch.distributed as dist
        def train(net, rank):
            assert torch.cuda.is_available()
            {group}
            net.cuda()
            net.load_state_dict({load})
    """
    assert [fact.guarded for fact in given(code).mentions if fact.kind == "load"] == [guarded]


@pytest.mark.parametrize(
    ("test", "is_global"),
    [
        ("dist.is_initialized()", True),
        ("torch.cuda.device_count() > 1", True),
        ("torch.cuda.device_count() > dist.get_rank()", False),
        ("dist.is_initialized() and dist.get_rank() < torch.cuda.device_count()", False),
    ],
)
def test_a_rank_that_was_compared_with_the_number_of_cards_is_one_of_them(test, is_global):
    code = f"""
        import torch.distributed as dist
        def card():
            rank = 0
            if {test}:
                rank = dist.get_rank()
            return torch.device(f"cuda:{{rank}}")
    """
    assert any(fact.global_rank for fact in given(code).mentions) is is_global
