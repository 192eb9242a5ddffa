"""A bug that shows before the line at which it is told: the tensor that a finding traces meets a
device's tensor already on the way there.

    rate = torch.linspace(1, 2, n)            # made here, says the trace of the finding
    parts.append(rate * positions)            # where it raises
    return torch.cat(parts)                   # where the finding is

A run that dies at the second line has shown the bug of the third: its cause, and its cure, are the
first.
"""

from __future__ import annotations

from collections.abc import Iterable

from runtime_guard.commands.attribution import causes_of, made_at
from runtime_guard.commands.expectations import EXPECTATIONS, Finding
from runtime_guard.recording.events import Event, Kind

_MEETINGS = frozenset({"DEV101", "DEV102", "DEV103", "DEV104"})


def met_sooner(finding: Finding, events: Iterable[Event], root: str) -> Event | None:
    """The mixed-device operation that what ``finding`` traces got into, wherever that was."""
    if finding["rule"] not in _MEETINGS or finding["rule"] not in EXPECTATIONS:
        return None
    causes = causes_of(finding, root)
    for event in events:
        if event.kind is Kind.MIXED and any(made_at(event, cause) for cause in causes):
            return event
    return None
