"""The claims of the rules about meetings: what differs from rule to rule is what each says."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from devlint.findings import Applicability, Severity
from devlint.inference.facts import Facts, Meeting
from devlint.rule import Claim, Replacement
from devlint_rules.ownership import rule_of_meeting
from devlint_rules.wording import clash, meeting_trace


def meetings_of(facts: Facts, code: str) -> Iterator[Meeting]:
    """The meetings that belong to a rule."""
    return (meeting for meeting in facts.meetings if rule_of_meeting(meeting) == code)


def claims(
    facts: Facts,
    code: str,
    *,
    advice: Callable[[Meeting], str],
    fix: Callable[[Facts, Meeting], tuple[Replacement, ...]],
    message: Callable[[Meeting], str] = clash,
    applicability: Applicability = Applicability.UNSAFE,
) -> Iterator[Claim]:
    """A claim for each meeting of a rule."""
    for meeting in meetings_of(facts, code):
        yield Claim(
            meeting.site,
            Severity.ERROR,
            meeting.confidence,
            message(meeting),
            advice=advice(meeting),
            trace=meeting_trace(meeting),
            fix=fix(facts, meeting),
            applicability=applicability,
        )
