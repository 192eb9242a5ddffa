"""The claims of the rules about meetings: what differs from rule to rule is what each says."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import Assumption, AssumptionKind, Assumptions
from devlint.inference.domain.provenance import StepKind
from devlint.inference.facts import Facts, Meeting, MeetingKind
from devlint.rule import Claim, Replacement
from devlint_rules.helpers.assumptions import function_is_called, self_test
from devlint_rules.helpers.causes import Cause, causes
from devlint_rules.helpers.edits import MOVE, told
from devlint_rules.helpers.ownership import rule_of_meeting
from devlint_rules.helpers.wording import clash, is_made_inside, made_inside, meeting_trace

_GUESSES = frozenset(
    {
        AssumptionKind.UNKNOWN_CALLEE_KEEPS_DEVICE,
        AssumptionKind.CALLEE_BRINGS_TOGETHER,
        AssumptionKind.BRANCH_TAKEN,
        AssumptionKind.KEPT_VALUE_IS_OF_BRANCH,
        AssumptionKind.BRANCHES_COMBINE,
    }
)


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
    move: Callable[[Meeting], str] = lambda _: MOVE,
    assumptions: Callable[[Meeting], Assumptions] = lambda meeting: meeting.assumptions,
) -> Iterator[Claim]:
    """A claim for each meeting of a rule.  ``otherwise``: an unsafe fix where there is no other.
    ``advice`` is for meetings without a fix; else it is what the fix writes, behind ``move``."""
    for cause in causes_of(facts, code):
        meeting = cause.meeting
        inside = is_made_inside(meeting)  # what this call gives back is not what is out of place
        found = () if inside else fix(facts, meeting)
        written = () if inside else found or otherwise(facts, meeting)
        assumed = assumptions(meeting) + function_is_called(facts, meeting.site)
        if meeting.inside is not None:  # the check alone hands this to what it calls
            assumed += self_test(facts, meeting.site)
        unfixed = made_inside if inside else advice
        yield Claim(
            meeting.site,
            Severity.ERROR,
            confidence_of(assumed),
            message(meeting),
            advice=told(facts, written, move(meeting)) if written else unfixed(meeting),
            trace=meeting_trace(meeting, cause.twins),
            fix=written,
            applicability=applicability if found else Applicability.UNSAFE,
            given=meeting.given,
            assumptions=assumed,
        )


_SAID_BY_MOVES = frozenset(
    {AssumptionKind.BATCH_BELONGS_TOGETHER, AssumptionKind.SOURCE_OF_MOVE_IS_ELSEWHERE}
)


def _is_fed_by_loader(meeting: Meeting) -> bool:
    """A batch of a loader in sight comes to the module that a callee applies to it as it is."""
    is_batch = {step.kind for step in meeting.left.steps} == {StepKind.LOADED}
    return is_batch and meeting.inside is not None and meeting.kind is MeetingKind.INPUT


def with_both_meant(meeting: Meeting) -> Assumptions:
    """Where one of two devices is a guess, something out of sight mostly brings them together; not
    where what is out of place is made in sight, and never moved, as of an input that is a list; nor
    where a move in sight says where it is not."""
    kinds = {each.kind for each in meeting.assumptions} - {AssumptionKind.MODULE_USES_ALL_INPUTS}
    if not kinds or not kinds.isdisjoint(_SAID_BY_MOVES):
        return meeting.assumptions
    if meeting.left.converted:
        kinds.discard(AssumptionKind.BRANCH_TAKEN)  # nobody moves what is none before
    guessed = not kinds.isdisjoint(_GUESSES)
    made = meeting.left.steps and meeting.left.steps[0].kind is StepKind.CREATED
    if (made or _is_fed_by_loader(meeting)) and not meeting.left.moved and not guessed:
        return meeting.assumptions
    return with_meant(meeting)


def with_meant(meeting: Meeting) -> Assumptions:
    """The assumptions of a meeting, and that the two are to be where they are said to be."""
    message = "nothing out of sight brings the two together"
    meant = Assumption(AssumptionKind.BOTH_DEVICES_ARE_MEANT, meeting.site, message)
    return (*meeting.assumptions, meant)
