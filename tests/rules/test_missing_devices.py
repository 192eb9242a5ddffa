"""`self.device` of an object that nothing gives one: who may give it, and what is advised."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_check import check_files, check_text

HEAD = "import torch\nfrom torch import nn\n\n\n"
LOSS = (
    "class Loss(nn.Module):\n"
    "    def forward(self, x: torch.Tensor):\n"
    "        return x + torch.ones(3, device=self.device)\n"
)


def advice_of(text: str) -> list[str]:
    return [found.advice for found in check_text(HEAD + text) if found.rule == "DEV114"]


def codes_in(folder: Path, **files: str) -> set[str]:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(HEAD + text)
    return {found.rule for found in check_files(folder, folder / "loss.py")}


def test_the_device_is_that_of_the_input():
    assert advice_of(LOSS) == ["take the device of what comes in: `x.device`"]


def test_without_an_input_it_is_that_of_the_parameters():
    text = (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layer = nn.Linear(3, 3)\n\n"
        "    def noise(self, count):\n"
        "        return torch.randn(count, 3, device=self.device)\n\n"
        "    def forward(self, x):\n"
        "        return self.layer(x)\n"
    )
    assert advice_of(text) == ["take that of its parameters: `next(self.parameters()).device`"]


@pytest.mark.parametrize(
    "body",
    [
        "    device = None\n",
        "    device: str\n",
        '    __slots__ = ("device",)\n',
        "    def device(self): ...\n",
        "    def __getattr__(self, name): return getattr(self.inner, name)\n",
        "    def __init__(self, **rest): self.__dict__.update(rest)\n",
        "    def __init__(self, rest): vars(self).update(rest)\n",
        "    def __init__(self, rest): rest.give(self.register_buffer)\n",
        "    def __init__(self, rest): rest.give(partial(setattr, self))\n",
        "    def place(self, where): (self.device, self.index) = where\n",
        '    def place(self, where): self.register_buffer("device", where)\n',
        "    def place(self, names):\n        for self.device in names: ...\n",
        "    from somewhere import device\n",
        "    def step(self): raise NotImplementedError\n",
    ],
)
def test_a_class_may_give_it_in_many_ways(body: str):
    assert advice_of(LOSS + body) == []


@pytest.mark.parametrize(
    "head",
    [
        "class Loss(nn.Module, Elsewhere):",
        "class Loss(nn.Module, metaclass=Made):",
        "@made\nclass Loss(nn.Module):",
        "class Loss(torch.nn.parallel.DistributedDataParallel):",
        "class Loss(nn.Parameter):",
    ],
)
def test_a_class_that_others_make_may_have_one(head: str):
    text = "from elsewhere import Elsewhere, Made, made\n\n\n" + LOSS
    assert advice_of(text.replace("class Loss(nn.Module):", head)) == []


def test_a_base_of_torch_gives_none():
    data = (
        "class Rows(torch.utils.data.Dataset):\n"
        "    def __getitem__(self, index):\n"
        "        return torch.ones(3, device=self.where)\n\n\nrows = Rows()\n"
    )
    assert advice_of(data) == ["let the constructor take a device and keep it as `self.where`"]


def test_a_class_that_nobody_makes_may_be_half_of_another():
    text = "class Half:\n    def ones(self):\n        return torch.ones(3).to(self.device)\n"
    assert advice_of(text) == []
    assert len(advice_of(text + "\n\nHalf().ones()\n")) == 1


HALF = (
    "class Half:\n"
    "    def __init__(self, scale):\n"
    "        self.scale = scale\n\n"
    "    def ones(self, rows):\n"
    "        {line}\n"
    "        return torch.ones(3, device=self.device)\n\n\n"
    "Half(2).ones([])\n"
)


@pytest.mark.parametrize(
    ("line", "is_half"),
    [
        ("self.show(rows)", True),  # whoever gives `show` may give a device
        ("rows += self.more", True),
        ("super().ones(rows)", True),
        ("rows += self.scale", False),
        ("print(self.__class__, self.ones)", False),
        ("self.more = rows; self.more += rows", False),
    ],
)
def test_a_class_that_asks_for_more_than_it_has_is_half_of_another(line: str, is_half: bool):
    assert (advice_of(HALF.format(line=line)) == []) == is_half


@pytest.mark.parametrize(
    ("other", "is_given"),
    [
        ("def run(loss, device):\n    loss.device = device\n", True),
        ('def run(loss, device):\n    setattr(loss, "device", device)\n', True),
        ("class Placed(Loss):\n    ...\n", True),
        ("class Every(nn.Module):\n    ...\n\n\nnn.Module = Every\n", True),
        ("def run(args, device):\n    args.device = device\n", False),
        ("class Run:\n    def __init__(self, device):\n        self.device = device\n", False),
        ("def run(loss: nn.Module = None):\n    return loss.device == 3\n", False),
    ],
)
def test_another_file_may_give_it(tmp_path: Path, other: str, is_given: bool):
    assert ("DEV114" not in codes_in(tmp_path, loss=LOSS, other=other)) == is_given


def test_a_base_of_the_project_may_give_it(tmp_path: Path):
    base = "class Base(nn.Module):\n    def place(self, device):\n        self.device = device\n"
    loss = "from base import Base\n\n\n" + LOSS.replace("nn.Module", "Base")
    assert "DEV114" not in codes_in(tmp_path, loss=loss, base=base)
    bare = "class Base(nn.Module):\n    ...\n"
    assert "DEV114" in codes_in(tmp_path, loss=loss, base=bare)
