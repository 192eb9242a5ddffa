"""Code that shows to be for CUDA: that it demands CUDA is only possible to be wrong there; that it
takes another card than the one it was given is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_check import RULES

from devlint import engine
from devlint.config import Config
from devlint.findings import Finding

SETUP = 'setup(ext_modules=[CUDAExtension(name="fast_kernels", sources=["a.cu"])])\n'
HEAD = "import torch\nfrom torch import nn\nimport fast_kernels\n\n\n"


def shown(root: Path, code: str, setup: str = SETUP) -> list[Finding]:
    """The findings of portability, at the confidence that users have."""
    (root / "setup.py").write_text(setup)
    (root / "net.py").write_text(code)
    report = engine.check([root / "net.py"], Config(root), tuple(RULES.values()))
    assert not report.errors
    return [
        finding for finding in report.findings if finding.rule in ("DEV501", "DEV502", "DEV504")
    ]


CACHE = HEAD + (
    "class Cache(nn.Module):\n"
    "    def __init__(self, size):\n"
    "        super().__init__()\n"
    "        self.keys = torch.zeros(size).cuda()\n"
)


def test_a_cache_beside_the_project_s_kernels(tmp_path: Path):
    assert shown(tmp_path, CACHE) == []
    code = f"{CACHE}\n\nfast = torch.cuda.is_available()\n"
    assert shown(tmp_path, code) == []
    (found,) = shown(tmp_path, code, setup="")  # the extension is somebody else's
    assert found.rule == "DEV501" and "demands an accelerator" in found.message


@pytest.mark.parametrize(
    ("code", "device"),
    [
        (
            "def fused(q: torch.Tensor):\n"
            "    scale = torch.ones(3, device=q.device)\n"
            '    return fast_kernels.run(q, scale, torch.empty(3, device="cuda"))\n',
            "q.device",
        ),
        (
            "class Net(nn.Module):\n"
            "    @property\n"
            "    def where(self):\n"
            "        return self.device\n"
            "    def forward(self, ids):\n"
            "        return fast_kernels.run(ids.cuda())\n",
            "self.device",
        ),
        (
            "parser = argparse.ArgumentParser()\n"
            'parser.add_argument("--device", default="cuda:0")\n'
            "args = parser.parse_args()\n"
            "net = nn.Linear(3, 3).to(args.device)\n"
            "print(net(torch.ones(3).cuda()))\n",
            "args.device",
        ),
    ],
)
def test_another_card_than_the_one_at_hand(tmp_path: Path, code: str, device: str):
    (found,) = shown(tmp_path, "import argparse\n" + HEAD + code)
    assert f"takes the current card, which need not be `{device}`" in found.message
    assert found.advice == f"go by the device that is at hand: `{device}`"


CHOOSER = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(3, 3)
        self.device = "cpu"

    def place(self):
        self.device = "cuda:0"
        self.f.to(self.device)

    def forward(self, x):
        return self.f(x.cuda())
"""


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (
            CHOOSER.replace("x.cuda()", "x"),
            "take the device as a parameter, of the constructor or of the function",
        ),
        (
            CHOOSER.replace("x.cuda()", "x").replace("(nn.Module)", ""),
            "take the device as a parameter, of the constructor or of the function",
        ),
        (
            CHOOSER.replace('self.device = "cuda:0"', "pass"),
            "go by the device that is at hand: `self.device`",
        ),
    ],
)
def test_no_device_is_at_hand_where_it_is_chosen(tmp_path: Path, code: str, advice: str):
    assert [found.advice for found in shown(tmp_path, code)] == [advice]


def test_a_numbered_card(tmp_path: Path):
    (found,) = shown(tmp_path, CACHE.replace(".cuda()", '.to("cuda:0")'))
    assert "takes card 0, which need not be where the model is" in found.message


SCRIPT = (
    "import os\nimport torch\nfrom torch import nn\n\n{first}\n\n\ndef main():\n    {begin}\n"
    "    net = nn.Linear(3, 3)\n    net.load_state_dict(torch.load('net.pt'))\n"
    "    net = {net}\n    print(net(torch.ones(3).cuda()))\n\n\n"
    "if __name__ == '__main__':\n    main()\n"
)


@pytest.mark.parametrize(
    "change",
    [
        {"first": 'os.environ["CUDA_VISIBLE_DEVICES"] = "0"'},
        {"begin": "torch.set_default_tensor_type('torch.cuda.FloatTensor')"},
        {"net": "nn.DataParallel(net).cuda()"},
    ],
)
def test_a_script_for_cards(tmp_path: Path, change: dict[str, str]):
    usual = {"first": "", "begin": "pass", "net": "net.cuda()"}
    assert shown(tmp_path, SCRIPT.format(**{**usual, **change}), setup="") == []


@pytest.mark.parametrize(
    ("change", "rules"),
    [
        ({}, set()),
        (
            {"begin": "if torch.cuda.is_available(): torch.set_default_device('cuda')"},
            {"DEV501", "DEV502"},
        ),
        ({"first": 'print(os.environ["CUDA_VISIBLE_DEVICES"])'}, set()),
        ({"begin": "device = 'cuda' if torch.ones(1) else 'cpu'"}, {"DEV501", "DEV502"}),
        ({"begin": "parser.add_argument('--cuda', type=bool)"}, {"DEV501", "DEV502"}),
        ({"begin": "parser.add_argument('--gpu', type=int)"}, set()),
        ({"begin": "if args.gpu >= 0: net.cuda(args.gpu)"}, {"DEV501", "DEV502"}),
        ({"begin": "print(torch.ones(3, device='cpu'))"}, set()),  # a tensor there is no choice
    ],
)
def test_a_script_that_serves_another_machine_shows_it(
    tmp_path: Path, change: dict[str, str], rules: set[str]
):
    usual = {"first": "", "begin": "pass", "net": "net.cuda()"}
    found = shown(tmp_path, SCRIPT.format(**{**usual, **change}), setup="")
    assert {finding.rule for finding in found} == rules


def test_a_layer_that_is_taken_to_the_card_and_back(tmp_path: Path):
    code = (
        "import torch\n\nfast = torch.cuda.is_available()\n\n\ndef calibrate(model, x):\n"
        "    for layer in model.layers:\n        layer.cuda()\n        x = layer(x)\n"
        "        layer{back}\n    return x\n"
    )
    assert shown(tmp_path, code.format(back=".cpu()"), setup="") == []
    assert [f.rule for f in shown(tmp_path, code.format(back=".eval()"), setup="")] == ["DEV501"]


RESUME = """\
import torch
import torch.distributed as dist


def resume(net, path):
    net.load_state_dict(torch.load(path))
    return net{move}


def start():
    {more}
"""


@pytest.mark.parametrize(
    ("move", "more", "said"),
    [
        (".eval()", "pass", 1),
        (".cuda()", "pass", 0),
        (".cuda()", "dist.init_process_group('nccl')", 1),
        (".cuda()", "return 'cuda' if net else 'cpu'", 1),
        (".cuda()", "return torch.ones(3, device='cpu')", 0),
    ],
)
def test_what_loads_and_demands_cuda_finds_the_card_that_saved(
    tmp_path: Path, move: str, more: str, said: int
):
    found = shown(tmp_path, RESUME.format(move=move, more=more), setup="")
    assert [finding.rule for finding in found].count("DEV502") == said


def test_branches_that_all_demand_cuda_ask_for_nothing(tmp_path: Path):
    code = (
        "import torch\nfrom torch import nn\n\n\ndef main(args, net):\n"
        "    if args.gpu is not None:\n        net = net{one}\n"
        "    else:\n        net = nn.DataParallel(net).cuda()\n"
        "    net.load_state_dict(torch.load(args.resume))\n"
        "    return net\n"
    )
    assert shown(tmp_path, code.format(one=".cuda(args.gpu)"), setup="") == []
    assert {f.rule for f in shown(tmp_path, code.format(one=".eval()"), setup="")} == {"DEV502"}


TRAINER = """\
import torch
from torch import nn


class Trainer:
    def __init__(self, net):
        self.net = net{move}

    def resume(self, path):
        self.net.load_state_dict(torch.load(path))


{behind}
"""


RUN = "\n\n\nif __name__ == '__main__':\n    Trainer(1).resume(2)"


@pytest.mark.parametrize(
    ("move", "behind", "said"),
    [
        ("", "pass", 1),
        (".cuda()", "pass", 0),  # another method of its class
        ("", "def show(x):\n    return x.cuda()", 1),  # some function of a library
        ("", f"def show(x):\n    return x.cuda(){RUN}", 0),
        ("", f"DEVICE = 'cuda'{RUN}", 0),
        ("", f"DEVICE = pick('cuda'){RUN}", 1),
    ],
)
def test_a_class_or_a_script_that_demands_cuda_finds_the_card_that_saved(
    tmp_path: Path, move: str, behind: str, said: int
):
    found = shown(tmp_path, TRAINER.format(move=move, behind=behind), setup="")
    assert [finding.rule for finding in found].count("DEV502") == said


@pytest.mark.parametrize(
    ("saves", "said"),
    [
        ("", 1),
        ("torch.save(net.cpu().state_dict(), path)", 0),
        ("torch.save(net.cpu().state_dict(), path)\n    torch.save(net, path)", 1),
    ],
)
def test_a_project_that_saves_from_the_host_loads_anywhere(tmp_path: Path, saves: str, said: int):
    save = f"import torch\n\n\ndef save(net, path):\n    print(path)\n    {saves}\n"
    (tmp_path / "save.py").write_text(save)
    found = shown(tmp_path, TRAINER.format(move="", behind="pass"), setup="")
    assert [finding.rule for finding in found].count("DEV502") == said


@pytest.mark.parametrize(
    ("imported", "sure"),
    [
        ("from exllamav3 import Generator\n", False),
        ("import mamba_ssm.ops\n", False),
        ("import vllm_notes\n", True),
        ("try:\n    import mamba_ssm\nexcept ImportError:\n    mamba_ssm = None\n", True),
        ("def fast():\n    import vllm\n", True),
    ],
)
def test_a_file_that_needs_a_library_made_for_cuda(tmp_path: Path, imported: str, sure: bool):
    code = f"{imported}\n\ndef run(model, x, device):\n    return model(x.cuda())\n"
    assert bool(shown(tmp_path, f"import torch\n{code}", setup="")) == sure


@pytest.mark.parametrize(
    ("asked", "sure"),
    [("    assert torch.cuda.is_available()\n", False), ("", True)],
)
def test_what_only_programs_that_demand_cuda_come_to(tmp_path: Path, asked: str, sure: bool):
    code = "import torch\n\n\ndef run(model, x, device):\n    return model(x.cuda())\n"
    main = f"def main():\n{asked}    run(print, 3, 4)\n\n\nmain()\n"
    (tmp_path / "train.py").write_text(f"import torch\nfrom net import run\n\n\n{main}")
    assert bool(shown(tmp_path, code, setup="")) == sure


CHOICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'


@pytest.mark.parametrize(
    ("wrapped", "sure"),
    [
        ("DistributedDataParallel(net.cuda(), device_ids=[rank])", False),
        ("Sequential(net.cuda(), name=[rank])", True),
    ],
)
def test_what_is_wrapped_for_one_card_is_on_it(tmp_path: Path, wrapped: str, sure: bool):
    code = (
        "import torch\nfrom torch.nn import Sequential\n"
        f"from torch.nn.parallel import DistributedDataParallel\n\n{CHOICE}\n\n"
        "def prepare(net, rank, distributed):\n"
        f"    if distributed:\n        net = {wrapped}\n    return net\n"
    )
    assert bool(shown(tmp_path, code, setup="")) == sure
