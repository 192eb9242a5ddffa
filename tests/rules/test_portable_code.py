"""What code shows of the machines that it is to run on: DEV501 to DEV505."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_check import RULES

from devlint import engine
from devlint.config import Config

PORTABLE = ("DEV501", "DEV502", "DEV503", "DEV504", "DEV505")


def said(root: Path, code: str) -> list[tuple[str, int]]:
    """The rules on portable code that say something at least likely, and where."""
    file = root / "work.py"
    file.write_text(code)
    report = engine.check([file], Config(root), tuple(RULES.values()))
    assert not report.errors
    found = [f for f in report.findings if f.rule in PORTABLE]
    return [(finding.rule, finding.location.line) for finding in found]


PEAK = """\
import torch

class Peak:
    def __init__(self, {parameter}):
        self.device = {device}

    def begin(self):
        torch.cuda.reset_peak_memory_stats({given})
"""


@pytest.mark.parametrize(
    ("parameter", "device", "given", "found"),
    [
        ("device", "torch.device(device)", "self.device", [("DEV504", 8)]),
        ("device", "torch.device(device)", "", []),  # of the current card
        ("size", "size", "self.device", []),  # nobody chooses it
    ],
)
def test_a_call_that_is_given_the_device_of_its_object_meets_any_device(
    tmp_path, parameter, device, given, found
):
    code = PEAK.format(parameter=parameter, device=device, given=given)
    assert said(tmp_path, code) == found


MEAN = """\
import torch
import torch.distributed as dist

def reduced(total):
    value = torch.tensor([total], device="cuda:0")
    {then}
    return value
"""


def test_what_goes_through_a_process_group_is_there_once_per_rank(tmp_path):
    assert said(tmp_path, MEAN.format(then="dist.all_reduce(value)")) == [("DEV505", 5)]


def test_what_does_not_is_a_card_as_any_other(tmp_path):
    assert "DEV505" not in dict(said(tmp_path, MEAN.format(then="value += 1")))


LAUNCHED = """\
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def main(build):
    dist.init_process_group(backend="nccl")
    {rank}
    model = build().to(torch.device("cuda"))
    return DistributedDataParallel(model{cards})
"""


@pytest.mark.parametrize(
    ("rank", "cards", "found"),
    [
        ('rank = int(os.environ["LOCAL_RANK"])', ", device_ids=[rank]", [("DEV505", 10)]),
        ('rank = int(os.environ["LOCAL_RANK"])', "", [("DEV505", 10)]),
        # the launcher may give each process a card of its own
        ("pass", "", []),
        ('torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))', "", []),
    ],
)
def test_who_knows_the_card_of_its_rank_and_makes_it_current_nowhere_is_on_the_first(
    tmp_path, rank, cards, found
):
    assert said(tmp_path, LAUNCHED.format(rank=rank, cards=cards)) == found


FLAG = """\
import torch

class Extractor:
    def __init__(self, net, gpu):
        self.net = net
        {first}

    def rows(self, images):
        return self.net(images.cuda())
"""


def test_a_class_that_asks_a_flag_for_one_move_runs_on_the_host_as_well(tmp_path):
    code = FLAG.format(first="self.net = net.cuda() if gpu else net")
    assert said(tmp_path, code) == [("DEV501", 9)]


def test_a_class_that_never_asks_may_be_for_cuda_alone(tmp_path):
    assert said(tmp_path, FLAG.format(first="self.net = net.cuda()")) == []


CHOSEN = """\
import torch

def embed(rows: torch.Tensor, flag):
    {line}
    return rows, made
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('made = torch.device("cuda") if rows.is_cuda else torch.device("cpu")', "DEV501"),
        ('made = "cuda" if rows.is_cuda else "cpu"', "DEV501"),
        ("made = torch.cuda.LongTensor if rows.is_cuda else torch.LongTensor", "DEV503"),
        ("made = torch.cuda.LongTensor if rows[0].is_cuda else torch.LongTensor", "DEV503"),
        ('made = "cuda" if rows[0].is_cuda else "cpu"', "DEV501"),
        ('made = torch.device("cuda:1") if rows[0].is_cuda else torch.device("cpu")', ""),
        ('made = torch.device("cuda:1") if rows.is_cuda else torch.device("cpu")', ""),
        ('made = "cuda" if torch.cuda.is_available() else "cpu"', ""),
        ('made = "cuda" if flag else "cpu"', ""),
        ("made = 1 if rows.is_cuda else 2", ""),
    ],
)
def test_a_choice_by_an_input_takes_the_current_card_and_not_that_of_the_input(
    tmp_path, line, found
):
    assert [rule for rule, _ in said(tmp_path, CHOSEN.format(line=line))] == (
        [found] if found else []
    )


TIMED = """\
import time

import torch


def timed(model, batches):
    start = time.perf_counter()
    for batch in batches:
        {step}
    torch.cuda.synchronize()
    return time.perf_counter() - start
"""


@pytest.mark.parametrize(
    ("step", "found"),
    [("model(batch)", [("DEV504", 10)]), ("model(batch.cuda())", [])],
)
def test_who_works_with_what_is_given_and_only_waits_for_cuda_fails_elsewhere(
    tmp_path, step, found
):
    assert said(tmp_path, TIMED.format(step=step)) == found


DRAWN = """\
import torch


def drawn(weights, count):
    if weights.is_cuda:
        return {callee}({weights}, count).cuda()
    return torch.multinomial(weights, count)
"""


@pytest.mark.parametrize(
    ("callee", "weights", "found"),
    [
        ("drawn", "weights.cpu()", [("DEV501", 6)]),
        ("torch.multinomial", "weights.cpu()", [("DEV501", 6)]),
        ("drawn", "weights", []),
    ],
)
def test_a_recursion_works_where_its_argument_was_brought(tmp_path, callee, weights, found):
    assert said(tmp_path, DRAWN.format(callee=callee, weights=weights)) == found


MERGED = """\
import sys

import torch
from net import Net


def merged(files):
    net = Net()
    net.load_state_dict(torch.load(files[0]))
    {then}
    return net


if __name__ == "__main__":
    torch.save(merged(sys.argv[1:]), "merged.pt")
"""


@pytest.mark.parametrize(
    ("then", "found"),
    [("net.eval()", [("DEV502", 9)]), ("net(torch.ones(3)).sum().backward()", [])],
)
def test_a_script_that_trains_on_no_accelerator_loads_what_its_like_have_saved(
    tmp_path, then, found
):
    assert said(tmp_path, MERGED.format(then=then)) == found


NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, {given}):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor):
        return {result}
"""
USUAL = {"given": "width=4", "result": "self.fc(x) + torch.ones(4).cuda()"}


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, []),  # a module has an input to go by: so have those of projects for CUDA
        ({"given": "device"}, [("DEV501", 11)]),
        (
            {"result": "self.fc(x) + torch.ones(4).cuda() * self.scale.to(x.device)"},
            [("DEV501", 11)],
        ),
        ({"result": "self.fc(x) + torch.ones(4).cuda().add(args.device)"}, [("DEV501", 11)]),
        ({"result": "self.fc(x.cuda()).cpu()"}, []),
        ({"result": "self.fc(x.cuda().to(x.device))"}, [("DEV501", 11)]),
    ],
)
def test_code_for_the_host_shows_it_around_the_accelerator(tmp_path, change, found):
    assert said(tmp_path, NET.format(**USUAL | change)) == found


SCALE = """\
import torch


def scale(rows):
    return rows + torch.ones(4).cuda()
"""
CHOICE = 'device = "cuda" if torch.cuda.is_available() else "cpu"'


@pytest.mark.parametrize(
    ("program", "found"),
    [
        (f"import torch\nfrom work import scale\n{CHOICE}\nscale(torch.ones(4))\n", 1),
        ("import torch\nfrom work import scale\nscale(torch.ones(4).cuda())\n", 0),
        (f"import torch\n{CHOICE}\nprint(device)\n", 0),  # which is another program
    ],
)
def test_a_library_is_for_the_machines_of_whoever_imports_it(tmp_path, program, found):
    (tmp_path / "train.py").write_text(program)
    assert len(said(tmp_path, SCALE)) == found


def test_a_script_chooses_for_itself(tmp_path):
    code = 'import torch\nimport helper\ndevice = torch.device("cuda")\nprint(device)\n'
    (tmp_path / "helper.py").write_text(f"import torch\n{CHOICE}\n")
    assert said(tmp_path, code) == []
    assert said(tmp_path, code + "fast = torch.cuda.is_available()\n") == [("DEV501", 3)]


STATE = """\
import torch
from torch import nn


class Codes(nn.Module):
    def __init__(self, device):
        super().__init__()
        {made}
        {reset}

    def reset(self):
        self.count = torch.zeros(9).cuda()
"""


@pytest.mark.parametrize(
    ("made", "reset", "has_device"),
    [
        ("self.fc = nn.Linear(4, 4)", "pass", True),
        ("self.fc = nn.Linear(4, 4)", "self.reset()", False),  # it is placed nowhere yet
        ("self.register_buffer('k', torch.ones(3))", "pass", False),  # no parameters
    ],
)
def test_a_module_s_parameters_are_a_device_at_hand_once_it_is_made(
    tmp_path, made, reset, has_device
):
    file = tmp_path / "work.py"
    file.write_text(STATE.format(made=made, reset=reset))
    findings = engine.check([file], Config(tmp_path), tuple(RULES.values())).findings
    (found,) = [each for each in findings if each.rule == "DEV501"]
    assert ("next(self.parameters())" in found.advice) is has_device


@pytest.mark.parametrize(
    ("code", "others", "said"),
    [
        ("def zeros(n):\n    return torch.cuda.FloatTensor(n)\n", "", 0),
        ("def zeros(n):\n    return torch.cuda.FloatTensor(n)\n", f"import work\n{CHOICE}\n", 1),
        ("def zeros(n, device):\n    return torch.cuda.FloatTensor(n)\n", "", 1),
        ("def eye(x: torch.Tensor):\n    return x.type(torch.cuda.FloatTensor)\n", "", 0),
        ("def eye(x: torch.Tensor):\n    return x.type(torch.FloatTensor)\n", "", 1),
    ],
)
def test_an_old_type_of_cuda_is_told_where_other_machines_are_served(tmp_path, code, others, said):
    (tmp_path / "train.py").write_text(f"import torch\n{others}")
    found = said_of(tmp_path, f"import torch\n\n\n{code}", "DEV503")
    assert len(found) == said


def said_of(root: Path, code: str, rule: str) -> list[tuple[str, int]]:
    return [found for found in said(root, code) if found[0] == rule]


@pytest.mark.parametrize(
    ("name", "found"), [("training_args.bin", 0), ("config.pt", 0), ("model.bin", 1)]
)
def test_options_hold_no_tensors(tmp_path, name, found):
    code = f"""\
import os
import torch


def options(model_folder):
    return torch.load(os.path.join(model_folder, "{name}"))
"""
    assert len(said_of(tmp_path, code, "DEV502")) == found


SCORER = """\
import torch
from torch import nn


class Scorer(nn.Module):
    def forward(self, scores):
        kept = scores.to(self.bias.device)
        return kept * torch.ones(4).cuda()
"""
DEMANDING = "def weights(n):\n    return torch.rand(n).cuda()\n"
CHOOSING = "def weights(n, like):\n    return torch.rand(n, device=like.device)\n"


@pytest.mark.parametrize(
    ("others", "found"),
    [
        ([], [("DEV501", 8)]),
        ([CHOOSING], [("DEV501", 8)]),
        ([CHOOSING, CHOOSING, DEMANDING], [("DEV501", 8)]),
        ([DEMANDING], []),
        ([CHOOSING, DEMANDING], []),
    ],
)
def test_among_files_that_demand_cuda_one_more_is_no_exception(tmp_path, others, found):
    for number, other in enumerate(others):
        (tmp_path / f"part{number}.py").write_text("import torch\n\n\n" + other)
    assert said(tmp_path, SCORER) == found


OWN_CARD = """\
import torch
import torch.distributed as dist

def embed(rows: torch.Tensor):
    {line}
    return rows, made
"""


@pytest.mark.parametrize(
    "line",
    [
        'made = torch.device("cuda") if rows.is_cuda else torch.device("cpu")',
        'made = torch.ones(3, device=f"cuda:{dist.get_rank()}")',
    ],
)
@pytest.mark.parametrize(
    ("launch", "found"),
    [("torch.cuda.set_device(local_rank)", 0), ("print(local_rank)", 1)],
)
def test_where_each_process_has_its_card_the_current_one_is_that(tmp_path, line, launch, found):
    (tmp_path / "launch.py").write_text(
        f"import torch\n\n\ndef launch(local_rank):\n    {launch}\n"
    )
    assert len(said(tmp_path, OWN_CARD.format(line=line))) == found


@pytest.mark.parametrize(
    ("owner", "found"), [("lr_scheduler", 0), ("loader.sampler", 0), ("net", 1), ("optimizer", 1)]
)
def test_what_counts_steps_has_no_tensors_in_its_state(tmp_path, owner, found):
    code = f"""\
import torch


def resume(path, net, optimizer, lr_scheduler, loader):
    {owner}.load_state_dict(torch.load(path))
"""
    assert len(said_of(tmp_path, code, "DEV502")) == found


SCALED = """\
import os

import torch
{line}

from . import names


class Trainer:
    def __init__(self, net, scaler, optimizer):
        self.net, self.scaler, self.optimizer = net, scaler, optimizer

    def save_state(self, folder):
        torch.save(self.{saved}.state_dict(), os.path.join(folder, names.{file}))

    def load_state(self, folder):
        state = torch.load(os.path.join(folder, names.SCALER_STATE))
        return state

    def resume(self, path):
        self.{owner}.load_state_dict(torch.load(path))
"""
SCALING = "from torch.cuda.amp import GradScaler"


@pytest.mark.parametrize(
    ("line", "saved", "file", "owner", "found"),
    [
        (SCALING, "scaler", "SCALER_STATE", "scaler", 0),
        (SCALING, "scaler", "SCALER_STATE", "optimizer", 1),  # a momentum for each parameter
        (SCALING, "optimizer", "SCALER_STATE", "scaler", 1),
        (SCALING, "scaler", "OTHER_STATE", "scaler", 1),
        ("", "scaler", "SCALER_STATE", "scaler", 2),  # a module that scales its input, perhaps
    ],
)
def test_what_a_gradient_scaler_saves_are_numbers(tmp_path, line, saved, file, owner, found):
    code = SCALED.format(line=line, saved=saved, file=file, owner=owner)
    assert len(said_of(tmp_path, code, "DEV502")) == found


@pytest.mark.parametrize(("package", "found"), [("amp", 0), ("parallel", 1)])
def test_the_state_of_apexs_amp_is_numbers(tmp_path, package, found):
    code = f"""\
import torch

try:
    from apex import {package}
except ImportError:
    {package} = None


def resume(path):
    {package}.load_state_dict(torch.load(path))
"""
    assert len(said_of(tmp_path, code, "DEV502")) == found


def test_a_file_that_leaves_a_choice_itself_is_an_exception_anywhere(tmp_path):
    for number in range(3):
        (tmp_path / f"part{number}.py").write_text("import torch\n\n\n" + DEMANDING)
    code = SCORER + '\n\ndevice = "cuda" if torch.cuda.is_available() else "cpu"\n'
    assert ("DEV501", 8) in said(tmp_path, code)


def test_who_asks_an_accelerator_object_for_its_device_runs_anywhere(tmp_path):
    for number in range(3):
        (tmp_path / f"part{number}.py").write_text("import torch\n\n\n" + DEMANDING)
    code = """\
def encoded(accelerator, tower, batch):
    tower = tower.to("cuda")
    return tower(batch.to(accelerator.device))
"""
    assert said(tmp_path, code) == [("DEV501", 2)]
    assert said(tmp_path, code.replace("accelerator.device", '"cuda"')) == []


@pytest.mark.parametrize(
    ("url", "other", "found"),
    [
        ("path", "torch.load(path, map_location='cpu')", True),
        ("path", "open(path).read()", False),  # nothing else is loaded here
        ("TABLE[path]", "torch.load(path, map_location='cpu')", False),  # what is published
    ],
)
def test_a_url_that_is_handed_in_beside_files_may_name_anything(tmp_path, url, other, found):
    code = f"""\
import torch
from published import TABLE

def weights(net, path):
    if path.startswith("https://"):
        state = torch.hub.load_state_dict_from_url({url})
    else:
        state = {other}
    net.load_state_dict(state)
"""
    assert said(tmp_path, code) == ([("DEV502", 6)] if found else [])


PINNED = """\
import torch

def parts(x: torch.Tensor, n, device, pin=False):
    {pinned}
    return held.to(device, non_blocking=True)
"""


@pytest.mark.parametrize(
    "pinned",
    [
        "held = torch.empty(n, pin_memory=True)",
        "held = torch.zeros_like(x, pin_memory=True)",
        "held = x.new_ones(n, pin_memory=True)",
        "held = torch.from_numpy(n).pin_memory()",
        "held = torch.ones(n, device='cpu', pin_memory=True)",
    ],
)
def test_memory_is_pinned_by_an_accelerator_alone(tmp_path, pinned):
    assert said(tmp_path, PINNED.format(pinned=pinned)) == [("DEV504", 4)]


@pytest.mark.parametrize(
    "pinned",
    [
        "held = torch.empty(n, pin_memory=pin)",
        "held = torch.empty(n, pin_memory=torch.cuda.is_available())",
        "held = torch.ones(n).pin_memory() if pin else torch.ones(n)",
        "held = x.cpu().pin_memory()",  # it came from there
        "held = torch.empty(n, dtype=x.dtype, device='cpu', pin_memory=True)",  # what is to go up
        "held = torch.empty_like(x, device='cpu', pin_memory=True)",
        "held = n.pin_memory()",  # a batch of a class of its own
        "held = torch.utils.data.DataLoader(n, pin_memory=True)",
    ],
)
def test_by_a_flag_it_is_not_and_what_came_down_has_an_accelerator(tmp_path, pinned):
    assert said(tmp_path, PINNED.format(pinned=pinned)) == []


@pytest.mark.parametrize(("name", "found"), [("pin_all", []), ("spin", [("DEV504", 4)])])
def test_who_calls_a_function_that_pins_has_chosen_it(tmp_path, name, found):
    code = PINNED.replace("parts", name).format(pinned="held = torch.ones(n).pin_memory()")
    assert said(tmp_path, code) == found


OF_TENSORS = """\
import torch
from torch import Tensor, nn

class Base(Tensor):
    pass

class Made({base}):
    {body}

def build(n, given: Tensor):
    return Made({arguments})
"""


@pytest.mark.parametrize(
    ("base", "body", "arguments", "found"),
    [
        ("Tensor", "pass", "n, n, device=given.device", [("DEV503", 11)]),
        ("Base", "pass", "size=(n, n), device=given.device", [("DEV503", 11)]),
        ("Tensor", "def all(self): return 1", "n, device=given.device", [("DEV503", 11)]),
        ("Tensor", "pass", "n, n", []),
        ("Tensor", "pass", "n, n, device='cpu'", []),
        ("Tensor", "pass", "given", []),
        ("Tensor", "def __new__(cls, n, device): pass", "n, device=given.device", []),
        ("Tensor", "def __init__(self, n, device): pass", "n, device=given.device", []),
        ("nn.Parameter", "pass", "n, device=given.device", []),
        ("unseen.Base, Tensor", "pass", "n, device=given.device", []),
    ],
)
def test_a_class_of_tensors_is_constructed_as_a_tensor_is(tmp_path, base, body, arguments, found):
    code = OF_TENSORS.format(base=base, body=body, arguments=arguments)
    assert said(tmp_path, code) == found
