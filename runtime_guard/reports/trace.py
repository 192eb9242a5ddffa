"""Chrome's trace-event JSON, which Perfetto and ``chrome://tracing`` open: a lane per kind.

Format: the "Trace Event Format" document of the Chromium project; times in microseconds.
"""

from __future__ import annotations

import json
from typing import Any

from runtime_guard.recording.events import Kind
from runtime_guard.recording.ledger import Ledger

_LANES = {Kind.TRANSFER: 1, Kind.SYNC: 2}
_PROBLEM_LANE = 3
_NAMES = {1: "transfers", 2: "syncs", 3: "device bugs"}


def trace_events(ledger: Ledger, process: int = 0) -> list[dict[str, Any]]:
    """The latest happenings of ``ledger``, in order of time."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": process, "args": {"name": f"rank {process}"}}
    ]
    events += [
        {"ph": "M", "name": "thread_name", "pid": process, "tid": lane, "args": {"name": name}}
        for lane, name in _NAMES.items()
    ]
    for at, seconds, event, size in list(ledger.timeline):
        lane = _LANES.get(event.kind, _PROBLEM_LANE)
        moved = f" {event.direction}" if event.kind is Kind.TRANSFER else ""
        arguments: dict[str, Any] = {"line": str(event.site), "function": event.site.function}
        if event.kind is Kind.TRANSFER:
            arguments |= {"from": event.source, "to": event.target, "bytes": size}
            arguments |= {"blocking": event.blocking, "pinned": event.pinned}
        elif event.detail:
            arguments["detail"] = event.detail
        entry: dict[str, Any] = {
            "name": f"{event.what}{moved}",
            "cat": event.kind.value,
            "pid": process,
            "tid": lane,
            "ts": round((at - seconds) * 1e6, 3),
            "args": arguments,
        }
        entry |= {"ph": "X", "dur": round(seconds * 1e6, 3)} if seconds else {"ph": "i", "s": "t"}
        events.append(entry)
    return events


def render(ledger: Ledger, process: int = 0, died: str = "") -> str:
    """The trace as JSON text; ``died`` is the traceback of what ended the program."""
    events = trace_events(ledger, process)
    if died:
        end = max((entry.get("ts", 0.0) + entry.get("dur", 0.0) for entry in events), default=0.0)
        arguments = {"traceback": died}
        events.append(
            {
                "ph": "i",
                "s": "g",
                "name": "the program died",
                "cat": "end",
                "pid": process,
                "tid": _PROBLEM_LANE,
                "ts": end,
                "args": arguments,
            }
        )
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}) + "\n"
