"""Which rule a meeting or a mention belongs to: exactly one for each."""

from __future__ import annotations

from devlint.inference.domain.placement import Device, Variable
from devlint.inference.facts import Meeting, MeetingKind, Mention
from devlint_rules.helpers.wording import is_host

_BY_KIND = {
    MeetingKind.INPUT: "DEV103",
    MeetingKind.CARDS: "DEV103",
    MeetingKind.INDEX: "DEV104",
    MeetingKind.GENERATOR: "DEV105",
}


def rule_of_meeting(meeting: Meeting) -> str:
    """The code of the rule that claims a meeting.

    What breaks a contract is DEV108. Two indices of one accelerator type are DEV106 whatever brings
    them together, since the index is what has to be mended; so is the current accelerator beside a
    device that the caller chose. Then the kind of the operation decides, and among plain operations
    whether the device is one that the reader of the code cannot know.
    """
    if meeting.kind is MeetingKind.CONTRACT:
        return "DEV108"
    left, right = meeting.left, meeting.right
    if _same_accelerator(left.placement, right.placement) or strays(meeting):
        return "DEV106"
    if meeting.kind in _BY_KIND:
        return _BY_KIND[meeting.kind]
    made_here = left.by_default or (is_host(left.placement) and not left.loaded)
    if made_here and isinstance(right.placement, Variable) and right.placement.rigid:
        return "DEV102"
    return "DEV101"


def strays(meeting: Meeting) -> bool:
    """The current accelerator meets a device that whoever calls has chosen."""
    left, right = meeting.left.placement, meeting.right.placement
    known, other = (left, right) if isinstance(left, Device) else (right, left)
    return (
        isinstance(known, Device)
        and known.is_accelerator
        and known.index is None
        and isinstance(other, Variable)
        and other.rigid
    )


def _same_accelerator(left: object, right: object) -> bool:
    return (
        isinstance(left, Device)
        and isinstance(right, Device)
        and left.is_accelerator
        and left.type == right.type
    )


def rule_of_mention(mention: Mention) -> str:
    """The code of the rule that judges a mention of an accelerator, backend or legacy type."""
    if mention.kind == "load":
        return "DEV502"
    if mention.kind == "legacy-type":
        return "DEV503"
    if mention.kind in ("backend", "pin"):
        return "DEV504"
    return "DEV505" if mention.per_rank else "DEV501"
