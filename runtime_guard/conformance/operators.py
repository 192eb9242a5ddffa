"""Do virtual accelerators let operands meet as PyTorch does?  The cases, and how to run one.

For every operator of PyTorch's own test data base and every tensor argument in turn: that argument
stays on the CPU, the others are on ``cuda:0``.  What happens (a device error, or results on some
devices) is compared between virtual devices, ``FakeTensorMode`` and a real CUDA device.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch.utils import _pytree as pytree

from runtime_guard.guard import DeviceGuard
from runtime_guard.recording.modes import kind_of_error
from runtime_guard.virtual.context import virtual_devices

World = Literal["virtual", "fake", "cuda"]
MAX_SAMPLES = 16
"""How many samples of an operator are looked at."""
KINDS_OF_SAMPLE = 3
"""How many of them, different in the dimensions of their tensors, make cases."""


@dataclass(frozen=True)
class Case:
    """One operator, one sample, one tensor argument left on the host."""

    operator: str
    sample: int
    left: int
    """Which of the sample's tensors, in order, stays on the CPU."""
    tensors: int
    """How many tensors the sample has."""
    dims: tuple[int, ...]
    """Dimensions of each tensor."""

    @property
    def key(self) -> str:
        """A stable name: ``addmm#0[1/3]``."""
        return f"{self.operator}#{self.sample}[{self.left}/{self.tensors}]"


Outcome = str
"""``raises``, ``runs -> cuda:0, cpu`` (devices of the results in order), or ``other: Error``."""


def operators() -> dict[str, Any]:
    """PyTorch's operators by name with variant: ``div.floor_rounding`` -> ``OpInfo``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db  # optional: expecttest
    return {f"{op.name}.{op.variant_test_name}".rstrip("."): op for op in op_db}


def samples_of(op: Any) -> list[tuple[Any, ...]]:
    """The first samples of an operator on the CPU: ``(input, args, kwargs)`` each."""
    dtype = torch.float32 if torch.float32 in op.dtypes else sorted(op.dtypes, key=str)[0]
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        for sample in op.sample_inputs("cpu", dtype, requires_grad=False):
            found.append((sample.input, sample.args, sample.kwargs))
            if len(found) == MAX_SAMPLES:
                break
    return found


def cases_of(name: str, op: Any) -> Iterator[tuple[Case, tuple[Any, ...]]]:
    """The cases of one operator, each with its sample.

    Of the samples with several tensors the first ``KINDS_OF_SAMPLE`` whose dimensions differ.
    """
    try:
        samples = samples_of(op)
    except Exception:  # a few samplers need packages that are not installed
        return
    seen: set[tuple[int, ...]] = set()
    for number, sample in enumerate(samples):
        tensors = [leaf for leaf in pytree.tree_leaves(sample) if isinstance(leaf, torch.Tensor)]
        dims = tuple(tensor.dim() for tensor in tensors)
        if len(tensors) < 2 or dims in seen:
            continue
        seen.add(dims)
        for left in range(len(tensors)):
            yield Case(name, number, left, len(tensors), dims), sample
        if len(seen) == KINDS_OF_SAMPLE:
            return


def run_case(
    call: Callable[..., Any],
    sample: tuple[Any, ...],
    left: int | None,
    place: Callable[[torch.Tensor, str], torch.Tensor],
) -> Outcome:
    """Call with every tensor but number ``left`` put on ``cuda:0`` by ``place``."""
    return run_and_tell(call, sample, left, place)[0]


def run_and_tell(
    call: Callable[..., Any],
    sample: tuple[Any, ...],
    left: int | None,
    place: Callable[[torch.Tensor, str], torch.Tensor],
) -> tuple[Outcome, str]:
    """``run_case`` with the first line of the error's text."""
    count = -1

    def put(leaf: Any) -> Any:
        nonlocal count
        if not isinstance(leaf, torch.Tensor):
            return leaf
        count += 1
        return place(leaf, "cpu" if count == left else "cuda:0")

    try:
        first, args, kwargs = pytree.tree_map(put, sample)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call(first, *args, **kwargs)
    except Exception as error:
        outcome = "raises" if is_device_error(error) else f"other: {type(error).__name__}"
        return outcome, str(error).partition("\n")[0][:200]
    places = [leaf.device for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    return "runs -> " + ", ".join(map(str, places)), ""


def is_device_error(error: BaseException) -> bool:
    """Does PyTorch (or FakeTensor, in its words) refuse tensors because of their devices?"""
    text = str(error)
    return (
        kind_of_error(error) is not None
        or "two different devices" in text
        or "Unhandled FakeTensor Device Propagation" in text
        or "must be on the same device" in text
        or "same device" in text
        or "should be on cpu" in text.lower()
        or "to be on cpu" in text
        or "CPU int64 tensor" in text
    )


@contextlib.contextmanager
def world(name: World) -> Iterator[Callable[[torch.Tensor, str], torch.Tensor]]:
    """A world to run cases in; gives the function that puts a CPU tensor on a device there."""
    if name == "virtual":
        with virtual_devices("cuda:1"):
            yield lambda tensor, device: tensor.clone().to(device)
    elif name == "cuda":
        yield lambda tensor, device: tensor.clone().to(device)
    else:
        from torch._subclasses.fake_tensor import FakeTensorMode  # start-up: sympy
        from torch.fx.experimental.symbolic_shapes import ShapeEnv  # start-up: sympy

        # symbols for sizes that depend on values: without them `masked_select` cannot be faked
        mode: Any = FakeTensorMode(
            shape_env=ShapeEnv(allow_scalar_outputs=True, allow_dynamic_output_shape_ops=True)
        )

        def fake(tensor: torch.Tensor, device: str) -> torch.Tensor:
            made: torch.Tensor = mode.from_tensor(tensor, static_shapes=True).to(device)
            return made

        with mode:
            yield fake


def all_cases(chosen: dict[str, Any] | None = None) -> list[tuple[Case, Any, tuple[Any, ...]]]:
    """Every case with its operator and sample: 1,628 with torch 2.13."""
    return [
        (case, op, sample)
        for name, op in (operators() if chosen is None else chosen).items()
        for case, sample in cases_of(name, op)
    ]


def run_world(name: World, cases: list[tuple[Case, Any, tuple[Any, ...]]]) -> dict[str, Outcome]:
    """Outcomes by case key.

    Left out are the cases whose operator fails even with all tensors on ``cuda:0``: nothing can be
    learned from them in that world.
    """
    outcomes: dict[str, Outcome] = {}
    works: dict[tuple[str, int], bool] = {}
    with world(name) as place:
        for case, op, sample in cases:
            whole = (case.operator, case.sample)
            if whole not in works:
                works[whole] = run_case(op, sample, None, place).startswith("runs")
            if works[whole]:
                outcomes[case.key] = run_case(op, sample, case.left, place)
    return outcomes


def refusing_operation(op: Any, sample: tuple[Any, ...], left: int) -> str:
    """The ATen operation that refuses a case on virtual devices, inside whatever was called."""
    with world("virtual") as place, DeviceGuard() as guard:
        run_case(op, sample, left, place)
    return guard.problems[0].what if guard.problems else ""


def agreement(ours: dict[str, Outcome], theirs: dict[str, Outcome]) -> tuple[int, list[str]]:
    """How many cases both worlds know, and the keys of those in which they differ."""
    comparable = [key for key in ours.keys() & theirs.keys() if not theirs[key].startswith("other")]
    return len(comparable), sorted(key for key in comparable if ours[key] != theirs[key])
