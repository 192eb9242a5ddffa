"""Several ranks of one program, each in a process forked from one that has imported torch.

As `torchrun` starts them, but for the interpreters that are not started anew: two seconds for each.
That a launcher's own processes work is seen by `runtime_guard/commands/test_ranks.py`.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import warm_python

ROOT = Path(__file__).parents[1]
LAUNCH = """\
import os, runpy, sys, traceback

program, count = sys.argv[1], int(sys.argv[2])
ranks = []
for rank in range(count):
    process = os.fork()
    if process:
        ranks.append(process)
        continue
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank))
    try:
        runpy.run_path(program, run_name="__main__")
        code = 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) != 0 for each in ranks))
"""


def run(program: Path, count: int, environment: Mapping[str, str]) -> CompletedProcess[Any]:
    """The program as that many ranks on one machine; what they write comes in one text."""
    world = {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
    meeting_place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    return warm_python.run(
        [sys.executable, "-c", LAUNCH, str(program), str(count)],
        cwd=program.parent,
        env={**environment, **world, **meeting_place},
        capture_output=True,
        text=True,
    )


def last_rank_says(folder: Path, program: str, **environment: str) -> Any:
    """What the second of two ranks of a program prints last, as JSON.

    Before it, gloo tells in some releases of PyTorch whom it is connected to.
    """
    file = folder / "program.py"
    file.write_text(program)
    done = run(file, 2, {**os.environ, "PYTHONPATH": str(ROOT), **environment})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
