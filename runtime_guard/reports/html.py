"""One self-contained HTML file: lines by cost, a timeline, the device map.  No script is needed."""

from __future__ import annotations

import linecache
from html import escape

from runtime_guard.budgets import format_size
from runtime_guard.devicemap import DeviceMap
from runtime_guard.events import PROBLEMS, Event, Kind
from runtime_guard.evidence import Evidence
from runtime_guard.ledger import Ledger
from runtime_guard.reports.data import LineCost, costs_by_line
from runtime_guard.sites import short_path

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --bug: #c62828; --h2d: #1565c0; --d2h: #ef6c00;
  --d2d: #6a1b9a; --sync: #2e7d32; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem;
  padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { font-weight: 600; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
code, pre { font: 13px/1.4 ui-monospace, monospace; } pre { margin: .3rem 0; overflow-x: auto; }
.bug { color: var(--bug); } .dim { opacity: .7; } mark { background: #ffc10755; color: inherit; }
.totals { display: flex; gap: 2rem; flex-wrap: wrap; }
.totals b { font-size: 1.5rem; display: block; }
svg { width: 100%; height: 8rem; border: 1px solid var(--line); }
"""


def render(
    evidence: Evidence,
    ledger: Ledger | None = None,
    device_map: DeviceMap | None = None,
    title: str = "Device report",
) -> str:
    """The whole file.  ``ledger`` gives the timeline; without one there is none."""
    lines = costs_by_line(evidence.events)
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>Devices: {escape(evidence.devices or 'no accelerator')}</p>",
        _totals(evidence.events),
        _problems(lines),
        _lines(lines),
        "" if ledger is None else _timeline(ledger),
        "" if device_map is None else _device_map(device_map),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body></html>\n"
    )


def _totals(events: tuple[Event, ...]) -> str:
    transfers = [e for e in events if e.kind is Kind.TRANSFER]
    figures = {
        "transfers": sum(e.count for e in transfers),
        "moved": format_size(sum(e.bytes for e in transfers)),
        "syncs": sum(e.count for e in events if e.kind is Kind.SYNC),
        "device bugs": sum(1 for e in events if e.kind in PROBLEMS),
    }
    cells = "".join(f"<div><b>{value}</b>{name}</div>" for name, value in figures.items())
    return f'<div class="totals">{cells}</div>'


def _problems(lines: list[LineCost]) -> str:
    rows = [
        f"<tr><td><code>{_place(line)}</code></td><td>{event.kind.value}</td>"
        f'<td class="n">{event.count}</td><td>{escape(event.detail)}{_context(line)}</td></tr>'
        for line in lines
        for event in line.problems
    ]
    if not rows:
        return ""
    return (
        '<h2 class="bug">Device bugs</h2><table id="bugs"><thead><tr><th>line</th><th>what</th>'
        f'<th class="n">times</th><th>why</th></tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )


def _lines(lines: list[LineCost]) -> str:
    costly = [line for line in lines if line.transfers or line.syncs]
    if not costly:
        return "<h2>Transfers and syncs</h2><p>None were seen.</p>"
    rows = []
    for line in costly:
        what = sorted(
            {
                f"{e.what} {e.direction}" if e.kind is Kind.TRANSFER else e.what
                for e in line.events
                if e.kind not in PROBLEMS
            }
        )
        seconds = f"{line.seconds * 1000:.1f} ms" if line.seconds else ""
        rows.append(
            f"<tr><td><code>{_place(line)}</code></td>"
            f"<td><code>{escape(line.source)}</code>"
            f'<div class="dim">{escape(", ".join(what))}</div></td>'
            f'<td class="n">{line.transfers or ""}</td>'
            f'<td class="n">{format_size(line.bytes) if line.bytes else ""}</td>'
            f'<td class="n">{line.syncs or ""}</td><td class="n">{seconds}</td></tr>'
        )
    return (
        '<h2>Transfers and syncs, by cost</h2><table id="lines"><thead><tr><th>line</th>'
        '<th>source</th><th class="n">transfers</th><th class="n">bytes</th>'
        '<th class="n">syncs</th><th class="n">time</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _place(line: LineCost) -> str:
    return escape(f"{short_path(line.file)}:{line.line}")


def _context(line: LineCost, around: int = 2) -> str:
    shown = []
    for number in range(max(1, line.line - around), line.line + around + 1):
        text = linecache.getline(line.file, number).rstrip("\n")
        if text or number == line.line:
            row = escape(f"{number:>5}  {text}")
            shown.append(f"<mark>{row}</mark>" if number == line.line else row)
    return f"<pre>{chr(10).join(shown)}</pre>"


_LANES = {"H2D": (0, "h2d"), "D2H": (1, "d2h"), "D2D": (2, "d2d"), "sync": (3, "sync")}


def _timeline(ledger: Ledger) -> str:
    entries = list(ledger.timeline)
    if not entries:
        return ""
    first, last = entries[0][0], max(at for at, *_ in entries)
    span = max(last - first, 1e-9)
    # one tick per pixel column, lane and colour: the file stays small however long the run was
    ticks: dict[tuple[str, int], tuple[int, Event]] = {}
    for at, _, event, _ in entries:
        lane = event.direction if event.kind is Kind.TRANSFER else event.kind.value
        key = (lane if lane in _LANES else "bug", int((at - first) / span * 1000))
        count, shown = ticks.get(key, (0, event))
        ticks[key] = (count + 1, shown)
    marks = []
    for (lane, x), (count, event) in ticks.items():
        row, colour = _LANES.get(lane, (4, "bug"))
        tip = escape(f"{event.what} at {event.site}" + (f" and {count - 1} more" * (count > 1)))
        marks.append(
            f'<rect x="{x}" y="{row * 24 + 4}" width="2" height="16" fill="var(--{colour})">'
            f"<title>{tip}</title></rect>"
        )
    names = "".join(
        f'<text x="4" y="{row * 24 + 16}" font-size="11" fill="currentColor" opacity=".6">'
        f"{name}</text>"
        for name, (row, _) in {**_LANES, "bugs": (4, "bug")}.items()
    )
    return (
        f"<h2>Timeline ({span:.2f} s)</h2>"
        f'<svg id="timeline" viewBox="0 0 1004 124" preserveAspectRatio="none" role="img">'
        f"{''.join(marks)}{names}</svg>"
    )


def _device_map(device_map: DeviceMap) -> str:
    tables = []
    for name, rows in device_map.models:
        body = "".join(
            f"<tr><td><code>{escape(row.path)}</code></td><td>{escape(row.kind)}</td>"
            f'<td class="n">{row.tensors}</td><td class="n">{format_size(row.bytes)}</td>'
            f"<td>{escape(', '.join(row.devices))}</td></tr>"
            for row in rows
        )
        tables.append(
            f'<h3>{escape(name)}</h3><table class="modules"><thead><tr><th>module</th>'
            "<th>class</th>"
            '<th class="n">tensors</th><th class="n">bytes</th><th>device</th></tr></thead>'
            f"<tbody>{body}</tbody></table>"
        )
    return f"<h2>Modules and their devices</h2>{''.join(tables)}" if tables else ""
