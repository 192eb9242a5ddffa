"""What a fix writes, in the words of its finding's advice: the two are one.

`noise.to(x.device)` is told as "move it before they meet: `noise.to(x.device)`", and an argument
added to a factory as "make it where the other one lives: `torch.randn(3, device=x.device)`".
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.facts import Facts
from devlint.inference.syntax.code_generator import code_of
from devlint.rule import Replacement
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.rewrites import parsed, receiver, text_of

MAKE = "make it where the other one lives"
MOVE = "move it before they meet"
_LONGEST = 80


def told(facts: Facts, fix: tuple[Replacement, ...], move: str = MOVE, make: str = MAKE) -> str:
    """The advice that a fix follows."""
    first = fix[0]
    factory = _factory(facts, first)
    if factory is None:
        return f"{move}: `{_moved(first.text)}`"
    return f"{make}: `{factory}`"


def _factory(facts: Facts, replacement: Replacement) -> str | None:
    """The call that gets an argument: the last one is replaced by itself and the new one."""
    node, text = replacement.site.node, replacement.text
    if isinstance(node, cst.Call) and not node.args and text.startswith(f"{text_of(node.func)}(d"):
        return text
    if not isinstance(node, cst.Arg):
        return None
    call = path_to(facts.source.tree, node)[0]
    assert isinstance(call, cst.Call)
    before = "".join(f"{text_of(arg)}" for arg in call.args[:-1])
    whole = f"{text_of(call.func)}({before}{text})"
    if len(whole) <= _LONGEST and "\n" not in whole:
        return whole
    return f"{text_of(call.func)}(…, {text.rpartition(', ')[2]})"


def _moved(text: str) -> str:
    """A moved value on one line; of a long one what is done with it."""
    if len(text) <= _LONGEST and "\n" not in text:
        return text
    held = receiver(parsed(text))
    return "…" if held is None else f"(…){text[len(code_of(held)) :]}"
