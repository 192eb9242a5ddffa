"""Findings that wait until all calls were seen: they hold only if callers hand something in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from devlint.findings import Finding, Location
from devlint.inference.feeds import Feeds, Given

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
        """The findings, as sure as the calls in sight make them."""
        for finding in self.waiting:
            given = self.given[_name_of(finding)]
            yield replace(finding, confidence=self.feeds.confidence(given, finding.confidence))

    def callees(self, is_shown: Callable[[Finding], bool]) -> set[str]:
        """The names of the functions whose further callers may change what is reported."""
        given = ((finding, self.given[_name_of(finding)]) for finding in self.waiting)
        return {each.mentioned for finding, each in given if each.waits or is_shown(finding)}


def _name_of(finding: Finding) -> Name:
    return finding.rule, finding.location, finding.message
