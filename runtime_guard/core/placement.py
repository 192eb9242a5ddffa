"""Where a tensor lives, and since when: placements are tags on *storages*.

Views, ``detach()``, ``.data`` and ``Parameter`` share their storage and so share the tag, and the
tag dies with the storage.  PyTorch keeps one Python object per storage alive as long as the storage
(``torch/csrc/Storage.cpp``), so that an attribute of that object is a safe place for it.
"""

from __future__ import annotations

import contextlib
import copy
from dataclasses import dataclass
from typing import Any

import torch

from runtime_guard.core.memory import GRANULARITY, Block, Meter, count, meter_of, new_block
from runtime_guard.core.sites import Site, Stack, site_of_told
from runtime_guard.core.torch_internals import (
    capture_frames,
    disable_torch_function,
    frames_of_captured,
    is_functional,
    without_batch,
    wraps_others,
)

TAG = "_devlint_placement"
_FRAMES = "_devlint_frames"
CPU = torch.device("cpu")

_interned: dict[torch.device, torch.device] = {CPU: CPU}


def intern_device(device: torch.device) -> torch.device:
    """The one object that stands for ``device``: placements are compared by identity."""
    return _interned.setdefault(device, device)


class Move:
    """One transfer's result, watched until it is used, read or dead."""

    __slots__ = ("landed", "leaf", "says", "stack", "turn", "used")

    def __init__(self, stack: tuple[Site, ...], landed: bool) -> None:
        self.stack = stack
        self.used = False
        self.landed = landed
        self.turn: Any = None
        """Behind what it is, on its stream, where races are looked for."""
        self.leaf: Any = None
        """The node of the graph that gives the leaf its gradient, where a leaf was moved."""
        self.says: tuple[str, str] | None = None
        """The operation, and what is said of it where the leaf's gradient is lost."""


@dataclass(frozen=True)
class PassedBy:
    """A tensor that a module keeps where ``Module.to`` does not look."""

    path: str
    """The attribute, from the module that was moved: ``encoder.mask``, ``layers[0]``."""
    kept: str
    """How it is kept: ``is a plain attribute``, ``is in a plain list``."""
    owner: str
    """The class that has the attribute."""
    call: str
    """The move that passed it by: ``Net.to``."""
    source: torch.device
    target: torch.device
    stack: Stack
    """Where the module was moved."""
    assigned: Site | None
    cure: str
    rule: str
    """The rule of ``devlint check`` that finds it."""

    @property
    def sentence(self) -> str:
        """What happened, in words."""
        return (
            f"`{self.path}` of {self.owner} {self.kept} and stays on {self.source} "
            f"while the module moves to {self.target}: {self.cure}"
        )


@dataclass(frozen=True)
class ThrownAway:
    """A copy of a tensor elsewhere that nobody kept, which its author took for a move."""

    call: str
    """What made it: ``.to``."""
    target: torch.device
    site: Site
    at: Site
    """The line that threw it away: its own, or that of a call inside of which it was made."""
    rule = "DEV201"

    @property
    def sentence(self) -> str:
        """What happened, in words."""
        return (
            f"`{self.call}` at {self.site} gave a copy on {self.target} that was thrown away"
            f"{'' if str(self.at) == str(self.site) else f' at {self.at}'}: keep what it returns"
        )


class Placement:
    """A device and where it comes from: the line that made the tensor, the line that last moved it.

    Shared by all that is computed from such a tensor, hence never changed after construction, but
    for what a module's move finds out about it.  Which line computed a tensor is kept beside it
    (``computed_at``).
    """

    __slots__ = (
        "computed",
        "device",
        "made",
        "meter",
        "move",
        "moved",
        "passed_by",
        "result",
        "thrown_away",
    )

    def __init__(
        self,
        device: torch.device,
        made: Site | None = None,
        moved: Site | None = None,
        move: Move | None = None,
    ) -> None:
        self.device = device
        self.made = made
        self.moved = moved
        self.move = move
        self.computed = False
        """Is it of what an operation gave, which is neither made nor moved itself?"""
        self.meter: Meter | None = meter_of(device)
        self.passed_by: PassedBy | None = None
        self.thrown_away: ThrownAway | None = None
        self.result: Placement | None = None
        """``of_result``, once it was asked for."""

    def of_result(self) -> Placement:
        """Where the results of an operation are that ran here."""
        result = self.result
        if result is None:
            result = Placement(self.device, self.made, self.moved)
            result.computed, result.meter = True, self.meter
            result.passed_by, result.thrown_away = self.passed_by, self.thrown_away
            self.result = result.result = result
        return result

    def of_attribute(self, passed_by: PassedBy) -> Placement:
        """The same, of a tensor that a module's move has passed by."""
        found = copy.copy(self)
        found.passed_by, found.result = passed_by, None
        return found

    def of_source(self, thrown_away: ThrownAway) -> Placement:
        """The same, of a tensor whose copy was thrown away."""
        found = copy.copy(self)
        found.thrown_away, found.result = thrown_away, None
        return found

    def describe(self, computed: Site | None) -> str:
        """``made on cpu at model.py:41`` or ``moved to cuda:0 at train.py:88``."""
        if computed is not None:
            origin = self.moved or self.made
            how = "moved" if self.moved is not None else "made"
            whence = f", from what was {how} there at {origin}" if origin is not None else ""
            return f"computed on {self.device} at {computed}{whence}"
        if self.moved is not None:
            return f"moved to {self.device} at {self.moved}"
        if self.made is not None:
            return f"made on {self.device} at {self.made}"
        return f"on {self.device}"


_WITH_MEMORY = (torch.Tensor, torch.nn.Parameter)
UNTAGGED = Placement(CPU)
"""What an untagged storage of the host stands for."""


def storage_of(tensor: torch.Tensor) -> Any | None:
    """The storage that carries ``tensor``'s tag, or None when it has none (functorch levels)."""
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return _storage_behind(tensor)


def _storage_behind(tensor: torch.Tensor) -> Any | None:
    inner = plain_part(tensor)
    if inner is None:
        return None
    return storage_of(inner)


def plain_part(tensor: torch.Tensor) -> torch.Tensor | None:
    """A strided tensor that holds the data of a sparse, nested or functorch-wrapped ``tensor``."""
    with disable_torch_function(), contextlib.suppress(Exception):
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            return torch._C._functorch.get_unwrapped(tensor)
        if torch._C._functorch.is_legacy_batchedtensor(tensor):  # of `check_batched_grad=True`
            return without_batch(tensor)
        layout = tensor.layout
        if layout is torch.sparse_coo:
            return tensor._values()
        if layout in (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc):
            return tensor.values()
        if tensor.is_nested:
            return tensor.values() if layout is torch.jagged else None
    return None


def placement_of(tensor: torch.Tensor) -> Placement | None:
    """The tag of ``tensor``'s storage; None when nothing tagged it."""
    try:
        storage: Any = tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        storage = _storage_behind(tensor)
    found: Placement | None = getattr(storage, TAG, None)
    part = _inner(tensor) if found is None else None
    return found if part is None else placement_of(part)


def _inner(tensor: torch.Tensor) -> torch.Tensor | None:
    """What a tensor without memory of its own stands for: a ``DTensor``, or one of
    ``torch.func.functionalize``."""
    if is_functional(tensor):
        return torch._from_functional_tensor(tensor)
    return local_part(tensor)


def local_part(tensor: torch.Tensor) -> torch.Tensor | None:
    """What a ``DTensor``, which has no memory itself, holds on this rank; None for all others."""
    if type(tensor) in _WITH_MEMORY:
        return None
    part: torch.Tensor | None = getattr(tensor, "_local_tensor", None)
    return part


def computed_at(tensor: torch.Tensor) -> Site | None:
    """The line that computed ``tensor``; None when it was made or moved to where it is."""
    placement, storage = placement_of(tensor), storage_of(tensor)
    if placement is None or not placement.computed:
        return None
    captured = getattr(storage, _FRAMES, None)
    if captured is None:
        part = _inner(tensor)
        return None if part is None else computed_at(part)
    (frames,) = frames_of_captured([captured])
    return site_of_told(frames)


def tag_storage(storage: Any, placement: Placement) -> None:
    """Say where ``storage`` is, and count its memory there."""
    setattr(storage, TAG, placement)
    if placement.computed and not hasattr(storage, _FRAMES):
        setattr(storage, _FRAMES, capture_frames(True, False, False))
    count(storage, placement.meter, placement.moved or placement.made)


def tag_new(storage: Any, placement: Placement) -> None:
    """``tag_storage`` of the result of an operation, which has no tag.

    To walk the stack in Python costs more than all the rest; of hardly one result in a thousand
    the line is ever asked for.  Every operation comes by here, so what ``count`` does is in line.
    """
    storage._devlint_placement = placement
    storage._devlint_frames = capture_frames(True, False, False)
    meter = placement.meter
    if meter is None:
        return
    size = storage.nbytes()
    if type(size) is int and size:
        size = -(-size // GRANULARITY) * GRANULARITY
        used = meter.allocated + size
        if used > meter.peak or meter.limit is not None:
            meter.add(size)
        else:
            meter.allocated = used
        storage._devlint_block = block = new_block(Block)
        block.meter = meter
        block.size = size


def tag(tensor: torch.Tensor, placement: Placement) -> None:
    """Tag the storage(s) of ``tensor``; does nothing for a tensor that has none."""
    part = _inner(tensor)
    if part is not None:
        return tag(part, placement)
    storage = storage_of(tensor)
    if storage is not None:
        tag_storage(storage, placement)
    # a class that wraps others may answer for its layout, and not yet be able to
    if not wraps_others(tensor) and tensor.layout is not torch.strided:
        for part in sparse_parts(tensor):
            tag_storage(part.untyped_storage(), placement)


def sparse_parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The strided index and value tensors of a sparse tensor, empty for other layouts."""
    if tensor.layout is torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return []
