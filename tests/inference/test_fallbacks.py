"""Devices that a call leaves out: the function says what stands in for None."""

import pytest
from given import met, revealed

FORMS = [
    "if device is None:\n            device = {other}",
    "device = device or {other}",
    "device = {other} if device is None else device",
    "device = device if device is not None else {other}",
]
COUNT = """
    def count(lengths: torch.Tensor, device=None):
        {form}
        return torch.arange(3, device=device) < lengths

    def mask(x: torch.Tensor, lengths: torch.Tensor):
        return x * count({call})
    """


@pytest.mark.parametrize("form", FORMS)
def test_a_device_that_is_left_out_is_what_stands_in_for_it(form):
    code = COUNT.format(form=form.format(other="lengths.device"), call="torch.ones(3)")
    assert met(code) == ["count(torch.ones(3))@cpu * x@δ(x) likely"]


@pytest.mark.parametrize(
    "call", ["x", "lengths", "lengths, None", "torch.ones(3, device=x.device)", "*lengths"]
)
def test_it_is_where_that_is(call):
    code = COUNT.format(form=FORMS[0].format(other="lengths.device"), call=call)
    assert met(code) == []


def test_a_device_that_is_given_is_that():
    code = """
    def spread(x: torch.Tensor, device=None):
        device = device or x.device
        return torch.arange(3, device=device)

    def run(x: torch.Tensor, y: torch.Tensor):
        reveal(spread(x))
        reveal(spread(torch.ones(3)))
        reveal(spread(torch.ones(3), "cuda"))
        reveal(spread(torch.ones(3), y.device))
    """
    assert revealed(code) == ["δ(x)", "cpu", "cuda", "δ(y)"]


def test_the_device_of_the_object_stands_in_for_it():
    code = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def steps(self, device=None):
            if device is None:
                device = self.weight.device
            return torch.arange(3, device=device)

        def forward(self, x):
            reveal(self.steps())
            return x + self.steps()

    def run(net: Net):
        reveal(net.steps())
    """
    assert revealed(code) == ["δ(self)", "δ(net)"]


@pytest.mark.parametrize("other", ["choose()", "HOME", "x.device if wide else y.device"])
def test_what_else_stands_in_for_it_is_not_known(other):
    code = f"""
    def spread(x: torch.Tensor, y, wide, device=None):
        if device is None:
            device = {other}
        return torch.arange(3, device=device)

    def run(x: torch.Tensor):
        reveal(spread(torch.ones(3), x, True))
    """
    assert revealed(code) == ["?"]


def test_of_two_that_may_stand_in_none_is_known():
    code = """
    def spread(x: torch.Tensor, y: torch.Tensor, wide, device=None):
        if device is None and wide:
            device = x.device
        if device is None:
            device = y.device
        elif wide is None:
            device = device or x.device
        return torch.arange(3, device=device)

    def run(x: torch.Tensor):
        reveal(spread(torch.ones(3), x, True))
    """
    assert revealed(code) == ["?"]


@pytest.mark.parametrize("turned", ["turn(rows)", "rows.transpose(0, 1)"])
def test_a_function_gives_one_of_several_for_one_of_several(turned):
    code = f"""
    def turn(rows):
        return rows.transpose(0, 1)

    def weigh(rows, weights: torch.Tensor):
        if not torch.is_tensor(rows):
            rows = torch.tensor(rows)
        rows = {turned}
        reveal(rows)
        return rows * weights
    """
    assert revealed(code) == ["cpu | δ(rows)"]
    assert met(code) == ["rows@cpu * weights@δ(weights) likely"]


def test_what_is_at_one_device_does_not_meet_itself():
    code = """
    def below(row, lengths, device=None):
        device = device or lengths.device
        return torch.arange(3, device=device) < lengths

    def count(lengths: torch.Tensor):
        return below(3, lengths).sum()

    def run(x, wide):
        lengths = torch.ones(3) if wide else x.lengths.cuda()
        return count(lengths)
    """
    assert met(code) == []
