"""Annotations for GitHub Actions: workflow commands, which its log and the changed files show."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Finding, Location, Severity, source_name
from devlint.report import Report
from devlint.reporters.options import Options
from devlint.reporters.wording import doubts, in_cell, path_in, plain, sentence, summary

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.PERFORMANCE: "notice"}

Properties = dict[str, str | int]


def render(report: Report, options: Options) -> str:
    return "".join(f"{line}\n" for line in _lines(report, options))


def _lines(report: Report, options: Options) -> Iterator[str]:
    def where(place: Location) -> str:
        return plain(path_in(place.path, report, options.repository))

    def story(finding: Finding) -> Iterator[str]:
        yield plain(sentence(finding))
        for related in finding.related:
            place = related.location
            name = source_name(where(place), place.cell)
            yield f"{name}:{place.line}: {plain(related.message)}"
        for doubt in doubts(finding):
            yield f"{doubt.word}: {plain(doubt.text)}"

    for finding in report.findings:
        place = finding.location
        properties: Properties = {"file": where(place), "line": place.line}
        properties["endLine"] = place.end_line
        if place.line == place.end_line:  # columns of several lines mean nothing to GitHub
            properties |= {"col": place.column, "endColumn": place.end_column}
        properties["title"] = f"{finding.rule} {finding.name}{in_cell(place.cell)}"
        yield _command(LEVELS[finding.severity], properties, "\n".join(story(finding)))
    for error in report.errors:
        at = Location(error.path, error.line, error.column, error.line, error.column)
        yield _command(
            "error",
            {
                "file": where(at),
                "line": error.line,
                "title": f"devlint: not checked{in_cell(error.cell)}",
            },
            plain(error.message),
        )
    if options.summary:
        yield summary(report, options.fixed)


def _command(level: str, properties: Properties, message: str) -> str:
    said = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{level} {said}::{_data(message)}"


def _data(text: str) -> str:
    """A text in which nothing ends the command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
