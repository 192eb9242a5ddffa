"""The tree of a text, or what is wrong with it."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from devlint.nodes import cst
from devlint.project.source import SourceError, split_lines

# The bracket nesting that CPython itself refuses (MAXLEVEL in its tokenizer). LibCST's parser has
# no such limit, but its memory grows with the square of the depth.
MAX_NESTING = 200

_BRACKET = re.compile(r"[()\[\]{}]")


def parse(text: str) -> cst.Module:
    """The tree of a text without a byte order mark. Raises SourceError."""
    try:
        return _parse(text)
    except SourceError as error:
        lines = split_lines(text)
        if error.line <= len(lines):
            error.excerpt = lines[error.line - 1]
        raise


def _parse(text: str) -> cst.Module:
    if _nesting(text) > MAX_NESTING:
        refused = refused_by_python(text)
        if refused is not None:
            raise refused
    try:
        with unchecked_nodes():
            return cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        raise refused_by_python(text) or _from_libcst(error) from None
    except RecursionError:
        raise SourceError("is too deeply nested to be parsed") from None
    except Exception as error:  # a defect of the parser is one file's error, not everyone's
        raise SourceError(f"cannot be parsed: {type(error).__name__}: {error}") from None


@contextmanager
def unchecked_nodes() -> Iterator[None]:
    """For parses: LibCST's nodes check themselves when they are made, white space above all. What
    its parser makes is right already, and the checks take a fifth of the time. Around many parses
    rather than each: with the checks goes all that Python knows of where nodes have their fields.
    """
    if cst.CSTNode.__post_init__ is not _CHECK:  # not in a parse within others
        yield
        return
    cst.CSTNode.__post_init__ = _NO_CHECK  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        cst.CSTNode.__post_init__ = _CHECK  # type: ignore[method-assign]


_CHECK = cst.CSTNode.__post_init__
_NO_CHECK = staticmethod(bool)  # called with nothing, it does nothing, and that faster than a `def`


def _nesting(text: str) -> int:
    """The deepest nesting of brackets, counting those in strings too: an upper bound."""
    deepest = depth = 0
    for bracket in _BRACKET.findall(text):
        if bracket in "([{":
            depth += 1
            if depth > deepest:
                deepest = depth
        elif depth:
            depth -= 1
    return deepest


def refused_by_python(text: str) -> SourceError | None:
    """What Python's own parser says is wrong: it names the place and the cause better."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        line = max(error.lineno or 1, 1)
        return SourceError(f"syntax error: {error.msg}", line, max(error.offset or 1, 1))
    except (MemoryError, RecursionError):
        return SourceError("is too deeply nested to be parsed")
    except ValueError as error:
        return SourceError(f"syntax error: {error}")
    return None


def _from_libcst(error: cst.ParserSyntaxError) -> SourceError:
    """What Python accepts and LibCST does not: new syntax, or a limit of its parser."""
    reason = error.message.partition(": expected one of")[0]
    place = re.search(r"error at (\d+):(\d+)", reason)
    line, column = map(int, place.groups()) if place else (error.raw_line, error.raw_column + 1)
    return SourceError(
        f"is valid Python that LibCST {cst.LIBCST_VERSION} cannot parse ({reason})",
        max(line, 1),
        max(column, 1),
    )
