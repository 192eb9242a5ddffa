#!/usr/bin/env python3
"""Show what a change of devlint changes for other people's code.

    python3 scripts/ecosystem.py BASE HEAD [--markdown FILE] [--jobs N] [--cache FOLDER]
    python3 scripts/ecosystem.py BASE HEAD --repositories FOLDER

Checks the repositories of scripts/ecosystem.toml, or each folder in FOLDER, with two revisions of
devlint and prints the findings that came, went or are told differently. A revision is one of git,
or `.` for the working tree. Needs an environment in which devlint is installed (its rules are found
by their entry point); the code that runs is that of the revisions. Nothing of what is checked is
run.

Exits with 0, whatever changed; with 1 if the second revision fails on a repository that the first
one checks; with 2 where the work cannot begin.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
LIST = Path(__file__).with_suffix(".toml")
HOST = "https://github.com"
WORKING_TREE = "."
PARTS = ("devlint", "rules")
SECONDS = 900  # for one repository with one revision
SHOWN = 50  # changes of one repository in the Markdown: a comment on GitHub has its limit
LIMIT = 60_000  # characters of the whole


class Failure(Exception):
    """Something outside of ours that does not work; one line."""


@dataclass(frozen=True)
class Repository:
    """One project to check. Without an address its lines have no links."""

    name: str
    folder: Path
    commit: str = ""

    def link(self, path: str, line: int) -> str:
        return f"{HOST}/{self.name}/blob/{self.commit}/{path}#L{line}"


@dataclass(frozen=True, order=True)
class Claim:
    """A finding as far as it tells two revisions apart."""

    path: str
    line: int
    column: int
    rule: str
    confidence: str = ""
    message: str = ""

    @property
    def place(self) -> tuple[str, int, int, str]:
        return self.path, self.line, self.column, self.rule

    def __str__(self) -> str:
        return (
            f"{self.path}:{self.line}:{self.column}: {self.rule} {self.confidence}: {self.message}"
        )


@dataclass
class Difference:
    """What the second revision finds in a repository that the first does not, and the reverse."""

    repository: Repository
    came: list[Claim] = field(default_factory=list)
    went: list[Claim] = field(default_factory=list)
    retold: list[tuple[Claim, Claim]] = field(default_factory=list)
    before: int = 0
    after: int = 0
    failures: list[str] = field(default_factory=list)  # of either revision
    broke: bool = False  # the second fails, and the first does not

    def __bool__(self) -> bool:
        return bool(self.came or self.went or self.retold or self.failures)


def difference(
    repository: Repository, before: Sequence[Claim], after: Sequence[Claim]
) -> Difference:
    """The findings of two checks of the same files, compared place by place."""
    old, new = Counter(before), Counter(after)
    gone, added = sorted((old - new).elements()), sorted((new - old).elements())
    found = Difference(repository, before=len(before), after=len(after))
    for claim in added:
        twin = next((each for each in gone if each.place == claim.place), None)
        if twin is None:
            found.came.append(claim)
        else:
            gone.remove(twin)
            found.retold.append((twin, claim))
    found.went = gone
    return found


# --- the two revisions and the repositories ---------------------------------------------------


def git(*arguments: str | Path) -> bytes:
    quietly = {"GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1"}
    done = subprocess.run(
        ["git", *map(str, arguments)], env={**os.environ, **quietly}, capture_output=True
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        what = arguments[2] if arguments[0] == "-C" else arguments[0]
        raise Failure(f"git {what}: {said[-1] if said else 'failed'}")
    return done.stdout


def code_of(revision: str, into: Path) -> Path:
    """The folder with devlint's code as it is at a revision."""
    if revision == WORKING_TREE:
        return ROOT
    archive = git("-C", ROOT, "archive", "--format=tar", revision, *PARTS)
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(into, filter="data")
    return into


def listed(file: Path, cache: Path) -> list[Repository]:
    """The repositories of a list, cloned into the cache where they are not there yet."""
    pinned: Mapping[str, str] = tomllib.loads(file.read_text(encoding="utf-8"))["repositories"]
    return [Repository(name, clone(name, pinned[name], cache), pinned[name]) for name in pinned]


def clone(name: str, commit: str, cache: Path) -> Path:
    """A shallow clone at one commit; one that did not come to its end is begun anew."""
    folder = cache / name.replace("/", "+") / commit
    if not folder.exists():
        print(f"fetching {name}", file=sys.stderr)
        coming = folder.with_name(f"{commit}.part")
        shutil.rmtree(coming, ignore_errors=True)
        git("init", "-q", coming)
        git("-C", coming, "fetch", "-q", "--depth=1", f"{HOST}/{name}.git", commit)
        git("-C", coming, "-c", "core.symlinks=false", "checkout", "-q", "--detach", "FETCH_HEAD")
        coming.rename(folder)
    return folder


def at_hand(folder: Path) -> list[Repository]:
    return [
        Repository(each.name, each.resolve()) for each in sorted(folder.iterdir()) if each.is_dir()
    ]


# --- checking ---------------------------------------------------------------------------------


def check(code: Path, repository: Repository, settings: Path, confidence: str) -> list[Claim]:
    """The findings of one revision in a repository. Raises Failure."""
    command = [sys.executable, "-m", "devlint", "check", "--format", "json", "--no-progress",
               "--config", str(settings), "--min-confidence", confidence,
               str(repository.folder)]  # fmt: skip
    paths = os.pathsep.join((str(code), str(code / "rules")))
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=settings.parent, env=environment, capture_output=True, timeout=SECONDS
        )
        report: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise Failure(f"not done after {SECONDS} s") from None
    except ValueError:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise Failure(f"exit code {done.returncode}: {said[-1] if said else 'no report'}") from None
    defects = [error for error in report["errors"] if "defect of devlint" in error["message"]]
    if defects:
        first = defects[0]
        raise Failure(f"{first['path']}: {first['message']} ({len(defects)} files in all)")
    return [claim_of(repository, finding) for finding in report["findings"]]


def claim_of(repository: Repository, finding: Mapping[str, Any]) -> Claim:
    """The claim of a finding; its path relative to the repository, whatever the root was."""
    path = os.path.join(repository.folder, finding["path"])
    return Claim(
        Path(os.path.relpath(path, repository.folder)).as_posix(),
        finding["line"],
        finding["column"],
        finding["rule"],
        finding["confidence"],
        finding["message"],
    )


def compare(
    repository: Repository, base: Path, head: Path, settings: Path, confidence: str
) -> Difference:
    results: list[list[Claim] | None] = []
    failures = []
    for which, code in (("before", base), ("after", head)):
        try:
            results.append(check(code, repository, settings, confidence))
        except Failure as failure:
            results.append(None)
            failures.append(f"{which}: {failure}")
    before, after = results
    found = Difference(repository)
    if before is not None and after is not None:
        found = difference(repository, before, after)
    found.failures = failures
    found.broke = after is None and before is not None
    return found


# --- reports ----------------------------------------------------------------------------------


def totals(found: Sequence[Difference]) -> str:
    came, went = sum(len(d.came) for d in found), sum(len(d.went) for d in found)
    retold, failed = sum(len(d.retold) for d in found), sum(bool(d.failures) for d in found)
    before, after = sum(d.before for d in found), sum(d.after for d in found)
    text = (
        f"{came} came, {went} went, {retold} told differently in {len(found)} repositories "
        f"({before} findings before, {after} after)"
    )
    return f"{text}; {failed} failed" if failed else text


def by_rule(found: Sequence[Difference]) -> list[tuple[str, int, int]]:
    """How many findings came and went for each rule, those that changed."""
    came = Counter(claim.rule for each in found for claim in each.came)
    went = Counter(claim.rule for each in found for claim in each.went)
    return [(rule, came[rule], went[rule]) for rule in sorted({*came, *went})]


def text_report(found: Sequence[Difference]) -> Iterator[str]:
    for each in filter(None, found):
        yield f"{each.repository.name}: {each.before} findings before, {each.after} after"
        yield from (f"  ! {shown(failure)}" for failure in each.failures)
        yield from (f"  + {shown(claim)}" for claim in each.came)
        yield from (f"  - {shown(claim)}" for claim in each.went)
        for old, new in each.retold:
            yield f"  ~ {shown(new)}"
            yield f"      was {old.confidence}: {shown(old.message)}"
    yield from (f"{rule}: +{came} -{went}" for rule, came, went in by_rule(found))
    yield totals(found)


def shown(text: object) -> str:
    """A text whose control characters do nothing to a terminal."""
    return "".join(c if c.isprintable() else "\ufffd" for c in str(text))


def markdown_report(found: Sequence[Difference]) -> str:
    """The report as a comment on a pull request, within what GitHub takes."""
    lines = ["## Ecosystem check", "", totals(found) + "."]
    rules = by_rule(found)
    if rules:
        lines += ["", "| rule | came | went |", "| --- | ---: | ---: |"]
        lines += [f"| {rule} | {came} | {went} |" for rule, came, went in rules]
    text = "\n".join(lines) + "\n"
    for each in filter(None, found):
        section = "\n".join(["", *_section(each)]) + "\n"
        if len(text) + len(section) > LIMIT:
            return text + "\nThe rest is in the log: a comment has its limit.\n"
        text += section
    return text


def _section(each: Difference) -> Iterator[str]:
    head = f"+{len(each.came)} −{len(each.went)} ~{len(each.retold)}"
    yield f"<details><summary>{code(each.repository.name)}: {head}</summary>"
    yield ""
    lines = [
        *(f"- failed, {code(failure)}" for failure in each.failures),
        *(f"- \\+ {_linked(each.repository, claim)}" for claim in each.came),
        *(f"- \\− {_linked(each.repository, claim)}" for claim in each.went),
        *(
            f"- ~ {_linked(each.repository, new)}<br>was {old.confidence}: {code(old.message)}"
            for old, new in each.retold
        ),
    ]
    yield from lines[:SHOWN]
    if len(lines) > SHOWN:
        yield f"- and {len(lines) - SHOWN} more"
    yield ""
    yield "</details>"


def _linked(repository: Repository, claim: Claim) -> str:
    place = code(f"{claim.path}:{claim.line}")
    if repository.commit:
        place = f'<a href="{escaped(repository.link(claim.path, claim.line))}">{place}</a>'
    return f"{place} **{claim.rule}** {claim.confidence}: {code(claim.message)}"


def code(text: str) -> str:
    return f"<code>{escaped(shown(text))}</code>"


def escaped(text: str) -> str:
    """A text that neither HTML nor Markdown sees anything in."""
    return "".join(c if c.isalnum() or c in " ,:/.-" else f"&#{ord(c)};" for c in text)


# --- the command ------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("base", help="a revision of devlint, or `.`")
    parser.add_argument("head", help="the revision compared with it, or `.`")
    parser.add_argument("--list", type=Path, default=LIST, help="the repositories, as TOML")
    parser.add_argument("--cache", type=Path, default=ROOT / ".ecosystem", help="for the clones")
    parser.add_argument("--repositories", type=Path, help="check the folders in this one instead")
    parser.add_argument("--min-confidence", default="likely")
    parser.add_argument("--markdown", type=Path, help="write the report for a pull request here")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="ecosystem-") as temporary:
        settings = Path(temporary) / "devlint.toml"  # theirs is not what is compared
        settings.write_text("", encoding="utf-8")
        try:
            base, head = (
                code_of(revision, Path(temporary) / name)
                for revision, name in ((given.base, "base"), (given.head, "head"))
            )
            if given.repositories is not None:
                repositories = at_hand(given.repositories.resolve())
            else:
                repositories = listed(given.list, given.cache.resolve())
        except (Failure, OSError, ValueError, KeyError) as error:
            print(f"ecosystem: {error}", file=sys.stderr)
            return 2
        with ThreadPoolExecutor(given.jobs) as pool:
            found = list(
                pool.map(
                    lambda each: compare(each, base, head, settings, given.min_confidence),
                    repositories,
                )
            )
    print("\n".join(text_report(found)))
    if given.markdown is not None:
        given.markdown.write_text(markdown_report(found), encoding="utf-8")
    return 1 if any(each.broke for each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
