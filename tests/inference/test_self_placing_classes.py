"""A class of the project that puts itself somewhere in its constructor is there from then on."""

import pytest
from given import given, met, revealed

NET = """
class Net(nn.Module):
    def __init__(self, device):
        super().__init__()
        {body}

    def forward(self, x):
        return self.layer(x)
"""
MOVED = "self.layer = nn.Linear(3, 3); self.to(device)"
EACH_PART = "self.layer = nn.Linear(3, 3, device=device); self.last = nn.Linear(3, 3).to(device)"


def net(body: str, use: str) -> str:
    lines = "\n        ".join(part.strip() for part in body.split(";"))
    return NET.format(body=lines) + use


@pytest.mark.parametrize("body", [MOVED, EACH_PART, f"{EACH_PART}; self.act = nn.ReLU()"])
@pytest.mark.parametrize("given", ["'cuda'", "device='cuda'", "torch.device('cuda')"])
def test_the_module_is_where_its_constructor_was_told(body, given):
    assert revealed(net(body, f"reveal(next(Net({given}).parameters()))")) == ["cuda"]


@pytest.mark.parametrize(
    "body",
    [
        "self.layer = nn.Linear(3, 3); self.to(device); self.last = nn.Linear(3, 3)",
        "self.layer = nn.Linear(3, 3, device=device); self.last = nn.Linear(3, 3)",
    ],
    ids=["a part comes after the move", "a part is made elsewhere"],
)
def test_it_is_nowhere_in_particular_where_a_part_is_elsewhere(body):
    assert revealed(net(body, "reveal(next(Net('cuda').parameters()))")) == ["?"]


@pytest.mark.parametrize("body", [MOVED, EACH_PART])
def test_an_input_of_the_host_meets_it(body):
    assert met(net(body, "Net('cuda')(torch.zeros(3))"))
    assert not met(net(body, "Net('cuda')(torch.zeros(3, device='cuda'))"))
    assert not met(net(body, "Net('cpu')(torch.zeros(3))"))


def test_a_constructor_that_brings_it_to_a_card_of_its_own_choice_leaves_it_there():
    own = 'self.layer = nn.Linear(3, 3); self.to("cuda:1")'
    assert revealed(net(own, "reveal(next(Net(None).parameters()))")) == ["cuda:1"]


def test_a_class_that_inherits_a_constructor_may_be_elsewhere():
    inherited = """
class Wide(Net):
    def __init__(self, device):
        super().__init__(device)
        self.last = nn.Linear(3, 3)

reveal(next(Wide('cuda').parameters()))
"""
    assert revealed(net(MOVED, inherited)) == ["?"]


@pytest.mark.parametrize(
    ("part", "found"),
    [
        ("nn.Linear(3, 3).to(self.device)", False),  # wherever that is
        ("nn.Linear(3, 3)", True),
    ],
)
def test_a_method_that_moves_a_part_to_the_object_s_device_leaves_the_module_there(part, found):
    code = f"""
    class Net(nn.Module):
        def __init__(self, device):
            super().__init__()
            self.device = torch.device(device)
            self.build()

        def build(self):
            self.layer = {part}

        def forward(self, x):
            return self.layer(x)

    Net("cuda")(torch.zeros(3, device="cuda"))
    """
    assert bool(met(code)) is found


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ("self.device is None", False),  # then it was not moved there either
        ("not self.device", False),
        ("self.other is None", True),
    ],
)
def test_what_was_moved_to_a_device_is_not_met_where_there_is_no_such_device(test, found):
    code = f"""
    class Reader:
        def __init__(self):
            self.device = self.other = self.net = None

        def prepare(self):
            self.device = "cuda:0" if torch.cuda.is_available() else "cpu"
            self.net = nn.Linear(3, 3)
            if self.device is not None:
                self.net = self.net.to(self.device)

        def read(self, rows):
            self.prepare()
            if {test}:
                return self.net(torch.tensor(rows))
    """
    assert bool(met(code)) is found


@pytest.mark.parametrize("method", ["__init__", "set"])
def test_what_only_the_constructor_runs_writes_on_the_host(method):
    code = f"""
    class Table(nn.Module):
        def {method}(self, rows):
            self.register_buffer("z", torch.zeros(20))
            self.fill(rows)

        def fill(self, rows):
            for i, row in enumerate(rows):
                self.z[i] = float(row)
    """
    assert bool(given(code).element_accesses) is (method == "set")
