"""The map of modules: where the parameters and buffers of what was moved live."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from runtime_guard import DeviceGuard, virtual_devices  # noqa: E402
from runtime_guard.recording.device_map import ModelWatcher  # noqa: E402
from runtime_guard.recording.module_moves import telling_of_moves  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")


def test_a_lazy_module_has_parameters_of_no_size_until_it_is_called():
    watcher = ModelWatcher()
    with virtual_devices("cuda:1"), DeviceGuard(), telling_of_moves(watcher.moved):
        net = nn.Sequential(nn.LazyLinear(2, bias=False), nn.Linear(2, 2, bias=False)).cuda()
        before = [
            (r.bytes, r.state[0].shape) for _, rows in watcher.device_map().models for r in rows
        ]
        net(torch.ones(1, 3, device="cuda"))
        watcher.freeze()
    rows = watcher.device_map().models[0][1]
    assert before == [(0, "not known yet"), (16, "float32[2, 2]")]
    assert [(row.bytes, row.devices) for row in rows] == [(24, ["cuda:0"]), (16, ["cuda:0"])]
