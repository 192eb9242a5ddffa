"""What the three rules on a module's plain attributes share."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from devlint.inference.facts import Facts, PlainAttribute, Site
from devlint.rule import Note
from devlint_rules.helpers.blocks import assignment_to
from devlint_rules.helpers.rewrites import in_file
from devlint_rules.helpers.wording import MAX_TWINS, history


def assignment(facts: Facts, fact: PlainAttribute) -> cst.Assign | None:
    """The statement `self.name = value`, where that is how the attribute is kept."""
    return assignment_to(facts, fact.site.node) if in_file(facts, fact.site) else None


def use_of(fact: PlainAttribute, uses: Sequence[Site] = ()) -> tuple[Note, ...]:
    """Where the attribute meets the module's device, if that was seen."""
    shown = fact.used_at or fact.read_at
    sites = uses or ([shown] if shown is not None else [])
    return tuple(Note(site, f"`self.{fact.attribute}` is used here") for site in sites[:MAX_TWINS])


def attribute_trace(fact: PlainAttribute, uses: Sequence[Site] = ()) -> tuple[Note, ...]:
    """The value's history, and where the attribute is used."""
    if fact.was_given:
        made = "handed in, and made before anybody could move the module"
        begun = tuple(Note(step.site, made) for step in fact.operand.steps[:1])
        return (*begun, *use_of(fact, uses))
    return (*history(fact.operand), *use_of(fact, uses))
