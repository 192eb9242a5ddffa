#!/usr/bin/env python3
"""What each convention is worth: the findings that are lost and gained where one is left out.

`ablate.py TARGETS...`: a target is a file, a directory (a project, checked as a whole),
`ROOT::FILE` (a file of a project), or `@LIST`, a file with a target on each line. `--rows` names
the conventions, all if left out; `--each` takes every file of a directory as a target.

To be quick it asks first which conventions hold of anything in a target at all, leaves all of those
out together, and halves the set as long as findings change. Findings of every confidence count.

With `--idle` it looks for the conventions that can go, all of them together, and nothing changes:
one that has changed something in a target is asked about in no other. Most targets take two checks.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "rules"), str(ROOT / "scripts")]

from convention_rows import conventions  # noqa: E402

from devlint import engine  # noqa: E402
from devlint.config import Config  # noqa: E402
from devlint.findings import Confidence  # noqa: E402
from devlint.inference.conventions import leave_out  # noqa: E402
from devlint.rules import load_rules  # noqa: E402

Shown = frozenset[str]
MARKS = {"lost": "-", "gained": "+"}


@dataclass
class Worth:
    """What leaving a set of conventions out changes in one target."""

    target: str
    rows: tuple[str, ...]  # one, unless only several together change something
    lost: list[str] = field(default_factory=list)
    gained: list[str] = field(default_factory=list)


def findings(target: str) -> Shown:
    root, _, file = target.partition("::")
    path = Path(root, file).resolve()
    base = Path(root).resolve() if file or path.is_dir() else path.parent
    config = Config(base, min_confidence=Confidence.POSSIBLE, respect_gitignore=False)
    report = engine.check([path], config, load_rules())
    return frozenset(
        f"{found.location.path}:{found.location.line} {found.rule} {found.confidence.value} "
        f"{' '.join(found.message.split())}"
        for found in report.findings
    )


def weigh(target: str, rows: Sequence[str]) -> list[Worth]:
    """The conventions that change the findings of one target."""
    held, before = _as_it_is(target)
    return list(_split(target, before, [row for row in rows if row in held]))


def _as_it_is(target: str) -> tuple[set[str], Shown]:
    """The conventions that hold of something in a target, and its findings."""
    held: set[str] = set()
    leave_out((), held)
    return held, findings(target)


def _split(target: str, before: Shown, rows: Sequence[str]) -> Iterator[Worth]:
    leave_out(rows)
    after = findings(target) if rows else before
    if after == before:
        return
    if len(rows) > 1:
        middle = len(rows) // 2
        parts = [*_split(target, before, rows[:middle]), *_split(target, before, rows[middle:])]
        if parts:
            yield from parts
            return
    yield Worth(target, tuple(rows), sorted(before - after), sorted(after - before))


def weigh_until_idle(targets: Iterable[str], rows: Sequence[str]) -> Iterator[list[Worth]]:
    """For each target the worth of the conventions that have changed nothing in those before it.
    What is left in the end can go together: each target is checked without all that is left."""
    left = list(rows)
    for target in targets:
        held, before = _as_it_is(target)
        worths: list[Worth] = []
        while found := list(_split(target, before, left if held.intersection(left) else ())):
            worths += found
            left = [row for row in left if not any(row in worth.rows for worth in found)]
        yield worths


def targets_of(given: Sequence[str], each: bool) -> Iterator[str]:
    for one in given:
        if one.startswith("@"):
            lines = Path(one[1:]).read_text(encoding="utf-8").splitlines()
            yield from (line for line in lines if line)
        elif each and Path(one).is_dir():
            yield from map(str, sorted(Path(one).rglob("*.py")))
        else:
            yield one


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("targets", nargs="+")
    parser.add_argument("--rows", help="ids, with commas between them")
    parser.add_argument("--each", action="store_true", help="every file of a directory by itself")
    parser.add_argument("--idle", action="store_true", help="only find those that can go; one job")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", type=int, default=3, help="how many findings to print of each")
    parser.add_argument("--json", type=Path, help="write everything there")
    options = parser.parse_args()
    rows = options.rows.split(",") if options.rows else list(conventions())
    unknown = sorted(set(rows) - set(conventions()))
    if unknown:
        parser.error(f"no such convention: {', '.join(unknown)}")
    targets = list(targets_of(options.targets, options.each))
    weighed = weigh_until_idle(targets, rows) if options.idle else each(targets, rows, options.jobs)
    worths: list[Worth] = []
    for number, done in enumerate(weighed, 1):
        worths += done
        if number % 50 == 0:
            print(f"{number} of {len(targets)}", file=sys.stderr, flush=True)
            _store(options.json, worths)
    _store(options.json, worths)
    report(rows, worths, options.show)


def each(targets: Sequence[str], rows: Sequence[str], jobs: int) -> Iterator[list[Worth]]:
    """The worth of the conventions in each target, in processes of their own."""
    with ProcessPoolExecutor(jobs) as pool:
        waiting = [pool.submit(partial(weigh, rows=rows), target) for target in targets]
        for done in as_completed(waiting):
            yield done.result()


def _store(file: Path | None, worths: Sequence[Worth]) -> None:
    if file:
        file.write_text(json.dumps([vars(worth) for worth in worths], indent=1))


def report(rows: Sequence[str], worths: Sequence[Worth], show: int) -> None:
    by_rows: dict[str, list[Worth]] = defaultdict(list)
    for worth in worths:
        by_rows[" + ".join(worth.rows)].append(worth)
    for name, changed in sorted(by_rows.items(), key=lambda item: -len(item[1])):
        counts = {mark: sum(len(getattr(w, mark)) for w in changed) for mark in MARKS}
        print(f"{name}: {counts['lost']} lost, {counts['gained']} gained in {len(changed)} targets")
        lines = [f"  {MARKS[m]} {each}" for w in changed for m in MARKS for each in getattr(w, m)]
        print("\n".join(lines[:show]))
    idle = [row for row in rows if not any(row in worth.rows for worth in worths)]
    print(f"\n{len(idle)} of {len(rows)} change nothing: {', '.join(idle)}")


if __name__ == "__main__":
    main()
