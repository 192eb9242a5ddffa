#!/usr/bin/env python3
"""How often findings are right and worth saying, on projects that nobody here has looked at.

    python benchmarks/worth.py check TREES... --out findings.jsonl
    python benchmarks/worth.py pick findings.jsonl --seed 7 --sample 100 --out to-read.jsonl
    python benchmarks/worth.py tally findings.jsonl LABELS...

`check` writes down every finding of whole projects (folders named `OWNER+NAME/COMMIT…`), at the
default confidence and with nothing configured. `pick` takes all errors and a seeded sample of the
others for someone who did not write the rule to read with the code, and to label in place: `label`
is `true` (a maintainer would act on it), `nitpick` (literally so, of no worth there) or `false`,
and `reason` one sentence. `tally` prints the labels of what is said now, by severity, confidence,
rule and assumption; what has no label is counted as unread. Labels that were given so far are in
`benchmarks/labels`.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "rules")]

from devlint import engine  # noqa: E402
from devlint.config import Config  # noqa: E402
from devlint.findings import Finding  # noqa: E402
from devlint.rules import load_rules  # noqa: E402

Row = dict[str, Any]
LABELS = ("true", "nitpick", "false")


def row_of(finding: Finding, tree: Path) -> Row:
    place = finding.location
    return {
        "repo": tree.parent.name.replace("+", "/", 1),
        "sha": tree.name,
        "path": place.path,
        "line": place.line,
        "column": place.column,
        "rule": finding.rule,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "assumptions": sorted({str(each.kind) for each in finding.assumptions}),
        "message": finding.message,
        "advice": finding.advice,
        "related": [f"{r.location.path}:{r.location.line} {r.message}" for r in finding.related],
    }


def checked(tree: Path) -> list[Row]:
    report = engine.check([tree], Config(tree, respect_gitignore=False), load_rules())
    return [row_of(finding, tree) for finding in report.findings]


def read(files: Iterable[Path]) -> list[Row]:
    return [json.loads(line) for file in files for line in file.read_text().splitlines() if line]


def write(rows: Iterable[Row], file: Path) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def place(row: Row) -> tuple[Any, ...]:
    """What a finding and its label have in common: commits are as long as they were written."""
    return (row["repo"], row["sha"][:12], row["path"], row["line"], row["rule"])


def picked(rows: Sequence[Row], sample: int, seed: int) -> list[Row]:
    """All errors, and a sample of the others; in a seeded order."""
    lot = random.Random(seed)
    errors = [row for row in rows if row["severity"] == "error"]
    others = [row for row in rows if row["severity"] != "error"]
    chosen = [*errors, *lot.sample(others, min(sample, len(others)))]
    chosen.sort(key=place)
    return [{**row, "label": "", "reason": ""} for row in chosen]


def shares(
    rows: Sequence[Row], labels: dict[tuple[Any, ...], str], keys: Callable[[Row], Iterable[str]]
) -> Iterator[str]:
    """A line for each key: true, nitpick, false, unread, and the share of the true ones."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        for key in keys(row):
            counts[key][labels.get(place(row), "unread")] += 1
    for key, of in sorted(counts.items()):
        known = sum(of[label] for label in LABELS)
        share = f"{of['true'] / known:4.0%}" if known else "   -"
        told = " ".join(f"{of[label]:>5}" for label in (*LABELS, "unread"))
        yield f"{key:<42} {told} {share}"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check")
    check.add_argument("trees", nargs="+", type=Path)
    check.add_argument("--out", type=Path, required=True)
    check.add_argument("--jobs", type=int, default=2)
    pick = commands.add_parser("pick")
    pick.add_argument("findings", type=Path)
    pick.add_argument("--sample", type=int, default=100)
    pick.add_argument("--seed", type=int, default=0)
    pick.add_argument("--out", type=Path, required=True)
    tally = commands.add_parser("tally")
    tally.add_argument("findings", type=Path)
    tally.add_argument("labels", nargs="+", type=Path)
    options = parser.parse_args()
    if options.command == "check":
        with ProcessPoolExecutor(options.jobs) as pool:
            trees = [tree.resolve() for tree in options.trees]
            write((row for rows in pool.map(checked, trees) for row in rows), options.out)
    elif options.command == "pick":
        write(picked(read([options.findings]), options.sample, options.seed), options.out)
    else:
        labels = {place(row): row["label"] for row in read(options.labels) if row["label"]}
        rows = read([options.findings])
        print(f"{'':<42} {'true':>5} {'nitp.':>5} {'false':>5} {'unrd.':>5} share")
        for keys in (
            lambda row: [row["severity"]],
            lambda row: [f"{row['severity']} {row['confidence']}"],
            lambda row: [f"{row['rule']} {row['severity']}"],
            lambda row: row["assumptions"],
        ):
            print("\n".join(shares(rows, labels, keys)), end="\n\n")


if __name__ == "__main__":
    main()
