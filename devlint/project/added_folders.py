"""Folders that a program adds to `sys.path`, by what its text says.

    sys.path.append("..")
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
    sys.path.append(os.path.join(ROOT, "models"))    # of the nearest folder above that has one

Nothing is run: the literals of a line are joined, and seen from the file's own folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

_MENTION = b"sys.path"
# Literals of a line that joins count, too: what it makes may be added by another line.
_LINE = re.compile(r"sys\.path\.(?:append|insert|extend)\(|sys\.path *\+?= *\[|\.join\(")
_LITERAL = re.compile(r"""(?<![\w\]])["']([^"'\n]*)["']""")
_UP = re.compile(r"dirname\(|\.parent\b")  # the first of them comes to the file's own folder
_ELSEWHERE = re.compile(r"^[/~]|^[A-Za-z]:|[{}%$*]|://")

_MOST = 4  # of one file: more are no parts of a program

_PATHS_IMPORT = re.compile(rb"\nimport[ \t]+(\w*path\w*)")


def path_modules(data: bytes) -> list[str]:
    """The modules that a file may import for the folders that they add: `_init_paths`."""
    return [name.decode() for name in _PATHS_IMPORT.findall(b"\n" + data)]


def added_folders(
    data: bytes, folder: Path, root: Path, is_folder: Callable[[Path], bool]
) -> Iterator[Path]:
    """Those of a file in a folder below a project's root, in the order of the text."""
    if _MENTION not in data:
        return
    lines = filter(_LINE.search, data.decode(errors="replace").splitlines())
    found = (_folder(line.partition("#")[0], folder, root, is_folder) for line in lines)
    yield from islice((each for each in found if each is not None), _MOST)


def _folder(line: str, folder: Path, root: Path, is_folder: Callable[[Path], bool]) -> Path | None:
    literals = [each for each in _LITERAL.findall(line) if each not in ("", ".")]
    if any(_ELSEWHERE.search(each) for each in literals):
        return None
    names = [name for each in literals for name in each.split("/") if name not in ("", ".")]
    ups = max(len(_UP.findall(line)) - 1, 0) + line.count("pardir")
    while names and names[0] == "..":
        ups, names = ups + 1, names[1:]
    if ".." in names or not (names or ups):
        return None
    above = [each for each in (folder, *folder.parents) if each == root or root in each.parents]
    candidates = (each.joinpath(*names) for each in above[ups:])
    return next(filter(is_folder, candidates), None)
