"""Fixes: the edits of findings applied to texts, and files replaced by fixed ones.

A fix is applied whole or not at all, and none that overlaps another one: what is left is tried in
the next round, on the text that came out. A text that would no longer parse is not kept.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from devlint import engine
from devlint.checking.session import Infer
from devlint.config import Config
from devlint.findings import Applicability, Edit, Finding, Fix
from devlint.project.source import SourceError, decode, line_starts, parse, read, split_lines
from devlint.report import Report
from devlint.rule import Rule

ROUNDS = 10


class FixingError(Exception):
    """A fixed file that could not be put in the place of the old one."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file before and after."""

    file: Path
    before: bytes
    after: bytes


@dataclass(slots=True)
class Fixed:
    """The changes, how many fixes they are of, and what a check reports before and after them."""

    before: Report
    report: Report
    count: int = 0
    changes: list[Change] = field(default_factory=list)


def fix(
    paths: Sequence[Path],
    config: Config,
    rules: tuple[Rule, ...],
    *,
    unsafe: bool = False,
    contents: Mapping[Path, bytes] | None = None,
    progress: engine.Progress | None = None,
    infer: Infer | None = None,
) -> Fixed:
    """Check, and fix in memory what can be fixed; nothing is written. Arguments as of `check`."""
    given = dict(contents or {})
    current = dict(given)

    def check(files: Sequence[Path]) -> Report:
        return engine.check(files, config, rules, contents=current, progress=progress, infer=infer)

    before = report = check(paths)
    count = 0
    for _ in range(ROUNDS):
        edited: list[Path] = []
        for file, fixes in _fixes(report, unsafe).items():
            data = current[file] if file in current else read(file)
            after, applied = fix_bytes(data, fixes)
            if applied:
                given.setdefault(file, data)
                current[file] = after
                edited.append(file)
                count += applied
        if not edited:
            break
        report = check(edited)
    changes = [Change(file, given[file], current[file]) for file in sorted(current)]
    changes = [change for change in changes if change.before != change.after]
    return Fixed(before, check(paths) if changes else report, count, changes)


def news(before: Report, after: Report, texts: Mapping[Path, tuple[str, str]]) -> list[Finding]:
    """The findings of a check after a fix that have no counterpart before it.

    texts: of the fixed files, before and after. A counterpart is of the same rule, on a line that
    has become the line of the finding.
    """
    known = {(f.rule, f.location.path, f.location.line) for f in before.findings}
    origins = {
        after.root / path: _origins(*texts[after.root / path])
        for path in {finding.location.path for finding in after.findings}
        if after.root / path in texts
    }

    def is_known(finding: Finding) -> bool:
        place = finding.location
        lines = origins.get(after.root / place.path, {}).get(place.line, (place.line,))
        return any((finding.rule, place.path, line) in known for line in lines)

    return [finding for finding in after.findings if not is_known(finding)]


def _origins(before: str, after: str) -> dict[int, Sequence[int]]:
    """For each line of a changed text the lines that it was, or was among."""
    matcher = difflib.SequenceMatcher(None, split_lines(before), split_lines(after), False)
    origins: dict[int, Sequence[int]] = {}
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        for number in range(new_start, new_end):
            same = start + number - new_start
            origins[number + 1] = (same + 1,) if kind == "equal" else range(start + 1, end + 1)
    return origins


def _fixes(report: Report, unsafe: bool) -> dict[Path, list[Fix]]:
    """The fixes that may be applied, by file."""
    fixes: dict[Path, list[Fix]] = {}
    for finding in report.findings:
        if finding.fix and (unsafe or finding.fix.applicability is Applicability.SAFE):
            fixes.setdefault(report.root / finding.location.path, []).append(finding.fix)
    return fixes


def fix_bytes(data: bytes, fixes: Sequence[Fix]) -> tuple[bytes, int]:
    """The bytes of a file with the fixes applied, and how many were.

    Encoding, byte order mark and line ends stay. A fix that would leave a text that does not parse,
    or that the encoding cannot write, is left out.
    """
    decoded = decode(data)
    text, applied = apply(decoded.text, fixes)
    if applied and not _sound(text, decoded.encoding):
        for one in fixes:  # find the culprit: the first sound one; the rest has its turn later
            text, applied = apply(decoded.text, [one])
            if _sound(text, decoded.encoding):
                break
        else:
            return data, 0
    return decoded.encode(text), applied


def _sound(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
        parse(text)
    except (UnicodeEncodeError, SourceError):
        return False
    return True


def apply(text: str, fixes: Iterable[Fix]) -> tuple[str, int]:
    """The text with those fixes applied that overlap no earlier one, and how many they are.

    Two fixes that make the same edit may both be applied: the edit is made once.
    """
    starts = line_starts(text)
    newline = "\r\n" if "\r\n" in text else "\r" if "\r" in text and "\n" not in text else "\n"
    taken: dict[tuple[int, int], str] = {}
    applied = 0
    for one in fixes:
        edits = [(_extent(edit, starts), edit.text.replace("\n", newline)) for edit in one.edits]
        if all(_fits(extent, new, taken) for extent, new in edits):
            taken.update(edits)
            applied += 1
    for (start, end), new in sorted(taken.items(), reverse=True):
        text = text[:start] + new + text[end:]
    return text, applied


def _extent(edit: Edit, starts: Sequence[int]) -> tuple[int, int]:
    place = edit.location
    return starts[place.line - 1] + place.column - 1, starts[
        place.end_line - 1
    ] + place.end_column - 1


def _fits(extent: tuple[int, int], new: str, taken: Mapping[tuple[int, int], str]) -> bool:
    if extent in taken:
        return taken[extent] == new
    start, end = extent
    return all(end <= other_start or other_end <= start for other_start, other_end in taken)


def write(change: Change) -> None:
    """Put the fixed bytes in the place of the file at once, with its mode. Raises FixingError."""
    file = Path(os.path.realpath(change.file))  # a link stays one
    try:
        if file.read_bytes() != change.before:
            raise FixingError("has changed since it was checked: not fixed")
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(change.after)
            shutil.copymode(file, name)
            os.replace(name, file)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise FixingError(f"cannot be written, not fixed: {error.strerror}") from None


def unified_diff(change: Change, name: str) -> str:
    """The change as a patch that `patch -p0` or `git apply -p0` takes."""
    before, after = (
        re.findall(r"[^\n]*\n|[^\n]+", decode(data).text) for data in (change.before, change.after)
    )
    lines = difflib.unified_diff(before, after, name, name)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
