"""The judgement of findings by the configuration: how sure each is, and whether it is shown."""

from __future__ import annotations

from dataclasses import replace

from devlint.config import Config, Policy
from devlint.findings import Finding
from devlint.inference.confidence.policy import confidence
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Judge:
    """What a configuration makes of findings."""

    config: Config
    policy: Policy

    def is_shown(self, finding: Finding) -> bool:
        minimum = self.policy.min_confidence_for(finding.location.path)
        return finding.confidence.rank >= minimum.rank

    def judged(self, finding: Finding) -> Finding | None:
        """A finding, as sure as what it rests on leaves it; None if that is too little."""
        if not finding.assumptions:
            return finding
        kinds = (AssumptionKind(each.kind) for each in finding.assumptions)
        sure = confidence(kinds, self.config.assume)
        return None if sure is None else replace(finding, confidence=sure)
