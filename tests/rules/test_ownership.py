"""Exactly one rule claims each meeting, and exactly one judges each mention."""

from __future__ import annotations

from itertools import product

import pytest
from devlint_rules.helpers.ownership import rule_of_meeting, rule_of_mention
from facts_by_hand import CHOSEN, FLEXIBLE, INPUT, SELF, assumed, meeting, operand, source
from rule_check import RULES

from devlint.inference.domain.placement import CPU, CUDA, META, Device
from devlint.inference.facts import Facts, MeetingKind, Mention

TEXT = source("a + b\n")
PLACEMENTS = [CPU, CUDA, META, Device("cuda", 0), Device("cuda", 1), Device("mps"), None]
VARIABLES = [SELF, INPUT, CHOSEN, FLEXIBLE]
MEETING_RULES = {"DEV101", "DEV102", "DEV103", "DEV104", "DEV105", "DEV106", "DEV108"}


def claimants(**facts: list[object]) -> list[str]:
    return [code for code, rule in RULES.items() for _claim in rule.check(Facts(TEXT, **facts))]


@pytest.mark.parametrize("kind", MeetingKind)
def test_one_rule_claims_each_meeting(kind: MeetingKind):
    places = [*PLACEMENTS, *VARIABLES]
    for left, right, by_default, loaded in product(places, places, (False, True), (False, True)):
        met = meeting(
            operand(TEXT, "a", left, by_default=by_default, loaded=loaded),
            operand(TEXT, "b", right),
            TEXT.site("a + b"),
            kind=kind,
        )
        assert claimants(meetings=[met]) == [rule_of_meeting(met)]
        assert rule_of_meeting(met) in MEETING_RULES


@pytest.mark.parametrize(
    ("left", "right", "traits", "kind", "code"),
    [
        (CPU, CUDA, {}, MeetingKind.OPERATION, "DEV101"),
        (CPU, SELF, {"loaded": True}, MeetingKind.OPERATION, "DEV101"),
        (CPU, SELF, {"by_default": True}, MeetingKind.OPERATION, "DEV102"),
        (CPU, INPUT, {}, MeetingKind.CALLEE, "DEV102"),
        (CPU, CHOSEN, {"by_default": True}, MeetingKind.RETURN, "DEV102"),
        (CPU, SELF, {"by_default": True}, MeetingKind.INPUT, "DEV103"),
        (CPU, CUDA, {}, MeetingKind.CONTRACT, "DEV108"),
        (Device("cuda", 0), Device("cuda", 1), {}, MeetingKind.CONTRACT, "DEV108"),
        (CPU, CUDA, {}, MeetingKind.INDEX, "DEV104"),
        (CPU, CUDA, {}, MeetingKind.GENERATOR, "DEV105"),
        (Device("cuda", 0), Device("cuda", 1), {}, MeetingKind.OPERATION, "DEV106"),
        (Device("cuda", 0), Device("cuda", 1), {}, MeetingKind.INPUT, "DEV106"),
        (CUDA, Device("cuda", 1), {}, MeetingKind.OPERATION, "DEV106"),
        (CUDA, Device("mps"), {}, MeetingKind.OPERATION, "DEV101"),
    ],
)
def test_which_rule_it_is(left, right, traits, kind, code):
    met = meeting(
        operand(TEXT, "a", left, **traits),
        operand(TEXT, "b", right),
        TEXT.site("a + b"),
        kind=kind,
        assumptions=assumed(TEXT),
    )
    assert rule_of_meeting(met) == code


@pytest.mark.parametrize("kind", ["device", "backend", "legacy-type", "load", "pin"])
def test_at_most_one_rule_judges_each_mention(kind: str):
    for guarded, in_main, per_rank, index in product(
        (False, True), (False, True), (False, True), (None, 0)
    ):
        mention = Mention(TEXT.site("a"), kind, "a", index, guarded, in_main, per_rank)
        assert set(claimants(mentions=[mention])) <= {rule_of_mention(mention)}
