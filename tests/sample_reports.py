"""Reports for the tests of formats: an ordinary one by the fakes, and one full of hostile text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import fakes
from fakes import Tree

from devlint.findings import (
    Applicability,
    Confidence,
    Edit,
    FileError,
    Finding,
    Fix,
    Location,
    Related,
    Severity,
)
from devlint.report import Report

# Steers a terminal, ends a tag, an attribute, a code block, a table cell and a workflow command.
HOSTILE = "\x1b]0;owned\x07\x9b31m</script><b>'\"&`|```\r\n::error::x\u202e\udc80\ufffe%0A"
HOSTILE_PATH = f"odd{HOSTILE.replace('/', '')}.py"


def ordinary(tree: Tree) -> Report:
    """An error with trace, advice and fix, a performance finding, and a file that is broken."""
    root = tree({"pkg/a.py": "\nx = a + b\nsync()\n", "b.py": "x = (\n", "c.py": "x = 1\n"})
    return fakes.check(root)


def hostile() -> Report:
    place = Location(HOSTILE_PATH, 1, 1, 1, 4)
    finding = Finding(
        "DEV101",
        "mixed-device-operation",
        Severity.ERROR,
        Confidence.POSSIBLE,
        place,
        f"`{HOSTILE}` is here",
        f"write `{HOSTILE}`",
        (Related(replace(place, path="other.py"), HOSTILE),),
        Fix(Applicability.SAFE, (Edit(place, f"a{HOSTILE}"),)),
        fingerprint="0123456789abcdef",
    )
    return Report(
        Path("/project"),
        files=2,
        checked={HOSTILE_PATH},
        findings=[finding],
        suppressed=[finding],
        errors=[FileError(HOSTILE_PATH, 1, 1, HOSTILE)],
        excerpts={HOSTILE_PATH: {1: HOSTILE}, "other.py": {1: HOSTILE}},
    )
