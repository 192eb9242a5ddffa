"""Assumptions: what findings rest on, how sure that leaves them, and what a user can say of it."""

from __future__ import annotations

import ast
import json
from itertools import combinations
from pathlib import Path

import devlint_rules
import generate_assumption_docs
import pytest
from click.testing import CliRunner
from fakes import Tree

from devlint.cli import main
from devlint.config import ConfigError, find_config
from devlint.findings import Confidence
from devlint.inference.confidence.policy import BESIDE_ANOTHER, WEIGHTS, confidence
from devlint.inference.domain.assumptions import MEANINGS, AssumptionKind

HELPER = """\
import torch


def add_noise(x: torch.Tensor):
    noise = torch.randn(len(x))
    return x + noise
"""


def checked(root: Path, *options: str) -> list[dict[str, object]]:
    arguments = ["check", str(root), "--format", "json", *options]
    result = CliRunner().invoke(main, arguments)
    found: list[dict[str, object]] = json.loads(result.stdout)["findings"]
    return found


def said(root: Path, *options: str) -> str:
    return CliRunner().invoke(main, ["check", str(root), *options]).stdout


def test_a_finding_says_what_it_assumes_and_where(tree: Tree) -> None:
    (finding,) = checked(tree({"noise.py": HELPER}))
    assert (finding["rule"], finding["confidence"]) == ("DEV102", "likely")
    assert finding["assumptions"] == [
        {
            "kind": "caller-is-accelerated",
            "path": "noise.py",
            "line": 4,
            "column": 15,
            "message": "callers hand in `x` on an accelerator",
        }
    ]


def test_the_text_report_says_what_is_assumed(tree: Tree) -> None:
    text = said(tree({"noise.py": HELPER}))
    assert "= assuming: callers hand in `x` on an accelerator\n" in text


def test_what_is_certain_assumes_nothing(tree: Tree) -> None:
    root = tree({"sum.py": "import torch\n\ny = torch.ones(3).cuda() + torch.ones(3)\n"})
    (finding,) = [each for each in checked(root) if each["rule"] == "DEV101"]
    assert (finding["confidence"], finding["assumptions"]) == ("certain", [])
    assert "assuming" not in said(root)


def test_a_kind_that_is_turned_off_makes_no_findings(tree: Tree) -> None:
    off = "assume = { caller-is-accelerated = false }\n"
    root = tree({"noise.py": HELPER, "devlint.toml": off})
    assert checked(root, "--min-confidence", "possible") == []


def test_a_kind_that_is_turned_on_lowers_no_confidence(tree: Tree) -> None:
    on = "assume = { caller-is-accelerated = true }\n"
    (finding,) = checked(tree({"noise.py": HELPER, "devlint.toml": on}))
    assert finding["confidence"] == "certain"
    assert [each["kind"] for each in finding["assumptions"]] == ["caller-is-accelerated"]


def test_calls_that_hand_in_host_tensors_are_an_assumption_against_them(tree: Tree) -> None:
    caller = "from noise import add_noise\n\n\ndef main():\n    add_noise(torch.zeros(3))\n"
    root = tree({"noise.py": HELPER, "main.py": f"import torch\n{caller}"})
    (finding,) = [
        each for each in checked(root, "--min-confidence", "possible") if each["rule"] == "DEV102"
    ]
    assert finding["confidence"] == "possible"
    kinds = {each["kind"] for each in finding["assumptions"]}
    assert "callers-are-not-all-on-host" in kinds


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("{ name-sugests-model = false }", "did you mean"),
        ('{ branch-taken = "no" }', "must be true or false"),
        ("[]", "must be a table"),
    ],
)
def test_a_choice_that_cannot_be_read_is_an_error(tree: Tree, table: str, message: str) -> None:
    root = tree({"devlint.toml": f"assume = {table}\n"})
    with pytest.raises(ConfigError, match=message):
        find_config(root)


def test_explain_lists_every_kind() -> None:
    lines = CliRunner().invoke(main, ["explain", "--assumptions"]).stdout.splitlines()
    assert [line.split()[0] for line in lines] == [kind.value for kind in AssumptionKind]


@pytest.mark.parametrize("arguments", [[], ["DEV101", "--assumptions"]])
def test_explain_takes_a_rule_or_the_assumptions(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, ["explain", *arguments])
    assert result.exit_code == 2 and "RULE or --assumptions" in result.output


def test_the_page_of_assumptions_is_up_to_date() -> None:
    assert generate_assumption_docs.main(["--check"]) == 0


def test_a_companion_of_its_own_shape_shows_that_a_parameter_is_a_tensor(tree: Tree) -> None:
    code = "import torch\n\n\ndef noisy(x):\n    noise = torch.randn(x.shape)\n"
    root = tree({"noise.py": f"{code}    return x * 0.5 + noise * 0.5\n"})
    (finding,) = checked(root)
    assert (finding["rule"], finding["confidence"]) == ("DEV102", "likely")


def test_what_a_function_moves_itself_may_come_from_anywhere(tree: Tree) -> None:
    code = "import torch\n\n\ndef noisy(x, device):\n    y = x.to(device)\n"
    root = tree({"noise.py": f"{code}    return y, x * 0.5 + torch.randn(x.shape)\n"})
    assert checked(root) == []


OVERWRITTEN = """\
import torch
from torch import nn


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros(1))

    def restart(self):
        self.steps = torch.zeros(1)

    def forward(self, x):
        return x + self.steps
"""
LAYERS = """\
from torch import nn


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(4, 4) for _ in range(3)]

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


def test_what_breaks_only_if_a_module_is_moved_is_a_warning(tree: Tree) -> None:
    (finding,) = checked(tree({"counter.py": OVERWRITTEN}))
    assert (finding["rule"], finding["severity"]) == ("DEV207", "warning")


def test_what_breaks_wherever_a_module_is_moved_trained_or_saved_is_an_error(tree: Tree) -> None:
    (finding,) = checked(tree({"stack.py": LAYERS}))
    assert (finding["rule"], finding["severity"]) == ("DEV206", "error")


class TestPolicy:
    def test_every_kind_has_a_meaning_and_a_weight(self) -> None:
        assert set(MEANINGS) == set(WEIGHTS) == set(AssumptionKind)

    def test_without_assumptions_a_finding_is_certain(self) -> None:
        assert confidence([]) is Confidence.CERTAIN

    def test_no_assumption_leaves_a_finding_certain(self) -> None:
        assert all(confidence([kind]) is not Confidence.CERTAIN for kind in AssumptionKind)

    def test_one_more_assumption_never_makes_a_finding_surer(self) -> None:
        def rank(*kinds: AssumptionKind) -> int:
            sure = confidence(kinds)
            return -1 if sure is None else sure.rank

        for a, b in combinations(AssumptionKind, 2):
            assert rank(a, b) <= min(rank(a), rank(b))

    @pytest.mark.parametrize("kind", BESIDE_ANOTHER)
    def test_what_holds_by_itself_is_possible_beside_another(self, kind: AssumptionKind) -> None:
        other = AssumptionKind.CALLER_IS_ACCELERATED
        assert confidence([kind, kind]) is confidence([other]) is Confidence.LIKELY
        assert confidence([kind, other]) is Confidence.POSSIBLE
        assert confidence([kind, other], {other: True}) is Confidence.LIKELY


RULES = Path(devlint_rules.__file__).parent


@pytest.mark.parametrize("file", sorted(RULES.rglob("*.py")), ids=lambda file: file.stem)
def test_no_rule_says_how_sure_it_is(file: Path) -> None:
    named = [
        node.attr
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "Confidence"
    ]
    assert set(named) <= {"CERTAIN"}
