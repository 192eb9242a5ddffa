"""The pair of modes by which a thread is on a virtual machine, and how they leave the stacks."""

from __future__ import annotations

from typing import Any

from runtime_guard.core.torch_internals import (
    dispatch_mode_stack,
    enter,
    function_mode_count,
    function_mode_stack,
    pop_function_mode,
    push_function_mode,
)
from runtime_guard.virtual.dispatch_mode import DispatchMode
from runtime_guard.virtual.function_mode import FunctionMode
from runtime_guard.virtual.machine import Machine


class ThreadHooks:
    """The pair of modes of one thread."""

    def __init__(self, machine: Machine, handlers: dict[Any, Any]) -> None:
        self.function_mode = FunctionMode(machine, handlers)
        self.dispatch_mode = DispatchMode(machine, self.function_mode)
        self.function_mode.operation_hook = self.dispatch_mode
        self.outer: list[FunctionMode] = []
        """The modes of the blocks around this one, which it covers."""

    def push(self) -> None:
        self.outer = [m for m in function_mode_stack() if isinstance(m, FunctionMode)]
        for mode in self.outer:
            mode.covered += 1
        enter(self.function_mode)
        enter(self.dispatch_mode)

    def pop(self) -> None:
        remove_dispatch_mode(self.dispatch_mode)
        remove_function_mode(self.function_mode)
        for mode in self.outer:
            mode.covered -= 1
        self.outer = []


def is_hooked() -> bool:
    """Is the calling thread on a virtual machine?"""
    modes = (*function_mode_stack(), *dispatch_mode_stack())
    return any(isinstance(mode, (FunctionMode, DispatchMode)) for mode in modes)


def remove_function_mode(mode: Any) -> None:
    """Take ``mode`` off the stack even when another one was pushed and not yet popped."""
    above = []
    while function_mode_count():
        top = pop_function_mode()
        if top is mode:
            break
        above.append(top)
    for other in reversed(above):
        push_function_mode(other)


def remove_dispatch_mode(mode: Any) -> None:
    """Take ``mode`` off the stack even when another one was pushed and not yet popped."""
    stack = dispatch_mode_stack()
    if not stack or stack[-1] is mode:
        mode.__exit__(None, None, None)
        return
    if mode not in stack:
        return
    above = []
    while stack and stack[-1] is not mode:
        top = stack.pop()
        top.__exit__(None, None, None)
        above.append(top)
    mode.__exit__(None, None, None)
    for other in reversed(above):
        other.__enter__()
