"""Where in the user's code something happened: the nearest user frame, and all of them.

A frame is the *user's* when its file lies neither in torch, nor in this package, nor in the
standard library.  Installed third-party packages count as user code of torch, but a frame outside
``site-packages`` is preferred when one line has to be named.
"""

from __future__ import annotations

import dis
import itertools
import os
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import CodeType, FrameType
from typing import Any

from runtime_guard.core.programs import package_of_program

MAX_DEPTH = 40
"""How many user frames a stack keeps, innermost first."""


@dataclass(frozen=True, slots=True)
class Site:
    """A place in Python source: absolute file name and 1-based inclusive lines."""

    file: str
    line: int
    end_line: int
    function: str

    def __str__(self) -> str:
        return f"{short_path(self.file)}:{self.line}"


Stack = tuple[Site, ...]
"""User frames, innermost first."""

UNKNOWN_SITE = Site("<unknown>", 0, 0, "<unknown>")


def short_path(file: str) -> str:
    """``file`` relative to the working directory when it lies below it, unchanged otherwise."""
    try:
        prefix = os.getcwd() + os.sep
    except OSError:  # the program deleted it
        return file
    return file[len(prefix) :] if file.startswith(prefix) else file


def _hidden_packages() -> tuple[str, ...]:
    """The folders of this package, of devlint, whose command runs the program, and of torch."""
    folders = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    for name in ("devlint", "torch"):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file:
            folders.append(os.path.dirname(os.path.abspath(str(file))))
    return tuple(folder + os.sep for folder in folders)


def _hidden_directories() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    stdlib = {os.path.realpath(paths["stdlib"]), paths["stdlib"], paths["platstdlib"]}
    scripts = paths["scripts"]  # they import a program, and call it
    return tuple(directory.rstrip(os.sep) + os.sep for directory in (*stdlib, scripts))


_PACKAGE_DIRECTORIES = ("site-packages" + os.sep, "dist-packages" + os.sep)
_RUNNERS = tuple(
    f"{os.sep}{package}{os.sep}"
    for package in ("_pytest", "pluggy", "pytest", "xdist", "execnet", "coverage")
)
"""What runs tests.  Data: that their code is nobody's program cannot be read from a stack, in which
they call the tests as a program calls its own functions."""


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_START = os.path.join(_PACKAGE, "commands", "program.py")


@cache
def _rank_of_file(file: str) -> int:
    """0: the user's own file, 1: an installed package's, 2: hidden (torch, us, stdlib), 3: what
    starts the program under `devlint run`, outside of which nothing is the program's."""
    if file == _START:
        return 3
    if file == "<string>" and _started_by_multiprocessing():
        return 2
    if file.startswith("<") and not file.startswith(("<ipython", "<string>", "<stdin>")):
        return 2
    installed = any(directory in file for directory in _PACKAGE_DIRECTORIES)
    if file.startswith(_hidden_packages()):
        return 2
    # site-packages usually lies below the standard library's directory
    if not installed and file.startswith(_hidden_directories()):
        return 2
    if any(runner in file for runner in _RUNNERS):
        return 2
    return 1 if installed else 0


def _started_by_multiprocessing() -> bool:
    """Is the program's ``python -c`` text the standard library's, which starts a process by it?"""
    return any(word.startswith("from multiprocessing.") for word in sys.orig_argv)


def is_users(file: str) -> bool:
    """Is ``file`` neither torch's, nor this package's, nor the standard library's?"""
    return _rank_of_file(file) < 2


# Keyed by identity: code objects of different files are equal when their text is.  Each entry holds
# its code object, so that the identity is not used again (of ``_ranks`` in ``_ranked``).
_ranks: dict[int, int] = {}
_ranked: list[CodeType] = []
_sites: dict[tuple[int, int], tuple[CodeType, Site]] = {}
_MAX_CACHED = 200_000
"""Code that is made by ``exec`` in a loop must not grow the caches without bound."""


def _rank(code: CodeType) -> int:
    rank = _ranks.get(id(code))
    if rank is None:
        if len(_ranks) > _MAX_CACHED:
            _ranks.clear()
            _ranked.clear()
        rank = _ranks[id(code)] = _rank_of_file(code.co_filename)
        _ranked.append(code)
    return rank


Expression = tuple[int, int, int, int]
"""First line and column, last line and column behind its end; both start at 1."""


def expression_of(frame: FrameType) -> Expression | None:
    """Which expression of its line a live frame is in; None where Python does not know."""
    if sys.version_info < (3, 11):
        return None
    positions = frame.f_code.co_positions()
    found = next(itertools.islice(positions, frame.f_lasti // 2, None), (None,) * 4)
    line, end_line, column, end_column = found
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return line, column + 1, end_line, end_column + 1


def site_of(frame: FrameType) -> Site:
    """Where a live frame is now."""
    key = (id(frame.f_code), frame.f_lasti)
    entry = _sites.get(key)
    if entry is None:
        if len(_sites) > _MAX_CACHED:
            _sites.clear()
        entry = _sites[key] = (frame.f_code, _make_site(frame))
    return entry[1]


def _make_site(frame: FrameType) -> Site:
    code, lasti = frame.f_code, frame.f_lasti
    line = frame.f_lineno or 0
    end_line = line
    if sys.version_info >= (3, 11):
        position = next(itertools.islice(code.co_positions(), lasti // 2, None), None)
        if position is not None and position[0] is not None and position[1] is not None:
            line, end_line = position[0], position[1]
    file = code.co_filename
    if not file.startswith("<"):
        file = os.path.abspath(file)
    return Site(file, line, end_line, code.co_name)


def user_site() -> Site:
    """The nearest user frame of the caller, preferring one outside installed packages.

    A program that is installed itself has none: then the nearest of its own package.
    """
    frame: FrameType | None = sys._getframe(1)
    ranks = _ranks
    while frame is not None:
        code = frame.f_code
        rank = ranks.get(id(code))
        if rank is None:
            rank = _rank(code)
        if rank == 0:
            return site_of(frame)
        if rank == 3:
            break
        frame = frame.f_back
    frames = user_frames(None)
    chosen = _chosen([frame.f_code.co_filename for frame in frames])
    return UNKNOWN_SITE if chosen is None else site_of(frames[chosen])


def _chosen(files: list[str]) -> int | None:
    """Which of the user files of a stack, innermost first, stands for it; None where it is empty.

    The innermost of the user's own.  Where all are installed, the innermost of the started program,
    or of the package of the outermost one where the program is none of them.
    """
    for position, file in enumerate(files):
        if _rank_of_file(file) == 0:
            return position
    packages = [_package(file) for file in files]
    if not packages:
        return None
    program = package_of_program()
    return packages.index(program if program in packages else packages[-1])


def site_of_told(frames: Iterable[Mapping[str, Any]]) -> Site:
    """``user_site`` of a call that is over: its frames, innermost first, as torch's C++ tells them
    (``filename``, ``line`` and ``name`` of each)."""
    inside = itertools.takewhile(lambda frame: _rank_of_file(frame["filename"]) < 3, frames)
    users = [frame for frame in inside if is_users(frame["filename"])]
    chosen = _chosen([frame["filename"] for frame in users])
    if chosen is None:
        return UNKNOWN_SITE
    return _told_site(users[chosen]["filename"], users[chosen]["line"], users[chosen]["name"])


@cache
def _told_site(file: str, line: int, function: str) -> Site:
    return Site(file if file.startswith("<") else os.path.abspath(file), line, line, function)


@cache
def _package(file: str) -> str:
    """The installed distribution's folder or module that ``file`` belongs to."""
    for directory in _PACKAGE_DIRECTORIES:
        _, found, rest = file.rpartition(directory)
        if found:
            return rest.partition(os.sep)[0].removesuffix(".py")
    return ""


def user_frames(most: int | None = MAX_DEPTH) -> list[FrameType]:
    """The live user frames, innermost first (for naming operands; do not keep them)."""
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (most is None or len(frames) < most):
        rank = _rank(frame.f_code)
        if rank == 3:
            break
        if rank < 2:
            frames.append(frame)
        frame = frame.f_back
    return frames


_POP_TOP = dis.opmap["POP_TOP"]


def thrown_away_at() -> Site | None:
    """Where the user's innermost frame throws away the value of a statement, if it does so now."""
    frame = next(iter(user_frames()), None)
    if frame is None or frame.f_code.co_code[frame.f_lasti] != _POP_TOP:
        return None
    return site_of(frame)


def user_expression() -> Expression | None:
    """Which expression the user's innermost frame is in."""
    frame = next(iter(user_frames(1)), None)
    return None if frame is None else expression_of(frame)


def user_stack() -> Stack:
    """The user frames of the caller as sites, innermost first, at most ``MAX_DEPTH``."""
    return tuple(site_of(frame) for frame in user_frames())


def nearest(stack: Stack) -> Site:
    """The site of ``stack`` that stands for it in a report: the innermost outside packages, or the
    innermost of the program's package where all of it is installed."""
    chosen = _chosen([site.file for site in stack])
    return UNKNOWN_SITE if chosen is None else stack[chosen]
