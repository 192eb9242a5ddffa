"""The ledger as one JSON object, for tools: evidence with totals."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from runtime_guard.recording.device_map import DeviceMap
from runtime_guard.recording.events import PROBLEMS, Kind
from runtime_guard.recording.evidence import Evidence, evidence_to_json
from runtime_guard.reports.data import costs_by_loop


def report_data(evidence: Evidence, device_map: DeviceMap | None = None) -> dict[str, Any]:
    """``version``, ``devices``, ``totals``, ``events``, ``loops`` and ``modules``."""
    totals = {
        "transfers": sum(e.count for e in evidence.events if e.kind is Kind.TRANSFER),
        "bytes": sum(e.bytes for e in evidence.events if e.kind is Kind.TRANSFER),
        "syncs": sum(e.count for e in evidence.events if e.kind is Kind.SYNC),
        "problems": sum(e.count for e in evidence.events if e.kind in PROBLEMS),
    }
    return {
        **evidence_to_json(evidence),
        "totals": totals,
        "loops": [asdict(loop) for loop in costs_by_loop(evidence.events)],
        "modules": [] if device_map is None else device_map.to_json(),
    }


def render(evidence: Evidence, device_map: DeviceMap | None = None) -> str:
    """``report_data`` as text."""
    return json.dumps(report_data(evidence, device_map), indent=1, ensure_ascii=False) + "\n"
