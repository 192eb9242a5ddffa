"""The tables that the inference looks things up in, and where they are read from.

torch's table is always there; a library's is read when a file imports that library. Reading is
lazy: a file is parsed whole, an entry becomes an object when it is first asked for.
"""

from __future__ import annotations

import fnmatch
import functools
import json
import pathlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from devlint.knowledge.accelerators import Accelerators
from devlint.knowledge.bans import Bans, check_ban, without_bans
from devlint.knowledge.entries import (
    Entry,
    KnowledgeError,
    check_choice,
    check_entry,
    nearest,
    read_entry,
)
from devlint.knowledge.model import Call, ClassInfo, ModuleClass, Result

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_HERE = pathlib.Path(__file__).parent
_LIBRARIES = {file.stem: file for file in (_HERE / "libraries").glob("*.toml")}

Kind = TypeVar("Kind", bound="Call | ModuleClass | ClassInfo")


class Table(Mapping[str, Kind], Generic[Kind]):
    """Entries by dotted name: a read-only mapping whose values are built on first look-up.

    A value that is a string is an alias: the name of the entry that is meant. A key with `*` is a
    pattern (`numpy.*`); it answers for names that have no entry, the longest pattern first.
    """

    def __init__(self, kind: type[Kind]) -> None:
        self._kind = kind
        self._entries: dict[str, Entry | str] = {}
        self._built: dict[str, Kind | None] = {}
        self._patterns: dict[str, list[str]] = {}  # by package, the longest first

    def update(self, entries: Mapping[str, Entry | str]) -> None:
        """Add entries; one that is there already is replaced."""
        self._built.clear()
        self._entries.update(entries)

    def add_patterns(self, entries: Mapping[str, Entry | str]) -> None:
        """Remember those of the entries whose keys are patterns, by their package."""
        for pattern in entries:
            if "*" in pattern:
                patterns = self._patterns.setdefault(pattern.partition(".")[0], [])
                if pattern not in patterns:
                    patterns.append(pattern)
                    patterns.sort(key=lambda each: (-len(each), each))

    def get(self, name: str, default: Any = None) -> Any:
        try:
            found = self._built[name]
        except KeyError:
            self._built[name] = None  # aliases in a circle are names of nothing
            found = self._built[name] = self._build(name)
        return default if found is None else found

    def __getitem__(self, name: str) -> Kind:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        result: Kind = found
        return result

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def _build(self, name: str) -> Kind | None:
        entry = self._entries.get(name)
        if entry is None:
            entry = self._by_pattern(name)
        if isinstance(entry, str):
            target: Kind | None = self.get(entry) if entry != name else None
            return target
        return None if entry is None else read_entry(self._kind, entry)

    def _by_pattern(self, name: str) -> Entry | str | None:
        for pattern in self._patterns.get(name.partition(".")[0], ()):
            if fnmatch.fnmatchcase(name, pattern):
                return self._entries[pattern]
        return None


class Knowledge:
    """All that is known of APIs. Look-ups are by canonical dotted name and take constant time.

    functions: functions and constructors of tensors, `torch.nn.functional.relu`.
    methods: methods of Tensor by bare name, `add_`.
    attributes: where Tensor's attributes live, by bare name: `first` for `T`, `host` for `shape`.
    modules: `nn.Module` classes, `torch.nn.Linear`.
    classes: other classes, `transformers.BatchEncoding`.
    bans: what the user's own files ban.
    accelerators: `torch.accelerator` by release, for the torch that the project supports.
    torch_version: the version of torch that the torch table was generated from.
    """

    def __init__(self) -> None:
        self.functions: Table[Call] = Table(Call)
        self.methods: Table[Call] = Table(Call)
        self.modules: Table[ModuleClass] = Table(ModuleClass)
        self.classes: Table[ClassInfo] = Table(ClassInfo)
        self.attributes: dict[str, Result] = {}
        self.bans = Bans()
        self.accelerators = Accelerators()
        self.torch_version = ""
        self._prefixes: dict[str, str] = {}
        self._ensured: set[str] = {"torch"}
        self._lineages: dict[str, tuple[str, ...]] = {}

    def ensure(self, package: str) -> None:
        """Read what is known of a top-level package, if anything is and it was not read yet."""
        if package in self._ensured:
            return
        self._ensured.add(package)
        file = _LIBRARIES.get(package)
        if file is not None:
            self._add(_library(file), patterns=True)

    def canonical(self, name: str) -> str:
        """The name under which a re-exported one is known: `pytorch_lightning.Trainer` is
        `lightning.pytorch.Trainer`. Names that nothing renames stay as they are."""
        prefix = name
        while prefix:
            target = self._prefixes.get(prefix)
            if target is not None:
                return target + name[len(prefix) :]
            prefix = prefix.rpartition(".")[0]
        return name

    def function(self, name: str) -> Call | None:
        """What a function does, by any of its dotted names."""
        found: Call | None = self.functions.get(name)
        if found is None and self._prefixes:
            found = self.functions.get(self.canonical(name))
        return found

    def module(self, name: str) -> ModuleClass | None:
        """What an `nn.Module` class is, by any of its dotted names."""
        found: ModuleClass | None = self.modules.get(name)
        if found is None and self._prefixes:
            found = self.modules.get(self.canonical(name))
        return found

    def class_(self, name: str) -> ClassInfo | None:
        """What another class is, by any of its dotted names."""
        found: ClassInfo | None = self.classes.get(name)
        if found is None and self._prefixes:
            found = self.classes.get(self.canonical(name))
        return found

    def method_of(self, owner: str, method: str) -> Call | None:
        """What a method of a module class or other class does; its bases are searched as well.

        owner: the class by dotted name.
        """
        for name in self.lineage(owner):
            info = self.module(name) or self.class_(name)
            if info is not None and method in info.methods:
                return info.methods[method]
        return None

    def lineage(self, name: str) -> tuple[str, ...]:
        """A class and the classes that it inherits from, by dotted name, nearest first."""
        found = self._lineages.get(name)
        if found is None:
            names = [name]
            for each in names:
                info: ModuleClass | ClassInfo | None = self.module(each) or self.class_(each)
                if info is not None:
                    names.extend(base for base in info.bases if base not in names)
            found = self._lineages[name] = tuple(names)
        return found

    def _add(self, tables: Mapping[str, Any], *, patterns: bool = False) -> None:
        for package in tables.get("needs", ()):
            self.ensure(package)
        self._lineages.clear()
        self._prefixes.update(tables.get("renamed", {}))
        for section in SECTIONS:
            table = getattr(self, section)
            entries = tables.get(section, {})
            table.update(entries)
            if patterns:
                table.add_patterns(entries)
        for name, result in tables.get("attributes", {}).items():
            self.attributes[name] = Result(result)


SECTIONS: dict[str, type[Call] | type[ModuleClass] | type[ClassInfo]] = {
    "functions": Call,
    "methods": Call,
    "modules": ModuleClass,
    "classes": ClassInfo,
}


def load(extra: Sequence[pathlib.Path] = (), target_torch: str = "") -> Knowledge:
    """torch's table, and a user's own files on top of it.

    extra: TOML files in the form of docs/knowledge.md; a later one replaces entries of an earlier.
    target_torch: the oldest release of torch that the project supports; "" for unknown.
    Raises KnowledgeError for a file that can't be read or has an error in it.
    """
    knowledge = Knowledge()
    knowledge.accelerators = Accelerators(target_torch)
    generated = _generated()
    knowledge.torch_version = generated["torch"]
    knowledge._add(generated)
    for path in extra:
        written = _read_toml(path)
        check_tables(written, str(path))
        tables = without_bans(written)
        knowledge.bans.update(written, path.name)
        for section in SECTIONS:  # the library's own file must not replace the user's entries
            for name in tables.get(section, ()):
                knowledge.ensure(name.partition(".")[0])
        knowledge._add(tables, patterns=True)
        check_aliases(knowledge, tables, str(path))
    return knowledge


@functools.cache
def _generated() -> Mapping[str, Any]:
    """torch's table as it is written; read once, and never changed."""
    tables: Mapping[str, Any] = json.loads((_HERE / "torch.json").read_bytes())
    return tables


@functools.cache
def _library(file: pathlib.Path) -> Mapping[str, Any]:
    """A library's file of ours as it is written; read once, and never changed."""
    return _read_toml(file)


def _read_toml(path: pathlib.Path) -> Mapping[str, Any]:
    if path.exists() and not path.is_file():
        raise KnowledgeError(f"{path}: can't be read: it is not a regular file")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise KnowledgeError(f"{path}: can't be read: {reason}") from error
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise KnowledgeError(f"{path}: no valid TOML: {error}") from error


def check_tables(tables: Mapping[str, Any], path: str) -> None:
    """Raise KnowledgeError at the first thing in a TOML file that can't be read."""
    for section, entries in tables.items():
        if section == "needs":
            if not isinstance(entries, list) or not all(type(name) is str for name in entries):
                raise KnowledgeError(f"{path}: key 'needs': expected a list of package names")
            continue
        if section not in (*SECTIONS, "renamed", "attributes"):
            known = [*SECTIONS, "needs", "renamed", "attributes"]
            raise KnowledgeError(f"{path}: unknown section {section!r}{nearest(section, known)}")
        if not isinstance(entries, Mapping):
            raise KnowledgeError(f"{path}: section {section!r}: expected a table, not {entries!r}")
        for name, entry in entries.items():
            where = f"{path}: {section}.{name!r}"
            if "*" in name.partition(".")[0]:
                raise KnowledgeError(f"{where}: a pattern begins with the name of its package")
            if section in SECTIONS and not isinstance(entry, str):
                check_entry(SECTIONS[section], check_ban(entry, where), where)
            elif section == "renamed" and not isinstance(entry, str):
                raise KnowledgeError(f"{where}: expected the other name, not {entry!r}")
            elif section == "attributes":
                check_choice(entry, [result.value for result in Result], where)


def check_aliases(knowledge: Knowledge, tables: Mapping[str, Any], path: str) -> None:
    """Raise KnowledgeError for an entry that stands for one that is not there."""
    for section in SECTIONS:
        table = getattr(knowledge, section)
        for name, entry in tables.get(section, {}).items():
            if isinstance(entry, str) and table.get(entry) is None and entry not in knowledge.bans:
                raise KnowledgeError(
                    f"{path}: {section}.{name!r}: there is no {entry!r}{nearest(entry, table)}"
                )
