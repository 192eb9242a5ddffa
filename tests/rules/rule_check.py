"""Check code with our own rules, from text or file to findings, with every confidence shown."""

from __future__ import annotations

import importlib
import pkgutil
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

import devlint_rules

from devlint import engine
from devlint.config import Config
from devlint.findings import Confidence, Finding
from devlint.inference.confidence.policy import confidence
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.report import Report
from devlint.rule import Rule

ROOT = Path(__file__).resolve().parent.parent.parent
FIXTURES = ROOT / "fixtures"

_EXPECT = re.compile(r"# expect: ([A-Z0-9, ]+)")


def _load() -> dict[str, Rule]:
    modules = (
        importlib.import_module(f"devlint_rules.{info.name}")
        for info in pkgutil.iter_modules(devlint_rules.__path__)
    )
    rules = [module.RULE for module in modules if hasattr(module, "RULE")]
    return {rule.code: rule for rule in sorted(rules, key=lambda rule: rule.code)}


RULES = _load()


def config_for(root: Path) -> Config:
    previews = tuple(code for code, rule in RULES.items() if rule.preview)
    return Config(
        root,
        extend_select=previews,
        min_confidence=Confidence.POSSIBLE,
        respect_gitignore=False,
    )


def check_text(text: str) -> list[Finding]:
    """The findings on a text that stands alone."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "example.py"
        file.write_text(text)
        return check_files(file.parent, file)


def shown(text: str) -> list[Finding]:
    """Those that users see, at the confidence that they have."""
    return [each for each in check_text(text) if each.confidence is not Confidence.POSSIBLE]


_PRELUDE = "import numpy as np\nimport torch\nfrom torch import nn\n\n\n"


def said(code: str, rule: str) -> list[str]:
    """What a rule says of code below the usual imports, at the confidence that users have."""
    found = told(code, rule)
    return [each.message for each in found if each.confidence is not Confidence.POSSIBLE]


def told(code: str, rule: str) -> list[Finding]:
    """What a rule says of such code at every confidence."""
    return [each for each in check_text(_PRELUDE + code) if each.rule == rule]


def check_files(root: Path, *files: Path) -> list[Finding]:
    """The findings on files of a project."""
    return report_of(root, *files).findings


def report_of(root: Path, *files: Path) -> Report:
    """What a check of files of a project says, the suppressed findings besides."""
    report = engine.check(list(files), config_for(root), tuple(RULES.values()))
    assert not report.errors, report.errors
    return report


def of_another_confidence(findings: Iterable[Finding]) -> list[Finding]:
    """Those that are surer, or less sure, than what they say they rest on leaves them."""
    return [
        finding
        for finding in findings
        if finding.confidence
        is not confidence([AssumptionKind(each.kind) for each in finding.assumptions])
    ]


def lines_of(findings: list[Finding], code: str) -> list[int]:
    return sorted({finding.location.line for finding in findings if finding.rule == code})


def expected_lines(text: str, code: str) -> list[int]:
    """The lines that a fixture marks with `# expect: CODE`."""
    lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = _EXPECT.search(line)
        if match and code in match.group(1).replace(" ", "").split(","):
            lines.append(number)
    return lines


def expected_codes(text: str) -> set[str]:
    return {code for match in _EXPECT.findall(text) for code in match.replace(" ", "").split(",")}
