"""Members of module containers that functions out of sight make, and activations chosen by name."""

import pytest
from given import met, revealed

STACK = """
from elsewhere import build

class Stack(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = {layers}
    def forward(self, x):
        y = torch.zeros(3)
        {use}
"""


@pytest.mark.parametrize(
    ("layers", "member"),
    [
        ("nn.ModuleList(build(n) for n in sizes)", "self.layers[0]"),
        ("nn.ModuleList([build(n) for n in sizes])", "self.layers[1:][-1]"),
        ("nn.Sequential(*[build(n) for n in sizes])", "self.layers[0]"),
        ("nn.ModuleDict({n: build(n) for n in sizes})", "self.layers['a']"),
    ],
)
def test_a_member_of_a_module_is_a_module_where_that_is(layers, member):
    shown = STACK.format(layers=layers, use=f"reveal({member}(x))")
    assert revealed(shown) == ["δ(self)"]
    (found,) = met(STACK.format(layers=layers, use=f"return {member}(y)"))
    assert found.startswith(f"input: y@cpu {member} ") and found.endswith("likely")
    assert met(STACK.format(layers=layers, use=f"return {member}(x)")) == []


def test_a_list_of_pythons_holds_anything():
    code = STACK.format(layers="[build(n) for n in sizes]", use="return self.layers[0](y)")
    assert met(code) == []


def test_an_activation_that_is_chosen_by_name_is_one():
    code = """
    class Layer(nn.Module):
        def __init__(self, name):
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.chosen = getattr(F, name) if name else lambda x: x
            self.other = getattr(library, name)
        def forward(self, x):
            reveal(self.chosen(torch.zeros(3)))
            reveal(self.chosen(self.linear(x)))
            reveal(self.other(self.linear(x)))
    """
    assert revealed(code)[:2] == ["cpu", "δ(self)"]
