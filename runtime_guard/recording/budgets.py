"""Budgets: how many transfers and syncs, and how many bytes, a piece of code may cost."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from runtime_guard.recording.events import Event
from runtime_guard.recording.ledger import Ledger

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_BINARY_FACTORS = {"ki": 1024, "mi": 1024**2, "gi": 1024**3, "ti": 1024**4}
DIRECTIONS = ("H2D", "D2H", "D2D")


def parse_size(size: int | str) -> int:
    """``"4 MiB"``, ``"10kB"`` or a number, in bytes.  Raises ``ValueError`` for other texts."""
    if type(size) is int and size >= 0:
        return size
    match = _SIZE.fullmatch(size) if isinstance(size, str) else None
    if match is None:
        raise ValueError(f"size {size!r}: expected bytes, or a text such as '4 MiB'")
    unit = match.group(2).lower()
    return int(float(match.group(1)) * {**_FACTORS, **_BINARY_FACTORS}[unit])


def format_size(count: float) -> str:
    """``1.5 MiB`` for a number of bytes."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024 or unit == "GiB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError("unreachable")


@dataclass(frozen=True)
class Budget:
    """The most that is allowed; None allows any number."""

    transfers: int | None = None
    syncs: int | None = None
    h2d: int | None = None
    """Bytes from the host to devices."""
    d2h: int | None = None
    """Bytes from devices to the host."""
    d2d: int | None = None
    """Bytes between devices."""


def make_budget(**limits: Any) -> Budget:
    """``make_budget(transfers=1, h2d="4 MiB")``.

    Raises ``TypeError`` for unknown names and ``ValueError`` for what is no count and no size.
    """
    unknown = set(limits) - set(Budget.__dataclass_fields__)
    if unknown:
        raise TypeError(
            f"device_budget: unknown {', '.join(sorted(unknown))}; it takes "
            f"{', '.join(Budget.__dataclass_fields__)}"
        )
    for name in ("transfers", "syncs"):
        value = limits.get(name)
        if value is not None and (not isinstance(value, int) or value < 0):
            raise ValueError(f"device_budget: {name}={value!r} is no count")
    for name in ("h2d", "d2h", "d2d"):
        if limits.get(name) is not None:
            limits[name] = parse_size(limits[name])
    return Budget(**limits)


def excesses(budget: Budget, ledger: Ledger) -> list[str]:
    """What in ``ledger`` exceeds ``budget``: a sentence each, with the lines that cost most."""
    found = []
    transfers, syncs = ledger.transfers, ledger.syncs
    for name, limit, events in (
        ("transfers", budget.transfers, transfers),
        ("syncs", budget.syncs, syncs),
    ):
        count = sum(event.count for event in events)
        if limit is not None and count > limit:
            found.append(f"{count} {name}, {limit} allowed\n{worst_lines(events)}")
    for direction in DIRECTIONS:
        limit = getattr(budget, direction.lower())
        events = [event for event in transfers if event.direction == direction]
        count = sum(event.bytes for event in events)
        if limit is not None and count > limit:
            found.append(
                f"{format_size(count)} {direction}, {format_size(limit)} allowed\n"
                f"{worst_lines(events)}"
            )
    return found


def worst_lines(events: list[Event], most: int = 5) -> str:
    """The source lines of ``events`` that cost most, one per line of text."""
    per_line: dict[str, tuple[int, int, set[str]]] = {}
    for event in events:
        count, size, what = per_line.get(str(event.site), (0, 0, set()))
        per_line[str(event.site)] = (count + event.count, size + event.bytes, what | {event.what})
    ordered = sorted(per_line.items(), key=lambda item: (-item[1][1], -item[1][0], item[0]))
    lines = [
        f"  {site}  {count}x {', '.join(sorted(what))}" + (f"  {format_size(size)}" if size else "")
        for site, (count, size, what) in ordered[:most]
    ]
    if len(ordered) > most:
        lines.append(f"  and {len(ordered) - most} more lines")
    return "\n".join(lines)
