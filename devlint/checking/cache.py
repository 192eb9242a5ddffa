"""The cache: outcomes of earlier checks, kept in a folder of the project.

An entry is found by what was to be done: the files of a group, the configuration, devlint itself.
It holds if every question that the check asked of the project has the answer that it had then
(`devlint.checking.answers`). What is wrong with an entry, or with writing one, costs time only: a
digest of its name and bytes comes first in it, so that one that was damaged, or stands in the place
of another, is none.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from libcst import LIBCST_VERSION

from devlint.checking.answers import Answers, Remembered
from devlint.checking.groups import Group
from devlint.checking.outcome import Outcome
from devlint.checking.plain_data import from_plain, to_plain
from devlint.checking.setting import Setting
from devlint.rule import Rule
from devlint.version import __version__

if TYPE_CHECKING:
    from devlint.checking.executors import Executor, Reached

FORMAT = 2  # of the entries
MOST_BYTES = 128 << 20  # of all entries together, on disk
MOST_OF_ONE = 256 << 20  # of one entry, unpacked
SUFFIX = ".json.z"
INDEX = "index"
TAG = """\
Signature: 8a477f597d28d172789f06886806bc55
# This folder is a cache of devlint's; it may be deleted at any time.
"""
_SEAL = 16  # bytes of the digest that an entry begins with
_AGE = 24 * 3600  # seconds after which an entry that is used counts as new


class Cache:
    """The entries in a folder, and the digests of files that did not change since they were read.

    One for each check: what it answers about the project is what it saw first.
    """

    def __init__(self, folder: Path, setting: Setting) -> None:
        self.folder = folder
        self.setting = setting
        self.usable = not os.path.islink(folder)
        self.base = identity(setting)
        self.answers = Answers(setting.config.root, Remembered.read(self._load(INDEX)))

    def key(self, *task: object) -> str:
        """The name of the entry of a task: plain data that says what is to be done."""
        return _digest(json.dumps([self.base, *task]).encode())

    def find(self, key: str) -> Outcome | None:
        """The outcome of the task, if all that it rests on is as it was."""
        data = self._load(key)
        if data is None:
            return None
        try:
            outcome = from_plain(Outcome, data)
            for digest in outcome.digests.values():
                bytes.fromhex(digest)
            for told in outcome.told:
                self.setting.judged(told.finding)
            if not self.answers.agree_with(outcome.asked):
                return None
        except (ValueError, OSError, RecursionError):  # it was not we who wrote it
            return None
        self._touch(key)
        return replace(outcome, seconds={})

    def keep(self, key: str, outcome: Outcome) -> None:
        """Keep an outcome, unless something went wrong that may not go wrong again."""
        if outcome.is_sound:
            self._save(key, to_plain(outcome))

    def close(self) -> None:
        """Write down the digests, and drop the oldest entries of too many."""
        self._save(INDEX, self.answers.remembered.as_plain())
        self._evict()

    # --- files ---------------------------------------------------------------------------------

    def _load(self, name: str) -> object:
        if not self.usable:
            return None
        try:
            packed = _unsealed(name, (self.folder / f"{name}{SUFFIX}").read_bytes())
            if packed is None:
                return None
            unpacker = zlib.decompressobj()
            data = unpacker.decompress(packed, MOST_OF_ONE)
            return json.loads(data) if unpacker.eof else None
        except (OSError, ValueError, zlib.error, RecursionError):
            return None

    def _save(self, name: str, data: object) -> None:
        """Put an entry in its place at once: another check reads the old one, or the new one."""
        if not self.usable:
            return
        import tempfile  # not for a check that keeps nothing

        packed = sealed(name, zlib.compress(json.dumps(data).encode(), 1))
        try:
            self._prepare()
            handle, temporary = tempfile.mkstemp(dir=self.folder, suffix=".tmp")
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(packed)
                os.replace(temporary, self.folder / f"{name}{SUFFIX}")
            except BaseException:
                os.unlink(temporary)
                raise
        except OSError:
            self.usable = False  # read-only, or full: it won't be better for the next one

    def _prepare(self) -> None:
        if not self.folder.is_dir():
            self.folder.mkdir(parents=True)
            for name, text in (("CACHEDIR.TAG", TAG), (".gitignore", "*\n")):
                with open(self.folder / name, "x", encoding="utf-8") as stream:
                    stream.write(text)

    def _touch(self, key: str) -> None:
        file = self.folder / f"{key}{SUFFIX}"
        try:
            if file.stat().st_mtime < time.time() - _AGE:
                os.utime(file)
        except OSError:
            pass  # it is dropped a little earlier

    def _evict(self) -> None:
        """Drop what was not used for longest, and what a check that was ended left behind."""
        if not self.usable:
            return
        try:
            entries = [(entry.stat(), entry.path) for entry in os.scandir(self.folder)]
            total = 0
            for status, path in sorted(entries, key=lambda each: -each[0].st_mtime):
                if path.endswith(SUFFIX):
                    total += status.st_size
                is_left = path.endswith(".tmp") and status.st_mtime < time.time() - _AGE
                if is_left or (path.endswith(SUFFIX) and total > MOST_BYTES):
                    os.unlink(path)
        except OSError:
            return  # another check is at it


class Cached:
    """The executor that checks only those groups that the cache has no outcome of."""

    def __init__(self, cache: Cache, otherwise: Executor) -> None:
        self.cache = cache
        self.otherwise = otherwise

    def __call__(self, groups: Sequence[Group], reached: Reached) -> list[Outcome]:
        keys = [self.cache.key([str(file) for file in g.files], g.allowance) for g in groups]
        found = [self.cache.find(key) for key in keys]
        for group, outcome in zip(groups, found, strict=True):
            if outcome is not None:
                for file in group.files:
                    reached(file)
        missing = [n for n, outcome in enumerate(found) if outcome is None]
        fresh = self.otherwise([groups[n] for n in missing], reached) if missing else []
        for number, outcome in zip(missing, fresh, strict=True):
            self.cache.keep(keys[number], outcome)
            found[number] = outcome
        return [outcome for outcome in found if outcome is not None]


# --- bytes of an entry ---------------------------------------------------------------------------


def sealed(name: str, packed: bytes) -> bytes:
    """The bytes of the entry of this name. Whoever can write to the folder can make them, too."""
    return _seal(name, packed) + packed


def _unsealed(name: str, data: bytes) -> bytes | None:
    """What was sealed under this name; None, if these are other bytes, or of another entry."""
    packed = data[_SEAL:]
    return packed if data[:_SEAL] == _seal(name, packed) else None


def _seal(name: str, packed: bytes) -> bytes:
    return hashlib.blake2b(packed, digest_size=_SEAL, key=name.encode()[:64]).digest()


# --- what decides on outcomes besides the project ------------------------------------------------


def identity(setting: Setting) -> str:
    """Tells apart the checks whose outcomes differ for the same files."""
    config = replace(
        setting.config, known=None, fail_on=None, paths=(), jobs=None, cache=True, cache_dir=""
    )
    knowledge = [_content(file) for file in config.knowledge_files()]
    rules = [rule.code for rule in setting.rules]
    versions = (FORMAT, __version__, sys.version, LIBCST_VERSION)
    parts = (
        versions,
        repr(config),
        knowledge,
        rules,
        [_package(p) for p in _packages(setting.rules)],
    )
    return _digest(repr(parts).encode(errors="backslashreplace"))


def can_be_kept(setting: Setting) -> bool:
    """Whether outcomes rest on nothing but what `identity` and `answers` know: not with texts that
    are not on disk, nor with rules that are files of the user's."""
    return not setting.contents and not setting.config.rule_paths


def _packages(rules: Iterable[Rule]) -> list[str]:
    """The packages of the code that runs: devlint, and those that rules are from."""
    return sorted({"devlint", *(rule.check.__module__.partition(".")[0] for rule in rules)})


@cache
def _package(name: str) -> str:
    """The digest of all files of a package."""
    found = hashlib.blake2b(digest_size=16)
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if file is None:
        return name
    for path in _files(Path(file)):
        found.update(f"{path}\0{_content(path)}\0".encode(errors="backslashreplace"))
    return found.hexdigest()


def _files(module: Path) -> Iterator[Path]:
    if module.name != "__init__.py":
        yield module
        return
    for suffix in (".py", ".toml", ".json"):
        yield from sorted(module.parent.rglob(f"*{suffix}"))


def _content(file: Path) -> str:
    try:
        return _digest(file.read_bytes())
    except OSError:
        return ""


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
