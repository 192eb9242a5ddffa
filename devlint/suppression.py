"""Comments that suppress findings, and the two rules about them.

`# devlint: ignore[DEV101, DEV3] -- reason` on any line of a statement is for that statement,
`# devlint: ignore-file[DEV3]` for the file, both without brackets for every rule. `# noqa` and
`# noqa: DEV101` are honoured too; codes of other tools are theirs.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace

import libcst as cst

from devlint.contracts import is_contract_comment
from devlint.findings import (
    Applicability,
    Confidence,
    Edit,
    Finding,
    Fix,
    Location,
    Severity,
)
from devlint.positions import Comment, Span
from devlint.records import dataclass
from devlint.rule import Rule

MARKER = re.compile(r"#\s*devlint\s*:|#\s*noqa", re.IGNORECASE)
_OURS = re.compile(r"#\s*devlint\s*:|#\s*noqa\s*:[^#\n]*\bDEV", re.IGNORECASE)

_DIRECTIVE = re.compile(
    r"#\s*devlint\s*:\s*(?P<verb>ignore-file|ignore)\b(?!-)\s*"
    r"(?:\[(?P<codes>[^\]#]*)\]\s*)?(?P<rest>[^#]*)",
    re.IGNORECASE,
)
_ANY_DIRECTIVE = re.compile(r"#\s*devlint\s*:(?P<rest>[^#]*)", re.IGNORECASE)
_REASON = re.compile(r"(?:--|—|–|:)\s*(?P<reason>\S.*)")
_NOQA = re.compile(
    r"#\s*noqa(?P<list>\s*:\s*(?P<codes>[A-Z]+[0-9]*(?:[\s,]+[A-Z]+[0-9]+)*))?(?![\w:])",
    re.IGNORECASE,
)
_CODE = re.compile(r"DEV[0-9]*\Z", re.IGNORECASE)


@dataclass(slots=True, eq=False)
class Suppression:
    """One comment's claim. `codes` are codes, prefixes or names in upper case; none: every rule."""

    location: Location
    codes: tuple[str, ...]
    whole_file: bool
    noqa: bool
    reason: str
    statement: tuple[int, int]  # the lines that it is for
    alone: bool  # nothing but the comment is on its line
    removable: Location  # what goes when it is removed: white space before it too
    used: set[str] = field(default_factory=set)  # those of `codes`, or "" for every rule


@dataclass(slots=True)
class Suppressions:
    """The suppressions of one file, and the comments that look like one and are none."""

    entries: list[Suppression] = field(default_factory=list)
    malformed: list[tuple[Location, str]] = field(default_factory=list)

    def split(self, findings: Iterable[Finding]) -> tuple[list[Finding], list[Finding]]:
        """The findings that stay, and those that are suppressed."""
        kept: list[Finding] = []
        suppressed: list[Finding] = []
        whole_file = _Codes(entry for entry in self.entries if entry.whole_file)
        by_line = self._by_line()
        for finding in findings:
            # Every suppression is asked, so that each one that is of use is known to be.
            codes = (whole_file, *by_line.get(finding.location.line, ()))
            taken = [each.take(finding) for each in codes]
            (suppressed if any(taken) else kept).append(finding)
        return kept, suppressed

    def _by_line(self) -> dict[int, list[_Codes]]:
        """For each line the suppressions of its statements."""
        statements: dict[tuple[int, int], list[Suppression]] = {}
        for entry in self.entries:
            if not entry.whole_file:
                statements.setdefault(entry.statement, []).append(entry)
        lines: dict[int, list[_Codes]] = {}
        for (first, last), entries in statements.items():
            codes = _Codes(entries)
            for line in range(first, last + 1):
                lines.setdefault(line, []).append(codes)
        return lines


class _Codes:
    """The suppressions of one statement, or of the whole file, by their codes."""

    def __init__(self, entries: Iterable[Suppression]) -> None:
        self.waiting: dict[str, list[Suppression]] = {}  # those of no use so far; "" for all rules
        for entry in entries:
            for code in entry.codes or ("",):
                self.waiting.setdefault(code, []).append(entry)

    def take(self, finding: Finding) -> bool:
        """Whether one suppresses the finding; notes which codes did."""
        if not self.waiting:
            return False
        rule = finding.rule
        meant = [rule[:end] for end in range(1, len(rule) + 1)]
        if finding.name.upper() not in meant:
            meant.append(finding.name.upper())
        if not any(rule == own.code for own in RULES):
            meant.append("")  # else nothing could ever be said of a suppression of everything
        found = [code for code in meant if code in self.waiting]
        for code in found:
            for entry in self.waiting[code]:
                entry.used.add(code)
            self.waiting[code] = []
        return bool(found)


def matters(text: str, has_findings: bool) -> bool:
    """Whether the comments of a file must be read: for its findings, or for what to say of them.

    Most files have no suppression, and of `# noqa` without a code of ours nothing is ever said.
    """
    return (MARKER if has_findings else _OURS).search(text) is not None


def statements(tree: cst.Module) -> list[cst.CSTNode]:
    """The statements, outermost first: simple ones, and compound ones for their headers."""
    found: list[cst.CSTNode] = []
    blocks: list[cst.CSTNode] = [tree]
    while blocks:
        block = blocks.pop()
        for statement in getattr(block, "body", ()):
            found.append(statement)
            blocks.extend(_blocks_of(statement))
    return found


def _blocks_of(statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The blocks in a compound statement: of itself, its `else`, handlers and cases."""
    parts = [statement]
    for part in parts:
        body = getattr(part, "body", None)
        if isinstance(body, cst.IndentedBlock):
            yield body
        for name in ("orelse", "handlers", "finalbody", "cases"):
            inner = getattr(part, name, None)
            if isinstance(inner, cst.CSTNode):
                parts.append(inner)
            elif inner:
                parts.extend(inner)


def read_suppressions(
    comments: Iterable[Comment], spans: Sequence[Span], text_lines: Sequence[str], path: str
) -> Suppressions:
    """The suppressions in the comments of a file.

    spans: of `statements`; a comment is for the innermost statement (or header) on its line, which
    a backslash may join to the lines above.
    """
    found = Suppressions()
    lines = _statement_lines(spans)
    comments = list(comments)
    commented = {comment.span.line for comment in comments}
    for comment in comments:
        if MARKER.search(comment.text) is None:
            continue
        line = first = comment.span.line
        while first > 1 and first - 1 not in commented and _is_joined(text_lines[first - 2]):
            first -= 1
        alone = first == line and not text_lines[line - 1][: comment.span.column - 1].strip()
        extent = lines.get(line) or (lines.get(first, (first, first))[0], line)
        matched = []
        for match in _DIRECTIVE.finditer(comment.text):
            matched.append(match.span())
            rest = match["rest"].strip()
            reason = _REASON.match(rest)
            place = _within(comment, match.start(), len(match.group().rstrip()), path)
            codes = tuple(c.strip().upper() for c in (match["codes"] or "").split(",") if c.strip())
            if (rest and not reason) or (match["codes"] is not None and not codes):
                found.malformed.append((place, match.group().strip()))
                continue
            found.entries.append(
                Suppression(
                    place,
                    codes,
                    match["verb"].lower() == "ignore-file",
                    False,
                    reason["reason"].strip() if reason else "",
                    extent,
                    alone,
                    _removable(place, text_lines),
                )
            )
        for match in _ANY_DIRECTIVE.finditer(comment.text):
            if is_contract_comment(match.group()):
                continue  # a contract: devlint.contracts
            if not any(start <= match.start() < end for start, end in matched):
                place = _within(comment, match.start(), len(match.group().rstrip()), path)
                found.malformed.append((place, match.group().strip()))
        for match in _NOQA.finditer(comment.text):
            codes = tuple(
                code.upper()
                for code in re.split(r"[\s,]+", match["codes"] or "")
                if _CODE.match(code)
            )
            if match["list"] and not codes:
                continue  # only for other tools
            place = _within(comment, match.start(), len(match.group()), path)
            found.entries.append(Suppression(place, codes, False, True, "", extent, alone, place))
    return found


def _statement_lines(spans: Sequence[Span]) -> dict[int, tuple[int, int]]:
    """For each line of a statement of several lines, the first and last line of that statement.

    A compound statement ends where the first statement in it begins.
    """
    starts = sorted(span.line for span in spans)
    extents: dict[int, tuple[int, int]] = {}
    for span in sorted(spans, key=lambda span: (span.line, -span.end_line)):
        following = bisect_right(starts, span.line)
        last = span.end_line
        if following < len(starts):
            last = min(last, max(starts[following] - 1, span.line))
        for line in range(span.line, last + 1):
            extents[line] = (span.line, last)
    return extents


def _is_joined(line: str) -> bool:
    """Whether a backslash joins the line to the next one."""
    return line.rstrip("\r\n").endswith("\\")


def _within(comment: Comment, start: int, length: int, path: str) -> Location:
    line, column = comment.span.line, comment.span.column + start
    return Location(path, line, column, line, column + length)


def _removable(place: Location, text_lines: Sequence[str]) -> Location:
    text = text_lines[place.line - 1]
    before = text[: place.column - 1].rstrip()
    if before or text[place.end_column - 1 :].strip() or place.line == len(text_lines):
        return replace(place, column=len(before) + 1)
    return Location(place.path, place.line, 1, place.line + 1, 1)  # the whole line


def check_suppressions(
    found: Suppressions, running: Sequence[Rule], every: Sequence[Rule], need_reason: bool
) -> Iterator[Finding]:
    """What is wrong with the suppressions of a file, after they were used.

    running: the rules that ran on the file; codes of others are left alone.
    """
    for place, text in found.malformed:
        yield _finding(
            UNUSED,
            place,
            f"`{text}` is not understood, and suppresses nothing",
            "write `# devlint: ignore[DEV101] -- reason`",
        )
    for entry in found.entries:
        if need_reason and not entry.reason and not entry.noqa:
            yield _finding(
                UNEXPLAINED,
                entry.location,
                "this suppression gives no reason",
                "say why after two dashes: `# devlint: ignore[DEV101] -- reason`",
            )
        reasons = {code: _why_useless(entry, code, running, every) for code in entry.codes or ("",)}
        fix = _without(entry, tuple(code for code, reason in reasons.items() if not reason))
        for message in filter(None, reasons.values()):
            advice = "remove it"
            if entry.alone and not entry.whole_file:
                advice = "put it at the end of the line that it is for, or remove it"
            yield replace(_finding(UNUSED, entry.location, message, advice), fix=fix)


def _why_useless(
    entry: Suppression, code: str, running: Sequence[Rule], every: Sequence[Rule]
) -> str:
    if code in entry.used:
        return ""
    if not code:
        if entry.noqa:
            return ""  # likely meant for other tools
        return f"nothing is found {_where(entry)} that this could suppress"
    meant = [rule for rule in every if _means(code, rule.code, rule.name)]
    if not meant:
        words = [word for rule in every for word in (rule.code, rule.name.upper())]
        import difflib  # nothing is wrong with most words

        close = difflib.get_close_matches(code, words, n=1)
        return f"there is no rule {code}" + (f": did you mean {close[0]}?" if close else "")
    if any(rule in RULES for rule in meant):
        return ""  # about this report itself
    if not all(rule in running or rule.preview for rule in meant):
        return ""  # a rule that did not run may be the one it is for
    return f"no {code} is found {_where(entry)}: this suppresses nothing"


def _without(entry: Suppression, codes: Sequence[str]) -> Fix | None:
    """The fix that leaves only these codes of a suppression, or nothing of it."""
    if entry.noqa:
        return None  # its list may be of other tools too
    if not codes:
        return Fix(Applicability.SAFE, (Edit(entry.removable, ""),))
    verb = "ignore-file" if entry.whole_file else "ignore"
    reason = f" -- {entry.reason}" if entry.reason else ""
    text = f"# devlint: {verb}[{', '.join(codes)}]{reason}"
    return Fix(Applicability.SAFE, (Edit(entry.location, text),))


def _means(code: str, rule: str, name: str) -> bool:
    """Whether a code, prefix or name in upper case means the rule."""
    return rule.startswith(code) or name.upper() == code


def _where(entry: Suppression) -> str:
    return "in this file" if entry.whole_file else "here"


def _finding(rule: Rule, place: Location, message: str, advice: str) -> Finding:
    return Finding(rule.code, rule.name, rule.severity, Confidence.CERTAIN, place, message, advice)


# --- the two rules, as data: the engine applies them after all others --------------------------

UNUSED = Rule(
    code="DEV001",
    name="unused-suppression",
    severity=Severity.WARNING,
    summary="A suppression comment suppresses nothing, or names a code that does not exist.",
    what=(
        "Reports `# devlint: ignore[...]`, `# devlint: ignore-file[...]` and `# noqa: DEV...` "
        "comments that suppress no finding, codes in them that no rule has, and comments that "
        "begin with `# devlint:` and are not understood. Codes of rules that do not run are left "
        "alone, and so is a bare `# noqa`."
    ),
    why=(
        "A suppression that has outlived its finding hides the next one on the same line, and "
        "tells readers of a problem that is not there."
    ),
    reference="",
    fix="Removes the comment, or the codes in it that are of no use. A `# noqa` is left alone.",
    bad=("x = 1  # devlint: ignore[DEV101] -- mixed on purpose\n",),
    good=("x = 1\n",),
    check=lambda facts: (),
)
UNEXPLAINED = Rule(
    code="DEV002",
    name="suppression-without-reason",
    severity=Severity.WARNING,
    summary="A suppression gives no reason (with `require-suppression-reason = true`).",
    what=(
        "Reports `# devlint: ignore` comments that have no `-- reason`. Only when the option "
        "`require-suppression-reason` is set."
    ),
    why="Whoever reads the line next must know whether the reason still holds.",
    reference="",
    bad=("x = a + b  # devlint: ignore[DEV101]\n",),
    good=("x = a + b  # devlint: ignore[DEV101] -- b is 0-dim here\n",),
    check=lambda facts: (),
)
RULES = (UNUSED, UNEXPLAINED)
