"""What the two runs of ``devlint test`` leave: a line of JSON for each start and end of a test.

A file belongs to one process and is written line by line, so that a run that is killed has left
what it had seen, and which test it was in.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from runtime_guard.core.sites import Site

VARIABLE = "DEVLINT_SUITE"
"""How a run is told its ``Orders``."""
Outcome = Literal["passed", "failed", "skipped"]
NO_DEVICE = "factory-without-device"
"""The kind of failure that ``--strict-default`` makes: no event of the guard."""
UNSUPPORTED = "unsupported-virtually"
"""The kind of failure that says nothing of a card."""


@dataclass(frozen=True)
class Orders:
    """What one run is to do."""

    folder: str
    virtual: str | None = None
    """The machine; None for the run on the CPU."""
    put: bool = False
    """Does what tests make go to the card?"""
    strict: bool = False


@dataclass(frozen=True)
class Failure:
    """Why a test failed."""

    error: str
    """``RuntimeError: Expected all tensors …``, one line."""
    site: Site
    kind: str = ""
    """As the guard calls it; empty where it saw nothing."""
    rule: str = ""
    detail: str = ""
    in_suite: bool = False
    """Is the line one of the tests' own?"""
    stack: tuple[Site, ...] = ()
    origins: tuple[Site, ...] = ()


@dataclass(frozen=True)
class Ended:
    """How a test ended, or the collection of a file."""

    name: str
    outcome: Outcome
    failures: tuple[Failure, ...] = ()


@dataclass
class Records:
    """All that a run left."""

    tests: dict[str, Ended] = field(default_factory=dict)
    unfinished: list[str] = field(default_factory=list)
    """Tests that were started and have no end: the process died in them."""


class Writer:
    """Appends to a file of this process in ``folder``."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, f"{uuid.uuid4().hex}.jsonl")

    def start(self, name: str) -> None:
        self._write({"start": name})

    def end(self, test: Ended) -> None:
        self._write({"end": asdict(test)})

    def _write(self, line: Mapping[str, Any]) -> None:
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def read(folder: str) -> Records:
    """What the processes of a run left in ``folder``."""
    records = Records()
    for line in _lines(sorted(Path(folder).glob("*.jsonl"))):
        if "start" in line:
            records.unfinished.append(line["start"])
            continue
        test = _test_from_json(line["end"])
        before = records.tests.get(test.name)
        if before is None or before.outcome != "failed":  # one that is run again may fail once
            records.tests[test.name] = test
        if test.name in records.unfinished:
            records.unfinished.remove(test.name)
    return records


def _lines(files: Iterable[Path]) -> Iterator[dict[str, Any]]:
    for file in files:
        for text in file.read_text(encoding="utf-8").splitlines():
            try:
                yield json.loads(text)
            except ValueError:
                return  # the process was killed as it wrote


def _test_from_json(data: Mapping[str, Any]) -> Ended:
    return Ended(data["name"], data["outcome"], tuple(map(_failure_from_json, data["failures"])))


def _failure_from_json(data: Mapping[str, Any]) -> Failure:
    sites = {
        "site": Site(**data["site"]),
        "stack": tuple(Site(**site) for site in data["stack"]),
        "origins": tuple(Site(**site) for site in data["origins"]),
    }
    return Failure(**{**data, **sites})
