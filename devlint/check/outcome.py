"""The outcome of a group: all that its check says, as plain data that can travel and be kept."""

from __future__ import annotations

from dataclasses import field

from devlint.findings import FileError, Finding, Severity
from devlint.inference.call_contexts import Feed, Given
from devlint.project.questions import Asked
from devlint.records import dataclass

STAGES = ("parse", "inference", "rules", "locating")


@dataclass(frozen=True, slots=True)
class Told:
    """A finding, and what calls have to hand in for it to hold, if it waits for that.

    `unmet` is its severity where no call in sight shows it.
    """

    finding: Finding
    given: Given | None = None
    unmet: Severity | None = None


@dataclass(slots=True)
class Outcome:
    """All that the check of a group says. No tree, no reference into one.

    checked: the paths of the files that could be checked.
    excerpts: by source, the lines (by number) that findings and their traces lie on.
    feeds: what the calls in these files hand to parameters, also of other files.
    digests: of the contents that were read, by file, in hexadecimal digits.
    seconds: CPU time by stage.
    asked: all that was asked of the project.
    is_sound: nothing went wrong that may not go wrong again.
    """

    checked: list[str] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    suppressed: list[Finding] = field(default_factory=list)
    errors: list[FileError] = field(default_factory=list)
    excerpts: dict[str, dict[int, str]] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)
    feeds: list[Feed] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    asked: Asked = field(default_factory=Asked)
    is_sound: bool = True


def feed_rank(feed: Feed) -> tuple[str, ...]:
    """Their order, which no hash decides."""
    through = feed.through
    by = (through.function, through.parameter) if through else ()
    return feed.function, str(feed.parameter), feed.source.value, str(feed.one_of), *by
