"""`warm_python`: a program finds what a new interpreter gives it, and torch besides."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import warm_python
from fakes import Tree

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs start as anywhere")

TELLS = """\
import json, os, sys
import __main__
print(json.dumps([
    sys.argv, sys.path, sys.orig_argv, os.getcwd(), dict(os.environ), __name__, __main__.__name__,
]))
print("beside", file=sys.stderr)
sys.exit(len(sys.argv))
"""


@pytest.mark.parametrize(
    "words",
    [["-m", "tells", "a", "-c"], ["-c", TELLS, "a", "-m"], ["tells.py", "a"], ["sub/tells.py"]],
    ids=["module", "code", "script", "script in a folder"],
)
def test_it_is_as_in_a_new_interpreter(tree: Tree, words: list[str]) -> None:
    root = tree({"tells.py": TELLS, "sub/tells.py": TELLS, "more/x.py": ""})
    environment = {"LC_ALL": "C.UTF-8", "PYTHONPATH": str(root / "more"), "OWN": "é"}
    command = [sys.executable, *words]
    new, warm = (
        run(command, cwd=root, env=environment, capture_output=True, text=True)
        for run in (subprocess.run, warm_python.run)
    )
    assert (warm.stdout, warm.stderr, warm.returncode) == (new.stdout, new.stderr, new.returncode)
    assert new.returncode


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ("import sys; sys.exit('no')", 1, "no\n"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero\n"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, ""),
        ("import os; os._exit(7)", 7, ""),
    ],
)
def test_ends_are_told(program: str, code: int, said: str) -> None:
    done = warm_python.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == code
    assert done.stderr.endswith(said)


def test_both_outputs_can_be_one() -> None:
    program = "import sys; print(1, flush=True); print(2, file=sys.stderr)"
    command = [sys.executable, "-c", program]
    done = warm_python.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert (done.stdout, done.stderr) == (b"1\n2\n", None)


def test_what_one_program_does_to_torch_no_other_sees() -> None:
    programs = ("import torch; torch.own = 1", "import torch; print(hasattr(torch, 'own'))")
    for program in programs:
        done = warm_python.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n"


def test_one_that_does_not_end_in_time_can_be_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "while True: pass"]
    process = warm_python.Popen(command, cwd=tmp_path, start_new_session=True)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
