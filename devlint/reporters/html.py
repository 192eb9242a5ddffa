"""One self-contained HTML page: findings by file with code and trace, filters, counts as a picture.

It fetches nothing, and its content policy lets no script run but its own.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from html import escape
from itertools import groupby

from devlint.findings import Confidence, FileError, Finding, Location, Severity, source_name
from devlint.report import Report
from devlint.reporters.options import Options
from devlint.reporters.page import SCRIPT, STYLE
from devlint.reporters.previews import Hunk, hunks
from devlint.reporters.wording import doubts, path_in, plain, plural, summary
from devlint.rule import Rule

SHOWN_LINES = 12  # of a span
ROW = 20  # height of a bar with its gap


def render(report: Report, options: Options) -> str:
    return "\n".join(_Page(report, options).parts()) + "\n"


class _Page:
    def __init__(self, report: Report, options: Options) -> None:
        self.report = report
        self.options = options
        suppressed = report.suppressed if options.show_suppressed else []
        self.findings = [*report.findings, *suppressed]
        self.suppressed = set(map(id, suppressed))

    def parts(self) -> Iterator[str]:
        said = summary(self.report, self.options.fixed)
        digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
        policy = (
            f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
            f"script-src 'sha256-{digest}'"
        )
        yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
        yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
        yield '<link rel="icon" href="data:,">'
        yield f"<title>devlint: {_text(said)}</title>\n<style>{STYLE}</style>\n</head>\n<body>"
        yield f"<h1>devlint</h1>\n<p>{_text(said)}</p>"
        yield from self.picture()
        yield from self.filters()
        by_file = groupby(
            sorted(self.findings, key=lambda f: f.location), key=lambda f: f.location.path
        )
        for path, findings in by_file:
            yield from self.file(path, list(findings))
        if self.report.errors:
            yield '<section id="errors">\n<h2>Not checked</h2>'
            yield from (self.error(error) for error in self.report.errors)
            yield "</section>"
        yield from self.rules()
        yield f"<script>{SCRIPT}</script>\n</body>\n</html>"

    # --- above the findings -------------------------------------------------------------------

    def picture(self) -> Iterator[str]:
        """A bar for each rule, as long as it has findings, in the colours of their severities."""
        if not self.findings:
            return
        counts = Counter((finding.rule, finding.severity) for finding in self.findings)
        names = {finding.rule: finding.name for finding in self.findings}
        totals = Counter(finding.rule for finding in self.findings)
        order = sorted(totals, key=lambda rule: (-totals[rule], rule))
        scale = 300 / max(totals.values())
        yield f'<svg id="counts" viewBox="0 0 640 {ROW * len(order)}" role="img">'
        yield f"<title>{plural(len(self.findings), 'finding')} by rule</title>"
        for row, rule in enumerate(order):
            middle = ROW * row + 14
            yield f'<text x="0" y="{middle}">{_text(f"{rule} {names[rule]}")}</text>'
            left = 290.0
            for severity in Severity:
                width = counts[rule, severity] * scale
                if width:
                    yield (
                        f'<rect class="{severity.value}" x="{left:.1f}" y="{ROW * row + 3}" '
                        f'width="{width:.1f}" height="14"/>'
                    )
                left += width
            yield f'<text x="{left + 6:.1f}" y="{middle}">{totals[rule]}</text>'
        yield "</svg>"

    def filters(self) -> Iterator[str]:
        severities = Counter(finding.severity for finding in self.findings)
        confidences = Counter(finding.confidence for finding in self.findings)
        yield '<form id="filters" hidden>'
        yield "<fieldset>"
        yield from (_box("severity", each.value, severities[each]) for each in Severity)
        yield "</fieldset>\n<fieldset>"
        yield from (_box("confidence", each.value, confidences[each]) for each in Confidence)
        yield '</fieldset>\n<select name="rule" aria-label="rule"><option value="">all rules'
        for rule, name in sorted({(finding.rule, finding.name) for finding in self.findings}):
            yield f'<option value="{_text(rule)}">{_text(f"{rule} {name}")}'
        yield "</select>"
        yield '<input type="search" name="words" placeholder="path or text" aria-label="words">'
        yield '<output id="shown"></output>\n</form>'

    # --- the findings -------------------------------------------------------------------------

    def file(self, path: str, findings: list[Finding]) -> Iterator[str]:
        name = path_in(path, self.report, self.options.repository)
        yield f'<section class="file">\n<h2>{_text(name)} <span class="dim">{len(findings)}</span>'
        yield "</h2>"
        for finding in findings:
            yield from self.finding(finding)
        yield "</section>"

    def finding(self, finding: Finding) -> Iterator[str]:
        severity, confidence = finding.severity.value, finding.confidence.value
        suppressed = "suppressed " if id(finding) in self.suppressed else ""
        yield (
            f'<article data-severity="{severity}" data-confidence="{confidence}" '
            f'data-rule="{_text(finding.rule)}">'
        )
        yield (
            f'<h3><b class="{severity}">{suppressed}{severity}</b> '
            f'<a href="#{_text(finding.rule)}">{_text(finding.rule)}</a> {_prose(finding.message)} '
            f'<span class="dim">{confidence}</span></h3>'
        )
        yield self.frame(finding.location)
        if finding.related:
            yield "<ol>"
            for related in finding.related:
                place = related.location
                elsewhere = ""
                if place.source != finding.location.source:
                    name = path_in(place.path, self.report, self.options.repository)
                    where = f"{source_name(name, place.cell)}:{place.line}"
                    elsewhere = f' <span class="dim">{_text(where)}</span>'
                yield f"<li>{_prose(related.message)}{elsewhere}{self.frame(place)}</li>"
            yield "</ol>"
        for doubt in doubts(finding):
            yield f'<p class="dim">{_text(doubt.word)}: {_prose(doubt.text)}</p>'
        if finding.advice:
            yield f'<p class="help"><b>Instead:</b> {_prose(finding.advice)}</p>'
        if finding.fix:
            changed = hunks(finding.fix, self.report.excerpts)
            if changed:
                how = "--fix" if finding.fix.applicability.value == "safe" else "--unsafe-fixes"
                yield f"<details><summary>fix (<code>{how}</code>)</summary>"
                yield from map(_change, changed)
                yield "</details>"
        yield "</article>"

    def frame(self, place: Location) -> str:
        """The lines of a span, its text marked; nothing where they are not at hand."""
        excerpt = self.report.excerpts.get(place.source, {})
        rows = []
        for number in range(place.line, min(place.end_line, place.line + SHOWN_LINES - 1) + 1):
            if number not in excerpt:
                break
            line = excerpt[number]
            start = place.column - 1 if number == place.line else len(line) - len(line.lstrip())
            end = place.end_column - 1 if number == place.end_line else len(line.rstrip())
            marked = (
                f"{_text(line[:start])}<mark>{_text(line[start:end])}</mark>{_text(line[end:])}"
            )
            rows.append(f'<span class="n">{number}</span>{marked}')
        return f"<pre>{chr(10).join(rows)}</pre>" if rows else ""

    def error(self, error: FileError) -> str:
        name = path_in(error.path, self.report, self.options.repository)
        where = _text(f"{name}:{error.line}:{error.column}")
        return f"<p><code>{where}</code> {_text(error.message)}</p>"

    def rules(self) -> Iterator[str]:
        used = {finding.rule for finding in self.findings}
        pages = [rule for rule in self.options.rules if rule.code in used]
        if pages:
            yield "<section>\n<h2>Rules</h2>"
            for rule in pages:
                yield from _rule(rule)
            yield "</section>"


def _box(name: str, value: str, count: int) -> str:
    return (
        f'<label><input type="checkbox" name="{name}" value="{value}" checked> '
        f'{value} <span class="dim">{count}</span></label>'
    )


def _change(hunk: Hunk) -> str:
    lines = [f'<span class="go">-{_text(line)}</span>' for line in hunk.before]
    lines += [f'<span class="come">+{_text(line)}</span>' for line in hunk.after]
    return f"<pre>{''.join(lines)}</pre>"


def _rule(rule: Rule) -> Iterator[str]:
    yield f'<details id="{_text(rule.code)}">'
    yield f"<summary>{_text(rule.code)} {_text(rule.name)}: {_prose(rule.summary)}</summary>"
    yield f"<p>{_prose(rule.what)}</p>\n<p>{_prose(rule.why)}</p>"
    yield from _examples("Example", rule.bad[:1])
    yield from _examples("Use instead", rule.good[:1])
    if rule.reference:
        yield f'<p><a href="{_text(rule.reference)}" rel="noreferrer">PyTorch on this</a></p>'
    yield "</details>"


def _examples(title: str, examples: Iterable[str]) -> Iterator[str]:
    for example in examples:
        lines = "\n".join(map(_text, example.strip().split("\n")))
        yield f"<p><b>{title}</b></p>\n<pre>{lines}</pre>"


def _prose(text: str) -> str:
    """A message of ours: what is between backticks is code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # not all of them are ours
        return _text(text)
    return "".join(
        f"<code>{_text(part)}</code>" if number % 2 else _text(part)
        for number, part in enumerate(parts)
    )


def _text(text: str) -> str:
    return escape(plain(text))
