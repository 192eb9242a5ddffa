"""What is asked of the text of a device, of the type of a tensor, and of its properties."""

import pytest
from given import given

from devlint.inference.facts import Mistake


def mistakes(code):
    return [fact.mistake for fact in given(code).mistaken_devices if fact.given is None]


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ('"gpu" in str(device)', [Mistake.NO_SUCH_TYPE]),
        ('"GPU" not in str(self.device)', [Mistake.NO_SUCH_TYPE]),
        ('"gpu" in x.device.type', [Mistake.NO_SUCH_TYPE]),
        ('"gpu" in repr(torch.device("cuda"))', [Mistake.NO_SUCH_TYPE]),
        ('"cuda" in str(device)', []),
        ('"gpu" in device', []),  # the user's own text, perhaps
        ('"gpu" in str(options)', []),
        ('"gpu" in str(wanted)', []),
        ('"gpu" in self.name', []),
        ('"gpus" in str(device)', []),
    ],
)
def test_no_text_of_a_device_has_the_word_gpu(test, found):
    code = f"""
    class Reader:
        def pad(self, x, device, options, wanted="gpu"):
            y = x.unsqueeze(0)
            return 8 if {test} else 1
    """
    assert mistakes(code) == found


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ('"cuda" in str(type(self.rnn.weight_hh_l0.data))', [Mistake.NO_TYPE]),
        ('"cuda" not in str(type(x))', [Mistake.NO_TYPE]),
        ('"torch.cuda" in repr(type(torch.ones(2)))', [Mistake.NO_TYPE]),
        ('"cuda" in x.type()', []),  # this names it
        ('"cuda" in str(x.device)', []),
        ('"cuda" in str(type(self.rnn))', []),  # no tensor
        ('"cuda" in str(type(event))', []),
        ('"Parameter" in str(type(x))', []),
    ],
)
def test_the_type_of_a_tensor_names_no_device(test, found):
    code = f"""
    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(4, 4)

        def where(self, x: torch.Tensor, event):
            return {test}
    """
    assert mistakes(code) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("x.is_cuda()", [Mistake.CALLED]),
        ("x.device()", [Mistake.CALLED]),
        ("y.is_cuda()", [Mistake.CALLED]),
        ("torch.ones(2).is_cuda", []),
        ("x.is_cuda", []),
        ("batch.is_cuda()", []),  # of a class of its own, perhaps
        ("graph.device()", []),
        ("moved.is_cuda()", []),
        ("self.is_cuda()", []),
        ("x.get_device()", []),
    ],
)
def test_a_property_of_a_tensor_is_no_method(line, found):
    code = f"""
    class Net(nn.Module):
        def is_cuda(self):
            return True

        def forward(self, x: torch.Tensor, y, batch, graph):
            moved = self.compile(x).to("cuda")
            asked = {line}
            batch.to("cuda")
            graph.add_nodes(y.unsqueeze(0).sum())
            return asked
    """
    assert mistakes(code) == found
