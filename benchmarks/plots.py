"""Lines over sizes as an SVG: both axes logarithmic, one line for each program."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#57606a", "#bf3989", "#0a7d91")
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, GAP = 340, 300, 56, 34, 40, 40
LEGEND = 20  # points, a line of the legend

Points = Sequence[tuple[float, float]]


def plot(panels: Mapping[str, Mapping[str, Points]], across: str) -> str:
    """Panels side by side, by title: the points of each program. across: what runs to the right."""
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    colours = {name: COLOURS[n % len(COLOURS)] for n, name in enumerate(names)}
    width = len(panels) * (LEFT + WIDTH) + GAP * (len(panels) - 1) + 20
    height = TOP + HEIGHT + BOTTOM + LEGEND * math.ceil(len(names) / 4) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, (title, lines) in enumerate(panels.items()):
        left = LEFT + number * (LEFT + WIDTH + GAP)
        parts += _panel(title, lines, colours, left, across)
    for number, name in enumerate(names):
        x, y = LEFT + number % 4 * 190, TOP + HEIGHT + BOTTOM + LEGEND * (number // 4 + 0.5)
        parts.append(f'<rect x="{x}" y="{y - 4}" width="18" height="4" fill="{colours[name]}"/>')
        parts.append(f'<text x="{x + 24}" y="{y + 3}">{escape(name)}</text>')
    return "\n".join((*parts, "</svg>", ""))


def _panel(
    title: str, lines: Mapping[str, Points], colours: Mapping[str, str], left: float, across: str
) -> list[str]:
    points = [point for each in lines.values() for point in each]
    first_x, last_x = _decades([x for x, _ in points])
    first_y, last_y = _decades([y for _, y in points])

    def x_of(value: float) -> float:
        return round(left + WIDTH * (math.log10(value) - first_x) / (last_x - first_x), 1)

    def y_of(value: float) -> float:
        return round(TOP + HEIGHT * (last_y - math.log10(value)) / (last_y - first_y), 1)

    parts = [f'<text x="{left}" y="{TOP - 14}" font-weight="bold">{escape(title)}</text>']
    for power in range(first_x, last_x + 1):
        x = x_of(10**power)
        parts.append(_line(x, TOP, x, TOP + HEIGHT, "#d0d7de"))
        y = TOP + HEIGHT + 16
        parts.append(f'<text x="{x}" y="{y}" text-anchor="middle">{_number(power)}</text>')
    for power in range(first_y, last_y + 1):
        y = y_of(10**power)
        parts.append(_line(left, y, left + WIDTH, y, "#d0d7de"))
        parts.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{_number(power)}</text>')
    middle, below = left + WIDTH / 2, TOP + HEIGHT + 32
    parts.append(f'<text x="{middle}" y="{below}" text-anchor="middle">{escape(across)}</text>')
    for name, several in lines.items():
        path = " ".join(f"{x_of(x)},{y_of(y)}" for x, y in sorted(several))
        colour = colours[name]
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += (
            f'<circle cx="{x_of(x)}" cy="{y_of(y)}" r="3" fill="{colour}"/>' for x, y in several
        )
    return parts


def _decades(values: Sequence[float]) -> tuple[int, int]:
    first = math.floor(math.log10(min(values)))
    return first, max(first + 1, math.ceil(math.log10(max(values))))


def _number(power: int) -> str:
    if power >= 6:
        return f"{10 ** (power - 6)}M"
    if power >= 3:
        return f"{10 ** (power - 3)}k"
    return f"{10**power:g}" if power >= 0 else f"{10.0**power:g}"


def _line(x: float, y: float, to_x: float, to_y: float, colour: str) -> str:
    return f'<line x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}" stroke="{colour}"/>'
