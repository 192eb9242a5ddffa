"""The cache: outcomes of earlier checks, kept in a folder of the project.

An entry is found by what was to be done: the files of a group, the configuration, devlint itself.
It holds if every question that the check asked of the project has the answer that it had then
(`devlint.check.answers`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from devlint.check import code
from devlint.check.answers import Answers, Remembered
from devlint.check.entries import Entries
from devlint.check.groups import Group
from devlint.check.outcome import Outcome
from devlint.check.plain_data import from_plain, to_plain
from devlint.config import Config
from devlint.rule import Rule

if TYPE_CHECKING:
    from devlint.check.executors import Executor, Reached
    from devlint.check.setting import Setting

FORMAT = 3  # of the entries
INDEX = "index"


class Cache:
    """The entries in a folder, and the digests of files that did not change since they were read.

    One for each check: what it answers about the project is what it saw first.
    """

    def __init__(self, folder: Path, root: Path) -> None:
        self.entries = Entries(folder)
        self.answers = Answers(root, Remembered.read(self.entries.load(INDEX)))

    def of(self, setting: Setting) -> Outcomes:
        """The outcomes of groups, in checks with that setting."""
        return Outcomes(self, setting)

    def close(self) -> None:
        """Write down the digests, if there are new ones."""
        remembered = self.answers.remembered
        if remembered.has_news:
            self.entries.save(INDEX, remembered.as_plain())
            remembered.has_news = False


class Outcomes:
    """Outcomes in a cache, by what was to be done."""

    def __init__(self, cache: Cache, setting: Setting) -> None:
        self.cache = cache
        self.setting = setting
        self.base = identity(setting, cache.answers.remembered)

    def key(self, *task: object) -> str:
        """The name of the entry of a task: plain data that says what is to be done."""
        return digest_of([self.base, *task])

    def find(self, key: str) -> Outcome | None:
        """The outcome of the task, if all that it rests on is as it was."""
        data = self.cache.entries.load(key)
        if data is None:
            return None
        try:
            outcome = from_plain(Outcome, data)
            for digest in outcome.digests.values():
                bytes.fromhex(digest)
            for told in outcome.told:
                self.setting.judged(told.finding)
            if not self.cache.answers.agree_with(outcome.asked):
                return None
        except (ValueError, OSError, RecursionError):  # it was not we who wrote it
            return None
        self.cache.entries.touch(key)
        return replace(outcome, seconds={})

    def keep(self, key: str, outcome: Outcome) -> None:
        """Keep an outcome, unless something went wrong that may not go wrong again."""
        if outcome.is_sound:
            self.cache.entries.save(key, to_plain(outcome))

    def close(self) -> None:
        """Write down the digests, and drop the oldest entries of too many."""
        self.cache.close()
        self.cache.entries.evict()


class Cached:
    """The executor that checks only those groups that the cache has no outcome of."""

    def __init__(self, cache: Outcomes, otherwise: Executor) -> None:
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


# --- what decides on outcomes besides the project ------------------------------------------------


def identity(setting: Setting, remembered: Remembered) -> str:
    """Tells apart the checks whose outcomes differ for the same files."""
    config = replace(setting.config, known=None, fail_on=None, paths=(), cache=True, cache_dir="")
    rules = [rule.code for rule in setting.rules]
    packages = packages_of(setting.rules, remembered)
    return digest_of([*circumstances(config, remembered), rules, packages])


def circumstances(config: Config, remembered: Remembered) -> list[object]:
    """All but the project and the rules that what is said of files rests on."""
    knowledge = [_content(file) for file in config.knowledge_files()]
    return [FORMAT, code.versions(remembered), repr(replace(config, jobs=None)), knowledge]


def packages_of(rules: Iterable[Rule], remembered: Remembered) -> dict[str, str]:
    """The packages of the code that runs, devlint and those that rules are from, with digests."""
    names = {"devlint", *(rule.check.__module__.partition(".")[0] for rule in rules)}
    return {name: code.package(name, remembered) for name in sorted(names)}


def can_be_kept(setting: Setting) -> bool:
    """Whether outcomes rest on nothing but what `identity` and `answers` know: not with texts that
    are not on disk, nor with rules that are files of the user's."""
    return not setting.contents and not setting.config.rule_paths


def digest_of(data: object) -> str:
    """Tells plain data apart."""
    return _digest(json.dumps(data).encode())


def _content(file: Path) -> str:
    try:
        return _digest(file.read_bytes())
    except OSError:
        return ""


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
