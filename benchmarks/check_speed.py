"""How long `devlint check` takes and what memory, beside parsing alone and beside other linters.

    python benchmarks/check_speed.py [PATH ...] [--lines 10k 100k 1M] [--repeat N] [--limit S]
        [--only PROGRAM ...] [--plot FILE] [--store] [--json FILE]

Of each directory (default: `torch/nn` of the installed torch) the Python files are copied aside,
away from any configuration; with `--lines` once for each size, as many files in the order of their
paths as have that many lines. There the programs run in turn, `--repeat` times over, and the
medians count: a machine that slows down slows all of them. The first turn compiles the bytecode,
which an installed program has, even where the environment says not to keep any.

parse             `libcst.parse_module` on every file, nothing else: seconds of that loop alone
devlint           `devlint check DIR`, cold: no cache, one process
devlint --jobs 2  the same with two processes, on two cores
devlint, warm     nothing has changed since the last run: its outcomes are in the cache
torchfix, fixit,  `torchfix DIR`, `fixit lint DIR`, `ruff check DIR`, `pylint DIR`, on one core,
ruff, pylint      where these commands are installed; beyond `--limit` seconds they are ended and
                  left out

CPU seconds (user and system) and wall seconds of the whole process, with all that it starts, and
the most memory that all its processes have at a time (`benchmarks/measuring.py`). Then one small
file. `--plot` draws seconds and memory over lines; `--store` puts table and plot into
`docs/performance.md`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from measurement import Run, measured
from plots import plot

from devlint.check.resources import cores

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, PICTURE = DOCS / "performance.md", DOCS / "images" / "speed.svg"
BEGIN, END = "<!-- sizes: begin -->\n", "<!-- sizes: end -->\n"
OTHERS = {
    "torchfix": [],
    "fixit": ["lint"],
    "ruff": ["check", "--isolated", "--no-cache", "--quiet"],
    "pylint": ["--jobs=1", "--recursive=y", "--score=n"],
}
WARM = "devlint, warm"

PARSE = """
import sys
del sys.path[0]  # the folder that is parsed: it may hold an `ast.py`
import time, libcst
cpu = wall = 0.0
for path in open(sys.argv[1]).read().splitlines():
    with open(path, "rb") as file:
        source = file.read()
    start, begin = time.process_time(), time.perf_counter()
    try:
        libcst.parse_module(source)
    except libcst.ParserSyntaxError:
        pass
    cpu += time.process_time() - start
    wall += time.perf_counter() - begin
print(cpu, wall)
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
class Program:
    """What runs on a directory, and on how many cores. first: what is run once before."""

    command: list[str]
    cores: int = 1
    first: list[str] | None = None


@dataclass(frozen=True)
class Row:
    """One program on one directory. `ratio` is of CPU seconds, to `parse` on that directory."""

    directory: str
    files: int
    lines: int
    program: str
    cpu: float
    wall: float
    megabytes: float
    ratio: float


def programs(directory: Path, listed: Path, cache: Path) -> dict[str, Program]:
    """What runs on the directory, by name: the commands that are installed beside this Python."""
    cold = devlint("--format=json", "--no-cache", "--jobs=1", str(directory))
    warm = devlint("--format=json", f"--cache-dir={cache}", "--jobs=1", str(directory))
    found = {
        "parse": Program([sys.executable, "-c", PARSE, str(listed)]),
        "devlint": Program(cold),
        "devlint --jobs 2": Program([*cold[:-1], "--jobs=2", cold[-1]], min(2, cores())),
        WARM: Program(warm, first=[*warm, f"--jobs={cores()}"]),
    }
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    for name, arguments in OTHERS.items():
        if file := shutil.which(name, path=here):
            found[name] = Program([file, *arguments, str(directory)])
    return found


def devlint(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "devlint", "check", *arguments]


def copy_python_files(directory: Path, target: Path, most: int | None) -> tuple[list[str], int]:
    """Copy the files, as many as have that many lines, in the order of their paths."""
    copies: list[str] = []
    lines = 0
    for path in sorted(directory.rglob("*.py")):
        if most is not None and lines >= most:
            break
        if path.is_file():
            copy = target / path.relative_to(directory)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            copies.append(str(copy))
            lines += copy.read_bytes().count(b"\n")
    return copies, lines


def measure(directory: Path, most: int | None, options: argparse.Namespace) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder, directory.name)
        files, lines = copy_python_files(directory, copied, most)
        if not files:
            sys.exit(f"{directory}: no Python files")
        listed = Path(folder, "files")
        listed.write_text("\n".join(files))
        chosen = {
            name: program
            for name, program in programs(copied, listed, Path(folder, "cache")).items()
            if name == "parse" or not options.only or name in options.only
        }
        runs: dict[str, list[Run]] = {name: [] for name in chosen}
        for program in chosen.values():
            if program.first:
                measured(program.first, copied, cores())
        for _ in range(options.repeat):
            for name, program in chosen.items():
                if all(run.returncode is not None for run in runs[name]):
                    runs[name].append(
                        measured(program.command, copied, program.cores, options.limit)
                    )
    for name, several in runs.items():
        if name.startswith("devlint"):
            verify(directory, name, len(files), several[-1])
    return list(_rows(directory, len(files), lines, runs))


def _rows(directory: Path, files: int, lines: int, runs: dict[str, list[Run]]) -> Iterable[Row]:
    loops = [[float(word) for word in run.stdout.split()] for run in runs["parse"]]
    parse = statistics.median(cpu for cpu, _ in loops)
    for name, several in runs.items():
        if any(run.returncode is None for run in several):
            print(f"{directory}: {name} was ended at the limit", file=sys.stderr)
            continue
        times = loops if name == "parse" else [[run.cpu, run.wall] for run in several]
        cpu, wall = (statistics.median(each) for each in zip(*times, strict=True))
        peak = max(run.megabytes for run in several)
        yield Row(str(directory), files, lines, name, cpu, wall, peak, cpu / parse)


def verify(directory: Path, name: str, files: int, last: Run) -> None:
    """A figure counts only if devlint did check the files."""
    if last.returncode not in (0, 1, 3):
        sys.exit(f"{directory}: {name} ended with exit code {last.returncode}")
    checked = json.loads(last.stdout)["files"]
    if checked != files:
        sys.exit(f"{directory}: {files} files are there, {name} checked {checked}")


def measure_one_file(repeat: int) -> tuple[float, float]:
    """Wall-clock and CPU seconds of `devlint check` on a small file, process start included."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "small.py").write_text(SMALL_FILE)
        command = devlint("--no-cache", "small.py")
        runs = [measured(command, Path(folder)) for _ in range(repeat)]
    wall = statistics.median(each.wall for each in runs)
    return wall, statistics.median(each.cpu for each in runs)


# --- what is printed and stored ------------------------------------------------------------------


def table(rows: Sequence[Row]) -> str:
    """The figures as a table in Markdown, which is as good on a terminal."""
    cells = [("lines", "program", "CPU s", "wall s", "ratio", "MB")]
    before = ""
    for row in rows:
        new = f"{row.directory} {row.lines}"
        size = f"{row.lines:,}" if new != before else ""
        figures = (f"{row.cpu:.2f}", f"{row.wall:.2f}", f"{row.ratio:.2f}", f"{row.megabytes:.0f}")
        cells.append((size, row.program, *figures))
        before = new
    lines = [
        f"| {a:>9} | {b:16} | {c:>8} | {d:>8} | {e:>6} | {f:>6} |" for a, b, c, d, e, f in cells
    ]
    lines.insert(1, "| ---: | --- | ---: | ---: | ---: | ---: |")
    return "\n".join(lines) + "\n"


def picture(rows: Sequence[Row]) -> str:
    """Seconds and memory over lines."""
    names = dict.fromkeys(row.program for row in rows)

    def points(name: str, figure: str) -> list[tuple[float, float]]:
        return [(row.lines, getattr(row, figure)) for row in rows if row.program == name]

    return plot(
        {
            "CPU seconds": {name: points(name, "cpu") for name in names},
            "MB at most, all processes": {
                name: points(name, "megabytes") for name in names if name != "parse"
            },
        },
        "lines",
    )


def store(rows: Sequence[Row]) -> None:
    """Put table and plot into the page, with the date and the machine."""
    whole = PAGE.read_text(encoding="utf-8")
    before, _, rest = whole.partition(BEGIN)
    after = rest.partition(END)[2]
    names = ", ".join(dict.fromkeys(Path(row.directory).name for row in rows))
    load = f"{os.getloadavg()[0]:.0f}" if hasattr(os, "getloadavg") else "unknown"
    python = f"Python {platform.python_version()}, {cores()} cores"
    said = f"{names}; {time.strftime('%d %B %Y')}, {python}, a load of {load} at the end.\n"
    picture_line = f"![CPU seconds and memory over lines](images/{PICTURE.name})\n"
    PICTURE.write_text(picture(rows), encoding="utf-8")
    middle = f"{table(rows)}\n{picture_line}\n{said}"
    PAGE.write_text(f"{before}{BEGIN}\n{middle}\n{END}{after}", encoding="utf-8")


def size(text: str) -> int:
    """`10k` is 10,000, `1M` a million."""
    factor = {"k": 1_000, "M": 1_000_000}.get(text[-1:], 1)
    return int(text.rstrip("kM")) * factor


def torch_nn() -> Path:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        sys.exit("torch is not installed: name a directory")
    return Path(spec.origin).parent / "nn"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directories", nargs="*", type=Path, metavar="PATH")
    parser.add_argument("--lines", nargs="*", type=size, metavar="N", help="10k, 1M: that many")
    parser.add_argument("--repeat", type=int, default=5, metavar="N")
    parser.add_argument("--limit", type=float, default=600, metavar="S", help="of one run")
    parser.add_argument("--only", nargs="*", metavar="PROGRAM", help="these, and parse")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the figures as an SVG")
    parser.add_argument("--store", action="store_true", help="into docs/performance.md")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    directories = [path.resolve() for path in options.directories] or [torch_nn()]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as bytecode:
        os.environ["PYTHONPYCACHEPREFIX"] = bytecode
        for directory in directories:
            for most in options.lines or [None]:
                rows += measure(directory, most, options)
                print(table(rows), file=sys.stderr)  # a long run may be ended before the next
        wall, cpu = measure_one_file(2 * options.repeat)
    print(table(rows))
    print(f"one small file, process start included: {wall:.2f} s, {cpu:.2f} s of it CPU")
    if options.plot:
        options.plot.write_text(picture(rows), encoding="utf-8")
    if options.store:
        store(rows)
    if options.json:
        report = {"rows": [asdict(row) for row in rows], "one_file": {"wall": wall, "cpu": cpu}}
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
