"""For how many real bugs `devlint confirm --drive` finds a witness by itself.

    python benchmarks/drive_records.py TREES RECORDS... --out results.jsonl [--seconds 30]

``RECORDS`` are labelled bugs (one JSON object a line: ``id``, ``repo``, ``parent``, ``path``,
``lines``, ``category``), ``TREES/OWNER+NAME/COMMIT`` the projects before the fix; twelve characters
of the commit will do, as `score.py` writes them (only their Python files: a README's examples are
missed then). Of each record that `devlint check` finds (a rule of `score.py` for its category, in
its lines) one finding is driven, the first in the labelled lines. What has a result in
``results.jsonl`` already is not driven again. It runs the projects' code: in a container, say.

A witness is run again on the project after the fix (``TREES/OWNER+NAME/FIX``, where it is there),
with the finding at the lines that stand for its own there: one that shows the same again is wrong,
or the fix has left a twin behind. The share is of the records whose file can be imported here.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from score import CLAIMS

from runtime_guard.drive.process import ask
from runtime_guard.drive.verdict import Limits, drive

Record = Mapping[str, Any]


def records_of(files: Sequence[Path]) -> Iterator[Record]:
    """All records of these files."""
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.strip():
                yield json.loads(line)


def findings_in(tree: Path, path: str) -> list[dict[str, Any]]:
    """What `devlint check` says of one file of a tree."""
    command = [sys.executable, "-m", "devlint", "check", "--no-cache", "--jobs", "1"]
    done = subprocess.run(
        [*command, "--no-progress", "--format", "json", path],
        cwd=tree,
        capture_output=True,
        text=True,
    )
    try:
        findings: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    except (ValueError, KeyError):
        raise SystemExit(f"devlint check {path} in {tree}: {done.stderr[-300:]}") from None
    return findings


def lines_of(finding: Mapping[str, Any], path: str) -> Iterator[int]:
    """The finding's line and those of its trace in the same file."""
    yield finding["line"]
    yield from (r["line"] for r in finding.get("related", ()) if r["path"] == path)


def tree_of(record: Record, trees: Path, commit: str = "parent") -> Path:
    """The project before the fix, or at it; the commit may be written in short."""
    commits = trees / record["repo"].replace("/", "+")
    whole = commits / record[commit]
    return (whole if whole.exists() else commits / record[commit][:12]).resolve()


def moved_to(before: Sequence[str], after: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """The lines of ``after`` that stand for ``first`` to ``last`` of ``before``.

    Those of a changed block stand for all of the block; of a deleted one its neighbours do.
    """
    found: list[int] = []
    for what, i1, i2, j1, j2 in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        low, high = max(first - 1, i1), min(last, i2)
        if low >= high:
            continue
        if what == "equal":
            found += [j1 + low - i1 + 1, j1 + high - i1]
        else:
            found += [min(j1, j2 - 1) + 1, max(j1, j2 - 1) + 1]
    kept = [max(1, line) for line in found]
    return min(kept, default=first), max(kept, default=last)


def moved_places(finding: Any, tree: Path, fixed: Path) -> Any:
    """The finding at the lines that stand for its own in ``fixed``, and so its trace."""
    texts: dict[str, tuple[list[str], list[str]]] = {}

    def moved(place: Any) -> Any:
        path = place["path"]
        if path not in texts:
            files = (tree / path, fixed / path)
            texts[path] = tuple(  # type: ignore[assignment]
                file.read_text("utf-8").splitlines() if file.exists() else [] for file in files
            )
        first, last = moved_to(*texts[path], place["line"], place.get("end_line") or place["line"])
        return {**place, "line": first, "end_line": last}

    return {**moved(finding), "related": [moved(place) for place in finding.get("related", ())]}


def on_the_fixed_side(finding: Any, witness: Path, tree: Path, fixed: Path, seconds: float) -> str:
    """What the witness of a finding says of the mended project."""
    text = witness.read_text(encoding="utf-8").replace(os.fspath(tree), os.fspath(fixed))
    machine = re.search(r'with virtual_devices\("([^"]+)"\)', text)
    assert machine is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, witness.name)
        path.write_text(text, encoding="utf-8")
        job = {
            "finding": moved_places(finding, tree, fixed),
            "root": os.fspath(fixed),
            "witness": os.fspath(path),
            "machine": machine[1],
            "keep_going": 'on_mixed="record"' in text,
            "seconds": seconds,
        }
        said = ask("runtime_guard.drive.replay", job, Limits(seconds).longest, {}).data
    if "finding" not in said:
        return "did not end"
    ended = f"; ends with {said['failure']}" if said["failure"] else ""
    shown = "confirmed" if said["sooner"] else said["finding"]["verdict"]
    return f"{shown}{ended}"


def of_record(record: Record, tree: Path) -> Any:
    """The finding that is driven; None where the bug is not found."""

    def labelled(line: int) -> bool:
        return any(first <= line <= last for first, last in record["lines"])

    rules = CLAIMS[record["category"]]
    found = [
        finding
        for finding in findings_in(tree, record["path"])
        if finding["rule"].startswith(rules)
        and any(map(labelled, lines_of(finding, record["path"])))
    ]
    return min(found, key=lambda finding: not labelled(finding["line"]), default=None)


def results_in(file: Path) -> dict[str, dict[str, Any]]:
    """By the id of the record."""
    if not file.exists():
        return {}
    return {row["id"]: row for row in map(json.loads, file.read_text().splitlines())}


def report(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The share, and why the others have no witness."""
    found = [row for row in results.values() if row["verdict"] != "not found"]
    imported = [row for row in found if "` fails: " not in row["reason"]]
    counts = Counter(row["verdict"] for row in imported)
    share = 100 * counts["confirmed"] / max(1, len(imported))
    lines = [
        f"{row['id']:9} {row['rule']} {row['verdict']:20} {row['reason'][:150]}" for row in imported
    ]
    twice = [row["id"] for row in imported if row.get("fixed", "").startswith("confirmed")]
    lines.append(
        f"{len(found)} findings, {len(imported)} in files that can be imported here: "
        f"{counts['confirmed']} confirmed ({share:.0f}%), {counts['refuted']} refuted; "
        f"confirmed after the fix, too: {', '.join(twice) or 'none'}"
    )
    return "\n".join(lines)


def main() -> None:
    """Drive what has no result yet, and print the share."""
    parser = argparse.ArgumentParser(description="Witnesses for labelled bugs.")
    parser.add_argument("trees", type=Path)
    parser.add_argument("records", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--witnesses", type=Path, default=Path("devlint-witnesses"))
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--only", help="ids, with commas")
    parser.add_argument("--shuffled", action="store_true", help="in an order drawn once for all")
    options = parser.parse_args()
    only = set(options.only.split(",")) if options.only else None
    results = results_in(options.out)
    with open(options.out, "a", encoding="utf-8") as out:
        records = list(records_of(options.records))
        if options.shuffled:
            random.Random(0).shuffle(records)
        for record in records:
            if record["id"] in results or (only and record["id"] not in only):
                continue
            tree = tree_of(record, options.trees)
            row = {"id": record["id"], "repo": record["repo"], "verdict": "not found", "reason": ""}
            finding = of_record(record, tree) if tree.exists() else None
            if finding is not None:
                started = time.monotonic()
                folder = options.witnesses.resolve() / record["id"]
                judged = drive(finding, os.fspath(tree), folder, Limits(options.seconds))
                row.update({k: judged[k] for k in ("rule", "line", "verdict", "reason", "witness")})
                row["seconds"] = round(time.monotonic() - started)
                fixed = tree_of(record, options.trees, "fix")
                if judged["verdict"] == "confirmed" and fixed.exists():
                    kept = Path(judged["witness"])
                    row["fixed"] = on_the_fixed_side(finding, kept, tree, fixed, options.seconds)
            results[record["id"]] = row
            print(json.dumps(row), file=out, flush=True)
    print(report(results))


if __name__ == "__main__":
    main()
