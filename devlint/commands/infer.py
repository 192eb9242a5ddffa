"""`devlint infer`: a program with the place of every tensor and module beside it."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from devlint.commands.options import STDIN, UNCHECKED, Refusal, config_option, text_or_json
from devlint.commands.settings import configured
from devlint.findings import Location, source_name
from devlint.graphs import dot, svg
from devlint.knowledge import KnowledgeError
from devlint.placements import Placement, Placements, Where, placements
from devlint.project.source import SourceError
from devlint.terminal import columns, emit, show

WIDEST = 60  # columns of source before the notes move to the right
_PLACE = re.compile(r"(?P<path>.+?):(?:cell (?P<cell>\d+):)?(?P<line>\d+)")

EXAMPLES = """\b
Examples:
  devlint infer train.py          each line with what it binds, and where that is
  devlint infer train.py:42       all values of one line, why, and what is assumed
  devlint infer train.py --graph svg > train.svg
"""


@click.command(name="infer", epilog=EXAMPLES)
@click.argument("place", metavar="FILE[:LINE]")
@text_or_json
@click.option("--why", is_flag=True, help="Say of every value why it is there.")
@click.option(
    "--graph",
    type=click.Choice(["dot", "svg"]),
    help="Draw the devices with what is on them, and the transfers.",
)
@config_option
def command(place: str, form: str, why: bool, graph: str | None, config_file: Path | None) -> None:
    """Show where every tensor and module of FILE is, why, and under which assumptions.

    In a notebook a line is FILE:cell N:LINE. Exit codes: 2 usage or configuration errors, 3 the
    file could not be read or parsed.
    """
    path, cell, line = _parsed(place)
    file = Path(os.path.abspath(path))
    config = configured([file], {**_NO_SETTINGS, "config_file": config_file})
    try:
        found = placements(file, config)
    except SourceError as error:
        where = f"{source_name(str(path), error.cell)}:{error.line}:{error.column}"
        emit(f"{show(f'{where}: {error.message}')}\n", sys.stderr)
        sys.exit(UNCHECKED)
    except RecursionError:
        emit(f"{show(str(path))}: is too deeply nested to be analysed\n", sys.stderr)
        sys.exit(UNCHECKED)
    except KnowledgeError as error:
        raise Refusal(str(error)) from None
    if line is not None and (cell, line) not in {(at, number) for at, number, _ in found.lines}:
        raise Refusal(f"{source_name(str(path), cell)} has no line {line}")
    values = [v for v in found.values if line is None or _is_on(v.location, cell, line)]
    if graph is not None:
        emit((dot if graph == "dot" else svg)(found), sys.stdout)
    elif form == "json":
        emit(json.dumps(_document(found, values), indent=2) + "\n", sys.stdout)
    elif line is None:
        emit("".join(_program(found, why)), sys.stdout)
    else:
        text = next(text for at, number, text in found.lines if (at, number) == (cell, line))
        emit(f"{show(text)}\n" + "".join(_explained(values, found.path)), sys.stdout)


_NO_SETTINGS: dict[str, Any] = {
    "fail_on": None,
    "min_confidence": None,
    "exclude": (),
    "force_exclude": False,
    "no_gitignore": False,
    "select": (),
    "extend_select": (),
    "ignore": (),
    "jobs": None,
    "no_cache": False,
    "cache_dir": None,
}


def _parsed(place: str) -> tuple[Path, int, int | None]:
    """File, cell and line. A file may be called as a place is written."""
    if Path(place) == STDIN:
        raise Refusal("standard input cannot be inferred: name a file")
    match = None if os.path.exists(place) else _PLACE.fullmatch(place)
    if match is None:
        return Path(place), 0, None
    return Path(match["path"]), int(match["cell"] or 0), int(match["line"])


def _is_on(place: Location, cell: int, line: int) -> bool:
    return place.cell == cell and place.line <= line <= place.end_line and place.line == line


def _program(found: Placements, why: bool) -> Iterator[str]:
    """Each line, with what it binds and where that is."""
    notes: dict[tuple[int, int], list[Placement]] = {}
    for value in found.values:
        if value.binds and not all(each.is_guess for each in value.where):
            notes.setdefault((value.location.cell, value.location.line), []).append(value)
    digits = len(str(max((number for _, number, _ in found.lines), default=1)))
    widest = max((columns(text) for _, _, text in found.lines), default=0)
    column = min(widest, WIDEST) + 2
    before = 0
    for cell, number, text in found.lines:
        if cell != before:
            yield f"{'' if before == 0 else chr(10)}cell {cell}\n"
            before = cell
        here = notes.get((cell, number), [])
        line = f"{number:>{digits}} | {show(text)}"
        if here:
            line += " " * max(2, column - columns(text)) + "# " + "; ".join(_notes(here))
        yield f"{line.rstrip()}\n"
        if why:
            indent = " " * (digits + 3)
            for each in _explained(here, found.path, names=False):
                yield f"{indent}{each}"


def _notes(values: Iterable[Placement]) -> Iterator[str]:
    """A name that is bound in several ways on one line is said once."""
    said = dict.fromkeys(f"{show(value.name)}: {show(str(value))}" for value in values)
    yield from said


def _explained(values: Iterable[Placement], path: str, names: bool = True) -> Iterator[str]:
    """Every value with its history and what it rests on."""
    for value in values:
        if names:
            yield f"  {value.location.column}: `{show(value.name)}`: {show(str(value))}\n"
        for where in value.where:
            yield from _reasons(value, where, path)


def _reasons(value: Placement, where: Where, path: str) -> Iterator[str]:
    for step in where.steps:
        yield f"     {_place(step.location, path)}: {show(step.message)}\n"
    for assumption in where.assumptions:
        yield f"     = assuming: {show(assumption.message)} ({assumption.kind})\n"


def _place(location: Location, path: str) -> str:
    if location.path == path:
        cell = f"cell {location.cell}, " if location.cell else ""
        return f"{cell}line {location.line}"
    return f"{show(location.source)}:{location.line}"


def _document(found: Placements, values: Iterable[Placement]) -> dict[str, Any]:
    return {
        "version": 1,
        "path": found.path,
        "values": [
            {
                **_location(value.location),
                "name": value.name,
                "binds": value.binds,
                "where": [
                    {
                        "kind": where.kind,
                        "device": where.device or None,
                        "place": where.place,
                        "known": where.is_known,
                        "held": where.held,
                        "why": [
                            {**_location(s.location), "path": s.location.path, "message": s.message}
                            for s in where.steps
                        ],
                        "assumptions": [
                            {**_location(a.location), "kind": a.kind, "message": a.message}
                            for a in where.assumptions
                        ],
                    }
                    for where in value.where
                ],
            }
            for value in values
        ],
    }


def _location(place: Location) -> dict[str, int]:
    cell = {"cell": place.cell} if place.cell else {}
    return {
        **cell,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
    }
