"""Claims of rules become findings: nodes become places, notes a trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import libcst as cst

from devlint.check.edits import fix_of
from devlint.findings import Assumption, Finding, Location, Related, Severity
from devlint.inference.facts import Site
from devlint.positions import Layout, Span, lay_out
from devlint.project.source import ParsedFile, lines_of
from devlint.rule import Claim, Rule
from devlint.suppression import statements

EXCERPT_LINES = 12  # of a span, kept for code frames

Layouts = dict[ParsedFile, Layout]


def lay_out_claims(parsed: ParsedFile, claims: Iterable[Claim], commented: bool) -> Layouts:
    """One pass over each file that a claim touches; with its comments and statements over
    `parsed`, if `commented`."""
    nodes: dict[ParsedFile, list[Site]] = {parsed: []} if commented else {}
    for claim in claims:
        sites = (
            claim.site,
            *(note.site for note in claim.trace),
            *(replacement.site for replacement in claim.fix),
            # one about a whole file is told at the finding
            *(each.site for each in claim.assumptions if type(each.site.node) is not cst.Module),
        )
        for site in sites:
            if isinstance(site.source, ParsedFile):
                nodes.setdefault(site.source, []).append(site)
    layouts = {}
    for source, sites_there in nodes.items():
        wanted = [site.node for site in sites_there]
        with_comments = commented and source is parsed
        if with_comments:
            wanted += statements(parsed.tree)
        layouts[source] = lay_out(source, wanted, comments=with_comments)
    return layouts


def finding_of(
    rule: Rule, claim: Claim, severity: Severity, parsed: ParsedFile, layouts: Layouts
) -> Finding | None:
    """A claim with its places; None if it is of no place in the file."""
    span = _span(claim.site, layouts)
    if span is None or claim.site.source is not parsed:
        return None
    return Finding(
        rule.code,
        rule.name,
        severity,
        claim.confidence,
        span.location(parsed.path),
        claim.message,
        claim.advice,
        tuple(_trace(claim, layouts)),
        fix_of(claim, parsed, layouts),
        tuple(_assumed(claim, span.location(parsed.path), layouts)),
    )


def _trace(claim: Claim, layouts: Layouts) -> Iterator[Related]:
    for note in claim.trace:
        span = _span(note.site, layouts)
        if span is not None:
            yield Related(span.location(note.site.source.path), note.message)


def _assumed(claim: Claim, finding: Location, layouts: Layouts) -> Iterator[Assumption]:
    """The assumptions; one about a whole file is at the finding."""
    for assumption in claim.assumptions:
        site = assumption.site
        span = None if isinstance(site.node, cst.Module) else _span(site, layouts)
        place = finding if span is None else span.location(site.source.path)
        yield Assumption(assumption.kind.value, place, assumption.message)


def _span(site: Site, layouts: Layouts) -> Span | None:
    layout = layouts.get(site.source) if isinstance(site.source, ParsedFile) else None
    return layout.spans.get(site.node) if layout else None


def excerpts(finding: Finding, texts: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
    """Path, number and text of each line that the finding, its trace and its fix lie on."""
    places = [finding.location, *(related.location for related in finding.related)]
    if finding.fix:
        places += [edit.location for edit in finding.fix.edits]
    for place in places:
        lines = lines_of(texts[place.path])
        for number in range(place.line, min(place.end_line, place.line + EXCERPT_LINES) + 1):
            yield place.path, number, lines[number - 1]
