"""Tests written as documents: prose with programs, and in them what devlint is to say.

A document is Markdown. What stands under one heading is one project: each block of Python is a file
of it (`# name.py` as its first line names it, else it is `program.py`), a block of TOML is its
`devlint.toml`; without one the rules of portability (DEV5) are off. What is expected stands in
comments of the programs:

    reveal_device(x)  # revealed: tensor on cuda
    x + y  # error: [DEV101] "needs one device"

and in blocks of a console, whose first line is a command of devlint and whose rest is what it
prints. All of it must be so, and no finding may come that is not expected. A comment on a line of
its own is about the next line of code.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from devlint import engine
from devlint.cli import main
from devlint.config import find_config
from devlint.findings import Finding
from devlint.reveal_rule import RULE as REVEALED
from devlint.rules import load_rules

PLAIN = 'ignore = ["DEV5"]\n'  # the programs are for CUDA, and short

_HEADING = re.compile(r"^#+ (.+)$")
_FENCE = re.compile(r"^```(\w*)$")
_NAME = re.compile(r"# ([\w/]+\.py)\n")
_COMMENT = re.compile(
    r"\#\ (?:revealed:\ (?P<words>.+?)"
    r"|(?P<severity>error|warning|performance):\ \[(?P<rule>[A-Z]+\d+)\]"
    r"(?:\ \"(?P<part>[^\"]+)\")?)"
    r"(?=\s+\#\ |\s*$)",
    re.VERBOSE,
)
_ANSWER = re.compile(r"`.+?`: (?P<words>.+)|of `.+` (?P<unknown>no device is known)")


@dataclass(frozen=True)
class Block:
    """One block of code: its language, its text, and the line of the document it begins on."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Section:
    """One heading with its blocks, in order."""

    title: str
    blocks: tuple[Block, ...]

    def files(self) -> dict[str, str]:
        """The project: texts by the names of their files."""
        found = {"devlint.toml": PLAIN}
        for block in self.blocks:
            if block.language == "toml":
                found["devlint.toml"] = block.text
            elif block.language == "python":
                named = _NAME.match(block.text)
                found[named[1] if named else "program.py"] = block.text
        return found


@dataclass(frozen=True, order=True)
class Expected:
    """What is to be said of one line: an answer to `reveal_device`, or a finding."""

    path: str
    line: int
    rule: str
    severity: str
    words: str  # of an answer all, of a finding a part

    def is_met_by(self, finding: Finding) -> bool:
        place = finding.location
        if (place.path, place.line, finding.rule) != (self.path, self.line, self.rule):
            return False
        if finding.rule == REVEALED.code:
            return answer(finding) == self.words
        return finding.severity.value == self.severity and self.words in finding.message

    def __str__(self) -> str:
        if self.rule == REVEALED.code:
            return f"{self.path}:{self.line}: revealed: {self.words}"
        return f"{self.path}:{self.line}: {self.severity}: [{self.rule}] {self.words}".rstrip()


def sections(document: str) -> list[Section]:
    """The sections of a document that have programs."""
    found: list[tuple[str, list[Block]]] = [("", [])]
    lines = iter(enumerate(document.splitlines(), 1))
    for number, line in lines:
        if heading := _HEADING.match(line):
            found.append((heading[1], []))
        elif fence := _FENCE.match(line):
            inside = []
            for _, each in lines:
                if each == "```":
                    break
                inside.append(f"{each}\n")
            found[-1][1].append(Block(fence[1], "".join(inside), number + 1))
    return [
        Section(title, tuple(blocks))
        for title, blocks in found
        if any(block.language == "python" for block in blocks)
    ]


def expected(path: str, text: str) -> Iterator[Expected]:
    """What the comments of a program say of its lines."""
    waiting: list[re.Match[str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        said = list(_COMMENT.finditer(line))
        if said and not line[: said[0].start()].strip():
            waiting += said
            continue
        for each in [*waiting, *said]:
            if each["words"]:
                severity = REVEALED.severity.value
                yield Expected(path, number, REVEALED.code, severity, each["words"])
            else:
                yield Expected(path, number, each["rule"], each["severity"], each["part"] or "")
        if line.strip():
            waiting = []


def answer(finding: Finding) -> str:
    """The answer to `reveal_device`, without the name of what was asked for."""
    match = _ANSWER.fullmatch(finding.message)
    return (match["words"] or match["unknown"]) if match else finding.message


def complaints(section: Section, folder: Path) -> Iterator[str]:
    """In what a section is not true; its project is written into the folder."""
    files = section.files()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    config = find_config(folder)
    report = engine.check([folder], config, load_rules(config.rule_files()))
    yield from (f"{error.path}:{error.line}: {error.message}" for error in report.errors)
    left = list(report.findings)
    for name, text in files.items():
        for each in expected(name, text) if name.endswith(".py") else ():
            met = next((finding for finding in left if each.is_met_by(finding)), None)
            if met is None:
                yield f"not said: {each}"
            else:
                left.remove(met)
    for finding in left:
        place = finding.location
        words = answer(finding) if finding.rule == REVEALED.code else finding.message
        yield f"not expected: {place.path}:{place.line}: {finding.rule}: {words}"
    for block in section.blocks:
        if block.language == "console":
            yield from _other_output(block, folder)


def _other_output(block: Block, folder: Path) -> Iterator[str]:
    prompt, _, wanted = block.text.partition("\n")
    words = shlex.split(prompt)
    if words[:2] != ["$", "devlint"]:
        yield f"line {block.line}: not a command of devlint: {prompt}"
        return
    with _inside(folder):
        printed = CliRunner().invoke(main, words[2:]).output
    if printed != wanted:
        yield f"line {block.line}: `{prompt[2:]}` prints\n{printed}"


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
