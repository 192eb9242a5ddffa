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
