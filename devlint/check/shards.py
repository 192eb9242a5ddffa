"""Shards: a check in several parts, each done by a machine that knows nothing of the others.

A shard is a run of neighbouring groups, so all is inferred in it as in the whole check. What has to
wait for the others, findings that rest on calls in any file, travels with its result as plain data,
and `devlint merge` settles it: `devlint check --shard 2/4 --output json=2.json` writes such a one.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from devlint.baseline import Entry
from devlint.check.groups import Group
from devlint.check.judgement import Judge
from devlint.check.outcome import Outcome
from devlint.check.plain_data import NotPlain, from_plain, to_plain
from devlint.config import Config, Override, Policy
from devlint.findings import Confidence, FileError, Severity
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.project.imports import Project
from devlint.project.questions import Asked
from devlint.records import dataclass
from devlint.rule import Rule
from devlint.version import __version__

MOST_BYTES = 1 << 30  # of one shard's data, unpacked


@dataclass(frozen=True, slots=True)
class Terms:
    """What the whole check is held to; the same in all its shards.

    root: the project, as seen from where the check runs; here, repository: that place, and the
        repository, as seen from the project.
    expected: entries of the baseline that are stale if nothing is found for them and their file was
        checked, or is not there, which the number says.
    """

    fail_on: Severity | None = Severity.WARNING
    min_confidence: Confidence = Confidence.LIKELY
    overrides: tuple[tuple[tuple[str, ...], Confidence], ...] = ()
    assume: dict[str, bool] = field(default_factory=dict)
    known: tuple[str, ...] | None = None
    root: str = "."
    here: str = "."
    repository: str | None = None
    expected: tuple[tuple[Entry, bool], ...] = ()
    error_on_stale: bool = False

    @classmethod
    def of(cls, config: Config, here: Path, repository: Path | None) -> Terms:
        """The shards of a configuration, for a check that runs in the folder `here`."""
        return cls(
            config.fail_on,
            config.min_confidence,
            tuple((o.paths, o.min_confidence) for o in config.overrides if o.min_confidence),
            {kind.value: on for kind, on in config.assume.items()},
            None if config.known is None else tuple(sorted(config.known)),
            _between(here, config.root),
            _between(config.root, here),
            None if repository is None else _between(config.root, repository),
        )

    def judge(self, here: Path) -> Judge:
        """The judge of the whole check, in a folder that stands for the one where it ran."""
        config = Config(
            Path(os.path.normpath(here / self.root)),
            fail_on=self.fail_on,
            min_confidence=self.min_confidence,
            overrides=tuple(Override(p, min_confidence=least) for p, least in self.overrides),
            assume={AssumptionKind(kind): on for kind, on in self.assume.items()},
            known=None if self.known is None else frozenset(self.known),
        )
        return Judge(config, Policy(config, ()))


@dataclass(frozen=True, slots=True)
class Shard:
    """Which part of a check is to be done: number 1 of 4, and what the whole is held to."""

    number: int
    of: int
    terms: Terms = field(default_factory=Terms)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def groups(self, groups: Sequence[Group], sizes: Mapping[Path, int]) -> list[Group]:
        """Its groups among all: neighbours, and about as many bytes as each other shard's."""
        weights = [sum(sizes[file] for file in group.files) for group in groups]
        total, before, own = sum(weights), 0, []
        for group, weight in zip(groups, weights, strict=True):
            middle = before + weight / 2
            if (int(middle * self.of / total) if total else 0) == self.number - 1:
                own.append(group)
            before += weight
        return own


@dataclass(frozen=True, slots=True)
class Part:
    """The result of a shard, for it to be joined with those of the others.

    run: tells apart the checks that a shard may be of. files: how many there were in it.
    outside: what the calls in files that are not checked hand in.
    """

    version: str
    run: str
    number: int
    of: int
    terms: Terms
    files: int
    errors: list[FileError]
    outcomes: list[Outcome]
    outside: Outcome


def run_of(groups: Iterable[Group], config: Config, rules: Iterable[Rule]) -> str:
    """Tells checks apart by devlint, configuration, rules and files, wherever they lie."""
    project = Project(config.root)
    parts = [[project.path_of(file) for file in group.files] for group in groups]
    settings = replace(
        config, root=Path(), file=None, known=None, jobs=None, cache=True, cache_dir="", paths=()
    )
    known = sorted(config.known or ())
    what = (__version__, repr(settings), known, [rule.code for rule in rules], parts)
    return hashlib.blake2b(repr(what).encode(errors="backslashreplace"), digest_size=16).hexdigest()


def lean(outcome: Outcome) -> Outcome:
    """An outcome without what only the cache and the machine that made it ask for."""
    return replace(outcome, digests={}, asked=Asked(), seconds={})


def packed(part: Part) -> dict[str, Any]:
    """What a report carries: the number of the shard, and its result for us alone."""
    data = zlib.compress(json.dumps(to_plain(part)).encode())
    return {"number": part.number, "of": part.of, "data": base64.b64encode(data).decode()}


def unpacked(carried: object) -> Part:
    """The part that a report carries. Raises NotPlain."""
    try:
        if not isinstance(carried, dict):
            raise NotPlain("no object")
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(carried["data"], validate=True), MOST_BYTES)
        if not unpacker.eof:
            raise NotPlain("cut off")
        plain = json.loads(data)
        if isinstance(plain, list) and plain and plain[0] != __version__:
            raise NotPlain(f"written by devlint {plain[0]}, and this is {__version__}")
        return from_plain(Part, plain)
    except (KeyError, TypeError, binascii.Error, zlib.error, json.JSONDecodeError) as error:
        raise NotPlain(f"{type(error).__name__}: {error}") from None


def _between(start: Path, end: Path) -> str:
    try:
        return Path(os.path.relpath(end, start)).as_posix()
    except ValueError:  # on different drives
        return end.as_posix()
