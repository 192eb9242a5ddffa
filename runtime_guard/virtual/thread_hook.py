"""The dispatch hook of one thread, as the operations below it see it: its machine and its state."""

from __future__ import annotations

from runtime_guard.core.placement import Placement
from runtime_guard.core.torch_internals import DispatchHook
from runtime_guard.virtual.function_mode import FunctionMode
from runtime_guard.virtual.machine import Machine


class ThreadHook(DispatchHook):
    """What a thread's hook knows; `DispatchMode` adds what it does with an operation."""

    def __init__(self, machine: Machine, function_mode: FunctionMode) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.machine = machine
        self.function_mode = function_mode
        self.latest: Placement | None = None
        """Where the last operation ran: what backward's factories allocate beside."""
