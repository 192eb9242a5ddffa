"""Rule packs: found by entry point, ours and a user's alike; a broken one is named."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator

import pytest
from click.testing import CliRunner
from fakes import Tree

from devlint.cli import main
from devlint.rules import RulePackError, find_rule, load_rules

RULE = """\
from devlint.findings import Severity
from devlint.rule import Rule
RULE = Rule("{code}", "{name}", Severity.ERROR, "S.", "", "", "", (), (), lambda facts: ())
"""
HERE = """\
from devlint.findings import Confidence, Severity
from devlint.rule import Claim, Rule

def check(facts):
    for move in facts.moves:
        yield Claim(move.site, Severity.WARNING, Confidence.CERTAIN, "moved")

RULE = Rule("HOUSE1", "no-moves", Severity.WARNING, "S.", "", "", "", (), (), check)
"""
Install = Callable[[dict[str, str]], None]


@pytest.fixture
def install(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Makes a distribution with one rule pack, `user_pack`, of these modules importable."""

    def make(modules: dict[str, str]) -> None:
        files = {f"user_pack/{name}.py": text for name, text in modules.items()}
        meta = "user_pack-1.0.dist-info"
        root = tree(
            {
                "user_pack/__init__.py": "",
                **files,
                f"{meta}/METADATA": "Metadata-Version: 2.1\nName: user-pack\nVersion: 1.0\n",
                f"{meta}/entry_points.txt": "[devlint.rules]\nuser = user_pack\n",
            }
        )
        monkeypatch.syspath_prepend(str(root))

    yield make
    for name in [name for name in sys.modules if name.split(".")[0] == "user_pack"]:
        del sys.modules[name]


def test_our_pack_and_the_rules_about_suppressions_are_there() -> None:
    codes = [rule.code for rule in load_rules()]
    assert codes == sorted(codes)
    assert {"DEV001", "DEV002", "DEV101", "DEV102", "DEV303"} <= set(codes)


def test_a_user_s_pack_is_found_beside_ours(install: Install) -> None:
    install({"mine": RULE.format(code="USR001", name="mine"), "helper": "x = 1\n"})
    codes = {rule.code for rule in load_rules()}
    assert {"USR001", "DEV101"} <= codes


@pytest.mark.parametrize(
    ("modules", "words"),
    [
        ({"bad": "import nothing_of_this_name"}, "cannot be loaded: ModuleNotFoundError"),
        ({"bad": "x = ("}, "cannot be loaded: SyntaxError"),
        ({"bad": "RULE = 3"}, "user_pack.bad.RULE is not a devlint.rule.Rule"),
        ({"helper": "x = 1"}, "no module there defines RULE"),
        ({"mine": RULE.format(code="DEV101", name="mine")}, "both define DEV101"),
        ({"mine": RULE.format(code="USR1", name="sync-in-loop")}, "second rule named"),
    ],
)
def test_a_broken_pack_is_named(install: Install, modules: dict[str, str], words: str) -> None:
    install(modules)
    with pytest.raises(RulePackError, match="rule pack") as caught:
        load_rules()
    assert words in str(caught.value)


def test_without_any_pack_nothing_can_be_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("devlint.rules.entry_points", lambda group: ())
    with pytest.raises(RulePackError, match="no rule pack is installed"):
        load_rules()


def test_a_rule_is_found_by_code_or_name_in_any_case() -> None:
    rules = load_rules()
    by_code, by_name = find_rule(rules, "dev101"), find_rule(rules, "Mixed-Device-Operation")
    assert by_code is by_name is not None
    assert find_rule(rules, "DEV1") is None


@pytest.mark.parametrize("path", ["house", "house/moves.py"])
def test_rules_of_a_path_in_a_configuration_that_is_named(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    root = tree(
        {
            "house/moves.py": HERE,
            "devlint.toml": f'rule-paths = ["{path}"]\nselect = ["HOUSE1"]\n',
            "x.py": "import torch\n\nx = torch.ones(3).to('cpu')\n",
        }
    )
    monkeypatch.chdir(root)
    named = CliRunner().invoke(main, ["check", "--config", "devlint.toml", "x.py"])
    assert named.exit_code == 1 and "warning[HOUSE1] no-moves: moved" in named.output


def test_a_configuration_that_was_merely_found_runs_nothing(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = "from pathlib import Path\nPath(__file__).with_name('RAN').touch()\n"
    root = tree({"devlint.toml": 'rule-paths = ["house.py"]\n', "house.py": ran, "x.py": ""})
    monkeypatch.chdir(root)
    for arguments in (["check", "."], ["check", "x.py"], ["stats"], ["config"]):
        refused = CliRunner().invoke(main, arguments)
        assert refused.exit_code == 2
        assert "rule-paths: devlint would run the code of 'house.py'" in refused.output
    assert not (root / "RAN").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no such file or folder"),
        ("x = 1\n", "no module there defines RULE"),
        ("RULE = 1\n", "RULE is not a devlint.rule.Rule"),
        ("1 / 0\n", "moves.py cannot be loaded: ZeroDivisionError: division by zero"),
        ("def f(:\n", "moves.py cannot be loaded: SyntaxError"),
    ],
)
def test_a_path_without_a_sound_rule_is_named(tree: Tree, text: str | None, message: str) -> None:
    path = tree({} if text is None else {"moves.py": text}) / "moves.py"
    with pytest.raises(RulePackError, match=rf"rule path .*moves\.py.*{re.escape(message)}"):
        load_rules([path])


def test_modules_of_a_rule_path_import_one_another_and_a_rule_counts_once(tree: Tree) -> None:
    helper = HERE.replace("RULE = ", "RULES = ")
    root = tree(
        {
            "house/__init__.py": "from .moves import RULE\n",
            "house/moves.py": "from .zz_texts import RULES as RULE\n",
            "house/zz_texts.py": helper,
        }
    )
    assert find_rule(load_rules([root / "house"]), "HOUSE1")
    (root / "house/zz_texts.py").write_text(helper.replace("HOUSE1", "HOUSE2222"))
    rules = load_rules([root / "house"])
    assert find_rule(rules, "HOUSE2222") and not find_rule(rules, "HOUSE1")
    (root / "house/__init__.py").unlink()
    assert find_rule(load_rules([root / "house"]), "HOUSE2222")


def test_a_rule_that_a_module_of_a_pack_imports_counts_once(install: Install) -> None:
    install({"one": RULE.format(code="U1", name="u"), "two": "from .one import RULE\n"})
    assert find_rule(load_rules(), "U1")
