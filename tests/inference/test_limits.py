"""Whatever the code does, the inference ends, soon, and without an error."""

from time import process_time

import libcst as cst
import pytest
from given import given, parsed, revealed

from devlint.inference.api import infer_with, new_context
from devlint.inference.domain import value
from devlint.inference.domain.host import Const
from devlint.inference.syntax.text import shorten
from devlint.knowledge import load


def test_a_deep_chain_of_calls_ends():
    chain = "".join(f"def f{i}(x):\n    return f{i + 1}(x)\n" for i in range(200))
    code = f"{chain}def f200(x):\n    return x\nreveal(f0(torch.zeros(3).cuda()))"
    assert revealed(code) == ["cuda"]


def test_a_doubling_chain_of_calls_takes_time_in_proportion_to_its_length():
    chain = "".join(f"def f{i + 1}(x):\n    return f{i}(f{i}(x))\n" for i in range(60))
    began = process_time()
    assert revealed(f"def f0(x):\n    return x\n{chain}reveal(f60(torch.zeros(3).cuda()))") == [
        "cuda"
    ]
    assert process_time() - began < 5  # 2**60 calls would take longer


def test_a_sum_doubled_many_times_takes_time_in_proportion_to_its_length():
    doubled = "    x = x + x\n" * 60
    began = process_time()
    given(f"def f(x):\n{doubled}    return x")
    assert process_time() - began < 5  # 2**60 ways lead back to the parameter


def test_a_very_long_chain_of_calls_is_quoted_by_its_ends():
    links = "".join(f".step{i}()" for i in range(400))
    (chain,) = cst.parse_module(f"x{links}").body[0].body
    quoted = shorten(chain.value)
    assert quoted.startswith("x.step0().step1()") and quoted.endswith(".step399"), quoted


def test_classes_that_hold_each_other():
    assert revealed(
        """
        class A:
            def __init__(self):
                self.b = B()

            def go(self, x):
                return self.b.go(x)

        class B:
            def __init__(self):
                self.a = A()

            def go(self, x):
                return self.a.go(x)

        reveal(A().go(torch.zeros(3).cuda()))
        """
    ) == ["cuda"]


@pytest.mark.parametrize(
    "classes",
    [
        "class A(A):\n    pass",
        "class A(B):\n    pass\nclass B(A):\n    pass\nclass A(B):\n    pass",
        "class A(nn.Module):\n    def forward(self, x):\n        return A()(x)",
        "class A(nn.Module):\n    def __init__(self):\n        self.a = A()",
    ],
)
def test_classes_that_are_their_own_base_or_part(classes):
    assert given(f"{classes}\nx = A()\ny = x(torch.zeros(3))").budgets_hit == []


RING = """
def recent(size):
    BEFORE, AFTER, KEY, RESULT = 0, 1, 2, 3
    kept = {}
    ring = []
    ring[:] = [ring, ring, None, None]

    def put(key, result):
        nonlocal ring
        link = kept.get(key)
        if link is not None:
            before, after, _, result = link
            before[AFTER] = after
            after[BEFORE] = before
            last = ring[BEFORE]
            last[AFTER] = ring[BEFORE] = link
            link[BEFORE] = last
            link[AFTER] = ring
        elif len(kept) > size:
            old = ring
            old[KEY] = key
            ring = old[AFTER]
            ring[KEY] = ring[RESULT] = None
            kept[key] = old
        else:
            last = ring[BEFORE]
            link = [last, ring, key, result]
            last[AFTER] = ring[BEFORE] = kept[key] = link

    return put
"""

SELF = """
root = []
root.append(root)
x = root[0]
for y in root:
    x = [x, y]
    root.append(x)
"""


@pytest.mark.parametrize("code", [RING, SELF])
def test_lists_that_hold_themselves(code):
    assert given(code).meetings == []


def test_a_property_that_reads_itself():
    given("class A:\n    @property\n    def x(self):\n        return self.x\nA().x")


def test_a_body_beyond_the_budget_is_left_and_said_so():
    file = parsed("main.py", "x = torch.zeros(3)\n" + "x = x + 1\n" * 300)
    context = new_context(load(), None)
    context.budget = 200
    assert infer_with(context, file).budgets_hit == ["main.py: its body is too large"]


def test_a_function_beyond_the_budget_is_left_and_the_next_one_is_not():
    big = "def big(x):\n" + "    x = x + 1\n" * 300 + "    return x\n"
    bad = "def bad():\n    return torch.zeros(3).cuda() + torch.ones(3)\n"
    context = new_context(load(), None)
    context.budget = 200
    facts = infer_with(context, parsed("main.py", big + bad))
    assert facts.budgets_hit == ["main.py: big is too large to be inferred whole"]
    assert len(facts.meetings) == 1


@pytest.mark.parametrize("code", ["", "pass", "...", "# nothing", "import torch"])
def test_files_with_nothing_in_them(code):
    facts = given(code)
    assert facts.meetings == facts.moves == facts.syncs == []


def test_a_long_table_is_compared_no_further_than_the_limit(monkeypatch):
    compared = 0
    merge = value.merge

    def counted(*arguments):
        nonlocal compared
        compared += 1
        return merge(*arguments)

    monkeypatch.setattr(value, "merge", counted)
    assert value.union(Const(str(n)) for n in range(5_000)) is value.TOP
    assert compared <= value.MAX_ALTERNATIVES**2
