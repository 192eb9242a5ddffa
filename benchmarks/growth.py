"""How the work of a check grows with one construct of a file: with n of it, then with 4n.

    python benchmarks/growth.py [KIND …] [--size N] [--seconds] [--store]

`growth.toml` has a row for each kind of construct: the methods of a class, the operands of `and`,
the branches of an `elif` chain. Work is the number of calls that Python makes in a check once the
file is parsed: it is the same in every run, where a clock is not. Regular expressions are compiled
once and kept, and count for nothing. Where each part costs what it costs among few, the growth is
4; more than LIMIT is marked. With `--seconds` CPU time is measured instead, which sees what is long
in a single call too, and is rough.

`growth.json` has the calls of the larger file of each kind, as `--store` last wrote them.
`tests/test_growth.py` holds both: the growth, and that no kind takes many more calls than are
stored. Whoever makes a check dearer on purpose stores the figures anew.
"""

from __future__ import annotations

import argparse
import cProfile
import importlib
import json
import pkgutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType

import devlint_rules

from devlint.check.resources import with_deep_stack, without_garbage_collection
from devlint.check.session import Session
from devlint.check.setting import Setting
from devlint.check.settlement import Settling
from devlint.config import Config
from devlint.findings import Confidence
from devlint.inference.api import infer_file
from devlint.report import Report
from devlint.rule import Rule

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LEAST_CALLS = 20  # for a string on a line of its own there is nothing to do
LIMIT = 5.0  # for four times as much of a construct
SIZE = 10
STORED = Path(__file__).with_suffix(".json")
FIRST = "import torch\n\nx = torch.ones(3).cuda() + torch.ones(3)\n"

Measured = Callable[[Callable[[], Report]], Report]
Measure = Callable[[str, tuple[Rule, ...]], float]


@dataclass(frozen=True)
class Kind:
    """A construct, and the file that has many of it."""

    name: str
    part: str
    before: str = ""
    after: str = ""
    joined: bool = False  # are the parts on one line?
    deeper: bool = False  # is each indented by one level more than that before it?
    most: int = 1 << 20  # n, where the parser does not nest deeper than 4n

    def text(self, count: int) -> str:
        """The file with so many of the construct."""
        parts = [self._numbered(number) for number in range(count)]
        if self.joined:
            text = self.before.rstrip("\n") + "".join(parts) + self.after
        else:
            text = "\n".join((self.before, *parts, self.after))
        return text.strip() + "\n"

    def _numbered(self, number: int) -> str:
        part = self.part.strip("\n")
        part = part.replace("<i>", str(number)).replace("<j>", str(number - 1) if number else "")
        indent = "    " * number if self.deeper else ""
        return "\n".join(indent + line for line in part.splitlines())


@dataclass(frozen=True)
class Growth:
    """The work on files with one part, with `size` and with four times as many."""

    size: int
    one: float
    some: float
    many: float
    least: float = 1e-4  # the work on a part, in seconds, that is told from none

    @property
    def factor(self) -> float:
        """By how much the work on the parts grows: 4 where each costs what it costs among few."""
        among_few = max((self.some - self.one) / (self.size - 1), self.least)
        among_many = (self.many - self.one) / (4 * self.size - 1)
        return 4 * among_many / among_few


def kinds() -> dict[str, Kind]:
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {name: Kind(name, **row) for name, row in rows.items()}


def stored() -> dict[str, int]:
    """The calls of each kind's larger file, as they were stored."""
    found: dict[str, int] = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def growth(kind: Kind, rules: tuple[Rule, ...], measure: Measure, size: int = SIZE) -> Growth:
    size = min(size, kind.most)
    measure(kind.text(2), rules)  # what is loaded when it is first needed counts for nothing
    one, some, many = (measure(kind.text(n), rules) for n in (1, size, 4 * size))
    found = Growth(size, one, some, many, LEAST_CALLS if measure is calls else Growth.least)
    if found.factor > LIMIT:  # what only many need was loaded now
        found = replace(found, many=measure(kind.text(4 * size), rules))
    return found


def check(text: str, rules: tuple[Rule, ...], measured: Measured = lambda work: work()) -> Report:
    """The report on one file with this text. `measured` runs all that comes after the parser."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "example.py")
        file.write_text(text, encoding="utf-8")
        config = Config(Path(folder), min_confidence=Confidence.POSSIBLE)

        def work() -> Report:
            setting = Setting.of(config, rules, {}, infer_file)
            session, settling = Session(setting), Settling(setting, 1, ())
            parsed = session.project.parse(file)

            def rest() -> Report:
                session.check_parsed(file, parsed)
                settling.add(session.finish())
                return settling.finish()

            return measured(rest)

        with without_garbage_collection():
            return with_deep_stack(work)


def calls(text: str, rules: tuple[Rule, ...]) -> float:
    """How many calls a check makes, of Python functions and of built-in ones."""
    profile = cProfile.Profile()
    check(text, rules, profile.runcall)
    count = 0
    for entry in profile.getstats():
        if isinstance(entry.code, CodeType) and not _compiles_patterns(entry.code):
            inner = (each for each in entry.calls or () if isinstance(each.code, str))
            count += entry.callcount + sum(each.callcount for each in inner)
    return count


def _compiles_patterns(code: CodeType) -> bool:
    file = Path(code.co_filename)
    return file.parent.name == "re" or file.name.startswith("sre_")


def seconds(text: str, rules: tuple[Rule, ...]) -> float:
    """CPU seconds of a check."""
    taken = 0.0

    def timed(work: Callable[[], Report]) -> Report:
        nonlocal taken
        start = time.process_time()
        report = work()
        taken = time.process_time() - start
        return report

    check(text, rules, timed)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    parser.add_argument("--size", type=int, default=SIZE, help="n")
    parser.add_argument("--seconds", action="store_true", help="measure CPU time")
    parser.add_argument("--store", action="store_true", help=f"write {STORED.name}")
    options = parser.parse_args()
    rules = our_rules()
    check(FIRST, rules)  # reads tables that are kept
    found: dict[str, int] = {}
    print(f"{'kind':36}{'findings':>9}{'n':>6}{'1':>12}{'n':>12}{'4n':>12}  growth")
    for name, kind in kinds().items():
        if options.kinds and name not in options.kinds:
            continue
        grown = growth(kind, rules, seconds if options.seconds else calls, options.size)
        found[name] = int(grown.many)
        findings = len(check(kind.text(grown.size), rules).findings)
        figures = "".join(
            f"{figure:12.3f}" if options.seconds else f"{int(figure):12}"
            for figure in (grown.one, grown.some, grown.many)
        )
        mark = "  <--" if grown.factor > LIMIT else ""
        print(f"{name:36}{findings:9}{grown.size:6}{figures}{grown.factor:8.2f}{mark}", flush=True)
    if options.store:
        STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def our_rules() -> tuple[Rule, ...]:
    """Those of our pack, whatever else is installed."""
    modules = (
        importlib.import_module(f"devlint_rules.{info.name}")
        for info in pkgutil.iter_modules(devlint_rules.__path__)
    )
    return tuple(module.RULE for module in modules if hasattr(module, "RULE"))


if __name__ == "__main__":
    main()
