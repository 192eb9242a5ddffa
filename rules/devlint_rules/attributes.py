"""What the three rules on a module's plain attributes share."""

from __future__ import annotations

import libcst as cst

from devlint.inference.facts import Facts, PlainAttribute
from devlint.rule import Note
from devlint_rules.rewriting import in_file
from devlint_rules.wording import history


def assigned_value(facts: Facts, fact: PlainAttribute) -> cst.BaseExpression | None:
    """The right side of `self.name = value`, where the fact is such a statement."""
    node = fact.site.node
    if not in_file(facts, fact.site):
        return None
    if isinstance(node, cst.Assign) and len(node.targets) == 1:
        return node.value if _is_own(node.targets[0].target, fact) else None
    if isinstance(node, cst.AnnAssign):
        return node.value if _is_own(node.target, fact) else None
    return None


def _is_own(target: cst.BaseAssignTargetExpression, fact: PlainAttribute) -> bool:
    return isinstance(target, cst.Attribute) and target.attr.value == fact.attribute


def attribute_trace(fact: PlainAttribute) -> tuple[Note, ...]:
    """The value's history, and where it meets the module's device."""
    trace = history(fact.operand)
    if fact.used_at is not None:
        trace = (*trace, Note(fact.used_at, f"`self.{fact.attribute}` is used here"))
    return trace
