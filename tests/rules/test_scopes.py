"""A fix says a device in words that mean the same at its place as where they were read."""

from __future__ import annotations

import libcst as cst
import pytest
from devlint_rules.helpers.scopes import means_the_same
from facts_by_hand import source

from devlint.inference.facts import Facts


def means(code: str, text: str) -> bool:
    """Whether `text` means at `there()` what it means where it is handed to `read(…)`."""
    made = source(code)
    read = made.site(f"read({text})").node
    assert isinstance(read, cst.Call)
    return means_the_same(Facts(made), text, read.args[0].value, made.site("there()").node)


@pytest.mark.parametrize(
    ("code", "same"),
    [
        ("d = 1\nread(d)\nthere()\n", True),
        ("d = 1\nthere()\nread(d)\n", True),
        ("there()\nd = 1\nread(d)\n", False),
        ("d = 1\nread(d)\nd = 2\nthere()\n", False),
        ("if x:\n    d = 1\nread(d)\nthere()\n", False),
        ("with x:\n    d = 1\n    read(d)\nthere()\n", False),
        ("for d in ds:\n    read(d)\n    there()\n", False),
        ("def f(d):\n    read(d)\n    there()\n", True),
        ("def f(d):\n    there()\n    read(d)\n", True),
        ("def f(d):\n    d = other(d)\n    read(d)\n    there()\n", False),
        ("def f(d):\n    read(d)\ndef g(d):\n    there()\n", False),
        ("d = 1\ndef f():\n    read(d)\ndef g():\n    there()\n", True),
        ("d = 1\ndef f():\n    read(d)\ndef g(d):\n    there()\n", False),
        ("d = 1\ndef f():\n    read(d)\ndef g():\n    d = 2\n    there()\n", False),
        ("def f(d):\n    def g():\n        there()\n    read(d)\n", True),
        ("def f(d):\n    read(d)\n    return [there() for d in ds]\n", False),
        ("def f():\n    read(d)\n    there()\n", False),
        ("import d\nread(d)\nthere()\n", True),
        ("try:\n    pass\nexcept E as d:\n    read(d)\n    there()\n", False),
    ],
)
def test_a_name_is_bound_once_before_both_in_one_scope(code, same):
    assert means(code, "d") == same


@pytest.mark.parametrize(
    ("code", "same"),
    [
        ("def f(a):\n    read(a.d)\n    there()\n", True),
        ("def f(a):\n    read(a.d)\n    a.d = 1\n    there()\n", False),
        ("def f(a):\n    read(a.d)\n    a = 1\n    there()\n", False),
    ],
)
def test_an_attribute_goes_with_its_owner(code, same):
    assert means(code, "a.d") == same


def test_a_literal_means_the_same_everywhere_and_an_expression_need_not():
    assert means('read("cuda:1")\nthere()\n', '"cuda:1"')
    assert not means("def f(a):\n    read(pick(a))\n    there()\n", "pick(a)")
