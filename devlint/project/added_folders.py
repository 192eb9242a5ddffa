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
_LINE = re.compile(r"sys\.path\.(?:append|insert|extend)\(|sys\.path *\+?= *\[|\.join\(")
_LITERAL = re.compile(r"""(?<![\w\]])["']([^"'\n]*)["']""")
_UP = re.compile(r"dirname\(|\.parent\b|pardir")
_ELSEWHERE = re.compile(r"^[/~]|^[A-Za-z]:|[{}%$*]|://")

_MOST = 4  # of one file: more are no parts of a program

# What a script imports for the folders that it adds, and nothing else: `import _init_paths`.
PATHS_IMPORT = re.compile(rb"^import[ \t]+(\w*path\w*)", re.MULTILINE)


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
    ups = max(len(_UP.findall(line)) - ("pardir" not in line), 0)
    start = folder
    for _ in range(ups):
        start = start.parent
    while names and names[0] == "..":
        start, names = start.parent, names[1:]
    if ".." in names or not (names or start != folder):
        return None
    while start == root or root in start.parents:
        if is_folder(start.joinpath(*names)):
            return start.joinpath(*names)
        start = start.parent
    return None
