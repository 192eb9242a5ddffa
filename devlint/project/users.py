"""Who uses a name, of the files that define it: one look at all of its uses answers for each.

    shapes.py    def scale(x): ...
    losses.py    def scale(x): ...
    train.py     from shapes import scale
                 def step(x): return scale(x)     # uses that of shapes.py

A project defines `forward` or `build` in hundreds of files, and names it in thousands of places:
each place is looked at once, for what it may mean there.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path

from devlint.project import origins, uses
from devlint.project.definitions import Definitions
from devlint.project.naming import Naming
from devlint.project.origins import Origins, means_its_own
from devlint.project.uses import uses_in
from devlint.records import NamedTuple, dataclass

FEW = 10  # names: to look for each of them takes less time than to look for all

_DEFINING = re.compile(rb"\b(?:def|class)[ \t]+\Z")
_QUOTED = re.compile(rb"[\"'][\w.:/]*\Z")  # whoever reads the text may look the name up


class Use(NamedTuple):
    """Uses of a name in a definition of a file; "" where they stand outside of all.

    is_definition: `def name`, which another one than the file asked for makes.
    is_quoted: whoever reads the text may look the name up.
    """

    file: Path
    definition: str
    is_definition: bool
    is_quoted: bool


@dataclass(slots=True)
class _Uses:
    """The uses of a name, by what it may mean there. `own`: those in the file itself."""

    own: defaultdict[Path, set[Use]] = field(default_factory=lambda: defaultdict(set))
    by_file: defaultdict[Path, set[Use]] = field(default_factory=lambda: defaultdict(set))
    of_anything: set[Use] = field(default_factory=set)
    of_tops: set[Use] = field(default_factory=set)  # of what any file has at its top
    of_methods: set[Use] = field(default_factory=set)
    foreign: set[Use] = field(default_factory=set)  # whatever it means there, but for own names


class Users:
    """Where the files of a project use what its files define.

    named: the files, each below the root.
    """

    def __init__(
        self,
        texts: Mapping[Path, bytes],
        named: Mapping[Path, Path],
        is_installed: bool,
        definitions: Definitions,
    ) -> None:
        self._texts, self._named, self._is_installed = texts, named, is_installed
        self._definitions = definitions
        self._naming = Naming(texts)
        self._known: dict[bytes, _Uses] = {}
        self._is_looked_through = False

    def look_through(self) -> None:
        """Find now what is asked of all files."""
        self._naming.files(b"")
        self._is_looked_through = True
        for file, text in self._texts.items():
            if file.suffix == ".py":
                uses.look_through(text)
                origins.look_through(text)

    def of(self, file: Path, name: str) -> Iterator[Use]:
        """The uses of a name that may mean what a file defines: its own, and those of others."""
        literal = name.encode()
        found = self._known.get(literal)
        if found is None:
            found = self._known[literal] = self._all(literal)
        yield from found.own.get(file, ())
        if file not in self._texts:
            yield from found.foreign
            return
        yield from found.by_file.get(file, ())
        yield from found.of_anything
        at_top, within = self._origins.defines(file, literal)
        if at_top:
            yield from found.of_tops
        if within or not at_top:
            yield from found.of_methods

    def _all(self, name: bytes) -> _Uses:
        found = _Uses()
        for user in self._files(name):
            text = self._texts[user]
            places = list(uses_in(self._named[user], text, name, self._is_installed))
            is_own = bool(places) and user.suffix == ".py" and means_its_own(text, name)
            for at in places:
                use = self._use(user, at)
                found.own[user].add(use)
                if not is_own:
                    self._note(found, use, at, name)
        return found

    def _note(self, found: _Uses, use: Use, at: int, name: bytes) -> None:
        found.foreign.add(use)
        meaning = self._origins.meaning(use.file, at, name)
        if meaning.anything:
            (found.of_tops if meaning.bare else found.of_anything).add(use)
        elif meaning.method:
            found.of_methods.add(use)
        for file in meaning.files:
            if not meaning.bare or self._origins.defines(file, name)[0]:
                found.by_file[file].add(use)

    def _use(self, user: Path, at: int) -> Use:
        ahead = self._texts[user][max(at - 80, 0) : at]
        return Use(
            user,
            self._definitions.around(user, at),
            _DEFINING.search(ahead) is not None,
            _QUOTED.search(ahead) is not None,
        )

    def _files(self, name: bytes) -> Iterator[Path]:
        """The files where a name stands."""
        is_known = self._is_looked_through or len(self._known) > FEW
        found = self._naming.files(name) if is_known else None
        if found is not None:
            yield from found
        else:
            yield from (file for file, text in self._texts.items() if name in text)

    @cached_property
    def _origins(self) -> Origins:
        return Origins(self._texts)
