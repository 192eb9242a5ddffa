"""The HTML report in a real browser: what it shows, its filters, and that hostile text stays text.

Needs a browser: see `browsing`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from browser import WIDTHS, look_at
from fakes import Tree
from sample_reports import hostile, ordinary

from devlint.reporters.html import render
from devlint.reporters.options import Options
from devlint.rules import load_rules

PROBE = """
    const all = (selector) => [...page.querySelectorAll(selector)];
    const shown = () => all("article").filter((each) => each.offsetHeight > 0)
      .map((each) => each.dataset.rule);
    const change = (selector, change) => {
      const control = page.querySelector(selector);
      change(control);
      control.dispatchEvent(new Event("input", {bubbles: true}));
      return [shown(), page.getElementById("shown").textContent];
    };
    const found = {
      width: frame.clientWidth,
      scrolls: page.documentElement.scrollWidth,
      files: all("section.file h2").map((each) => each.innerText),
      findings: all("article").map((each) => each.innerText),
      marked: all("article > pre mark").map((each) => each.innerText),
      bars: all("#counts rect").map((each) => each.getBoundingClientRect().width > 0),
      errors: page.querySelector("#errors").innerText,
      rules: all("details[id]").map((each) => each.id),
      scripts: all("script").length,
      elements: [...new Set(all("article *").map((each) => each.tagName.toLowerCase()))].sort(),
      requests: frame.contentWindow.performance.getEntriesByType("resource").length,
      before: shown(),
      severity: change("[value=error]", (box) => { box.checked = false; }),
      again: change("[value=error]", (box) => { box.checked = true; }),
      rule: change("select", (list) => { list.selectedIndex = list.options.length - 1; }),
      every: change("select", (list) => { list.selectedIndex = 0; }),
      words: change("[type=search]", (field) => { field.value = "WAITS for"; }),
      path: change("[type=search]", (field) => { field.value = "pkg/a"; }),
      nothing: change("[type=search]", (field) => { field.value = "no such words"; }),
      empty: all("section.file").filter((each) => each.offsetHeight > 0).length,
    };
    change("[type=search]", (field) => { field.value = ""; });
    for (const details of all("details")) details.open = true;
    found.fixes = all("article details").map((each) => each.innerText);
    found.scrollsOpened = page.documentElement.scrollWidth;
    return found;
"""
OPTIONS = Options(rules=load_rules())
OURS = set(re.findall("[a-z0-9]+", "a b code details h3 li mark ol p pre span summary"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page")


def test_findings_with_code_trace_and_fix_and_filters(tree: Tree, folder: Path) -> None:
    views, console = look_at(render(ordinary(tree), OPTIONS), PROBE, folder)
    assert console == []
    assert [view["width"] for view in views] == list(WIDTHS)
    for view in views:
        assert view["requests"] == 0
        assert max(view["scrolls"], view["scrollsOpened"]) <= view["width"]
        assert view["files"] == ["pkg/a.py 2"]
        mixed, sync = view["findings"]
        assert mixed.startswith("ERROR DEV101 a is on cpu, b is on cuda certain")
        assert "a is on cpu: made here" in mixed
        assert "Instead: move a first" in mixed
        assert sync.startswith("PERFORMANCE DEV303 waits for the device likely")
        assert view["marked"] == ["a + b", "sync()"]
        assert view["bars"] == [True, True]
        assert "b.py:1:5 syntax error: '(' was never closed" in view["errors"]
        assert view["rules"] == ["DEV101", "DEV303"]
        (fix,) = view["fixes"]
        assert "-x = a + b\n+x = a.to(b.device) + b" in fix


def test_filters_by_severity_rule_words_and_path(tree: Tree, folder: Path) -> None:
    (view, _), _ = look_at(render(ordinary(tree), OPTIONS), PROBE, folder)
    both = ["DEV101", "DEV303"]
    assert view["before"] == both
    assert view["severity"] == [["DEV303"], "1 of 2 shown"]
    assert view["again"] == view["every"] == view["path"] == [both, "2 of 2 shown"]
    assert view["rule"] == view["words"] == [["DEV303"], "1 of 2 shown"]
    assert view["nothing"] == [[], "0 of 2 shown"]
    assert view["empty"] == 0


def test_hostile_text_is_text(folder: Path) -> None:
    views, console = look_at(render(hostile(), OPTIONS), PROBE, folder)
    assert console == []
    for view in views:
        assert view["scripts"] == 1
        assert set(view["elements"]) <= OURS
        assert "</script><b>" in view["findings"][0]
        assert view["scrollsOpened"] <= view["width"]


def test_without_a_script_everything_is_there(tree: Tree) -> None:
    page = render(ordinary(tree), OPTIONS)
    assert re.search(r'<form id="filters" hidden>', page)
    assert page.count("<article") == 2 and "<article hidden" not in page


def test_suppressed_findings_are_said_to_be(tree: Tree) -> None:
    report = ordinary(tree)
    report.suppressed = [replace(report.findings[0], message="as meant")]
    assert "as meant" not in render(report, OPTIONS)
    page = render(report, replace(OPTIONS, show_suppressed=True))
    assert re.search(r'suppressed error</b> <a href="#DEV101">DEV101</a> as meant', page)
