"""Files that only CUDA runs: they need an extension that the project builds for it.

A module that imports such an extension unguarded, or a module that does, raises at its import where
there is no CUDA; and what only such modules import is for them alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Protocol

from devlint.project.source import SourceError, read

_NAMED = r"""\(\s*(?:name\s*=\s*)?["']([\w.]+)["']"""
_FOR_CUDA = re.compile(r"\bCUDAExtension" + _NAMED)
_FOR_HOST = re.compile(r"\b(?:CppExtension|Extension)" + _NAMED)
# At the beginning of a line: under an `if` or a `try` it would be indented.
_IMPORT = re.compile(
    r"^(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+)|import[ \t]+([^\n#]+))", re.M
)
_SETUP = "setup.py"
_DEPTH = 3  # of directories below the root that may have a setup of their own
_MOST = 2_000  # directories, or files, that are looked through


class ModuleName(Protocol):
    @property
    def dotted(self) -> str: ...
    @property
    def is_package(self) -> bool: ...


class Modules(Protocol):
    """The files of a project, and the names under which they are imported."""

    root: Path

    def has_file(self, directory: Path, name: str) -> bool: ...
    def name_of(self, file: Path) -> ModuleName: ...
    def search_path(self, file: Path) -> tuple[Path, ...]: ...
    def find(self, roots: tuple[Path, ...], dotted: str) -> Path | None: ...


class CudaBuilds:
    """The extensions that a project builds for CUDA, and which of its files need them."""

    def __init__(self, project: Modules) -> None:
        self.project = project
        self._extensions: frozenset[str] | None = None
        self._needs: dict[Path, bool] = {}
        self._importers: dict[Path, set[Path]] | None = None

    def needed_by(self, file: Path) -> bool:
        """Whether nothing but CUDA runs a file."""
        return bool(self.extensions()) and (self._imports(file) or self._serves_it(file))

    def extensions(self) -> frozenset[str]:
        """The modules that are built for CUDA, and not for the host, too."""
        if self._extensions is None:
            texts = [_text(file) for file in self._setups()]
            built = {name for text in texts for name in _FOR_CUDA.findall(text)}
            portable = {name for text in texts for name in _FOR_HOST.findall(text)}
            self._extensions = frozenset(built - portable)
        return self._extensions

    def _setups(self) -> Iterator[Path]:
        waiting, seen = [(self.project.root, 0)], 0
        while waiting and seen < _MOST:
            directory, depth = waiting.pop(0)
            seen += 1
            if self.project.has_file(directory, _SETUP):
                yield directory / _SETUP
            if depth < _DEPTH:
                waiting += [(inner, depth + 1) for inner in _directories(directory)]

    def _imports(self, file: Path) -> bool:
        """The file imports one of the extensions, or what does; a cycle adds nothing."""
        known = self._needs.get(file)
        if known is None:
            self._needs[file] = False
            known = self._needs[file] = any(
                name in self.extensions() or self._is_needed_by_module(name, file)
                for name in self._imported(file)
            )
        return known

    def _is_needed_by_module(self, name: str, file: Path) -> bool:
        found = self.project.find(self.project.search_path(file), name)
        return found is not None and found != file and self._imports(found)

    def _imported(self, file: Path) -> Iterator[str]:
        """The modules that are imported with a file: packages come before what is in them."""
        own = self.project.name_of(file)
        package = own.dotted if own.is_package else own.dotted.rpartition(".")[0]
        if self.project.has_file(file.parent, "__init__.py"):
            yield from _with_packages(package)
        for module, names, plain in _IMPORT.findall(_text(file)):
            if plain:
                for name in plain.split(","):
                    yield from _with_packages(name.split(" as ")[0].strip())
                continue
            source = _absolute(module, package)
            yield from _with_packages(source)
            for name in names.strip("()").split(","):
                yield f"{source}.{name.split(' as ')[0].strip()}"

    def _serves_it(self, file: Path, seen: frozenset[Path] = frozenset()) -> bool:
        """All that import it need an extension, or serve what does."""
        importers = self._importers_of(file) - seen
        seen |= importers | {file}
        return bool(importers) and all(
            self._imports(other) or self._serves_it(other, seen) for other in importers
        )

    def _importers_of(self, file: Path) -> set[Path]:
        if self._importers is None:
            self._importers = {}
            for other in islice(_modules(self.project.root), _MOST):
                roots = self.project.search_path(other)
                for name in self._imported(other):
                    found = self.project.find(roots, name)
                    if found is not None and found != other:
                        self._importers.setdefault(found, set()).add(other)
        return self._importers.get(file, set())


def _modules(root: Path) -> Iterator[Path]:
    waiting = [root]
    while waiting:
        directory = waiting.pop()
        yield from sorted(directory.glob("*.py"))
        waiting += _directories(directory)


def _absolute(module: str, package: str) -> str:
    """`..ops` in `pkg.models` is `pkg.ops`."""
    level = len(module) - len(module.lstrip("."))
    if not level:
        return module
    base = package.split(".")
    kept = base[: len(base) - level + 1]
    return ".".join([*kept, module[level:]]).strip(".")


def _with_packages(dotted: str) -> Iterator[str]:
    parts = dotted.split(".")
    for count in range(1, len(parts) + 1):
        yield ".".join(parts[:count])


def _directories(directory: Path) -> list[Path]:
    try:
        entries = sorted(directory.iterdir())
    except OSError:
        return []
    return [e for e in entries if not e.name.startswith(".") and e.is_dir() and not e.is_symlink()]


def _text(file: Path) -> str:
    try:
        return read(file).decode(errors="replace")
    except SourceError:
        return ""  # reported where the file itself is checked
