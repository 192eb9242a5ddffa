"""What `devlint check` changes in files, or would: fixes, and suppressions."""

from __future__ import annotations

import os
import sys

from devlint import fixes
from devlint.commands.messages import errors_of
from devlint.commands.options import FINDINGS, UNCHECKED
from devlint.fixes import Fixed, FixingError, unified_diff
from devlint.report import Report
from devlint.reporters.wording import plural
from devlint.suppression_comments import with_ignores, without_unused_ignores
from devlint.terminal import emit, show


def change_ignores(report: Report, reason: str | None) -> int:
    """Write suppressions for this reason, or without one remove those of no use."""
    done = without_unused_ignores(report) if reason is None else with_ignores(report, reason)
    failed = False
    for change in done.changes:
        try:
            fixes.write(change)
        except FixingError as error:
            failed = True
            emit(show(f"{os.path.relpath(change.file)}: {error}") + "\n", sys.stderr)
    for finding in done.left:
        place = finding.location
        why = "remove it by hand" if reason is None else "no comment can be written there"
        said = f"{place.source}:{place.line}: {finding.rule} is left as it is: {why}"
        emit(show(said) + "\n", sys.stderr)
    emit(errors_of(report), sys.stderr)
    word = "Removed unused suppressions" if reason is None else "Suppressed"
    files = plural(len(done.changes), "file")
    emit(f"{word}: {plural(done.count, 'finding')} in {files}.\n", sys.stdout)
    return UNCHECKED if failed or report.errors else FINDINGS if done.left else 0


def patch_of(fixed: Fixed) -> str:
    """The changes as a patch; on a terminal with nothing in it that could steer that."""
    root = fixed.report.root
    patch = "".join(
        unified_diff(change, os.path.relpath(change.file, root).replace(os.sep, "/"))
        for change in fixed.changes
    )
    return "\n".join(map(show, patch.split("\n"))) if sys.stdout.isatty() else patch


def write_fixed(fixed: Fixed) -> None:
    for change in fixed.changes:
        try:
            fixes.write(change)
        except FixingError as error:
            fixed.refuse(change, str(error))
