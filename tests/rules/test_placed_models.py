"""Models that a library has placed, and modules on meta: what DEV208 and DEV209 leave alone."""

from __future__ import annotations

import pytest
from rule_check import check_text

PLACED = """\
from accelerate import dispatch_model
from accelerate.hooks import remove_hook_from_submodules
from transformers import AutoModelForCausalLM


def load(make, places, name, device):
    model = make()
    dispatch_model(model, places)
"""

META = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.register_buffer("angles", torch.arange(4.0), persistent=False)

    def reset(self):
        self.angles.copy_(torch.arange(4.0))


def load(fabric, fill, state, device: torch.device):
"""


def rules_of(text: str) -> set[str]:
    return {found.rule for found in check_text(text)} & {"DEV208", "DEV209"}


def test_a_dispatched_model_is_not_moved():
    assert rules_of(f"{PLACED}    model.to(device)\n") == {"DEV208"}


@pytest.mark.parametrize(
    "behind",
    [
        "    remove_hook_from_submodules(model)\n    model.to(device)\n",
        "    model = make()\n    model.to(device)\n",
        "    if places is None:\n        model.to(device)\n",
        "    model.to('cpu')\n",
    ],
    ids=["its hooks were removed", "another model", "only where nothing placed it", "to the host"],
)
def test_a_model_that_nothing_holds_in_its_place_is_moved(behind: str):
    assert rules_of(PLACED + behind) == set()


@pytest.mark.parametrize(
    "body",
    [
        "    with torch.device('meta'):\n        net = Net()\n    net.to(device)\n",
        "    with torch.device('meta'):\n        net = Net()\n    net.load_state_dict(state)\n",
        "    with torch.device('meta'):\n        net = Net()\n"
        "    net.load_state_dict(state, assign=True)\n    net.to(device)\n",
        "    with torch.device('meta'), torch.no_grad():\n        net = Net()\n"
        "    net.to_empty(device=device)\n    net.load_state_dict(state)\n",
    ],
    ids=["moved", "copied into", "unsaved buffer", "empty buffer"],
)
def test_what_is_left_on_meta(body: str):
    assert rules_of(META + body) == {"DEV209"}


@pytest.mark.parametrize(
    "body",
    [
        "    with torch.device('meta'):\n        net = Net()\n    fill(net)\n"
        "    net.load_state_dict(state)\n",
        "    with fabric.init_module(), torch.device('meta'):\n        net = Net()\n"
        "    net.load_state_dict(state)\n",
        "    with torch.device('meta'):\n        net = Net()\n    net.to_empty(device=device)\n"
        "    net.reset()\n    net.load_state_dict(state)\n",
        "    with torch.device('meta'):\n        net = Net()\n    net.to(torch.bfloat16)\n",
        "    with torch.device('meta'):\n        net = Net()\n    try:\n        net.to(device)\n"
        "    except RuntimeError:\n        pass\n",
    ],
    ids=["handed on", "another context", "reset", "dtype", "caught"],
)
def test_what_may_have_been_filled(body: str):
    assert rules_of(META + body) == set()
