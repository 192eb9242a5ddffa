"""The registry of report formats: a name, whom it is for; the module of that name renders it."""

from __future__ import annotations

import importlib

from devlint.report import Report
from devlint.reporters.options import Options

FORMATS = {
    "text": "people: code frames, traces, advice",
    "concise": "people and editors: one line a finding",
    "json": "programs",
    "sarif": "code scanning and IDEs: SARIF 2.1.0",
    "github": "GitHub Actions: annotations",
    "gitlab": "GitLab: a code quality report",
    "junit": "CI servers: JUnit XML",
    "markdown": "pull requests and job summaries",
    "agent": "language models: each finding with its reasons and its edit, in few words",
    "html": "people: one self-contained page",
}
WITH_RULES = {"html", "sarif"}  # those that carry the pages of rules


def render(name: str, report: Report, options: Options) -> str:
    """The report in the format of that name, with a line end."""
    module = importlib.import_module(f"devlint.reporters.{name}")
    text: str = module.render(report, options)
    return text
