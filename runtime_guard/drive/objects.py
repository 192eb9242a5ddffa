"""What a call is given or finds around it that takes more than an expression: a model that takes
anything, a module with attributes of its own, a process group."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import HashStore


def module_with(module: torch.nn.Module, /, **attributes: Any) -> torch.nn.Module:
    """``module``, which has these attributes besides, as a model of the project has.

    Tensors go with it where it goes: that nothing stays behind is not for a witness to spoil."""
    for name, value in attributes.items():
        if isinstance(value, torch.Tensor) and not hasattr(module, name):
            module.register_buffer(name, value)
        else:
            setattr(module, name, value)
    return module


class Gain(torch.nn.Module):
    """A model that takes anything, and gives the first tensor of it times its one parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(()))

    def forward(self, *given: Any, **named: Any) -> Any:
        """``given[0]``, where that is a tensor."""
        every = (*given, *named.values())
        first = next((value for value in every if isinstance(value, torch.Tensor)), self.gain)
        return first * self.gain


def process_group() -> None:
    """The default group of a program of one process: NCCL's where there is CUDA."""
    dist.init_process_group(
        "nccl" if torch.cuda.is_available() else "gloo",
        store=HashStore(),
        rank=0,
        world_size=1,
    )


def leave_group() -> None:
    """Destroy the default group, where there is one."""
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()
