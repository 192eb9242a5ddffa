"""Fixes of our rules on real code: what they leave, and that they come to rest.

`fixtures/fixes/` holds the fixed form of bad fixtures, under the same names.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from everyday_code import FOUND, SILENT, findings_of
from rule_check import FIXTURES, RULES, config_for

from devlint.findings import Finding
from devlint.fixes import Fixed, fix, fix_bytes

FIXED = FIXTURES / "fixes"
BAD = sorted((FIXTURES / "rules").glob("*/bad_*.py")) + sorted(
    (FIXTURES / "teaching").glob("bad_*.py")
)


def named(path: Path) -> str:
    return path.relative_to(FIXTURES).as_posix()


def fix_all(path: Path, *codes: str, content: bytes | None = None) -> Fixed:
    rules = tuple(rule for code, rule in RULES.items() if not codes or code in codes)
    contents = {path: content} if content is not None else None
    return fix([path], config_for(path.parent), rules, unsafe=True, contents=contents)


@functools.cache
def all_fixed(path: Path) -> Fixed:
    """A fixture after every fix of every rule, which more than one law is about."""
    return fix_all(path)


def after(path: Path, fixed: Fixed) -> bytes:
    return fixed.changes[0].after if fixed.changes else path.read_bytes()


@pytest.mark.parametrize("path", sorted(FIXED.glob("*/*.py")), ids=named)
def test_what_a_fix_makes_of_a_file(path: Path):
    bad = FIXTURES / "rules" / path.parent.name / path.name
    fixed = fix_all(bad, path.parent.name)
    assert after(bad, fixed).decode() == path.read_text()
    assert not fixed.report.errors
    assert [f for f in fixed.report.findings if f.rule == path.parent.name] == []


@pytest.mark.parametrize("path", BAD, ids=named)
def test_fixing_twice_is_fixing_once(path: Path):
    once = all_fixed(path)
    assert not once.report.errors  # it parses, among other things
    twice = fix_all(path, content=after(path, once))
    assert twice.changes == [] and twice.count == 0


@pytest.mark.parametrize("path", BAD, ids=named)
def test_no_finding_that_had_a_fix_is_left(path: Path):
    assert [f for f in all_fixed(path).report.findings if f.fix is not None] == []


ANYTHING = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*?"  # that closes the brackets it opens


def count_of(code: str, text: str) -> int:
    """How often code stands in a text, however it is laid out; `…` stands for anything."""
    laid_out = r"\s+|,(?=\s*[)\]])"
    parts = [re.escape(re.sub(laid_out, "", part)) for part in code.split("…")]
    bare = re.sub(laid_out, "", text)
    return len(re.findall(f"(?={ANYTHING.join(parts)})", bare))


def agrees(advice: str, before: str, after: str) -> bool:
    """Whether some code that the advice names came to the file, or left it as the advice says."""
    named = re.findall("`([^`]*)`", advice)
    codes = [*named, *(code.partition(" = ")[2] for code in named if " = " in code)]
    changes = [count_of(code, after) - count_of(code, before) for code in codes]
    takes_away = advice.startswith(("drop ", "remove "))
    return any(change > 0 for change in changes) or (takes_away and min(changes, default=0) < 0)


def disagreements(path: Path, findings: Iterable[Finding]) -> Iterator[str]:
    data = path.read_bytes()
    for finding in findings:
        if finding.fix is not None:
            fixed, _ = fix_bytes(path, data, [finding.fix])
            if not agrees(finding.advice, data.decode(), fixed.decode()):
                yield f"{named(path)}:{finding.location.line}: {finding.rule} {finding.advice}"


@pytest.mark.parametrize("path", BAD, ids=named)
def test_the_advice_names_what_the_fix_writes(path: Path):
    assert list(disagreements(path, all_fixed(path).before.findings)) == []


def test_it_does_so_in_everyday_code():
    found = {path: findings_of(path) for path in (*FOUND, *SILENT)}
    assert sum(finding.fix is not None for each in found.values() for finding in each) > 20
    assert [said for path, each in found.items() for said in disagreements(path, each)] == []


@pytest.mark.parametrize(
    ("advice", "after", "agreed"),
    [
        ("move it: `b.to(a.device)`", "a + b.to(a.device)", True),
        ("move it: `(…).to(a.device)`", "a + (b -\n 1).to(a.device)", True),
        ("make it there: `ones(3, device=a.device)`", "a + b.to(a.device)", False),
        ("remove `+ b`", "a", True),
        ("keep `+ b`", "a", False),
        ("move it", "a + b.to(a.device)", False),
    ],
)
def test_when_advice_and_fix_agree(advice: str, after: str, agreed: bool):
    assert agrees(advice, "a + b", after) is agreed


def test_every_rule_that_promises_a_fix_has_a_fixed_fixture():
    promised = {code for code, rule in RULES.items() if rule.fix}
    shown = {path.parent.name for path in FIXED.glob("*/*.py")}
    assert promised == shown


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("torch.cuda.FloatTensor(n, 1)", 'torch.empty(n, 1, dtype=torch.float32, device="cuda")'),
        (
            "torch.LongTensor([0, n], device=x.device)",
            "torch.tensor([0, n], dtype=torch.int64, device=x.device)",
        ),
        ("torch.cuda.LongTensor([n])", 'torch.tensor([n], dtype=torch.int64, device="cuda")'),
        ("torch.cuda.FloatTensor(*n)", None),  # a list, or sizes
        ("torch.cuda.FloatTensor(n)", None),
        ("torch.LongTensor(n, device=x.device)", None),
    ],
)
def test_what_a_fix_makes_of_a_legacy_type(tmp_path: Path, old: str, new: str | None):
    file = tmp_path / "old.py"
    text = f"import torch\n\n\ndef made(n, x: torch.Tensor):\n    return x + {old}\n"
    file.write_text(text)
    assert after(file, fix_all(file, "DEV503")).decode() == text.replace(old, new or old)


@pytest.mark.parametrize(
    ("imports", "is_mended"),
    [
        ("import torch\nfrom torch import LongTensor as Index, Tensor\n", True),
        ("from torch import LongTensor as Index, Tensor\n", False),  # `torch` is no name of it
    ],
)
def test_a_legacy_type_that_is_imported_is_the_same(tmp_path: Path, imports: str, is_mended: bool):
    file = tmp_path / "old.py"
    old = "Index([0], device=x.device)"
    new = "torch.tensor([0], dtype=torch.int64, device=x.device)"
    text = f"{imports}\n\ndef made(x: Tensor):\n    return x + {old}\n"
    file.write_text(text)
    expected = text.replace(old, new) if is_mended else text
    assert after(file, fix_all(file, "DEV503")).decode() == expected


WRITTEN = """\
import torch


def spread(index: torch.Tensor, n: int) -> torch.Tensor:
    total = torch.zeros(n{device})
    {statement}
    return total
"""


@pytest.mark.parametrize(
    "statement",
    [
        "total.scatter_(0, index, 1.0)",
        "total.index_add_(0, index, index.float())",
        "total.view(-1).add_(index)",
        "total += index",
        "total[1:] += index",
        "torch.add(index, 1, out=total)",
    ],
)
def test_what_is_written_in_place_is_made_elsewhere_and_no_copy_of_it_written(
    tmp_path: Path, statement: str
):
    """A copy would be changed in its stead, and the tensor itself would stay as it was."""
    path = tmp_path / "spread.py"
    path.write_text(WRITTEN.format(device="", statement=statement))
    fixed = WRITTEN.format(device=", device=index.device", statement=statement)
    assert after(path, fix_all(path, "DEV101", "DEV102", "DEV104")).decode() == fixed


def test_what_is_read_is_moved_where_it_meets(tmp_path: Path):
    path = tmp_path / "spread.py"
    path.write_text(WRITTEN.format(device="", statement="total = total[1:] + index"))
    fixed = WRITTEN.format(device="", statement="total = total[1:].to(index.device) + index")
    assert after(path, fix_all(path, "DEV102")).decode() == fixed


LINES = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = {before}nn.Linear(n, n),  # first
                       nn.ReLU()]{after}  # second

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def start(device):
    if device is not None:
        ones = torch.ones(
            3,
            4,{given}
        ){moved}
        return ones
"""


def test_a_fix_of_several_lines_keeps_their_indentation(tmp_path: Path):
    path = tmp_path / "net.py"
    path.write_text(LINES.format(before="[", after="", given="", moved=".to(device)"))
    text = after(path, fix_all(path, "DEV206", "DEV304")).decode()
    given = " device=device,"
    assert text == LINES.format(before="nn.ModuleList([", after=")", given=given, moved="")


@pytest.mark.parametrize(
    ("argument", "fixed"), [("device  # the one in use", False), ("device", True)]
)
def test_a_fix_that_would_lose_a_comment_is_not_made(tmp_path: Path, argument: str, fixed: bool):
    path = tmp_path / "eye.py"
    text = "import torch\n\n\ndef start(device):\n    return torch.eye(3).to(\n        {}\n    )\n"
    path.write_text(text.format(argument))
    assert (after(path, fix_all(path, "DEV304")) != path.read_bytes()) == fixed


# --- safe fixes bring no finding of their own --------------------------------------------------

MEETINGS = """\
import torch


def f(x: torch.Tensor, n: int):
    return {}
"""


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        ("x + 2 * torch.eye(n)", "x + 2 * torch.eye(n, device=x.device)"),
        ("x + (-torch.eye(n))[None].abs()", "x + (-torch.eye(n, device=x.device))[None].abs()"),
        ("x + torch.triu(torch.ones(n, n))", "x + torch.triu(torch.ones(n, n, device=x.device))"),
        # every factory has its turn
        (
            "x + torch.ones(n) * torch.eye(n)",
            "x + torch.ones(n, device=x.device) * torch.eye(n, device=x.device)",
        ),
        # a callee out of sight may want it on the host
        ("x + grown(torch.eye(n))", "x + grown(torch.eye(n)).to(x.device)"),
        # one of two, of which the other would be left behind
        (
            "x + (torch.eye(n) if n else torch.ones(n, n))",
            "x + ((torch.eye(n) if n else torch.ones(n, n)).to(x.device))",
        ),
    ],
)
def test_what_is_made_where_it_meets_is_made_there(tmp_path: Path, bad: str, good: str):
    path = tmp_path / "x.py"
    path.write_text(MEETINGS.format(bad))
    fixed = fix([path], config_for(tmp_path), tuple(RULES.values()))
    assert after(path, fixed).decode() == MEETINGS.format(good)
    assert fixed.report.findings == []


def test_what_follows_from_a_contradiction_is_said_before_it_is_mended(tmp_path: Path):
    path = tmp_path / "x.py"
    path.write_text("""\
import torch


def f(x: torch.Tensor):
    y = torch.zeros(3) + x
    return y.lt(0).type(torch.FloatTensor)
""")
    fixed = fix([path], config_for(tmp_path), tuple(RULES.values()))
    said = [
        [(f.message, f.confidence) for f in report.findings if f.rule == "DEV503"]
        for report in (fixed.before, fixed.report)
    ]
    assert len(said[0]) == 1 and said[0] == said[1] and "changes the device" in said[0][0][0]
    assert fixed.count == 1
