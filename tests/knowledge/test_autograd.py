"""What is said to pass gradients on does so in the torch that is installed."""

from __future__ import annotations

from functools import partial

import pytest

from devlint.knowledge.autograd import NUMPY_DELEGATES, RECORDED_OPERATIONS

torch = pytest.importorskip("torch")

MATRIX = (2, 2)
ARGUMENTS = {
    # beside the tensor itself, where there are others
    "add": (1.0,),
    "addmm": (torch.ones(MATRIX), torch.ones(MATRIX)),
    "clamp": (0.0,),
    "chunk": (2,),
    "cross_entropy": (torch.tensor([0, 1]),),
    "cumprod": (0,),
    "cumsum": (0,),
    "div": (2.0,),
    "expand": (3, 2, 2),
    "expand_as": (torch.ones(3, 2, 2),),
    "flip": (0,),
    "gather": (0, torch.zeros(MATRIX, dtype=torch.long)),
    "index_select": (0, torch.tensor([0])),
    "interpolate": (4,),
    "lerp": (torch.ones(MATRIX), 0.5),
    "log_softmax": (0,),
    "logsumexp": (0,),
    "masked_fill": (torch.tensor([True, False]), 0.0),
    "masked_select": (torch.ones(MATRIX, dtype=torch.bool),),
    "mul": (2.0,),
    "mv": (torch.ones(2),),
    "narrow": (0, 0, 1),
    "nll_loss": (torch.tensor([0, 1]),),
    "pad": ((1, 1),),
    "permute": (1, 0),
    "pow": (2,),
    "repeat": (2, 1),
    "reshape": (4,),
    "roll": (1,),
    "select": (0, 0),
    "softmax": (0,),
    "split": (1,),
    "sub": (1.0,),
    "topk": (1,),
    "transpose": (0, 1),
    "unsqueeze": (0,),
    "view": (4,),
    "view_as": (torch.ones(4),),
    "where": (torch.ones(MATRIX, dtype=torch.bool), torch.ones(MATRIX)),
}
SHAPES = {
    "bmm": (1, 2, 2),
    "dot": (2,),
    "conv1d": (1, 1, 2),
    "conv2d": (1, 1, 2, 2),
    "interpolate": (1, 1, 2),
}


def result_of(name: str):
    """What an operation makes of a tensor of halves that requires grad."""
    tensor = torch.full(SHAPES.get(name, MATRIX), 0.5, requires_grad=True)
    if name in ("cat", "stack"):
        return getattr(torch, name)([tensor, tensor.detach()])
    if name == "einsum":
        return torch.einsum("ij->ji", tensor)
    if name == "cuda":
        return tensor  # to another device as to the host
    call = getattr(tensor, name, None) or partial(getattr(torch.nn.functional, name), tensor)
    try:
        return call(*ARGUMENTS.get(name, ()))
    except TypeError:
        return call(tensor.detach())  # of two tensors


@pytest.mark.parametrize("name", sorted(RECORDED_OPERATIONS))
def test_the_first_result_requires_grad(name: str):
    result = result_of(name)
    first = result[0] if isinstance(result, (tuple, list)) else result
    assert first.requires_grad


@pytest.mark.parametrize(
    "name", ["argmax", "argsort", "long", "bool", "detach", "isnan", "nonzero"]
)
def test_what_cuts_the_graph_is_not_named(name: str):
    assert name not in RECORDED_OPERATIONS
    assert not getattr(torch.ones(3, requires_grad=True), name)().requires_grad


@pytest.mark.parametrize("name", sorted(NUMPY_DELEGATES))
def test_numpy_asks_the_tensor_itself(name: str):
    numpy = pytest.importorskip("numpy")
    try:
        getattr(numpy, name)(torch.ones(3, requires_grad=True))
    except (TypeError, RuntimeError) as error:
        assert "Can't call numpy()" not in str(error)
