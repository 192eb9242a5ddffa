"""The machine that a finding is about, and what of its assumptions a witness makes true.

Mostly two virtual cards, with the model and all tensors on the first.  ``.cuda()`` without a guard
(DEV501) shows where there is no CUDA; cards that are mixed up (DEV106) where all is on the second;
a move that is lost (DEV201) where what is moved was on the host.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Data = Literal["card", "host", "host until moved"]


@dataclass(frozen=True)
class Scenario:
    """A virtual machine, the device that everything is put on, and variables of the environment."""

    machine: str = "cuda:2"
    card: str = "cuda"
    environment: Mapping[str, str] = field(default_factory=dict)
    calls: int = 1
    """How often the function is called: what a finding says of every call takes several."""
    data: Data = "card"
    """Where tensors are; ``host until moved``: those that a module's constructor is given are on
    the host, and it is moved afterwards."""


_NO_CUDA = Scenario("mps", "cpu")
_ONE_CARD = Scenario("cuda:1")
"""Where what was saved on another card cannot be loaded."""
_SECOND_CARD = Scenario(card="cuda:1")
_RANK_1 = {"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
_BY_RULE = {
    "DEV106": _SECOND_CARD,
    "DEV501": _NO_CUDA,
    "DEV502": _NO_CUDA,
    "DEV503": _NO_CUDA,
    "DEV504": _NO_CUDA,
    "DEV505": Scenario(card="cuda:1", environment=_RANK_1),
}

_ALONE = {
    **{"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"},
    **{"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"},
}
_WANTS_A_LAUNCHER = re.compile(
    r"KeyError: '(LOCAL_RANK|RANK|WORLD_SIZE|LOCAL_WORLD_SIZE|MASTER_ADDR|MASTER_PORT)'"
    r"|environment variable \w+ expected, but not set"
)

MOVES = frozenset({"DEV201", "DEV203", "DEV204", "DEV301", "DEV302", "DEV306", "DEV307"})
"""Rules about moves: where everything is on the card already, nothing is moved."""
_DEFAULTS = frozenset({"DEV107"})
"""Where the default device is the first card, what it holds meets nothing else there."""
_STAYS_BEHIND = frozenset({"DEV205", "DEV206", "DEV207"})

MADE_TRUE = frozenset(
    {
        "caller-is-accelerated",
        "detached-input-is-accelerated",
        "input-may-be-accelerated",
        "no-caller-in-sight",
        "function-is-meant-for-devices",
        "host-code-gets-device-tensors",
        "script-runs-on-accelerator",
        "test-runs-on-accelerator",
        "data-code-gets-device-tensors",
        "local-calls-hand-in-accelerator",
        "callers-are-not-all-on-host",
        "other-cards-are-used",
    }
)
"""Assumptions that hold in a witness, and those that it puts to the test."""
PUT_TO_TEST = frozenset(
    {"unknown-callee-keeps-device", "value-has-dimensions", "module-refuses-numbers"}
)

_EVERY_CALL = " in every call of "
"""What DEV303 and its like say where the loop is the caller's."""
_REFUSES = " is a legacy constructor, which refuses `device=`"
"""What DEV503 says of ``torch.Tensor(sizes, device=device)``: with a card it raises everywhere."""


def scenarios_of(finding: Mapping[str, Any]) -> tuple[Scenario, ...]:
    """The machines on which ``finding`` may show, the likeliest first."""
    first = scenario_of(finding)
    if finding["rule"] in MOVES:
        return replace(first, data="host"), first
    if finding["rule"] == "DEV502" and first == _NO_CUDA:
        return _ONE_CARD, first
    if finding["rule"] in _DEFAULTS and first == Scenario():
        return first, _SECOND_CARD
    return (first,)


def scenario_of(finding: Mapping[str, Any]) -> Scenario:
    """The machine on which ``finding`` shows."""
    other_cards = any(a["kind"] == "other-cards-are-used" for a in finding.get("assumptions", ()))
    if other_cards and finding["rule"].startswith("DEV1"):
        return _SECOND_CARD
    scenario = _BY_RULE.get(finding["rule"], Scenario())
    if _REFUSES in finding.get("message", ""):
        return Scenario()
    if finding["rule"] in _STAYS_BEHIND:
        scenario = replace(scenario, data="host until moved")
    return replace(scenario, calls=3) if _EVERY_CALL in finding.get("message", "") else scenario


def launched(scenario: Scenario, reason: str) -> Scenario | None:
    """As under a launcher with one process, where ``reason`` says that the code wants one."""
    if scenario.environment or not _WANTS_A_LAUNCHER.search(reason):
        return None
    return replace(scenario, environment=_ALONE)


def untested(finding: Mapping[str, Any]) -> str:
    """An assumption of ``finding`` that a witness neither makes true nor tests; empty for none."""
    for assumption in finding.get("assumptions", ()):
        if assumption["kind"] not in MADE_TRUE | PUT_TO_TEST:
            return str(assumption["kind"])
    return ""
