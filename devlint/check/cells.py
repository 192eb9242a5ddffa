"""What is said of a notebook, at its place in a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from devlint.check.outcome import Outcome
from devlint.findings import Finding, Related, source_name
from devlint.project.notebooks import Cell
from devlint.project.python_text import in_cell

Cells = Sequence[Cell]


def with_cells(outcome: Outcome, cells: Mapping[str, Cells]) -> None:
    """Say of each place in a notebook (given by its path) in which cell it is, and add the cells
    that could not be read."""
    outcome.told = [replace(t, finding=_finding(t.finding, cells)) for t in outcome.told]
    outcome.suppressed = [_finding(finding, cells) for finding in outcome.suppressed]
    for path, those in cells.items():
        lines = outcome.excerpts.pop(path, {})
        for cell in those:
            name = source_name(path, cell.number)
            shown = {n - cell.line + 1: lines[n] for n in lines if cell.line <= n <= cell.last}
            if shown:
                outcome.excerpts[name] = shown
            if cell.error is not None and path in outcome.checked:
                error = cell.error.at(path)
                outcome.errors.append(replace(error, cell=cell.number))
                if cell.error.excerpt is not None:
                    outcome.excerpts.setdefault(name, {})[error.line] = cell.error.excerpt


def _finding(finding: Finding, cells: Mapping[str, Cells]) -> Finding:
    those = cells.get(finding.location.path)
    if those is None:
        return finding
    fix = finding.fix
    if fix is not None:
        edits = tuple(replace(e, location=in_cell(e.location, those)) for e in fix.edits)
        fix = replace(fix, edits=edits)
    return replace(
        finding,
        location=in_cell(finding.location, those),
        related=tuple(_related(related, cells) for related in finding.related),
        fix=fix,
        assumptions=tuple(
            replace(each, location=in_cell(each.location, cells.get(each.location.path, ())))
            for each in finding.assumptions
        ),
    )


def _related(related: Related, cells: Mapping[str, Cells]) -> Related:
    those = cells.get(related.location.path, ())
    return replace(related, location=in_cell(related.location, those))
