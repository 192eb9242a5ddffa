"""Every rule is complete: its code, its texts, its examples, its page."""

from __future__ import annotations

import ast
import re

import generate_rule_docs
import pytest
from rule_check import FIXTURES, RULES

from devlint.rule import Rule

CATALOGUE = {
    "DEV101": "mixed-device-operation",
    "DEV102": "cpu-tensor-meets-module-device",
    "DEV103": "input-not-on-module-device",
    "DEV104": "index-on-wrong-device",
    "DEV105": "generator-on-wrong-device",
    "DEV106": "mixed-accelerator-indices",
    "DEV107": "device-not-passed-on",
    "DEV108": "broken-contract",
    "DEV109": "unread-contract",
    "DEV110": "not-a-device",
    "DEV111": "unknown-accelerator-name",
    "DEV112": "mistaken-autocast",
    "DEV113": "kernel-elsewhere",
    "DEV114": "no-such-device",
    "DEV201": "discarded-move",
    "DEV202": "optimizer-before-move",
    "DEV203": "non-leaf-after-move",
    "DEV204": "rebound-loop-variable",
    "DEV205": "unregistered-tensor",
    "DEV206": "unregistered-submodule",
    "DEV207": "buffer-overwritten",
    "DEV208": "dispatched-model-moved",
    "DEV209": "meta-leftover",
    "DEV301": "loop-invariant-transfer",
    "DEV302": "round-trip",
    "DEV303": "sync-in-loop",
    "DEV304": "create-then-move",
    "DEV305": "elementwise-device-access",
    "DEV306": "blocking-copy",
    "DEV307": "module-move-in-loop",
    "DEV308": "hidden-copy",
    "DEV309": "reduced-on-host",
    "DEV310": "synchronize-in-loop",
    "DEV311": "graph-kept-in-loop",
    "DEV312": "cache-emptied-in-loop",
    "DEV401": "numpy-on-accelerator",
    "DEV402": "read-before-copy-lands",
    "DEV403": "accelerator-in-worker",
    "DEV404": "numpy-before-detach",
    "DEV405": "unsynchronized-timing",
    "DEV406": "stream-race",
    "DEV407": "forbidden-wait",
    "DEV501": "hard-coded-accelerator",
    "DEV502": "load-without-map-location",
    "DEV503": "legacy-tensor-type",
    "DEV504": "unguarded-backend-call",
    "DEV505": "fixed-index-in-rank-code",
    "DEV506": "cuda-only-call",
    "DEV507": "autocast-elsewhere",
    "DEV508": "default-device-trap",
    "DEV509": "bound-for-accelerator-only",
    "DEV510": "index-as-flag",
}

each_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def test_codes_and_names_are_stable_for_ever():
    assert {code: rule.name for code, rule in RULES.items()} == CATALOGUE


@each_rule
def test_a_rule_lives_in_a_file_named_after_it(rule: Rule):
    module = f"{rule.code}_{rule.name}".lower().replace("-", "_")
    assert rule.check.__module__ == f"devlint_rules.{module}"


@each_rule
def test_texts_are_there_and_the_reference_is_a_page_of_pytorch(rule: Rule):
    assert rule.summary.endswith(".") and "\n" not in rule.summary
    for text in (rule.what, rule.why, rule.twin, rule.limits):
        assert text.strip()
    assert rule.reference.startswith("https://docs.pytorch.org/")


@each_rule
def test_there_are_three_bad_and_three_good_examples_and_all_are_python(rule: Rule):
    assert len(set(rule.bad)) >= 3 and len(set(rule.good)) >= 3
    for example in (*rule.bad, *rule.good):
        tree = ast.parse(example)
        assert any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in tree.body) or (
            "torch" not in example
        ), "an example that needs an import has it"


@each_rule
def test_no_text_invents_a_number(rule: Rule):
    prose = " ".join((rule.summary, rule.what, rule.why, rule.fix, rule.twin, rule.limits))
    assert not re.search(r"\d+(\.\d+)?\s?(%|times|x faster|ms|µs|percent)", prose)


@each_rule
def test_there_are_five_bad_and_five_good_fixtures(rule: Rule):
    folder = FIXTURES / "rules" / rule.code
    assert len(list(folder.glob("bad_*.py"))) >= 5
    assert len(list(folder.glob("good_*.py"))) >= 5


def test_the_pages_in_docs_are_up_to_date():
    stale = generate_rule_docs.stale_pages()
    assert not stale, f"run scripts/generate_rule_docs.py; stale: {stale}"
