"""Real device bugs on virtual devices: seen in the commit before their fix, gone in the fix.

    python benchmarks/realbugs_virtual.py MIRROR RECORDS.jsonl

MIRROR holds the repositories as `OWNER+NAME/repo` (git directories or checkouts), RECORDS the bugs
as `id`, `repo`, `fix`, `parent`, `path`, `lines`.  Of those that are known to `REPRODUCTIONS` the
file is taken out of both commits, executed by itself (what it imports from elsewhere is a stand-in)
and used under `virtual_devices` and a guard.  A bug is reproduced when the guard sees one whose
lines are the labelled ones before the fix, and none after it.  Exits with 1 where one is not.
"""

from __future__ import annotations

import argparse
import builtins
import contextlib
import json
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from runtime_guard import DeviceGuard, virtual_devices
from runtime_guard.recording.events import Event, Kind

REAL = {"torch", "numpy", *sys.stdlib_module_names}


def on(*shape: int, device: str = "cuda") -> torch.Tensor:
    """Numbers between 0 and 1."""
    return torch.rand(*shape, device=device)


class _Vocabulary(dict[int, str]):
    def __getattr__(self, name: str) -> Callable[[], int]:
        return lambda: 1  # pad, eos and the like


def _sample(m: Any) -> None:
    vocabulary = _Vocabulary(enumerate("abcdefghi"))
    m.Sampling(vocabulary).step(1, on(2, 3, 9).log(), on(2, 3, 4))


def _rectify(m: Any) -> None:
    """The module is made on one device and replicated on another, which is then the current one."""
    generator = m.GridGenerator(20, (32, 100), 2).to("cuda:1")
    with torch.cuda.device(1):
        generator.build_P_prime(on(2, 20, 2))


REPRODUCTIONS: dict[str, Callable[[Any], Any]] = {
    "hf-053": lambda m: m.MultiheadAttention._append_prev_key_padding_mask(
        None, on(2, 3, device="cuda:1") > 0.5, 2, 5, False
    ),
    "hf-059": _sample,
    "hf-096": lambda m: m.Deltas(20).cuda()(on(2, 101, 20)),
    "hf-097": lambda m: m.NMFDecoder(20, 210, device="cuda").cuda()(on(3, 20, 150)),
    "hf-102": lambda m: m._distance_diff_loss(on(3, 9), on(3) * 9, 0.25, 100.0),
    "rare-001": lambda m: m.look(on(2, 5, 3), on(3), torch.tensor([0.0, 0.0, 1.0])),
    "rare-034": lambda m: m.MQLoss(None, [0.1, 0.5, 0.9]).cuda()(on(2, 4), on(2, 4, 3), on(2, 4)),
    "rare-070": lambda m: m.BesselBasis(4.0, trainable=False).cuda()(on(7)),
    "vis-049": lambda m: m.masks2segments(torch.zeros(0, 16, 16).cuda()),
    "vis-122": _rectify,
}
"""By the id of the record, how the module that has the bug is used."""


class _StandIn(type):
    """A class that takes the place of anything: of a base, a decorator, a function's default."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in(name)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if "is_stand_in" not in vars(cls):
            return super().__call__(*args, **kwargs)  # a class of the file, with this as its base
        if len(args) == 1 and isinstance(args[0], (type, types.FunctionType)):
            return args[0]  # as a decorator
        return stand_in(cls.__name__)


def stand_in(name: str) -> _StandIn:
    """What is called ``name`` in a module that is not there."""
    return _StandIn(name, (), {"is_stand_in": True})


def _import(name: str, *args: Any) -> Any:
    level = args[3] if len(args) > 3 else 0
    if level == 0 and name.partition(".")[0] in REAL:
        return builtins.__import__(name, *args)
    return stand_in(name)


def module_of(source: str, file: Path) -> types.ModuleType:
    """The module that ``source`` is, with stand-ins for what it imports from elsewhere."""
    file.write_text(source, encoding="utf-8")
    module = types.ModuleType(f"under_test_{file.stem}")
    module.__file__ = str(file)
    vars(module)["__builtins__"] = {**vars(builtins), "__import__": _import}
    sys.modules[module.__name__] = module
    exec(compile(source, str(file), "exec"), vars(module))
    return module


@dataclass(frozen=True)
class Run:
    """What one version did."""

    problems: list[Event]
    error: str

    def says(self, lines: list[list[int]] | None, file: Path) -> str:
        """One cell of the table; ``lines``: where the bug is labelled."""
        for event in self.problems:
            places = [s for s in (*event.stack, *event.origins) if s.file == str(file)]
            if lines is None or any(
                place.line <= last and place.end_line >= first
                for place in places
                for first, last in lines
            ):
                where = ", ".join(dict.fromkeys(str(place.line) for place in places))
                return f"{event.kind.value} (lines {where})"
        return self.error or "runs"


def run(source: str, file: Path, use: Callable[[Any], Any]) -> Run:
    """Use the module on a virtual machine of two devices."""
    error = ""
    with virtual_devices("cuda:2"), DeviceGuard() as guard:
        try:
            use(module_of(source, file))
        except Exception as raised:  # whatever old code does with this torch is told
            error = f"{type(raised).__name__}: {str(raised).splitlines()[0][:60]}"
    # an attribute that is left behind is a bug once it is met
    return Run([event for event in guard.problems if event.kind is not Kind.LEFT_BEHIND], error)


def source_of(mirror: Path, repo: str, commit: str, path: str) -> str:
    """The text of a file in a commit.  Raises ``CalledProcessError`` where there is none."""
    folder = mirror / repo.replace("/", "+") / "repo"
    command = ["git", "-C", str(folder), "show", f"{commit}:{path}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mirror", type=Path)
    parser.add_argument("records", type=Path)
    options = parser.parse_args()
    lines = options.records.read_text(encoding="utf-8").splitlines()
    records = [r for r in map(json.loads, filter(None, lines)) if r["id"] in REPRODUCTIONS]
    print("| record | file | before the fix | after it |")
    print("| --- | --- | --- | --- |")
    reproduced = 0
    for record in records:
        use, path = REPRODUCTIONS[record["id"]], record["path"]
        cells, good = [], True
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
            for version in ("parent", "fix"):
                file = Path(folder).resolve() / f"{version}_{Path(path).name}"
                source = source_of(options.mirror, record["repo"], record[version], path)
                ran = run(source, file, use)
                labelled = record["lines"] if version == "parent" else None
                cells.append(ran.says(labelled, file))
                good &= ("(lines" in cells[0]) if version == "parent" else cells[1] == "runs"
        reproduced += good
        print(f"| {record['id']} | {record['repo']} {path} | {' | '.join(cells)} |", flush=True)
    print(f"\n{reproduced} of {len(records)} reproduced, and gone with the fix")
    return int(not records or reproduced < len(records))


if __name__ == "__main__":
    raise SystemExit(main())
