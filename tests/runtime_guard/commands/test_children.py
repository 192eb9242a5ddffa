"""Processes that a program starts: they have its virtual machine, and leave what they saw."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import warm_python

torch = pytest.importorskip("torch")

from runtime_guard import virtual_devices  # noqa: E402
from runtime_guard.commands.session import watch  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _found_by_children(monkeypatch):
    paths = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_python_program_has_the_machine_of_the_block_or_the_one_that_it_asks_for_itself():
    program = (
        "import torch\nfrom runtime_guard import virtual_devices\n"
        "given = torch.cuda.device_count()\n"
        "with virtual_devices('cuda:1'):\n    print(given, torch.cuda.device_count())"
    )
    with virtual_devices("cuda:3"):
        outer = dict(os.environ)
        with virtual_devices("cuda:2"):
            assert output(sys.executable, "-c", program) == "2 1"
        assert dict(os.environ) == outer


class Moving(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return torch.full((2,), float(i)).to("cuda:1")


@pytest.mark.parametrize("batch_size", [None, 1])
def test_a_worker_hands_over_tensors_of_a_device_that_the_parent_has_not_used(batch_size):
    with virtual_devices("2xcuda"):
        loader = torch.utils.data.DataLoader(Moving(), batch_size=batch_size, num_workers=1)
        got = list(loader)
        assert [str(tensor.device) for tensor in got] == ["cuda:1"] * 2
        assert [tensor.flatten().tolist() for tensor in got] == [[0, 0], [1, 1]]


def test_one_without_torch_imports_none_of_it():
    program = "import sys; print({'torch', 'runtime_guard'} & set(sys.modules))"
    with virtual_devices("cuda:1"):
        assert output(sys.executable, "-c", program) == "set()"


@pytest.mark.parametrize(
    "first",
    [
        "from runtime_guard import virtual_devices",
        "from runtime_guard.guard import DeviceGuard",
        "import runtime_guard.recording.events, torch",
    ],
)
def test_one_that_imports_the_guard_before_torch_has_the_machine(first):
    program = f"{first}\nimport torch\nprint(torch.cuda.device_count())"
    with virtual_devices("cuda:2"):
        assert output(sys.executable, "-c", program) == "2"


def test_a_sitecustomize_of_the_users_own_runs_too(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.own = 'own'")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]]))
    with virtual_devices("cuda:1"):
        assert output(sys.executable, "-c", "import sys; print(sys.own)") == "own"


def test_the_environment_is_as_it_was():
    before = dict(os.environ)
    with virtual_devices("cuda:1"), watch("cuda:2"):
        assert dict(os.environ) != before
    assert dict(os.environ) == before


def test_the_environment_is_as_it_was_without_a_path(monkeypatch):
    monkeypatch.delenv("PYTHONPATH")
    with virtual_devices("cuda:1"):
        pass
    assert "PYTHONPATH" not in os.environ


CHILDREN = """
import sys
import torch
import torch.multiprocessing as mp

def work(rank):
    x = torch.ones(4, device=f"cuda:{rank}")
    try:
        x + torch.ones(4)
    except RuntimeError:
        pass

if __name__ == "__main__":
    mp.start_processes(work, nprocs=int(sys.argv[2]), start_method=sys.argv[1])
"""


@pytest.mark.parametrize(("how", "count"), [("spawn", 1), ("fork", 2)])
def test_started_processes_leave_what_they_saw(tmp_path, how, count):
    if how == "fork" and not hasattr(os, "fork"):
        pytest.skip("no fork here")
    program, report = tmp_path / "children.py", tmp_path / "report.json"
    program.write_text(CHILDREN)
    run = [sys.executable, "-m", "devlint", "run", "--virtual", "cuda:2", "--report", str(report)]
    command = [*run, str(program), how, str(count)]
    done = warm_python.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    from runtime_guard.commands.ranks import read_evidence

    evidence = read_evidence(str(report))
    seen = [event for event in evidence.events if event.kind == "mixed-device"]
    assert [event.site.line for event in seen] == [9] * count
    assert all(event.detail.startswith("[process ") for event in seen)
    peaks = [(peak.device, peak.at.line) for peak in evidence.peaks]
    assert peaks == [(f"cuda:{index}", 7) for index in range(count)]


class Rows(torch.utils.data.Dataset):
    def __init__(self, table):
        self.table = table

    def __len__(self):
        return 2

    def __getitem__(self, i):
        assert torch.cuda.device_count() == 2
        return self.table[i]


SENDING = """
import sys
from multiprocessing.reduction import ForkingPickler

import torch

from runtime_guard import virtual_devices

with virtual_devices("cuda:1"):
    table, known = torch.ones(3, device="cuda"), set(sys.modules)
    ForkingPickler.dumps(table)
    print(sorted(name for name in set(sys.modules) - known if name.startswith("torch.")))
"""


def test_the_thread_that_sends_a_tensor_imports_nothing_of_torch():
    """While a part of torch is imported, other threads see torch without the machine."""
    done = subprocess.run([sys.executable, "-c", SENDING], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_workers_of_a_loader_are_started_with_what_is_on_a_device():
    with virtual_devices("cuda:2"):
        table = torch.arange(600.0).view(2, 300).to("cuda:1")
        loader = torch.utils.data.DataLoader(
            Rows(table), batch_size=None, num_workers=1, multiprocessing_context="spawn"
        )
        first, second = loader
        assert torch.equal(first, table[0]) and torch.equal(second, table[1])
        line = test_workers_of_a_loader_are_started_with_what_is_on_a_device.__code__
        moved = line.co_firstlineno + 2
        with pytest.raises(RuntimeError, match=rf"moved to cuda:1 at .*test_children.py:{moved}"):
            first + torch.ones(300)
