"""The report for pull requests: a table, details to open, and nothing but our own markup."""

from __future__ import annotations

import re

from fakes import Tree
from sample_reports import hostile, ordinary

from devlint.reporters.markdown import LONGEST, render
from devlint.reporters.options import Options


def test_a_heading_a_table_and_details(tree: Tree) -> None:
    text = render(ordinary(tree), Options())
    assert text.startswith(
        "### devlint: 1 error and 1 performance finding\n\n"
        "| severity | rule | where | what |\n| --- | --- | --- | --- |\n"
        "| error | DEV101 mixed-device-operation | `pkg/a.py:2` | `a` is on cpu, `b` is on cuda |\n"
    )
    assert "<details><summary>DEV101 at <code>pkg/a.py:2</code></summary>\n\n```\nerror[" in text
    assert "```diff\n-x = a + b\n+x = a.to(b.device) + b\n```\n\n</details>" in text
    assert "- `b.py:1`: syntax error: '(' was never closed" in text


def test_nothing_found_is_said(tree: Tree) -> None:
    report = ordinary(tree)
    report.findings, report.errors = [], []
    assert render(report, Options()).startswith("### devlint: no device-placement problems\n")


def test_a_long_report_is_cut(tree: Tree) -> None:
    report = ordinary(tree)
    report.findings *= LONGEST
    assert f"and {LONGEST} more." in render(report, Options())


def test_text_of_the_project_is_no_markup() -> None:
    text = render(hostile(), Options())
    outside = []
    fence = ""
    for line in text.splitlines():
        run = re.match("`{3,}", line)
        if run and not fence:
            fence = run[0]
        elif line == fence:
            fence = ""
        elif not fence:
            outside.append(line)
    assert not fence, "no line of the project ends a block"
    tags = re.findall(r"<[^>]*>", re.sub("`[^`]*`", "", "\n".join(outside)))
    assert set(tags) == {"<details>", "<summary>", "<code>", "</code>", "</summary>", "</details>"}
    (row,) = [line for line in outside if line.startswith("| error")]
    assert len(re.findall(r"(?<!\\)\|", row)) == 5
