#!/usr/bin/env python3
"""Check whole trees, of any Python: nothing breaks, nothing takes long, nothing depends on chance.

    python3 scripts/try_trees.py [--seconds 5] [--checks 3] TREE...

Each tree is checked several times, each time in a process with a hash seed of its own and its
files named in another order, every second time with two jobs. Said of each tree: files that a
defect of devlint kept from being analysed, rules that failed, files that took longer than
`--seconds` of processor time, and whether the checks differ. Nothing of what is checked is run.
Exits with 1 where one of these is so.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from devlint import engine
from devlint.config import Config
from devlint.findings import Confidence
from devlint.project.discovery import discover
from devlint.reporters import json as json_report
from devlint.rules import load_rules

ROOT = Path(__file__).resolve().parent.parent
ONE_CHECK = "--one-check"

Result = dict[str, Any]  # of one check: files, findings, jobs, digest, failures, slow


def one_check(root: Path, order: int, seconds: float) -> Result:
    """Check a tree, its files named in an order of its own. What is slow is told of one job."""
    jobs = 1 + order % 2
    files = discover([root], root, (), gitignore=False).files
    random.Random(order).shuffle(files)
    begun = [("", time.process_time())]
    report = engine.check(
        files,
        Config(root, exclude=(), min_confidence=Confidence.POSSIBLE, jobs=jobs),
        load_rules(),
        progress=lambda done, total, path: begun.append((path, time.process_time())),
    )
    shown = json_report.render(report) + repr(sorted(report.notes))
    return {
        "files": report.files,
        "findings": len(report.findings),
        "jobs": jobs,
        "digest": hashlib.sha256(shown.encode("utf-8", "backslashreplace")).hexdigest(),
        "failures": [
            f"{error.path}: {error.message}"
            for error in report.errors
            if "defect of devlint" in error.message or " failed: " in error.message
        ],
        "slow": [
            f"{path}: took {ended - started:.1f} s"
            for (path, started), (_, ended) in itertools.pairwise(begun)
            if path and jobs == 1 and ended - started > seconds
        ],
    }


def in_a_process(root: Path, number: int, seconds: float) -> Result:
    """The same in a process of its own, with this number as order and hash seed."""
    environment = {**os.environ, "PYTHONHASHSEED": str(number)}
    paths = (str(ROOT), str(ROOT / "rules"), environment.get("PYTHONPATH", ""))
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    command = [
        sys.executable,
        __file__,
        ONE_CHECK,
        str(number),
        "--seconds",
        str(seconds),
        str(root),
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    try:
        result: Result = json.loads(done.stdout)
    except ValueError:
        said = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
        return {"files": 0, "findings": 0, "jobs": 1, "digest": "", "slow": [],
                "failures": [f"exit code {done.returncode}: {said}"]}  # fmt: skip
    return result


def complaints(results: Sequence[Result]) -> Iterator[str]:
    """What is wrong with the checks of one tree, each thing once."""
    yield from dict.fromkeys(failure for result in results for failure in result["failures"])
    alone = [result for result in results if result["jobs"] == 1]
    often = [{line.partition(": took ")[0] for line in result["slow"]} for result in alone]
    every = set.intersection(*often)  # slow each time: not the machine's doing
    yield from (line for line in results[0]["slow"] if line.partition(": took ")[0] in every)
    if len({result["digest"] for result in results}) > 1:
        yield "the reports of the checks differ"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE")
    parser.add_argument("--seconds", type=float, default=5, help="for one file, at most")
    parser.add_argument("--checks", type=int, default=3, help="of each tree")
    parser.add_argument(ONE_CHECK, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    roots = [tree.resolve() for tree in given.trees]
    if given.one_check is not None:
        json.dump(one_check(roots[0], given.one_check, given.seconds), sys.stdout)
        return 0
    failed = 0
    for root in roots:
        start = time.monotonic()
        results = [in_a_process(root, number, given.seconds) for number in range(given.checks)]
        said = list(complaints(results))
        failed += bool(said)
        print(
            f"{root.name}: {results[0]['files']} files, {results[0]['findings']} findings, "
            f"{len(said)} complaints, {time.monotonic() - start:.0f} s",
            *said,
            sep="\n    ",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
