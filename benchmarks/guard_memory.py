"""Memory of provenance and ledger: how much a long run adds.

    python benchmarks/guard_memory.py [--operations 10000000] [--mode record|virtual]

Runs operations under a guard, in an interpreter of its own for each mode: `record` watches the
machine's real devices, `virtual` the made-up `cuda:0`, with transfers, syncs and refused operations
among them.  The events come from more places than a ledger tells apart, so that its bounds are
reached, too.  Prints by how much the resident set has grown since the first thousand operations,
after each fifth of them; exits with 1 where the last is above 100 MB.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import torch

from runtime_guard import DeviceGuard, virtual_devices

LIMIT_MB = 100
PARTS = 5
PATHS = 1 << 15
"""Different stacks from which things happen; more than ``ledger.MAX_EVENTS``."""


def resident_mb() -> float:
    """The resident set, in MB; the largest so far where there is no /proc."""
    gc.collect()
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def happen(there: torch.Tensor, host: torch.Tensor) -> None:
    """Ten operations: arithmetic, a factory, a transfer, a sync, and one that mixes devices."""
    x = there
    for _ in range(5):
        x = x * 1.0
    x = x + torch.ones(4, device=there.device)
    there.copy_(host)
    x.sum().item()
    with contextlib.suppress(RuntimeError):
        x + host


def left(path: int, depth: int, there: torch.Tensor, host: torch.Tensor) -> None:
    """One turn of the path that leads to what happens."""
    turn(path, depth, there, host)


def turn(path: int, depth: int, there: torch.Tensor, host: torch.Tensor) -> None:
    """Go on along ``path``: each of its bits is another call."""
    if depth == 0:
        happen(there, host)
    elif path & 1:
        left(path >> 1, depth - 1, there, host)
    else:
        turn(path >> 1, depth - 1, there, host)


def work(operations: int, device: str) -> None:
    """About ``operations`` dispatched operations."""
    host, there = torch.ones(4), torch.ones(4, device=device)
    for number in range(operations // 10):
        turn(number % PATHS, PATHS.bit_length() - 1, there, host)


def measure(mode: str, operations: int) -> int:
    """Print the lines of ``mode``; 1 when it grew too much."""
    torch.set_num_threads(1)
    began = time.perf_counter()
    machine = virtual_devices("cuda:1") if mode == "virtual" else contextlib.nullcontext()
    with machine, DeviceGuard() as guard:
        device = "cuda" if mode == "virtual" or torch.cuda.is_available() else "cpu"
        work(1000, device)
        before, grown = resident_mb(), 0.0
        for part in range(1, PARTS + 1):
            work(operations // PARTS, device)
            grown = resident_mb() - before
            seconds = time.perf_counter() - began
            print(
                f"| {mode} | {device} | {operations * part // PARTS:,} | {grown:.1f} "
                f"| {len(guard.ledger):,} | {seconds:.0f} |",
                flush=True,
            )
    return int(grown > LIMIT_MB)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operations", type=int, default=10_000_000)
    parser.add_argument("--mode", choices=("record", "virtual"))
    options = parser.parse_args()
    if options.mode:
        return measure(options.mode, options.operations)
    print("| mode | device | operations | MB more | events | s |")
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    said = [f"--operations={options.operations}"]
    codes = [
        subprocess.run([sys.executable, __file__, *said, "--mode", mode], check=False).returncode
        for mode in ("record", "virtual")
    ]
    return max(codes)


if __name__ == "__main__":
    raise SystemExit(main())
