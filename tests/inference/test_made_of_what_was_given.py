"""An object is made of what its maker was given, and a tensor of a caller's stays where it is."""

import pytest
from given import met

PADDING = """
class Padding:
    def __init__(self, device, n):
        self.rows = torch.zeros(1, n).to(device)

    def add(self, x):
        return torch.cat([x, self.rows])

host = torch.device("cpu")

def build(device, n):
    return Padding(device=device, n=n)

class Predictor:
    def __init__(self):
        self.padding = build({device}, 3)

    def run(self, wave):
        return self.padding.add(torch.tensor(wave))
"""


@pytest.mark.parametrize(
    ("device", "is_wrong"), [("host", False), ('"cpu"', False), ('"cuda"', True)]
)
def test_an_object_has_the_device_that_its_maker_was_given(device, is_wrong):
    assert bool(met(PADDING.format(device=device))) is is_wrong


@pytest.mark.parametrize(
    ("made", "sure"),
    [
        ("torch.as_tensor(points)", "possible"),
        ("torch.asarray(points)", "possible"),
        ("torch.tensor(points)", "likely"),
        ("torch.as_tensor([1.0, 2.0])", "likely"),
    ],
)
def test_as_tensor_leaves_a_caller_s_tensor_where_it_is(made, sure):
    code = (
        f"def turn(matrix: torch.Tensor, points):\n    points = {made}\n    return matrix @ points"
    )
    assert met(code) == [f"points@cpu @ matrix@δ(matrix) {sure}"]
