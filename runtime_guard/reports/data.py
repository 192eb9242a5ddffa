"""What every report is made of: events by source line, and where parameters live."""

from __future__ import annotations

import linecache
from collections.abc import Iterable
from dataclasses import dataclass, field

from runtime_guard.events import PROBLEMS, Event, Kind


@dataclass
class LineCost:
    """One source line and what happened there."""

    file: str
    line: int
    function: str
    source: str
    transfers: int = 0
    bytes: int = 0
    syncs: int = 0
    seconds: float = 0.0
    problems: list[Event] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    @property
    def cost(self) -> tuple[int, int, int, float]:
        """What lines are ordered by: bugs, then bytes, then syncs and transfers, then time."""
        return (len(self.problems), *self.traffic)

    @property
    def traffic(self) -> tuple[int, int, float]:
        """What lines are ordered by when bugs do not matter."""
        return self.bytes, self.syncs + self.transfers, self.seconds


def costs_by_line(events: Iterable[Event]) -> list[LineCost]:
    """The lines of ``events``, the most expensive first."""
    lines: dict[tuple[str, int], LineCost] = {}
    for event in events:
        site = event.site
        key = (site.file, site.line)
        cost = lines.get(key)
        if cost is None:
            source = linecache.getline(site.file, site.line).strip()
            cost = lines[key] = LineCost(site.file, site.line, site.function, source)
        cost.events.append(event)
        cost.seconds += event.seconds
        if event.kind is Kind.TRANSFER:
            cost.transfers += event.count
            cost.bytes += event.bytes
        elif event.kind is Kind.SYNC:
            cost.syncs += event.count
        elif event.kind in PROBLEMS:
            cost.problems.append(event)
    return sorted(lines.values(), key=lambda c: (c.cost, c.file, -c.line), reverse=True)
