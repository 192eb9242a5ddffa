"""What advice calls a device: by a name that the reader finds at the place it is for."""

from __future__ import annotations

import pytest
from rule_check import check_text

from devlint.findings import Confidence


def test_a_device_that_another_function_chose():
    (found,) = check_text("""
import torch


def chosen_by(options):
    gpu_id = options.gpu_id
    return torch.device(gpu_id)


class Rows:
    def __init__(self, options):
        self.device = chosen_by(options)

    def keep(self, rows: torch.Tensor):
        self.kept = rows.to(self.device)

    def shifted(self):
        return self.kept + torch.ones(3)
""")
    made = "torch.ones(3, device=self.kept.device)"  # no `gpu_id` is in sight there
    assert found.advice == f"make it where the other one lives: `{made}`"


def test_a_device_that_the_function_itself_names():
    (found,) = check_text("""
import torch


def shifted(rows: torch.Tensor, device: torch.device):
    return rows.to(device) + torch.ones(3)
""")
    made = "torch.ones(3, device=device)"
    assert found.advice == f"make it where the other one lives: `{made}`"


def test_a_host_tensor_that_a_collective_sends():
    text = """\
import torch
import torch.distributed as dist


def mean(loss: float):
    dist.init_process_group("nccl")
    total = torch.tensor([loss])
    dist.all_reduce(total)
    return total / dist.get_world_size()
"""
    (found,) = [each for each in check_text(text) if each.rule == "DEV101"]
    assert "`dist.all_reduce` sends it through a process group" in found.message
    assert "move `total` to the card of this process first" in found.advice
    assert found.fix is None


def test_a_tensor_that_is_made_for_one_place_is_made_on_its_device():
    (found,) = check_text("""
import torch


def noisy(x: torch.Tensor, share: float):
    noise = torch.randn(x.shape)
    return x + share * noise
""")
    made = "torch.randn(x.shape, device=x.device)"
    assert found.advice == f"make it where the other one lives: `{made}`"


def test_one_that_others_read_too_is_moved_where_it_meets():
    (found,) = check_text("""
import torch


def noisy(x: torch.Tensor):
    noise = torch.randn(x.shape)
    print(noise.mean())
    return x + noise
""")
    assert found.advice == "move it before they meet: `noise.to(x.device)`"


def test_a_comparison_keeps_its_brackets():
    text = """
import torch

scores = torch.rand(10, device="cuda:0")
rows = torch.arange(10)
kept = rows[scores > 0.5]
"""
    (found,) = [each for each in check_text(text) if each.rule == "DEV104"]
    assert found.advice == "bring the index to the host: `(scores > 0.5).cpu()`"


def test_what_gives_a_shape_has_no_device_of_its_own():
    found = check_text("""
import torch
from elsewhere import fill


def filled(x: torch.Tensor):
    out = torch.empty(x.shape)
    return fill(out, x.detach())
""")
    made = "torch.empty(x.shape, device=x.device)"
    assert [f.advice for f in found if f.rule == "DEV102"] == [
        f"make it where the other one lives: `{made}`"
    ]


def test_of_a_long_operand_the_move_is_told():
    (found,) = check_text("""
import torch


def mixed(first: torch.Tensor):
    noise, more = torch.randn(3), torch.randn(3)
    return first + (noise * 0.25 + more * 0.125 - noise * more * 0.5 + noise * noise * 0.0625)
""")
    assert found.advice == "move it before they meet: `(…).to(first.device)`"


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (
            "`(x == 3).detach().cpu()`",
            "import numpy as np\nx = torch.ones(3).cuda()\nnp.array(x == 3)",
        ),
        ("`x[0].detach().cpu()`", "import numpy as np\nx = torch.ones(3).cuda()\nnp.array(x[0])"),
        (
            "`(a + b).to(c.device)`",
            "a = b = torch.ones(3)\nc = torch.ones(3).cuda()\nd = (a + b) * c",
        ),
    ],
)
def test_what_is_advised_moves_an_operation_as_a_whole(said, text):
    assert any(said in each.advice for each in check_text(f"import torch\n{text}\n"))


ROWS = """
import torch
from torch import nn


class Table(nn.Module):
    def __init__(self, n: int, d: int):
        super().__init__()
        self.rows = nn.Parameter(torch.randn(n + 1, d))

    def forward(self, x):
        first = torch.zeros(1, dtype=torch.long)
        order = {order}
        return x + self.rows[order]
"""


def test_no_factory_gets_a_device_alone_where_others_meet_what_it_makes():
    """On the device, the one would not meet the other: the advice would break the code."""
    joined = ROWS.format(order="torch.cat((first, torch.arange(x.shape[1])))")
    (found,) = [each for each in check_text(joined) if each.rule == "DEV308"]
    made = "pass `device=` to each factory that it comes from"
    assert found.advice == f"make it where it is used: {made}"


@pytest.mark.parametrize("order", ["first + 1", "torch.cat((first, first))", "first * 2 - first"])
def test_the_one_factory_that_a_value_comes_from_gets_the_device(order):
    (found,) = [each for each in check_text(ROWS.format(order=order)) if each.rule == "DEV308"]
    made = "torch.zeros(1, dtype=torch.long, device=self.rows.device)"
    assert found.advice == f"make it where it is used: `{made}`"


def test_a_model_of_the_project_and_its_input_are_told_apart():
    (found,) = [
        each
        for each in check_text("""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)

    def forward(self, x):
        return self.first(x)


def judged(rows: torch.Tensor):
    teacher = Net()
    rows = rows.cuda()
    return teacher(rows)
""")
        if each.rule == "DEV103"
    ]
    assert found.message == "`teacher` is on cpu, its input `rows` on cuda"
    assert found.advice == 'move it before the call: `Net().to("cuda")`'
    notes = [(step.location.line, step.message) for step in found.related]
    assert notes == [
        (16, "`teacher` is on cpu: made here, on the default device"),
        (15, "`rows` is handed in by the caller"),
        (17, "`rows` is on cuda: moved here"),
        (12, "they meet here"),
    ]


MADE_BY_CALLEE = """
import torch


def scaled(rows, count):
    steps = torch.linspace(0.0, 1.0, count)
    return rows * steps


def use():
    rows = torch.ones(4, device="cuda")
    return scaled(rows, 4)
"""


def test_what_a_callee_makes_is_made_elsewhere_and_its_result_is_not_moved():
    (found,) = [each for each in check_text(MADE_BY_CALLEE) if each.rule == "DEV101"]
    assert found.advice == "make it where the other one lives: pass `device=` to `torch.linspace`"
    assert found.fix is None


FORGOTTEN = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def judge(model, loader):
    model.eval()
    for (rows,) in loader:
        print(model(rows))


def main():
    model = nn.Linear(3, 3){moved}
    judge(model, DataLoader(TensorDataset(torch.rand(8, 3)), batch_size=2))
"""


def test_a_loader_that_is_handed_over_is_not_what_is_moved():
    said = [each for each in check_text(FORGOTTEN.format(moved=".cuda()")) if each.rule == "DEV103"]
    (found,) = [each for each in said if each.confidence is Confidence.LIKELY]
    assert found.location.line == 15
    assert found.advice == "move each batch to the module's device, in `judge`"
    assert found.fix is None
    host = [each for each in check_text(FORGOTTEN.format(moved="")) if each.rule == "DEV103"]
    assert all(each.confidence is Confidence.POSSIBLE for each in host)


def test_of_a_list_what_is_out_of_place_is_moved():
    (found,) = [
        each
        for each in check_text("""
import torch


def joined(x: torch.Tensor):
    start = torch.zeros(1).cumsum(0)
    y = x.cuda()
    return torch.cat([start, y])
""")
        if each.rule == "DEV101"
    ]
    assert "[start, y].to" not in found.advice


def test_a_name_of_another_function_is_no_device_for_a_factory():
    (found,) = [
        each
        for each in check_text("""
import torch

TABLE = torch.linspace(0, 1, 10)


def looked_up(index: torch.Tensor):
    return TABLE.gather(0, index.detach())
""")
        if each.rule in ("DEV102", "DEV104")
    ]
    assert "linspace" not in found.advice


def test_a_method_of_a_module_is_spoken_of_as_the_module():
    (found,) = [
        each
        for each in check_text("""
import torch
import torchmetrics


def judge(x, y):
    right = torchmetrics.Accuracy(task="multiclass", num_classes=3)
    right.update(x.cuda(), y.cuda())
""")
        if each.rule == "DEV103"
    ]
    assert found.message.startswith("`right` is on cpu, its input")
    assert found.advice.endswith(
        '`torchmetrics.Accuracy(task="multiclass", num_classes=3).to("cuda")`'
    )


@pytest.mark.parametrize(
    ("factory", "advised"),
    [
        ("torch.LongTensor(rows)", "`torch.LongTensor(…).pin_memory()`"),
        ("torch.from_numpy(rows)", "`torch.from_numpy(…).pin_memory()`"),
        ("torch.tensor(rows)", "`torch.tensor(…, pin_memory=True)`"),
    ],
)
def test_a_constructor_without_an_option_for_it_is_pinned_afterwards(factory, advised):
    (found,) = [
        each
        for each in check_text(f"""
import torch


def fetch(names):
    rows = [len(each) for each in names]
    if rows:
        speakers = {factory}
    else:
        speakers = None
    if speakers is not None:
        speakers = speakers.cuda(non_blocking=True)
    return speakers


def train(model, loader):
    for names in loader:
        model(fetch(names)).sum().backward()
""")
        if each.rule == "DEV306"
    ]
    assert found.advice == f"copy from pinned memory: {advised}"


@pytest.mark.parametrize(("made", "late"), [("self.mix()", False), ("self.embed.eval()", True)])
def test_a_buffer_that_is_registered_late_is_made_where_the_module_is(made, late):
    (found,) = [
        each
        for each in check_text(f"""
import torch
from torch import nn


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(3, 3)
        {made}

    def mix(self):
        self.table = torch.zeros(3, 3)

    def forward(self, x):
        return self.embed(x) * self.table
""")
        if each.rule == "DEV205"
    ]
    assert ("`device=next(self.parameters()).device`" in found.advice) == late


def test_what_has_keys_is_read_by_its_entries():
    (found,) = [
        each
        for each in check_text("""
import torch


def kept(model, frames, device):
    total = 0
    model.to(device)
    for frame in frames:
        found = model([torch.FloatTensor(frame).to(device)])[0]
        for i in range(found["masks"].size(0)):
            total += found["scores"][i].item()
        total.backward()
    return total
""")
        if each.rule == "DEV305"
    ]
    assert found.advice.endswith('`found["scores"].tolist()`')


@pytest.mark.parametrize(
    ("turn", "rule"),
    [
        ("total = x[i] * gain", "DEV305"),
        ("total = x[i] + gain * last", "DEV305"),
        ("total = x[i] + gain * total", "DEV303"),
    ],
)
def test_what_a_turn_makes_of_the_last_one_is_no_element(turn, rule):
    """It can't be read before the loop: each turn needs what the one before it left."""
    text = f"""
import torch
from torch import nn


class Returns(nn.Module):
    def forward(self, x, gain):
        total = last = x.sum()
        found = []
        for i in range(len(x)):
            {turn}
            found.append(total.item())
        return found
"""
    assert [each.rule for each in check_text(text)] == [rule]


@pytest.mark.parametrize(
    ("tail", "named"),
    [
        ("torch.relu(rows)", "`torch.ones(3, device=rows.device)`"),
        ("torch.relu(rows[0]) * rows.shape[1]", "`torch.ones(3, device=rows.device)`"),
        ("torch.relu(rows[0])", "pass `device=` to the factory"),
    ],
)
def test_only_one_tensor_has_a_device(tail, named):
    """What holds tensors, and is handed in, has none to name."""
    (found,) = check_text(f"""
import torch


def scores(rows):
    return torch.ones(3) * {tail}
""")
    assert found.advice.endswith(named)
