"""The check of one group of files: the way of each from source to findings."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from devlint import ban_rule
from devlint.check.bans import claims_of_bans
from devlint.check.claims import Layouts, excerpts, finding_of, lay_out_claims
from devlint.check.fingerprints import with_fingerprints
from devlint.check.open_findings import Name, name_of
from devlint.check.outcome import STAGES, Outcome, Told, feed_rank
from devlint.check.resources import collect_recent
from devlint.check.setting import Setting
from devlint.findings import Confidence, FileError, Finding, Location, Severity
from devlint.inference.call_contexts import Feed, Given
from devlint.inference.confidence.policy import severity as severity_by
from devlint.inference.facts import Facts
from devlint.positions import Layout
from devlint.project.imports import TREE_BUDGET, Importer, Project, Trees
from devlint.project.source import OtherLanguage, ParsedFile, SourceError, lines_of
from devlint.project.survey import Survey
from devlint.rule import Claim, Rule
from devlint.suppression import (
    Suppressions,
    check_suppressions,
    matters,
    read_suppressions,
    statements,
)

# Characters of source parsed between two collections of cycles, which take as long as the parse of
# a fifth of them. With what is inferred of it a character takes 45 bytes.
COLLECT_AFTER = 4_000_000
NOTED_IMPORTS = 5  # of those that were not followed, by name

Claims = list[tuple[Rule, Claim]]


class Session:
    """The check of one group: `check_file` each, then `finish`; nothing that is inferred is shared
    with others."""

    def __init__(
        self,
        setting: Setting,
        allowance: int | None = None,
        trees: Trees | None = None,
        survey: Survey | None = None,
    ) -> None:
        self.setting = setting
        root, contents = setting.config.root, setting.contents
        self.project = Project(root, contents, allowance=allowance, trees=trees, survey=survey)
        self.importer = Importer(self.project, ())
        self.outcome = Outcome()
        self.feeds: set[Feed] = set()
        # what findings wait for, and how bad they are without it
        self.given: dict[Name, tuple[Given, Severity]] = {}
        self.collected = 0  # characters parsed before the last collection of cycles
        self.seconds = dict.fromkeys(STAGES, 0.0)

    def check_file(self, file: Path) -> None:
        """Check one file; whatever goes wrong is an error of the report."""
        outcome = self.outcome
        path = self.project.path_of(file)
        try:
            with self.clock("parse"):
                parsed = self.project.parse(file)
        except OtherLanguage as other:
            outcome.notes.append((path, other.message))
            return
        except SourceError as error:
            entry = error.at(path)
            outcome.errors.append(entry)
            if error.excerpt is not None:
                outcome.excerpts.setdefault(entry.source, {})[error.line] = error.excerpt
            return
        try:
            self.check_parsed(file, parsed)
            outcome.checked.append(path)
        except RecursionError:
            outcome.is_sound = False
            outcome.errors.append(FileError(path, 1, 1, "is too deeply nested to be analysed"))
        except Exception as error:
            outcome.is_sound = False
            outcome.errors.append(FileError(path, 1, 1, f"was not analysed: {_defect(error)}"))

    def check_parsed(self, file: Path, parsed: ParsedFile) -> None:
        with self.clock("inference"):
            facts = self.facts_of(file, parsed)
        self.feeds |= facts.feeds
        self.project.checked += len(parsed.text)
        self.note_limits(parsed.path, facts)
        running = self.setting.policy.rules_for(parsed.path)
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
        self.setting.interrupt()
        return self.setting.infer(parsed, self.importer_for(file, parsed), self.setting.knowledge)

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
        notes = self.outcome.notes
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
            self.setting.interrupt()
            try:
                for claim in self.claims_of(rule, parsed, facts):
                    claims.append((rule, claim))
                    self.setting.interrupt()
            except Exception as error:
                complete = False
                self.rule_failed(rule, parsed.path, _defect(error))
        return claims, complete

    def claims_of(self, rule: Rule, parsed: ParsedFile, facts: Facts) -> Iterable[Claim]:
        if rule is ban_rule.RULE:
            return claims_of_bans(parsed, self.setting.knowledge.bans)
        return rule.check(facts)

    def findings(self, parsed: ParsedFile, claims: Claims, layouts: Layouts) -> list[Finding]:
        findings: dict[tuple[str, Location, str], Finding] = {}
        for rule, claim in claims:
            self.setting.interrupt()
            severity = unmet = self.severity(rule, claim, parsed.path)
            if claim.given is not None:
                severity = self.severity(rule, claim, parsed.path, met=True)
            finding = finding_of(rule, claim, severity, parsed, layouts)
            if finding is None:
                self.rule_failed(
                    rule, parsed.path, "it claims something of a place not in the file"
                )
                continue
            judged = self.setting.judged(finding)
            if judged is None and (claim.given is None or not claim.given.waits):
                continue  # it rests on what is not to be assumed, nor may be shown by a call
            finding = judged or replace(finding, confidence=Confidence.POSSIBLE)
            # A site that is inferred in several contexts may be claimed twice.
            findings.setdefault((rule.code, finding.location, claim.message), finding)
            if claim.given is not None:
                self.given[name_of(finding)] = claim.given, unmet
        return with_fingerprints(findings.values(), parsed.text)

    def severity(self, rule: Rule, claim: Claim, path: str, met: bool = False) -> Severity:
        """The severity of a claim; `met`: where a call in sight hands in what it takes."""
        kinds = (assumption.kind for assumption in claim.assumptions)
        weighed = severity_by(claim.severity, kinds, self.setting.config.assume, met)
        return self.setting.policy.severity_of(rule, weighed, path)

    def rule_failed(self, rule: Rule, path: str, reason: str) -> None:
        self.outcome.is_sound = False
        self.outcome.errors.append(FileError(path, 1, 1, f"rule {rule.code} failed: {reason}"))

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
        self.outcome.suppressed += suppressed
        return kept

    def remarks(self, found: Suppressions, running: Sequence[Rule], path: str) -> list[Finding]:
        """The findings of the rules about suppressions, if they run."""
        on = {rule.code: rule for rule in running}
        need_reason = self.setting.config.require_suppression_reason
        return [
            replace(
                finding,
                severity=self.setting.policy.severity_of(on[finding.rule], finding.severity, path),
            )
            for finding in check_suppressions(found, running, self.setting.rules, need_reason)
            if finding.rule in on
        ]

    def take(self, parsed: ParsedFile, findings: Sequence[Finding], layouts: Layouts) -> None:
        """Keep the findings, and the lines that those are on which may be shown."""
        texts = {source.path: source.written or source.text for source in (*layouts, parsed)}
        for finding in findings:
            given, unmet = self.given.get(name_of(finding), (None, None))
            if given is not None or self.setting.is_shown(finding):
                for path, number, text in excerpts(finding, texts):
                    self.outcome.excerpts.setdefault(path, {})[number] = text
            self.outcome.told.append(Told(finding, given, unmet))

    def feeds_of(self, file: Path) -> None:
        """Note what the calls of a file hand in, and nothing else."""
        with self.clock("inference"):
            parsed = self.project.parse(file)
            self.feeds |= self.facts_of(file, parsed).feeds

    def finish(self) -> Outcome:
        """The outcome, with the cells of notebooks, after the last file."""
        outcome = self.outcome
        if self.project.cells:
            from devlint.check.cells import with_cells  # few checks have notebooks

            with_cells(outcome, self.project.cells)
        outcome.feeds = sorted(self.feeds, key=feed_rank)
        outcome.digests = {str(file): d.hex() for file, d in self.project.digests.items()}
        outcome.seconds = self.seconds
        outcome.asked = self.project.asked
        return outcome

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
