"""The report for people: each finding with its code frame, its trace and what to write instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from devlint.findings import FileError, Finding, Location, Severity, source_name
from devlint.report import Report
from devlint.reporters.options import Options
from devlint.reporters.wording import doubts, path_for, summary
from devlint.terminal import Style, columns, printable, show, styler

STYLES = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "bold yellow",
    Severity.PERFORMANCE: "bold cyan",
}
FRAME = "bold blue"
FULL_LINES = 4  # a span of more lines is cut after its first ones
LONGEST = 140  # characters of a line; of a longer one the part around the span is shown
LEAD = 40  # characters kept before the span then


def render(report: Report, options: Options | None = None) -> str:
    """The whole report; empty if there is nothing to say and no summary is wanted."""
    options = options or Options()
    page = _Page(report, options)
    blocks = ["\n".join(page.finding(finding)) for finding in report.findings]
    if options.show_suppressed:
        blocks += ["\n".join(page.finding(finding, "suppressed ")) for finding in report.suppressed]
    blocks += ["\n".join(page.error(error)) for error in report.errors]
    if options.summary:
        blocks.append(page.style(summary(report, options.fixed), "bold"))
    return "".join(f"{block}\n\n" for block in blocks[:-1]) + "".join(f"{b}\n" for b in blocks[-1:])


def finding_block(finding: Finding, report: Report, options: Options) -> str:
    """One finding as it stands in the report."""
    return "\n".join(_Page(report, options).finding(finding))


class _Page:
    """Renders with one report's excerpts and one run's options."""

    def __init__(self, report: Report, options: Options) -> None:
        self.report = report
        self.options = options
        self.style: Style = styler(options.color)

    def finding(self, finding: Finding, prefix: str = "") -> Iterator[str]:
        style = STYLES[finding.severity]
        head = self.style(f"{prefix}{finding.severity.value}[{finding.rule}]", style)
        yield f"{head} {self.style(f'{finding.name}: {show(finding.message)}', 'bold')}"
        places = (finding.location, *(related.location for related in finding.related))
        margin = max(len(str(self.last_line(place))) for place in places)
        yield self.arrow(finding.location, margin)
        yield self.bar(margin)
        yield from self.frame(finding.location, margin, "^", style)
        if finding.related:
            yield self.bar(margin)
        here = finding.location.source
        for number, related in enumerate(finding.related, 1):
            place = related.location
            elsewhere = "" if place.source == here else f" ({self.place(place)})"
            yield self.remark(margin, f"note {number}", show(related.message) + elsewhere)
            yield from self.frame(place, margin, "-", FRAME, lines=1)
        for doubt in doubts(finding):
            yield self.remark(margin, doubt.word, show(doubt.text))
        if finding.advice:
            yield self.bar(margin)
            yield self.remark(margin, "help", show(finding.advice), "bold green")

    def error(self, error: FileError) -> Iterator[str]:
        head = self.style("error", STYLES[Severity.ERROR])
        yield f"{head}{self.style(f': {show(error.message)}', 'bold')}"
        place = Location(
            error.path, error.line, error.column, error.line, error.column + 1, cell=error.cell
        )
        margin = len(str(error.line))
        yield self.arrow(place, margin)
        if error.line in self.report.excerpts.get(error.source, {}):
            yield self.bar(margin)
            yield from self.frame(place, margin, "^", STYLES[Severity.ERROR])

    # --- the parts of a frame -----------------------------------------------------------------

    def arrow(self, place: Location, margin: int) -> str:
        return f"{' ' * margin}{self.style('-->', FRAME)} {self.place(place)}"

    def bar(self, margin: int) -> str:
        return " " * margin + self.style(" |", FRAME)

    def remark(self, margin: int, word: str, text: str, style: str = "bold") -> str:
        return f"{' ' * margin}{self.style(' =', FRAME)} {self.style(word, style)}: {text}"

    def place(self, place: Location) -> str:
        path = path_for(place.path, self.report, self.options.base)
        return f"{source_name(show(path), place.cell)}:{place.line}:{place.column}"

    def last_line(self, place: Location) -> int:
        return min(place.end_line, place.line + FULL_LINES - 1)

    def frame(
        self, place: Location, margin: int, mark: str, style: str, lines: int = FULL_LINES
    ) -> Iterator[str]:
        """The lines of a span, each underlined."""
        excerpt: Mapping[int, str] = self.report.excerpts.get(place.source, {})
        shown = range(place.line, min(place.end_line, place.line + lines - 1) + 1)
        for number in shown:
            if number not in excerpt:
                return
            text = excerpt[number]
            start = place.column - 1 if number == place.line else len(text) - len(text.lstrip())
            end = place.end_column - 1 if number == place.end_line else len(text.rstrip())
            picture, indent, length = _picture(text, start, end)
            if not picture.strip():
                continue
            gutter = self.style(f"{number:>{margin}} |", FRAME)
            yield f"{gutter} {picture}"
            if length:
                underline = self.style(mark * length, style)
                yield f"{self.bar(margin)} {' ' * indent}{underline}"
        if place.end_line > shown[-1] and lines > 1:
            yield self.style("." * max(margin, 3), FRAME)


def _picture(text: str, start: int, end: int) -> tuple[str, int, int]:
    """A line as it is shown, and the columns at which its span starts and that it takes."""
    cut_left = cut_right = ""
    if len(text) > LONGEST:
        first = max(0, min(start - LEAD, len(text) - LONGEST))
        cut_left = "…" if first else ""
        cut_right = "…" if first + LONGEST < len(text) else ""
        text = text[first : first + LONGEST]
        start, end = start - first, min(end - first, len(text))
    text = text.rstrip("\r\n")
    shown = "".join(map(printable, text)).rstrip()
    indent = columns(cut_left + text[:start])
    length = max(columns(text[start:end]), 1 if end > start or start >= len(text) else 0)
    return cut_left + shown + cut_right, indent, length
