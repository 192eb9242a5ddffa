"""Which lines of some files were executed, by whatever thread, while a block ran."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

Lines = Mapping[str, "set[int]"]
"""By absolute file."""
MOST_LOOKS = 200
"""How often a line is looked at for what is at hand; one in a loop may run for ever."""


@dataclass(frozen=True)
class TracedLines:
    """What became of lines."""

    executed: Lines
    interrupted: Lines
    """Those that an exception left."""
    with_it: Lines
    """Those before which what was asked for was at hand."""


_real_path = functools.cache(os.path.realpath)
"""Asked for each file of torch that a program runs code of, in each run of a process."""


class LineTracer:
    """Notes the executed lines of ``files``.

    ``files`` are absolute paths; all other code runs untraced (on Python 3.12 and newer through
    ``sys.monitoring``, before that its calls cost one look-up).  ``at_hand`` is asked of a frame at
    lines of ``wanted`` before they run, until it says yes.
    """

    def __init__(
        self,
        files: Iterable[str],
        wanted: Lines | None = None,
        at_hand: Callable[[FrameType], bool] = lambda frame: True,
    ) -> None:
        self.files = {os.path.realpath(file) for file in files}
        self.executed: dict[str, set[int]] = {file: set() for file in self.files}
        self.interrupted: dict[str, set[int]] = {file: set() for file in self.files}
        self.with_it: dict[str, set[int]] = {file: set() for file in self.files}
        self._looks = {
            (file, line): MOST_LOOKS for file, lines in (wanted or {}).items() for line in lines
        }
        self._at_hand = at_hand
        self._real: dict[str, str | None] = {}
        self._before: Any = None
        self._tool: int | None = None

    @property
    def lines(self) -> TracedLines:
        """What was noted."""
        return TracedLines(self.executed, self.interrupted, self.with_it)

    def _file_of(self, code: CodeType) -> str | None:
        name = code.co_filename
        known = self._real.get(name, "")
        if known == "":
            path = _real_path(name)
            known = self._real[name] = path if path in self.files else None
        return known

    def _look(self, file: str, line: int, frame: FrameType) -> bool:
        """Look at what is at hand, where somebody wants to know it; is it to be asked again?"""
        left = self._looks.get((file, line), 0)
        if not left:
            return False
        if self._at_hand(frame):
            self.with_it[file].add(line)
            left = 1
        self._looks[file, line] = left - 1
        return left > 1

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
        lines, interrupted, looks = self.executed[file], self.interrupted[file], self._looks

        def on_line(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
            line = frame.f_lineno
            if event == "line":
                lines.add(line)
                if (file, line) in looks:
                    self._look(file, line, frame)
            elif event == "exception" and not issubclass(argument[0], _ENDS):
                interrupted.add(line)
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
                if self._look(file, line, sys._getframe(1)):
                    return None
            return monitoring.DISABLE

        def on_raise(code: CodeType, instruction: int, error: BaseException) -> None:
            file = self._file_of(code)
            if file is not None and not isinstance(error, _ENDS):
                frame = sys._getframe(1)
                self.interrupted[file].add(frame.f_lineno)

        events = monitoring.events
        monitoring.register_callback(self._tool, events.LINE, on_line)
        monitoring.register_callback(self._tool, events.RAISE, on_raise)
        monitoring.set_events(self._tool, events.LINE | events.RAISE)
        monitoring.restart_events()

    def _stop_monitoring(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
        monitoring.set_events(self._tool, 0)
        monitoring.register_callback(self._tool, monitoring.events.LINE, None)
        monitoring.register_callback(self._tool, monitoring.events.RAISE, None)
        monitoring.free_tool_id(self._tool)


_ENDS = (StopIteration, StopAsyncIteration, GeneratorExit)
"""Exceptions by which loops and generators end."""
