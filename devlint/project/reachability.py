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
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path

from devlint.project.naming import Naming
from devlint.project.origins import Origins, means_its_own
from devlint.project.uses import RUN, TEST, lines_with, uses_in
from devlint.records import NamedTuple

MOST = 40  # definitions that are looked at, on the ways to one

Place = tuple[Path, str]  # a file, and a name that it defines

# The first line of a definition, of its decorators, or of what stands outside of both.
# It is searched for behind a line end: `^` would be tried at each character of a text.
_BEGINNING = re.compile(rb"\n(?:(@)|(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)|[^\s#)\]}])")
_DEFINING = re.compile(rb"\b(?:def|class)[ \t]+\Z")
_QUOTED = re.compile(rb"[\"'][\w.:/]*\Z")  # whoever reads the text may look the name up
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


class _Parts(NamedTuple):
    """The definitions of a file, and what stands between two: where each starts, and its name."""

    starts: list[int]
    names: list[str]  # "" outside of definitions, and where a decorator may register one


class Reaching:
    """Who uses what, as the texts of a project tell."""

    def __init__(
        self,
        root: Path,
        texts: Mapping[Path, bytes],
        is_installed: bool,
        naming: Naming | None = None,
    ) -> None:
        self._root, self._texts, self._is_installed = root, texts, is_installed
        self._naming = naming or Naming(texts)
        self._known: dict[Place, frozenset[Place | None]] = {}
        self._parts: dict[Path, _Parts] = {}
        self._reached: dict[Place, bool] = {}
        self._outside: dict[Path, tuple[str, ...]] = {}

    def look_through(self) -> None:
        """Find now what is asked of all files."""
        self._searched  # noqa: B018  # it is kept

    def reaches(self, name: str, file: Path) -> bool:
        """Whether something that may run uses a name that a file defines."""
        start = file, name
        if start not in self._reached:
            self._reached[start] = self._looked_for(start)
        return self._reached[start]

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
        something: `plot_losses`, `VisualizationMixin`."""
        users = [
            user
            for user in self._users(file, name)
            if user is None or TEST.search(self._named[user[0]].as_posix()) is None
        ]
        return bool(users) and all(
            user is not None and _SHOWS.match(user[1]) is not None for user in users
        )

    def _looked_for(self, start: Place) -> bool:
        """Along the ways to a place. What reaches one on the way reaches all between the two, and
        what nothing reaches is used by nothing else."""
        way: dict[Place, Place | None] = {start: None}  # each with what it uses
        waiting = [start]
        for place in waiting:  # grows on the way
            if len(way) > MOST:
                return True
            users = self._users(*place)
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
            names = [name for name in dict.fromkeys(self._of(file).names) if name]
            users = ((n, self._users(file, n)) for n in names)
            used = (n for n, of in users if any(u is None or u[0] != file for u in of))
            self._outside[file] = tuple(islice(used, 2))
        return self._outside[file]

    def _users(self, file: Path, name: str) -> frozenset[Place | None]:
        """The definitions that use a name; None for all else that does."""
        place = (file, name)
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = frozenset(self._using(file, name))
        return known

    def _using(self, file: Path, name: str) -> Iterator[Place | None]:
        literal = name.encode()
        for other in self._naming.files(literal) or ():
            text = self._texts[other]
            for at in self.uses(file, literal, other):
                user, ahead = self._around(other, at), text[max(at - 80, 0) : at]
                if (other, user) != (file, name) and _DEFINING.search(ahead) is None:
                    is_quoted = _QUOTED.search(ahead) is not None
                    yield (other, user) if user and not is_quoted else None

    def uses(self, file: Path, name: bytes, user: Path) -> Iterator[int]:
        """Where a file uses a name, if it may mean what another one, or itself, defines."""
        text = self._texts[user]
        if user != file and user.suffix == ".py" and means_its_own(text, name):
            return
        for at in uses_in(self._named[user], text, name, self._is_installed):
            if user == file or self._origins.may_mean(user, at, name, file):
                yield at

    def _around(self, file: Path, at: int) -> str:
        """The definition around a place in a file."""
        parts = self._of(file)
        number = bisect_right(parts.starts, at)
        return parts.names[number - 1] if number else ""

    def _of(self, file: Path) -> _Parts:
        known = self._parts.get(file)
        if known is None:
            known = self._parts[file] = _Parts([], [])
            is_decorated = False
            text = self._texts.get(file, b"") if file.suffix == ".py" else b""
            for each in _BEGINNING.finditer(b"\n" + text):
                own = each[2] is not None and not is_decorated
                known.starts.append(each.start())  # without the line end in front
                known.names.append(each[2].decode() if own else "")
                is_decorated = each[1] is not None
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
        return tuple(text for text in code if _EVALUATES.search(text) is not None)

    @cached_property
    def _imports_unseen(self) -> bool:
        """Some code imports by names that are made up, and no configuration is there to tell."""
        if any(file.suffix in _CONFIGURATIONS for file in self._texts):
            return False
        code = (text for file, text in self._texts.items() if file.suffix == ".py")
        return any(_BY_NAME.search(text) is not None for text in code)

    @cached_property
    def _origins(self) -> Origins:
        return Origins(self._texts)

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
