"""Where a tensor lives, and since when: placements are tags on *storages*.

Views, ``detach()``, ``.data`` and ``Parameter`` share their storage and so share the tag, and the
tag dies with the storage.  PyTorch keeps one Python object per storage alive as long as the storage
(``torch/csrc/Storage.cpp``), so that an attribute of that object is a safe place for it.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from runtime_guard.core.memory import Meter, count, meter_of
from runtime_guard.core.sites import Site
from runtime_guard.core.torch_internals import disable_torch_function

TAG = "_devlint_placement"
CPU = torch.device("cpu")

_interned: dict[torch.device, torch.device] = {CPU: CPU}


def intern_device(device: torch.device) -> torch.device:
    """The one object that stands for ``device``: placements are compared by identity."""
    return _interned.setdefault(device, device)


class Move:
    """One transfer's result, watched until it is used, read or dead."""

    __slots__ = ("landed", "stack", "used")

    def __init__(self, stack: tuple[Site, ...], landed: bool) -> None:
        self.stack = stack
        self.used = False
        self.landed = landed


class Placement:
    """A device and where it comes from: the line that made the tensor, the line that last moved it.

    Shared by every result that owes its device to it, hence never changed after construction.
    """

    __slots__ = ("device", "made", "meter", "move", "moved")

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
        self.meter: Meter | None = meter_of(device)

    def describe(self) -> str:
        """``made on cpu at model.py:41`` or ``moved to cuda:0 at train.py:88``."""
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
    if found is None and type(tensor) not in _WITH_MEMORY:
        part = getattr(tensor, "_local_tensor", None)  # of a DTensor, which has no memory
        return None if part is None else placement_of(part)
    return found


def tag_storage(storage: Any, placement: Placement) -> None:
    """Say where ``storage`` is, and count its memory there."""
    setattr(storage, TAG, placement)
    count(storage, placement.meter)


def tag(tensor: torch.Tensor, placement: Placement) -> None:
    """Tag the storage(s) of ``tensor``; does nothing for a tensor that has none."""
    storage = storage_of(tensor)
    if storage is not None:
        tag_storage(storage, placement)
    if tensor.layout is not torch.strided:
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
