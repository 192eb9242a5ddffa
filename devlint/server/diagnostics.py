"""Findings and errors as diagnostics."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from devlint.findings import FileError, Finding, Severity
from devlint.reporters.wording import doubts, plain, sentence
from devlint.server.document_check import Checked
from devlint.server.positions import range_of, range_of_error
from devlint.server.settings import Settings
from devlint.suppression import UNUSED

SOURCE = "devlint"
SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.PERFORMANCE: types.DiagnosticSeverity.Information,
}


def diagnostics(
    checked: Checked, settings: Settings, encoding: str
) -> dict[str, list[types.Diagnostic]]:
    """The diagnostics of each document that the check was of: of a text, or of a notebook's
    cells."""
    found: dict[str, list[types.Diagnostic]] = {
        uri: [] for uri in checked.snapshot.files.get(checked.file, ())
    }
    for error in checked.errors:
        if settings.show_syntax_errors:
            found.setdefault(checked.uri(error), []).append(of_error(error, checked, encoding))
    for finding in checked.findings:
        uri = checked.uri(finding.location)
        found.setdefault(uri, []).append(of_finding(finding, checked, encoding))
    return found


def of_finding(finding: Finding, checked: Checked, encoding: str) -> types.Diagnostic:
    """A finding as a diagnostic, its trace as related information."""
    place = finding.location
    rule = next((r for r in checked.configured.rules if r.code == finding.rule), None)
    reference = rule.reference if rule else ""
    remarks = (f"{remark.word}: {remark.text}" for remark in doubts(finding))
    return types.Diagnostic(
        range_of(place, checked.lines(place), encoding),
        "\n".join(map(plain, (sentence(finding), *remarks))),
        severity=SEVERITIES[finding.severity],
        code=finding.rule,
        code_description=types.CodeDescription(reference) if reference else None,
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if finding.rule == UNUSED.code else None,
        related_information=list(_trace(finding, checked, encoding)) or None,
        data=finding.fingerprint,
    )


def of_error(error: FileError, checked: Checked, encoding: str) -> types.Diagnostic:
    """Why the file, or a part of it, was not checked."""
    return types.Diagnostic(
        range_of_error(error, checked.lines(error), encoding),
        plain(f"not checked: {error.message}"),
        severity=types.DiagnosticSeverity.Warning,
        source=SOURCE,
    )


def _trace(
    finding: Finding, checked: Checked, encoding: str
) -> Iterator[types.DiagnosticRelatedInformation]:
    for step in finding.related:
        place = step.location
        yield types.DiagnosticRelatedInformation(
            types.Location(checked.uri(place), range_of(place, checked.lines(place), encoding)),
            plain(step.message),
        )
