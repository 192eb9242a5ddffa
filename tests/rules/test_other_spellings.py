"""Everyday code that says the same in other words has the same findings."""

from __future__ import annotations

import re

import pytest
from everyday_code import EVERYDAY, FOUND, SILENT
from rule_check import shown

_PAIR = r"^([ \t]*)(\w+), (\w+) = \2\.to\((\w+)\), \3\.to\(\4\)$"
_LOOP = r"^([ \t]*)for (\w+), (\w+) in (\w*load\w*|data|batches):$"
SPELLINGS = {
    "device by keyword": (r"\.to\((device|self\.device)\)", r".to(device=\1)"),
    "made, then moved": (
        r"^([ \t]*)(\w+) = ([^=\n]+?\))\.to\((\w+)\)$",
        r"\1\2 = \3\n\1\2 = \2.to(\4)",
    ),
    "each moved for itself": (_PAIR, r"\1\2 = \2.to(\4)\n\1\3 = \3.to(\4)"),
    "moved by a generator": (_PAIR, r"\1\2, \3 = (each.to(\4) for each in (\2, \3))"),
    "moved by a list": (_PAIR, r"\1\2, \3 = [each.to(\4) for each in (\2, \3)]"),
    "moved by map": (_PAIR, r"\1\2, \3 = map(lambda each: each.to(\4), (\2, \3))"),
    "counted batches": (_LOOP, r"\1for step, (\2, \3) in enumerate(\4):"),
    "batches taken apart": (_LOOP, r"\1for batch in \4:\n\1    \2, \3 = batch"),
    "batches by index": (_LOOP, r"\1for batch in \4:\n\1    \2, \3 = batch[0], batch[1]"),
}
CASES = [
    (path, spelling)
    for path in (*FOUND, *SILENT)
    for spelling, (pattern, _) in SPELLINGS.items()
    if re.search(pattern, path.read_text("utf-8"), re.M)
]


def rules_of(text: str) -> list[str]:
    """The rules of what a user sees."""
    return sorted(each.rule for each in shown(text))


@pytest.mark.parametrize(
    ("path", "spelling"),
    CASES[::2],
    ids=[f"{path.relative_to(EVERYDAY).as_posix()} {spelling}" for path, spelling in CASES[::2]],
)
def test_what_is_spelled_otherwise_has_the_same_findings(path, spelling):
    text = path.read_text("utf-8")
    other = re.sub(*SPELLINGS[spelling], text, flags=re.M)
    assert other != text
    assert rules_of(other) == rules_of(text)


_OF_PARTS = re.compile(r"^(?:from|import) torch\.", re.M)
IMPORTS = [
    path
    for path in (*FOUND, *SILENT)
    if "import torch\n" in (text := path.read_text("utf-8")) and not _OF_PARTS.search(text)
]


@pytest.mark.parametrize("path", IMPORTS[::3], ids=lambda path: path.stem)
def test_a_library_under_another_name_is_the_same(path):
    text = path.read_text("utf-8")
    other = re.sub(r"(?<![\w.])torch\.", "th.", text).replace(
        "import torch\n", "import torch as th\n"
    )
    assert rules_of(other) == rules_of(text)
