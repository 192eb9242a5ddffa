"""The device map of a program: devices with the tensors and modules on them, and transfers."""

from __future__ import annotations

import html
from collections.abc import Iterator

from devlint.inference.facts import ValueKind
from devlint.placements import Placement, Placements
from devlint.records import dataclass
from devlint.terminal import show

WIDTH, ROW, MARGIN, GAP = 260, 22, 16, 150  # of a device's box, in pixels
NAMED = 40  # values of a device by name; the others are counted


@dataclass(frozen=True, slots=True)
class Box:
    """A value on a device."""

    name: str
    kind: str
    place: str
    line: int


@dataclass(frozen=True, slots=True)
class Map:
    """boxes: by place. transfers: from one place to another, with the lines that do it."""

    boxes: dict[str, list[Box]]
    transfers: dict[tuple[str, str], list[int]]


def device_map(found: Placements) -> Map:
    """The names that a program binds, by device; a name that is bound again elsewhere was moved."""
    boxes: dict[str, list[Box]] = {}
    transfers: dict[tuple[str, str], list[int]] = {}
    for value in found.values:
        for where in value.where:
            if not where.is_known or where.kind == ValueKind.DEVICE.value:
                continue
            here = boxes.setdefault(where.place, [])
            if value.binds and all(box.name != value.name for box in here):
                here.append(Box(value.name, where.kind, where.place, value.location.line))
    for origin, target, line in _transfers(found):
        lines = transfers.setdefault((origin, target), [])
        if line not in lines:
            lines.append(line)
        boxes.setdefault(origin, [])
        boxes.setdefault(target, [])
    return Map(boxes, transfers)


def _transfers(found: Placements) -> Iterator[tuple[str, str, int]]:
    """A call whose result is elsewhere than the value that it is called on."""
    starts: dict[tuple[int, int, int], list[Placement]] = {}
    for value in found.values:
        place = value.location
        starts.setdefault((place.cell, place.line, place.column), []).append(value)
    for value in found.values:
        if not value.name.endswith(")") or value.binds:
            continue
        place = value.location
        inner = [
            each
            for each in starts[place.cell, place.line, place.column]
            if _size(each) < _size(value) and each.where[0].kind == value.where[0].kind
        ]
        if not inner:
            continue
        origin, target = max(inner, key=_size).where[0], value.where[0]
        moved = any(step.location == place and "moved" in step.message for step in target.steps)
        if moved and origin.is_known and target.is_known and origin.place != target.place:
            yield origin.place, target.place, place.line


def _size(value: Placement) -> tuple[int, int]:
    return value.location.end_line, value.location.end_column


def dot(found: Placements) -> str:
    """The map in Graphviz's language."""
    drawn = device_map(found)
    places = {place: f"d{number}" for number, place in enumerate(drawn.boxes)}
    lines = [f"digraph {_quoted(found.path)} {{", "  node [shape=plaintext];", "  rankdir=LR;"]
    for place, name in places.items():
        rows = "".join(f"<tr><td>{_row(box)}</td></tr>" for box in drawn.boxes[place][:NAMED])
        head = f"<tr><td><b>{_escaped(place)}</b></td></tr>"
        lines.append(f"  {name} [label=<<table border='1' cellborder='0'>{head}{rows}</table>>];")
    for (origin, target), numbers in drawn.transfers.items():
        label = _quoted(_label(numbers))
        lines.append(f"  {places[origin]} -> {places[target]} [label={label}];")
    return "\n".join((*lines, "}", ""))


def svg(found: Placements) -> str:
    """The map as a picture: a box for each device side by side, an arrow for each transfer."""
    drawn = device_map(found)
    tallest = max((min(len(boxes), NAMED + 1) for boxes in drawn.boxes.values()), default=0)
    top = MARGIN + ROW * (len(drawn.transfers) + 1)
    height = top + ROW * (tallest + 2) + MARGIN
    width = max(WIDTH, len(drawn.boxes) * (WIDTH + GAP) - GAP) + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
        f"<title>{_escaped(found.path)}</title>",
        '<defs><marker id="tip" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto">'
        '<path d="M0,0 L9,4 L0,8 z" fill="#b3541e"/></marker></defs>',
    ]
    left: dict[str, int] = {}
    for number, (place, boxes) in enumerate(drawn.boxes.items()):
        x = left[place] = MARGIN + number * (WIDTH + GAP)
        tall = ROW * (min(len(boxes), NAMED + 1) + 1) + 10
        parts.append(
            f'<rect x="{x}" y="{top}" width="{WIDTH}" height="{tall}" rx="8" '
            'fill="#eef3fa" stroke="#4a6fa5"/>'
            f'<text x="{x + 12}" y="{top + ROW}" font-weight="bold">{_escaped(place)}</text>'
        )
        rows = [_row(box) for box in boxes[:NAMED]]
        if len(boxes) > NAMED:
            rows.append(f"and {len(boxes) - NAMED} more")
        for row, text in enumerate(rows, 2):
            parts.append(f'<text x="{x + 12}" y="{top + ROW * row}">{text}</text>')
    for number, ((origin, target), lines) in enumerate(drawn.transfers.items()):
        y = MARGIN + ROW * (number + 1)
        start, end = left[origin] + WIDTH // 2, left[target] + WIDTH // 2
        tip = end + (-6 if end > start else 6)
        parts.append(
            f'<path d="M{start},{top} V{y} H{tip} V{top}" fill="none" stroke="#b3541e" '
            'marker-end="url(#tip)"/>'
            f'<text x="{(start + tip) // 2}" y="{y - 4}" text-anchor="middle" fill="#b3541e">'
            f"{_label(lines)}</text>"
        )
    return "\n".join((*parts, "</svg>", ""))


def _row(box: Box) -> str:
    return _escaped(f"{box.name} ({box.kind}, line {box.line})")


def _label(lines: list[int]) -> str:
    word = "line" if len(lines) == 1 else "lines"
    more = ", …" if len(lines) > 6 else ""
    return f"{word} {', '.join(map(str, lines[:6]))}{more}"


def _escaped(text: str) -> str:
    return html.escape(show(text))


def _quoted(text: str) -> str:
    return '"' + show(text).replace("\\", "\\\\").replace('"', '\\"') + '"'
