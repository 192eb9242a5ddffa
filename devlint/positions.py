"""From nodes to lines and columns, and from a file to its comments: one pass of code generation,
over the statements of the file that hold the nodes, or where comments are asked for over all.

LibCST's `PositionProvider` computes a position for every node of a file, which takes longer than
parsing it. Only the nodes of findings need one. So the pass notes at which *token* a wanted node
starts and ends, and the few noted tokens become lines and columns afterwards. The positions are
those of `PositionProvider`, save that columns start at 1, that they are right too where LibCST
drops a character of the source (a form feed before a statement), and that none lies behind the end
of a file whose last line has no end.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from itertools import accumulate
from typing import TYPE_CHECKING

import libcst as cst

from devlint.findings import Location
from devlint.inference.syntax.code_generator import NOTHING, Generator
from devlint.inference.syntax.text import LEAVES, parts
from devlint.project.source import ParsedFile, line_starts
from devlint.records import NamedTuple

if TYPE_CHECKING:
    from types import TracebackType

_FORM_FEED = re.compile("\f")


class Span(NamedTuple):
    """Where something is in a text, as offsets and as line and column (which start at 1)."""

    start: int
    end: int
    line: int
    column: int
    end_line: int
    end_column: int

    def location(self, path: str) -> Location:
        return Location(path, self.line, self.column, self.end_line, self.end_column)


class Comment(NamedTuple):
    """A comment, from its `#` to the end of the line."""

    span: Span
    text: str


class Layout(NamedTuple):
    """The places of the nodes asked for (those that are in the tree), and the comments."""

    spans: dict[cst.CSTNode, Span]
    comments: tuple[Comment, ...]


def lay_out(
    parsed: ParsedFile, nodes: Iterable[cst.CSTNode] = (), *, comments: bool = False
) -> Layout:
    """Place the nodes of one file; with `comments`, find its comments in the same pass."""
    wanted = [*nodes]
    spans = None if comments else _spans_by_statement(parsed, wanted)
    return _of_all(parsed, wanted, comments) if spans is None else Layout(spans, ())


def _spans_by_statement(
    parsed: ParsedFile, nodes: Iterable[cst.CSTNode]
) -> dict[cst.CSTNode, Span] | None:
    """The places of nodes by the code of those statements of the file that hold them, found in its
    text. None where that code stands there twice, or LibCST may drop something of it, and where a
    node is in no statement of the file."""
    if _FORM_FEED.search(parsed.text) or not parsed.text.endswith(("\n", "\r")):
        return None
    missing = {id(node): node for node in nodes}
    spans: dict[cst.CSTNode, Span] = {}
    starts = line_starts(parsed.text)
    for statement in parsed.tree.body:
        if not missing:
            break
        held = _held(statement, missing)
        if not held:
            continue
        state = _Tokens(parsed.tree, held)
        statement._codegen(state)
        code = "".join(state.tokens)
        start = parsed.text.find(code)
        if parsed.text.find(code, start + 1) >= 0:
            return None
        offsets = [*accumulate(map(len, state.tokens), initial=start)]
        span = _spans(starts, offsets.__getitem__)
        spans |= {state.wanted[key]: span(*place) for key, place in state.places.items()}
    return None if missing else spans


def _held(statement: cst.CSTNode, missing: dict[int, cst.CSTNode]) -> list[cst.CSTNode]:
    """The nodes of a statement that are missing, and are so no longer."""
    found = []
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        if id(node) in missing:
            found.append(missing.pop(id(node)))
        if type(node) not in LEAVES:
            waiting += parts(node)
    return found


def _of_all(parsed: ParsedFile, nodes: list[cst.CSTNode], comments: bool) -> Layout:
    """The layout by the code of the whole file."""
    state = _Tokens(parsed.tree, nodes)
    parsed.tree._codegen(state)
    tokens = state.tokens
    offsets = [0, *accumulate(map(len, tokens))]
    shift = _alignment(parsed.text, "".join(tokens))
    span = _spans(line_starts(parsed.text), lambda index: shift(offsets[index]))
    remarks = _comments(tokens) if comments else []
    return Layout(
        {state.wanted[key]: span(*place) for key, place in state.places.items()},
        tuple(Comment(span(index, index + 1), tokens[index]) for index in remarks),
    )


def _spans(starts: list[int], offset_of: Callable[[int], int]) -> Callable[[int, int], Span]:
    """From the first and the last of some tokens to their span in a text, given where each of its
    lines and each token begins."""

    def point(index: int) -> tuple[int, int, int]:
        offset = offset_of(index)
        line = bisect_right(starts, offset)
        return offset, line, offset - starts[line - 1] + 1

    def span(first: int, last: int) -> Span:
        start, line, column = point(first)
        end, end_line, end_column = point(last)
        return Span(start, end, line, column, end_line, end_column)

    return span


def _comments(tokens: list[str]) -> list[int]:
    """The tokens that are comments.

    A comment's token starts with `#` and the line ends behind it. So can the text part of an
    f-string start, but a quote or a brace comes behind that.
    """
    return [
        index
        for index, token in enumerate(tokens)
        if token.startswith("#") and (index + 1 == len(tokens) or tokens[index + 1][:1] in "\r\n")
    ]


class _Tokens(Generator):
    """Generates code, and notes the first and the last token of the wanted nodes."""

    # LibCST's state has slots; these are ours.
    __slots__ = ("_stack", "places")

    wanted: dict[int, cst.CSTNode]

    def __init__(self, module: cst.Module, wanted: Iterable[cst.CSTNode]) -> None:
        by_id = {id(node): node for node in wanted}
        super().__init__(module.default_indent, module.default_newline, by_id)
        self.places: dict[int, tuple[int, int]] = {}
        self._stack: list[int] = []

    def before_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self.wanted:
            self._stack.append(len(self.tokens))

    def after_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self.wanted:
            # A node that recorded its place without the white space around it keeps that one.
            self.places.setdefault(id(node), (self._stack.pop(), len(self.tokens)))

    def record_syntactic_position(  # type: ignore[override]  # as in `Generator`
        self,
        node: cst.CSTNode,
        *,
        start_node: cst.CSTNode | None = None,
        end_node: cst.CSTNode | None = None,
    ) -> AbstractContextManager[None]:
        return _Recording(self, node, start_node, end_node) if id(node) in self.wanted else NOTHING

    def pop_trailing_newline(self) -> None:
        """Keeps it: the last node ends behind it, as `PositionProvider` has it."""


class _Recording:
    """The `with` block in which a wanted node generates its code without outer white space.

    LibCST moves an end (or start) of some nodes to that of a child, which is then wanted too.
    """

    __slots__ = ("end_node", "first", "node", "start_node", "state")

    def __init__(
        self,
        state: _Tokens,
        node: cst.CSTNode,
        start_node: cst.CSTNode | None,
        end_node: cst.CSTNode | None,
    ) -> None:
        self.state = state
        self.node = node
        self.start_node = start_node
        self.end_node = end_node
        self.first = 0

    def __enter__(self) -> None:
        self.state.wanted.update(
            (id(node), node) for node in (self.start_node, self.end_node) if node is not None
        )
        self.first = len(self.state.tokens)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        state = self.state
        first = self.first if self.start_node is None else state.places[id(self.start_node)][0]
        last = len(state.tokens) if self.end_node is None else state.places[id(self.end_node)][1]
        state.places[id(self.node)] = (first, last)


def _alignment(text: str, generated: str) -> Callable[[int], int]:
    """From an offset in the generated code to the offset in the file.

    They differ only where LibCST dropped a form feed or the last line end.
    """
    if text == generated:
        return int
    dropped = []  # for each dropped form feed, the offset in the generated code where it was
    here = there = 0  # in the text, in the generated code
    for feed in [match.start() for match in _FORM_FEED.finditer(text)]:
        there += feed - here
        here = feed
        if generated[there : there + 1] != "\f":
            dropped.append(there)
            here += 1
    return lambda offset: min(offset + bisect_right(dropped, offset), len(text))
