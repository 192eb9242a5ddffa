"""The report for language models: what, where, why and the edit, in few words.

Each finding is a block: its place, rule and claim; the steps of its trace (`why`); what to write
instead (`do`); and the fix as the lines that go and come.
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Finding, Location, source_name
from devlint.report import Report
from devlint.reporters.options import Options
from devlint.reporters.previews import hunks
from devlint.reporters.wording import doubts, is_fixable, path_for, plain, plural, tally


def render(report: Report, options: Options) -> str:
    return "".join(f"{line}\n" for line in _lines(report, options))


def _lines(report: Report, options: Options) -> Iterator[str]:
    def where(place: Location) -> str:
        path = plain(path_for(place.path, report, options.base))
        return f"{source_name(path, place.cell)}:{place.line}:{place.column}"

    def block(finding: Finding) -> Iterator[str]:
        kind = f"{finding.severity.value}, {finding.confidence.value}"
        yield f"{where(finding.location)} {finding.rule} ({kind}): {plain(finding.message)}"
        code = report.excerpts.get(finding.location.source, {}).get(finding.location.line)
        if code is not None:
            yield f"  code: {plain(code.strip())}"
        for related in finding.related:
            yield f"  why: {where(related.location)} {plain(related.message)}"
        for doubt in doubts(finding):
            yield f"  {doubt.word}: {plain(doubt.text)}"
        if finding.advice:
            yield f"  do: {plain(finding.advice)}"
        if finding.fix:
            for hunk in hunks(finding.fix, report.excerpts):
                yield f"  edit ({finding.fix.applicability.value}) at line {hunk.line}:"
                yield from (f"  - {plain(line)}" for line in hunk.before)
                yield from (f"  + {plain(line)}" for line in hunk.after)

    for finding in report.findings:
        yield from block(finding)
    for error in report.errors:
        line, column = error.line, error.column
        at = Location(error.path, line, column, line, column, cell=error.cell)
        yield f"{where(at)} not checked: {plain(error.message)}"
    if options.summary:
        yield f"{tally(report.findings) or 'no findings'} in {plural(len(report.checked), 'file')}"
        fixable = sum(map(is_fixable, report.findings))
        if fixable:
            yield f"{fixable} of them: devlint check --fix"
        if report.findings:
            yield f"more about a rule: devlint explain {report.findings[0].rule}"
