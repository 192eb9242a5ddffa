"""JUnit XML: a file without findings is a test that passes, a finding one that fails."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from devlint.findings import Finding
from devlint.report import Report
from devlint.reporters.options import Options
from devlint.reporters.wording import doubts, in_cell, path_in, place_in, plain, sentence


def render(report: Report, options: Options) -> str:
    loud = {finding.location.path for finding in report.findings}
    silent = sorted(report.checked - loud - {error.path for error in report.errors})
    counts = {
        "tests": str(len(report.findings) + len(report.errors) + len(silent)),
        "failures": str(len(report.findings)),
        "errors": str(len(report.errors)),
    }
    root = Element("testsuites", {"name": "devlint", **counts})
    suite = SubElement(root, "testsuite", {"name": "devlint", **counts})

    def case(name: str, path: str, line: int = 1) -> Element:
        shown = plain(path_in(path, report, options.repository))
        attributes = {"name": name, "classname": shown, "file": shown, "line": str(line)}
        return SubElement(suite, "testcase", attributes)

    for finding in report.findings:
        place = finding.location
        at = f"{place.line}:{place.column}{in_cell(place.cell)}"
        name = f"{finding.rule} {finding.name} at {at}"
        attributes = {"message": plain(sentence(finding)), "type": finding.severity.value}
        failure = SubElement(case(name, place.path, place.line), "failure", attributes)
        failure.text = "\n".join(_story(finding, report, options))
    for error in report.errors:
        attributes = {"message": plain(error.message), "type": "not-checked"}
        name = f"can be checked{in_cell(error.cell)}"
        SubElement(case(name, error.path, error.line), "error", attributes)
    for path in silent:
        case("has no findings", path)
    indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'


def _story(finding: Finding, report: Report, options: Options) -> Iterator[str]:
    yield f"{place_in(finding.location, report, options.repository)}: {plain(sentence(finding))}"
    for related in finding.related:
        place = place_in(related.location, report, options.repository)
        yield f"{place}: {plain(related.message)}"
    for doubt in doubts(finding):
        yield f"{doubt.word}: {plain(doubt.text)}"
