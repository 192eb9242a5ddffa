"""What the rules on mentions of an accelerator share: one finding per cause."""

from __future__ import annotations

from collections.abc import Iterable

from devlint.inference.facts import Facts, Mention
from devlint.rule import Note
from devlint_rules.helpers.ownership import rule_of_mention


def unguarded(facts: Facts, code: str) -> list[list[Mention]]:
    """The mentions that a rule judges and no condition guards.

    A script's main part and the library code beside it are two causes, since the mending differs.
    """
    asked = [m for m in facts.mentions if not (m.guarded or m.follows)]
    mentions = [m for m in asked if rule_of_mention(m) == code]
    groups = ([m for m in mentions if not m.in_main], [m for m in mentions if m.in_main])
    return [group for group in groups if group]


def twins(others: Iterable[Mention]) -> tuple[Note, ...]:
    """The other places of the same cause."""
    return tuple(Note(mention.site, f"`{mention.text}` here, too") for mention in others)
