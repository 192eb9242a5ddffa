"""C++'s guards of device types, lent to tensors that have a device and no memory there.

Of each tensor C++ asks the guard of its type of device which card is current and which stream is,
of a fake tensor as well: at an index, at each node of autograd.  A build for the host has no guard
of CUDA's, and a build for CUDA one that finds no driver; where autograd gets no answer the process
ends.  The guard of ``meta`` answers everything and does nothing.  PyTorch puts one of that kind in
the place of CUDA's itself (``c10::impl::ensureCUDADeviceGuardSet``), where it was built for CUDA.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

_LIBRARY = "libc10.dylib" if sys.platform == "darwin" else "libc10.so"
_TABLE = "_ZN3c104impl26device_guard_impl_registryE"
"""``c10::impl::device_guard_impl_registry``: the address of a guard for each type of device."""
_TYPES = {"cpu": 0, "cuda": 1, "xpu": 12, "mps": 13, "meta": 14}
"""``c10::DeviceType``"""

_lent: dict[str, int | None] = {}
"""Types of devices that have the guard of ``meta``, and the address of their own, if any."""
_lock = threading.Lock()


@functools.cache
def guards() -> Any | None:
    """C++'s table of guards; None where it is out of reach (Windows gives it another name)."""
    library = Path(torch.__file__).parent / "lib" / _LIBRARY
    try:
        table = (ctypes.c_void_p * (_TYPES["meta"] + 1)).in_dll(ctypes.CDLL(str(library)), _TABLE)
    except (OSError, ValueError):
        return None
    return table if table[_TYPES["cpu"]] and table[_TYPES["meta"]] else None


def lend(kinds: Iterable[str]) -> None:
    """Give these types of devices, of which this computer has none, the guard of ``meta``."""
    table = guards()
    if table is None or _lent.keys() >= set(kinds):
        return
    with _lock:
        for kind in kinds:
            if kind not in _lent:
                _lent[kind] = table[_TYPES[kind]]
                table[_TYPES[kind]] = table[_TYPES["meta"]]


def take_back() -> None:
    """Let every type of device have its own guard again, or none."""
    table = guards() if _lent else None
    with _lock:
        while table is not None and _lent:
            kind, own = _lent.popitem()
            table[_TYPES[kind]] = own
