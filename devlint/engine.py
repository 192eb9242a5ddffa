"""A check from end to end: paths and a `Config` in, a `Report` out."""

from __future__ import annotations

import gc
import hashlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, TypeVar

import libcst as cst

from devlint import knowledge
from devlint.config import Config, Policy
from devlint.findings import Edit, FileError, Finding, Fix, Location, Related
from devlint.inference.facts import Facts, Site
from devlint.inference.feeds import Feeds, Given
from devlint.inference.text import code
from devlint.knowledge import Knowledge
from devlint.locating import Layout, Span, lay_out
from devlint.project.callers import CALLERS_BUDGET, files_that_mention
from devlint.project.discovery import discover
from devlint.project.imports import TREE_BUDGET, Importer, Project
from devlint.project.source import ParsedFile, SourceError, lines_of
from devlint.rule import Claim, Rule
from devlint.suppression import (
    Suppressions,
    check_suppressions,
    matters,
    read_suppressions,
    statements,
)

STACK_SIZES = (512 << 20, 256 << 20, 64 << 20, 0)  # bytes; 0 is the system's default
RECURSION_LIMIT = 60_000
COLLECT_AFTER = 400_000  # characters of source parsed between two collections of cycles
NOTED_IMPORTS = 5  # of those that were not followed, by name
EXCERPT_LINES = 12  # of a span, kept for code frames

Result = TypeVar("Result")


class Infer(Protocol):
    """The inference: all facts of one file."""

    def __call__(self, parsed: ParsedFile, importer: Importer, knowledge: Knowledge) -> Facts: ...


Progress = Callable[[int, int, str], None]


@dataclass(slots=True)
class Report:
    """What a check found. Findings and errors are sorted by path, line, column and rule.

    files: how many files there were to check.
    checked: the paths of those that could be.
    excerpts: by path, the lines (by number) that findings and their traces lie on.
    notes: by path, where the inference gave up on something.
    seconds: CPU time by stage.
    """

    root: Path
    files: int = 0
    checked: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    suppressed: list[Finding] = field(default_factory=list)
    errors: list[FileError] = field(default_factory=list)
    excerpts: dict[str, dict[int, str]] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    below_confidence: int = 0


def check(
    paths: Sequence[Path],
    config: Config,
    rules: tuple[Rule, ...],
    *,
    contents: Mapping[Path, bytes] | None = None,
    progress: Progress | None = None,
    infer: Infer | None = None,
) -> Report:
    """Check files and directories (absolute paths).

    contents: what is to be taken for the content of some files (standard input, a fix on trial)
        instead of what is on disk, if anything is there.
    progress: told before each file: how many are done, how many there are, which is next.
    infer: stands in for the inference.

    Raises KnowledgeError for the user's knowledge files; all else that goes wrong is in the report.
    """
    session = _Session(config, rules, contents or {}, infer or _inference())
    return _with_room(lambda: session.run(paths, progress))


def _inference() -> Infer:
    from devlint.inference.engine import infer_file  # not to be loaded before it is needed

    return infer_file


class _Session:
    """One check: what its files share."""

    def __init__(
        self,
        config: Config,
        rules: tuple[Rule, ...],
        contents: Mapping[Path, bytes],
        infer: Infer,
    ) -> None:
        self.config = config
        self.rules = rules
        self.policy = Policy(config, rules)
        self.infer = infer
        self.project = Project(config.root, contents)
        self.knowledge = knowledge.load(config.knowledge_files())
        self.importer = Importer(self.project, ())
        self.report = Report(config.root)
        self.feeds = Feeds()
        self.given: dict[tuple[str, Location, str], Given] = {}  # what some findings rest on
        self.waiting: list[Finding] = []  # those, until all calls were seen
        self.collected = 0  # characters parsed before the last collection of cycles
        self.seconds = dict.fromkeys(("parse", "inference", "rules", "locating"), 0.0)

    def run(self, paths: Sequence[Path], progress: Progress | None) -> Report:
        report = self.report
        discovery = discover(
            paths,
            self.config.root,
            (*self.config.exclude, *self.config.extend_exclude),
            gitignore=self.config.respect_gitignore,
            force_exclude=self.config.force_exclude,
        )
        files = discovery.files
        report.errors += discovery.errors
        report.files = len(files)
        with _without_garbage_collection():
            for number, file in enumerate(files):
                if progress:
                    progress(number, len(files), self.project.path_of(file))
                self.check_file(file)
            if progress:
                progress(len(files), len(files), "")
            if not any(Path(path).resolve() == self.config.root for path in paths):
                with self.clock("inference"):
                    self.look_up_callers(files)
        for finding in self.waiting:
            self.show(self.settled(finding))
        report.findings = _sorted(report.findings)
        report.suppressed = _sorted(report.suppressed)
        report.errors.sort()
        report.seconds = self.seconds
        return report

    def check_file(self, file: Path) -> None:
        """Check one file; whatever goes wrong is an error of the report."""
        report = self.report
        path = self.project.path_of(file)
        try:
            with self.clock("parse"):
                parsed = self.project.parse(file)
        except SourceError as error:
            report.errors.append(error.at(path))
            if error.excerpt is not None:
                report.excerpts.setdefault(path, {})[error.line] = error.excerpt
            return
        try:
            self.check_parsed(file, parsed)
            report.checked.add(path)
        except RecursionError:
            report.errors.append(FileError(path, 1, 1, "is too deeply nested to be analysed"))
        except Exception as error:
            report.errors.append(FileError(path, 1, 1, f"was not analysed: {_defect(error)}"))

    def check_parsed(self, file: Path, parsed: ParsedFile) -> None:
        report = self.report
        with self.clock("inference"):
            importer = self.importer_for(file, parsed)
            facts = self.infer(parsed, importer, self.knowledge)
        self.feeds.add(facts.feeds)
        self.project.checked += len(parsed.text)
        report.notes += [(parsed.path, note) for note in facts.budgets_hit]
        if importer.refused:
            refused = sorted(importer.refused)
            listed = ", ".join(refused[:NOTED_IMPORTS])
            if len(refused) > NOTED_IMPORTS:
                listed += f" and {len(refused) - NOTED_IMPORTS} more"
            report.notes.append((parsed.path, f"imports that were not followed: {listed}"))
            importer.refused.clear()
        running = self.policy.rules_for(parsed.path)
        with self.clock("rules"):
            claims, complete = self.claims(parsed, facts, running)
        with self.clock("locating"):
            commented = matters(parsed.text, bool(claims))
            layouts = _lay_out(parsed, claims, commented)
            findings = self.findings(parsed, claims, layouts)
            if commented:
                findings = self.suppress(parsed, findings, layouts[parsed], running, complete)
            texts = {source.path: source.text for source in layouts} | {parsed.path: parsed.text}
            for finding in findings:
                is_open = _name_of(finding) in self.given
                if is_open or self.is_shown(finding):
                    self.keep_excerpts(finding, texts)
                if is_open:
                    self.waiting.append(finding)
                else:
                    self.show(finding)

    def is_shown(self, finding: Finding) -> bool:
        minimum = self.policy.min_confidence_for(finding.location.path)
        return finding.confidence.rank >= minimum.rank

    def show(self, finding: Finding) -> None:
        """Report a finding, if it is sure enough."""
        if self.is_shown(finding):
            self.report.findings.append(finding)
        else:
            self.report.below_confidence += 1

    def settled(self, finding: Finding) -> Finding:
        """A finding that rests on what calls hand in, now that those in sight are known."""
        given = self.given[_name_of(finding)]
        return replace(finding, confidence=self.feeds.confidence(given, finding.confidence))

    def look_up_callers(self, checked: Sequence[Path]) -> None:
        """Infer other files of the project that may call what findings rest on.

        So a file that is checked alone gets the findings that it gets with the others, as far as
        a budget goes.
        """
        wanted = [(f, self.given[_name_of(f)]) for f in self.waiting]
        names = {given.mentioned for f, given in wanted if given.waits or self.is_shown(f)}
        if not names:
            return
        exclude = (*self.config.exclude, *self.config.extend_exclude)
        everything = discover(
            [self.config.root],
            self.config.root,
            exclude,
            gitignore=self.config.respect_gitignore,
        )
        others = set(everything.files).difference(checked)
        left = CALLERS_BUDGET
        near = [self.config.root / finding.location.path for finding in self.waiting]
        for file in files_that_mention(names, others, near):
            try:
                parsed = self.project.parse(file)
                left -= len(parsed.text)
                if left < 0:
                    break
                facts = self.infer(parsed, self.importer_for(file, parsed), self.knowledge)
            except Exception:
                continue  # reported when that file is checked
            self.feeds.add(facts.feeds)

    def importer_for(self, file: Path, parsed: ParsedFile) -> Importer:
        """The importer of the file before, if it fits: with it goes what was inferred so far."""
        roots = self.project.search_path(file)
        if self.importer.roots != roots or self.importer.size > TREE_BUDGET:
            self.importer = Importer(self.project, roots)
            if self.project.parsed > self.collected + COLLECT_AFTER:
                # What was inferred with earlier importers. The youngest generation has all that
                # was made since; what it leaves, trees above all, has no cycles.
                gc.collect(0)
                self.collected = self.project.parsed
        self.importer.size += len(parsed.text)
        return self.importer

    def claims(
        self, parsed: ParsedFile, facts: Facts, running: Sequence[Rule]
    ) -> tuple[list[tuple[Rule, Claim]], bool]:
        """The claims of the rules that run, and whether every rule came to its end."""
        claims: list[tuple[Rule, Claim]] = []
        complete = True
        for rule in running:
            try:
                claims += [(rule, claim) for claim in rule.check(facts)]
            except Exception as error:
                complete = False
                message = f"rule {rule.code} failed: {_defect(error)}"
                self.report.errors.append(FileError(parsed.path, 1, 1, message))
        return claims, complete

    def findings(
        self,
        parsed: ParsedFile,
        claims: Sequence[tuple[Rule, Claim]],
        layouts: dict[ParsedFile, Layout],
    ) -> list[Finding]:
        findings: dict[tuple[str, Location, str], Finding] = {}
        for rule, claim in claims:
            span = _span(claim.site, layouts)
            if span is None or claim.site.source is not parsed:
                message = f"rule {rule.code} failed: it claims something of a place not in the file"
                self.report.errors.append(FileError(parsed.path, 1, 1, message))
                continue
            location = span.location(parsed.path)
            finding = Finding(
                rule.code,
                rule.name,
                self.policy.severity_of(rule, claim.severity, parsed.path),
                claim.confidence,
                location,
                claim.message,
                claim.advice,
                tuple(_trace(claim, layouts)),
                _fix(claim, parsed, layouts),
            )
            # A site that is inferred in several contexts may be claimed twice.
            findings.setdefault((rule.code, location, claim.message), finding)
            if claim.given is not None:
                self.given[_name_of(finding)] = claim.given
        return _with_fingerprints(findings.values(), parsed.text)

    def suppress(
        self,
        parsed: ParsedFile,
        findings: list[Finding],
        layout: Layout,
        running: Sequence[Rule],
        complete: bool,
    ) -> list[Finding]:
        spans = [layout.spans[node] for node in statements(parsed.tree) if node in layout.spans]
        found = read_suppressions(layout.comments, spans, lines_of(parsed.text), parsed.path)
        kept, suppressed = found.split(findings)
        if complete:  # else a finding may be missing for which a suppression is there
            remarks = _with_fingerprints(self.remarks(found, running, parsed.path), parsed.text)
            remarks, silenced = found.split(remarks)
            kept += remarks
            suppressed += silenced
        self.report.suppressed += suppressed
        return kept

    def remarks(self, found: Suppressions, running: Sequence[Rule], path: str) -> list[Finding]:
        """The findings of the rules about suppressions, if they run."""
        on = {rule.code: rule for rule in running}
        need_reason = self.config.require_suppression_reason
        return [
            replace(
                finding,
                severity=self.policy.severity_of(on[finding.rule], finding.severity, path),
            )
            for finding in check_suppressions(found, running, self.rules, need_reason)
            if finding.rule in on
        ]

    def keep_excerpts(self, finding: Finding, texts: dict[str, str]) -> None:
        for place in (finding.location, *(related.location for related in finding.related)):
            lines = lines_of(texts[place.path])
            kept = self.report.excerpts.setdefault(place.path, {})
            for number in range(place.line, min(place.end_line, place.line + EXCERPT_LINES) + 1):
                kept[number] = lines[number - 1]

    @contextmanager
    def clock(self, stage: str) -> Iterator[None]:
        start = time.process_time()
        try:
            yield
        finally:
            self.seconds[stage] += time.process_time() - start


def _name_of(finding: Finding) -> tuple[str, Location, str]:
    return finding.rule, finding.location, finding.message


def _lay_out(
    parsed: ParsedFile, claims: Sequence[tuple[Rule, Claim]], commented: bool
) -> dict[ParsedFile, Layout]:
    """One pass over each file that a claim touches."""
    nodes: dict[ParsedFile, list[Site]] = {parsed: []} if commented else {}
    for _, claim in claims:
        sites = (claim.site, *(n.site for n in claim.trace), *(r.site for r in claim.fix))
        for site in sites:
            if isinstance(site.source, ParsedFile):
                nodes.setdefault(site.source, []).append(site)
    layouts = {}
    for source, sites_there in nodes.items():
        wanted = [site.node for site in sites_there]
        with_comments = commented and source is parsed
        if with_comments:
            wanted += statements(parsed.tree)
        layouts[source] = lay_out(source, wanted, comments=with_comments)
    return layouts


def _span(site: Site, layouts: dict[ParsedFile, Layout]) -> Span | None:
    layout = layouts.get(site.source) if isinstance(site.source, ParsedFile) else None
    return layout.spans.get(site.node) if layout else None


def _trace(claim: Claim, layouts: dict[ParsedFile, Layout]) -> Iterator[Related]:
    for note in claim.trace:
        span = _span(note.site, layouts)
        if span is not None:
            yield Related(span.location(note.site.source.path), note.message)


def _fix(claim: Claim, parsed: ParsedFile, layouts: dict[ParsedFile, Layout]) -> Fix | None:
    edits = []
    if _loses_a_comment(claim):
        return None
    for replacement in claim.fix:
        span = _span(replacement.site, layouts)
        if span is None or replacement.site.source is not parsed:
            return None  # all of a fix or none
        location = span.location(parsed.path)
        text = replacement.text
        if "\n" in text:
            written = lines_of(parsed.text)[location.line - 1 : location.end_line]
            text = indented(text, code(replacement.site.node), written)
        edits.append(Edit(location, text))
    return Fix(claim.applicability, tuple(edits)) if edits else None


def _loses_a_comment(claim: Claim) -> bool:
    """A comment inside of what is replaced is nowhere in the new text."""
    text = "\n".join(replacement.text for replacement in claim.fix)
    return any(
        comment.value not in text
        for replacement in claim.fix
        if "#" in code(replacement.site.node)
        for comment in _comments(replacement.site.node)
    )


def _comments(node: cst.CSTNode) -> Iterator[cst.Comment]:
    if isinstance(node, cst.Comment):
        yield node
    for child in node.children:
        yield from _comments(child)


def indented(text: str, printed: str, written: list[str]) -> str:
    """`text` with the indentation that its further lines have in the file.

    LibCST prints a node of several lines (`printed`) without the indentation of the block that it
    is in; `written` are its lines in the file.  Lines that are not the node's stay as they are.
    """
    lost = {}
    for bare, whole in zip(printed.split("\n")[1:], written[1:], strict=False):
        indent = whole[: len(whole) - len(whole.lstrip())]
        own = bare[: len(bare) - len(bare.lstrip())]
        if bare.strip() and len(indent) > len(own):
            lost[bare] = indent[: len(indent) - len(own)]
    first, *others = text.split("\n")
    for number, line in enumerate(others):
        origin = next((b for b in lost if line.startswith(b) or b.startswith(line)), None)
        if origin is not None and line.strip():
            others[number] = lost[origin] + line
    return "\n".join((first, *others))


def _sorted(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda f: (f.location, f.rule, f.message))


def _with_fingerprints(findings: Iterable[Finding], text: str) -> list[Finding]:
    """The findings, sorted, each with its fingerprint, which stays when lines move.

    It is of the rule, the path, the line without white space, and how many findings before it in
    the file have the same.
    """
    lines = lines_of(text)
    seen: dict[str, int] = {}
    marked = []
    for finding in _sorted(findings):
        line = " ".join(lines[finding.location.line - 1].split())
        key = "\0".join((finding.rule, finding.location.path, line))
        ordinal = seen[key] = seen.get(key, -1) + 1
        digest = hashlib.sha256(f"{key}\0{ordinal}".encode(errors="replace")).hexdigest()
        marked.append(replace(finding, fingerprint=digest[:16]))
    return marked


def _defect(error: Exception) -> str:
    """An exception of ours as a message: what and where, in one line."""
    place = ""
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        place = f" ({Path(code.co_filename).name}:{traceback.tb_lineno} in {code.co_name})"
        traceback = traceback.tb_next
    text = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {text}{place}; this is a defect of devlint, please report it"


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Trees have no cycles, and looking for some in them takes as long as half of parsing."""
    enabled = gc.isenabled()
    gc.disable()
    gc.freeze()  # modules and tables: nothing in them is to be collected
    try:
        yield
    finally:
        gc.unfreeze()
        if enabled:
            gc.enable()


def _with_room(work: Callable[[], Result]) -> Result:
    """Run on a thread whose stack allows for deeply nested code."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def target() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, RECURSION_LIMIT))
    try:
        _start(target).join()
    finally:
        sys.setrecursionlimit(limit)
    if errors:
        raise errors[0]
    return results[0]


def _start(target: Callable[[], None]) -> threading.Thread:
    for size in STACK_SIZES:
        try:
            before = threading.stack_size(size)
        except ValueError:
            continue  # not a size that this system can give
        try:
            thread = threading.Thread(target=target, name="devlint", daemon=True)
            thread.start()
            return thread
        except RuntimeError:
            continue  # no memory for it: a smaller one
        finally:
            threading.stack_size(before)
    raise RuntimeError("no thread can be started")
