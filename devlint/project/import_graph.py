"""Which file imports which, as the texts of a project say: nothing is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Protocol

from devlint.inference.conventions import is_installed
from devlint.project.source import SourceError, read

MOST = 2_000  # directories, or files, that are looked through
_IMPORT = r"(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+)|import[ \t]+([^\n#]+))"
# At the beginning of a line: under an `if` or a `try` it would be indented. They are searched for
# behind a line end: `^` would be tried at each character of a text.
_AT_ONCE = re.compile(r"\n" + _IMPORT)
_ANYWHERE = re.compile(r"\n[ \t]*" + _IMPORT)


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


class ImportGraph:
    """The imports among the files below a root, found when they are first asked for.

    unguarded: only imports that are made wherever the file is loaded count.
    """

    def __init__(self, project: Modules, *, unguarded: bool = False) -> None:
        self.project = project
        self._pattern = _AT_ONCE if unguarded else _ANYWHERE
        self._imports: dict[Path, frozenset[Path]] = {}
        self._importers: dict[Path, set[Path]] | None = None

    def names(self, file: Path) -> Iterator[str]:
        """The modules that are imported with a file: packages come before what is in them."""
        return self._names(file, self._package_of(file))

    def _names(self, file: Path, package: str) -> Iterator[str]:
        if self.project.has_file(file.parent, "__init__.py"):
            yield from _with_packages(package)
        for module, names, plain in self._pattern.findall("\n" + text_of(file)):
            if plain:
                for name in plain.split(","):
                    yield from _with_packages(name.split(" as ")[0].strip())
                continue
            source = _absolute(module, package)
            yield from _with_packages(source)
            for name in names.strip("()").split(","):
                yield f"{source}.{name.split(' as ')[0].strip()}"

    def file_of(self, name: str, importer: Path) -> Path | None:
        """The file that a name stands for in the imports of another: one that lies beside it where
        nothing else answers to the name, as `devlint.inference.program.imports` has it."""
        return next(self._files_of((name,), importer, self._package_of(importer)), None)

    def _files_of(self, names: Iterable[str], importer: Path, package: str) -> Iterator[Path]:
        """The files that names stand for in the imports of another, of those that stand for one."""
        find, roots = self.project.find, self.project.search_path(importer)
        for name in names:
            found = find(roots, name)
            if found is None and package:
                first = name.partition(".")[0]
                if find(roots, first) is None and not is_installed(first):
                    found = find(roots, f"{package}.{name}")
            if found is not None and found != importer:
                yield found

    def _package_of(self, file: Path) -> str:
        own = self.project.name_of(file)
        return own.dotted if own.is_package else own.dotted.rpartition(".")[0]

    def imported_by(self, file: Path) -> frozenset[Path]:
        known = self._imports.get(file)
        if known is None:
            package = self._package_of(file)
            names = dict.fromkeys(self._names(file, package))
            known = self._imports[file] = frozenset(self._files_of(names, file, package))
        return known

    def look_through(self) -> None:
        """Find all imports now."""
        self.importers_of(self.project.root)

    def importers_of(self, file: Path) -> set[Path]:
        if self._importers is None:
            self._importers = {}
            for other in self.files():
                for found in self.imported_by(other):
                    self._importers.setdefault(found, set()).add(other)
        return self._importers.get(file, set())

    def reaching(self, file: Path) -> frozenset[Path]:
        """The other files that import a file, or what does."""
        found: set[Path] = set()
        waiting = [file]
        while waiting:
            new = self.importers_of(waiting.pop()) - found
            found |= new
            waiting += new
        return frozenset(found - {file})

    def reached_by(self, file: Path) -> frozenset[Path]:
        """A file, and all that is imported with it."""
        found, waiting = {file}, [file]
        while waiting:
            new = self.imported_by(waiting.pop()) - found
            found |= new
            waiting += new
        return frozenset(found)

    def files(self) -> Iterator[Path]:
        return islice(_modules(self.project.root), MOST)


def directories(directory: Path) -> list[Path]:
    """The directories in another that may hold code; links are not followed."""
    try:
        entries = sorted(directory.iterdir())
    except OSError:
        return []
    return [e for e in entries if not e.name.startswith(".") and e.is_dir() and not e.is_symlink()]


def text_of(file: Path) -> str:
    try:
        return read(file).decode(errors="replace")
    except SourceError:
        return ""  # reported where the file itself is checked


def _modules(root: Path) -> Iterator[Path]:
    waiting = [root]
    while waiting:
        directory = waiting.pop()
        yield from sorted(directory.glob("*.py"))
        waiting += directories(directory)


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
