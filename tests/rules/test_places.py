"""What a finding says depends on where it is: in a script, in a library, behind a question."""

from __future__ import annotations

from textwrap import dedent

import pytest
from rule_check import check_text

CODES = ("DEV401", "DEV501", "DEV502", "DEV504", "DEV505")


def told(text: str) -> list[str]:
    """`DEV501 warning likely 7` of each finding of the rules that depend on the place."""
    return [
        f"{f.rule} {f.severity.value} {f.confidence.value} {f.location.line}"
        for f in check_text(text)
        if f.rule in CODES
    ]


MAIN = """\
import torch


def main():
    {first}
    x = torch.ones(3).cuda()
    print(torch.cuda.get_device_name(0), x)


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("first", "findings"),
    [
        ("print('starts')", ["DEV501 warning possible 6", "DEV504 warning possible 7"]),
        ("if not torch.cuda.is_available():\n        return", []),
        ("if not torch.cuda.is_available():\n        raise SystemExit('no GPU')", []),
        ("assert torch.cuda.is_available()", []),
    ],
)
def test_a_script_that_asks_first_is_right(first, findings):
    assert told(MAIN.format(first=first)) == findings


LIBRARY = """\
import torch


def weighted(x: torch.Tensor) -> torch.Tensor:
    {statement}
    return x * weight
"""


def test_a_function_of_a_library_goes_by_its_input():
    text = LIBRARY.format(statement="weight = torch.ones(x.size(0)).cuda()")
    (found,) = [f for f in check_text(text) if f.rule == "DEV501"]
    assert found.severity.value == "warning"
    assert "`torch.ones(x.size(0)).to(x.device)`" in found.advice
    assert found.fix is not None
    assert [edit.text for edit in found.fix.edits] == ["torch.ones(x.size(0)).to(x.device)"]


@pytest.mark.parametrize(
    "statement",
    [
        "weight = torch.ones(x.size(0)).to(x.device)",
        "weight = torch.ones(x.size(0))\n    if x.is_cuda:\n        weight = weight.to(x.device)",
    ],
)
def test_what_goes_by_its_input_is_right(statement):
    assert told(LIBRARY.format(statement=statement)) == []


@pytest.mark.parametrize(
    ("call", "findings"),
    [
        (
            "torch.cuda.synchronize()",
            ["DEV504 warning likely 5"],
        ),  # the rest of the file serves all
        ("torch.cuda.get_device_properties(0)", ["DEV504 warning possible 5"]),
        ("torch.cuda.empty_cache()", []),
        ("torch.cuda.manual_seed_all(0)", []),
        ("torch.cuda.is_available()", []),
        ("torch.cuda.device_count()", []),
        ("torch.cuda.is_available() and torch.cuda.synchronize()", []),
        ("if torch.cuda.is_available():\n        torch.cuda.synchronize()", []),
        ("if x.is_cuda:\n        torch.cuda.synchronize()", []),
    ],
)
def test_a_call_of_a_backend_that_may_not_be_there(call, findings):
    text = f"import torch\n\n\ndef timed(x):\n    {call}\n    return x\n"
    assert told(text) == findings


EPOCH = """\
import time

import torch


def epoch(model, loader{device}):
    {first}
    for batch in loader:
        model(batch.to(device))
    torch.cuda.synchronize()
    return time.perf_counter()
"""


@pytest.mark.parametrize(
    ("device", "first", "confidence"),
    [
        # the caller, the user or the file itself may choose the host
        (", device", "model.train()", "likely"),
        ("", "device = 'cuda' if torch.cuda.is_available() else 'cpu'", "likely"),
        # nothing else of the file is for CUDA
        ("", "device = model.weight.device", "likely"),
        ("", "device = model.bias.to('cpu').device", "likely"),
        # it has taken CUDA's already
        (", device, rank", "device = torch.device('cuda', rank)", "possible"),
    ],
)
def test_a_call_of_a_backend_where_the_host_may_be_chosen(device, first, confidence):
    assert told(EPOCH.format(device=device, first=first)) == [f"DEV504 warning {confidence} 10"]


RANKS = """\
import os

import torch
import torch.distributed as dist


def main():
    dist.init_process_group("nccl")
    {first}
    x = torch.ones(3{device})
    dist.all_reduce(x)


main()
"""


@pytest.mark.parametrize(
    ("first", "device", "findings"),
    [
        ("pass", ', device="cuda:0"', ["DEV505 warning likely 10"]),
        ("pass", ', device="cuda"', ["DEV505 warning possible 10"]),
        ('torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))', ', device="cuda"', []),
        ('rank = int(os.environ["LOCAL_RANK"])', ', device=f"cuda:{rank}"', []),
        ('rank = int(os.environ["LOCAL_RANK"])', ', device=torch.device("cuda", rank)', []),
    ],
)
def test_each_rank_has_its_own_card(first, device, findings):
    assert told(RANKS.format(first=first, device=device)) == findings


LOADS = """\
import pickle
from functools import partial

import torch


def fetch(model, path, device):
    {statement}
"""


@pytest.mark.parametrize(
    ("statement", "findings"),
    [
        ("model.load_state_dict(torch.load(path))", ["DEV502 warning likely 8"]),
        ("return torch.load(path)", ["DEV502 warning possible 8"]),
        ("model.load_state_dict(torch.load(path, map_location=device))", []),
        ('model.load_state_dict(torch.load(path, "cpu"))', []),
        ("options = {'map_location': device}\n    return torch.load(path, **options)", []),
        ("load = partial(torch.load, map_location=device)\n    return load(path)", []),
        ("return pickle.load(path)", []),
    ],
)
def test_a_load_says_where_its_tensors_go(statement, findings):
    assert told(LOADS.format(statement=statement)) == findings


SAVES = """\
import torch
from torch import nn

model = nn.Linear(2, 2)
torch.save(model.state_dict(), {saved})
model.load_state_dict(torch.load("best.pt"))
"""


@pytest.mark.parametrize(
    ("saved", "confidence"), [('"best.pt"', "possible"), ('"other.pt"', "likely")]
)
def test_what_the_script_itself_has_saved_is_where_it_was(saved, confidence):
    assert told(SAVES.format(saved=saved)) == [f"DEV502 warning {confidence} 6"]


SINKS = """\
import cv2
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scipy.stats
import seaborn as sns
import torch
from PIL import Image
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.cluster import KMeans

x = torch.rand(8, 8, device="cuda")
y = x.cpu()
"""


@pytest.mark.parametrize(
    "sink",
    [
        "np.save('x.npy', {})",
        "np.linalg.norm({})",
        "plt.plot({})",
        "plt.imshow({})",
        "plt.scatter({0}, {0})",
        "plt.hist({})",
        "Image.fromarray({})",
        "accuracy_score([0], {})",
        "roc_auc_score([0], {})",
        "KMeans(2).fit({})",
        "scipy.stats.pearsonr([0], {})",
        "cv2.imwrite('x.png', {})",
        "cv2.resize({}, (4, 4))",
        "pd.DataFrame({})",
        "pd.Series({})",
    ],
)
def test_readers_of_host_memory(sink):
    codes = {found.split()[0] for found in told(SINKS + sink.format("x") + "\n")}
    assert codes - {"DEV501"} == {"DEV401"}
    assert {f.split()[0] for f in told(SINKS + sink.format("y") + "\n")} <= {"DEV501"}


def test_figures_and_axes_read_host_memory_as_well():
    plotted = dedent("""\
        figure, axes = plt.subplots()
        axes.plot(x)
    """)
    assert any(found.startswith("DEV401") for found in told(SINKS + plotted))
