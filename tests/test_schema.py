"""The JSON schema of the configuration: it accepts what is read, refuses what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import pytest
from fakes import Tree

from devlint.config import OPTIONS, ConfigError, find_config, to_toml
from devlint.schema import configuration_schema

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
VALIDATOR = jsonschema.Draft7Validator(configuration_schema())

ACCEPTED = [
    'paths = ["src"]\nselect = ["DEV1"]\nfail-on = "never"\nmin-confidence = "certain"\n',
    'severity = { DEV301 = "warning" }\nknowledge = ["k.toml"]\nbaseline = "b"\n',
    'assume = { "name-suggests-model" = false }\n',
    '[[overrides]]\npaths = ["tests"]\nignore = ["DEV3"]\nmin-confidence = "likely"\n',
    "force-exclude = true\nrequire-suppression-reason = true\nrespect-gitignore = false\n",
]
REFUSED = [
    'path = ["src"]\n',
    'paths = "src"\n',
    'fail-on = "always"\n',
    "force-exclude = 1\n",
    'severity = { DEV301 = "bad" }\n',
    "baseline = true\n",
    "assume = { nothing = true }\n",
    '[[overrides]]\nignore = ["DEV3"]\n',
    '[[overrides]]\npaths = ["tests"]\nfail-on = "never"\n',
]


def test_the_schema_is_one_and_has_every_option() -> None:
    jsonschema.Draft7Validator.check_schema(configuration_schema())
    properties = configuration_schema()["properties"]
    assert list(properties) == list(OPTIONS)
    assert all(each["description"].endswith(".") for each in properties.values())


@pytest.mark.parametrize("text", ACCEPTED)
def test_it_accepts_what_is_read(tree: Tree, text: str) -> None:
    find_config(tree({"devlint.toml": text}))
    VALIDATOR.validate(tomllib.loads(text))


@pytest.mark.parametrize("text", REFUSED)
def test_it_refuses_what_is_refused(tree: Tree, text: str) -> None:
    with pytest.raises(ConfigError):
        find_config(tree({"devlint.toml": text}))
    assert not VALIDATOR.is_valid(tomllib.loads(text))


def test_it_accepts_what_devlint_config_prints(tree: Tree) -> None:
    config = find_config(tree({"devlint.toml": "\n".join(ACCEPTED[:3])}))
    VALIDATOR.validate(tomllib.loads(to_toml(config))["tool"]["devlint"])


def test_the_schema_in_the_docs_is_the_one_printed() -> None:
    written = json.loads((ROOT / "docs/devlint.schema.json").read_text(encoding="utf-8"))
    assert written == configuration_schema(), (
        "run: devlint config --schema > docs/devlint.schema.json"
    )
