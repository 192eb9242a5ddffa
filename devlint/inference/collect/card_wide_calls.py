"""Calls that concern the whole card: `torch.cuda.synchronize()`, `torch.cuda.empty_cache()`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.collect.notes import keep_last
from devlint.inference.collect.under_way import library_name
from devlint.inference.conventions import holds
from devlint.inference.facts import CardWideCall
from devlint.inference.program.events import Called
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.summaries.waits import function_site, hot_one, loop_fact
from devlint.inference.syntax.text import every


class CardWideCalls:
    """Of one file, the calls that were noted."""

    __slots__ = ("meant", "places")

    def __init__(self, unit: Unit) -> None:
        self.places: dict[cst.CSTNode, int] = {}  # in the file's facts
        # By body, the calls that a remark on memory stands at, or right above.
        self.meant: dict[cst.CSTNode, set[cst.CSTNode]] = {}

    def is_meant(self, frame: Frame, node: cst.Call) -> bool:
        body = frame.unit.tree if frame.function is None else frame.function.node.body
        if body not in self.meant:
            self.meant[body] = set(_meant(body))
        return node in self.meant[body]


def of_call(frame: Frame, event: Called) -> None:
    """Note a call that waits for a card, or gives its memory back."""
    node, callee = event.node, event.callee
    name = library_name(callee, node)
    if not name or not holds("card-wide-callee", name):
        return
    calls, notes = frame.unit.facts.card_wide_calls, frame.unit.kept(CardWideCalls)
    function = frame.function
    text = function.text if function is not None else frame.unit.source.text
    fact = CardWideCall(
        site=frame.site(node),
        call=name.rpartition(".")[2],
        loop=loop_fact(frame, hot_one(frame.control.loop)),
        cold=frame.control.cold,
        function=function_site(frame),
        measured=holds("measuring-text", text),
        overlapping=holds("overlapping-text", text),
        meant=notes.is_meant(frame, node),
    )
    keep_last(frame, "card", calls, notes.places, fact)


_NEAR = 2  # statements above one


def _meant(body: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The calls of plain statements with a remark on memory, there or right above."""
    for block in every(body, cst.IndentedBlock):
        last = -_NEAR - 1
        for index, statement in enumerate(block.body):
            if any(holds("memory-remark", each) for each in _comments(statement)):
                last = index
            if index - last <= _NEAR and isinstance(statement, cst.SimpleStatementLine):
                yield from every(statement, cst.Call)


def _comments(statement: cst.CSTNode) -> Iterator[str]:
    """Comments above a statement, and the one at its end."""
    lines = [*getattr(statement, "leading_lines", ())]
    if isinstance(statement, cst.SimpleStatementLine):
        lines.append(statement.trailing_whitespace)
    for line in lines:
        if line.comment is not None:
            yield line.comment.value
