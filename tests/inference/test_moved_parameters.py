"""A function that moves its parameter on one path demands it on another that an option chooses."""

import pytest
from given import met

TILES = """
class Predictor:
    def __init__(self, model: nn.Module, device="cuda", tiles=None):
        self.device = torch.device(device)
        self.model = model.to(self.device)
        self.tiles = tiles

    def one(self, d):
        return self.model(d)

    def apply(self, d):
        {body}

    def predict(self, array):
        return self.apply({given})
"""
FROM_HOST = "torch.from_numpy(array)"


def _body(*lines):
    return "\n        ".join(lines)


def _either(test):
    return _body(f"if {test}:", "    return self.one(d.to(self.device))", "return self.one(d)")


@pytest.mark.parametrize(
    "body",
    [
        _either("self.tiles"),
        _either("self.tiles is not None"),
        _either("len(self.tiles) > 2"),
        _body("if not self.tiles:", "    return self.one(d)", "return self.one(d.to(self.device))"),
    ],
)
def test_the_path_without_a_move_demands_what_the_other_one_moves(body):
    (found,) = met(TILES.format(body=body, given=FROM_HOST))
    assert found.startswith("input: torch.from_numpy(array)@cpu self.model")
    assert found.endswith("possible inside self.one(d)")  # by a model out of sight


@pytest.mark.parametrize(
    "body",
    [
        _either("d.device != self.device"),
        _either("isinstance(d, torch.Tensor)"),
        _either("d.shape[0] > 2"),
        _either("self.device is not None"),
        _either("self.use_gpu"),
        _body("if self.tiles:", "    d = d.to(self.device)", "return self.one(d)"),
        _body("d = d.to(self.device)", "return self.one(d)"),
        # on the same path
        _body("if self.tiles:", "    self.one(d)", "    return d.to(self.device)", "return d"),
        # on each path
        _body("if self.tiles:", "    return self.one(d.to(self.device))", "e = d.to(self.device)")
        + _body("", "return self.one(d) + e"),
    ],
)
def test_a_test_that_asks_where_it_is_demands_nothing(body):
    assert met(TILES.format(body=body, given=FROM_HOST)) == []


def test_what_is_handed_in_on_the_device_is_right_on_both_paths():
    body = _either("self.tiles")
    assert met(TILES.format(body=body, given=f"{FROM_HOST}.to(self.device)")) == []


@pytest.mark.parametrize(("flag", "count"), [("tiled=True", 0), ("tiled=False", 1)])
def test_a_call_that_gives_the_option_takes_its_path(flag, count):
    code = """
    def apply(net, d, tiled=False):
        if tiled:
            return net(d.to("cuda"))
        return net(d)

    def run(array):
        net = nn.Linear(3, 3).to("cuda")
        return apply(net, torch.ones(3), {flag})
    """
    assert len(met(code.format(flag=flag))) == count
