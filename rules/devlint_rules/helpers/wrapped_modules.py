"""Modules that are wrapped for cards they are not on: where to move them, and to what."""

from __future__ import annotations

import libcst as cst

from devlint.inference.facts import Facts, Meeting
from devlint.rule import Replacement
from devlint_rules.helpers.rewrites import is_path, moved_to, name_as_atom, text_of


def advice(meeting: Meeting) -> str:
    """Code to write, as far as the first card is written down."""
    module, card = meeting.left, _first_card(meeting)
    if not card:
        return f"move `{module.name}` to the first of its cards before"
    return f"move it there before: `{name_as_atom(module)}.to({card})`"


def fix(facts: Facts, meeting: Meeting) -> tuple[Replacement, ...]:
    """Move the module where it is wrapped; not where the wrapper is called, again and again."""
    wrapped, card = meeting.left.site.node, _first_card(meeting)
    call = meeting.site.node
    if not card or not isinstance(call, cst.Call) or wrapped is call.func:
        return ()
    return moved_to(facts, meeting.left, card)


def _first_card(meeting: Meeting) -> str:
    """`rank` of `device_ids=[rank]`, `"cuda:0"` of `[0, 1]`; "" where it is neither."""
    cards = meeting.right.site.node
    if not isinstance(cards, (cst.List, cst.Tuple)) or not cards.elements:
        return ""
    first = cards.elements[0].value
    if isinstance(first, cst.Integer):
        return f'"cuda:{first.value}"'
    return text_of(first) if is_path(text_of(first)) else ""
