#!/usr/bin/env python3
"""How many real bugs `devlint check` finds, and how much else it says.

    python benchmarks/score.py RECORDS... --mirror MIRROR --trees TREES [--fetch] [--labelled FILE]

RECORDS are bugs of public histories, one JSON object a line: `id`, `repo`, `parent` and `fix` (the
commit that mends it, and the one before), `path`, `lines`, `category`, `expert`. MIRROR holds git
directories as `OWNER+NAME/repo`; `--fetch` clones those that are missing from GitHub, with their
history and, of the files, only the Python files of the commits that are looked at. These are
written to TREES once, as `OWNER+NAME/COMMIT[:12]`. For each file of RECORDS:

    found   a finding of a rule that may claim such a bug starts in a labelled range of the parent,
            or has a related place there
    pair    found, and the rule reports fewer times in the mended file
    noise   findings of severity error or warning (DEV5 aside) in 1,000 lines of the mended files

With `--labelled` also how many findings that were labelled are still reported, by label. `--save`
keeps what was found; `--against` prints what a saved run had and this one has not, and the reverse.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "rules")]

from devlint import engine  # noqa: E402
from devlint.config import Config  # noqa: E402
from devlint.findings import Confidence, Finding, Severity  # noqa: E402
from devlint.rules import load_rules  # noqa: E402

# The rules that may claim a bug of a category, by their first characters.
CLAIMS: Mapping[str, tuple[str, ...]] = {
    "cpu-constant": ("DEV1", "DEV2", "DEV304"),
    "mixed-op": ("DEV1", "DEV2"),
    "input-not-moved": ("DEV1", "DEV2"),
    "model-not-moved": ("DEV1", "DEV2"),
    "discarded-to": ("DEV2", "DEV1"),
    "unregistered-state": ("DEV2", "DEV1"),
    "hardcoded-device": ("DEV5", "DEV1"),
    "multi-gpu": ("DEV1", "DEV5", "DEV2"),
    "index-device": ("DEV1", "DEV2", "DEV3"),
    "host-read": ("DEV4", "DEV1", "DEV3"),
    "load-map": ("DEV5", "DEV1"),
    "generator-device": ("DEV1", "DEV5"),
    "dtype-type-cast": ("DEV5", "DEV1", "DEV2"),
    "sync-in-loop": ("DEV3", "DEV4"),
    "transfer-in-loop": ("DEV3",),
    "create-then-move": ("DEV3",),
    "nonleaf-param": ("DEV2",),
    "other": ("DEV",),
}

GITHUB = "https://github.com"
QUIET = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}  # nobody is asked for a repository that is gone

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Job:
    """One tree and the files of it to check."""

    tree: Path
    paths: tuple[str, ...]
    least: Confidence


@dataclass
class Score:
    """Verdicts by record, and what is said in mended files."""

    found: dict[str, list[str]] = field(default_factory=dict)  # by id: the rules that found it
    pairs: set[str] = field(default_factory=set)
    noise: dict[str, list[str]] = field(default_factory=dict)  # by tree and path: what is said
    lines: int = 0
    labelled: dict[str, str] = field(default_factory=dict)  # what is still reported: its label

    def as_json(self) -> str:
        return json.dumps({**vars(self), "pairs": sorted(self.pairs)}, indent=1)


def git(directory: Path, *arguments: str, feed: bytes | None = None) -> bytes:
    command = ["git", "--git-dir", os.fspath(directory), *arguments]
    return subprocess.run(command, input=feed, capture_output=True, check=True, env=QUIET).stdout


def git_directory(mirror: Path, repo: str) -> Path | None:
    """Bare, or with a work tree around it."""
    folder = mirror / repo.replace("/", "+") / "repo"
    return next((d for d in (folder / ".git", folder) if (d / "objects").is_dir()), None)


def cloned(mirror: Path, repo: str, host: str) -> Path | None:
    """A clone of a repository's history, without its files; None if there is none to be had."""
    target = mirror / repo.replace("/", "+") / "repo"
    partial = target.with_name(f"{target.name}.partial{os.getpid()}")
    partial.parent.mkdir(parents=True, exist_ok=True)
    command = ["git", "clone", "-q", "--bare", "--filter=blob:none", f"{host}/{repo}"]
    done = subprocess.run([*command, os.fspath(partial)], capture_output=True, text=True, env=QUIET)
    if done.returncode:
        print(f"cannot be fetched: {repo}: {done.stderr.strip()}", file=sys.stderr)
        return None
    partial.rename(target)
    return target


def is_partial(directory: Path) -> bool:
    """Whether files come when they are asked for, as in a clone that we have made."""
    return bool(
        git(directory, "config", "--default", "", "--get", "remote.origin.promisor").strip()
    )


def fetch_files(directory: Path, commit: str) -> None:
    """Fetch a commit that no branch reaches any more, and its Python files that are missing.

    All files at once: git by itself would ask for one after the other.
    """
    fetch = ["fetch", "-q", "--no-tags", "--no-write-fetch-head", "--filter=blob:none"]
    all_commits = git(directory, "rev-list", "--all").decode().split()
    if commit not in all_commits:
        git(directory, *fetch, "origin", commit)
    objects = git(directory, "rev-list", "--objects", "--missing=print", "--no-walk", commit)
    missing = {line[1:].decode() for line in objects.splitlines() if line.startswith(b"?")}
    wanted = sorted({blob for blob, _ in python_files(directory, commit)} & missing)
    if wanted:
        feed = "".join(f"{blob}\n" for blob in wanted).encode()
        noop = ["-c", "fetch.negotiationAlgorithm=noop"]
        git(directory, *noop, *fetch, "--stdin", "origin", feed=feed)


def python_files(directory: Path, commit: str) -> list[tuple[str, str]]:
    """The Python files of a commit, as blob and path; no links."""
    names = []
    for entry in git(directory, "ls-tree", "-r", "-z", commit).decode(errors="replace").split("\0"):
        meta, _, name = entry.partition("\t")
        if name.endswith(".py") and not meta.startswith(("120000", "160000")):
            names.append((meta.split()[2], name))
    return names


def written(directory: Path, commit: str, tree: Path) -> Path:
    """The tree of a commit's Python files; written where it is not there yet."""
    if tree.is_dir():
        return tree
    partial = tree.with_name(f"{tree.name}.partial{os.getpid()}")
    partial.mkdir(parents=True, exist_ok=True)
    names = python_files(directory, commit)
    blobs = "".join(f"{blob}\n" for blob, _ in names).encode()
    raw, at = git(directory, "cat-file", "--batch", feed=blobs), 0
    for _, name in names:
        end = raw.index(b"\n", at)
        head = raw[at:end].split()
        at = end + 1
        if head[-1] == b"missing":
            continue
        target = partial / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(raw[at : at + int(head[2])])
        at += int(head[2]) + 1
    partial.rename(tree)
    return tree


def checked(job: Job) -> dict[str, list[Finding]]:
    """The findings in each of a tree's files, by its path."""
    config = Config(job.tree, min_confidence=job.least, respect_gitignore=False)
    found: dict[str, list[Finding]] = {}
    for path in job.paths:
        if (job.tree / path).is_file():
            report = engine.check([job.tree / path], config, load_rules())
            found[path] = report.findings
    return found


def is_of(record: Record, finding: Finding) -> bool:
    """Whether a finding in the parent is of this bug."""
    if not finding.rule.startswith(CLAIMS[record["category"]]):
        return False
    related = (r.location for r in finding.related if r.location.path == record["path"])
    lines = [finding.location.line, *(location.line for location in related)]
    return any(first <= line <= last for line in lines for first, last in record["lines"])


def judge(score: Score, record: Record, before: list[Finding], after: list[Finding]) -> None:
    by = sorted({finding.rule for finding in before if is_of(record, finding)})
    if by:
        score.found[record["id"]] = by
    was, still = Counter(f.rule for f in before), Counter(f.rule for f in after)
    if any(still[rule] < was[rule] for rule in by):
        score.pairs.add(record["id"])


def is_noise(finding: Finding) -> bool:
    return finding.severity is not Severity.PERFORMANCE and not finding.rule.startswith("DEV5")


def text_of(finding: Finding) -> str:
    kinds = ", ".join(sorted({str(each.kind) for each in finding.assumptions}))
    place = f"{finding.location.line}:{finding.location.column}"
    return f"{place} {finding.rule} {finding.severity.value} {finding.confidence.value} ({kinds})"


def read(files: Sequence[Path]) -> list[Record]:
    return [json.loads(line) for file in files for line in file.read_text().splitlines() if line]


@dataclass(frozen=True)
class Places:
    mirror: Path
    trees: Path
    host: str | None = None  # whence what is missing is fetched

    def tree(self, repo: str, commit: str) -> Path | None:
        """None where neither the tree nor its repository is there, or to be had."""
        tree = self.trees / repo.replace("/", "+") / commit[:12]
        if tree.is_dir():
            return tree
        directory = git_directory(self.mirror, repo)
        if directory is None and self.host is not None:
            directory = cloned(self.mirror, repo, self.host)
        if directory is None:
            return None
        if self.host is not None and is_partial(directory):
            try:
                fetch_files(directory, commit)
            except subprocess.CalledProcessError as error:
                said = error.stderr.decode(errors="replace").strip()
                print(f"cannot be fetched: {repo} {commit}: {said}", file=sys.stderr)
                return None
        return written(directory, commit, tree)


def scored(
    records: Sequence[Record],
    labels: Sequence[Record],
    places: Places,
    least: Confidence,
    jobs: int,
) -> Score:
    """Check every file of the records and the labels, and judge."""
    wanted: dict[Path, set[str]] = defaultdict(set)
    here: list[tuple[Record, Path, Path]] = []
    of_label: list[tuple[Record, Path]] = []
    for record in records:
        parent = places.tree(record["repo"], record["parent"])
        fix = places.tree(record["repo"], record["fix"])
        if parent is None or fix is None:
            print(f"no repository: {record['id']}", file=sys.stderr)
            continue
        here.append((record, parent, fix))
        wanted[parent].add(record["path"])
        wanted[fix].add(record["path"])
    for label in labels:
        of = places.tree(label["repo"], label["sha"])
        if of is not None:
            of_label.append((label, of))
            wanted[of].add(label["path"])
    tasks = [Job(tree, tuple(sorted(paths)), least) for tree, paths in sorted(wanted.items())]
    with ProcessPoolExecutor(jobs) as pool:
        found = dict(zip((task.tree for task in tasks), pool.map(checked, tasks), strict=True))
    score = Score()
    for record, parent, fix in here:
        path = record["path"]
        before, after = found[parent].get(path, []), found[fix].get(path, [])
        judge(score, record, before, after)
        name = f"{fix.parent.name}/{fix.name}/{path}"
        if name not in score.noise and (fix / path).is_file():
            score.noise[name] = [text_of(f) for f in after if is_noise(f)]
            score.lines += (fix / path).read_bytes().count(b"\n")
    for label, of in of_label:
        for finding in found[of].get(label["path"], []):
            if (finding.rule, finding.location.line) == (label["rule"], label["line"]):
                place = f"{label['repo']}/{label['path']}:{label['line']} {label['rule']}"
                score.labelled[place] = label["label"]
    return score


def summary(name: str, records: Sequence[Record], score: Score) -> str:
    """One line: the shares of these records, in all and of those an expert is certain of."""
    sure = [r["id"] for r in records if r["expert"] == "certain"]
    every = [r["id"] for r in records]
    found = sum(r in score.found for r in every) / max(1, len(every))
    pair = sum(r in score.pairs for r in every) / max(1, len(every))
    certain = sum(r in score.pairs for r in sure) / max(1, len(sure))
    noise = 1000 * sum(map(len, score.noise.values())) / max(1, score.lines)
    return (
        f"{name:<22} found {found:6.1%}  pair {pair:6.1%}  pair, certain {certain:6.1%}  "
        f"noise {noise:.3f} in {score.lines} lines"
    )


def difference(old: Mapping[str, Any], new: Score) -> Iterator[str]:
    """What came and went."""
    for sign, ids in (
        ("-", sorted(set(old["pairs"]) - new.pairs)),
        ("+", sorted(new.pairs - set(old["pairs"]))),
    ):
        yield from (f"{sign} pair {each}" for each in ids)
    for sign, a, b in (("-", old["labelled"], new.labelled), ("+", new.labelled, old["labelled"])):
        yield from (f"{sign} {a[place]} {place}" for place in sorted(a.keys() - b.keys()))
    for place in sorted(old["noise"].keys() | new.noise.keys()):
        was, said = old["noise"].get(place, []), new.noise.get(place, [])
        for sign, some in (("-", set(was) - set(said)), ("+", set(said) - set(was))):
            yield from (f"{sign} noise {place}:{each}" for each in sorted(some))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("records", nargs="*", type=Path, metavar="RECORDS")
    parser.add_argument("--mirror", type=Path, required=True)
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--fetch", action="store_true", help="clone what MIRROR lacks from GitHub")
    parser.add_argument("--host", default=GITHUB, help=argparse.SUPPRESS)  # for the tests
    parser.add_argument("--labelled", type=Path)
    parser.add_argument("--min-confidence", default="likely", choices=[c.value for c in Confidence])
    parser.add_argument("--only", help="ids of records, with commas")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--against", type=Path)
    options = parser.parse_args(arguments)
    only = set(options.only.split(",")) if options.only else None
    sets = {
        file.stem: [r for r in read([file]) if only is None or r["id"] in only]
        for file in options.records
    }
    labels = read([options.labelled]) if options.labelled else []
    places = Places(options.mirror, options.trees, options.host if options.fetch else None)
    score = Score()
    least = Confidence(options.min_confidence)
    for name, records in sets.items():
        part = scored(records, [], places, least, options.jobs)
        print(summary(name, records, part), flush=True)
        score.found |= part.found
        score.pairs |= part.pairs
        score.noise |= part.noise
        score.lines += part.lines
    if len(sets) > 1:
        print(summary("together", [r for some in sets.values() for r in some], score))
    if labels:
        score.labelled = scored([], labels, places, least, options.jobs).labelled
        total, still = Counter(r["label"] for r in labels), Counter(score.labelled.values())
        print("labelled:", ", ".join(f"{label} {still[label]}/{total[label]}" for label in total))
    if options.save:
        options.save.write_text(score.as_json())
    if options.against:
        print("\n".join(difference(json.loads(options.against.read_text()), score)))


if __name__ == "__main__":
    main()
