"""The JSON schema of the configuration, for editors: generated from the options that are read."""

from __future__ import annotations

from typing import Any

from devlint import config
from devlint.config import NEVER, OPTIONS, OVERRIDE_OPTIONS, Reader
from devlint.findings import Confidence, Severity
from devlint.inference.domain.assumptions import AssumptionKind

Fragment = dict[str, Any]
DRAFT = "http://json-schema.org/draft-07/schema#"  # what editors of TOML read
SEVERITIES = [severity.value for severity in Severity]

# By the function that reads a value: what it accepts.
FRAGMENTS: dict[Reader, Fragment] = {
    config._strings: {"type": "array", "items": {"type": "string"}},
    config._string: {"type": "string"},
    config._release: {"type": "string", "pattern": r"^\d+\.\d+(\.\d+)?$"},
    config._flag: {"type": "boolean"},
    config._count: {"type": "integer", "minimum": 1},
    config._severity: {"enum": SEVERITIES},
    config._fail_on: {"enum": [*SEVERITIES, NEVER]},
    config._confidence: {"enum": [confidence.value for confidence in Confidence]},
    config._severities: {"type": "object", "additionalProperties": {"enum": SEVERITIES}},
    config._choices: {
        "type": "object",
        "properties": {kind.value: {"type": "boolean"} for kind in AssumptionKind},
        "additionalProperties": False,
    },
}
DESCRIPTIONS = {
    "paths": "What is checked when no paths are given, relative to the project root.",
    "select": "The rules that run: codes, code prefixes, names or ALL.",
    "extend-select": "Rules that run too.",
    "ignore": "Rules that do not run.",
    "exclude": "Patterns, as in .gitignore, of what is not checked; in place of the default.",
    "extend-exclude": "Further patterns of what is not checked.",
    "force-exclude": "Exclude files even when they are named themselves.",
    "respect-gitignore": "Do not check what .gitignore files ignore.",
    "fail-on": "The least severity that makes the exit code 1.",
    "min-confidence": "The least confidence of findings that are shown.",
    "severity": "Severities by code, code prefix or name.",
    "knowledge": "TOML files that say what the APIs of libraries do to devices.",
    "target-torch": "The oldest release of PyTorch that the project supports.",
    "rule-paths": "Files or folders with rules of one's own; only with --config.",
    "require-suppression-reason": "Report suppressions that give no reason.",
    "assume": "Kinds of assumptions: true takes them for granted, false never makes them.",
    "baseline": "A file with findings that are not reported.",
    "jobs": "How many processes check files; by default one for each core.",
    "cache": "Keep the outcomes of checks for the next one.",
    "cache-dir": "The folder that they are kept in.",
    "overrides": "What holds for the files that some paths match.",
}


def configuration_schema() -> Fragment:
    """The schema of `[tool.devlint]`, and of a devlint.toml."""
    override = _table(OVERRIDE_OPTIONS)
    override["required"] = ["paths"]
    override["properties"]["paths"]["description"] = "Patterns, as in .gitignore, of the files."
    return {
        "$schema": DRAFT,
        "title": "devlint",
        "description": "The table [tool.devlint] of pyproject.toml, or devlint.toml.",
        **_table(OPTIONS, {config._overrides: {"type": "array", "items": override}}),
    }


def _table(options: dict[str, Reader], more: dict[Reader, Fragment] | None = None) -> Fragment:
    fragments = FRAGMENTS | (more or {})
    properties = {
        name: {"description": DESCRIPTIONS[name], **fragments[reader]}
        for name, reader in options.items()
    }
    return {"type": "object", "properties": properties, "additionalProperties": False}
