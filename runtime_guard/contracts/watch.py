"""The contracts of every function of the user's, checked while a guard watches."""

from __future__ import annotations

import inspect
import sys
import threading
import types
import warnings
from typing import Any

from devlint.contracts import ContractError
from runtime_guard.contracts.checks import check_arguments, check_result
from runtime_guard.contracts.declarations import Signature, signature_in
from runtime_guard.core.sites import is_users
from runtime_guard.recording.observers import DevicePolicyWarning

__tracebackhide__ = True  # pytest shows the user's frames only


class Watch:
    """Checks the contracts of every function of the user's, by the interpreter's profile hook.

    It sees calls and returns of this thread, and of threads that start while it is there.  Of a
    generator or a coroutine only a decorated one is checked.
    """

    def __init__(self) -> None:
        # By identity: code objects of different files may be equal. Each entry keeps its own.
        self._known: dict[int, tuple[types.CodeType, Signature | None]] = {}
        self._before: list[tuple[Any, Any]] = []

    def __enter__(self) -> None:
        self._before.append((sys.getprofile(), threading.getprofile()))
        threading.setprofile(self._see)
        sys.setprofile(self._see)

    def __exit__(self, *_: object) -> None:
        before, in_threads = self._before.pop()
        sys.setprofile(before)
        threading.setprofile(in_threads)

    def _see(self, frame: types.FrameType, event: str, result: object) -> None:
        if event not in ("call", "return"):
            return
        entry = self._known.get(id(frame.f_code))
        if entry is None:
            code = frame.f_code
            entry = self._known[id(code)] = (code, self._contracts(frame))
        signature = entry[1]
        if signature is None:
            return
        arguments = frame.f_locals
        if event == "call":
            check_arguments(signature, arguments)
        elif result is not None:
            check_result(signature, result, arguments)

    def _contracts(self, frame: types.FrameType) -> Signature | None:
        code = frame.f_code
        flags = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
        if code.co_flags & flags or not is_users(code.co_filename):
            return None
        try:
            return signature_in(frame)
        except ContractError as error:
            warnings.warn(f"{code.co_name}: {error}", DevicePolicyWarning, stacklevel=3)
            return None
