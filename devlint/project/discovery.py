"""Which files are checked: those named, and Python files and notebooks below the directories."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path

from devlint.findings import FileError
from devlint.project.patterns import Patterns, compile_patterns, excluded
from devlint.records import dataclass

# Directories that hold no code of the project. As Ruff's default, but for `_build` and the like,
# and an editor's copies of older states.
DEFAULT_EXCLUDE = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".git-rewrite",
    ".hg",
    ".history",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pants.d",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "__pypackages__",
    "_build",
    "buck-out",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)
SUFFIXES = (".py", ".ipynb")


@dataclass(slots=True)
class Discovery:
    """The files found, each once, in the order of their paths; and what could not be looked at."""

    files: list[Path] = field(default_factory=list)
    errors: list[FileError] = field(default_factory=list)


def discover(
    paths: Iterable[Path],
    root: Path,
    exclude: Sequence[str] = DEFAULT_EXCLUDE,
    *,
    gitignore: bool = True,
    force_exclude: bool = False,
) -> Discovery:
    """Find the files to check.

    paths: absolute; a file is taken whatever its name, a directory is searched for Python files
        and notebooks.
    exclude: patterns as in `.gitignore`, relative to `root`.
    gitignore: also skip what `.gitignore` files ignore, those of parent directories too.
    force_exclude: skip an excluded file even when it is named itself.
    """
    walk = _Walk(root, compile_patterns(exclude), gitignore)
    for path in paths:
        if os.path.isdir(path):
            if force_exclude and walk.excludes(path, is_directory=True):
                continue
            above = walk.ignores_above(path) if gitignore else ()
            walk.directory(path, walk.name(path), above)
        elif not (force_exclude and walk.excludes(path, is_directory=False)):
            walk.found[path] = None
    walk.drop_links()
    files = sorted(walk.found, key=lambda file: file.parts)
    return Discovery(files, walk.errors)


class _Walk:
    def __init__(self, root: Path, exclude: Patterns, gitignore: bool) -> None:
        self.root = root
        self.exclude = exclude
        self.gitignore = gitignore
        self.found: dict[Path, None] = {}
        self.links: list[Path] = []
        self.errors: list[FileError] = []

    def name(self, path: Path) -> str:
        """The path as patterns see it."""
        return Path(os.path.relpath(path, self.root)).as_posix()

    def excludes(self, path: Path, *, is_directory: bool) -> bool:
        """Whether `exclude` matches the path or, below the root, a directory that it is in."""
        name = self.name(path)
        if self.root in path.parents:
            return self.exclude.covers(name) or bool(self.exclude.verdict(name, is_directory))
        return bool(self.exclude.verdict(path.name, is_directory))

    def directory(self, directory: Path, called: str, ignores: Sequence[Patterns]) -> None:
        """Take what is to be checked below a directory. Links to directories are not followed.

        called: the directory as patterns see it.
        """
        try:
            entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except OSError as error:
            self.errors.append(self.error(directory, f"cannot be listed: {error.strerror}"))
            return
        if self.gitignore:
            ignores = (*ignores, *self.ignores_in(directory, [entry.name for entry in entries]))
        for entry in entries:
            is_directory = entry.is_dir(follow_symlinks=False)
            if not is_directory and (not entry.name.endswith(SUFFIXES) or entry.name[:2] == ".#"):
                continue  # `.#x.py` is an editor's lock: a link to nowhere
            name = entry.name if called == "." else f"{called}/{entry.name}"
            if self.exclude.verdict(name, is_directory) or excluded(name, is_directory, ignores):
                continue
            path = Path(entry.path)
            if is_directory:
                self.directory(path, name, ignores)
            elif os.path.isfile(path) or not os.path.exists(path):
                if entry.is_symlink() and path not in self.found:
                    self.links.append(path)
                self.found[path] = None  # reading a broken link says what is wrong with it
            elif not os.path.isdir(path):
                self.errors.append(self.error(path, "is not a regular file"))

    def drop_links(self) -> None:
        """Take each file once: a link in a directory is the same code as the file that it stands
        for, where that is found, too, or another link to it."""
        links = set(self.links)
        own = (path for path in self.found if links and path not in links)
        known = {_identity(path) for path in own} - {None}
        for link in self.links:
            identity = _identity(link)
            if identity in known:
                del self.found[link]
            elif identity is not None:
                known.add(identity)

    def ignores_in(self, directory: Path, names: Iterable[str]) -> Iterator[Patterns]:
        if ".gitignore" not in names:
            return
        try:
            text = (directory / ".gitignore").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return  # git cannot read it either
        base = self.name(directory)
        yield compile_patterns(text.splitlines(), "" if base == "." else base)

    def ignores_above(self, directory: Path) -> tuple[Patterns, ...]:
        """The `.gitignore` files above a directory, up to the root or the repository's top."""
        ignores: list[Patterns] = []
        if self.root not in directory.parents:
            return ()
        for parent in directory.parents:
            ignores[:0] = self.ignores_in(parent, [".gitignore"])
            if parent == self.root or (parent / ".git").exists():
                break
        return tuple(ignores)

    def error(self, path: Path, message: str) -> FileError:
        try:
            name = path.relative_to(self.root).as_posix()
        except ValueError:
            name = path.as_posix()
        return FileError(name, 1, 1, message)


def _identity(path: Path) -> tuple[int, int] | None:
    """The file that a path stands for; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
