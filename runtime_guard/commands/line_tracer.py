"""Which lines of some files were executed, by whatever thread, while a block ran."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Any


class LineTracer:
    """Notes the executed lines of ``files``.

    ``files`` are absolute paths; all other code runs untraced (on Python 3.12 and newer through
    ``sys.monitoring``, before that its calls cost one look-up).
    """

    def __init__(self, files: Iterable[str]) -> None:
        self.files = {os.path.realpath(file) for file in files}
        self.executed: dict[str, set[int]] = {file: set() for file in self.files}
        self._real: dict[str, str | None] = {}
        self._before: Any = None
        self._tool: int | None = None

    def _file_of(self, code: CodeType) -> str | None:
        name = code.co_filename
        known = self._real.get(name, "")
        if known == "":
            path = os.path.realpath(name)
            known = self._real[name] = path if path in self.files else None
        return known

    def __enter__(self) -> LineTracer:
        if sys.version_info >= (3, 12):
            self._start_monitoring()
        else:
            self._before = sys.gettrace()
            threading.settrace(self._on_call)
            sys.settrace(self._on_call)
        return self

    def __exit__(self, *_: object) -> None:
        if sys.version_info >= (3, 12):
            self._stop_monitoring()
        else:
            sys.settrace(self._before)
            threading.settrace(self._before)

    def _on_call(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        file = self._file_of(frame.f_code)
        if file is None:
            return None
        lines = self.executed[file]

        def on_line(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
            if event == "line":
                lines.add(frame.f_lineno)
            return on_line

        return on_line

    def _start_monitoring(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
        self._tool = next(tool for tool in (4, 3, 5) if monitoring.get_tool(tool) is None)
        monitoring.use_tool_id(self._tool, "devlint")

        def on_line(code: CodeType, line: int) -> Any:
            file = self._file_of(code)
            if file is not None:
                self.executed[file].add(line)
            return monitoring.DISABLE

        monitoring.register_callback(self._tool, monitoring.events.LINE, on_line)
        monitoring.set_events(self._tool, monitoring.events.LINE)
        monitoring.restart_events()

    def _stop_monitoring(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
        monitoring.set_events(self._tool, 0)
        monitoring.register_callback(self._tool, monitoring.events.LINE, None)
        monitoring.free_tool_id(self._tool)
