#!/usr/bin/env python3
"""Try `--fix` on projects, in memory: what it promises of every fixed file.

    python3 scripts/check_fixes.py [--unsafe] PROJECT...

Of each project: every fixed file compiles, keeps its comments, encoding and line ends, no finding
is there that was not there before, and a second run changes nothing. With `--unsafe` no error is
there; how many lighter findings stand in the place of what was fixed is said beside it. Nothing is
written. Exits with 1 where one of these does not hold.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import time
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from devlint.config import Config
from devlint.findings import FileError, Finding, Severity
from devlint.fixes import Change, Fixed, changed_texts, fix, news
from devlint.rules import load_rules


def broken(change: Change) -> Iterator[str]:
    """What a fixed file has lost that it had before. That of a notebook is all in its cells."""
    if change.file.suffix == ".ipynb":
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(change.after, str(change.file), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        yield f"{change.file}: does not compile: {error}"
        return
    if lost := comments(change.before) - comments(change.after):
        yield f"{change.file}: comments lost: {', '.join(lost)}"
    if line_ends(change.before) != line_ends(change.after):
        yield f"{change.file}: has other line ends"
    if encoding(change.before) != encoding(change.after):
        yield f"{change.file}: has another encoding"


def comments(data: bytes) -> Counter[str]:
    tokens = tokenize.tokenize(io.BytesIO(data).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def line_ends(data: bytes) -> set[bytes]:
    return set(re.findall(rb"\r\n|\r|\n", data))


def encoding(data: bytes) -> str:
    return tokenize.detect_encoding(io.BytesIO(data).readline)[0]


def is_lighter(new: Finding | FileError) -> bool:
    """Whether it is no error: the lighter rest of what a fix settles."""
    return isinstance(new, Finding) and new.severity is not Severity.ERROR


def failures(
    root: Path, fixed: Fixed, unsafe: bool, fresh: Iterable[Finding | FileError]
) -> list[str]:
    found = [reason for change in fixed.changes for reason in broken(change)]
    for new in fresh:
        if unsafe and is_lighter(new):
            continue
        place = new.location if isinstance(new, Finding) else new
        found.append(f"{place.source}:{place.line}: new: {new.message}")
    if fixed.changes:
        contents = {change.file: change.after for change in fixed.changes}
        again = fix([root], Config(root), load_rules(), unsafe=unsafe, contents=contents)
        found += [f"{change.file}: changed again by a second run" for change in again.changes]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("projects", nargs="+", type=Path)
    parser.add_argument("--unsafe", action="store_true", help="apply the unsafe fixes too")
    given = parser.parse_args()
    failed = 0
    for root in given.projects:
        root = root.resolve()
        start = time.monotonic()
        fixed = fix([root], Config(root), load_rules(), unsafe=given.unsafe)
        fresh = news(fixed.before, fixed.report, changed_texts(fixed.changes, root))
        reasons = failures(root, fixed, given.unsafe, fresh)
        failed += bool(reasons)
        print(
            f"{root.name}: {fixed.report.files} files, {len(fixed.changes)} changed by "
            f"{fixed.count} fixes, {len(reasons)} failures, "
            f"{sum(map(is_lighter, fresh))} lighter findings, {time.monotonic() - start:.0f} s",
            *reasons,
            sep="\n    ",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
