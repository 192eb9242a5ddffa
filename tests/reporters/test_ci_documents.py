"""The documents that CI servers read: GitLab's code quality and JUnit XML."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from fakes import Tree
from sample_reports import hostile, ordinary

from devlint.reporters import gitlab, junit
from devlint.reporters.options import Options


def test_gitlab_gets_place_severity_and_the_fingerprint(tree: Tree) -> None:
    report = ordinary(tree)
    mixed, sync, broken = json.loads(gitlab.render(report, Options(repository=report.root.parent)))
    assert mixed == {
        "description": "DEV101 mixed-device-operation: `a` is on cpu, `b` is on cuda; "
        "move `a` first",
        "check_name": "DEV101",
        "fingerprint": report.findings[0].fingerprint,
        "severity": "critical",
        "location": {
            "path": f"{report.root.name}/pkg/a.py",
            "positions": {"begin": {"line": 2, "column": 5}, "end": {"line": 2, "column": 10}},
        },
    }
    assert (sync["severity"], broken["severity"]) == ("minor", "blocker")
    assert len({mixed["fingerprint"], sync["fingerprint"], broken["fingerprint"]}) == 3


def test_junit_fails_a_test_for_each_finding_and_passes_one_for_each_clean_file(
    tree: Tree,
) -> None:
    root = ElementTree.fromstring(junit.render(ordinary(tree), Options()))
    (suite,) = root
    assert {key: suite.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "4", "failures": "2", "errors": "1"
    }  # fmt: skip
    cases = [(c.get("classname"), c.get("name"), [part.tag for part in c]) for c in suite]
    assert cases == [
        ("pkg/a.py", "DEV101 mixed-device-operation at 2:5", ["failure"]),
        ("pkg/a.py", "DEV303 sync-in-loop at 3:1", ["failure"]),
        ("b.py", "can be checked", ["error"]),
        ("c.py", "has no findings", []),
    ]
    failure = suite[0][0]
    assert failure.get("type") == "error"
    assert "pkg/a.py:2:5: `a` is on cpu: made here" in str(failure.text)


def test_hostile_text_is_still_xml() -> None:
    suite = ElementTree.fromstring(junit.render(hostile(), Options()))[0]
    assert [child.tag for case in suite for child in case] == ["failure", "error"]
