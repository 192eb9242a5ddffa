"""What a program says of its own values and excludes: each law with the code that breaks it."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_check import check_files, check_text

from devlint.findings import Confidence, Finding

PRELUDE = "import numpy as np\nimport torch\nfrom torch import nn\n\n\n"

KEYS = """
def to_tensors(batch, device):
    for key in {over}:
        rows = np.concatenate(batch[key])
        batch[key] = torch.from_numpy(rows).to(device)
    return batch
"""

FLAG = """
class Monitor:
    def __init__(self, model, offload):
        self.model = model
        self.offload = offload

    def flat(self):
        rows = []
        for g in self.model.stored:
            if g is not None and not g.isnan().any() and not g.isinf().any():
                g = g.flatten()
                if {test}:
                    g = g.cpu()
                rows.append(g)
        return torch.cat(rows)
"""

SPREAD = """
def spread(level, size=None, device=None):
    if isinstance(level, (float, int)):
        level = float(level)
    elif isinstance(level, torch.Tensor):
        level = level.squeeze().to(device=device)
    elif isinstance(level, list):
        level = torch.tensor(level{there}).squeeze()
    if size is not None:
        level = level.view(1).expand(size)
    return level


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.low = nn.Parameter(torch.zeros(1))
        self.net = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor, level: torch.Tensor):
        return torch.cat([self.net(x), spread({level})])
"""

PENALTY = """
class Penalty(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = {scale}

    def forward(self, y: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        loss = nn.functional.cross_entropy(y * self.scale, labels)
        grad = torch.autograd.grad(loss, [self.scale], create_graph=True)[0]
        return (grad * grad).sum()
"""

WAVE = """
class Wave(nn.Module):
    def __init__(self, beta):
        super().__init__()
        self.rate = 1 / torch.tensor(beta.astype("float32")) ** 0.5
        self.net = nn.Linear(3, 3)

    def forward(self, x):
        return {rate} * self.net(x)
"""

CLIP = """
def clip(model, params, part):
    if part:
        norm = nn.utils.clip_grad_norm_(params, 1.0)
    else:
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if isinstance(norm, {kind}):
        return np.isinf(norm)
    return torch.isinf(norm)
"""

RATE = """
from transformers import PreTrainedModel


class Rope(PreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.net = nn.Linear(3, 3)
        self.rate = nn.Parameter(torch.ones(1))

    def index(self, spans: torch.Tensor):
        rows = torch.arange(4)
        times = rows * spans * {rate}
        return torch.stack([times.flatten(), torch.arange(4).flatten()])
"""

EXPORT = """
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)

    def forward(self, x):
        return self.net(x)

    def save(self, path):
        example = torch.randn(1, 3)
        {call}
"""


def meetings_of(text: str) -> list[Finding]:
    """What is said of devices that do not fit, unless more is asked for."""
    found = [f for f in check_text(PRELUDE + text) if f.rule.startswith(("DEV1", "DEV2", "DEV4"))]
    return [finding for finding in found if finding.confidence is not Confidence.POSSIBLE]


@pytest.mark.parametrize(
    "text",
    [
        KEYS.format(over="batch"),
        KEYS.format(over="list(batch.keys())"),
        FLAG.format(test="self.offload"),
        SPREAD.format(there=", device=device", level="level, 1, x.device"),
        SPREAD.format(there="", level="torch.maximum(level, self.low)"),
        SPREAD.format(there=", device=device", level="torch.maximum(level, self.low)"),
        "def put(x: torch.Tensor, rows):\n    return x + torch.from_numpy(rows, device=x.device)\n",
        PENALTY.format(scale="torch.tensor(1.0).requires_grad_()"),
        WAVE.format(rate="self.rate[3]"),
        CLIP.format(kind="float"),
        EXPORT.format(call="torch.onnx.export(self, (example,), path)"),
    ],
)
def test_silent(text: str) -> None:
    assert meetings_of(text) == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        # one key is read again and again
        (
            "def again(batch, key, device):\n"
            "    for _ in range(2):\n"
            "        rows = np.asarray(batch[key])\n"
            "        batch[key] = torch.from_numpy(rows).to(device)\n",
            "DEV401",
        ),
        # of each element another answer
        (FLAG.format(test="g.numel() > self.offload"), "DEV102"),
        (SPREAD.format(there="", level="[0.1, 0.2]"), "DEV102"),
        (
            "def put(x: torch.Tensor, rows):\n    return x + torch.from_numpy(rows)\n",
            "DEV102",
        ),
        (PENALTY.format(scale="torch.ones(1).requires_grad_()"), "DEV205"),
        (WAVE.format(rate="self.rate.view(-1, 1)"), "DEV205"),
        (CLIP.format(kind="torch.Tensor"), "DEV401"),
        (EXPORT.format(call="return self(example)"), "DEV103"),
    ],
)
def test_found(text: str, rule: str) -> None:
    assert [finding.rule for finding in meetings_of(text)] == [rule]


def test_a_number_of_the_configuration_places_no_tensor() -> None:
    for rate in ("self.config.vision.rate", "2.5"):
        errors = meetings_of(RATE.format(rate=rate))
        assert [finding.location.line for finding in errors] == [18]


OPTIMIZER = """
import torch


class SteadyAdam(torch.optim.Optimizer):
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if len(state) == 0:
                    state["mean"] = torch.zeros_like(p)
                {follow}
                p.data.add_(state["mean"], alpha=-group["lr"])
"""

RESUMED = """
import torch
from steady import SteadyAdam


def resume(model, path):
    optimizer = SteadyAdam(model.parameters(), lr=1e-3)
    optimizer.load_state_dict(torch.load(path, map_location="cpu"))
    model.cuda()
    return optimizer
"""


@pytest.mark.parametrize(
    ("follow", "found"),
    [('state["mean"] = state["mean"].type_as(p)', []), ("pass", ["DEV202"])],
)
def test_an_optimizer_that_brings_its_state_along(
    tmp_path: Path, follow: str, found: list[str]
) -> None:
    (tmp_path / "steady.py").write_text(OPTIMIZER.format(follow=follow))
    (tmp_path / "resume.py").write_text(RESUMED)
    likely = [
        finding.rule
        for finding in check_files(tmp_path, tmp_path / "resume.py")
        if finding.confidence is not Confidence.POSSIBLE
    ]
    assert [rule for rule in likely if rule == "DEV202"] == found
