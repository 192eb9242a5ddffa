"""Assumptions that a rule adds: what the code does not show of its cost, its purpose, its machines.

A rule never says how sure it is: it says what it takes for granted, and the policy makes a
confidence of that (`devlint/inference/confidence/policy.py`). An assumption reads after
"assuming:", as in "the time that this takes matters".
"""

from __future__ import annotations

from devlint.inference.conventions import holds
from devlint.inference.domain.assumptions import Assumption, AssumptionKind, Assumptions
from devlint.inference.facts import Facts, Site


def assume(kind: AssumptionKind, site: Site, message: str) -> Assumptions:
    """One assumption, at the place that causes it."""
    return (Assumption(kind, site, message),)


def assume_if(needed: bool, kind: AssumptionKind, site: Site, message: str) -> Assumptions:
    """One assumption, or none where the code shows it."""
    return assume(kind, site, message) if needed else ()


def time_matters(facts: Facts, site: Site) -> Assumptions:
    """That it is worth making the code quicker: under every finding about speed."""
    matters = assume(AssumptionKind.TIME_MATTERS, site, "the time that this takes matters")
    return matters + warm_file(facts, site)


def warm_file(facts: Facts, site: Site) -> Assumptions:
    """That a test, an export or code that prepares data is worth the remark, too."""
    message = "this file, one for tests, exports or data by its path, is worth it"
    return assume_if(is_cold_file(facts), AssumptionKind.COLD_FILE_COUNTS, site, message)


def warm_code(needed: bool, site: Site, message: str) -> Assumptions:
    """That code which runs seldom is worth the remark, too."""
    return assume_if(needed, AssumptionKind.COLD_CODE_COUNTS, site, message)


def runs_without_cuda(site: Site) -> Assumptions:
    """That the code meets machines which lack what it demands."""
    message = "this code is to run on machines without CUDA"
    return assume(AssumptionKind.RUNS_WITHOUT_CUDA, site, message)


def runs_elsewhere(needed: bool, site: Site, sign: str) -> Assumptions:
    """That code which shows to be for CUDA alone meets other machines, too."""
    kind = AssumptionKind.CUDA_CODE_RUNS_ELSEWHERE
    return assume_if(needed, kind, site, f"the code is to run without CUDA, though {sign}")


def is_cold_file(facts: Facts) -> bool:
    """Tests, exports, and data prepared on the host, by the path of the file."""
    return holds("cold-path", facts.source.path)
