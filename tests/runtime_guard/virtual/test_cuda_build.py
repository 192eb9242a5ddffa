"""The torch that PyPI has for Linux: built for CUDA, here without a card.

Skipped with another build; with ``DEVLINT_REQUIRE_CUDA_BUILD`` set, as in the CI job that installs
it, that is a failure.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest
import torch

PROGRAM = """
import torch
from runtime_guard import virtual_devices

built_for = torch.version.cuda
with virtual_devices("2xcuda"):
    assert torch.version.cuda == built_for, torch.version.cuda
    import torchvision
    boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.9]], device="cuda:1")
    kept = torchvision.ops.nms(boxes, torch.tensor([0.9, 0.8], device="cuda:1"), 0.5)
    assert (kept.tolist(), kept.device) == ([0], torch.device("cuda:1")), kept
    model = torchvision.models.resnet18(num_classes=3).cuda()
    model(torch.randn(2, 3, 32, 32, device="cuda")).sum().backward()
    assert all(p.grad.device == torch.device("cuda:0") for p in model.parameters())
assert torch.version.cuda == built_for
"""


def test_torchvision_is_imported_and_runs_on_a_virtual_card():
    missing = torch.version.cuda is None or importlib.util.find_spec("torchvision") is None
    if missing and "DEVLINT_REQUIRE_CUDA_BUILD" not in os.environ:
        pytest.skip("needs a build of torch for CUDA, and torchvision")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
