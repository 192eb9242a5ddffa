#!/usr/bin/env python3
"""Mutation fuzzing over our fixtures: nothing that is fed to devlint may break it.

    python3 scripts/fuzz.py [--seed 0] [--inputs 1000] [--seconds 60] [TARGET[=INPUTS]...]

Targets are `check`, `fix`, `suppression`, `notebook`, `magics`, `config`, `baseline`, `outcome` and
`cache`, all of them if none is named; `magics=50000 fix=500` gives each a number of inputs of its
own. Prints how many inputs each got and every failure, and the sum at last; an input that fails is
written to `--keep DIR`. Exits with 1 after a failure. The same seed gives the same inputs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from devlint import engine
from devlint.baseline import BaselineError, read_baseline, write_baseline
from devlint.check.entries import SUFFIX, sealed
from devlint.check.executors import InProcess
from devlint.check.groups import groups_of
from devlint.check.outcome import Outcome
from devlint.check.plain_data import from_plain, to_plain
from devlint.check.setting import Setting
from devlint.config import Config, ConfigError, Policy, find_config, to_toml
from devlint.findings import Confidence
from devlint.fixes import fix
from devlint.inference.api import infer_file
from devlint.project.magics import python_of
from devlint.project.python_text import python_text
from devlint.project.source import SourceError
from devlint.report import Report
from devlint.reporters import json as json_report
from devlint.rules import load_rules
from devlint.suppression import RULES as SUPPRESSION_RULES
from devlint.suppression_comments import with_ignores, without_unused_ignores

ROOT = Path(__file__).resolve().parent.parent
BATCH = 40  # files of one check
SLOW = 5.0  # seconds of processor time for one input
TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
SPICE = (
    "# devlint: ignore[DEV101] -- why",
    "# devlint: ignore-file[DEV3]",
    "# devlint: ignore[",
    "# noqa: DEV101, E501",
    "# devlint:",
    "\f",
    "\t",
    "\r",
    "\r\n",
    "\\\n",
    "\0",
    "\ufeff",
    "\u2028",
    "\x1b[31m",
    "δ",
    "a" * 300,
    "*",
    "**",
    "()",
    "(yield)",
    "await x",
    "lambda: 0",
    "x := 1",
    "...",
    "''",
    "f'{x}'",
    "0x",
    "1e999",
    "9" * 5000,
    "try:\n    pass\nfinally:\n    pass\n",
    "match x:\n    case [1, *_]:\n        pass\n",
    "class A(A): pass\n",
    "def f(f=f): return f(f)\n",
    "x = x\n",
    "import x as x\n",
    "from . import *\n",
    "del x\n",
    "global x\n",
    "%time x = 1\n",
    "!ls\n",
    "x?\n",
    "%%bash\n",
)

Failure = tuple[str, str | bytes]  # what went wrong, with which input
Fed = tuple[int, list[Failure]]  # how many inputs a step had, and which failed
Step = Callable[[], Fed]
Target = Callable[[random.Random, Path], Step]

latest: list[str | bytes] = []  # the inputs of the step that runs


def seeds(*patterns: str) -> list[str]:
    files = sorted(file for pattern in patterns for file in ROOT.glob(pattern))
    return [file.read_text(encoding="utf-8") for file in files]


def mutated(text: str, others: list[str], chance: random.Random) -> str:
    """The text after a few mutations of its lines and tokens."""
    for _ in range(chance.randint(1, 4)):
        kind = chance.randrange(6)
        if kind < 2:
            parts = text.splitlines(keepends=True)
        else:
            parts = TOKEN.findall(text)
        at = chance.randrange(len(parts) + 1)
        end = min(at + chance.randint(1, 3), len(parts))
        if kind == 0:
            more = chance.choice(others).splitlines(keepends=True)
            start = chance.randrange(len(more) + 1)
            parts[at:end] = more[start : start + chance.randint(0, 5)]
        elif kind == 1:
            parts[at:at] = parts[chance.randrange(len(parts) + 1) :][: chance.randint(1, 5)]
        elif kind == 2:
            del parts[at:end]
        elif kind == 3:
            parts[at:at] = [chance.choice(SPICE)]
        else:  # a token by another one: the likeliest to be a program still
            words = [part for part in TOKEN.findall(chance.choice([text, *others])) if part.strip()]
            parts[at : at + 1] = [chance.choice(words or ["x"])]
        text = "".join(parts)
    return text


def mutants(chance: random.Random) -> Iterator[str]:
    """Mutated fixtures, most of which do not parse."""
    pool = seeds("fixtures/rules/*/*.py", "fixtures/teaching/*.py", "fixtures/everyday/**/*.py")
    pool = [text for text in pool if len(text) < 4000]
    while True:
        yield mutated(chance.choice(pool), pool, chance)


def programs(chance: random.Random) -> Iterator[str]:
    """Mutated fixtures, three in four of them programs still: a text that does not parse reaches
    the parser and nothing behind it."""
    source = mutants(chance)
    while True:
        text = next(source)
        if chance.random() < 0.75:
            while not compiles(text.encode("utf-8", "replace")):
                text = next(source)
        yield text


def defects(report: Report) -> Iterator[tuple[str, str]]:
    for error in report.errors:
        if "defect of devlint" in error.message or " failed: " in error.message:
            yield error.path, error.message


def fuzz_check(chance: random.Random, folder: Path) -> Step:
    """A check of any files ends, soon, with entries for what is wrong with them."""
    source = programs(chance)
    rules = load_rules()

    def step() -> Fed:
        texts = {folder / f"m{n}.py": next(source) for n in range(BATCH)}
        latest.extend(texts.values())
        contents = {file: text.encode("utf-8", "replace") for file, text in texts.items()}
        found: list[Failure] = []
        started = [("", time.process_time())]

        def progress(done: int, total: int, path: str, started: list = started) -> None:  # type: ignore[type-arg]
            started.append((path, time.process_time()))

        report = engine.check(
            list(texts), Config(folder), rules, contents=contents, progress=progress
        )
        for (path, begun), (_, ended) in itertools.pairwise(started):
            if path and ended - begun > SLOW:
                found.append((f"took {ended - begun:.1f} s", texts[folder / path]))
        found += [(message, texts[folder / path]) for path, message in defects(report)]
        return BATCH, found

    return step


def fuzz_fix(chance: random.Random, folder: Path) -> Step:
    """What compiled compiles after every fix, and a second run changes nothing."""
    source = programs(chance)
    rules = load_rules()
    file = folder / "m.py"

    def step() -> Fed:
        text = next(source)
        latest.append(text)
        if not compiles(text.encode("utf-8", "replace")):
            return 0, []
        before = text.encode("utf-8", "replace")
        fixed = fix([file], Config(folder), rules, unsafe=True, contents={file: before})
        found: list[Failure] = [(message, text) for _, message in defects(fixed.report)]
        if fixed.changes:
            after = fixed.changes[0].after
            if not compiles(after):
                found.append(("does not compile after the fix", text))
            again = fix([file], Config(folder), rules, unsafe=True, contents={file: after})
            if again.changes:
                found.append(("a second run changes more", text))
        return 1, found

    return step


def compiles(data: bytes) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, "m.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True


def fuzz_suppression(chance: random.Random, folder: Path) -> Step:
    """What gets a suppression is not found again, and what is removed was of no use."""
    source = programs(chance)
    rules = load_rules()
    file = folder / "m.py"
    config = Config(folder, min_confidence=Confidence.POSSIBLE)

    def found_in(data: bytes) -> Report:
        file.write_bytes(data)
        return engine.check([file], config, rules)

    def codes(report: Report) -> Counter[str]:
        return Counter(finding.rule for finding in report.findings)

    def step() -> Fed:
        text = next(source)
        latest.append(text)
        if not compiles(text.encode("utf-8", "replace")):
            return 0, []
        before = found_in(text.encode("utf-8", "replace"))
        said = [message for _, message in defects(before)]
        ignored = with_ignores(before, chance.choice(["", "meant", "a -- b"]))
        for change in ignored.changes:
            after = found_in(change.after)
            if codes(after) - Counter(f.rule for f in ignored.left) - remarks(before):
                said.append("suppressed, and yet found; or the suppression is remarked upon")
            kept = without_unused_ignores(after)
            if any(codes(found_in(each.after)) - codes(after) for each in kept.changes):
                said.append("what is found again was suppressed by what is removed")
        relieved = without_unused_ignores(before)
        if any(codes(found_in(each.after)) - codes(before) for each in relieved.changes):
            said.append("found after an unused suppression is removed")
        return 1, [(message, text) for message in said]

    return step


def remarks(report: Report) -> Counter[str]:
    """What a report says of suppressions."""
    ours = {rule.code for rule in SUPPRESSION_RULES}
    return Counter(finding.rule for finding in report.findings if finding.rule in ours)


def fuzz_notebook(chance: random.Random, folder: Path) -> Step:
    """Any JSON is a notebook or an error entry, and edits leave the rest as it is."""
    source = mutants(chance)

    def step() -> Fed:
        cells = []
        for _ in range(chance.randint(0, 4)):
            text = next(source)[:400]
            lines: str | list[str] = text if chance.random() < 0.3 else text.splitlines(True)
            kind = chance.choice(["code", "code", "code", "markdown"])
            cells.append({"cell_type": kind, "metadata": {}, "source": lines})
        whole = {"cells": cells, "metadata": {}, "nbformat": 4}
        raw = json.dumps(
            whole, indent=chance.choice([None, 1, 2]), ensure_ascii=chance.random() < 0.5
        )
        if chance.random() < 0.6:
            raw = mutated(raw, [raw], chance)
        data = raw.encode("utf-8", "replace")
        latest.append(data)
        try:
            found = list(notebook_failures(data, chance))
        except SourceError:
            found = []
        return 1, [(message, data) for message in found]

    return step


def notebook_failures(data: bytes, chance: random.Random) -> Iterator[str]:
    text = python_text(Path("x.ipynb"), data)
    if len(text.text) != len(text.written):
        yield "the Python is not as long as what is written"
    if text.edited({}).encode() != data:
        yield "an edit of nothing changes the file"
    if not text.cells:
        return
    cell = chance.choice(text.cells)
    start = chance.randint(cell.start, cell.end)
    end = chance.randint(start, cell.end)
    edited = text.edited({(start, end): "δ\n"})
    for old, new in zip(text.cells, edited.cells, strict=True):
        expected = old.source
        if old.number == cell.number:
            cut = start - old.start, end - old.start
            expected = f"{expected[: cut[0]]}δ\n{expected[cut[1] :]}"
        if new.source != expected:
            yield "an edit of one cell comes out wrong"


def fuzz_magics(chance: random.Random, folder: Path) -> Step:
    """The Python of a cell is as long as the cell, and stays what it is when read again."""
    source = mutants(chance)

    def step() -> Fed:
        cell = mutated(next(source)[:300], ["%time x\n!ls a\nx = !ls\n%%time\n?x\n"], chance)
        latest.append(cell)
        python = python_of(cell)
        found: list[Failure] = []
        if python is not None and len(python) != len(cell):
            found.append(("of another length", cell))
        if python is not None and re.sub(r"[^\r\n]", "", python) != re.sub(r"[^\r\n]", "", cell):
            found.append(("other line ends", cell))
        return 1, found

    return step


CONFIGURATION = """\
[tool.devlint]
paths = ["src"]
select = ["DEV1", "DEV304"]
extend-select = ["DEV5"]
ignore = ["DEV101"]
exclude = ["a/**", "!b", "[x-z]*.py"]
fail-on = "never"
min-confidence = "possible"
respect-gitignore = false
require-suppression-reason = true
[tool.devlint.severity]
DEV301 = "warning"
[[tool.devlint.overrides]]
paths = ["tests/**"]
ignore = ["ALL"]
min-confidence = "certain"
"""


def fuzz_config(chance: random.Random, folder: Path) -> Step:
    """Any configuration is read or refused, and what is read is written as it is read."""
    rules = load_rules()
    file = folder / "pyproject.toml"

    def step() -> Fed:
        text = mutated(CONFIGURATION, [CONFIGURATION], chance)
        latest.append(text)
        file.write_bytes(text.encode("utf-8", "replace"))
        found: list[Failure] = []
        try:
            config = find_config(folder, file)
            policy = Policy(config, rules)
            policy.rules_for("tests/a/x.py")
            written = to_toml(config)
            file.write_text(written, encoding="utf-8")
            if to_toml(find_config(folder, file)) != written:
                found.append(("is not written as it is read", text))
        except ConfigError:
            pass
        return 1, found

    return step


BASELINE = """\
# Findings that were there when devlint was adopted: `devlint check` passes over them.
src/a%20b.py DEV101 0123456789abcdef
src/net.py DEV201 fedcba9876543210
<<<<<<< ours
x.ipynb DEV304 00ff00ff00ff00ff
"""


def fuzz_baseline(chance: random.Random, folder: Path) -> Step:
    """Any baseline is read or refused, and what is read is written as it is read."""
    file = folder / ".devlint-baseline"

    def step() -> Fed:
        text = mutated(BASELINE, [BASELINE], chance)
        latest.append(text)
        file.write_bytes(text.encode("utf-8", "replace"))
        try:
            entries = read_baseline(file)
        except BaselineError:
            return 1, []
        write_baseline(file, entries)
        is_same = read_baseline(file) == entries
        return 1, [] if is_same else [("is not written as it is read", text)]

    return step


def fuzz_outcome(chance: random.Random, folder: Path) -> Step:
    """Any JSON is an outcome of a check or is refused, and is written as it is read."""
    file = folder / "m.py"
    texts = seeds("fixtures/rules/*/*.py")
    rules = load_rules()
    config = Config(folder, min_confidence=Confidence.POSSIBLE)
    known = []
    for text in chance.sample(texts, 8):
        setting = Setting.of(config, rules, {file: text.encode()}, infer_file)
        (outcome,) = InProcess(setting)(groups_of([(file, len(text))]), lambda _: None)
        known.append(json.dumps(to_plain(outcome)))

    def step() -> Fed:
        text = mutated(chance.choice(known), known, chance)
        latest.append(text)
        try:
            outcome = from_plain(Outcome, json.loads(text))
        except (ValueError, RecursionError):
            return 1, []
        again = from_plain(Outcome, json.loads(json.dumps(to_plain(outcome))))
        return 1, [] if again == outcome else [("is not written as it is read", text)]

    return step


def damaged(name: str, entries: dict[str, bytes], chance: random.Random) -> bytes | None:
    """The bytes of an entry after a disk, a crash or a copy got at them; None: it is gone."""
    data = bytearray(entries[name])
    at = chance.randrange(len(data) + 1)
    match chance.randrange(8):
        case 0:
            return bytes(data[:at])
        case 1:
            for _ in range(chance.choice([1, 1, 8])):
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        case 2:
            return entries[chance.choice(list(entries))]
        case 3:
            data[at:at] = chance.randbytes(chance.choice([1, 100, 1 << 16]))
        case 4:
            data += bytes(chance.choice([1, 1 << 20]))
        case 5:
            data[at : at + 64] = bytes(len(data[at : at + 64]))
        case 6:
            return chance.randbytes(chance.randrange(200))
        case _:
            return None
    return bytes(data)


def forged(name: str, entries: dict[str, bytes], chance: random.Random) -> bytes:
    """An entry that is sealed as ours are, with anything in it: another shape, types, or size."""
    texts = [zlib.decompress(entry[16:]).decode() for entry in entries.values()]
    text = zlib.decompress(entries[name][16:]).decode()
    match chance.randrange(6):
        case 0:
            text = "[" * 100_000
        case 1:
            text = json.dumps(chance.choice([None, True, 1e999, "x", [], {}, [[]] * 11, {"a": 1}]))
        case 2:
            text = json.dumps(retyped(json.loads(text), chance))
        case _:
            text = mutated(text, texts, chance)
    packed = zlib.compress(text.encode("utf-8", "replace"))
    if chance.random() < 0.1:
        packed = zlib.compress(bytes(1 << 22))  # far larger than it looks
    elif chance.random() < 0.1:
        packed = packed[: chance.randrange(len(packed))]
    return sealed(name.removesuffix(SUFFIX), packed)


def retyped(data: object, chance: random.Random) -> object:
    """The data with one value in it, at any depth, that is of another type or far too large."""
    inner: object = data
    while isinstance(inner, list | dict) and inner:
        places = list(inner) if isinstance(inner, dict) else range(len(inner))
        place = chance.choice(list(places))
        deeper = inner[place]  # type: ignore[index]
        if isinstance(deeper, list | dict) and deeper and chance.random() < 0.8:
            inner = deeper
            continue
        odd = [None, True, -1, 10**30, 0.5, float("nan"), "", "\0", "../..", "x" * 300, [], {}]
        inner[place] = chance.choice(odd)  # type: ignore[index]
        break
    return data


CACHED = {
    "lib/__init__.py": "",
    "lib/model.py": "import torch\n\n\ndef scale(x):\n    return x * torch.ones(3)\n",
    "app/use.py": "import torch\nfrom lib.model import scale\n\n"
    "y = scale(torch.ones(3, device='cuda'))\n",
    "apart.py": "import torch\n\nz = torch.ones(3).cuda() + torch.ones(3)\n",
    "odd.py": "x = (\n",
}


def fuzz_cache(chance: random.Random, folder: Path) -> Step:
    """With entries that were damaged or swapped a check says what it says without any; with such
    that somebody made for it, it ends, and says something."""
    rules = load_rules()
    root = folder / "project"
    for name, text in CACHED.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    config = Config(root, min_confidence=Confidence.POSSIBLE)
    kept = folder / "kept"
    questions = [[root], [root / "lib"], [root / "app"], [root / "apart.py", root / "odd.py"]]

    def asked(number: int, cached: bool = True) -> str:
        report = engine.check(questions[number], config, rules, cache=kept if cached else None)
        if said := [message for _, message in defects(report)]:
            raise AssertionError(said)
        return json_report.render(report)

    expected = [asked(number, cached=False) for number in range(len(questions))]
    for number in range(len(questions)):
        asked(number)
    entries = {file.name: file.read_bytes() for file in sorted(kept.glob(f"*{SUFFIX}"))}

    def step() -> Fed:
        number = chance.randrange(len(questions))
        is_forged = chance.random() < 0.4
        changed = chance.sample(list(entries), chance.choice([1, 1, len(entries)]))
        for name in changed:
            data = (forged if is_forged else damaged)(name, entries, chance)
            if data is None:
                (kept / name).unlink()
            else:
                (kept / name).write_bytes(data)
                latest.append(data)
        found: list[Failure] = []
        shown = latest[0] if latest else b""
        begun = time.process_time()
        for again in range(2):
            said = asked(number)
            if said != expected[number] and not is_forged:
                found.append((f"says something else, run {again + 1} of {number}", shown))
        if time.process_time() - begun > SLOW:
            found.append(("took too long", shown))
        for name, data in entries.items():
            (kept / name).write_bytes(data)
        return len(changed), found

    return step


TARGETS: dict[str, Target] = {
    "magics": fuzz_magics,
    "notebook": fuzz_notebook,
    "config": fuzz_config,
    "baseline": fuzz_baseline,
    "outcome": fuzz_outcome,
    "cache": fuzz_cache,
    "check": fuzz_check,
    "fix": fuzz_fix,
    "suppression": fuzz_suppression,
}


def run(name: str, seed: int, inputs: int, seconds: float) -> tuple[int, list[Failure]]:
    """Feed a target; how many inputs it got, and what failed."""
    failures: list[Failure] = []
    count = 0
    ends = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        step = TARGETS[name](random.Random(f"{name} {seed}"), Path(folder).resolve())
        while count < inputs and time.monotonic() < ends:
            latest.clear()
            try:
                fed, found = step()
            except Exception:
                fed, found = 1, [(traceback.format_exc(), each) for each in latest]
            count += fed
            failures += found
    return count, failures


def target(text: str) -> tuple[str, int | None]:
    """A target on the command line and its own number of inputs: `fix=500`, or `fix`."""
    name, equals, inputs = text.partition("=")
    if name not in TARGETS:
        raise argparse.ArgumentTypeError(f"no target is called {name!r}: {', '.join(TARGETS)}")
    if not equals:
        return name, None
    if not inputs.isdecimal() or not int(inputs):
        raise argparse.ArgumentTypeError(f"{inputs!r} is no number of inputs")
    return name, int(inputs)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "targets", nargs="*", type=target, metavar="TARGET[=INPUTS]", help=", ".join(TARGETS)
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--inputs", type=int, default=1000, help="for each target without a number of its own"
    )
    parser.add_argument("--seconds", type=float, default=60, help="at most, for each target")
    parser.add_argument("--keep", type=Path, help="where inputs that fail are written")
    given = parser.parse_args(arguments)
    total = failed = 0
    for name, inputs in given.targets or [(name, None) for name in TARGETS]:
        count, failures = run(name, given.seed, inputs or given.inputs, given.seconds)
        total += count
        failed += len(failures)
        print(f"{name}: {count} inputs, {len(failures)} failures", flush=True)
        for number, (message, text) in enumerate(failures):
            print(f"    {message}", flush=True)
            if given.keep:
                given.keep.mkdir(parents=True, exist_ok=True)
                data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
                (given.keep / f"{name}-{given.seed}-{number}").write_bytes(data)
    print(f"in all: {total} inputs, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
