"""Memory of provenance and ledger: how much a long run adds.

    python benchmarks/guard_memory.py [--operations 10000000]

Runs operations on virtual devices under a guard, transfers, syncs and mixed failures among them,
and prints by how much the resident set grew after the first tenth.  Exits with 1 above 100 MB.
"""

from __future__ import annotations

import argparse
import contextlib
import resource

import torch

from runtime_guard import DeviceGuard, virtual_devices

LIMIT_MB = 100


def resident_mb() -> float:
    """The largest resident set so far, in MB (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def work(operations: int) -> None:
    """``operations`` dispatched operations: mostly arithmetic, every tenth something to record."""
    host, there = torch.ones(4), torch.ones(4, device="cuda")
    for _ in range(operations // 10):
        x = there
        for _ in range(7):
            x = x * 1.0
        there.copy_(host)
        x.sum().item()
        with contextlib.suppress(RuntimeError):
            x + host


def main() -> int:
    """Print the growth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operations", type=int, default=1_000_000)
    operations = parser.parse_args().operations
    torch.set_num_threads(1)
    with virtual_devices("cuda:1"), DeviceGuard() as guard:
        work(operations // 10)
        before = resident_mb()
        work(operations)
        grown = resident_mb() - before
        events = len(guard.ledger)
    print(f"{operations} operations: {grown:.1f} MB more, {events} events in the ledger")
    return int(grown > LIMIT_MB)


if __name__ == "__main__":
    raise SystemExit(main())
