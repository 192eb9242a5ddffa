"""What is right as it stands on the machines that code is for, and advice that fits its object."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_check import RULES

from devlint import engine
from devlint.config import Config
from devlint.findings import Confidence, Finding

HEAD = "import torch\nfrom torch import nn\n\n\n"


def found(root: Path, code: str, rule: str, path: str = "work.py", **others: str) -> list[Finding]:
    """What one rule says of one file of a project, at least likely."""
    for name, text in others.items():
        (root / f"{name}.py").write_text(text)
    file = root / path
    file.write_text(HEAD + code)
    report = engine.check([file], Config(root), tuple(RULES.values()))
    assert not report.errors
    return [finding for finding in report.findings if finding.rule == rule]


@pytest.mark.parametrize(("target", "count"), [("y.type()", 0), ("torch.FloatTensor", 1)])
def test_the_type_of_another_tensor_serves_the_cpu_and_cuda_alike(tmp_path, target, count):
    code = (
        "class Scale(nn.Module):\n    def forward(self, y: torch.Tensor):\n"
        f"        x = y * 2 if {count} else torch.ones(3)\n        return x.type({target}) * y\n"
    )
    assert len(found(tmp_path, code, "DEV503")) == count


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ('"torch.cuda.FloatTensor"', 'write `x.to("cuda", torch.float32)`'),
        ("torch.cuda.FloatTensor", 'write `x.to("cuda", torch.float32)`'),
        ("kind", "name them apart: `dtype=` and `device=`"),  # without a card it is another one
    ],
)
def test_a_type_that_a_variable_holds_is_not_written_out(tmp_path, given, advice):
    code = (
        "def cast(x, use_cuda):\n"
        '    kind = "torch.cuda.FloatTensor" if use_cuda else "torch.FloatTensor"\n'
        f"    print(kind)\n    return x.type({given})\n"
    )
    (finding,) = found(tmp_path, code, "DEV503")
    assert finding.advice == advice


@pytest.mark.parametrize(
    ("kind", "dtype"), [("FloatTensor", "torch.float32"), ("BoolTensor", "torch.bool")]
)
def test_what_stands_in_for_a_legacy_constructor_has_its_dtype(tmp_path, kind, dtype):
    """NumPy's numbers are doubles, which a layer does not take."""
    code = (
        "def act(net, rows, device):\n    net.to(device)\n"
        f"    return net(torch.{kind}(rows, device=device))\n"
    )
    (only,) = found(tmp_path, code, "DEV503")
    assert only.advice is not None
    assert f"`dtype={dtype}, device=device` to `torch.tensor`" in only.advice


MASK = """\
class Mask(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.mask = torch.ones(size).to("{device}")

    def keep(self):
        return self.mask
"""


@pytest.mark.parametrize(("device", "count"), [("cuda", 0), ("cuda:1", 1)])
def test_what_a_module_keeps_on_the_current_card_is_where_it_is(tmp_path, device, count):
    assert len(found(tmp_path, MASK.format(device=device), "DEV205")) == count


@pytest.mark.parametrize(
    ("name", "advice"),
    [("device", "torch.full((), 0.5, device=self.device)"), ("table", "self.table.new_full(")],
)
def test_an_attribute_that_is_called_a_device_makes_no_tensors(tmp_path, name, advice):
    code = (
        "class Loss(nn.Module):\n    def __init__(self, **options):\n        super().__init__()\n"
        f'        self.{name} = options["{name}"]\n\n'
        "    def forward(self, x: torch.Tensor):\n"
        f"        return x.mean() + torch.tensor(0.5).to(self.{name})\n"
    )
    (said,) = found(tmp_path, code, "DEV304")
    assert advice in said.advice


RANK = """\
class RankerLayer(nn.Module):
    def forward(self, scores: torch.Tensor, seen, i):
        limit = scores[i].item()
        {then}
        return self.layer(scores - limit)
"""


@pytest.mark.parametrize(
    ("then", "count"), [("scores[seen] = limit - 1", 0), ("scores = scores * 2", 1)]
)
def test_a_number_that_was_a_view_of_what_is_written_has_to_be_read(tmp_path, then, count):
    assert len(found(tmp_path, RANK.format(then=then), "DEV303")) == count


RESUMED = """\
def fit(model, path, device):
    model.to(device)
    {first}
    model.load_state_dict(torch.load(path))
    return model
"""


@pytest.mark.parametrize(
    ("first", "count"), [("torch.save(model.state_dict(), path)", 0), ("model.train()", 1)]
)
def test_what_the_same_run_has_saved_comes_back_to_where_it_was(tmp_path, first, count):
    assert len(found(tmp_path, RESUMED.format(first=first), "DEV502")) == count


@pytest.mark.parametrize("call", ["net", "net.forward"])
def test_the_parameters_are_those_of_the_module_and_not_of_its_method(tmp_path, call):
    code = f"net = nn.Linear(3, 3).to('cuda')\nx = torch.ones(3)\nprint({call}(x))\n"
    (said,) = found(tmp_path, code, "DEV103")
    assert "next(net.parameters()).device" in said.advice


INDEX = """\
from transformers import AutoTokenizer


class Bias(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.tokenizer = AutoTokenizer.from_pretrained("base")
        self.table = nn.Parameter(torch.zeros(size))

    def forward(self, x: torch.Tensor):
        return self.table[x.size(0)] + self.table[{index}]
"""


@pytest.mark.parametrize(
    ("index", "advice"),
    [
        ("torch.arange(x.size(0))", "`torch.arange(x.size(0), device="),
        ('self.tokenizer.encode("a", return_tensors="pt")', "bring it there once"),
    ],
)
def test_only_a_call_that_has_such_a_parameter_is_given_a_device(tmp_path, index, advice):
    """By what is known of the call, and not by its name: a tokenizer makes lists on the host."""
    file = tmp_path / "work.py"
    file.write_text(HEAD + INDEX.format(index=index))
    report = engine.check(
        [file], Config(tmp_path, min_confidence=Confidence.POSSIBLE), tuple(RULES.values())
    )
    said = [finding.advice for finding in report.findings if finding.rule == "DEV308"]
    assert [advice in each for each in said] == [True]
