"""The rules for people and programs: `devlint rules` and `devlint explain`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from devlint.findings import Severity
from devlint.reporters.text import STYLES
from devlint.rule import Rule
from devlint.terminal import styler


def rules_as_text(rules: Sequence[Rule], color: bool = False) -> str:
    """One line a rule: code, name, severity, summary."""
    style = styler(color)
    longest = max((len(rule.name) for rule in rules), default=0)
    levels = max(len(severity.value) for severity in Severity)
    lines = []
    for rule in rules:
        severity = style(f"{rule.severity.value:<{levels}}", STYLES[rule.severity])
        remark = " (preview)" if rule.preview else ""
        code = style(rule.code, "bold")
        lines.append(f"{code}  {rule.name:<{longest}}  {severity}  {rule.summary}{remark}")
    return "\n".join(lines) + "\n"


def rules_as_json(rules: Iterable[Rule]) -> str:
    return json.dumps([_rule_object(rule) for rule in rules], indent=2) + "\n"


def _rule_object(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "summary": rule.summary,
        "what": rule.what,
        "why": rule.why,
        "bad": list(rule.bad),
        "good": list(rule.good),
        "fix": rule.fix,
        "twin": rule.twin,
        "limits": rule.limits,
        "reference": rule.reference,
        "preview": rule.preview,
    }


def explanation(rule: Rule, color: bool = False) -> str:
    """A rule's page, in Markdown."""
    style = styler(color)
    severity = style(rule.severity.value, STYLES[rule.severity])
    parts = [
        style(f"# {rule.name} ({rule.code})", "bold"),
        f"{rule.summary}\n\nUsual severity: {severity}",
    ]
    if rule.preview:
        parts[-1] += ". A preview rule: it runs only where it is selected by its own code or name"

    def section(title: str, body: str) -> None:
        if body:
            parts.append(f"{style(f'## {title}', 'bold')}\n{body.strip()}")

    section("What it does", rule.what)
    section("Why is this bad?", rule.why)
    section("Example", _examples(rule.bad))
    section("Use instead", _examples(rule.good))
    section("Fix", rule.fix)
    section("At run time", rule.twin)
    section("Limits", rule.limits)
    section(
        "How to suppress it",
        f"`# devlint: ignore[{rule.code}] -- reason` on the line, "
        f"`# devlint: ignore-file[{rule.code}]` in the\nfile, or `ignore` in `[tool.devlint]`.",
    )
    section("Reference", rule.reference)
    return "\n\n".join(parts) + "\n"


def _examples(examples: Iterable[str]) -> str:
    return "\n\n".join(f"```python\n{textwrap.dedent(text).strip()}\n```" for text in examples)
