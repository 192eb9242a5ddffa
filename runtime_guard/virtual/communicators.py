"""NCCL's communicators: each rank of one on a card of its own, and no card shared.

NCCL makes a communicator where a group first meets tensors of a card: its ranks tell each other
their host and their card, and refuse one that two of them use (``initTransportsRank`` in NCCL's
``init.cc``).  Here they tell it by way of the group's store.
"""

from __future__ import annotations

import os
import socket
import time
import weakref
from collections.abc import Sequence
from typing import Any

import torch
import torch.cuda.nccl
import torch.distributed as dist

from runtime_guard.core.placement import intern_device
from runtime_guard.recording import observers
from runtime_guard.recording.events import Kind, hint_at
from runtime_guard.recording.explanation import explain_operands, with_explanation
from runtime_guard.virtual.moves import device_of

__tracebackhide__ = True  # pytest shows the user's frames only

PAIRWISE = frozenset({"send", "recv_", "recv_any_source_"})
"""Operators of c10d that not every rank of the group takes part in."""
_CURE = "each rank needs a card of its own: `torch.cuda.set_device(local_rank)` before the first"
_WAITS = "NCCL makes a communicator for a new card, and waits for ever"
_NOT_THE_BOUND = (
    "Attempt to perform collective on tensor not on device passed to init_process_group"
)


class Communicators:
    """Of one process: the cards that it has used in each group, in order."""

    def __init__(self) -> None:
        self._stores: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self._cards: weakref.WeakKeyDictionary[Any, list[int]] = weakref.WeakKeyDictionary()
        self._turns: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._bound: weakref.WeakKeyDictionary[Any, torch.device] = weakref.WeakKeyDictionary()

    def join(self, group: Any, store: Any, bound: torch.device | None) -> None:
        """A group of NCCL's was made, for the card ``bound`` where it was made for one."""
        self._stores[group] = store
        self._cards[group] = []
        whole = dist.group.WORLD
        bound = bound or (None if whole is None else self._bound.get(whole))
        if bound is not None:
            self._bound[group] = bound
            self._enter(group, bound, (), waits=True)

    def meet(self, group: Any, name: str, tensors: Sequence[torch.Tensor]) -> None:
        """The group's operator ``name`` takes ``tensors``: raises what NCCL raises of their card.

        All ranks are waited for where all take part, as NCCL waits.
        """
        device = next((d for d in map(device_of, tensors) if d.type == "cuda"), None)
        if device is None or group not in self._stores:
            return
        bound = self._bound.get(group)
        if bound is not None and bound != device:
            self._refuse(_NOT_THE_BOUND, f"the group is bound to {bound}", device, tensors)
        self._enter(group, device, tensors, waits=name not in PAIRWISE)

    def meet_at_barrier(self, group: Any, device_ids: Any) -> None:
        """A barrier, on the card that PyTorch chooses for it (``ProcessGroupNCCL::barrier``)."""
        if group not in self._stores:
            return
        used, bound = self._cards[group], self._bound.get(group)
        if device_ids:
            index = int(device_ids[0])
        elif bound is not None:
            index = int(bound.index)
        else:
            index = used[0] if used else dist.get_rank() % torch.cuda.device_count()
        self._enter(group, torch.device("cuda", index), (), waits=True)

    def _enter(
        self, group: Any, device: torch.device, tensors: Sequence[torch.Tensor], *, waits: bool
    ) -> None:
        """Tell the others of the card, if it is new to the group, and hear of theirs.

        ``waits``: all ranks take part, and NCCL waits for all of them at a new card.
        """
        if group.size() == 1:
            return
        cards, store, rank = self._cards[group], self._stores[group], group.rank()
        turn, is_new = len(cards), device.index not in cards
        mine = _card(device.index)
        if is_new:
            cards.append(device.index)
            store.set(_key(turn, rank), mine)
        if waits:
            self._turns[group] = self._turns.get(group, 0) + 1
            store.set(_progress(rank), str(self._turns[group]))
        if not is_new:
            return
        for other in range(group.size()):
            key = _key(turn, other)
            if other == rank:
                continue
            if waits:
                self._wait_for(group, other)
            if not store.check([key]):
                if waits:
                    self._refuse(
                        f"{_WAITS} for rank {other}, which goes on with the card that it had",
                        f"rank {rank} takes part with {device} for the first time; {_CURE}",
                        device,
                        tensors,
                    )
            elif store.get(key).decode() == mine:
                self._refuse(
                    _duplicate(rank, other, device.index),
                    f"ranks {rank} and {other} are both on {device}; {_CURE}",
                    device,
                    tensors,
                )

    def _wait_for(self, group: Any, other: int) -> None:
        """Until another rank is as far as this one, in collectives of the group."""
        store, key = self._stores[group], _progress(other)
        end = time.monotonic() + store.timeout.total_seconds()
        while int(store.get(key)) < self._turns[group] and time.monotonic() < end:
            time.sleep(0.001)

    def _refuse(
        self, sentence: str, why: str, device: torch.device, tensors: Sequence[torch.Tensor]
    ) -> None:
        explanation = "; ".join(
            part for part in (explain_operands(tensors[:1], ["tensor"]), why) if part
        )
        observers.problem(
            Kind.SHARED_CARD,
            "NCCL",
            f"{sentence.rpartition(chr(10))[2]} {explanation} {hint_at('DEV505')}",
            target=str(intern_device(device)),
            operands=tensors[:1],
        )
        if observers.mixed_policy() == "raise":
            error = getattr(dist, "DistBackendError", RuntimeError)
            raise error(with_explanation(sentence, explanation, "DEV505"))


communicators = Communicators()


def _key(turn: int, rank: int) -> str:
    return f"devlint/card/{turn}/{rank}"


def _progress(rank: int) -> str:
    return f"devlint/collectives/{rank}"


def _card(index: int) -> str:
    """The host and the card, by what the program sees of its cards."""
    seen = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    card = seen[index].strip() if index < len(seen) else ""
    return f"{os.environ.get('NCCL_HOSTID') or socket.gethostname()} {card or index}"


def _duplicate(rank: int, other: int, index: int) -> str:
    nccl: Any = torch.cuda.nccl
    version = ".".join(map(str, nccl.version()))
    card = _card(index).rpartition(" ")[2]
    bus = (int(card) if card.isdigit() else index) + 1 << 12
    return (
        "NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp, invalid usage "
        f"(run with NCCL_DEBUG=WARN for details), NCCL version {version}\n"
        "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\n"
        "Last error:\n"
        f"Duplicate GPU detected : rank {rank} and rank {other} both on CUDA device {bus:x}"
    )
