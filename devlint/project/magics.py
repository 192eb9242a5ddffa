"""IPython's magics, shell lines and help in the cells of notebooks: passed over in place.

What is not Python is masked by text of the same length, so that every offset, line and column of
the Python around it stays as it is written.
"""

from __future__ import annotations

import ast
import re
import warnings

# Cell magics whose body is Python of the same program. All others (`%%bash`, `%%html`,
# `%%writefile`, `%%script python`) hand theirs to something else.
PYTHON_BODIES = frozenset({"capture", "debug", "memit", "prun", "time", "timeit"})

_REST = r"(?:[^\r\n\\]|\\(?:\r\n?|\n|[^\r\n]|\Z))*"  # of a line, which a backslash continues
_CELL_MAGIC = re.compile(r"\s*%%(?P<name>\w*)[^\r\n]*")
_LINE_MAGIC = re.compile(r"\s*%(?!%)")
_MAGIC = re.compile(
    rf"""[ \t]*(?:
        (?P<assigned>(?:[^=#%!?'"\r\n]|\[['"]\w*['"]\])+=[ \t]*)?
        (?P<line>(?:[%!]|\?|[/,;](?=\w)){_REST})
        | (?P<help>[^\#'"\r\n]*\?)[ \t]*(?=[\r\n]|\Z)
    )""",
    re.X,
)
_TIMED = re.compile(r"(%(?:time|timeit|prun|memit)(?:[ \t]+-\w+(?:[ \t]*\d+)?)*[ \t]+)(?=[^\s-])")
_TOKEN = re.compile(
    r"""\#[^\r\n]*
    | '{3}(?:\\.|[^\\])*?(?:'{3}|\Z) | "{3}(?:\\.|[^\\])*?(?:"{3}|\Z)
    | '(?:\\.|[^\\'\r\n])*'? | "(?:\\.|[^\\"\r\n])*"?
    | \\(?:\r\n?|\n)
    | (?P<open>[(\[{]) | (?P<close>[)\]}]) | (?P<newline>\r\n?|\n)""",
    re.X | re.S,
)
_SIGN = re.compile(r"^[ \t]*[%!?/,;]|=[ \t]*[%!]|\?[ \t]*(?:[\r\n]|\Z)", re.M)
_PERCENT = re.compile(r"^#[ ]?%%[^\r\n]*(?:\r\n?|\n|\Z)", re.M)


def python_of(cell: str) -> str | None:
    """The Python of a cell, in a text of the same length; None for one in another language."""
    if not _SIGN.search(cell) or _is_python(cell):
        return cell
    header = _CELL_MAGIC.match(cell)
    if header is not None:
        if header["name"] not in PYTHON_BODIES:
            return None
        body = python_of(cell[header.end() :])
        return None if body is None else blank(cell[: header.end()]) + body
    masked = _without_magics(cell)
    if _LINE_MAGIC.match(cell) and not _is_python(masked):
        return None  # `%sql` or `%md` for the whole cell, as some services have it
    return masked


def python_of_script(text: str) -> str:
    """The Python of a script, in a text of the same length. One whose cells begin with `# %%` may
    have magics in them; any other is Python."""
    starts = [match.end() for match in _PERCENT.finditer(text)]
    if not starts or not _SIGN.search(text) or _is_python(text):
        return text
    parts = [text[: starts[0]]]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        cell = python_of(text[start:end])
        parts.append(blank(text[start:end]) if cell is None else cell)
    return "".join(parts)


def blank(text: str) -> str:
    """White space in the place of a text; its line ends stay."""
    return re.sub(r"[^\r\n]", " ", text)


def _without_magics(cell: str) -> str:
    """The cell with every logical line that is a magic masked."""
    parts: list[str] = []
    at = 0
    while at < len(cell):
        magic = _MAGIC.match(cell, at)
        if magic is not None:
            parts.append(_masked(magic))
            end = magic.end()
        else:
            end = _end_of_line(cell, at)
            parts.append(cell[at:end])
        if end == at:  # the end of a masked line
            end = at + 1
            parts.append(cell[at:end])
        at = end
    return "".join(parts)


def _end_of_line(cell: str, start: int) -> int:
    """Where the logical line that starts there ends: brackets and long strings go on."""
    depth = 0
    for token in _TOKEN.finditer(cell, start):
        if token["open"]:
            depth += 1
        elif token["close"]:
            depth = max(0, depth - 1)
        elif token["newline"] and not depth:
            return token.end()
    return len(cell)


def _masked(magic: re.Match[str]) -> str:
    """An expression statement for a magic; what a magic is assigned to gets an unknown name."""
    whole = magic.group()
    indent = whole[: len(whole) - len(whole.lstrip(" \t"))]
    if magic["assigned"]:
        kept = whole[: magic.start("line") - magic.start()]
        return f"{kept}_{blank(magic['line'][1:])}"
    timed = _TIMED.match(whole, len(indent))
    if timed is not None:
        statement = f"0;{blank(timed.group()[2:])}{whole[timed.end() :]}"
        if _is_python(statement):
            return indent + statement
    return f"{indent}0{blank(whole[len(indent) + 1 :])}"


def _is_python(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True
