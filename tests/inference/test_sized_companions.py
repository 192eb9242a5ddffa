"""What lends a new tensor one of its sizes, and is computed with it, is a tensor where no file
has to do with arrays."""

import pytest
from given import met

STEP = """
def advance(at, speed):
    at += speed * 0.5

def run(at, n):
    count = at.shape[0]
    speed = {made}
    {use}
    return at
"""
MADE = "torch.zeros((count, 3))"


@pytest.mark.parametrize("use", ["at = at + speed", "advance(at, speed)", "speed -= at"])
def test_it_is_one_in_a_file_without_arrays(use):
    code = STEP.format(made=MADE, use=use)
    (found,) = met(code)
    assert "speed@cpu" in found and "at@δ(at)" in found
    assert found.partition(" inside ")[0].endswith("likely")
    for head in ("import numpy as np\n", "from PIL import Image\n", "import cv2\n"):
        assert met(head + code) == []


@pytest.mark.parametrize(
    ("made", "use"),
    [
        ("torch.zeros((count, 3), device=at.device)", "at = at + speed"),
        ("torch.zeros((3, 3))", "at = at + speed"),  # `at` may be a number for all that it shows
        (MADE, "speed = speed * n"),
        (MADE, "at = at.cpu() + speed"),
        (MADE, "at = torch.from_numpy(at) + speed"),
    ],
)
def test_what_meets_no_such_tensor_is_open(made, use):
    assert met(STEP.format(made=made, use=use)) == []
