"""Module names and imports: from a dotted name to a file of the project, as Python does it."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devlint.project.cuda_builds import CudaBuilds
from devlint.project.notebooks import Cell
from devlint.project.python_text import python_text
from devlint.project.source import ParsedFile, SourceError, digest, read

# All in characters of source. A tree takes about 100 times the memory of its source.
TREE_BUDGET = 600_000  # whose trees are kept at a time
IMPORTER_BUDGET = 900_000  # that one importer loads, since whoever infers keeps what it loaded
# That may be parsed for the sake of imports only, beyond the files that are checked: as much as is
# good for a single file, and for many files as much as keeps their check fast.
IMPORT_ALLOWANCE = 300_000
IMPORT_SHARE = 0.2
# What makes tensors elsewhere than on the host, where nobody says where.
SETS_DEFAULT = re.compile(
    rb"^[ \t]*torch\.set_default_(?:tensor_type\([\"']?torch\.cuda"
    rb"|device\((?![\"']cpu|None|torch\.device\([\"']cpu))",
    re.M,
)


@dataclass(frozen=True, slots=True)
class ModuleName:
    """The name under which a file is imported, and the directory that it is imported from."""

    dotted: str
    is_package: bool
    root: Path


class Project:
    """The files under one root directory, each parsed when first asked for.

    contents: what is to be taken for the content of some files instead of what is on disk.
    digests: of the contents that were parsed, as they were at first.
    cells: of the notebooks that were parsed, by path.
    checked, parsed: the characters of the files whose check is done, and of all that were parsed.
    The trees that were used last are kept, as many as their sources fit in a budget (characters).
    """

    def __init__(
        self,
        root: Path,
        contents: Mapping[Path, bytes] | None = None,
        budget: int = TREE_BUDGET,
    ) -> None:
        self.root = root
        self.contents = contents or {}
        self.checked = 0
        self.parsed = 0
        self.digests: dict[Path, bytes] = {}
        self.cells: dict[str, tuple[Cell, ...]] = {}
        self.budget = budget
        self._trees: OrderedDict[Path, ParsedFile | SourceError] = OrderedDict()
        self._size = 0
        self._listings: dict[Path, frozenset[str]] = {}
        self._found: dict[tuple[Path, ...], dict[str, Path | None]] = {}
        self._settings: dict[Path, dict[str, str]] = {}
        self.cuda_builds = CudaBuilds(self)

    def path_of(self, file: Path) -> str:
        """The file's path in reports: relative to the root, absolute outside of it."""
        try:
            return file.relative_to(self.root).as_posix()
        except ValueError:
            return file.as_posix()

    def name_of(self, file: Path) -> ModuleName:
        """The module's name.

        A file in a package has the name that the package's parent directory gives; else the name
        counts from `src/` or the project root, as for a namespace package.
        """
        is_package = file.stem == "__init__"
        parts = [] if is_package else [file.stem]
        directory = file.parent
        while self.has_file(directory, "__init__.py") and directory.parent != directory:
            parts.insert(0, directory.name)
            directory = directory.parent
        if len(parts) > (0 if is_package else 1):
            return ModuleName(".".join(parts), is_package, directory)
        for root in (self.root / "src", self.root):
            if root in file.parents:
                prefix = file.parent.relative_to(root).parts
                return ModuleName(".".join((*prefix, *parts)), is_package, root)
        return ModuleName(".".join(parts), is_package, file.parent)

    def search_path(self, file: Path) -> tuple[Path, ...]:
        """Where the imports of a file are looked up, in the order of Python's `sys.path`.

        For a module of a package that is the directory above the package, for any other file, as
        for a script, its own directory; then the project root and `src/`.
        """
        in_package = self.has_file(file.parent, "__init__.py")
        first = self.name_of(file).root if in_package else file.parent
        return tuple(dict.fromkeys((first, self.root, self.root / "src")))

    def parse(self, file: Path) -> ParsedFile:
        """The parsed file. Raises SourceError."""
        known = self._trees.get(file)
        if known is None:
            try:
                known = self._parse(file)
            except SourceError as error:
                known = error
            self._keep(file, known)
        else:
            self._trees.move_to_end(file)
        if isinstance(known, SourceError):
            raise known.with_traceback(None)
        return known

    def parse_for_import(self, file: Path) -> ParsedFile | None:
        """The parsed file; None if it cannot be parsed, or if enough was parsed for imports.

        A project can hang together so that each file imports, in the end, all of it.
        """
        try:
            if file not in self._trees:
                allowed = IMPORT_ALLOWANCE + IMPORT_SHARE * self.checked
                if self.parsed - self.checked + file.stat().st_size > allowed:
                    return None
            return self.parse(file)
        except (SourceError, OSError):
            return None  # reported where the file itself is checked

    def _parse(self, file: Path) -> ParsedFile:
        data = self._content(file)
        self.digests.setdefault(file, digest(data))
        source = python_text(file, data)
        self.parsed += len(source.text)
        name = self.name_of(file)
        path = self.path_of(file)
        if source.cells:
            self.cells[path] = source.cells
        return ParsedFile(
            path,
            name.dotted,
            name.is_package,
            source.text,
            source.tree(),
            file,
            source.written,
        )

    def _content(self, file: Path) -> bytes:
        """What is to be taken for the content of a file. Raises SourceError."""
        data = self.contents.get(file)
        return read(file) if data is None else data

    def drop(self, file: Path) -> None:
        """Forget the tree of a file, for its memory."""
        known = self._trees.pop(file, None)
        if isinstance(known, ParsedFile):
            self._size -= len(known.text)

    def _keep(self, file: Path, known: ParsedFile | SourceError) -> None:
        self._trees[file] = known
        if isinstance(known, ParsedFile):
            self._size += len(known.text)
        while self._size > self.budget and len(self._trees) > 1:
            self.drop(next(iter(self._trees)))

    def has_file(self, directory: Path, name: str) -> bool:
        """Whether there is such a file, by a listing that is read once for each directory."""
        return name in self._listing(directory) and (directory / name).is_file()

    def has_directory(self, directory: Path, name: str) -> bool:
        return name in self._listing(directory) and (directory / name).is_dir()

    def find(self, roots: tuple[Path, ...], dotted: str) -> Path | None:
        """The file of the module that a dotted name stands for in these directories."""
        found = self._found.setdefault(roots, {})
        if dotted not in found:
            found[dotted] = self._find(roots, dotted.split("."))
        return found[dotted]

    def _find(self, roots: tuple[Path, ...], names: list[str]) -> Path | None:
        """As Python does it: a package or module in the first directory that has one, else every
        plain directory of that name is searched on, as portions of a namespace package."""
        found, directories = None, list(roots)
        for name in names:
            portions = []
            for directory in directories:
                inner = directory / name
                is_directory = self.has_directory(directory, name)
                if is_directory and self.has_file(inner, "__init__.py"):
                    found, portions = inner / "__init__.py", [inner]
                    break
                if self.has_file(directory, f"{name}.py"):
                    found, portions = directory / f"{name}.py", []
                    break
                if is_directory:
                    portions.append(inner)
            else:
                found = None
            directories = portions
        return found

    def settings(self, directory: Path) -> dict[str, str]:
        """The modules of a directory that choose a default device for the program: their texts."""
        found = self._settings.get(directory)
        if found is None:
            found = self._settings[directory] = {}
            for name in self._listing(directory):
                if not name.endswith(".py") or name.startswith("test_"):
                    continue
                try:
                    data = self._content(directory / name)
                except SourceError:
                    continue  # reported where the file itself is checked
                if SETS_DEFAULT.search(data):
                    found[name.removesuffix(".py")] = data.decode(errors="replace")
        return found

    def _listing(self, directory: Path) -> frozenset[str]:
        names = self._listings.get(directory)
        if names is None:
            try:
                names = frozenset(entry.name for entry in directory.iterdir())
            except OSError:
                names = frozenset()
            self._listings[directory] = names
        return names


class Importer:
    """What imports find in the project, from files that share their search path.

    roots: the directories searched, in order.
    size: the characters of source loaded so far: whoever infers from it keeps as many trees.
    refused: the modules that were found and not loaded: broken ones, or one too many.
    """

    def __init__(self, project: Project, roots: tuple[Path, ...]) -> None:
        self.project = project
        self.roots = roots
        self.size = 0
        self.refused: set[str] = set()
        self._loaded: set[Path] = set()

    def load(self, dotted: str) -> ParsedFile | None:
        """The module of an absolute dotted name.

        None if the project has none, or a broken one, or if too much was loaded already: the name
        is then in `refused`.
        """
        file = self.find(dotted)
        if file is None:
            return None
        if file in self._loaded:
            return self.project.parse_for_import(file)
        parsed = None
        if self.size < IMPORTER_BUDGET:
            parsed = self.project.parse_for_import(file)
        if parsed is None:
            self.refused.add(dotted)
            return None
        self._loaded.add(file)
        self.size += len(parsed.text)
        return parsed

    def find(self, dotted: str) -> Path | None:
        """The file that the name stands for, not parsed."""
        return self.project.find(self.roots, dotted)

    def needs_cuda(self, path: str) -> bool:
        """Whether nothing but CUDA runs a file: the project builds what it needs for it."""
        return self.project.cuda_builds.needed_by(self.project.root / path)

    def settings(self, path: str) -> dict[str, str]:
        """What may choose a default device for a file's program: modules beside it, or in the
        directories above it, as far as the project goes. Their texts by their names."""
        root, found = self.project.root, {}
        directory = (root / path).parent
        while True:
            found.update(self.project.settings(directory))
            if directory == root or root not in directory.parents:
                return found
            directory = directory.parent
