"""What stands for a size, a dimension or a count is a number, and so is what it came from."""

import pytest
from given import host_reads, met, settled, syncs

from devlint.inference.domain.kinds import Evidence


@pytest.mark.parametrize(
    ("use", "call"),
    [
        ("torch.zeros(n)", "torch.zeros()"),
        ("torch.zeros((4, n))", "torch.zeros()"),
        ("torch.zeros(4, n)", "torch.zeros()"),
        ("torch.kaiser_window(window_length=n)", "torch.kaiser_window()"),
        ("torch.arange(n)", "torch.arange()"),
        ("torch.full((3,), n)", "torch.full()"),  # its fill value is a number, too
        ("torch.randint(0, n, (3,))", "torch.randint()"),
        ("x.view(n, -1)", "x.view()"),
        ("x.view(-1, n)", "x.view()"),
        ("x.topk(n)", "x.topk()"),
        ("x.narrow(0, 0, length=n)", "x.narrow()"),
    ],
)
def test_a_tensor_that_is_used_for_a_size_is_waited_for(use, call):
    code = f"""
    def pad(x: torch.Tensor):
        n = torch.relu(x.to("cuda")).max()
        return {use}
    """
    assert [each.partition(" of ")[0] for each in syncs(settled(code))] == [call]


@pytest.mark.parametrize(
    "use",
    [
        "torch.zeros(3) + n",
        "x.clamp(max=n)",
        "x.view(x.size(0), -1)",
        "x.add_(2, n)",
        "x.view((*n, 3))",
    ],
)
def test_another_use_waits_for_nothing(use):
    code = f"""
    def pad(x: torch.Tensor):
        n = torch.relu(x).max()
        return {use}
    """
    assert syncs(settled(code)) == []


def test_what_a_number_was_computed_from_are_numbers():
    width = Evidence()
    half = Evidence(parents=(width,))
    half.mark_number()
    assert half.is_host
    assert width.is_host


def test_a_tensor_stays_one_whatever_it_is_used_for():
    x = Evidence(True)
    longest = Evidence(parents=(x,))
    longest.mark_number()
    assert longest.is_tensor
    assert not x.is_host


@pytest.mark.parametrize(("use", "found"), [("print(n)", 0), ("torch.relu(n)", 1)])
def test_a_device_that_is_handed_in_says_nothing_of_the_kind_of_a_result(use, found):
    code = f"""
    import numpy as np

    def width(source, device):
        return Loader(source).to(device).width

    def keep(source, device):
        n = width(source, device)
        {use}
        np.save("width", n)
    """
    assert len(host_reads(settled(code))) == found


@pytest.mark.parametrize(
    ("annotation", "found"),
    [(": torch.Tensor", 1), (": list[torch.Tensor]", 1), ("", 0), (": list", 0)],
)
def test_an_element_of_a_declared_tensor_is_one(annotation, found):
    code = f"""
    def starts(lengths{annotation}):
        return [torch.randint(high=lengths[n], size=(1,)) for n in range(len(lengths))]
    """
    assert len(syncs(settled(code))) == found


@pytest.mark.parametrize(
    ("size", "contradicts"),
    [
        ("x.shape", True),
        ("(n,) + x.shape[1:]", True),
        ("x.shape[:-1] + (n,)", True),
        ("(n, x.shape[0])", False),  # a table of numbers, which an array may have counted
    ],
)
def test_what_meets_a_tensor_of_its_own_shape_is_one(size, contradicts):
    code = f"""
    import numpy as np

    def total(x, n):
        found = torch.zeros({size})
        found += x.sum(0)
        return found
    """
    assert bool([each for each in met(code) if "possible" not in each]) is contradicts
