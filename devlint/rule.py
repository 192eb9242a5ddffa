"""What a rule is: its code, its documentation page, its examples, and a check over facts.

A rule file in a pack (ours is `rules/devlint_rules/`) defines one `RULE`. The examples are the
rule's tests: every `bad` one must give the rule's finding, no `good` one may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import TYPE_CHECKING

from devlint.findings import Applicability, Confidence, Severity
from devlint.records import dataclass

# A check whose outcome is known asks for no rule, and does without LibCST.
if TYPE_CHECKING:
    from devlint.inference.call_contexts import Given
    from devlint.inference.domain.assumptions import Assumptions
    from devlint.inference.facts import Facts, Site


@dataclass(frozen=True, slots=True)
class Replacement:
    """Put `text` in the place of a node; `Claim.fix` is a group of these."""

    site: Site
    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """One step of a trace."""

    site: Site
    message: str


@dataclass(frozen=True, slots=True)
class Claim:
    """What a rule says of one place, before places become lines and columns."""

    site: Site
    severity: Severity
    confidence: Confidence
    message: str
    advice: str = ""
    trace: tuple[Note, ...] = ()
    fix: tuple[Replacement, ...] = ()
    applicability: Applicability = Applicability.SAFE
    given: Given | None = None  # it holds only if calls hand this in from a device
    assumptions: Assumptions = ()  # where there are some, they decide how sure it is


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. The texts are Markdown; `reference` is the PyTorch page that the rule rests on."""

    code: str
    name: str
    severity: Severity  # the usual one, for `devlint rules`; a claim has its own
    summary: str  # one line: what it says
    what: str
    why: str
    reference: str
    bad: tuple[str, ...]
    good: tuple[str, ...]
    check: Callable[[Facts], Iterable[Claim]]
    fix: str = ""  # what the fix does; "" where there is none
    twin: str = ""  # what a run under the guard shows: how `devlint confirm` judges its findings
    limits: str = ""  # what it does not see, and where it may be wrong
    preview: bool = field(default=False)
