"""Small rewrites of calls: they keep what they do not change, and parse."""

from __future__ import annotations

import libcst as cst
import pytest
from devlint_rules.helpers.rewrites import (
    add_argument,
    is_path,
    move_target,
    parsed,
    short,
    text_of,
    with_argument,
    without_argument,
)
from facts_by_hand import source

from devlint.inference.facts import Site


def call(text: str) -> cst.Call:
    node = cst.parse_expression(text)
    assert isinstance(node, cst.Call)
    return node


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f()", "f(device=d)"),
        ("f(1)", "f(1, device=d)"),
        ("f(1, b=2)", "f(1, b=2, device=d)"),
        ("f(*shape)", "f(*shape, device=d)"),
        ("f(**options)", "f(**options, device=d)"),
        ("f(\n    1,\n    2,\n)", "f(\n    1,\n    2, device=d,\n)"),
        ("f([i for i in x])", "f([i for i in x], device=d)"),
    ],
)
def test_one_more_argument(before: str, after: str):
    assert with_argument(call(before), "device=d") == after
    cst.parse_expression(after)


def test_a_bare_generator_takes_no_second_argument():
    assert with_argument(call("f(i for i in x)"), "device=d") is None
    text = source("f(i for i in x)\n")
    assert add_argument(text.site("f(i for i in x)"), "device=d") == ()


def test_only_the_last_argument_is_touched():
    text = source("y = f(\n    1,  # one\n    2,  # two\n)\n")
    node = text.tree.body[0].body[0].value
    (replacement,) = add_argument(Site(text, node), "device=d")
    assert replacement.site.node is node.args[-1]
    assert replacement.text == "2, device=d"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('x.to("cpu", non_blocking=True)', 'x.to("cpu")'),
        ('x.to(non_blocking=True, device="cpu")', 'x.to(device="cpu")'),
        ("x.cpu(non_blocking=True)", "x.cpu()"),
    ],
)
def test_one_argument_less(before: str, after: str):
    assert without_argument(call(before), "non_blocking") == after


@pytest.mark.parametrize(
    ("move", "target"),
    [
        ("x.to(device)", "device"),
        ("x.to(device=d)", "d"),
        ('x.to("cuda", non_blocking=True)', '"cuda"'),
        ("x.cuda()", '"cuda"'),
        ("x.cuda(1)", '"cuda:1"'),
        ("x.cuda(rank)", "rank"),
        ("x.cuda(non_blocking=True)", '"cuda"'),
        ("x.cpu()", '"cpu"'),
        ("x.to(d, torch.half)", None),
        ("x.to(dtype=torch.half)", None),
        ("x.to(*args)", None),
        ("x.type_as(y)", None),
    ],
)
def test_the_device_that_a_move_names(move: str, target: str | None):
    assert move_target(call(move)) == target


def test_paths():
    assert is_path("x") and is_path("self.a.b")
    assert not any(map(is_path, ["", "f(x)", "x[0]", "a + b", "self.proj(…", "x.", "1"]))


def test_long_texts_are_cut():
    node = cst.parse_expression("f(" + ", ".join(f"argument_{i}" for i in range(20)) + ")")
    assert len(short(node)) == 60 and short(node).endswith("…")


def test_comments_inside_a_call_are_no_part_of_its_name():
    assert short(call("f(  # first\n    1,  # one\n    '#2',\n)")) == "f( 1, '#2', )"


@pytest.mark.parametrize(
    ("written", "text"),
    [("((a))", "a"), ("(a, b)", "a, b"), ("()", "()"), ("(i for i in x)", "i for i in x")],
)
def test_a_text_goes_without_its_outer_parentheses(written: str, text: str):
    assert text_of(cst.parse_expression(written)) == text
    assert text_of(parsed(text)) == text


def test_a_text_with_lines_of_its_own_is_an_expression():
    assert text_of(parsed("x\n.y()\n+ z")) == "x\n.y()\n+ z"
