"""How long `devlint check` takes, as a multiple of what parsing the same files costs.

    python benchmarks/check_speed.py [DIR ...] [--repeat N] [--json FILE]

One core, no cache. Of each directory (default: `torch/nn` of the installed torch) the Python files
are copied aside, away from any configuration. There the programs run in turn, `--repeat` times
over, and the medians count: a machine that slows down slows all of them. The first turn compiles
the bytecode, which an installed program has, even where the environment says not to keep any.

parse       `libcst.parse_module` on every file, nothing else: CPU seconds of that loop alone
devlint     `devlint check DIR`: CPU seconds (user and system) of the whole process
torchfix,   `torchfix DIR` and `fixit lint DIR` likewise, where these commands are installed
fixit

Then one small file: wall-clock seconds from the start of the process to its end.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

TARGET_RATIO = 3.0
TARGET_SECONDS_ONE_FILE = 0.4
TARGET_MEGABYTES = 300

PARSE = """
import sys, time, libcst
total = 0.0
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        source = file.read()
    start = time.process_time()
    try:
        libcst.parse_module(source)
    except libcst.ParserSyntaxError:
        pass
    total += time.process_time() - start
print(total)
"""

SMALL_FILE = """\
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(8, 8)

    def forward(self, x):
        return self.proj(x) + torch.zeros(8)
"""


@dataclass(frozen=True)
class Run:
    """One process, run to its end."""

    cpu: float  # seconds, user and system, its children's too
    wall: float  # seconds
    megabytes: float  # peak resident set
    stdout: bytes
    returncode: int


@dataclass(frozen=True)
class Row:
    """One program on one directory. `ratio` is to `parse` on that directory."""

    directory: str
    files: int
    lines: int
    program: str
    cpu: float
    wall: float
    megabytes: float
    ratio: float


def run(command: Sequence[str], cwd: Path) -> Run:
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=cwd, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        kilobytes = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
        cpu = usage.ru_utime + usage.ru_stime
        return Run(cpu, wall, kilobytes / 1024, out.read(), process.returncode)


def programs(directory: Path, files: list[str]) -> dict[str, list[str]]:
    """What runs on the directory, by name: the commands that are installed beside this Python."""
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    found = {
        "parse": [sys.executable, "-c", PARSE, *files],
        "devlint": devlint("--format=json", str(directory)),
    }
    if torchfix := shutil.which("torchfix", path=here):
        found["torchfix"] = [torchfix, str(directory)]
    if fixit := shutil.which("fixit", path=here):
        found["fixit"] = [fixit, "lint", str(directory)]
    return found


def devlint(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "devlint", "check", *arguments]


def copy_python_files(directory: Path, target: Path) -> list[str]:
    copies = []
    for path in sorted(directory.rglob("*.py")):
        if path.is_file():
            copy = target / path.relative_to(directory)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            copies.append(str(copy))
    return copies


def measure(directory: Path, repeat: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder, directory.name)
        files = copy_python_files(directory, copied)
        if not files:
            sys.exit(f"{directory}: no Python files")
        lines = sum(Path(file).read_bytes().count(b"\n") for file in files)
        commands = programs(copied, files)
        runs: dict[str, list[Run]] = {name: [] for name in commands}
        for _ in range(repeat):
            for name, command in commands.items():
                runs[name].append(run(command, cwd=copied))
    verify(directory, len(files), runs["devlint"][-1])
    parse = statistics.median(float(each.stdout) for each in runs["parse"])
    rows = []
    for name, several in runs.items():
        cpu = parse if name == "parse" else statistics.median(each.cpu for each in several)
        wall = statistics.median(each.wall for each in several)
        peak = max(each.megabytes for each in several)
        row = Row(str(directory), len(files), lines, name, cpu, wall, peak, cpu / parse)
        rows.append(row)
    return rows


def verify(directory: Path, files: int, last: Run) -> None:
    """A figure counts only if devlint did check the files."""
    if last.returncode not in (0, 1, 3):
        sys.exit(f"{directory}: devlint check ended with exit code {last.returncode}")
    checked = json.loads(last.stdout)["files"]
    if checked != files:
        sys.exit(f"{directory}: {files} files are there, devlint checked {checked}")


def measure_one_file(repeat: int) -> tuple[float, float]:
    """Wall-clock and CPU seconds of `devlint check` on a small file, process start included."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "small.py").write_text(SMALL_FILE)
        runs = [run(devlint("small.py"), cwd=Path(folder)) for _ in range(repeat)]
    wall = statistics.median(each.wall for each in runs)
    return wall, statistics.median(each.cpu for each in runs)


def table(rows: list[Row], one_file: tuple[float, float]) -> str:
    text = []
    for row in rows:
        if row.program == "parse":
            text.append(f"\n{row.directory}: {row.files} files, {row.lines} lines")
            text.append(f"{'':10}{'CPU s':>9}{'wall s':>9}{'MB':>7}{'ratio':>8}")
        text.append(
            f"{row.program:10}{row.cpu:9.2f}{row.wall:9.2f}{row.megabytes:7.0f}{row.ratio:8.2f}"
        )
    wall, cpu = one_file
    text.append(f"\none small file, process start included: {wall:.2f} s, {cpu:.2f} s of it CPU")
    text.append(
        f"targets: devlint's ratio at most {TARGET_RATIO}, under {TARGET_MEGABYTES} MB,"
        f" one small file under {TARGET_SECONDS_ONE_FILE} s"
    )
    return "\n".join(text).lstrip()


def torch_nn() -> Path:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        sys.exit("torch is not installed: name a directory")
    return Path(spec.origin).parent / "nn"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directories", nargs="*", type=Path, metavar="DIR")
    parser.add_argument("--repeat", type=int, default=5, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # children inherit it
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    directories = [path.resolve() for path in options.directories] or [torch_nn()]
    with tempfile.TemporaryDirectory() as bytecode:
        os.environ["PYTHONPYCACHEPREFIX"] = bytecode
        rows = [row for directory in directories for row in measure(directory, options.repeat)]
        one_file = measure_one_file(2 * options.repeat)
    print(table(rows, one_file))
    if options.json:
        wall, cpu = one_file
        small = {"wall": wall, "cpu": cpu}
        report = {"rows": [asdict(row) for row in rows], "one_file": small}
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
