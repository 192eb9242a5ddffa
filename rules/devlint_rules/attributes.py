"""What the three rules on a module's plain attributes share."""

from __future__ import annotations

import libcst as cst

from devlint.inference.facts import Facts, PlainAttribute
from devlint.rule import Note
from devlint_rules.blocks import assignment_to
from devlint_rules.rewriting import in_file
from devlint_rules.wording import history


def assignment(facts: Facts, fact: PlainAttribute) -> cst.Assign | None:
    """The statement `self.name = value`, where that is how the attribute is kept."""
    return assignment_to(facts, fact.site.node) if in_file(facts, fact.site) else None


def attribute_trace(fact: PlainAttribute) -> tuple[Note, ...]:
    """The value's history, and where it meets the module's device."""
    trace = history(fact.operand)
    if fact.used_at is not None:
        trace = (*trace, Note(fact.used_at, f"`self.{fact.attribute}` is used here"))
    return trace
