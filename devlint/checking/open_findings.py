"""Findings that wait until all calls were seen: they hold only if callers hand something in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from devlint.findings import Assumption, Finding, Location
from devlint.inference.call_contexts import Feeds, Given
from devlint.inference.domain.assumptions import AssumptionKind

Name = tuple[str, Location, str]  # a finding's: its rule, place and message


class OpenFindings:
    """The findings that wait, what each rests on, and what the calls seen so far hand in."""

    def __init__(self) -> None:
        self.feeds = Feeds()
        self.given: dict[Name, Given] = {}
        self.waiting: list[Finding] = []

    def rests_on(self, finding: Finding, given: Given) -> None:
        self.given[_name_of(finding)] = given

    def is_open(self, finding: Finding) -> bool:
        return _name_of(finding) in self.given

    def settled(self) -> Iterator[Finding]:
        """The findings, with what has to be assumed against the calls in sight, or without what
        these show."""
        for finding in self.waiting:
            verdict = self.feeds.verdict(self.given[_name_of(finding)])
            kept = [_shown(each) if verdict.rises else each for each in finding.assumptions]
            against = (
                Assumption(kind.value, finding.location, message)
                for kind, message in verdict.against
            )
            yield replace(finding, assumptions=(*kept, *against))

    def callees(self, is_shown: Callable[[Finding], bool]) -> set[str]:
        """The names of the functions whose further callers may change what is reported."""
        given = ((finding, self.given[_name_of(finding)]) for finding in self.waiting)
        return {each.mentioned for finding, each in given if each.waits or is_shown(finding)}


def _shown(assumption: Assumption) -> Assumption:
    """A call in sight shows what was only possible."""
    if assumption.kind != AssumptionKind.INPUT_MAY_BE_ACCELERATED.value:
        return assumption
    return replace(assumption, kind=AssumptionKind.CALLER_IS_ACCELERATED.value)


def _name_of(finding: Finding) -> Name:
    return finding.rule, finding.location, finding.message
