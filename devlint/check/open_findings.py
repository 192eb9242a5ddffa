"""Findings that wait until all calls were seen: they hold only if callers hand something in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from devlint.check.outcome import Told
from devlint.findings import Assumption, Confidence, Finding, Location
from devlint.inference.call_contexts import Feeds
from devlint.inference.domain.assumptions import SHOWN_BY_CALLS, AssumptionKind

Name = tuple[str, Location, str]  # a finding's: its rule, place and message


class OpenFindings:
    """The findings that wait, each with what it rests on, and what the calls seen so far hand
    in."""

    def __init__(self) -> None:
        self.feeds = Feeds()
        self.waiting: list[Told] = []

    def settled(self) -> Iterator[Finding]:
        """The findings, with what has to be assumed against the calls in sight, or without what
        these show."""
        for told in self.waiting:
            finding, given = told.finding, told.given
            assert given is not None
            verdict = self.feeds.verdict(given)
            if verdict.is_shown:
                finding = _without(finding, AssumptionKind.CALLER_IS_ACCELERATED)
            kept = [_shown(each) if verdict.rises else each for each in finding.assumptions]
            against = (
                Assumption(kind.value, finding.location, message)
                for kind, message in verdict.against
            )
            severity = finding.severity if verdict.is_shown else told.unmet or finding.severity
            yield replace(finding, severity=severity, assumptions=(*kept, *against))

    def callees(self, is_shown: Callable[[Finding], bool]) -> set[str]:
        """The names of the functions whose further callers may change what is reported."""
        return {
            told.given.mentioned
            for told in self.waiting
            if told.given is not None and (told.given.waits or is_shown(told.finding))
        }


def _without(finding: Finding, kind: AssumptionKind) -> Finding:
    """A finding that a call in sight shows: it does not rest on this, and is as sure as the rest
    leaves it."""
    kept = tuple(each for each in finding.assumptions if each.kind != kind.value)
    return (
        replace(finding, assumptions=kept, confidence=Confidence.CERTAIN)
        if kept != finding.assumptions
        else finding
    )


def _shown(assumption: Assumption) -> Assumption:
    """A call in sight shows what was only possible."""
    if assumption.kind == AssumptionKind.CALL_SHOWS_DEVICE:
        return replace(assumption, kind=AssumptionKind.NAME_IS_OF_DEVICE.value)
    if assumption.kind not in SHOWN_BY_CALLS:
        return assumption
    return replace(assumption, kind=AssumptionKind.CALLER_IS_ACCELERATED.value)


def name_of(finding: Finding) -> Name:
    return finding.rule, finding.location, finding.message
