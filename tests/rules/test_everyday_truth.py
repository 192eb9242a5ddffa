"""The marks of everyday code are what PyTorch does: it runs here on two virtual cards.

What is no program by itself is called as `calls.toml` says.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from everyday_code import EVERYDAY, FOUND, SILENT, Example, table

torch = pytest.importorskip("torch")

from guarded_run import CHECKPOINT, MACHINES, printing_nothing, save_checkpoint  # noqa: E402

from runtime_guard.commands.confirm import Confirmation, confirm  # noqa: E402
from runtime_guard.recording.events import PROBLEMS, Kind  # noqa: E402

CALLS = table("calls.toml")
UNSHOWN = {
    # what PyTorch raises nothing at: the file's call asserts it
    "found/compared_with_a_string.py": "a comparison that is never true",
}
PROGRAM = """\
exec(compile(open({path!r}).read(), {path!r}, "exec"))
import torch
import torch.nn.functional as F
from torch import nn
{calls}
"""


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of tensors that were saved on `cuda:0`."""
    return save_checkpoint(tmp_path_factory.mktemp("saved") / CHECKPOINT)


def marked(example: Example) -> list[dict[str, object]]:
    """The marks as findings; the function around tells where their tensors come from."""
    return [
        {
            "rule": mark.code,
            "path": example.path.name,
            "line": mark.line,
            "end_line": example.last_line_of(mark.line),
            "related": [
                {"path": example.path.name, "line": line}
                for line in example.function_around(mark.line)
            ],
        }
        for mark in example.marks
    ]


def run(example: Example, machine: str, checkpoint: Path, tmp_path: Path) -> Confirmation:
    program = example.path
    if example.name in CALLS:
        program = tmp_path / "program.py"
        program.write_text(PROGRAM.format(path=str(example.path), calls=CALLS[example.name]))
    findings = marked(example)
    with printing_nothing():
        return confirm(
            {"version": 1, "findings": findings},
            ["python", str(program), str(checkpoint)],
            virtual=machine,
            root=str(example.path.parent),
            keep_going=bool(findings),
        )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("example", [Example(p) for p in FOUND], ids=lambda example: example.name)
def test_a_run_shows_every_mark(example: Example, checkpoint: Path, tmp_path: Path):
    machines = {machine for code in example.codes for machine in MACHINES.get(code, ("cuda:2",))}
    for machine in machines:
        ran = run(example, machine, checkpoint, tmp_path)
        open_ones = [found for found in ran.findings if found["verdict"] != "confirmed"]
        if example.name in UNSHOWN:
            assert open_ones and example.name in CALLS and ran.outcome.exit_code == 0
        else:
            assert open_ones == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("example", [Example(p) for p in SILENT], ids=lambda example: example.name)
def test_a_run_of_what_is_right_shows_no_bug(example: Example, checkpoint: Path, tmp_path: Path):
    ran = run(example, "cuda:2", checkpoint, tmp_path)
    assert ran.outcome.exit_code == 0
    assert not {event.kind for event in ran.evidence.events} & {*PROBLEMS, Kind.FOREIGN_CARD}


def test_calls_and_reasons_are_of_files_that_exist():
    assert [name for name in (*CALLS, *UNSHOWN) if not (EVERYDAY / name).is_file()] == []
