"""Arrays of NumPy that are made of a tensor's memory."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.host import Const, Host
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value
from devlint.inference.program.events import ArrayTaken, HostReads
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.syntax.text import receiver_of


def as_array(
    frame: Frame, node: cst.Call, tensor: Tensor, name: str, arguments: Arguments
) -> Value:
    """`.numpy()` reads the memory itself; `.numpy(force=True)` detaches and copies to the host."""
    forced = arguments.get(0, "force") if name == "numpy" else None
    if forced is None or (type(forced) is Const and forced.value is False):
        frame.emit(HostReads(node, f".{name}()", tensor, receiver_of(node)))
        frame.emit(ArrayTaken(node, f".{name}()", tensor, receiver_of(node)))
    return Host(array=True)
