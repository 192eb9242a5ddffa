"""Functions that are handed a module and its inputs, and call the one with the other."""

import pytest
from given import Files, given, met, revealed

TRACED = """
from torch.utils.tensorboard import SummaryWriter

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 4)

    def forward(self, x):
        return self.linear(x)

def main():
    net = Net(){moved}
    writer = SummaryWriter()
    {call}
"""
CALLS = [
    "torch.jit.trace(net, {})",
    "torch.jit.trace(net, example_inputs=({},))",
    'torch.onnx.export(net, ({},), "net.onnx")',
    'torch.onnx.export(net, args={}, f="net.onnx")',
    "torch.export.export(net, ({},))",
    "writer.add_graph(net, {})",
]


@pytest.mark.parametrize("call", CALLS)
def test_the_inputs_must_be_where_the_module_is(call):
    here, there = "torch.rand(2, 3)", 'torch.rand(2, 3, device="cuda")'
    assert len(met(TRACED.format(moved=".cuda()", call=call.format(here)))) == 1
    assert met(TRACED.format(moved=".cuda()", call=call.format(there))) == []
    assert met(TRACED.format(moved="", call=call.format(here))) == []
    assert len(met(TRACED.format(moved="", call=call.format(there)))) == 1


def test_a_module_without_state_takes_any():
    code = TRACED.format(moved="", call="torch.jit.trace(nn.ReLU().cuda(), torch.rand(3))")
    assert met(code) == []


@pytest.mark.parametrize("use", ["model.eval()", "sum(p.numel() for p in model.parameters())"])
def test_what_is_asked_for_its_parameters_is_a_module(use):
    code = f"""
    def warm(model):
        {use}
        return model(torch.zeros(1, 3))
    """
    assert len(met(code)) == 1
    assert met(code.replace("torch.zeros(1, 3)", "torch.zeros(1, 3, device=model.device)")) == []


def test_a_module_that_may_be_left_out_is_made_then():
    code = """
    def warm(model=None):
        if model is None:
            model = nn.Linear(3, 4)
            return model(torch.zeros(1, 3))
        model.eval()
    """
    assert met(code) == []


@pytest.mark.parametrize(
    ("module", "inputs", "confidence"),
    [
        ("Detector()", "x, boxes", "likely"),  # it may slice by the boxes
        ("Detector()", "boxes", "likely"),  # or move its inputs itself
        ("nn.Bilinear(2, 2, 2)", "x, boxes", "certain"),
    ],
)
def test_a_module_out_of_sight_may_have_inputs_for_the_host(module, inputs, confidence):
    code = f"""
    from zoo import Detector
    def detect(device):
        net = {module}.cuda()
        boxes = torch.rand(2, 2)
        x = torch.rand(2, 2, device="cuda")
        return net({inputs})
    """
    [found] = met(code)
    assert found.endswith(confidence)


@pytest.mark.parametrize(
    ("second", "confidence"),
    [
        ("torch.full((2,), 7)", "likely"),  # made for the call
        ("torch.from_numpy(np.load('keep.npy'))", "possible"),  # may be rows to take
    ],
)
def test_by_a_later_input_from_elsewhere_a_module_may_only_index(second, confidence):
    code = f"""
    import numpy as np
    from zoo import Detector
    def detect():
        net = Detector().cuda()
        x, other = torch.rand(2, 2, device="cuda"), {second}
        return net(x, other)
    """
    [found] = met(code)
    assert found.endswith(confidence)
    [first] = met(code.replace("net(x, other)", "net(other, x)"))
    assert first.endswith("likely")


LENGTHS = """
from zoo import Encoder

def encode(device):
    net = Encoder().to(device)
    x, x_{name} = torch.rand(2, 2, device=device), torch.tensor([1, 2])
    return net(x, x_{name})
"""


@pytest.mark.parametrize(("name", "count"), [("lens", 0), ("mask", 1)])
def test_a_module_out_of_sight_may_want_lengths_on_the_host(name, count):
    assert len(met(LENGTHS.format(name=name))) == count


GIVEN = """
def pad(network: nn.Module, rows):
    found = network(torch.zeros(2, 3)){rest}
    return found
"""


@pytest.mark.parametrize(("rest", "found"), [(".shape[1:]", "possible"), (".cpu()", "likely")])
def test_a_module_that_is_handed_in_is_where_the_caller_builds_it(rest, found):
    """Before it is moved, for its shapes; unless the function has to do with devices."""
    (meeting,) = met(GIVEN.format(rest=rest))
    assert meeting.endswith(found), meeting


def test_what_a_callee_takes_for_granted_its_callers_do():
    code = """
    def run(net, x, device):
        net.to(device)
        return net(x, torch.ones(3, device=device))

    def main():
        run(build(), torch.zeros(3), torch.device("cuda"))
    """
    facts = given(code)
    (meeting,) = [m for m in facts.meetings if m.inside is not None]
    kinds = {each.kind.value for each in meeting.assumptions}
    assert "module-uses-all-inputs" in kinds


HANDED_LOSS = """
class Smooth(nn.Module):
    def __init__(self, rate: float):
        super().__init__()
        self.rate = rate{state}

    def forward(self, x, y):
        return (x - y).mean() * self.rate{use}

def train(model: nn.Module, loss: nn.Module, x, y):
    out = model(x.cuda())
    return loss(out, y.cuda())

def main(x, y):
    return train(nn.Linear(3, 3).cuda(), Smooth(0.1), x, y)
"""


def test_a_module_without_state_that_is_handed_in_is_wherever_its_inputs_are():
    assert met(HANDED_LOSS.format(state="", use="")) == []
    state = "\n        self.weight = nn.Parameter(torch.ones(3))"
    assert met(HANDED_LOSS.format(state=state, use=" * self.weight"))


def test_nothing_is_said_of_a_module_whose_class_was_not_read(monkeypatch):
    """The project has the file, and too much was imported to read it: unlike a library's class it
    is not out of sight, and it may have no parameters. What it returns is where it was moved."""
    code = """
        from net import Net
        net = Net(4)
        net = net.to("cuda")
        y = net(torch.rand(2, 4))
        reveal(y)
        """
    files = {"net.py": "class Net(nn.Module):\n    def forward(self, x):\n        return x\n"}
    library = code.replace("from net", "from library.net")
    assert met(library) == ["input: torch.rand(2, 4)@cpu net net@cuda likely"]
    monkeypatch.setattr(Files, "load", lambda *_: None)
    for own in (code, code.replace("import Net", "import *")):
        assert met(own, files) == []
        assert revealed(own, files) == revealed(library) == ["cuda"]


POOL = """
class Mean(nn.Module):
    def forward(self, x):
        return x.mean(1)

class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return (x * self.weight).mean(1)

class Pool(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.pool = {first}() if how in ("mean", "average") else Weighted()

    def forward(self, x):
        return self.pool(x)

def pooled(hows):
    for how in hows:
        return Pool(how)(torch.rand(2, 3).cuda())
"""


@pytest.mark.parametrize(("first", "sure"), [("Mean", "possible"), ("Weighted", "certain")])
def test_a_module_that_may_hold_no_parameters_meets_no_input_for_certain(first, sure):
    found = met(POOL.format(first=first))
    assert len(found) == 1 and f" {sure} inside " in found[0], found


def test_what_a_module_keeps_goes_by_what_it_was_made_with():
    code = """
    class Gate(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.gate = torch.ones(width)

        def put(self, value):
            self.gate = value

        def forward(self, x: torch.Tensor):
            kept = self.gate
            if x.dim() == 3:
                kept = kept.repeat(3, 1)
            return kept * x
    """
    found = met(code)
    assert found and all(meeting.endswith("possible") for meeting in found), found
