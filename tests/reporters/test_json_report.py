"""The JSON report: format version 1, which other programs rely on."""

from __future__ import annotations

import json

import fakes
from fakes import Tree

from devlint.reporters.json import render
from devlint.reporters.options import Options


def test_the_whole_format(tree: Tree) -> None:
    root = tree({"a.py": "x = (\n", "pkg/b.py": "\nx = a + b\nsync()\n"})
    report = fakes.check(root)
    fingerprints = [finding.fingerprint for finding in report.findings]
    assert json.loads(render(report)) == {
        "version": 1,
        "files": 2,
        "findings": [
            {
                "rule": "DEV101",
                "name": "mixed-device-operation",
                "severity": "error",
                "confidence": "certain",
                "path": "pkg/b.py",
                "line": 2, "column": 5, "end_line": 2, "end_column": 10,
                "message": "`a` is on cpu, `b` is on cuda; move `a` first",
                "related": [
                    {
                        "path": "pkg/b.py",
                        "line": 2, "column": 5, "end_line": 2, "end_column": 6,
                        "message": "`a` is on cpu: made here",
                    }
                ],
                "assumptions": [],
                "fix": {
                    "applicability": "safe",
                    "edits": [
                        {
                            "path": "pkg/b.py",
                            "line": 2, "column": 5, "end_line": 2, "end_column": 6,
                            "text": "a.to(b.device)",
                        }
                    ],
                },
                "fingerprint": fingerprints[0],
            },
            {
                "rule": "DEV303",
                "name": "sync-in-loop",
                "severity": "performance",
                "confidence": "likely",
                "path": "pkg/b.py",
                "line": 3, "column": 1, "end_line": 3, "end_column": 7,
                "message": "waits for the device",
                "related": [],
                "assumptions": [],
                "fix": None,
                "fingerprint": fingerprints[1],
            },
        ],
        "errors": [
            {
                "path": "a.py", "line": 1, "column": 5,
                "message": "syntax error: '(' was never closed",
            }
        ],
    }  # fmt: skip


def test_suppressed_findings_are_listed_only_when_asked_for(tree: Tree) -> None:
    report = fakes.check(tree({"x.py": "a + b  # devlint: ignore[DEV101]\n"}))
    assert "suppressed" not in json.loads(render(report))
    whole = json.loads(render(report, Options(show_suppressed=True)))
    assert [found["rule"] for found in whole["suppressed"]] == ["DEV101"]
    assert whole["findings"] == []


def test_it_is_ascii_whatever_the_file_is_called(tree: Tree) -> None:
    report = fakes.check(tree({"δ日.py": "a + b\n"}))
    assert render(report).isascii()
    assert json.loads(render(report))["findings"][0]["path"] == "δ日.py"
