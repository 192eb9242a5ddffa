"""Which Python functions of torch are looked into, and which pass on to C++."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from runtime_guard.virtual.function_bodies import asks_about_devices, names_of
from runtime_guard.virtual.handlers import build_handlers


@pytest.fixture(scope="module")
def handled() -> frozenset[str]:
    return names_of(build_handlers())


@pytest.mark.parametrize("function", [F.layer_norm, F.dropout, F.relu, F.cross_entropy, F.softmax])
def test_what_passes_on_to_cpp_is_not(handled: frozenset[str], function: Any) -> None:
    assert not asks_about_devices(function, handled)


@pytest.mark.parametrize(
    "function",
    [
        F.embedding_bag,  # torch.arange(…, device=input.device)
        F.multi_head_attention_forward,
        F.triplet_margin_with_distance_loss,  # calls a function of the program's
        F.max_pool2d,  # one of two functions in its closure
    ],
)
def test_what_makes_tensors_or_calls_others_is(handled: frozenset[str], function: Any) -> None:
    assert asks_about_devices(function, handled)


def test_names_are_those_that_code_has(handled: frozenset[str]) -> None:
    assert {"device", "to", "zeros", "grad", "pin_memory"} <= handled
    assert "layer_norm" not in handled
    assert torch.layer_norm.__name__ not in handled
