"""The claims of the rules about meetings: what differs from rule to rule is what each says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from devlint.findings import Applicability, Confidence, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import Assumption, AssumptionKind
from devlint.inference.facts import Facts, Meeting
from devlint.rule import Claim, Replacement
from devlint_rules.causes import Cause, causes
from devlint_rules.ownership import rule_of_meeting
from devlint_rules.wording import clash, meeting_trace


def causes_of(facts: Facts, code: str) -> Iterator[Cause]:
    """The meetings that belong to a rule, one for each cause."""
    return (cause for cause in causes(facts) if rule_of_meeting(cause.meeting) == code)


def claims(
    facts: Facts,
    code: str,
    *,
    advice: Callable[[Meeting], str],
    fix: Callable[[Facts, Meeting], tuple[Replacement, ...]],
    message: Callable[[Meeting], str] = clash,
    applicability: Applicability = Applicability.UNSAFE,
    otherwise: Callable[[Facts, Meeting], tuple[Replacement, ...]] = lambda *_: (),
) -> Iterator[Claim]:
    """A claim for each meeting of a rule.  ``otherwise``: an unsafe fix where there is no other."""
    for cause in causes_of(facts, code):
        meeting = cause.meeting
        found = fix(facts, meeting)
        unsafe = () if found else otherwise(facts, meeting)
        yield Claim(
            meeting.site,
            Severity.ERROR,
            meeting.confidence,
            message(meeting),
            advice=advice(meeting),
            trace=meeting_trace(meeting, cause.twins),
            fix=found or unsafe,
            applicability=Applicability.UNSAFE if unsafe else applicability,
            given=meeting.given,
            assumptions=meeting.assumptions,
        )


def only_certain(found: Iterator[Claim]) -> Iterator[Claim]:
    """The claims of which what is no more than likely is only possible."""
    for claim in found:
        if claim.confidence is Confidence.LIKELY:
            message = "nothing out of sight brings the two together"
            meant = Assumption(AssumptionKind.BOTH_DEVICES_ARE_MEANT, claim.site, message)
            assumed = (*claim.assumptions, meant)
            yield replace(claim, confidence=confidence_of(assumed), assumptions=assumed)
        else:
            yield claim
