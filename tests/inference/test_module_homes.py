"""Modules that the project makes, and leaves on the host, are on the host."""

import pytest
from given import meetings, met, settled

NETS = """
class Encoder(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.proj = nn.Linear(n, n)

    def forward(self, x):
        return self.proj(torch.zeros(3))


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.encoder = Encoder(n)

    @classmethod
    def build(cls, n):
        return cls(n)

    def forward(self, x):
        return self.encoder(x)
"""
TRAINER = """
import torch
from main import Net
{imports}

def smooth(net, loss):
    return net.training and loss * 0.9

def place(net, device):
    net.to(device)

class Trainer({base}):
    def __init__(self):
        self.nets = {{}}
        {made}
        self.optimizer = torch.optim.Adam(self.nets["main"].parameters())

    def step(self, x):
        {step}

{beside}
"""


def confidence(files: dict[str, str]) -> str:
    (found,) = meetings(settled(NETS, files))
    return found.rpartition(" ")[2]


def trainer(step="pass", made='self.nets["main"] = Net(3)', base="", imports="", beside=""):
    return TRAINER.format(step=step, made=made, base=base, imports=imports, beside=beside)


@pytest.mark.parametrize(
    "step",
    [
        'return self.nets["main"](x)',
        'self.nets["main"].train()',
        'return smooth(self.nets["main"], x)',  # in sight, and has nothing to do with devices
        'torch.save(self.nets["main"], "net.pt")',
    ],
)
def test_what_an_object_keeps_and_never_moves_is_on_the_host(step):
    assert confidence({"train.py": trainer(step)}) == "possible"


@pytest.mark.parametrize(
    "step",
    [
        'self.nets["main"].to("cuda")',
        'self.nets["main"].encoder.cuda()',
        'fit(self.nets["main"])',
        "fit(self.nets)",
        'place(self.nets["main"], "cuda")',
        'net = self.nets["main"]',  # and what becomes of that is open
    ],
)
def test_what_is_moved_or_handed_out_may_be_anywhere(step):
    assert confidence({"train.py": trainer(step)}) == "certain"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ('self.nets["main"] = Net.build(3)', "possible"),
        ("self.nets = Net(3)", "possible"),
        ('self.nets["main"] = Net(3).cuda()', "certain"),
        ('self.nets["main"] = wrap(Net(3))', "certain"),
        ("net = Net(3)", "possible"),
        ("net = Net(3); net(x); torch.save(net, 'net.pt')", "possible"),
        ("net = Net(3); net.encoder.cuda()", "certain"),
        ("net = Net(3); fit(net)", "certain"),
        ("global net; net = Net(3)", "certain"),
        ("self.rows = Rows(steps=Compose([Net(3), crop]))", "possible"),
        ("net = Net(3); self.rows = Rows(steps=Compose([net, crop]))", "possible"),
        ("net = Net(3); self.rows = Rows(steps=[net, crop])", "certain"),
        ("self.rows = Rows(steps=nn.Sequential(Net(3), crop))", "certain"),
    ],
)
def test_where_it_is_made(made, expected):
    assert confidence({"train.py": trainer(made=made)}) == expected


SCRIPT = """
from {package}main import Net

net = Net(3)
{use}
"""


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("print(net(x))", "possible"),
        ("def run(x):\n    return net(x)", "possible"),
        ("def run(x):\n    net.cuda()\n    return net(x)", "certain"),
        ("", "certain"),  # it is there for others, who import it
    ],
)
def test_a_script_s_own_name(use, expected):
    assert confidence({"run.py": SCRIPT.format(package="", use=use)}) == expected


def test_a_library_s_module_is_for_those_who_make_it():
    assert confidence({}) == "certain"


def test_one_that_is_moved_is_enough():
    files = {"train.py": trainer(), "other.py": "from main import Net\n\nnet = Net(3).cuda()"}
    assert confidence(files) == "certain"


@pytest.mark.parametrize(
    "changed",
    [
        {"base": "pl.LightningModule", "imports": "import pytorch_lightning as pl"},
        {"base": "Base", "imports": "from somewhere import Base"},
        {"beside": 'trainer = Trainer()\ntrainer.nets["main"].to("cuda")'},
    ],
)
def test_who_else_has_the_object_may_move_what_it_keeps(changed):
    assert confidence({"train.py": trainer(**changed)}) == "certain"


@pytest.mark.parametrize(
    ("other", "expected"), [('trainer.nets["main"].to("cuda")', "certain"), ("", "possible")]
)
def test_in_another_file_too(other, expected):
    files = {
        "train.py": trainer(),
        "run.py": f"from train import Trainer\n\ntrainer = Trainer()\n{other}",
    }
    assert confidence(files) == expected


OFFLOADED = """
    from transformers import OPTForCausalLM

    def run(name, rows, device):
        model = OPTForCausalLM.from_pretrained(name)
        {moved}
        for row in rows:
            model(row.cuda())
"""


@pytest.mark.parametrize(
    ("moved", "found"),
    [
        ("pass", 1),
        ("model.body.embed = model.body.embed.to(device)", 0),
        ("model.body.layers[0] = model.body.layers[0].cuda()", 0),
        ("model.extra = torch.ones(3).to(device)", 1),  # no part of it
        ("model.body.embed = model.body.norm", 1),
    ],
)
def test_a_module_of_which_a_part_was_moved_is_nowhere_as_a_whole(moved: str, found: int):
    assert len(met(OFFLOADED.format(moved=moved))) == found
