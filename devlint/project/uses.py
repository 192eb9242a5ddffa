"""The texts of a project, and where they use a name.

A test is no user, nor is an import that nothing follows, but for one under another name and for one
of a package's front, if others install it; a comment uses nothing, nor does what a module says of
itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from devlint.project.discovery import DEFAULT_EXCLUDE
from devlint.project.source import SourceError, read

# What may name a function: code, configuration that is read at run time, documentation.
_SUFFIXES = (".py", ".ipynb", ".yaml", ".yml", ".toml", ".cfg", ".md", ".rst")
MOST = 50_000_000  # bytes that are looked through, of a project
MOST_DIRECTORIES = 20_000  # a file by itself may lie in somebody's home, or in /tmp
_LARGEST = 2_000_000  # of one file: more is data
FILES = 8192  # what is known of their texts is kept: they are gone through in turn, again and again

# What a file says that is run.
RUN = re.compile(rb"^if __name__ *== *['\"]__main__['\"]", re.M)
# `train_test.py` has the loops of a program that does both.
TEST = re.compile(r"(^|/)tests?/|(^|/)(test_[^/]*|(?!train_)[^/]*_test|conftest)\.py$")
# It is searched for behind a line end: `^` would be tried at each character.
_IMPORT = re.compile(
    rb"\n[ \t]*(?:from[ \t]+[\w.]+[ \t]+import|import)\b[ \t]*(?:\([^)]*\)|[^\n]*)"
)
_DOCSTRING = re.compile(
    rb"(?:\A(?:\s|#[^\n]*\n)*|:[ \t]*(?:#[^\n]*)?\n\s*)[rR]?(\"{3}|'{3})(?s:.*?)\1"
)
_RENAMED = re.compile(rb"[ \t]+as[ \t]+\w")  # whoever uses the import has the other name

_IN_WORDS = frozenset(b"_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def uses_in(file: Path, text: bytes, name: bytes, is_installed: bool) -> Iterator[int]:
    """Where the text of a file uses a name: nowhere, in a test."""
    places = whole_words(text, name)
    if file.suffix != ".py":
        yield from places
    elif not TEST.search(file.as_posix()):
        offers = is_installed and file.name == "__init__.py"
        imports = () if offers else _imports(text)
        said = _docstrings(text)
        for place in places:
            if any(start <= place < end for start, end in said):
                continue
            in_comment = b"#" in text[text.rfind(b"\n", 0, place) + 1 : place]
            if in_comment:
                continue
            is_renamed = _RENAMED.match(text, place + len(name)) is not None
            if is_renamed or not any(start <= place < end for start, end in imports):
                yield place


def look_through(text: bytes) -> None:
    """Find now what is asked of a file for each name that it may use."""
    _docstrings(text), _imports(text)


@lru_cache(maxsize=FILES)
def _docstrings(text: bytes) -> tuple[tuple[int, int], ...]:
    """Where docstrings begin and end: of the module, and of definitions."""
    return tuple(each.span() for each in _DOCSTRING.finditer(text))


@lru_cache(maxsize=FILES)
def _imports(text: bytes) -> tuple[tuple[int, int], ...]:
    """Where imports begin and end."""
    return tuple((each.start(), each.end() - 1) for each in _IMPORT.finditer(b"\n" + text))


def whole_words(text: bytes, name: bytes) -> Iterator[int]:
    """Where a name stands by itself: no regular expression is compiled for each one."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        begins = not at or text[at - 1] not in _IN_WORDS
        if begins and (end == len(text) or text[end] not in _IN_WORDS):
            yield at
        at = text.find(name, at + 1)


def lines_with(literals: Iterable[bytes], text: bytes) -> Iterator[bytes]:
    """The lines of a text where one of these stands: a regular expression that needs one of them
    takes ten times as long for the whole text."""
    lines: dict[int, int] = {}
    for literal in literals:
        at = text.find(literal)
        while at >= 0:
            end = text.find(b"\n", at)
            end = len(text) if end < 0 else end
            lines[text.rfind(b"\n", 0, at) + 1] = end
            at = text.find(literal, end)
    return (text[start:end] for start, end in lines.items())


def texts_of(root: Path) -> dict[Path, bytes]:
    """The content of each file; nothing where there is too much of it."""
    texts: dict[Path, bytes] = {}
    size = 0
    for file in _files(root):
        try:
            if file.stat().st_size > _LARGEST:
                continue
            text = read(file)
        except (SourceError, OSError):
            continue  # reported where the file itself is checked
        texts[file] = text
        size += len(text)
        if size > MOST:
            return {}
    return texts


def _files(root: Path) -> list[Path]:
    """The files that may name something; none where there are too many directories."""
    found: list[Path] = []
    for number, (directory, directories, names) in enumerate(os.walk(root)):
        if number == MOST_DIRECTORIES:
            return []
        directories[:] = sorted(
            name for name in directories if name not in DEFAULT_EXCLUDE and name[0] != "."
        )
        found += (Path(directory, name) for name in sorted(names) if name.endswith(_SUFFIXES))
    return found
