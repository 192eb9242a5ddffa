"""Which of several findings a bug of a run confirms: those that speak of it, and no other."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from runtime_guard.commands.confirm import confirm

DIED_INSIDE = """\
import torch

def shift(x):
    return x + torch.ones(4)

def run(x):
    total = torch.zeros(1)
    total += shift(x).sum()
    return total

run(torch.rand(2, 4).cuda())
"""
INNER_FIRST = """\
import torch

def run(x):
    return (x + torch.ones(4)) * torch.arange(4)

run(torch.rand(2, 4).cuda())
"""
LATER = """\
import torch

def run(x, fine):
    table = torch.ones(4, device=fine)
    y = x + table
    return y * torch.arange(4)

run(torch.rand(2, 4).cuda(), "cuda")
"""
TURNS_BACK = """\
import torch

def inner(x):
    if x.dim() < 9:
        return x * 2
    return x + torch.ones(4)

def run(x):
    return inner(x)

run(torch.rand(2, 4).cuda())
"""


def place(source: str, text: str, message: str = "") -> dict:
    """The expression ``text`` of ``source``, the first of its kind, as a report has places."""
    node = next(
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.expr, ast.AugAssign)) and ast.unparse(node) == text
    )
    return {
        "path": "program.py",
        "line": node.lineno,
        "column": node.col_offset + 1,
        "end_line": node.end_lineno,
        "end_column": (node.end_col_offset or 0) + 1,
        "message": message,
    }


def meeting(source: str, text: str, cause: str, *more: dict) -> dict:
    """A finding of DEV102 at ``text`` that traces ``cause``."""
    made = place(source, cause, f"`{cause}` is on cpu: made here on the default device")
    return {**place(source, text, "one device"), "rule": "DEV102", "related": [made, *more]}


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """The verdict of each finding about a program that is run, and the lines that were missed."""
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("has a real CUDA device")
    monkeypatch.chdir(tmp_path)

    def run(source: str, *findings: dict) -> tuple[list[str], list[int]]:
        Path("program.py").write_text(source)
        result = confirm({"version": 1, "findings": [*findings]}, ["program.py"], virtual="cuda:1")
        return [f["verdict"] for f in result.findings], [e.site.line for e in result.missed]

    return run


def test_a_bug_inside_a_call_is_not_the_one_at_the_call(judged, capsys):
    outer = meeting(DIED_INSIDE, "total += shift(x).sum()", "torch.zeros(1)")
    inner = meeting(DIED_INSIDE, "x + torch.ones(4)", "torch.ones(4)")
    assert judged(DIED_INSIDE, outer, inner) == (["undecided", "confirmed"], [])
    assert judged(DIED_INSIDE, outer) == (["undecided"], [4])


def test_a_bug_inside_a_call_is_the_one_that_is_told_there(judged, capsys):
    inside = place(DIED_INSIDE, "x + torch.ones(4)", "they meet here, by `+`")
    told = meeting(DIED_INSIDE, "shift(x)", "torch.ones(4)", inside)
    assert judged(DIED_INSIDE, told) == (["confirmed"], [])


def test_of_two_operations_in_one_line_the_inner_one_came_first(judged, capsys):
    outer = meeting(INNER_FIRST, "(x + torch.ones(4)) * torch.arange(4)", "torch.arange(4)")
    inner = meeting(INNER_FIRST, "x + torch.ones(4)", "torch.ones(4)")
    assert judged(INNER_FIRST, outer, inner) == (["undecided", "confirmed"], [])
    assert judged(INNER_FIRST, inner, outer) == (["confirmed", "undecided"], [])
    # nor without the other finding
    assert judged(INNER_FIRST, outer) == (["undecided"], [4])


def test_what_was_computed_by_an_operation_may_meet_another_device_later(judged, capsys):
    fine = meeting(LATER, "x + table", "torch.ones(4, device=fine)")
    assert judged(LATER, fine) == (["refuted"], [6])


def test_where_the_meeting_is_inside_it_has_to_be_reached(judged, capsys):
    inside = place(TURNS_BACK, "x + torch.ones(4)", "they meet here, by `+`")
    told = meeting(TURNS_BACK, "inner(x)", "torch.ones(4)", inside)
    assert judged(TURNS_BACK, told) == (["not executed"], [])
