"""One command measured: wall and CPU time, and the memory of all its processes together.

measured(["devlint", "check", "--jobs", "2", "src"], cwd)   # Run(cpu=2.1, wall=1.3, …)
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

INTERVAL = 0.1  # seconds between two looks at the memory


@dataclass(frozen=True)
class Run:
    """One command, run to its end. `returncode` is None where it was ended at the limit."""

    cpu: float  # seconds, user and system, its children's too
    wall: float  # seconds
    megabytes: float  # the most that all its processes have at a time
    stdout: bytes
    returncode: int | None


def measured(command: Sequence[str], cwd: Path, cores: int = 1, limit: float = 1e9) -> Run:
    """Run a command on this many cores."""
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=cwd,
            stdout=out,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=lambda: _keep_to(cores),
        )
        watch = _Memory(process.pid, start + limit)
        watch.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        wall = time.perf_counter() - start
        watch.ended.set()
        watch.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        one = usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
        code = None if watch.is_over else process.returncode
        peak = max(one, watch.peak)
        return Run(usage.ru_utime + usage.ru_stime, wall, peak, out.read(), code)


def _keep_to(cores: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])


class _Memory(Thread):
    """Looks at the memory of a process and its children, and ends them at the limit.

    A page that several share counts once. Where there is no /proc the largest process counts.
    """

    def __init__(self, pid: int, limit: float) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.limit = limit
        self.peak = 0.0  # megabytes, of several processes
        self.is_over = False
        self.ended = Event()

    def run(self) -> None:
        while not self.ended.wait(INTERVAL):
            if time.perf_counter() > self.limit and not self.is_over:
                self.is_over = True
                os.killpg(self.pid, signal.SIGKILL)
            processes = family(self.pid)
            if len(processes) > 1:
                self.peak = max(self.peak, sum(map(share, processes)))


def family(pid: int) -> list[int]:
    """A process and its descendants."""
    found = [pid]
    for each in found:  # grows on the way
        try:
            for children in Path(f"/proc/{each}/task").glob("*/children"):
                found += map(int, children.read_text().split())
        except OSError:
            continue  # it has ended
    return found


def share(pid: int) -> float:
    """Megabytes of a process, where each page counts by how many share it."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in text.splitlines() if line[:4] == "Pss:") / 1024
