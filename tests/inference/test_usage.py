"""Functions that nothing in sight uses, in a file that the project uses."""

import pytest
from given import given, met

HELPERS = """
    import torch
    from torch.utils.data import Dataset

    def mask(lengths, device):
        return torch.arange(9).to(device) < lengths

    {decorator}
    def rewards(count, device):
        return torch.zeros(count).to(device)

    class Sampler{base}:
        def draw(self, x):
            return torch.rand(3).to(x.device)
"""


def unused(train: str, decorator: str = "", base: str = "") -> set[str]:
    code = HELPERS.format(decorator=decorator, base=base)
    return set(given(code, {"train.py": train}).left_over.values())


def test_what_neither_its_file_nor_another_names_is_left_over():
    assert unused("from main import mask\nmask()") == {"rewards", "Sampler"}


def test_of_a_file_that_nobody_names_nothing_is_known():
    assert unused("import torch") == set()


def test_a_method_that_nobody_names_is_left_over_though_its_class_is_used():
    assert unused("from main import *\nmask, rewards, Sampler") == {"draw"}
    assert unused("from main import *\nmask, rewards, Sampler().draw(1)") == set()


@pytest.mark.parametrize("base", ["(nn.Module)", "(Dataset)"])
def test_a_library_calls_what_overrides_its_methods(base):
    assert unused("from main import *\nrewards, Sampler", base=base) == {"mask"}


def test_what_is_decorated_is_registered_somewhere():
    assert unused("from main import *\nmask, Sampler, draw", decorator="@register") == set()


SHIFTED = """
    class Attention(nn.Module):
        def _shifted(self, x: torch.Tensor, *, triangular: bool = False):
            if triangular:
                x = x * torch.tril(torch.ones(3, 3))
            return x

        def forward(self, x: torch.Tensor):
            return {call}
"""


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("self._shifted(x)", 0),
        ("self._shifted(x, triangular=True)", 1),
        ("self._shifted(x, triangular=x.shape[0] > 3)", 1),
        ("self._shifted(x, **self.options)", 1),
        ("self._shifted(x) + apply(self._shifted, x)", 1),  # who else calls it is open
    ],
)
def test_what_no_call_hands_to_a_private_function_is_its_default(call, found):
    assert len(met(SHIFTED.format(call=call))) == found


def test_another_file_may_call_a_private_function_too():
    code = SHIFTED.format(call="self._shifted(x)")
    others = {"heads.py": "def head(net, x):\n    return net._shifted(x, triangular=True)\n"}
    assert len(met(code, others)) == 1


def test_anybody_may_call_a_public_function():
    assert len(met(SHIFTED.replace("_shifted", "shifted").format(call="self.shifted(x)"))) == 1


RUN = """
    import torch

    def load(path, device):
        return torch.zeros(3).to(device)

    def begin(device):
        return torch.ones(3).to(device)

    if __name__ == "__main__":
        {main}
"""


@pytest.mark.parametrize(
    ("main", "names"),
    [
        ("begin('cuda')", {"load"}),
        ("begin('cuda')  # was: load()", {"load"}),
        ("begin(load(1, 'cuda'))", set()),
        ("globals()[name]()", set()),
    ],
)
def test_what_a_script_does_not_name_is_left_over(main, names):
    assert set(given(RUN.format(main=main), {}).left_over.values()) == names


LOAD = """
    import torch

    def weights(path):
        return torch.load(path)

    def other(net):
        return net

    {main}
"""


@pytest.mark.parametrize(
    ("main", "names"), [("if __name__ == '__main__': other(1)", {"weights"}), ("", set())]
)
def test_a_load_that_a_script_does_not_call_is_left_over_and_a_library_s_is_not(main, names):
    facts = given(LOAD.format(main=main), {"train.py": "from main import other\nother(1)"})
    assert set(facts.left_over.values()) == names
