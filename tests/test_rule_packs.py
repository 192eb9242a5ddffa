"""Rule packs: found by entry point, ours and a user's alike; a broken one is named."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest
from faking import Tree

from devlint.rules import RulePackError, find_rule, load_rules

RULE = """\
from devlint.findings import Severity
from devlint.rule import Rule
RULE = Rule("{code}", "{name}", Severity.ERROR, "S.", "", "", "", (), (), lambda facts: ())
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
        ({"helper": "x = 1"}, "no module of the package defines RULE"),
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
