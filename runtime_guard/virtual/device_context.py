"""Which device a call of ``torch.cuda`` means, and ``with torch.cuda.device(1):``."""

from __future__ import annotations

from typing import Any

import torch

from runtime_guard.virtual.machine import Machine


class DeviceContext:
    """``torch.cuda.device(i)``: makes a device current for a block; -1 does nothing."""

    machine: Machine
    kind: str

    def __init__(self, device: Any) -> None:
        self.idx = index_of(self.machine, self.kind, device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = self.machine.set_current_index(self.kind, self.idx)

    def __exit__(self, *_: object) -> None:
        self.machine.set_current_index(self.kind, self.prev_idx)


def index_of(machine: Machine, kind: str, device: Any, *, needed: bool = False) -> int:
    """The index that ``device`` (index, text, device or None) means for functions of ``kind``.

    What has no index means the current device.  Raises ``ValueError`` where an index is
    ``needed``, and for other types of devices, as ``torch.cuda._utils._get_device_index`` does.
    """
    if isinstance(device, int):
        return int(device)
    if isinstance(device, DeviceContext):
        return device.idx
    parsed = torch.device(device) if isinstance(device, str) else device
    if isinstance(parsed, torch.device):
        if parsed.type != kind:
            raise ValueError(f"Expected a {kind} device, but got: {parsed}")
        if parsed.index is not None:
            return parsed.index
    if needed:
        raise ValueError(
            "Expected a torch.device with a specified index or an integer, but got:" + str(device)
        )
    return machine.current_index(kind)
