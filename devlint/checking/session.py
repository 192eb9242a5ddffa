"""One check: what its files share, and the way of one file from source to findings."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from devlint import banned, knowledge
from devlint.checking.cells import with_cells
from devlint.checking.fingerprints import with_fingerprints
from devlint.checking.open_findings import OpenFindings
from devlint.checking.placing import Layouts, excerpts, finding_of, lay_out_claims
from devlint.checking.resources import collect_recent
from devlint.config import Config, Policy
from devlint.findings import FileError, Finding, Location
from devlint.inference.confidence.policy import confidence
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.facts import Facts
from devlint.knowledge import Knowledge
from devlint.locating import Layout
from devlint.project.callers import CALLERS_BUDGET, files_that_mention
from devlint.project.imports import TREE_BUDGET, Importer, Project
from devlint.project.notebooks import OtherLanguage
from devlint.project.source import ParsedFile, SourceError, lines_of
from devlint.report import Report, in_order
from devlint.rule import Claim, Rule
from devlint.suppression import (
    Suppressions,
    check_suppressions,
    matters,
    read_suppressions,
    statements,
)

COLLECT_AFTER = 400_000  # characters of source parsed between two collections of cycles
NOTED_IMPORTS = 5  # of those that were not followed, by name

Claims = list[tuple[Rule, Claim]]


class Infer(Protocol):
    """The inference: all facts of one file."""

    def __call__(self, parsed: ParsedFile, importer: Importer, knowledge: Knowledge) -> Facts: ...


class Session:
    """One check: what its files share. `check_file` each, then `finish`."""

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
        self.open = OpenFindings()
        self.collected = 0  # characters parsed before the last collection of cycles
        self.seconds = dict.fromkeys(("parse", "inference", "rules", "locating"), 0.0)

    def check_file(self, file: Path) -> None:
        """Check one file; whatever goes wrong is an error of the report."""
        report = self.report
        path = self.project.path_of(file)
        try:
            with self.clock("parse"):
                parsed = self.project.parse(file)
        except OtherLanguage as other:
            report.notes.append((path, other.message))
            return
        except SourceError as error:
            entry = error.at(path)
            report.errors.append(entry)
            if error.excerpt is not None:
                report.excerpts.setdefault(entry.source, {})[error.line] = error.excerpt
            return
        try:
            self.check_parsed(file, parsed)
            report.checked.add(path)
        except RecursionError:
            report.errors.append(FileError(path, 1, 1, "is too deeply nested to be analysed"))
        except Exception as error:
            report.errors.append(FileError(path, 1, 1, f"was not analysed: {_defect(error)}"))

    def check_parsed(self, file: Path, parsed: ParsedFile) -> None:
        with self.clock("inference"):
            facts = self.facts_of(file, parsed)
        self.open.feeds.add(facts.feeds)
        self.project.checked += len(parsed.text)
        self.note_limits(parsed.path, facts)
        running = self.policy.rules_for(parsed.path)
        with self.clock("rules"):
            claims, complete = self.claims(parsed, facts, running)
        with self.clock("locating"):
            commented = matters(parsed.text, bool(claims))
            layouts = lay_out_claims(parsed, (claim for _, claim in claims), commented)
            findings = self.findings(parsed, claims, layouts)
            if commented:
                findings = self.suppress(parsed, findings, layouts[parsed], running, complete)
            self.take(parsed, findings, layouts)

    def facts_of(self, file: Path, parsed: ParsedFile) -> Facts:
        return self.infer(parsed, self.importer_for(file, parsed), self.knowledge)

    def importer_for(self, file: Path, parsed: ParsedFile) -> Importer:
        """The importer of the file before, if it fits: with it goes what was inferred so far."""
        roots = self.project.search_path(file)
        if self.importer.roots != roots or self.importer.size > TREE_BUDGET:
            self.importer = Importer(self.project, roots)
            if self.project.parsed > self.collected + COLLECT_AFTER:
                collect_recent()  # what was inferred with earlier importers
                self.collected = self.project.parsed
        self.importer.size += len(parsed.text)
        return self.importer

    def note_limits(self, path: str, facts: Facts) -> None:
        """Note where the inference gave up, and imports that it did not follow."""
        notes = self.report.notes
        notes += [(path, note) for note in facts.budgets_hit]
        refused = sorted(self.importer.refused)
        if refused:
            listed = ", ".join(refused[:NOTED_IMPORTS])
            if len(refused) > NOTED_IMPORTS:
                listed += f" and {len(refused) - NOTED_IMPORTS} more"
            notes.append((path, f"imports that were not followed: {listed}"))
            self.importer.refused.clear()

    def claims(
        self, parsed: ParsedFile, facts: Facts, running: Sequence[Rule]
    ) -> tuple[Claims, bool]:
        """The claims of the rules that run, and whether every rule came to its end."""
        claims: Claims = []
        complete = True
        for rule in running:
            try:
                claims += [(rule, claim) for claim in self.claims_of(rule, parsed, facts)]
            except Exception as error:
                complete = False
                self.rule_failed(rule, parsed.path, _defect(error))
        return claims, complete

    def claims_of(self, rule: Rule, parsed: ParsedFile, facts: Facts) -> Iterable[Claim]:
        if rule is banned.RULE:
            return banned.claims_of_bans(parsed, self.knowledge.bans)
        return rule.check(facts)

    def findings(self, parsed: ParsedFile, claims: Claims, layouts: Layouts) -> list[Finding]:
        findings: dict[tuple[str, Location, str], Finding] = {}
        for rule, claim in claims:
            severity = self.policy.severity_of(rule, claim.severity, parsed.path)
            finding = finding_of(rule, claim, severity, parsed, layouts)
            if finding is None:
                self.rule_failed(
                    rule, parsed.path, "it claims something of a place not in the file"
                )
                continue
            finding = self.judged(finding)
            if finding is None:
                continue  # it rests on what is not to be assumed
            # A site that is inferred in several contexts may be claimed twice.
            findings.setdefault((rule.code, finding.location, claim.message), finding)
            if claim.given is not None:
                self.open.rests_on(finding, claim.given)
        return with_fingerprints(findings.values(), parsed.text)

    def judged(self, finding: Finding) -> Finding | None:
        """A finding, as sure as what it rests on leaves it; None if that is too little."""
        if not finding.assumptions:
            return finding
        kinds = (AssumptionKind(each.kind) for each in finding.assumptions)
        sure = confidence(kinds, self.config.assume)
        return None if sure is None else replace(finding, confidence=sure)

    def rule_failed(self, rule: Rule, path: str, reason: str) -> None:
        self.report.errors.append(FileError(path, 1, 1, f"rule {rule.code} failed: {reason}"))

    def suppress(
        self,
        parsed: ParsedFile,
        findings: list[Finding],
        layout: Layout,
        running: Sequence[Rule],
        complete: bool,
    ) -> list[Finding]:
        """The findings that no comment suppresses, with those about the suppressions."""
        spans = [layout.spans[node] for node in statements(parsed.tree) if node in layout.spans]
        found = read_suppressions(layout.comments, spans, lines_of(parsed.text), parsed.path)
        kept, suppressed = found.split(findings)
        if complete:  # else a finding may be missing for which a suppression is there
            remarks = with_fingerprints(self.remarks(found, running, parsed.path), parsed.text)
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

    def take(self, parsed: ParsedFile, findings: Sequence[Finding], layouts: Layouts) -> None:
        """Show the findings, or keep them until all calls were seen; and the lines they are on."""
        texts = {source.path: source.written or source.text for source in (*layouts, parsed)}
        for finding in findings:
            is_open = self.open.is_open(finding)
            if is_open or self.is_shown(finding):
                for path, number, text in excerpts(finding, texts):
                    self.report.excerpts.setdefault(path, {})[number] = text
            if is_open:
                self.open.waiting.append(finding)
            else:
                self.show(finding)

    def is_shown(self, finding: Finding) -> bool:
        minimum = self.policy.min_confidence_for(finding.location.path)
        return finding.confidence.rank >= minimum.rank

    def show(self, finding: Finding) -> None:
        """Report a finding, if it is sure enough and not known before."""
        if not self.is_shown(finding):
            self.report.below_confidence += 1
            self.report.hidden.add(finding.fingerprint)
        elif finding.fingerprint in (self.config.known or ()):
            self.report.known.append(finding)
        else:
            self.report.findings.append(finding)

    def look_up_callers(self, others: Sequence[Path]) -> None:
        """Infer other files of the project that may call what findings rest on, the nearest first.

        So a file that is checked alone gets the findings that it gets with the others, as far as
        a budget goes.
        """
        left = CALLERS_BUDGET
        near = [self.config.root / finding.location.path for finding in self.open.waiting]
        with self.clock("inference"):
            for file in files_that_mention(self.callees(), others, near):
                try:
                    parsed = self.project.parse(file)
                    left -= len(parsed.text)
                    if left < 0:
                        break
                    self.open.feeds.add(self.facts_of(file, parsed).feeds)
                except Exception:
                    continue  # reported when that file is checked

    def callees(self) -> set[str]:
        """The functions whose callers may tell whether a finding is to be shown."""
        return self.open.callees(self.is_shown)

    def finish(self) -> Report:
        report = self.report
        for finding in self.open.settled():
            judged = self.judged(finding)
            if judged is not None:
                self.show(judged)
        report.findings = in_order(report.findings)
        report.suppressed = in_order(report.suppressed)
        report.known = in_order(report.known)
        report.compared = self.config.known is not None
        with_cells(report, self.project.cells)
        report.errors.sort()
        report.digests = self.project.digests
        report.seconds = self.seconds
        return report

    @contextmanager
    def clock(self, stage: str) -> Iterator[None]:
        start = time.process_time()
        try:
            yield
        finally:
            self.seconds[stage] += time.process_time() - start


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
