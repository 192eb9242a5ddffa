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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field
from pathlib import Path

from devlint import engine
from devlint.check.setting import Infer
from devlint.config import Config
from devlint.findings import Applicability, FileError, Finding, Fix, Location, Severity, source_name
from devlint.project.imports import Project
from devlint.project.python_text import PythonText, python_text
from devlint.project.source import SourceError, decode, digest, read, split_lines
from devlint.records import dataclass
from devlint.report import Report, in_order
from devlint.rule import Rule

ROUNDS = 10  # of fixes on top of fixes
STRICTNESS = ("line", "line", "line", "file", "all")  # in blaming fixes for what is new after them

Edits = Mapping[tuple[int, int], str]  # new texts by the extents that they replace
Texts = Mapping[str, tuple[str, str]]  # of files and cells, before and after


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
    """The changes, the findings they fix, and what a check reports before and after them."""

    before: Report
    report: Report
    fixed: list[Finding] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.fixed)

    def refuse(self, change: Change, reason: str) -> None:
        """Report of a file that cannot be written why, and what is found in it as it is."""
        report, before = self.report, self.before
        path = Project(report.root).path_of(change.file)

        def of_others(findings: Iterable[Finding]) -> list[Finding]:
            return [finding for finding in findings if finding.location.path != path]

        theirs = [finding for finding in before.findings if finding.location.path == path]
        report.findings = in_order([*of_others(report.findings), *theirs])
        report.errors.append(FileError(path, 1, 1, reason))
        for finding in theirs:
            for source in (finding.location.source, *(r.location.source for r in finding.related)):
                report.excerpts[source] = {
                    **report.excerpts.get(source, {}),
                    **before.excerpts.get(source, {}),
                }
        self.fixed = of_others(self.fixed)


@dataclass(slots=True)
class _Trial:
    """Texts by file, the latest report on them, and the findings that they are fixed of.

    restless: findings that would be fixed after all rounds. errors: files that cannot be fixed.
    """

    current: dict[Path, bytes]
    original: dict[Path, bytes]
    report: Report
    fixed: list[Finding] = field(default_factory=list)
    restless: list[Finding] = field(default_factory=list)
    errors: dict[Path, FileError] = field(default_factory=dict)

    def changes(self) -> list[Change]:
        return [
            Change(file, self.original[file], self.current[file])
            for file in sorted(self.current)
            if self.original[file] != self.current[file]
        ]


def fix(
    paths: Sequence[Path],
    config: Config,
    rules: tuple[Rule, ...],
    *,
    unsafe: bool = False,
    contents: Mapping[Path, bytes] | None = None,
    progress: engine.Progress | None = None,
    infer: Infer | None = None,
    interrupt: Callable[[], None] | None = None,
) -> Fixed:
    """Check, and fix in memory what can be fixed; nothing is written. Arguments as of `check`.

    A fix that leads to a finding that was not there before, or to fixes without end, is taken back
    and noted; with `unsafe` it may leave what is no error, and no more severe than what it settles.
    """
    given = dict(contents or {})

    def check(files: Sequence[Path], current: Mapping[Path, bytes]) -> Report:
        return engine.check(
            files,
            config,
            rules,
            contents=current,
            progress=progress,
            infer=infer,
            interrupt=interrupt,
        )

    def tried(refused: Set[str]) -> _Trial:
        trial = _Trial(dict(given), dict(given), before)
        is_whole = True
        for _ in range(ROUNDS):
            edited = _fix_once(trial, unsafe, refused)
            if not edited and is_whole:
                return trial
            is_whole = not edited  # then what the edits mean for the other files
            trial.report = check(edited or paths, trial.current)
        left = _fixable(trial.report, unsafe).values()
        trial.restless = [f for fs in left for f in fs if f.fingerprint not in refused]
        return trial

    before = check(paths, given)
    refused: dict[str, Finding] = {}  # by fingerprint
    for strict in STRICTNESS:
        trial = tried(refused.keys())
        changes = trial.changes()
        if not changes:
            before.errors += trial.errors.values()
            break
        report = trial.report
        texts = changed_texts(changes, before.root)
        new = news(before, report, texts)
        if unsafe:
            new = list(_worse(new, trial.fixed, texts))
        fresh = [*new, *trial.restless]
        if not fresh:
            _note(report, refused.values())
            report.errors += trial.errors.values()
            return Fixed(before, report, trial.fixed, changes)
        for finding in _blamed(fresh, trial.fixed, texts, strict):
            refused[finding.fingerprint] = finding
    _note(before, refused.values())
    return Fixed(before, before)


def _fix_once(trial: _Trial, unsafe: bool, refused: Set[str]) -> list[Path]:
    """Apply the fixes of the report to the texts of a trial; the files that changed."""
    report = trial.report
    edited: list[Path] = []
    for file, findings in _fixable(report, unsafe).items():
        findings = [finding for finding in findings if finding.fingerprint not in refused]
        data = trial.current.get(file)
        if data is None:
            try:
                data = _as_checked(file, report)
            except SourceError as error:
                trial.errors[file] = error.at(Project(report.root).path_of(file))
                continue
        after, applied = fix_bytes(file, data, [f.fix for f in findings if f.fix])
        if applied:
            trial.original.setdefault(file, data)
            trial.current[file] = after
            trial.fixed += [findings[number] for number in applied]
            edited.append(file)
    return edited


def _as_checked(file: Path, report: Report) -> bytes:
    """The bytes of a file that its findings are about. Raises SourceError."""
    root, target = os.path.realpath(report.root), Path(os.path.realpath(file))
    if report.root in file.parents and not target.is_relative_to(root):
        raise SourceError("is a link that leads out of the project: not fixed")
    data = read(file)
    if digest(data) != report.digests.get(file):
        raise SourceError("has changed since it was checked: not fixed")
    return data


def _fixable(report: Report, unsafe: bool) -> dict[Path, list[Finding]]:
    """The findings whose fixes may be applied, by file."""
    found: dict[Path, list[Finding]] = {}
    for finding in report.findings:
        if finding.fix and (unsafe or finding.fix.applicability is Applicability.SAFE):
            found.setdefault(report.root / finding.location.path, []).append(finding)
    return found


def _note(report: Report, refused: Iterable[Finding]) -> None:
    report.notes += [
        (f.location.source, f"{f.rule} in line {f.location.line} is not fixed: more would be found")
        for f in refused
    ]


# --- what is new after a fix -------------------------------------------------------------------


def changed_texts(changes: Iterable[Change], root: Path) -> Texts:
    texts = {}
    for change in changes:
        path = Project(root).path_of(change.file)
        before, after = (python_text(change.file, data) for data in (change.before, change.after))
        texts[path] = before.written, after.written
        for old, new in zip(before.cells, after.cells, strict=True):
            texts[source_name(path, old.number)] = old.source, new.source
    return texts


def news(before: Report, after: Report, texts: Texts) -> list[Finding | FileError]:
    """What a check after a fix says that has no counterpart before it.

    A counterpart is of the same rule, on a line that has become the line of the finding.
    """
    known = {(f.rule, f.location.source, f.location.line) for f in before.findings}
    errors = {(error.source, error.message) for error in before.errors}
    origins = _origins_in(texts)

    def is_known(finding: Finding) -> bool:
        source = finding.location.source
        return any((finding.rule, source, line) in known for line in origins(finding.location))

    findings = [finding for finding in after.findings if not is_known(finding)]
    return [*findings, *(e for e in after.errors if (e.source, e.message) not in errors)]


def _worse(
    fresh: Iterable[Finding | FileError], fixed: Sequence[Finding], texts: Texts
) -> Iterator[Finding | FileError]:
    """What is new, but for the lighter rest of what fixes on its lines settle.

    A tensor on the wrong device is a slow one after the fix: an error less, a remark more.
    """
    origins = _origins_in(texts)
    for new in fresh:
        if isinstance(new, FileError):
            yield new
            continue
        lines = {(place.source, line) for place in _places(new) for line in origins(place)}
        causes = [f for f in fixed if not lines.isdisjoint(_edited(f))]
        if not causes or not all(_is_lighter(new, cause) for cause in causes):
            yield new


def _is_lighter(new: Finding, settled: Finding) -> bool:
    return new.severity is not Severity.ERROR and new.severity.rank <= settled.severity.rank


def _blamed(
    fresh: Iterable[Finding | FileError], fixed: Sequence[Finding], texts: Texts, strict: str
) -> list[Finding]:
    """The fixed findings that may have led to what is new: those whose lines it is on or comes
    from; with `file` those of its files, with `all` every one."""
    if strict == "all":
        return list(fixed)
    origins = _origins_in(texts)
    lines: set[tuple[str, int]] = set()
    paths: set[str] = set()
    for each in fresh:
        places = [each] if isinstance(each, FileError) else _places(each)
        paths.update(place.path for place in places)
        lines.update((place.source, line) for place in places for line in origins(place))
    blamed = [f for f in fixed if strict == "line" and lines.intersection(_edited(f))]
    return blamed or [f for f in fixed if f.location.path in paths] or list(fixed)


def _places(finding: Finding) -> list[Location]:
    return [finding.location, *(related.location for related in finding.related)]


def _edited(finding: Finding) -> Iterator[tuple[str, int]]:
    for edit in finding.fix.edits if finding.fix else ():
        place = edit.location
        yield from ((place.source, n) for n in range(place.line, place.end_line + 1))


def _origins_in(texts: Texts) -> Callable[[Location | FileError], Sequence[int]]:
    """For places after a change the lines that they were, or were among."""
    found: dict[str, dict[int, Sequence[int]]] = {}

    def origins(place: Location | FileError) -> Sequence[int]:
        if place.source not in texts:
            return (place.line,)
        if place.source not in found:
            found[place.source] = _origins(*texts[place.source])
        return found[place.source].get(place.line, ())

    return origins


def _origins(before: str, after: str) -> dict[int, Sequence[int]]:
    matcher = difflib.SequenceMatcher(None, split_lines(before), split_lines(after), False)
    origins: dict[int, Sequence[int]] = {}
    for _, start, end, new_start, new_end in matcher.get_opcodes():
        one_to_one = end - start == new_end - new_start
        for number in range(new_start, new_end):
            same = start + number - new_start
            among = range(start + 1, end + 1) or (start, start + 1)  # put in between the two
            origins[number + 1] = (same + 1,) if one_to_one else among
    return origins


# --- edits -------------------------------------------------------------------------------------


def fix_bytes(file: Path, data: bytes, fixes: Sequence[Fix]) -> tuple[bytes, list[int]]:
    """The bytes of a file with the fixes applied, and which were, by their numbers.

    Encoding, byte order mark and line ends stay, and in a notebook all but the sources of cells. A
    fix that would leave a text that does not parse, or that the encoding cannot write, is left out.
    """
    source = python_text(file, data)
    edits, applied = chosen(source, fixes)
    fixed = _edited_bytes(source, edits)
    if fixed is not None:
        return fixed, applied
    for number, one in enumerate(fixes):  # the first sound one; the rest has its turn later
        edits, alone = chosen(source, [one])
        fixed = _edited_bytes(source, edits) if alone else None
        if fixed is not None:
            return fixed, [number]
    return data, []


def _edited_bytes(source: PythonText, edits: Edits) -> bytes | None:
    """The bytes of the edited file, if they can be written and parsed."""
    try:
        edited = source.edited(edits)
        edited.tree()
        broken = [[cell.error is not None for cell in text.cells] for text in (source, edited)]
        return edited.encode() if broken[0] == broken[1] else None
    except (UnicodeEncodeError, SourceError):
        return None


def chosen(source: PythonText, fixes: Iterable[Fix]) -> tuple[Edits, list[int]]:
    """The edits of those fixes that overlap no earlier one, and the numbers of these fixes.

    Two fixes that make the same edit may both be applied: the edit is made once.
    """
    text = source.written
    newline = "\r\n" if "\r\n" in text else "\r" if "\r" in text and "\n" not in text else "\n"
    taken: dict[tuple[int, int], str] = {}
    applied = []
    for number, one in enumerate(fixes):
        with_it = dict(taken)
        for edit in one.edits:
            extent, new = source.extent(edit.location), edit.text.replace("\n", newline)
            if not _fits(extent, new, with_it, source):
                break
            with_it[extent] = new
        else:
            taken = with_it
            applied.append(number)
    return taken, applied


def _fits(extent: tuple[int, int], new: str, taken: Edits, source: PythonText) -> bool:
    if extent in taken:
        return taken[extent] == new
    start, end = extent
    if source.written[start:end] != source.text[start:end]:
        return False  # a magic is in it
    return all(end <= other_start or other_end <= start for other_start, other_end in taken)


def write(change: Change) -> None:
    """Put the fixed bytes in the place of the file at once, with its mode. Raises FixingError.

    Whoever is killed while this runs leaves the old file or the new one, and at most a file beside
    it whose name ends in `.tmp`.
    """
    file = Path(os.path.realpath(change.file))  # a link stays one
    try:
        status = file.stat()
        if not status.st_mode & 0o222 or not os.access(file, os.W_OK):
            raise FixingError("is read-only: not fixed")
        if status.st_nlink > 1:
            raise FixingError(
                "has other names (hard links), which would keep the old text: not fixed"
            )
        if file.read_bytes() != change.before:
            raise FixingError("has changed since it was checked: not fixed")
        handle, name = tempfile.mkstemp(
            dir=file.parent, prefix=f".{file.name[:80]}.", suffix=".tmp"
        )
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(change.after)
                stream.flush()
                os.fsync(handle)
            _take_on(name, file, status)
            os.replace(name, file)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise FixingError(f"cannot be written, not fixed: {error.strerror}") from None


def _take_on(name: str, file: Path, status: os.stat_result) -> None:
    """Give the new file owner, mode and attributes of the old one, and a time of its own."""
    if hasattr(os, "chown"):
        made = os.stat(name)
        if (made.st_uid, made.st_gid) != (status.st_uid, status.st_gid):
            os.chown(name, status.st_uid, status.st_gid)
    shutil.copystat(file, name)
    os.utime(name)


def unified_diff(change: Change, name: str) -> str:
    """The change as a patch that `patch -p0` or `git apply -p0` takes."""
    before, after = (
        re.findall(r"[^\n]*\n|[^\n]+", decode(data).text) for data in (change.before, change.after)
    )
    named = patch_name(name)
    lines = difflib.unified_diff(before, after, named, named)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def patch_name(name: str) -> str:
    """A file's name as patches have it. One that could end its line, steer a terminal or is no
    UTF-8 stands in quotes, as git and GNU patch write and read it: `"odd\\nname.py"`."""
    if name.isprintable() and '"' not in name and "\\" not in name:
        return (
            f"{name}\t" if " " in name else name
        )  # GNU patch ends a name at a space before no tab
    written = "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\{byte:03o}"
        for byte in os.fsencode(name)
    )
    return f'"{written}"'
