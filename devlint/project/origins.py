"""Whose name it is: whether by a name another file of the project means what this one defines.

    from helpers import mean    # helpers.py of this project, or another file of that name
    mean(rows)                  # that one's
    rows.mean()                 # a method of some object's
    numpy.mean(rows)            # a library's

Of imports the texts are read, and followed through the fronts of packages and modules that only
hand a name on. A module may be any file that a folder around the importing one answers with, or
else any whose path ends so.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from devlint.project.uses import FILES, whole_words
from devlint.records import NamedTuple

MOST = 40  # files that may hand a name on

_DEFINED = re.compile(rb"\n([ \t]*)(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)")
_LINES = rb"(?:[^\n\\]|\\\r?\n)*"  # of a statement that goes on behind a backslash
_FROM = re.compile(rb"\n[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|" + _LINES + rb")")
_PLAIN = re.compile(rb"\n[ \t]*import[ \t]+(" + _LINES + rb")")
_COMMENT = re.compile(rb"#[^\n]*")
_BLANK = re.compile(rb"[\s\\]+")
_OWNER = re.compile(rb"(?:\w+\s*\.\s*)+\Z")
_BY_NAME = re.compile(rb"\b(?:import_module|__import__)\(|\b__getattr__\b")
_REACH = 200  # characters before a name in which its owner stands


class _Import(NamedTuple):
    """`from module import original as name`; without an original `import module as name`."""

    module: bytes
    original: bytes


class _Imports(NamedTuple):
    by_name: Mapping[bytes, list[_Import]]  # by what it binds
    by_original: Mapping[bytes, list[_Import]]
    stars: list[bytes]  # the modules of which all is taken


@lru_cache(maxsize=FILES)
def _defined(text: bytes) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """What a file defines at its top, and what within something."""
    found = _DEFINED.findall(b"\n" + text)
    return (
        frozenset(name for indent, name in found if not indent),
        frozenset(name for indent, name in found if indent),
    )


@lru_cache(maxsize=FILES)
def _imports(text: bytes) -> _Imports:
    by_name: defaultdict[bytes, list[_Import]] = defaultdict(list)
    by_original: defaultdict[bytes, list[_Import]] = defaultdict(list)
    stars: list[bytes] = []
    text = b"\n" + text
    for module, names in _FROM.findall(text):
        for each in _COMMENT.sub(b"", names).strip(b"()").split(b","):
            original, _, other = _BLANK.sub(b" ", each).strip().partition(b" as ")
            if original == b"*":
                stars.append(module)
            elif original:
                made = _Import(module, original)
                by_name[other or original].append(made)
                by_original[original].append(made)
    for names in _PLAIN.findall(text):
        for each in _COMMENT.sub(b"", names).split(b","):
            module, _, other = _BLANK.sub(b" ", each).strip().partition(b" as ")
            made = _Import(module if other else module.partition(b".")[0], b"")
            by_name[other or made.module].append(made)
    return _Imports(dict(by_name), dict(by_original), stars)


@lru_cache(maxsize=FILES)
def _imports_by_name(text: bytes) -> bool:
    """Whether a file makes up the names of modules, or of what it has."""
    return _BY_NAME.search(text) is not None


def look_through(text: bytes) -> None:
    """Find now what is asked of a file."""
    _defined(text), _imports(text)


def means_its_own(text: bytes, name: bytes) -> bool:
    """Whether a file defines the name itself, and neither imports it nor asks another object than
    its own for it: `def load(path)`, and `load(path)` or `self.load(path)`."""
    at_top, within = _defined(text)
    if (name not in at_top and name not in within) or _is_imported(text, name):
        return False
    places = list(whole_words(text, name))
    asked = (at for at in places if text.endswith(b".", 0, at))
    if not all(_OWN.search(text, max(at - 6, 0), at) for at in asked):
        return False
    # a method is called by no bare name
    return name in at_top or all(text.endswith((b".", b"def ", b"class "), 0, at) for at in places)


_OWN = re.compile(rb"\b(?:self|cls)\.\Z")


def _is_imported(text: bytes, name: bytes) -> bool:
    """Whether the name is a word of an import."""
    imports = _imports(text)
    return (
        name in imports.by_name
        or name in imports.by_original
        or any(
            name in each.module.split(b".") for made in imports.by_name.values() for each in made
        )
        or any(name in module.split(b".") for module in imports.stars)
    )


class Meaning(NamedTuple):
    """What a name may mean where it stands.

    files: it may be what one of these defines.
    anything: or what any file does.
    method: or a method of any.
    bare: it stands by itself, and so means nothing but what stands at the top of a file.
    """

    files: frozenset[Path] = frozenset()
    anything: bool = False
    method: bool = False
    bare: bool = False


ANYTHING = Meaning(anything=True)


class Origins:
    """Where the names come from that the files of a project use."""

    def __init__(self, texts: Mapping[Path, bytes]) -> None:
        self._texts = texts
        self._found: dict[tuple[bytes, Path], list[Path]] = {}
        self._resolved: dict[tuple[tuple[Path, ...], bytes], Meaning] = {}
        self._by_stem: defaultdict[bytes, list[Path]] = defaultdict(list)
        for file in texts:
            if file.suffix == ".py":
                stem = file.parent.name if file.name == "__init__.py" else file.stem
                self._by_stem[stem.encode()].append(file)

    def defines(self, file: Path, name: bytes) -> tuple[bool, bool]:
        """Whether a file has a definition of the name at its top, and whether within another."""
        at_top, within = _defined(self._texts[file])
        return name in at_top, name in within

    def meaning(self, user: Path, at: int, name: bytes) -> Meaning:
        """What the name at a place of a file may mean of what other files define. What is no code,
        and what a text names, may mean anything."""
        text = self._texts[user]
        if user.suffix != ".py" or _is_quoted(text, at):
            return ANYTHING
        if not _is_attribute(text, at):
            return self._resolve(self._sources(user, name), name)._replace(bare=True)
        owner = _owner(text, at)
        if not owner:  # `super().step`, `modules[0].step`
            return ANYTHING
        first = owner[0]
        if first in (b"self", b"cls"):
            return Meaning(method=True)
        bound = _imports(text).by_name.get(first)
        if bound is None:  # a variable
            return Meaning(method=True, anything=_imports_by_name(text))
        asked = [self._asked_of(user, each, owner[1:], name) for each in bound]
        files = frozenset[Path]().union(*(each.files for each in asked))
        return Meaning(files, any(each.anything for each in asked))

    def _asked_of(self, user: Path, bound: _Import, path: list[bytes], name: bytes) -> Meaning:
        """What `bound.path.name` may be: a function of a module, or a method of what a module of
        the project has."""
        within = [bound.original, *path] if bound.original else path
        found = self._files(_joined(bound.module, within), user)
        if found:
            return self._resolve(found, name)
        return Meaning(anything=bool(self._files(bound.module, user)))  # an object of such a module

    def _sources(self, user: Path, name: bytes) -> list[Path]:
        """The files that a file may have the name from."""
        imports = _imports(self._texts[user])
        named = imports.by_original.get(name, ())
        modules = (*(each.module for each in named), *imports.stars)
        return [file for module in modules for file in self._files(module, user)]

    def _resolve(self, modules: list[Path], name: bytes) -> Meaning:
        """What one of these modules may have under a name."""
        key = tuple(modules), name
        known = self._resolved.get(key)
        if known is None:
            known = self._resolved[key] = self._follow(modules, name)
        return known

    def _follow(self, modules: list[Path], name: bytes) -> Meaning:
        waiting = list(dict.fromkeys(modules))
        for module in waiting:  # grows on the way
            if len(waiting) > MOST:
                return ANYTHING
            text = self._texts[module]
            if name in _defined(text)[0]:
                continue
            if _imports_by_name(text):
                return ANYTHING
            waiting += [each for each in self._sources(module, name) if each not in waiting]
        return Meaning(frozenset(waiting))

    def _files(self, module: bytes, user: Path) -> list[Path]:
        """The files that a module's name may stand for in another file."""
        key = module, user.parent
        known = self._found.get(key)
        if known is None:
            known = self._found[key] = self._find(module, user)
        return known

    def _find(self, module: bytes, user: Path) -> list[Path]:
        parts = module.lstrip(b".")
        names = parts.decode().split(".") if parts else []
        ups = len(module) - len(parts)
        if ups:
            folder = user.parents[ups - 1] if ups <= len(user.parents) else user.parent
            return list(self._at(folder.joinpath(*names)))
        around = (at for folder in user.parents for at in (folder, folder / "src"))
        found = [file for folder in around for file in self._at(folder.joinpath(*names))]
        if found or not names:
            return found
        stems = self._by_stem.get(names[-1].encode(), ())
        return [file for file in stems if _module_parts(file)[-len(names) :] == tuple(names)]

    def _at(self, path: Path) -> Iterator[Path]:
        for file in (path.with_name(f"{path.name}.py"), path / "__init__.py"):
            if file in self._texts:
                yield file


def _joined(module: bytes, parts: list[bytes]) -> bytes:
    """`a.b` of `a` and `b`, `.b` of `.`"""
    return module + b".".join(parts) if module.endswith(b".") else b".".join((module, *parts))


def _module_parts(file: Path) -> tuple[str, ...]:
    return file.parts[:-1] if file.name == "__init__.py" else (*file.parts[:-1], file.stem)


def _is_quoted(text: bytes, at: int) -> bool:
    """The place is within a string, as far as its line tells."""
    line = text[text.rfind(b"\n", 0, at) + 1 : at]
    return bool(line.count(b'"') % 2 or line.count(b"'") % 2)


def _is_attribute(text: bytes, at: int) -> bool:
    return text.endswith(b".", 0, at)


def _owner(text: bytes, at: int) -> list[bytes]:
    """`a`, `b` of `a.b.name`; nothing where another expression is asked for the name."""
    found = _OWNER.search(text, max(at - _REACH, 0), at)
    if found is None or text[: found.start()].endswith((b".", b")", b"]")):
        return []
    return [part.strip() for part in found[0].split(b".")[:-1]]
