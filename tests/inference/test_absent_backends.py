"""Backends that are on `torch` only where their package was imported."""

import pytest
from given import given

CARD = """
    {before}
    def card(device):
        if torch.cuda.is_available():
            return "cuda"
        {test}
            return "npu"
"""


@pytest.mark.parametrize(
    ("before", "test", "found"),
    [
        ("", "elif torch.npu.is_available():", 1),
        ("import torch_npu", "elif torch.npu.is_available():", 0),
        ("", 'elif hasattr(torch, "npu") and torch.npu.is_available():', 0),
        ("", 'elif device.type == "npu" and torch.npu.is_available():', 0),
        ("", "elif torch.xpu.is_available():", 0),  # one of PyTorch's own
    ],
)
def test_a_question_for_a_backend(before, test, found):
    absent = given(CARD.format(before=before, test=test)).absent_backends
    assert [(each.backend, each.package) for each in absent] == [("npu", "torch_npu")] * found


def test_a_question_that_may_fail():
    code = """
    try:
        found = torch.mlu.is_available()
    except AttributeError:
        found = False
    """
    assert given(code).absent_backends == []
