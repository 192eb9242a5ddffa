"""Which card is a process's own: the processes of a launched job share those of their machine.

Launchers say it in the environment; a process that nobody launched beside others owns all of them.
"""

from __future__ import annotations

import os

import torch

from runtime_guard.core.sites import Stack
from runtime_guard.recording import observers
from runtime_guard.recording.events import Kind
from runtime_guard.recording.evidence import Process

_LOCAL_RANK = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK")
_RANK = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")


def this_process() -> Process | None:
    """The ranks that a launcher gave to this process; None where none did."""
    local_rank = _number(_LOCAL_RANK)
    if local_rank is None:
        return None
    rank = _number(_RANK)
    return Process(local_rank if rank is None else rank, local_rank)


def _number(names: tuple[str, ...]) -> int | None:
    given = (os.environ.get(name, "") for name in names)
    return next((int(text) for text in given if text.isdigit()), None)


def own_card(count: int) -> int | None:
    """The index of this process's own card among ``count``; None where it owns all it can see.

    A launcher that hides the others' cards leaves one, whose index is 0.
    """
    process = this_process()
    if process is None or process.local_rank >= count or count == 1:
        return None
    return process.local_rank


def note_use(device: torch.device, own: int | None, named: Stack = ()) -> None:
    """Note the use of a card that is another process's own.  ``named``: where it was named."""
    if own is not None and device.index is not None and device.index != own:
        observers.problem(
            Kind.FOREIGN_CARD,
            "device",
            f"{device} was used by the process of local rank {own}",
            target=str(device),
            declared=named,
        )
