"""What each call makes anew before it reads it is no state of the object."""

from textwrap import dedent, indent

import libcst as cst
import pytest
from given import met, settled

from devlint.inference.syntax.exposed_reads import ExposedReads


def made_anew(*methods: str) -> bool:
    found = [cst.parse_statement(dedent(method)) for method in methods]
    return ExposedReads({each.name.value: each for each in found}).is_made_anew("mask")


def forward(body: str) -> str:
    return f"def forward(self, x):\n{indent(dedent(body), '    ')}\n"


MAKE = "def make(self): self.mask = ones()"
ONCE = "def make_once(self):\n    if self.made: return\n    self.mask = ones()"


@pytest.mark.parametrize(
    ("body", "anew"),
    [
        ("self.mask = ones()\nreturn self.mask", True),
        ("y = self.mask\nself.mask = ones()", False),
        ("self.mask = self.mask + 1\nreturn self.mask", False),
        ("self.mask += 1\nreturn self.mask", False),
        ("self.mask[0] = 1\nreturn self.mask", False),
        ("self.mask, n = ones(), 1\nreturn self.mask", True),
        ("self.mask: Tensor = ones()\nreturn self.mask", True),
        ("if x:\n    self.mask = ones()\nreturn self.mask", False),
        ("if x:\n    self.mask = ones()\nelse:\n    self.mask = zeros()\nreturn self.mask", True),
        ("if x:\n    self.mask = ones()\nelse:\n    return x\nreturn self.mask", True),
        ("if x:\n    return x\nself.mask = ones()\nreturn self.mask", True),
        ("for i in x:\n    self.mask = ones()\nreturn self.mask", False),
        ("for i in x:\n    self.mask = ones()\n    x += self.mask", True),
        ("while x:\n    self.mask = ones()\n    x += self.mask", True),
        ("with grad():\n    self.mask = ones()\nreturn self.mask", True),
        ("try:\n    self.mask = ones()\nexcept E:\n    pass\nreturn self.mask", False),
        ("try:\n    self.mask = ones()\nexcept E:\n    raise\nreturn self.mask", True),
        ("try:\n    use()\nfinally:\n    self.mask = ones()\nreturn self.mask", True),
        ("self.make_once()\nreturn self.mask", False),
        ("x and self.make()\nreturn self.mask", False),
        ("self.make()\nreturn self.mask", True),
        ("y = self.make()\nreturn self.mask", True),
        ("if self.mask is None:\n    self.make()\nreturn self.mask", False),
        ("self.mask = ones()", False),  # nobody reads it
        ("return x", False),
    ],
)
def test_each_way_assigns_it_first(body, anew):
    assert made_anew(forward(body), MAKE, ONCE) is anew


@pytest.mark.parametrize(
    ("other", "anew"),
    [
        ("def step(self, x): return x * self.mask", True),  # `forward` calls it
        ("def show(self): print(self.mask)", False),
        ("def show(self):\n    self.make()\n    print(self.mask)", True),
        ("def __init__(self): self.mask = None", True),
    ],
)
def test_each_method_that_may_be_called_from_outside_counts(other, anew):
    body = "self.make()\nreturn self.step(x) * self.mask"
    assert made_anew(forward(body), MAKE, other) is anew


def test_methods_that_call_one_another_come_to_an_end():
    step = "def step(self, x): return self.forward(x)"
    assert not made_anew(forward("return self.step(x) * self.mask"), step)
    assert made_anew(forward("self.mask = ones()\nreturn self.step(x) * self.mask"), step)


CLASS = """
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def make(self, n):
            self.mask = torch.ones(n)

        def forward(self, x):
            {line}
            return self.layer(x) * self.mask
"""


def test_what_each_call_makes_is_a_value_of_the_call_and_no_plain_attribute():
    code = CLASS.format(line="self.make(len(x))")
    assert not settled(code).plain_attributes
    assert len(met(code)) == 1
    code = CLASS.format(line="if len(x) > 3: self.make(len(x))")
    assert [each.attribute for each in settled(code).plain_attributes] == ["mask"]


def test_a_subclass_may_read_what_another_call_made():
    code = CLASS.format(line="self.make(len(x))")
    code += """
    class Shown(Masked):
        def show(self):
            return self.mask
    """
    assert [each.attribute for each in settled(code).plain_attributes] == ["mask"]
