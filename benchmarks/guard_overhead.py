"""What watching costs: one training step of a small MLP with Adam, where overhead shows most.

    python benchmarks/guard_overhead.py [--steps 200] [--json]

Times a step bare, under no-op function and dispatch modes, under ``DeviceGuard`` (record mode) and
on virtual devices, interleaved in one process, and prints the ratios (CPU seconds a step).  Beside
them the calls of the guard's Python for each operation, which are the same in every run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import runtime_guard
from runtime_guard import DeviceGuard, virtual_devices

GUARD = str(Path(runtime_guard.__file__).parent)
LIMITS = {"record / no-op": 1.5, "virtual / no-op": 1.5, "virtual, guarded / no-op": 1.5}


class NoOpFunctionMode(TorchFunctionMode):
    """Calls every function."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class NoOpDispatchMode(TorchDispatchMode):
    """Calls every operation."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class Counter(NoOpDispatchMode):
    """Counts operations."""

    operations = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operations += 1
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def no_op_modes():
    """The least that any tool of this kind has to do."""
    with NoOpFunctionMode(), NoOpDispatchMode():
        yield


@contextlib.contextmanager
def virtual_and_guarded():
    """Virtual devices with a guard, as ``devlint run --virtual`` has it."""
    with virtual_devices("cuda:1"), DeviceGuard():
        yield


def step_of(device: str) -> Callable[[], None]:
    """One training step on ``device``."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)
    )
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    x, y = torch.randn(16, 32).to(device), torch.randint(0, 8, (16,)).to(device)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def measure(steps: int, rounds: int) -> dict[str, float]:
    """The best of ``rounds`` mean CPU seconds a step, by world."""
    worlds: dict[str, tuple[Callable[[], Any], str]] = {
        "bare": (contextlib.nullcontext, "cpu"),
        "no-op": (no_op_modes, "cpu"),
        "record": (DeviceGuard, "cpu"),
        "virtual": (lambda: virtual_devices("cuda:1"), "cuda"),
        "virtual, guarded": (virtual_and_guarded, "cuda"),
    }
    best = dict.fromkeys(worlds, float("inf"))
    for _ in range(rounds):
        for name, (world, device) in worlds.items():
            with world():
                step = step_of(device)
                for _ in range(5):
                    step()
                started = time.process_time()
                for _ in range(steps):
                    step()
                best[name] = min(best[name], (time.process_time() - started) / steps)
    return best


def operations_of(run: Callable[[], object]) -> int:
    """How many operations of PyTorch ``run`` makes."""
    with Counter() as mode:
        run()
    return mode.operations


def calls_of_the_guard(run: Callable[[], object]) -> int:
    """How often ``run`` calls a function of the guard's Python."""
    calls = 0

    def see(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_filename.startswith(GUARD)

    sys.setprofile(see)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls


def calls_an_operation() -> float:
    """The calls of the guard's Python in a step on virtual devices, for each of its operations."""
    step = step_of("cpu")
    step()
    operations = operations_of(step)
    with virtual_devices("cuda:1"):
        step = step_of("cuda")
        for _ in range(2):  # what is made when it is first needed counts for nothing
            step()
        return calls_of_the_guard(step) / operations


def main() -> int:
    """Print the figures; exit with 1 when a ratio is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    seconds = measure(options.steps, options.rounds)
    calls = calls_an_operation()
    ratios = {
        "record / no-op": seconds["record"] / seconds["no-op"],
        "virtual / no-op": seconds["virtual"] / seconds["no-op"],
        "virtual, guarded / no-op": seconds["virtual, guarded"] / seconds["no-op"],
        "virtual / bare": seconds["virtual"] / seconds["bare"],
    }
    if options.json:
        found = {"seconds": seconds, "ratios": ratios, "calls an operation": calls}
        print(json.dumps(found, indent=1))
    else:
        for name, value in seconds.items():
            print(f"{name:<26} {value * 1e6:8.0f} us a step")
        for name, value in ratios.items():
            limit = f"   (at most {LIMITS[name]})" if name in LIMITS else ""
            print(f"{name:<26} {value:8.2f}{limit}")
        print(f"{'calls an operation':<26} {calls:8.2f}")
    return int(any(ratios[name] > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    raise SystemExit(main())
