#!/usr/bin/env python3
"""Try `--fix` on projects, in memory: what it promises of every fixed file.

    python3 scripts/check_fixes.py [--unsafe] PROJECT...

Of each project: every fixed file compiles, no error is there that was not there before, and a
second run changes nothing. Nothing is written. Exits with 1 where one of these does not hold.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

from devlint.config import Config
from devlint.findings import Finding, Severity
from devlint.fixing import Change, Fixed, changed_texts, fix, news
from devlint.rules import load_rules


def broken(change: Change) -> str | None:
    """Why the fixed file does not compile, if it did before."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(change.after, str(change.file), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return f"{change.file}: does not compile: {error}"
    return None


def failures(root: Path, fixed: Fixed, unsafe: bool) -> list[str]:
    found = [reason for change in fixed.changes if (reason := broken(change))]
    for new in news(fixed.before, fixed.report, changed_texts(fixed.changes, root)):
        if isinstance(new, Finding) and new.severity is not Severity.ERROR:
            continue  # the lighter rest of what a fix settles
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
        reasons = failures(root, fixed, given.unsafe)
        failed += bool(reasons)
        print(
            f"{root.name}: {fixed.report.files} files, {len(fixed.changes)} changed by "
            f"{fixed.count} fixes, {len(reasons)} failures, {time.monotonic() - start:.0f} s",
            *reasons,
            sep="\n    ",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
