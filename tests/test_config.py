"""Configuration: where it is found, what it may say, and how errors name the key."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from fakes import Tree

from devlint.config import OPTIONS, Config, ConfigError, Override, find_config, to_toml
from devlint.findings import Confidence, Severity
from devlint.inference.domain.assumptions import AssumptionKind

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FULL = """\
[tool.devlint]
paths = ["src"]
select = ["DEV1", "DEV3"]
extend-select = ["DEV402"]
ignore = ["DEV303"]
exclude = ["generated"]
extend-exclude = ["*_pb2.py"]
force-exclude = true
respect-gitignore = false
fail-on = "never"
min-confidence = "certain"
knowledge = ["devices.toml"]
target-torch = "2.9"
require-suppression-reason = true
jobs = 3
cache = false
cache-dir = "kept"

[tool.devlint.assume]
name-suggests-model = false

[tool.devlint.severity]
DEV301 = "warning"

[[tool.devlint.overrides]]
paths = ["tests/**"]
ignore = ["DEV5"]
severity = { "DEV1" = "performance" }
min-confidence = "possible"
"""


def test_every_option_is_read(tree: Tree) -> None:
    root = tree({"pyproject.toml": FULL})
    config = find_config(root)
    assert config == Config(
        root=root,
        file=root / "pyproject.toml",
        paths=("src",),
        select=("DEV1", "DEV3"),
        extend_select=("DEV402",),
        ignore=("DEV303",),
        exclude=("generated",),
        extend_exclude=("*_pb2.py",),
        force_exclude=True,
        respect_gitignore=False,
        fail_on=None,
        min_confidence=Confidence.CERTAIN,
        severity={"DEV301": Severity.WARNING},
        knowledge=("devices.toml",),
        target_torch="2.9",
        require_suppression_reason=True,
        jobs=3,
        cache=False,
        cache_dir="kept",
        assume={AssumptionKind.NAME_SUGGESTS_MODEL: False},
        overrides=(
            Override(
                paths=("tests/**",),
                ignore=("DEV5",),
                severity={"DEV1": Severity.PERFORMANCE},
                min_confidence=Confidence.POSSIBLE,
            ),
        ),
    )
    assert config.knowledge_files() == (root / "devices.toml",)


def test_the_printed_configuration_reads_back_as_itself(tree: Tree) -> None:
    root = tree({"pyproject.toml": FULL})
    config = find_config(root)
    tree({"pyproject.toml": to_toml(config)})
    assert find_config(root) == config
    printed = tomllib.loads(to_toml(config))["tool"]["devlint"]
    assert set(printed) == set(OPTIONS), "every option is printed"


def test_the_defaults_read_back_as_themselves(tree: Tree) -> None:
    root = tree({"pyproject.toml": to_toml(Config(Path("/")))})
    assert find_config(root) == Config(root, root / "pyproject.toml")


def test_devlint_toml_has_no_table_and_goes_before_pyproject(tree: Tree) -> None:
    root = tree(
        {
            "devlint.toml": 'select = ["DEV2"]\n',
            "pyproject.toml": '[tool.devlint]\nselect = ["DEV3"]\n',
        }
    )
    assert find_config(root).select == ("DEV2",)


def test_the_nearest_table_upwards_is_used_and_its_folder_is_the_root(tree: Tree) -> None:
    root = tree(
        {
            "pyproject.toml": '[tool.devlint]\nignore = ["DEV1"]\n',
            "a/pyproject.toml": "[tool.ruff]\n",
            "a/b/x.py": "",
            "c/pyproject.toml": '[tool.devlint]\nignore = ["DEV2"]\n',
        }
    )
    config = find_config(root / "a" / "b")
    assert (config.root, config.ignore) == (root, ("DEV1",))
    config = find_config(root / "a" / "b" / "x.py")
    assert (config.root, config.ignore) == (root, ("DEV1",))
    config = find_config(root / "c")
    assert (config.root, config.ignore) == (root / "c", ("DEV2",))


def test_without_a_table_the_root_is_the_project(tree: Tree) -> None:
    root = tree({"setup.py": "", "a/b/x.py": ""})
    assert find_config(root / "a" / "b") == Config(root)


def test_without_a_project_the_root_is_where_the_user_is(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"a/b/x.py": ""})
    monkeypatch.chdir(root / "a")
    assert find_config(root / "a" / "b") == Config(root / "a")
    assert find_config(root) == Config(root)


def test_a_file_given_is_used_in_place_of_those_found(tree: Tree) -> None:
    root = tree(
        {
            "pyproject.toml": '[tool.devlint]\nignore = ["DEV1"]\n',
            "strict.toml": 'ignore = ["DEV2"]\n',
            "other/pyproject.toml": '[tool.devlint]\nignore = ["DEV3"]\n',
            "work/setup.py": "",
            "tableless.toml": "[tool.ruff]\n",
        }
    )
    assert find_config(root, root / "strict.toml").ignore == ("DEV2",)
    config = find_config(root / "work", root / "other" / "pyproject.toml")
    assert (config.root, config.ignore) == (root / "work", ("DEV3",))
    with pytest.raises(ConfigError, match=r"tableless.toml: has no \[tool.devlint\] table"):
        find_config(root, root / "tableless.toml")
    with pytest.raises(ConfigError, match=r"missing.toml: cannot be read: No such file"):
        find_config(root, root / "missing.toml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("selct = []", "[tool.devlint] has no option 'selct'; did you mean 'select'?"),
        ("min_confidence = 'likely'", "'min_confidence'; did you mean 'min-confidence'?"),
        ("zzz = 1", "[tool.devlint] has no option 'zzz'"),
        ("select = 'DEV1'", "select must be a list of strings, not 'DEV1'"),
        ("ignore = [1]", "ignore must be a list of strings, not [1]"),
        ("jobs = 0", "jobs must be a whole number from 1 on, not 0"),
        ("target-torch = 'new'", "target-torch must be a release such as \"2.9\", not 'new'"),
        ("jobs = true", "jobs must be a whole number from 1 on, not True"),
        ("force-exclude = 'yes'", "force-exclude must be true or false, not 'yes'"),
        ("fail-on = 'warnings'", "not 'warnings'; did you mean 'warning'?"),
        ("fail-on = 1", 'fail-on must be one of "error", "warning", "performance", "never"'),
        ("min-confidence = 'sure'", 'one of "certain", "likely", "possible", not \'sure\''),
        ("severity = 'error'", "severity must be a table such as"),
        ("severity = { DEV1 = 'eror' }", "severity.DEV1 must be one of"),
        ("overrides = {}", "overrides must be an array of tables"),
        ("overrides = [{ ignore = [] }]", "overrides (number 1) has no paths"),
        ("overrides = [{ paths = [] }, { paths = [], exclude = [] }]",
         "overrides (number 2) has no option 'exclude'"),
        ("select = [", "is not valid TOML"),
        ("select = []\nselect = []", "is not valid TOML"),
    ],
)  # fmt: skip
def test_errors_name_the_file_the_key_and_the_nearest_right_one(
    tree: Tree, text: str, words: str
) -> None:
    root = tree({"pyproject.toml": f"[tool.devlint]\n{text}\n"})
    with pytest.raises(ConfigError) as caught:
        find_config(root)
    assert str(caught.value).startswith(str(root / "pyproject.toml"))
    assert words in str(caught.value)


def test_other_errors_of_the_file(tree: Tree) -> None:
    root = tree({"pyproject.toml": "[tool]\ndevlint = 1\n"})
    with pytest.raises(ConfigError, match="must be a table, not 1"):
        find_config(root)
    tree({"pyproject.toml": b"# \xff\n"})
    with pytest.raises(ConfigError, match="is not valid TOML"):
        find_config(root)


def test_every_option_is_documented() -> None:
    page = (Path(__file__).parent.parent / "docs" / "configuration.md").read_text(encoding="utf-8")
    headings = re.findall(r"^### `(.+)`$", page, flags=re.MULTILINE)
    assert set(headings) == set(OPTIONS)


def test_the_example_of_the_page_is_valid(tree: Tree) -> None:
    page = (Path(__file__).parent.parent / "docs" / "configuration.md").read_text(encoding="utf-8")
    example = page.split("```toml\n")[1].split("```")[0]
    config = find_config(tree({"pyproject.toml": example}))
    assert config.paths == ("src", "train.py")
    assert config.overrides[0].paths == ("tests/**", "benchmarks")


@pytest.mark.parametrize("path", ["../kept", "/tmp/kept", "link/kept", ".", "a\\u0000b"])
def test_a_project_writes_nothing_outside_of_itself_unless_its_configuration_is_named(
    tree: Tree, path: str
) -> None:
    root = tree({"p/devlint.toml": f'cache-dir = "{path}"\n'}) / "p"
    (root / "link").symlink_to(root.parent)
    with pytest.raises(ConfigError, match="lies outside of the project"):
        find_config(root)
    assert find_config(root, root / "devlint.toml").cache_dir


@pytest.mark.parametrize("path", ["../devices.toml", "/etc/passwd", "link.toml", "a\\u0000b"])
def test_a_project_reads_nothing_outside_of_itself_unless_its_configuration_is_named(
    tree: Tree, path: str
) -> None:
    root = tree({"devices.toml": "", "p/devlint.toml": f'knowledge = ["{path}"]\n'}) / "p"
    (root / "link.toml").symlink_to(root.parent / "devices.toml")
    with pytest.raises(ConfigError, match="lies outside of the project"):
        find_config(root)
    assert find_config(root, root / "devlint.toml").knowledge


@pytest.mark.parametrize("text", [f"x = {'9' * 5000}", f"x = {'[' * 5000}"])
def test_toml_that_no_reader_can_take_is_refused_in_words(tree: Tree, text: str) -> None:
    root = tree({"devlint.toml": text})
    with pytest.raises(ConfigError, match="is not valid TOML"):
        find_config(root)
