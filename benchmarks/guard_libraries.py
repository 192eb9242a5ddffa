"""Libraries that train on PyTorch, on virtual devices: the same values, and their users' bugs seen.

    python benchmarks/guard_libraries.py FOLDER [LIBRARY …]

makes an environment in FOLDER (or takes the one that is there) with the CPU build of torch 2.13.0
and each library of `LIBRARIES`, and runs `libraries/use_LIBRARY.py` on the CPU and on
`virtual_devices("cuda:2")`; no model or data set is downloaded.  Beside the CPU time there stands
that under a function and a dispatch mode that do nothing, the floor of any such tool.  Then each
mutant of `libraries/mutants.toml`: one line of the program with a device bug.  It has to raise on
virtual devices, and what is said has to name the line.  Prints two tables; exits with 1 where
values differ or a mutant is not found.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import types
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tomllib

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "libraries"
TORCH = "torch==2.13.0"
CPU_TORCH = "https://download.pytorch.org/whl/cpu"
LIBRARIES = {
    "transformers": "transformers",
    "accelerate": "accelerate",
    "peft": "peft",
    "lightning": "lightning",
    "timm": "timm",
    "torchvision": "torchvision",
    "diffusers": "diffusers",
    "torch_geometric": "torch_geometric",
    "stable_baselines3": "stable-baselines3",
    "gpytorch": "gpytorch",
    "captum": "captum",
    "opacus": "opacus",
}
"""Distributions by the name of their program."""
MACHINE = "cuda:2"
ROUNDS = 3


def install(folder: Path, distribution: str) -> str:
    """Install into the environment of ``folder``; what pip said last where it did not go."""
    python = python_of(folder)
    if not python.exists():
        venv.create(folder, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "-q", f"--extra-index-url={CPU_TORCH}", TORCH]
        if subprocess.run([*pip, "--retries=1"], check=False).returncode:
            raise SystemExit(f"{TORCH} cannot be installed")
    probe = [str(python), "-c", f"import importlib.metadata as m; m.version({distribution!r})"]
    if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
        return ""
    pip = [str(python), "-m", "pip", "install", "-q", TORCH, distribution]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["pip failed"])[-1]


def python_of(folder: Path) -> Path:
    """The interpreter of an environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def all_mutants() -> list[dict[str, str]]:
    """Each as it is written."""
    with open(PROGRAMS / "mutants.toml", "rb") as file:
        found: list[dict[str, str]] = tomllib.load(file)["mutant"]
        return found


def mutants_of(library: str) -> list[dict[str, str]]:
    """The mutants of a program."""
    return [mutant for mutant in all_mutants() if mutant["use"] == library]


# What follows runs in the environment of the libraries.


def load_operators_of_torchvision(folder: Path) -> None:
    """Its operators in C++, which PyPI's build has for torch with CUDA alone.

    Where they cannot be had, they are known by name, so that torchvision can be imported; its own
    program fails then.
    """
    import torch
    from torchvision_operators import extension, stand_in_for_cuda

    file = extension()
    if file is None or stand_in_for_cuda(file, folder):
        return
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _kept.append(library)


_kept: list[Any] = []


def program(source: str, path: Path) -> Any:
    """``main`` of a program."""
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    exec(compile(source, str(path), "exec"), vars(module))
    return vars(module)["main"]


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Without the program's own output."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def by_turns(source: str, path: Path) -> tuple[dict[str, list[Any]], dict[str, float]]:
    """What a program gives in each world, on the host, and the least CPU time that it took there.

    The worlds take turns, so that what else the machine does is shared among them.
    """
    # both import torch
    from guard_overhead import no_op_modes

    from runtime_guard import virtual_devices

    worlds: dict[str, Callable[[], Any]] = {
        "plain": contextlib.nullcontext,
        "no-op": no_op_modes,
        "virtual": lambda: virtual_devices(MACHINE),
    }
    values: dict[str, list[Any]] = {}
    seconds = dict.fromkeys(worlds, float("inf"))
    for _ in range(ROUNDS):
        for name, world in worlds.items():
            with world(), quietly():
                main = program(source, path)
                start = time.process_time()
                values[name] = [value.detach().cpu() for value in main()]
                seconds[name] = min(seconds[name], time.process_time() - start)
    return values, seconds


def differences(expected: list[Any], found: list[Any]) -> str:
    """How values differ, in words: ``bit for bit`` where they do not."""
    worst = 0.0
    for one, other in zip(expected, found, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"{one.dtype}{list(one.shape)} became {other.dtype}{list(other.shape)}"
        if one.numel():
            worst = max(worst, float((one.double() - other.double()).abs().max()))
    return "bit for bit" if worst == 0 else f"within {worst:.1e}"


def judge_mutant(mutant: dict[str, str], source: str, folder: Path) -> dict[str, Any]:
    """Does a mutant raise, and is its line named?"""
    from runtime_guard import DeviceGuard, virtual_devices

    wrong = source.replace(mutant["right"], mutant["wrong"])
    marked = mutant.get("line", mutant["right"])
    at = next(n for n, text in enumerate(source.splitlines(), 1) if marked in text)
    path = folder / f"mutant_{mutant['use']}.py"
    path.write_text(wrong, encoding="utf-8")
    said, raised = "", False
    with virtual_devices(MACHINE), DeviceGuard() as guard:
        try:
            with quietly():
                program(wrong, path)()
        except Exception as error:  # it is to raise; which exception is told
            raised, said = True, f"{type(error).__name__}: {error}"
        problems = list(guard.problems)
    named = [f"{e.site} {e.told}" for e in problems] + [said]
    sites = {s.line for e in problems for s in (e.site, *e.origins) if s.file == str(path)}
    right = at in sites or any(re.search(rf"{re.escape(f'{path}:{at}')}\b", t) for t in named)
    return {
        "name": mutant["name"],
        "line": at,
        "raised": raised,
        "named": right,
        "seen": bool(problems),
        "said": said if not problems else problems[-1].told,
        "lines": sorted(sites),
    }


def work(library: str) -> dict[str, Any]:
    """One program: on the CPU, on the virtual machine, and its mutants."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch

    torch.set_num_threads(1)
    operators = tempfile.TemporaryDirectory()
    load_operators_of_torchvision(Path(operators.name))
    path = PROGRAMS / f"use_{library}.py"
    source = path.read_text(encoding="utf-8")
    answer: dict[str, Any] = {
        "version": importlib.metadata.version(LIBRARIES[library]),
        "ran": source.splitlines()[0].strip('"').rstrip("."),
    }
    try:
        values, seconds = by_turns(source, path)
        answer |= {
            "values": differences(values["plain"], values["virtual"]),
            "slower": seconds["virtual"] / seconds["plain"],
            "floor": seconds["no-op"] / seconds["plain"],
        }
    except Exception as error:
        said = (str(error).strip() or "nothing").splitlines()[0]
        answer |= {"values": f"{type(error).__name__}: {said}", "slower": None, "floor": None}
    with tempfile.TemporaryDirectory() as folder:
        answer["mutants"] = [
            judge_mutant(mutant, source, Path(folder)) for mutant in mutants_of(library)
        ]
    return answer


def ask(folder: Path, library: str) -> dict[str, Any]:
    """The answer of a process of the environment."""
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent), "CUDA_VISIBLE_DEVICES": ""}
    command = [str(python_of(folder)), __file__, str(folder), "--worker", library]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return {"version": "", "ran": "", "values": f"died: {done.stderr[-300:]}", "mutants": []}
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


def main() -> int:
    """Both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the environment is, or is made")
    parser.add_argument("libraries", nargs="*", help="these only")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(work(options.worker)))
        return 0
    print(
        "| library | what ran | values beside the CPU's | times the CPU | modes that do nothing | "
        "mutants found |"
    )
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    mutants: list[tuple[str, dict[str, Any]]] = []
    same = True
    for library in options.libraries or LIBRARIES:
        refused = install(options.folder.absolute(), LIBRARIES[library])
        if refused:
            print(f"| {LIBRARIES[library]} | cannot be installed here: {refused} | | | | |")
            continue
        answer = ask(options.folder.absolute(), library)
        mine = answer["mutants"]
        found = sum(mutant["raised"] and mutant["named"] for mutant in mine)
        slower, floor = (
            f"{answer[what]:.1f}" if answer.get(what) else "" for what in ("slower", "floor")
        )
        same &= answer["values"].startswith(("bit", "within"))
        print(
            f"| {LIBRARIES[library]} {answer['version']} | {answer['ran']} | {answer['values']} "
            f"| {slower} | {floor} | {found} of {len(mine)} |",
            flush=True,
        )
        mutants += [(library, mutant) for mutant in mine]
    wrong = [(name, m) for name, m in mutants if not (m["raised"] and m["named"])]
    raised, named = (sum(m[what] for _, m in mutants) for what in ("raised", "named"))
    print(f"\n{len(mutants)} mutants: {raised} raise, {named} name the line")
    for name, mutant in wrong:
        print(f"- {name}, {mutant['name']}: line {mutant['line']}, named {mutant['lines']}")
        print(f"  {mutant['said']}")
    return int(bool(wrong) or not same)


if __name__ == "__main__":
    sys.exit(main())
