"""Calls that concern the whole card: how often they run, and how a claim says so."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.facts import CardWideCall, Facts, Hotness, Site
from devlint.inference.syntax.words import asks_for_accelerator
from devlint.rule import Note
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.wording import loop_note


def runs_each_step(facts: Facts, call: CardWideCall) -> bool:
    """In every turn of a hot loop, or of a function that runs once per step; not under a condition
    other than on the device, nor in an `except`, which runs when something has failed."""
    loop = call.loop
    if call.cold:
        return False
    for step in path_to(facts.source.tree, call.site.node):
        if isinstance(step, cst.ExceptHandler):
            return False
        if isinstance(step, cst.If) and not asks_for_accelerator(step.test):
            return False
        is_loop = call.loop is not None and step is call.loop.site.node
        if is_loop or isinstance(step, cst.FunctionDef):
            break
    if call.in_step:
        return True
    return loop is not None and loop.hotness is Hotness.HOT and (loop.feeds_device or loop.trains)


def when(call: CardWideCall) -> str:
    """How often it runs."""
    if call.loop is not None and call.loop.hotness is Hotness.HOT:
        return "in every iteration"
    return f"in every call of `{call.in_step}`"


def step_notes(call: CardWideCall) -> Iterator[Note]:
    """The loop or the function that says how often it runs."""
    if call.loop is not None and call.loop.hotness is Hotness.HOT:
        yield loop_note(call.loop)
    elif call.function is not None:
        node = call.function.node
        name = node.name if isinstance(node, cst.FunctionDef) else node
        yield Note(Site(call.function.source, name), f"`{call.in_step}` runs once per step")
