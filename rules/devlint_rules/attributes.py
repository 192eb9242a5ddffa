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


def use_of(fact: PlainAttribute) -> tuple[Note, ...]:
    """Where the attribute meets the module's device, if that was seen."""
    if fact.used_at is None:
        return ()
    return (Note(fact.used_at, f"`self.{fact.attribute}` is used here"),)


def attribute_trace(fact: PlainAttribute) -> tuple[Note, ...]:
    """The value's history, and where the attribute is used."""
    return (*history(fact.operand), *use_of(fact))
