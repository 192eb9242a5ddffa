"""Run torch's operators on fake tensors and see which mixes of devices they refuse.

Every operator of PyTorch's own test database (OpInfo) brings samples of its arguments. Under
`FakeTensorMode` a sample is run with all its tensors on `cuda`, then with each tensor in turn on
`cpu`, then with each in turn replaced by a 0-dim tensor on `cpu`. No accelerator is needed. What
FakeTensorMode can't run, or what needs the values of a tensor, is no observation.

FakeTensorMode lets a 0-dim CPU tensor into every operator; the CUDA kernels do not (nextafter in
pytorch/pytorch#144748, clamp in #94174). Most of them start with a check, made from
`device_check` in native_functions.yaml (torchgen brings it along), that all tensors are on the
very same device. `ExactChecks` applies that check to each operator that FakeTensorMode runs; what
it would refuse is noted beside FakeTensorMode's answer.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import logging
import re
import typing
import warnings
from collections.abc import Callable, Hashable, Iterator
from typing import Any
from unittest import mock

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.overrides import resolve_name
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch_schemas import native_functions

logging.getLogger("torch._subclasses.fake_tensor").disabled = True  # failures are expected here

_REFUSAL = re.compile(
    r"same device|mismatching .* device|to have \w+(:\d)? Device|wrapped to wrong device"
    r"|to be on cpu",
    re.IGNORECASE,
)


class Operand(typing.NamedTuple):
    """One tensor of a sample: the position or keyword of its argument, its number of dimensions."""

    argument: int | str
    dimensions: int


class Observation(typing.NamedTuple):
    """One run of one operator.

    name: the operator, as `torch.nn.functional.relu` or `torch.Tensor.add_`.
    keywords: the names of the arguments passed by keyword.
    positional: how many were passed by position, a method's own tensor included.
    on_cpu: the index of the operand that was on the CPU, None when all were on cuda.
    flattened: that operand was replaced by a 0-dim one.
    outcome: "refused", "host" (no tensor came out), or the device type of the first result.
    dimensions: of the first tensor that came out, -1 for none.
    results: how many tensors came out in a tuple or list, 0 for a single value.
    exact_check: a CUDA kernel's own check would have refused it.
    """

    name: str
    operands: tuple[Operand, ...]
    keywords: tuple[str, ...]
    positional: int
    on_cpu: int | None
    flattened: bool
    outcome: str
    dimensions: int = -1
    results: int = 0
    exact_check: bool = False

    @property
    def refused(self) -> bool:
        """Whether FakeTensorMode or a kernel's own check refused it."""
        return self.exact_check or self.outcome == "refused"


def exactly_checked() -> frozenset[str]:
    """The overloads (`aten::gather`, `aten::add.Tensor`) whose CUDA wrapper checks devices."""
    on_cuda: dict[str, bool] = {}
    delegates: dict[str, str] = {}
    unchecked: set[str] = set()
    for name, block in native_functions().items():
        on_cuda[name] = bool(re.search(r"^ +[\w, ]*\bCUDA\b[\w, ]*:", block, re.MULTILINE))
        delegate = re.search(r"^  structured_delegate: (\S+)", block, re.MULTILINE)
        if delegate:
            delegates[name] = delegate[1]
        if re.search(r"^  device_(check: NoCheck|guard: False)", block, re.MULTILINE):
            unchecked.add(name)
    return frozenset(
        f"aten::{name}"
        for name in on_cuda
        if name not in unchecked and on_cuda.get(delegates.get(name, name), False)
    )


# It has no check of its own; every kernel that it may choose on CUDA has one (cudnn_convolution,
# _slow_conv2d_forward, …). FakeTensorMode stops at it and does not look at the weight's device.
_CHECKED_BELOW = frozenset({"aten::convolution"})


class ExactChecks(TorchDispatchMode):
    """Note whether an operator with an exact check gets tensors of two devices."""

    checked: typing.ClassVar[frozenset[str]] = exactly_checked() | _CHECKED_BELOW

    def __init__(self) -> None:
        super().__init__()
        self.refused = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.name() in self.checked:
            leaves = pytree.tree_leaves((args, kwargs))
            devices = {leaf.device for leaf in leaves if isinstance(leaf, torch.Tensor)}
            self.refused = self.refused or len(devices) > 1
        return func(*args, **kwargs)


def operators() -> Iterator[tuple[str, Callable[..., Any], Any]]:
    """The public functions and Tensor methods of OpInfo: dotted name, callable, its OpInfo."""
    from torch.testing._internal.common_methods_invocations import op_db

    for info in op_db:
        names: set[str] = set()  # an alias may be the very same function
        for variants in (info, *info.aliases):
            for function in (variants.op, variants.method_variant, variants.inplace_variant):
                name = resolve_name(function) if function is not None else None
                if name is not None and name.startswith("torch.") and name not in names:
                    names.add(name)
                    yield name.replace("torch.functional.", "torch."), function, info


def samples(info: Any, limit: int) -> list[Any]:
    """Up to `limit` samples of an operator's arguments, evenly taken from all that it has."""
    supported = info.supported_dtypes("cpu")
    preferred = (torch.float32, torch.int64, torch.bool, torch.complex64)
    dtype = next((d for d in preferred if d in supported), None)
    if dtype is None:
        return []
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stderr(io.StringIO()),
        mock.patch.object(torch.cuda, "manual_seed_all"),  # it keeps a stack each time, for later
    ):
        warnings.simplefilter("ignore")
        found = list(itertools.islice(info.sample_inputs("cpu", dtype), 40))
    step = max(1, len(found) // limit)
    return found[::step][:limit]


def observe(
    name: str, function: Callable[..., Any], sample: Any, seen: set[Hashable]
) -> Iterator[Observation]:
    """Run one sample with all tensors on cuda, then with each on the CPU, as it is and 0-dim.

    `seen` is what the samples that were mixed looked like: another like them shows nothing new.
    """
    arguments = ((sample.input, *sample.args), dict(sample.kwargs))
    paths_and_leaves, shape = pytree.tree_flatten_with_path(arguments)
    leaves = [leaf for _, leaf in paths_and_leaves]
    tensors = [index for index, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    if any(leaves[index].layout is not torch.strided for index in tensors):
        return
    operands = tuple(
        Operand(_argument(paths_and_leaves[index][0]), leaves[index].dim()) for index in tensors
    )
    call = (tuple(sample.kwargs), 1 + len(sample.args))
    choices = tuple(leaf for leaf in leaves if isinstance(leaf, bool | str | None))
    looks = (name, operands, call, choices)
    mode = FakeTensorMode(
        shape_env=ShapeEnv(allow_scalar_outputs=True, allow_dynamic_output_shape_ops=True)
    )

    def run(on_cpu: int | None, flat: int | None) -> tuple[str, int, int, bool] | None:
        """The outcome with operand `on_cpu` on the CPU and operand `flat` made 0-dim."""
        checks = ExactChecks()
        with mode, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            placed = list(leaves)
            for number, index in enumerate(tensors):
                leaf = leaves[index]
                placed[index] = torch.empty_strided(
                    () if number == flat else leaf.shape,
                    () if number == flat else leaf.stride(),
                    dtype=leaf.dtype,
                    device="cpu" if number == on_cpu else "cuda",
                )
            args, kwargs = pytree.tree_unflatten(placed, shape)
            try:
                with checks:
                    result = function(*args, **kwargs)
            except Exception as error:
                refused = _REFUSAL.search(str(error))
                return ("refused", -1, 0, checks.refused) if refused else None
        out = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        count = len(out) if isinstance(result, (tuple, list)) else 0
        if not out:
            return "host", -1, 0, checks.refused
        return out[0].device.type, out[0].dim(), count, checks.refused

    outcome = run(None, None)
    if outcome is not None and outcome[0] != "refused":
        yield Observation(name, operands, *call, None, False, *outcome)
    if len(tensors) < 2 or looks in seen:
        return  # nothing to disagree with, or nothing new
    seen.add(looks)
    for number, operand in enumerate(operands):
        outcome = run(number, None)
        if outcome is not None:
            yield Observation(name, operands, *call, number, False, *outcome)
        if operand.dimensions and run(None, number) is not None:  # its shape may be ()
            outcome = run(number, number)
            if outcome is not None:
                flat = (*operands[:number], Operand(operand.argument, 0), *operands[number + 1 :])
                yield Observation(name, flat, *call, number, True, *outcome)


def _argument(path: tuple[Any, ...]) -> int | str:
    """The position or the keyword of the argument that a leaf is in."""
    inner = path[1]
    argument: int | str = inner.idx if path[0].idx == 0 else inner.key
    return argument


def observations(limit: int = 4) -> Iterator[Observation]:
    """All runs of all operators, `limit` samples each; the same at every call."""
    cached: tuple[Any, list[Any]] = (None, [])
    seen: set[Hashable] = set()
    for name, function, info in operators():
        if cached[0] is not info:
            torch.manual_seed(0)
            cached = (info, samples(info, limit))
        for sample in cached[1]:
            yield from observe(name, function, sample, seen)
