"""A value or a callee that is one of several: which one it is goes with what it is given."""

import libcst as cst
import pytest
from given import given, host_reads, meetings, met

from devlint.inference.api import infer_file
from devlint.project.source import ParsedFile

NUMPY = "import numpy as np\n"


def test_a_function_of_numpy_or_of_torch_gets_what_fits():
    code = (
        NUMPY
        + """
def ceil(size, device, with_torch):
    function = torch.ceil if with_torch else np.ceil
    size = torch.as_tensor(size, device=device) if with_torch else size
    return function(size / 2)
"""
    )
    assert "likely" not in " ".join(host_reads(given(code)))
    assert "certain" not in " ".join(host_reads(given(code)))


def test_a_function_of_numpy_alone_reads_the_device():
    code = (
        NUMPY
        + """
def ceil(size, device):
    size = torch.as_tensor(size, device=device)
    return np.ceil(size / 2)
"""
    )
    assert host_reads(given(code)) == ["np.ceil of size / 2@δ(device) certain"]


@pytest.mark.parametrize(
    ("lines", "confidence"),
    [
        ("if place == 'host':\n        x = x.cpu()\n    return x.numpy()", "possible"),
        ("return x.numpy()", "certain"),
    ],
)
def test_who_moves_it_to_the_host_knows_when_it_must_be_there(lines, confidence):
    code = f"def read(place):\n    x = torch.zeros(3).cuda()\n    {lines}\n"
    assert host_reads(given(code)) == [f".numpy() of x@cuda {confidence}"]


def test_what_isinstance_leaves_open():
    """One of the values is a tensor: that does not make each of them one."""
    code = """
def fields(sizes, device):
    found = {"score": torch.zeros(3)}
    found["width"] = sizes[0]["width"]
    score = torch.zeros(3).to(device)
    return [v.numpy() for v in found.values() if isinstance(v, torch.Tensor)]
"""
    assert host_reads(given(code)) == []


def test_what_isinstance_says_of_one_value():
    code = """
def array(x):
    x = x.cuda() if isinstance(x, torch.Tensor) else x
    if isinstance(x, torch.Tensor):
        return x.numpy()
"""
    assert host_reads(given(code)) == [".numpy() of x@cuda certain"]


@pytest.mark.parametrize("other", ["npu", "mps", "meta"])
def test_the_branch_of_another_accelerator_is_not_walked(other):
    code = f"""
def move(x, device):
    if device == "{other}":
        device = "{other}:0"
    return x.to(device)

y = move(torch.zeros(3), "cuda")
y + torch.zeros(3)
"""
    assert met(code) == ["torch.zeros(3)@cpu + y@cuda certain"]


def test_a_part_of_unknown_place_leaves_the_container_open():
    code = """
def run(net, x):
    head = nn.Linear(3, 3)
    both = nn.Sequential(net, head)
    return both(x.cuda())
"""
    assert met(code) == []


def test_a_container_of_what_is_made_here_is_on_the_host():
    code = """
def run(x):
    both = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    return both(x.cuda())
"""
    assert met(code) == ["input: both@cpu both x.cuda()@cuda certain"]


def test_a_parallel_wrapper_scatters_its_inputs():
    code = """
net = nn.DataParallel(nn.Linear(3, 3)).cuda()
net(torch.zeros(3), torch.zeros(3).cuda())
"""
    assert met(code) == []


def test_its_output_is_on_the_device():
    code = """
net = nn.DataParallel(nn.Linear(3, 3)).cuda()
net(torch.zeros(3)) + torch.zeros(3)
"""
    assert met(code) == ["torch.zeros(3)@cpu + net(torch.zeros(3))@cuda certain"]


@pytest.mark.parametrize(
    ("wrapped", "meetings"),
    [("Wrapper(model)", []), ("Wrapper(3)", ["input: net@cpu net x.cuda()@cuda certain"])],
)
def test_a_wrapper_of_a_module_is_where_that_is(wrapped, meetings):
    code = f"""
class Wrapper(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

def run(model, x):
    net = nn.Sequential({wrapped}, nn.Linear(3, 3))
    return net(x.cuda())
"""
    assert met(code) == meetings


@pytest.mark.parametrize(("text", "count"), [("import torch", 1), ("import jax", 0)])
def test_a_module_of_another_library_is_none_of_torch(text, count):
    tree = cst.parse_module(f"""{text}
import library.nn as N
class Block(N.Module):
    def __init__(self):
        super().__init__()
        self.weight = N.Linear(3, 3)
class Net(N.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [Block()]
    def forward(self, x):
        return self.blocks[0](x)
""")
    file = ParsedFile("net.py", "net", False, tree.code, tree)
    assert len(infer_file(file, None).plain_attributes) == count


@pytest.mark.parametrize(
    ("chosen", "count"), [("Plain() if plain else Moving()", 0), ("Plain()", 1)]
)
def test_what_one_of_two_objects_returns_goes_with_the_object(chosen, count):
    code = f"""
class Plain:
    def encode(self, rows):
        return torch.tensor([rows]), len(rows)

class Moving:
    def encode(self, rows):
        return torch.tensor([rows]).cuda(), len(rows)

def train(rows, plain):
    coder = {chosen}
    target, count = coder.encode(rows)
    return torch.zeros(3, 3).cuda() - target
"""
    assert len(met(code)) == count


def test_a_function_out_of_a_table_in_place_is_one_of_those():
    code = """
def one(x: torch.Tensor):
    return torch.zeros(3)

def two(x: torch.Tensor):
    return torch.ones(3)

def loss(x: torch.Tensor, kind):
    return x.cuda() - {"one": one, "two": two}[kind](x)
"""
    assert len(met(code)) == 1


@pytest.mark.parametrize(("base", "count"), [("LightningDataModule", 0), ("LightningModule", 1)])
def test_a_data_module_holds_data(base, count):
    code = f"""
import pytorch_lightning as pl
class Part(pl.{base}):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

class Whole(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.parts = {{"part": Part()}}
"""
    assert len(given(code).plain_attributes) == count


MASKED = """
class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(4, 1)

    def forward(self, x, mask=None):
        if mask is None:
            mask = torch.ones(4{there})
        return self.score(x) * {masked}
"""


@pytest.mark.parametrize("masked", ["(mask == 0)", "(1 - mask)", "-mask", "(~mask).float()"])
def test_what_is_computed_with_a_number_is_where_each_of_several_is(masked):
    (found,) = met(MASKED.format(there="", masked=masked))
    assert "@cpu" in found and "certain" in found
    assert met(MASKED.format(there=", device=x.device", masked=masked)) == []


@pytest.mark.parametrize(
    ("test", "is_tensor"),
    [
        ("type(x) == torch.Tensor", False),
        ("type(x) is torch.Tensor", False),
        ("type(x) in (list, torch.Tensor)", False),
        ("isinstance(x, torch.Tensor)", False),
        # whoever lacks a method of tensors is none
        ("hasattr(x, 'detach')", False),
        # these say nothing of what the host reads behind them
        ("type(x) == list", True),
        ("hasattr(x, 'to_pandas')", True),
        ("not hasattr(x, 'detach')", True),
    ],
)
def test_what_a_question_about_the_type_leaves_behind_an_early_return(test, is_tensor):
    code = f"""
import numpy as np

def array(rows: torch.Tensor, x):
    x = x if rows is None else rows.cuda()
    if {test}:
        return x
    return np.array(x)
"""
    assert bool(host_reads(given(code))) is is_tensor


LAYERS = """
class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.edges = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

    def select(self, x, weights):
        return {reads}

class Wider(Cell):
    pass

class Other(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)

class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.arch = nn.Parameter(torch.zeros(2))
        self.stem = nn.Linear(3, 3)
        self.cells = nn.ModuleList()
        for i in range(n):
            self.cells.append(Other() if i % 2 else {made}())

    def forward(self, x):
        weights = self.arch.detach().cpu()
        x = self.stem(x)
        for cell in self.cells:
            if isinstance(cell, {asked}):
                x = cell.select(x, weights)
        return x
"""
READS = "self.edges[weights.argmax().item()](x)"


@pytest.mark.parametrize(
    ("reads", "made", "asked", "found"),
    [
        (READS, "Cell", "Cell", False),
        (READS, "Wider", "Cell", False),
        (READS, "Cell", "nn.Module", True),  # which method is called nobody says
        ("x * weights", "Cell", "Cell", True),
        ("x * weights", "Wider", "Cell", True),
    ],
)
def test_of_several_modules_it_is_one_of_the_class_that_was_asked_for(reads, made, asked, found):
    seen = meetings(given(LAYERS.format(reads=reads, made=made, asked=asked)))
    assert bool(seen) is found
