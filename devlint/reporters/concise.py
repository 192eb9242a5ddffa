"""The concise report: `path:line:column: code severity: message`, one line a finding."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import FileError, Finding, Location, source_name
from devlint.report import Report
from devlint.reporters.options import Options
from devlint.reporters.text import STYLES
from devlint.reporters.wording import is_fixable, path_for, sentence, summary
from devlint.terminal import show, styler


def render(report: Report, options: Options) -> str:
    return "".join(f"{line}\n" for line in _lines(report, options))


def _lines(report: Report, options: Options) -> Iterator[str]:
    style = styler(options.color)

    def place(at: Location | FileError) -> str:
        path = source_name(show(path_for(at.path, report, options.base)), at.cell)
        return f"{style(path, 'bold')}:{at.line}:{at.column}"

    def finding_line(finding: Finding, prefix: str = "") -> str:
        where = place(finding.location)
        severity = style(finding.severity.value, STYLES[finding.severity])
        fixable = " [fix]" if is_fixable(finding) else ""
        return f"{where}: {finding.rule} {prefix}{severity}: {show(sentence(finding))}{fixable}"

    yield from map(finding_line, report.findings)
    if options.show_suppressed:
        for finding in report.suppressed:
            yield finding_line(finding, "suppressed ")
    for error in report.errors:
        yield f"{place(error)}: error: {show(error.message)}"
    if options.summary:
        yield style(summary(report, options.fixed), "bold")
