"""What advice calls a device: by a name that the reader finds at the place it is for."""

from __future__ import annotations

from rule_checking import check_text


def test_a_device_that_another_function_chose():
    (found,) = check_text("""
import torch


def chosen_by(options):
    gpu_id = options.gpu_id
    return torch.device(gpu_id)


class Rows:
    def __init__(self, options):
        self.device = chosen_by(options)

    def keep(self, rows: torch.Tensor):
        self.kept = rows.to(self.device)

    def shifted(self):
        return self.kept + torch.ones(3)
""")
    made = "torch.ones(3, device=self.kept.device)"  # no `gpu_id` is in sight there
    assert found.advice == f"make it where the other one lives: `{made}`"


def test_a_device_that_the_function_itself_names():
    (found,) = check_text("""
import torch


def shifted(rows: torch.Tensor, device: torch.device):
    return rows.to(device) + torch.ones(3)
""")
    made = "torch.ones(3, device=device)"
    assert found.advice == f"make it where the other one lives: `{made}`"


def test_a_host_tensor_that_a_collective_sends():
    text = """\
import torch
import torch.distributed as dist


def mean(loss: float):
    dist.init_process_group("nccl")
    total = torch.tensor([loss])
    dist.all_reduce(total)
    return total / dist.get_world_size()
"""
    (found,) = [each for each in check_text(text) if each.rule == "DEV101"]
    assert "`dist.all_reduce` sends it through a process group" in found.message
    assert "move `total` to the card of this process first" in found.advice
    assert found.fix is None
