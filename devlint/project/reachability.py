"""Definitions that nothing reaches: all that names them is itself named by nobody.

    def norms(rows): ...               # `clip` alone names it
    def clip(rows): norms(rows)        # nobody names it, though the file is in use: neither runs

A definition is a function or a class at the top of a file. What stands outside of all of them runs
where the file does, and so may what a decorator registers, what an `__init__` or a configuration
or a text names, all of a module in which some code looks names up (`getattr(helpers, name)`), and
what nobody names of a file of which nothing else is named, if others install the project: code out
of sight may.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path

from devlint.project.definitions import Definitions
from devlint.project.users import Users
from devlint.project.uses import RUN, TEST, lines_with

MOST = 40  # definitions that are looked at, on the ways to one

Place = tuple[Path, str]  # a file, and a name that it defines

_LOOKED_UP = re.compile(rb"\b(?:dir|vars|getattr)\((?:\w+\.)*(\w+)\b|\b(\w+)\.__dict__")
_LOOKING_UP = (b"dir(", b"vars(", b"getattr(", b".__dict__")  # one of them stands in such a line

_IMPORTS_ANY = re.compile(rb"\bimport_module\(|(?<![.\w])(?:__import__|eval|exec)\(")
_BY_NAME = re.compile(rb"\b(?:import_module|__import__|instantiate\w*)\(")
_CONFIGURATIONS = frozenset({".yaml", ".yml", ".json", ".toml", ".cfg", ".ini"})
_SHOWS = re.compile(
    r"_*(plot|draw|show|visuali[sz]|vis_|log_|render_|debug|report|summar|display|animat)", re.I
)
_EVALUATES = re.compile(rb"(?<![.\w])(?:eval|exec)\(")
_TAKES_ALL = re.compile(rb"^[ \t]*from\b[^\n#]*\bimport[ \t(]*\*", re.M)
_IMPORT = re.compile(rb"^[ \t]*(?:from|import)\b", re.M)
_LOOKS_UP = re.compile(rb"\bglobals\(\)|\bFire\(")


class Reaching:
    """Who uses what, as the texts of a project tell."""

    def __init__(self, root: Path, texts: Mapping[Path, bytes], is_installed: bool) -> None:
        self._root, self._texts, self._is_installed = root, texts, is_installed
        self._definitions = Definitions(texts)
        self._known: dict[Place, frozenset[Place | None]] = {}
        self._reached: dict[Place, bool] = {}
        self._outside: dict[Path, tuple[str, ...]] = {}

    def look_through(self) -> None:
        """Find now what is asked of all files."""
        self._users.look_through()
        self._searched, self._evaluating, self._imports_unseen  # noqa: B018  # they are kept

    def reaches(self, name: str, file: Path) -> bool:
        """Whether something that may run uses a name that a file defines."""
        start = file, name
        if start not in self._reached:
            self._reached[start] = self._looked_for(start)
        return self._reached[start]

    def is_named_elsewhere(self, name: str, file: Path) -> bool:
        """Whether another file than this uses a name, and may mean what this one defines."""
        return any(use.file != file for use in self._users.of(file, name))

    def looks_names_up(self, file: Path) -> bool:
        """Whether a file's own code or that of others may take out of it what no text names: by a
        name that is made up or comes from a user. The front of a package that takes in all of a
        module offers it to such code as well. Who imports by names takes them from configurations;
        if there are none in sight, nobody knows which."""
        stem = file.stem.encode()
        return (
            any(stem in text for text in self._evaluating)
            or self._imports_unseen
            or stem in self._searched
            or _LOOKS_UP.search(self._texts.get(file, b"")) is not None
            or any(
                _TAKES_ALL.search(self._texts.get(folder / "__init__.py", b"")) is not None
                for folder in file.parents
            )
        )

    def serves_readers(self, name: str, file: Path) -> bool:
        """Whether all that uses a name, and no test, is a definition that by its name shows
        something: `plot_losses`, `VisualizationMixin`. Of very many, not all do."""
        using = self._using(file, name)
        users = [
            user
            for user in using
            if user is None or TEST.search(self._named[user[0]].as_posix()) is None
        ]
        return (
            bool(users)
            and len(using) <= MOST
            and all(user is not None and _SHOWS.match(user[1]) is not None for user in users)
        )

    def _looked_for(self, start: Place) -> bool:
        """Along the ways to a place. What reaches one on the way reaches all between the two, and
        what nothing reaches is used by nothing else."""
        way: dict[Place, Place | None] = {start: None}  # each with what it uses
        waiting = [start]
        for place in waiting:  # grows on the way
            if len(way) > MOST:
                return True
            users = self._using(*place)
            if (
                self._reached.get(place, False)
                or place[0].stem.encode() in self._searched
                or None in users
                or not (users or self._is_left(*place))
            ):
                used: Place | None = place
                while used is not None:
                    self._reached[used] = True
                    used = way[used]
                return True
            new = {user for user in users if user is not None and user not in way}
            way.update(dict.fromkeys(new, place))
            waiting += sorted(new)
        self._reached.update(dict.fromkeys(way, False))
        return False

    def _is_left(self, file: Path, name: str) -> bool:
        """What nobody names is left over in a file that is run, or of which others are named, and
        in any of a closed application; but where the file looks names up by itself."""
        text = self._texts.get(file, b"")
        if file.suffix != ".py" or _LOOKS_UP.search(text) is not None:
            return False
        if RUN.search(text) is not None or self._is_closed:
            return True
        return any(other != name for other in self._used_outside(file))

    def _used_outside(self, file: Path) -> tuple[str, ...]:
        """Two definitions of a file that others name, or the file itself outside of all: one of
        them is another than the one asked for. Fewer, where there are none."""
        if file not in self._outside:
            users = ((n, self._using(file, n)) for n in self._definitions.names(file))
            used = (
                n for n, of in users if len(of) > MOST or any(u is None or u[0] != file for u in of)
            )
            self._outside[file] = tuple(islice(used, 2))
        return self._outside[file]

    def _using(self, file: Path, name: str) -> frozenset[Place | None]:
        """The definitions that use a name; None for all else that does. Not all of them, where
        there are more than are looked at, or something else uses it."""
        place = (file, name)
        known = self._known.get(place)
        if known is None:
            users = (
                (use.file, use.definition) if use.definition and not use.is_quoted else None
                for use in self._users.of(file, name)
                if (use.file, use.definition) != place and not use.is_definition
            )
            found: set[Place | None] = set()
            for user in users:
                found.add(user)
                if user is None or len(found) > MOST + 1:
                    break
            known = self._known[place] = frozenset(found)
        return known

    @cached_property
    def _is_closed(self) -> bool:
        """Nobody installs the project, no front of a package of it offers anything, and no code of
        it imports by names that it makes up."""
        code = [(file, text) for file, text in self._texts.items() if file.suffix == ".py"]
        return not self._is_installed and not any(
            _IMPORTS_ANY.search(text)
            or (file.name == "__init__.py" and _IMPORT.search(text) is not None)
            for file, text in code
        )

    @cached_property
    def _evaluating(self) -> tuple[bytes, ...]:
        """The files that evaluate texts: with what they import."""
        code = (text for file, text in self._texts.items() if file.suffix == ".py")
        return tuple(
            text
            for text in code
            if any(_EVALUATES.search(line) for line in lines_with((b"eval(", b"exec("), text))
        )

    @cached_property
    def _imports_unseen(self) -> bool:
        """Some code imports by names that are made up, and no configuration is there to tell."""
        if any(file.suffix in _CONFIGURATIONS for file in self._texts):
            return False
        code = (text for file, text in self._texts.items() if file.suffix == ".py")
        return any(_BY_NAME.search(text) is not None for text in code)

    @cached_property
    def _users(self) -> Users:
        return Users(self._texts, self._named, self._is_installed, self._definitions)

    @cached_property
    def _named(self) -> dict[Path, Path]:
        """The files, each below the root."""
        return {file: file.relative_to(self._root) for file in self._texts}

    @cached_property
    def _searched(self) -> frozenset[bytes]:
        """The modules, and other objects, whose names some code looks up."""
        code = (text for file, text in self._texts.items() if file.suffix == ".py")
        return frozenset(
            name
            for text in code
            for line in lines_with(_LOOKING_UP, text)
            for pair in _LOOKED_UP.findall(line)
            for name in pair
        )
