"""Findings that wait until all calls were seen: they hold only if callers hand something in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from devlint.findings import Assumption, Finding, Location
from devlint.inference.call_contexts import Feeds, Given
from devlint.inference.domain.assumptions import SHOWN_BY_CALLS, AssumptionKind

Name = tuple[str, Location, str]  # a finding's: its rule, place and message


class OpenFindings:
    """The findings that wait, each with what it rests on, and what the calls seen so far hand
    in."""

    def __init__(self) -> None:
        self.feeds = Feeds()
        self.waiting: list[tuple[Finding, Given]] = []

    def settled(self) -> Iterator[Finding]:
        """The findings, with what has to be assumed against the calls in sight, or without what
        these show."""
        for finding, given in self.waiting:
            verdict = self.feeds.verdict(given)
            kept = [_shown(each) if verdict.rises else each for each in finding.assumptions]
            against = (
                Assumption(kind.value, finding.location, message)
                for kind, message in verdict.against
            )
            yield replace(finding, assumptions=(*kept, *against))

    def callees(self, is_shown: Callable[[Finding], bool]) -> set[str]:
        """The names of the functions whose further callers may change what is reported."""
        return {
            given.mentioned for finding, given in self.waiting if given.waits or is_shown(finding)
        }


def _shown(assumption: Assumption) -> Assumption:
    """A call in sight shows what was only possible."""
    if assumption.kind not in SHOWN_BY_CALLS:
        return assumption
    return replace(assumption, kind=AssumptionKind.CALLER_IS_ACCELERATED.value)


def name_of(finding: Finding) -> Name:
    return finding.rule, finding.location, finding.message
