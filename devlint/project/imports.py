"""Module names and imports: from a dotted name to a file of the project, as Python does it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from devlint.project.added_folders import added_folders, path_modules
from devlint.project.programs import SETS_DEFAULT, is_script, may_set_default
from devlint.project.questions import Asked, Question
from devlint.project.source import ParsedFile, SourceError, digest, read
from devlint.project.survey import Survey
from devlint.records import NamedTuple

# LibCST is imported where something is parsed: most questions about a project need no tree.
if TYPE_CHECKING:
    from libcst import Module

    from devlint.project.notebooks import Cell
    from devlint.project.python_text import PythonText

# All in characters of source. A tree takes about 100 times the memory of its source.
TREE_BUDGET = 600_000  # whose trees are kept at a time
IMPORTER_BUDGET = 900_000  # that one importer loads, since whoever infers keeps what it loaded
# That may be parsed for the sake of imports only, beyond the files that are checked: as much as is
# good for a single file, and for many files as much as keeps their check fast.
IMPORT_ALLOWANCE = 300_000
IMPORT_SHARE = 0.2
CHANGED = ""  # the digest of no content


class ModuleName(NamedTuple):
    """The name under which a file is imported, and the directory that it is imported from."""

    dotted: str
    is_package: bool
    root: Path


class Trees:
    """The trees of the files that were parsed last: those that one project drops, the next one
    need not parse again."""

    def __init__(self, budget: int = TREE_BUDGET) -> None:
        self.budget = budget  # in characters of their sources
        self._parsed: OrderedDict[tuple[Path, bytes], tuple[PythonText, Module]] = OrderedDict()
        self._size = 0

    def parse(self, file: Path, data: bytes, name: bytes) -> tuple[PythonText, Module]:
        """The text and tree of a content, given with its digest. Raises SourceError."""
        known = self._parsed.pop((file, name), None)
        if known is None:
            from devlint.project.python_text import python_text  # see above

            text = python_text(file, data)
            known = text, text.tree()
            self._size += len(text.text)
        self._parsed[file, name] = known
        while self._size > self.budget and len(self._parsed) > 1:
            (text, _) = self._parsed.popitem(last=False)[1]
            self._size -= len(text.text)
        return known


class Project:
    """The files under one root directory, each parsed when first asked for.

    contents: what is to be taken for the content of some files instead of what is on disk.
    allowance: the characters that may be parsed for imports only; None: as for a single file.
    trees, survey: what is known from others of the same root.
    asked: what was asked of it, with the answers.
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
        allowance: int | None = None,
        trees: Trees | None = None,
        survey: Survey | None = None,
    ) -> None:
        self.asked = Asked()
        self.allowance = allowance
        self.trees = trees
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
        self._search_paths: dict[Path, tuple[Path, ...]] = {}
        self._survey = survey

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
        for a script, its own directory; then the project root and `src/`. A script among the
        modules of a package (`if __name__ == "__main__":`) finds its neighbours, too.
        """
        known = self._search_paths.get(file)
        if known is None:
            known = self._search_paths[file] = self._search_path(file)
        return known

    def _search_path(self, file: Path) -> tuple[Path, ...]:
        in_package = self.has_file(file.parent, "__init__.py")
        first = self.name_of(file).root if in_package else file.parent
        try:
            data = self._content(file)
        except SourceError:
            data = b""
        last = (file.parent,) if in_package and is_script(data) else ()
        added = self._added_folders(file, data)
        return tuple(dict.fromkeys((first, self.root, self.root / "src", *last, *added)))

    def _added_folders(self, file: Path, data: bytes) -> Iterator[Path]:
        folder = file.parent
        yield from added_folders(data, folder, self.root, self._is_folder)
        for name in path_modules(data):
            if self.has_file(folder, f"{name}.py") and name != file.stem:
                with suppress(SourceError):
                    told = self.content(folder / f"{name}.py")
                    yield from added_folders(told, folder, self.root, self._is_folder)

    def _is_folder(self, folder: Path) -> bool:
        return folder == self.root or self.has_directory(folder.parent, folder.name)

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
                allowance = IMPORT_ALLOWANCE if self.allowance is None else self.allowance
                allowed = allowance + IMPORT_SHARE * self.checked
                size = size_of(file)
                if size < 0 or self.parsed - self.checked + size > allowed:
                    self.asked.sizes.setdefault(str(file), size)
                    return None
            return self.parse(file)
        except (SourceError, OSError):
            return None  # reported where the file itself is checked

    def _parse(self, file: Path) -> ParsedFile:
        data = self.content(file)
        name = digest(data)
        # One that this project parsed and dropped is parsed anew: what it gets must not depend on
        # what others parsed.
        trees = Trees(0) if self.trees is None or file in self.digests else self.trees
        self.digests.setdefault(file, name)
        source, tree = trees.parse(file, data, name)
        self.parsed += len(source.text)
        module = self.name_of(file)
        path = self.path_of(file)
        if source.cells:
            self.cells[path] = source.cells
        return ParsedFile(
            path,
            module.dotted,
            module.is_package,
            source.text,
            tree,
            file,
            source.written,
        )

    def content(self, file: Path) -> bytes:
        """What is to be taken for the content of a file. Raises SourceError."""
        try:
            data = self._content(file)
        except SourceError as error:
            known = self.asked.contents.get(str(file))
            self.asked.contents[str(file)] = (
                error.message if known in (None, error.message) else CHANGED
            )
            raise
        name, known = digest(data).hex(), self.asked.contents.get(str(file))
        # It may be written to while it is checked: then no content is what was seen.
        self.asked.contents[str(file)] = name if known in (None, name) else CHANGED
        return data

    def _content(self, file: Path) -> bytes:
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
        known = self.asked.files.setdefault(str(directory), {})
        if name not in known:
            known[name] = name in self._listing(directory) and (directory / name).is_file()
        return known[name]

    def has_directory(self, directory: Path, name: str) -> bool:
        known = self.asked.directories.setdefault(str(directory), {})
        if name not in known:
            known[name] = name in self._listing(directory) and (directory / name).is_dir()
        return known[name]

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
                is_directory = self.has_directory(directory, name)
                inner = directory / name if is_directory else directory
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
            asked = self.asked.settings[str(directory)] = {}
            for name in self.modules_in(directory):
                try:
                    data = self._content(directory / name)
                except SourceError:
                    continue  # reported where the file itself is checked
                if b"torch.set_default_" in data and SETS_DEFAULT.search(data):
                    found[name.removesuffix(".py")] = data.decode(errors="replace")
                    asked[name] = digest(data).hex()
        return found

    def modules_in(self, directory: Path) -> list[str]:
        """The files of a directory that may choose a default device."""
        return sorted(filter(may_set_default, self._listing(directory)))

    def answer(self, question: Question, file: Path | None = None, name: str = "") -> bool:
        """The answer to a question that only the whole project answers; it is looked for once."""
        known = self.asked.about(question, "" if file is None else str(file))
        if name not in known:
            if self._survey is None:
                self._survey = Survey(self.root, Project(self.root))
            known[name] = self._survey.answer(question, file or self.root, name)
        return known[name]

    def _listing(self, directory: Path) -> frozenset[str]:
        names = self._listings.get(directory)
        if names is None:
            try:
                names = frozenset(entry.name for entry in directory.iterdir())
            except OSError:
                names = frozenset()
            self._listings[directory] = names
        return names


def size_of(file: Path) -> int:
    """The size of a file; -1 where there is none."""
    try:
        return file.stat().st_size
    except (OSError, ValueError):
        return -1


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
        return self._answer(Question.NEEDS_CUDA, path)

    def programs_choose_default_device(self, path: str) -> bool:
        return self._answer(Question.PROGRAMS_CHOOSE_DEFAULT_DEVICE, path)

    def programs_offer_host(self, path: str) -> bool:
        return self._answer(Question.PROGRAMS_OFFER_HOST, path)

    def is_imported(self, path: str) -> bool:
        return self._answer(Question.IS_IMPORTED, path)

    def callers_demand_cuda(self, name: str, path: str) -> bool:
        return self._answer(Question.CALLERS_DEMAND_CUDA, path, name)

    def is_named_by_importers(self, name: str, path: str) -> bool:
        return self._answer(Question.IS_NAMED_BY_IMPORTERS, path, name)

    def is_named_elsewhere(self, name: str, path: str) -> bool:
        return self._answer(Question.IS_NAMED_ELSEWHERE, path, name)

    def reaches(self, name: str, path: str) -> bool:
        return self._answer(Question.REACHES, path, name)

    def looks_names_up(self, path: str) -> bool:
        return self._answer(Question.LOOKS_NAMES_UP, path)

    def serves_readers(self, name: str, path: str) -> bool:
        return self._answer(Question.SERVES_READERS, path, name)

    def rebinds_elsewhere(self, attribute: str, path: str) -> bool:
        return self._answer(Question.REBINDS_ELSEWHERE, path, attribute)

    def gives_elsewhere(self, attribute: str, path: str) -> bool:
        return self._answer(Question.GIVES_ELSEWHERE, path, attribute)

    def sets_option(self, option: str) -> bool:
        return self.project.answer(Question.SETS_OPTION, name=option)

    def moves_data(self) -> bool:
        return self.project.answer(Question.MOVES_DATA)

    def is_application(self) -> bool:
        return self.project.answer(Question.IS_APPLICATION)

    def is_for_cuda(self) -> bool:
        return self.project.answer(Question.IS_FOR_CUDA)

    def chooses_card(self) -> bool:
        return self.project.answer(Question.CHOOSES_CARD)

    def saves_from_host(self) -> bool:
        return self.project.answer(Question.SAVES_FROM_HOST)

    def _answer(self, question: Question, path: str, name: str = "") -> bool:
        return self.project.answer(question, self.project.root / path, name)

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
