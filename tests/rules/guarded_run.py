"""Run a fixture under the guard, on a virtual machine, with the findings of a check on it."""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from rule_check import check_files
from torch.testing._internal.distributed.fake_pg import FakeStore

from devlint.reporters.json import finding_object
from runtime_guard import virtual_devices
from runtime_guard.commands.confirm import Confirmation, confirm

MACHINES = {
    # where a rule's claim shows, if not where there are accelerators of CUDA
    "DEV501": ("mps",),
    "DEV502": ("mps",),
    "DEV503": ("mps", "cuda:2"),
    "DEV504": ("mps",),
}
PROCESS = {"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}
"""The last process of a job on two machines with two cards each."""
CHECKPOINT = "last.pt"


def named(path: Path) -> str:
    return path.relative_to(path.parent.parent).as_posix()


def arguments_of(path: Path, checkpoint: Path) -> tuple[str, ...]:
    """The arguments of a fixture's command line: what it is to load."""
    if path.parent.name != "DEV502":
        return ()
    text = path.read_text()
    return (str(checkpoint.parent if "folder" in text else checkpoint),)


def save_checkpoint(path: Path) -> Path:
    """Save tensors as they are saved on a machine with CUDA."""
    with virtual_devices("cuda:1"):
        model = torch.nn.Linear(4, 2).cuda()
        torch.save({"model": model.state_dict(), "epoch": 3, "weight": model.weight}, path)
    return path


@contextlib.contextmanager
def launched() -> Iterator[None]:
    """As a process of a launched job, whose group's collectives do nothing."""
    real: Any = dist.init_process_group

    @functools.wraps(real)
    def init_process_group(*args: object, **options: object) -> None:
        real("fake", store=FakeStore(), rank=3, world_size=4)

    with pytest.MonkeyPatch.context() as patch:
        for name, value in PROCESS.items():
            patch.setenv(name, value)
        patch.setattr(dist, "init_process_group", init_process_group)
        patch.setattr(dist.distributed_c10d, "init_process_group", init_process_group)
        try:
            yield
        finally:
            if dist.is_initialized():
                dist.destroy_process_group()


@contextlib.contextmanager
def printing_nothing() -> Iterator[None]:
    """What a program prints is not shown."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        yield


def confirmed(
    path: Path, codes: Collection[str], machine: str, arguments: Sequence[str]
) -> Confirmation:
    """A run of a file with the findings of some rules on it, judged."""
    findings = [
        finding_object(finding)
        for finding in (check_files(path.parent, path) if codes else ())
        if finding.rule in codes
    ]
    assert findings or not codes
    joins = "init_process_group" in path.read_text()
    process = launched() if joins else contextlib.nullcontext()
    with process, printing_nothing():
        return confirm(
            {"version": 1, "findings": findings},
            ["python", str(path), *arguments],
            virtual=machine,
            root=str(path.parent),
        )
