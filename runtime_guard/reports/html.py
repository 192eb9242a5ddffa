"""One self-contained HTML file: lines by cost, a timeline, the device map.  No script is needed."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby

from runtime_guard.core.sites import short_path
from runtime_guard.recording.budgets import format_size
from runtime_guard.recording.device_map import DeviceMap, ModuleRow
from runtime_guard.recording.events import PROBLEMS, Event, Kind
from runtime_guard.recording.evidence import Evidence, Peak
from runtime_guard.recording.ledger import Ledger
from runtime_guard.reports.data import LineCost, LoopCost, costs_by_line, costs_by_loop

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --bug: #c62828; --h2d: #1565c0; --d2h: #ef6c00;
  --d2d: #8e24aa; --sync: #2e7d32; }
@media (prefers-color-scheme: dark) { :root { --bug: #ef9a9a; --h2d: #64b5f6; --d2h: #ffb74d;
  --d2d: #ce93d8; --sync: #81c784; } }
* { box-sizing: border-box; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem;
  padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
h3 { font-size: 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { font-weight: 600; white-space: nowrap; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.k { white-space: nowrap; } td.w { width: 100%; max-width: 0; }
code, pre { font: 13px/1.4 ui-monospace, monospace; }
pre { margin: .3rem 0; overflow-x: auto; overflow-wrap: normal; }
summary { cursor: pointer; }
p { margin: .2rem 0; }
.bug { color: var(--bug); } .dim { opacity: .75; } mark { background: #ffc10755; color: inherit; }
.totals { display: flex; gap: 2rem; flex-wrap: wrap; }
.totals b { font-size: 1.5rem; display: block; }
#timeline { display: grid; grid-template-columns: 3.2rem 1fr; border: 1px solid var(--line); }
#timeline > span { padding: .1rem .4rem; }
#timeline svg { width: 100%; height: 1.6rem; display: block; }
#timeline .axis { display: flex; justify-content: space-between;
  border-top: 1px solid var(--line); }
@media (max-width: 44rem) {
  table, tbody, tr, td { display: block; width: 100%; }
  thead { display: none; }
  tr { border-bottom: 1px solid var(--line); padding: .5rem 0; }
  td, td.n { border: 0; padding: .1rem 0; text-align: left; }
  td.w { max-width: none; } td.n, td.k { display: inline-block; width: auto; margin-right: 1rem; }
  td:empty { display: none !important; }
  td.n::before { content: attr(data-label) " "; opacity: .75; }
}
"""


_NONE = "no accelerator: add --virtual cuda:1 for a virtual one"


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
        f"<p>Devices: {escape(evidence.devices or _NONE)}</p>",
        _died(evidence.died),
        _totals(evidence.events),
        _memory(evidence.peaks),
        _problems(lines),
        _lines(lines),
        _loops(costs_by_loop(evidence.events)),
        "" if ledger is None else _timeline(ledger),
        "" if device_map is None else _device_map(device_map),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body></html>\n"
    )


def _table(
    attribute: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]
) -> str:
    """A table of HTML cells.  ``columns`` are names and classes: ``n`` number, ``k`` short, ``w``
    wide."""
    head = "".join(f'<th class="{kind}">{name}</th>' for name, kind in columns)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td class="{kind}" data-label="{name}">{cell}</td>'
            for (name, kind), cell in zip(columns, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return f"<table {attribute}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _died(traceback: str) -> str:
    return f"<h2>The program died</h2><pre>{escape(traceback)}</pre>" if traceback else ""


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


def _memory(peaks: Iterable[Peak]) -> str:
    told = (
        f"{escape(peak.device)} {format_size(peak.bytes)}"
        + (f" at <code>{escape(str(peak.at))}</code>" if peak.at is not None else "")
        for peak in peaks
    )
    text = ", ".join(told)
    return f"<p>Memory at most: {text}</p>" if text else ""


def _problems(lines: list[LineCost]) -> str:
    rows = []
    for line in lines:
        by_kind = sorted(line.problems, key=lambda event: event.kind.value)
        for kind, group in groupby(by_kind, key=lambda event: event.kind):
            events = list(group)
            why = "".join(f"<p>{escape(event.told)}</p>" for event in events)
            rows.append(
                (
                    f"<code>{_place(line)}</code>",
                    kind.value,
                    str(sum(event.count for event in events)),
                    why + _context(line),
                )
            )
    if not rows:
        return ""
    columns = (("line", "k"), ("what", "k"), ("times", "n"), ("why", "w"))
    return f'<h2 class="bug">Device bugs</h2>{_table("id=bugs", columns, rows)}'


def _lines(lines: list[LineCost]) -> str:
    costly = [line for line in lines if line.transfers or line.syncs]
    if not costly:
        return "<h2>Transfers and syncs</h2><p>None were seen.</p>"
    timed = any(line.seconds for line in costly)
    rows = []
    for line in sorted(costly, key=lambda line: line.traffic, reverse=True):
        what = sorted(
            {
                f"{e.what} {e.direction}" if e.kind is Kind.TRANSFER else e.what
                for e in line.events
                if e.kind not in PROBLEMS
            }
        )
        source = (
            f"<details><summary><code>{escape(line.source)}</code></summary>"
            f'{_context(line, 4)}</details><div class="dim">{escape(", ".join(what))}</div>'
        )
        row = [
            f"<code>{_place(line)}</code>",
            source,
            str(line.transfers or ""),
            format_size(line.bytes) if line.bytes else "",
            str(line.syncs or ""),
        ]
        if timed:
            row.append(f"{line.seconds * 1000:.1f} ms" if line.seconds else "")
        rows.append(row)
    columns = [("line", "k"), ("source", "w"), ("transfers", "n"), ("bytes", "n"), ("syncs", "n")]
    if timed:
        columns.append(("time", "n"))
    return f"<h2>Transfers and syncs, by cost</h2>{_table('id=lines', columns, rows)}"


def _loops(loops: list[LoopCost]) -> str:
    if not loops:
        return ""
    rows = [
        (
            f"<code>{_place(loop)}</code>",
            f"<code>{escape(loop.source)}</code>",
            str(loop.transfers or ""),
            format_size(loop.bytes) if loop.bytes else "",
            str(loop.syncs or ""),
        )
        for loop in loops
    ]
    columns = (("line", "k"), ("loop", "w"), ("transfers", "n"), ("bytes", "n"), ("syncs", "n"))
    return f"<h2>Loops, with all that they call</h2>{_table('id=loops', columns, rows)}"


def _place(line: LineCost | LoopCost) -> str:
    return escape(f"{short_path(line.file)}:{line.line}")


def _context(line: LineCost, around: int = 2) -> str:
    first = max(1, line.line - around)
    texts = [text.rstrip("\n") for text in linecache.getlines(line.file)]
    shown = []
    for number, text in enumerate(texts[first - 1 : line.line + around], first):
        row = escape(f"{number:>5}  {text}")
        shown.append(f"<mark>{row}</mark>" if number == line.line else row)
    return f"<pre>{chr(10).join(shown)}</pre>" if shown else ""


_LANES = {"H2D": "h2d", "D2H": "d2h", "D2D": "d2d", "sync": "sync", "bugs": "bug"}
"""The timeline's rows with their colours."""
_PIXELS = 1000


def _timeline(ledger: Ledger) -> str:
    entries = list(ledger.timeline)
    if not entries:
        return ""
    first, last = entries[0][0], max(at for at, *_ in entries)
    span = max(last - first, 1e-9)
    # one tick per pixel column and lane: the file stays small however long the run was
    ticks: dict[tuple[str, int], tuple[int, Event]] = {}
    for at, _, event, _ in entries:
        lane = event.direction if event.kind is Kind.TRANSFER else event.kind.value
        key = (lane if lane in _LANES else "bugs", int((at - first) / span * _PIXELS))
        count, shown = ticks.get(key, (0, event))
        ticks[key] = (count + 1, shown)
    rows = []
    for name, colour in _LANES.items():
        marks = []
        for (lane, x), (count, event) in ticks.items():
            if lane == name:
                tip = f"{event.what} at {event.site}" + (f" and {count - 1} more" * (count > 1))
                marks.append(
                    f'<rect x="{x}" y="2" width="3" height="12"><title>{escape(tip)}</title></rect>'
                )
        rows.append(
            f'<span class="dim">{name}</span><svg viewBox="0 0 {_PIXELS + 4} 16" '
            f'preserveAspectRatio="none" fill="var(--{colour})" role="img" '
            f'aria-label="{name}: {len(marks)}">{"".join(marks)}</svg>'
        )
    axis = f'<span></span><span class="axis dim"><span>0 s</span><span>{span:.2f} s</span></span>'
    return f'<h2>Timeline</h2><div id="timeline">{"".join(rows)}{axis}</div>'


def _device_map(device_map: DeviceMap) -> str:
    columns = (("module", "w"), ("class", "k"), ("tensors", "n"), ("bytes", "n"), ("device", "k"))
    tables = [
        f"<h3>{escape(name)}</h3>{_table('class=modules', columns, map(_module_row, rows))}"
        for name, rows in device_map.models
    ]
    return f"<h2>Modules and their devices</h2>{''.join(tables)}" if tables else ""


def _module_row(row: ModuleRow) -> tuple[str, ...]:
    state = "".join(
        f'<div class="dim"><code>{escape(entry.name)}</code> {escape(entry.kind)} '
        f"{escape(entry.shape)} on {escape(entry.device)}</div>"
        for entry in row.state
    )
    devices = escape(", ".join(row.devices))
    return (
        f"<details><summary><code>{escape(row.path)}</code></summary>{state}</details>",
        escape(row.kind),
        str(row.tensors),
        format_size(row.bytes),
        f'<span class="bug">{devices}</span>' if len(row.devices) > 1 else devices,
    )
