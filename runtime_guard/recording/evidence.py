"""What a run showed, as plain data: the events of its ledger, with the devices it ran on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from runtime_guard.core.memory import Meter
from runtime_guard.core.sites import Expression, Site
from runtime_guard.recording.events import Event, Kind


@dataclass(frozen=True)
class Process:
    """One of the processes of a launched job."""

    rank: int
    """Its number among all."""
    local_rank: int
    """Its number among those of its machine."""


@dataclass(frozen=True)
class Peak:
    """How much memory of a virtual device one process held at most."""

    device: str
    bytes: int
    at: Site | None
    """The user's line that brought it there, if one did."""


@dataclass(frozen=True)
class Evidence:
    """Events of one or several runs in a world with accelerators."""

    events: tuple[Event, ...]
    devices: str
    """``virtual cuda:2``, ``cuda:1``; empty when the run had no accelerator."""
    processes: tuple[Process, ...] = ()
    """Those of a launched job that it comes from; none for a program run by itself."""
    died: str = ""
    """The traceback of the exception that ended the program; empty where none did."""
    peaks: tuple[Peak, ...] = ()
    """One for each virtual device whose memory was used."""

    @property
    def accelerated(self) -> bool:
        """Did the program see an accelerator?  Without one nothing can be refuted."""
        return bool(self.devices)

    def told_by(self, process: str) -> Evidence:
        """The same, with each event marked as one of ``process`` (``rank 1``, ``process 4711``)."""
        marked = (
            replace(event, detail=f"[{process}] {event.detail}".rstrip(), shapes=[*event.shapes])
            for event in self.events
        )
        devices = f"{process}: {self.devices}" if self.devices else ""
        died = f"[{process}] {self.died}" if self.died else ""
        return Evidence(tuple(marked), devices, self.processes, died, self.peaks)


def peaks_of(meters: Mapping[Any, Meter]) -> tuple[Peak, ...]:
    """The peaks of a virtual machine's devices."""
    return tuple(
        Peak(str(device), meter.highest, meter.peak_at)
        for device, meter in meters.items()
        if meter.highest
    )


def highest(peaks: Iterable[Peak]) -> tuple[Peak, ...]:
    """Of each device the highest, whichever process it was in."""
    found: dict[str, Peak] = {}
    for peak in peaks:
        found[peak.device] = max(found.get(peak.device, peak), peak, key=lambda p: p.bytes)
    return tuple(found[device] for device in sorted(found))


def event_to_json(event: Event) -> dict[str, Any]:
    """One event as JSON data."""
    return {
        "kind": event.kind.value,
        "what": event.what,
        "detail": event.detail,
        "source": event.source,
        "target": event.target,
        "blocking": event.blocking,
        "pinned": event.pinned,
        "count": event.count,
        "bytes": event.bytes,
        "seconds": event.seconds,
        "shapes": list(event.shapes),
        "stack": [_site_to_json(site) for site in event.stack],
        "origins": [_site_to_json(site) for site in event.origins],
        "at": event.at,
    }


def event_from_json(data: dict[str, Any]) -> Event:
    """The inverse of ``event_to_json``.  Raises ``KeyError`` or ``ValueError`` for other data."""
    return Event(
        kind=Kind(data["kind"]),
        stack=tuple(Site(**site) for site in data["stack"]),
        what=data["what"],
        detail=data["detail"],
        source=data["source"],
        target=data["target"],
        blocking=data["blocking"],
        pinned=data["pinned"],
        bytes=data["bytes"],
        seconds=data["seconds"],
        count=data["count"],
        shapes=list(data["shapes"]),
        origins=tuple(Site(**site) for site in data.get("origins", ())),
        at=_expression_from_json(data.get("at")),
    )


def _expression_from_json(data: list[int] | None) -> Expression | None:
    if data is None:
        return None
    line, column, end_line, end_column = data
    return line, column, end_line, end_column


def _site_to_json(site: Site) -> dict[str, Any]:
    return {
        "file": site.file,
        "line": site.line,
        "end_line": site.end_line,
        "function": site.function,
    }


def evidence_to_json(evidence: Evidence) -> dict[str, Any]:
    """All of it as one JSON object, ``version`` 1."""
    return {
        "version": 1,
        "devices": evidence.devices,
        "died": evidence.died,
        "processes": [asdict(process) for process in evidence.processes],
        "events": [event_to_json(event) for event in evidence.events],
        "peaks": [
            {"device": p.device, "bytes": p.bytes, "at": None if p.at is None else asdict(p.at)}
            for p in evidence.peaks
        ],
    }


def evidence_from_json(data: dict[str, Any]) -> Evidence:
    """The inverse of ``evidence_to_json``."""
    if data.get("version") != 1:
        raise ValueError(f"evidence of version {data.get('version')!r}: expected 1")
    return Evidence(
        tuple(event_from_json(e) for e in data["events"]),
        data["devices"],
        tuple(Process(**process) for process in data.get("processes", ())),
        data.get("died", ""),
        tuple(
            Peak(p["device"], p["bytes"], None if p["at"] is None else Site(**p["at"]))
            for p in data.get("peaks", ())
        ),
    )


def merge_evidence(parts: Iterable[Evidence]) -> Evidence:
    """Evidence of several runs or ranks together."""
    found = list(parts)
    devices = ", ".join(dict.fromkeys(e.devices for e in found if e.devices))
    return Evidence(
        tuple(event for part in found for event in part.events),
        devices,
        tuple(process for part in found for process in part.processes),
        "\n".join(part.died for part in found if part.died),
        highest(peak for part in found for peak in part.peaks),
    )
