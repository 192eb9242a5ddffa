"""Inputs that are made tensors where they are none: there they are on the host, and elsewhere where
the caller has them. Two worlds of one function."""

import pytest
from given import meetings, met, settled

PLAIN = """
    def blend(image: torch.Tensor, weight{annotation}):
        if {test}:
            weight = {made}
        return image * weight.view(-1, 1)
"""


@pytest.mark.parametrize(
    "test",
    [
        "isinstance(weight, list)",
        "isinstance(weight, (list, tuple))",
        "isinstance(weight, list) or isinstance(weight, tuple)",
        "type(weight) is list",
        "not isinstance(weight, torch.Tensor)",
        "not torch.is_tensor(weight)",
    ],
)
@pytest.mark.parametrize("annotation", ["", ": torch.Tensor | list[float]"])
def test_what_is_made_of_a_list_is_on_the_host(test, annotation):
    code = PLAIN.format(test=test, made="torch.tensor(weight)", annotation=annotation)
    assert met(code) == ["weight.view(-1, 1)@cpu * image@δ(image) likely"]


@pytest.mark.parametrize(
    "made",
    [
        "torch.tensor(weight, device=image.device)",
        "torch.tensor(weight).to(image)",
        "torch.stack(weight)",  # of the tensors that it holds
        "torch.cat(list(weight))",
    ],
)
def test_a_list_that_is_brought_to_the_device_or_holds_tensors(made):
    code = PLAIN.format(test="isinstance(weight, (list, tuple))", made=made, annotation="")
    assert met(code) == []


@pytest.mark.parametrize("test", ["isinstance({}, list)", "not isinstance({}, torch.Tensor)"])
def test_who_hands_in_one_list_hands_in_another(test):
    code = f"""
    def score(found, wanted):
        if {test.format("found")}:
            found = torch.tensor(found)
        if {test.format("wanted")}:
            wanted = torch.tensor(wanted)
        return found.float() @ wanted.view(-1, 1)
    """
    assert [each for each in met(code) if not each.endswith("possible")] == []


# ----------------------------------------------------------------- by a helper

HELPER = """
    def as_tensor(x):
        if isinstance(x, torch.Tensor):
            return x
        return torch.tensor(x)

    def checked(x):
        if not isinstance(x, torch.Tensor):
            raise TypeError(x)
        return x.float()

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scale", torch.ones(3))

        def rescale(self, x{annotation}):
            return {call}.view(-1, 3) * self.scale
"""


@pytest.mark.parametrize(
    ("call", "annotation", "meets"),
    [
        ("as_tensor(x)", "", True),
        ("as_tensor(x)", ": torch.Tensor", False),  # it is one already
        ("as_tensor(x).to(self.scale)", "", False),
        ("checked(x)", "", False),  # of nothing but a tensor does it go on
    ],
)
def test_a_helper_that_makes_a_tensor_of_its_input_takes_both(call, annotation, meets):
    found = met(HELPER.format(call=call, annotation=annotation))
    assert bool(found) is meets
    assert all("@cpu * self.scale@δ(self) likely" in each for each in found)


@pytest.mark.parametrize(
    ("handed", "confidence"),
    [("spectrum(audio)", "likely"), ("torch.from_numpy(np.load(audio))", "possible")],
)
def test_whoever_hands_in_what_is_made_a_tensor_is_no_caller_on_the_host(handed, confidence):
    code = f"""
    import numpy as np

    def trim(x: torch.Tensor, n):
        return x.index_select(0, torch.arange(n))

    def spectrum(audio):
        if not torch.is_tensor(audio):
            audio = torch.from_numpy(audio)
        return audio.abs()

    def main(audio):
        return trim({handed}, 3)
    """
    [found] = meetings(settled(code))
    assert found.endswith(confidence)
