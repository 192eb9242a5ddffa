"""The texts of a project, and where they use a name.

A test is no user, nor is an import that nothing follows, but for one of a package's front, if
others install it; a comment uses nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from devlint.project.discovery import DEFAULT_EXCLUDE
from devlint.project.source import SourceError, read

# What may name a function: code, configuration that is read at run time, documentation.
_SUFFIXES = (".py", ".ipynb", ".yaml", ".yml", ".toml", ".cfg", ".md", ".rst")
MOST = 50_000_000  # bytes that are looked through, of a project
_LARGEST = 2_000_000  # of one file: more is data

# What a file says that is run.
RUN = re.compile(rb"^if __name__ *== *['\"]__main__['\"]", re.M)
TEST = re.compile(r"(^|/)tests?/|(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$")
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+[\w.]+[ \t]+import|import)\b[ \t]*(?:\([^)]*\)|[^\n]*)", re.M
)


_IN_WORDS = frozenset(b"_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def uses_in(file: Path, text: bytes, name: bytes, is_installed: bool) -> Iterator[int]:
    """Where the text of a file uses a name: nowhere, in a test."""
    places = _whole_words(text, name)
    if file.suffix != ".py":
        yield from places
    elif not TEST.search(file.as_posix()):
        offers = is_installed and file.name == "__init__.py"
        imports = [] if offers else [each.span() for each in _IMPORT.finditer(text)]
        for place in places:
            in_comment = b"#" in text[text.rfind(b"\n", 0, place) + 1 : place]
            if not in_comment and not any(start <= place < end for start, end in imports):
                yield place


def _whole_words(text: bytes, name: bytes) -> Iterator[int]:
    """Where a name stands by itself: no regular expression is compiled for each one."""
    at = text.find(name)
    while at >= 0:
        if not {*text[max(at - 1, 0) : at], *text[at + len(name) : at + len(name) + 1]} & _IN_WORDS:
            yield at
        at = text.find(name, at + 1)


def means_its_own(text: bytes, name: bytes) -> bool:
    """Whether a file defines the name itself, and neither imports it nor asks another object than
    its own for it: `def load(path)`, and `load(path)` or `self.load(path)`."""
    defined = re.search(rb"^([ \t]*)(?:def|class) " + name + rb"\b", text, re.M)
    if defined is None:
        return False
    others = (
        rb"^[ \t]*(?:from|import)\b[^\n(]*\b" + name,
        rb"\bimport\s*\([^)]*\b" + name,
        rb"(?<!\bself)(?<!\bcls)\." + name,
    )
    asked = others if b"." + name in text else others[:2]
    if any(re.search(other + rb"\b", text, re.M) for other in asked):
        return False
    if not defined[1]:
        return True
    bare = re.search(rb"(?<![.\w])(?<!def )(?<!class )" + name + rb"\b", text)
    return bare is None  # a method is called by no bare name


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


def _files(root: Path) -> Iterator[Path]:
    for directory, directories, names in os.walk(root):
        directories[:] = sorted(
            name for name in directories if name not in DEFAULT_EXCLUDE and name[0] != "."
        )
        for name in sorted(names):
            if name.endswith(_SUFFIXES):
                yield Path(directory, name)
