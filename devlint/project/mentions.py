"""What the texts of a project's files tell: the names that they use, since what none of them uses
nothing in sight calls; and whether data sets move what they hold.

A test is no user, nor is an import that nothing follows, but for one of a package's front; a
comment uses nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from devlint.inference.conventions import is_rebound
from devlint.project.discovery import DEFAULT_EXCLUDE
from devlint.project.source import SourceError, read

# What may name a function: code, configuration that is read at run time, documentation.
_SUFFIXES = (".py", ".ipynb", ".yaml", ".yml", ".toml", ".cfg", ".md", ".rst")
MOST = 50_000_000  # bytes that are looked through, of a project
_LARGEST = 2_000_000  # of one file: more is data


# A class of rows, and a move in it: `class Faces(Dataset):` … `return image.cuda()`.
_ROWS = re.compile(rb"^class \w+\([^)\n]*[Dd]ata_?[Ss]et.*\n", re.M)
_MOVE = re.compile(rb"\.cuda\(|\.to\([^)\n]*(?:cuda|device)")


def has_moving_data(text: bytes) -> bool:
    """Whether a class of rows in a file moves them, or makes them somewhere."""
    return any(_MOVE.search(_body_at(text, rows.end())) for rows in _ROWS.finditer(text))


def _body_at(text: bytes, start: int) -> bytes:
    """The lines from there on that are indented or empty."""
    end = start
    while end < len(text) and text[end : end + 1] in (b" ", b"\t", b"\r", b"\n"):
        end = text.find(b"\n", end) + 1 or len(text)
    return text[start:end]


# What says how a project is installed, and what a file says that is run.
_INSTALLING = ("setup.py", "setup.cfg", "pyproject.toml")
_RUN = re.compile(rb"^if __name__ *== *['\"]__main__['\"]", re.M)


class Mentions:
    """What the files below a directory name, read when it is first asked for.

    Where there is too much to look through, all is taken to be named.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[str, frozenset[Path]] = {}  # by name: one or two files that have it

    def elsewhere(self, name: str, file: Path) -> bool:
        """Whether another file than this names it, in code, configuration or documentation."""
        if not self._texts:
            return True
        if name not in self._known:
            self._known[name] = frozenset(self._naming(name))
        return bool(self._known[name] - {file})

    def rebinds(self, attribute: str, file: Path) -> bool:
        """Whether another file than this, and no test, names a class and gives an object that is
        neither its own `self` nor a configuration a value under an attribute: `Class.attribute`.
        Where there is too much to look through, none does."""
        owner, _, name = (part.encode() for part in attribute.partition("."))
        return any(
            each != file
            and each.suffix in (".py", ".ipynb")
            and name in text
            and owner in text
            and not _TEST.search(each.relative_to(self.root).as_posix())
            and is_rebound(text.decode(errors="replace"), name.decode())
            and re.search(rb"\b" + re.escape(owner) + rb"\b", text) is not None
            for each, text in self._texts.items()
        )

    @cached_property
    def data_is_moved(self) -> bool:
        """Whether a data set of the project moves rows, or makes them somewhere. Where there is too
        much to look through, none does."""
        return any(b"ata" in text and has_moving_data(text) for text in self._texts.values())

    @cached_property
    def is_application(self) -> bool:
        """Whether some file of the project is run, and nothing says how to install it: code out of
        sight imports none of it."""
        if any((self.root / name).is_file() for name in _INSTALLING):
            return False
        return any(
            file.suffix == ".py"
            and not _TEST.search(file.relative_to(self.root).as_posix())
            and _RUN.search(text) is not None
            for file, text in self._texts.items()
        )

    @cached_property
    def _texts(self) -> dict[Path, bytes]:
        return _texts(self.root)

    def _naming(self, name: str) -> Iterator[Path]:
        """The first two files that use it: one of them is another than the one asked for."""
        literal = name.encode()
        found = 0
        for file, text in self._texts.items():
            if literal in text and _uses(file.relative_to(self.root), text, literal):
                yield file
                found += 1
                if found == 2:
                    return


_TEST = re.compile(r"(^|/)tests?/|(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$")
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+[\w.]+[ \t]+import|import)\b[ \t]*(?:\([^)]*\)|[^\n]*)", re.M
)


def _uses(file: Path, text: bytes, name: bytes) -> bool:
    """Whether a file uses a name that another one defines."""
    places = [each.start() for each in re.finditer(rb"\b" + re.escape(name) + rb"\b", text)]
    if file.suffix != ".py" or not places:
        return bool(places)
    if _TEST.search(file.as_posix()) or _means_its_own(text, name):
        return False
    imports = [] if file.name == "__init__.py" else [i.span() for i in _IMPORT.finditer(text)]
    return any(
        b"#" not in text[text.rfind(b"\n", 0, place) + 1 : place]
        and not any(start <= place < end for start, end in imports)
        for place in places
    )


def _means_its_own(text: bytes, name: bytes) -> bool:
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
    if any(re.search(other + rb"\b", text, re.M) for other in others):
        return False
    bare = re.search(rb"(?<![.\w])(?<!def )(?<!class )" + name + rb"\b", text)
    return not defined[1] or bare is None  # a method is called by no bare name


def _texts(root: Path) -> dict[Path, bytes]:
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
