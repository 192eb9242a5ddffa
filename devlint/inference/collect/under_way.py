"""What collectors note of the functions that are under way, and the names of what is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import libcst as cst

from devlint.inference.domain.host import External
from devlint.inference.domain.value import Value
from devlint.inference.program.frames import Frame

S = TypeVar("S")


class UnderWay(Generic[S]):
    """Of one file, what was seen in the functions that are under way; made by a collector that is
    concerned with the file at all."""

    __slots__ = ("_new", "concerned", "seen")

    def __init__(self, new: Callable[[], S], concerned: bool = True) -> None:
        self._new = new
        self.concerned = concerned
        self.seen: dict[Frame, S] = {}

    def of(self, frame: Frame) -> S:
        """What was seen in a run of a function, to add to."""
        seen = self.seen.get(frame)
        if seen is None:
            seen = self.seen[frame] = self._new()
        return seen

    def left(self, frame: Frame) -> S | None:
        """What was seen in a run of a function that is done."""
        return self.seen.pop(frame, None)


def method_of(call: cst.Call) -> str:
    """`backward` of `loss.backward()`; "" for a plain name."""
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else ""


def library_name(callee: Value, call: cst.Call) -> str:
    """`torch.cuda.synchronize`, whatever it was imported as; "" for what is no library's. The
    callee of a method's call is its receiver."""
    return f"{callee.name}.{method_of(call)}".rstrip(".") if type(callee) is External else ""
