"""The report for a pull request or a job's summary: a heading, a table, and details to open."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape

from devlint.findings import Finding, Location, source_name
from devlint.report import Report
from devlint.reporters.options import Options
from devlint.reporters.previews import hunks
from devlint.reporters.text import finding_block
from devlint.reporters.wording import path_in, plain, summary, tally

LONGEST = 30  # findings: GitHub takes 65,536 characters in a comment
_SPECIAL = re.compile(r"([\\`*_{}\[\]#|~])")
_BACKTICKS = re.compile("`+")


def render(report: Report, options: Options) -> str:
    return "\n\n".join(_blocks(report, options)) + "\n"


def _blocks(report: Report, options: Options) -> Iterator[str]:
    def where(place: Location) -> str:
        path = plain(path_in(place.path, report, options.repository))
        return f"{source_name(path, place.cell)}:{place.line}"

    yield f"### devlint: {tally(report.findings) or 'no device-placement problems'}"
    shown = report.findings[:LONGEST]
    if shown:
        rows = [_row(finding, where(finding.location)) for finding in shown]
        yield "\n".join(("| severity | rule | where | what |", "| --- | --- | --- | --- |", *rows))
    if len(report.findings) > LONGEST:
        yield f"and {len(report.findings) - LONGEST} more."
    for finding in shown:
        yield from _details(finding, where(finding.location), report, options)
    if report.errors:
        yield "Not checked:"
        yield "\n".join(
            f"- {_code(where(Location(e.path, e.line, 1, e.line, 1, cell=e.cell)))}: "
            f"{_prose(e.message)}"
            for e in report.errors
        )
    if options.summary:
        yield _prose(summary(report, options.fixed))


def _row(finding: Finding, where: str) -> str:
    cells = (
        finding.severity.value,
        f"{finding.rule} {finding.name}",
        _code(where),
        _prose(finding.message),
    )
    return f"| {' | '.join(cells)} |"


def _details(finding: Finding, where: str, report: Report, options: Options) -> Iterator[str]:
    head = f"{finding.rule} at <code>{escape(where)}</code>"
    yield f"<details><summary>{head}</summary>"
    yield _fenced(finding_block(finding, report, Options(base=options.repository)).split("\n"))
    if finding.fix:
        yield from (
            _fenced(
                (
                    *(f"-{plain(line)}" for line in hunk.before),
                    *(f"+{plain(line)}" for line in hunk.after),
                ),
                "diff",
            )
            for hunk in hunks(finding.fix, report.excerpts)
        )
    yield "</details>"


def _fenced(lines: Iterable[str], language: str = "") -> str:
    """A code block whose fence no line of it can end."""
    text = "\n".join(lines)
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _code(text: str) -> str:
    """A code span, also in a table."""
    return f"`{text.replace('`', chr(0x2BB))}`".replace("|", r"\|")


def _prose(text: str) -> str:
    """A message of ours: what is between backticks is code, nothing else is Markdown or HTML."""
    text = plain(text)
    parts = text.split("`")
    if len(parts) % 2 == 0:  # not all of them are ours
        return _inert(text)
    return "".join(_code(part) if number % 2 else _inert(part) for number, part in enumerate(parts))


def _inert(text: str) -> str:
    """A text without Markdown, HTML or mentions."""
    return escape(_SPECIAL.sub(r"\\\1", text), quote=False).replace("@", "@\u200b")
