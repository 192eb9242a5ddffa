"""The outcomes of all groups become the report: what waited for calls is settled, and what is not
sure enough, or known before, set aside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from devlint.check.judgement import Judge
from devlint.check.open_findings import OpenFindings
from devlint.check.outcome import STAGES, Outcome, feed_rank
from devlint.findings import FileError, Finding
from devlint.project.callers import CALLERS_BUDGET, files_that_mention
from devlint.report import Report, in_order

if TYPE_CHECKING:
    from devlint.check.session import Session


class Settling:
    """The report of a check in the making: `add` each outcome, then `finish`."""

    def __init__(self, judge: Judge, files: int, errors: Iterable[FileError]) -> None:
        self.judge = judge
        self.open = OpenFindings()
        self.report = Report(judge.config.root, files=files, errors=list(errors))
        self.digests: dict[Path, bytes] = {}
        self.seconds = dict.fromkeys(STAGES, 0.0)

    def add(self, outcome: Outcome) -> None:
        """Take the outcome of the next group."""
        report = self.report
        report.checked.update(outcome.checked)
        report.suppressed += outcome.suppressed
        report.errors += outcome.errors
        report.notes += outcome.notes
        for source, lines in outcome.excerpts.items():
            report.excerpts.setdefault(source, {}).update(lines)
        for told in outcome.told:
            if told.given is None:
                self.show(told.finding)
            else:
                self.open.waiting.append(told)
        self.add_feeds(outcome)
        for name, digest in outcome.digests.items():
            self.digests.setdefault(Path(name), bytes.fromhex(digest))

    def add_feeds(self, outcome: Outcome) -> None:
        """Take what the calls of files hand in, and nothing else."""
        self.open.feeds.add(outcome.feeds)
        for stage, seconds in outcome.seconds.items():
            self.seconds[stage] += seconds

    def show(self, finding: Finding) -> None:
        """Report a finding, if it is sure enough and not known before."""
        if not self.judge.is_shown(finding):
            self.report.below_confidence += 1
            self.report.hidden.add(finding.fingerprint)
        elif finding.fingerprint in (self.judge.config.known or ()):
            self.report.known.append(finding)
        else:
            self.report.findings.append(finding)

    def callees(self) -> set[str]:
        """The functions whose callers may tell whether a finding is to be shown."""
        return self.open.callees(self.judge.is_shown)

    def near(self) -> list[Path]:
        """The files with findings that wait for calls."""
        root = self.judge.config.root
        return [root / told.finding.location.path for told in self.open.waiting]

    def finish(self) -> Report:
        report = self.report
        for finding in self.open.settled():
            judged = self.judge.judged(finding)
            if judged is not None:
                self.show(judged)
        report.findings = in_order(report.findings)
        report.suppressed = in_order(report.suppressed)
        report.known = in_order(report.known)
        report.compared = self.judge.config.known is not None
        report.errors.sort()
        report.digests = self.digests
        report.seconds = self.seconds
        return report


def callers_of(
    names: set[str], others: Sequence[Path], near: Sequence[Path], session: Session
) -> Outcome:
    """What other files of the project hand to functions of these names, the nearest first.

    So a file that is checked alone gets the findings that it gets with the others, as far as a
    budget goes.
    """
    left = CALLERS_BUDGET
    for file in files_that_mention(names, others, near, session.project.content):
        try:
            left -= len(session.project.parse(file).text)
            if left < 0:
                break
            session.feeds_of(file)
        except Exception:
            continue  # reported when that file is checked
    return Outcome(
        feeds=sorted(session.feeds, key=feed_rank),
        seconds=session.seconds,
        asked=session.project.asked,
    )
