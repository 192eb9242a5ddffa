#!/usr/bin/env python3
"""Print every fact and every finding of all confidences, as sorted text to compare.

`dump_facts.py PATHS...` reads files and directories; each path is a project of its own. A change to
the inference that claims to change no result leaves the output byte for byte:

    python scripts/dump_facts.py fixtures > before.txt

`--findings` leaves the facts out, `--jobs N` uses N processes for several paths.
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "rules")]

import libcst as cst  # noqa: E402

from devlint import engine  # noqa: E402
from devlint.config import Config  # noqa: E402
from devlint.findings import Confidence, Finding  # noqa: E402
from devlint.inference.api import infer_file  # noqa: E402
from devlint.inference.domain.placement import Variable  # noqa: E402
from devlint.inference.facts import Facts, Site  # noqa: E402
from devlint.inference.syntax.text import shorten  # noqa: E402
from devlint.knowledge import Knowledge  # noqa: E402
from devlint.positions import lay_out  # noqa: E402
from devlint.project.imports import Importer  # noqa: E402
from devlint.project.source import ParsedFile  # noqa: E402
from devlint.rules import load_rules  # noqa: E402


class Writer:
    """Writes the facts of one file; a node becomes its place and its text."""

    def __init__(self, parsed: ParsedFile, facts: Facts) -> None:
        self.parsed = parsed
        nodes = [node for value in vars_of(facts) for node in nodes_in(value)]
        self.spans = lay_out(parsed, nodes).spans

    def text(self, value: object) -> str:
        if isinstance(value, Site):
            return self.text(value.node)
        if isinstance(value, cst.CSTNode):
            span = self.spans.get(value)
            place = f"{span.line}:{span.column}" if span is not None else "elsewhere"
            return f"<{place} {shorten(value)}>"
        if isinstance(value, enum.Enum):
            return str(value.value)
        if isinstance(value, Variable):
            return f"{value}:{value.kind.value}"
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            shown = [
                f"{field.name}={self.text(getattr(value, field.name))}"
                for field in dataclasses.fields(value)
                if getattr(value, field.name) not in (None, False, "", ())
            ]
            return f"{type(value).__name__}({', '.join(shown)})"
        if isinstance(value, (tuple, list)):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, (set, frozenset)):
            return f"{{{', '.join(sorted(map(self.text, value)))}}}"
        return repr(value)

    def lines(self, facts: Facts) -> Iterator[str]:
        for field in dataclasses.fields(facts):
            value = getattr(facts, field.name)
            if isinstance(value, (list, set)):
                yield from (f"{self.parsed.path} {self.text(each)}" for each in value)
            elif field.name != "source":
                yield f"{self.parsed.path} {field.name}={self.text(value)}"


def vars_of(facts: Facts) -> list[object]:
    return [
        each
        for field in dataclasses.fields(facts)
        if isinstance(held := getattr(facts, field.name), (list, set))
        for each in held
    ]


def nodes_in(value: object) -> Iterator[cst.CSTNode]:
    """The nodes that a fact mentions."""
    if isinstance(value, Site):
        yield value.node
    elif isinstance(value, cst.CSTNode):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from nodes_in(each)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from nodes_in(getattr(value, field.name))


def finding_line(found: Finding) -> str:
    place = found.location
    trace = "; ".join(f"{r.location.line}: {r.message}" for r in found.related)
    return (
        f"{place.path}:{place.line}:{place.column} {found.rule} {found.severity.value} "
        f"{found.confidence.value} {found.message} | {found.advice} | {trace}"
    )


def dump(path: Path, facts: bool = True) -> str:
    """Everything about one file, or one directory that is a project."""
    path = path.resolve()
    kept: dict[str, set[str]] = {}

    def infer(parsed: ParsedFile, importer: Importer, knowledge: Knowledge) -> Facts:
        found = infer_file(parsed, importer, knowledge)
        if facts:
            lines = (" ".join(line.split()) for line in Writer(parsed, found).lines(found))
            kept[parsed.path] = set(lines)
        return found

    root = path if path.is_dir() else path.parent
    config = Config(root, min_confidence=Confidence.POSSIBLE, respect_gitignore=False)
    report = engine.check([path], config, tuple(load_rules()), infer=infer)
    lines = [f"{error.path}:{error.line} error {error.message}" for error in report.errors]
    lines += [" ".join(finding_line(found).split()) for found in report.findings]
    for found in kept.values():
        lines += found
    return "".join(f"{line}\n" for line in [f"# {path.name}", *sorted(lines)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--findings", action="store_true", help="no facts")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    work = partial(dump, facts=not options.findings)
    if options.jobs == 1:
        for path in options.paths:
            sys.stdout.write(work(path))
        return
    with ProcessPoolExecutor(options.jobs) as pool:
        for text in pool.map(work, options.paths):
            sys.stdout.write(text)


if __name__ == "__main__":
    main()
