#!/usr/bin/env python3
"""How often findings were right, for each kind of assumption that they rest on.

`calibrate.py RECORDS... --labelled FILE --trees DIR`. RECORDS are bugs of public histories, one
JSON object a line with `repo`, `fix`, `parent`, `path` and `lines`; FILE has labelled findings with
`repo`, `sha`, `path`, `line`, `rule` and `label`. DIR holds the trees as `OWNER+NAME/SHA[:12]`
(of labelled findings as `OWNER+NAME/SHA[:12]-labelled`).

A finding on a labelled line of a bug is right; an error or a warning that is still there in the
fixed file counts as wrong, though now and then it is a bug that nobody mended: a share is a lower
bound. A labelled finding is wrong where its label is `false`. Checking takes minutes; `--save`
keeps what was found, and `--load` prints the tables from it for other weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "rules")]

from devlint import engine  # noqa: E402
from devlint.config import Config  # noqa: E402
from devlint.findings import Confidence, Finding, Severity  # noqa: E402
from devlint.inference.confidence import policy  # noqa: E402
from devlint.inference.domain.assumptions import AssumptionKind  # noqa: E402
from devlint.rules import load_rules  # noqa: E402

JUDGED = ("DEV1", "DEV2", "DEV4")  # the rules whose findings rest on assumptions


@dataclass(frozen=True)
class Said:
    """A finding, as far as it is judged."""

    rule: str
    line: int
    related: tuple[int, ...]
    kinds: tuple[str, ...]
    confidence: str
    message: str

    def sure(self) -> Confidence | None:
        """How sure it is by the table as it is now."""
        if not self.kinds:
            return Confidence(self.confidence)
        return policy.confidence(AssumptionKind(kind) for kind in self.kinds)


@dataclass(frozen=True)
class Verdict:
    """A finding and whether it was right; `about` names the bug or the file that it is about."""

    said: Said
    right: bool
    about: str


Tree = tuple[str, str]  # the tree's folder, the file in it
Found = Mapping[Tree, Sequence[Said]]


def check(tree: Tree) -> list[Said]:
    """All findings in one file that are more than a guess, however little."""
    policy.LEAST[Confidence.POSSIBLE] = 0.0
    root, path = Path(tree[0]), tree[1]
    if not (root / path).is_file():
        return []
    config = Config(root, min_confidence=Confidence.POSSIBLE, respect_gitignore=False)
    report = engine.check([root / path], config, load_rules())
    return [said(f) for f in report.findings if judged(f)]


def judged(finding: Finding) -> bool:
    return finding.rule.startswith(JUDGED) and finding.severity is not Severity.PERFORMANCE


def said(finding: Finding) -> Said:
    here = finding.location.path
    lines = (each.location.line for each in finding.related if each.location.path == here)
    kinds = tuple(sorted({each.kind for each in finding.assumptions}))
    place = finding.location.line
    return Said(finding.rule, place, tuple(lines), kinds, finding.confidence.value, finding.message)


def read(files: Iterable[Path]) -> list[dict[str, object]]:
    return [json.loads(line) for file in files for line in file.read_text().splitlines() if line]


def tree_of(trees: Path, record: Mapping[str, object], sha: str, end: str = "") -> Tree:
    folder = trees / str(record["repo"]).replace("/", "+") / (str(record[sha])[:12] + end)
    return str(folder), str(record["path"])


def verdicts(bugs: list[dict[str, object]], found: Found, trees: Path) -> Iterator[Verdict]:
    """Right on the lines of a bug, wrong in the fixed file."""
    fixed: dict[Tree, str] = {}
    for bug in bugs:
        ranges: list[list[int]] = bug["lines"]  # type: ignore[assignment]
        for each in found[tree_of(trees, bug, "parent")]:
            if any(a <= line <= b for line in (each.line, *each.related) for a, b in ranges):
                yield Verdict(each, True, str(bug["id"]))
        fixed.setdefault(tree_of(trees, bug, "fix"), str(bug["id"]))
    for tree, about in fixed.items():
        yield from (Verdict(each, False, f"fixed {about}") for each in found[tree])


def of_labelled(labels: list[dict[str, object]], found: Found, trees: Path) -> Iterator[Verdict]:
    for label in labels:
        for each in found[tree_of(trees, label, "sha", "-labelled")]:
            if (each.rule, each.line) == (label["rule"], label["line"]):
                yield Verdict(each, label["label"] != "false", f"{label['repo']}:{label['line']}")


def table(every: Sequence[Verdict]) -> Iterator[str]:
    """A line for each kind: all findings that rest on it, those that it alone makes less sure than
    the others would, and the bugs that are found through it alone at the default confidence."""
    counts = " right wrong  share"
    yield f"{'kind':<32} weight  {counts}   weakest: {counts}  lost"
    for kind in AssumptionKind:
        resting = [v for v in every if kind.value in v.said.kinds]
        weakest = [v for v in resting if _weakest(v.said) == kind]
        lost = {v.about for v in resting if v.right and _is_shown(v.said)}
        lost -= {v.about for v in every if v.right and _is_shown(v.said) and v not in resting}
        yield (
            f"{kind.value:<32} {policy.WEIGHTS[kind]:>6.2f}  {_shares(resting)}            "
            f"{_shares(weakest)}  {len(lost):>4}"
        )


def _weakest(said: Said) -> AssumptionKind:
    return min((AssumptionKind(kind) for kind in said.kinds), key=policy.WEIGHTS.__getitem__)


def _is_shown(said: Said) -> bool:
    return said.sure() in (Confidence.CERTAIN, Confidence.LIKELY)


def _shares(verdicts: Sequence[Verdict]) -> str:
    right = sum(v.right for v in verdicts)
    share = f"{right / len(verdicts):>6.2f}" if verdicts else "     -"
    return f"{right:>5} {len(verdicts) - right:>5} {share}"


def levels(every: Sequence[Verdict]) -> Iterator[str]:
    """How right the findings of each confidence were, by the table as it is now."""
    for level in (*Confidence, None):
        of_level = [v for v in every if v.said.sure() == level]
        yield f"{level.value if level else 'nothing':<9} {_shares(of_level)}"


def combinations(every: Sequence[Verdict], least: int) -> Iterator[str]:
    """The sets of kinds that stand behind several findings, the commonest first."""
    sets: dict[tuple[str, ...], list[Verdict]] = {}
    for verdict in every:
        sets.setdefault(verdict.said.kinds, []).append(verdict)
    for kinds, found in sorted(sets.items(), key=lambda item: -len(item[1])):
        if len(found) >= least:
            yield f"{_shares(found)}  {' + '.join(kinds) or 'nothing assumed'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("records", nargs="*", type=Path, metavar="RECORDS")
    parser.add_argument("--labelled", type=Path)
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--save", type=Path, help="keep what was found")
    parser.add_argument("--load", type=Path, help="take what was found from there")
    parser.add_argument("--sets", type=int, default=3, help="findings that a set of kinds needs")
    options = parser.parse_args()
    bugs = read(options.records)
    labels = read([options.labelled]) if options.labelled else []
    trees = options.trees
    wanted = {tree_of(trees, bug, sha) for bug in bugs for sha in ("parent", "fix")}
    wanted |= {tree_of(trees, label, "sha", "-labelled") for label in labels}
    found = load(options.load) if options.load else checked(sorted(wanted), options.jobs)
    if options.save:
        rows = [[*tree, [asdict(each) for each in some]] for tree, some in found.items()]
        options.save.write_text(json.dumps(rows))
    every = [*verdicts(bugs, found, trees), *of_labelled(labels, found, trees)]
    print("\n".join(table(every)), end="\n\n")
    print("\n".join(levels(every)), end="\n\n")
    print("\n".join(combinations(every, options.sets)))


def checked(trees: Sequence[Tree], jobs: int) -> dict[Tree, list[Said]]:
    found: dict[Tree, list[Said]] = {}
    with ProcessPoolExecutor(jobs) as pool:
        waiting = {pool.submit(check, tree): tree for tree in trees}
        for number, done in enumerate(as_completed(waiting), 1):
            found[waiting[done]] = done.result()
            if number % 50 == 0:
                print(f"{number} of {len(trees)}", file=sys.stderr, flush=True)
    return found


def load(file: Path) -> dict[Tree, list[Said]]:
    return {
        (root, path): [
            Said(**{**each, "related": tuple(each["related"]), "kinds": tuple(each["kinds"])})
            for each in some
        ]
        for root, path, some in json.loads(file.read_text())
    }


if __name__ == "__main__":
    main()
