"""Pinned memory that only an accelerator has: how to ask for it where there may be none."""

from __future__ import annotations

import libcst as cst

from devlint.inference.facts import Facts, Mention, Site
from devlint.rule import Replacement
from devlint_rules.helpers.rewrites import argument, in_file, receiver, short

_ASK = "torch.cuda.is_available()"


def advice(mention: Mention) -> str:
    """Code to write: the option with the question, or the method behind it."""
    node = mention.site.node
    asking = f"ask first (`pin_memory={_ASK}`)"
    if isinstance(node, cst.Call) and argument(node, "pin_memory") is None:
        held = receiver(node)
        name = short(held) if isinstance(held, (cst.Name, cst.Attribute)) else "x"
        asking = f"ask first (`if {_ASK}: {name} = {name}.pin_memory()`)"
    return f"{asking}, or let a DataLoader pin, which goes without where it cannot"


def fix(facts: Facts, mentions: list[Mention]) -> tuple[Replacement, ...]:
    """The question in the place of each `True`, where all of them are options, and the code calls
    torch by its name."""
    found = []
    for mention in mentions:
        node = mention.site.node
        option = argument(node, "pin_memory") if isinstance(node, cst.Call) else None
        if option is None or not mention.text.startswith("torch."):
            return ()
        found.append(Replacement(Site(mention.site.source, option.value), _ASK))
    return tuple(found) if in_file(facts, *(mention.site for mention in mentions)) else ()
