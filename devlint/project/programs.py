"""The programs of a project: what they choose for all of their files, and what they leave open.

The default device belongs to the process: whoever chooses it does so for all that runs there.

    launcher.py     def run(main):
                        torch.set_default_tensor_type("torch.cuda.FloatTensor")
                        main()
    train.py        from launcher import run
                    import net             # `torch.zeros(3)` in net.py is made on CUDA
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

from devlint.project.import_graph import ImportGraph, Modules
from devlint.project.origins import means_its_own
from devlint.project.source import SourceError, read
from devlint.project.uses import lines_with, uses_in

# What makes tensors elsewhere than on the host, where nobody says where.
SETS_DEFAULT = re.compile(
    rb"^[ \t]*torch\.set_default_(?:tensor_type\((?:[^()]{0,80}(?:cuda|gpu|device)|\s*\w+\s*\))"
    rb"|device\((?![\"']cpu|None|torch\.device\([\"']cpu))",
    re.M,
)
# Whoever runs it may choose the host: an option, or another branch than the one with a card.
_OFFERS_HOST = re.compile(
    rb"\b(?:use|no)_?(?:cuda|gpu)\b|--(?:\w*[-_]?device|cpu|no[-_]?cuda|use[-_]?(?:cuda|gpu))\b"
    rb"|(?:\belse|\bor) ?(?:torch\.)?(?:device\()?[\"']cpu[\"']"
    rb"|\bdevice: ?[\w. |\[\]]+ ?= ?[\"']cpu[\"']"
    rb"|(?:cuda|gpu)\w* ?= ?(?:torch\.)?cuda\.is_available"
)
_CHOOSING = (b"cuda", b"gpu", b"device", b"cpu")  # one of them stands in such a line
_IF_AVAILABLE = re.compile(  # but for code that leaves where there is none
    rb"(?<!dist)(?<!distributed)\.is_available\(\)"
    rb"(?!:\s(?:[^\n]*\n)?\s*(?:[^\n]*\n\s*)?(?:raise\b|(?:sys\.)?exit\())[^\n]*\n?[^\n]*(?:\.cuda\(|\bdevice|[\"']cuda)"
)
# The same of a switch by a plain name, and of a condition on one that moves something:
# `add_argument("--gpu", action="store_true")`, `if args.cuda:`.
_SWITCH = re.compile(
    rb"[\"']--?(?:cuda|gpu)[\"'][^()]{0,200}?(?:\bstore_|\bBoolean|bool\b|= *(?:True|False)\b)"
    rb"|\bif (?:\w+\.)*(?:cuda|gpu)(?: >=? -?[01])?:\s[^\n]*\.cuda\("
)
_OWN_NAME = re.compile(rb"[.\"' -](?:cuda|gpu)[\"' :]")
_COMMENT = re.compile(rb"#[^\n]*")
# Python puts the directory of the file that it runs first on its search path.
MAIN = re.compile(rb"^if __name__ == [\"']__main__[\"']", re.M)


class Programs:
    """What is run of a project: the files with a main part, and those that no other one imports.

    A test is no program: it chooses for itself.
    """

    def __init__(self, project: Modules) -> None:
        self._root = project.root
        self.graph = ImportGraph(project)
        self._chosen: dict[Path, bool] = {}
        self._open: dict[Path, bool] = {}
        self._offering: dict[Path, bool] = {}

    def choose_default_device(self, file: Path) -> bool:
        """Whether a file runs under a default device which is no host, chosen in another one: by a
        module that one of its programs imports for that, or by each of the programs."""
        known = self._chosen.get(file)
        if known is None:
            others = self._choosing - {file}
            known = self._chosen[file] = bool(others) and self._run_with(file, others)
        return known

    def offer_host(self, file: Path) -> bool:
        """Whether somebody who runs a file, by importing it, however far away, leaves the choice
        of the host: it is for more than CUDA. What the file imports itself says nothing of it."""
        known = self._open.get(file)
        if known is None:
            above = (other for other in self.graph.reaching(file) if may_set_default(other.name))
            known = self._open[file] = any(map(self._offers_host, above))
        return known

    def import_it(self, file: Path) -> bool:
        """Whether another file, which is no test, imports a file."""
        others = self.graph.importers_of(file) - {file}
        return any(may_set_default(each.name) and not self._is_of_tests(each) for each in others)

    def import_by_name(self, file: Path, name: str) -> bool:
        """Whether a file that imports a file, or a package that does, uses a name of it."""
        found = self.importers_of(file)
        word = name.encode()
        return any(
            not means_its_own(text, word) and any(True for _ in uses_in(each, text, word, True))
            for each, text in ((each, _content(each)) for each in found)
            if word in text
        )

    def importers_of(self, file: Path) -> set[Path]:
        """The files that import a file, or a package that does."""
        found: set[Path] = set()
        waiting = [file]
        while waiting:
            each = waiting.pop()
            if each == file or each.name == "__init__.py":
                new = self.graph.importers_of(each) - found - {file}
                found |= new
                waiting += new
        return found

    def _offers_host(self, file: Path) -> bool:
        known = self._offering.get(file)
        if known is None:
            known = self._offering[file] = offers_host(_content(file))
        return known

    def _run_with(self, file: Path, others: frozenset[Path]) -> bool:
        running = [reached for reached in self._reached if file in reached]
        modules = {other for other in others if not self._is_program(other)}
        return any(reached & modules for reached in running) or (
            bool(running) and all(reached & others for reached in running)
        )

    @cached_property
    def _choosing(self) -> frozenset[Path]:
        """The files that choose a default device for whoever runs with them."""
        found = (
            (file, _content(file))
            for file in self.graph.files()
            if may_set_default(file.name) and not self._is_of_tests(file)
        )
        return frozenset(
            file for file, text in found if b"set_default_" in text and SETS_DEFAULT.search(text)
        )

    def _is_of_tests(self, file: Path) -> bool:
        """What lies among tests is there for them."""
        return not {"test", "tests"}.isdisjoint(file.relative_to(self._root).parts)

    @cached_property
    def _reached(self) -> list[frozenset[Path]]:
        """By program: the files that run there."""
        return [
            self.graph.reached_by(file) for file in self.graph.files() if self._is_program(file)
        ]

    def _is_program(self, file: Path) -> bool:
        if not may_set_default(file.name):
            return False
        text = _content(file)
        return is_script(text) or not (file.stem == "__init__" or self.graph.importers_of(file))


def offers_host(text: bytes) -> bool:
    """Whether whoever runs a file may choose the host, as its code says."""
    choosing = without_comments(b"\n".join(lines_with(_CHOOSING, text)))
    if _OFFERS_HOST.search(choosing) is not None:
        return True
    said = [_SWITCH] if _OWN_NAME.search(choosing) is not None else []
    said += [_IF_AVAILABLE] if b".is_available()" in text else []
    code = without_comments(text) if said else b""
    return any(pattern.search(code) is not None for pattern in said)


def without_comments(text: bytes) -> bytes:
    return _COMMENT.sub(b"", text)


def is_script(text: bytes) -> bool:
    return b"__main__" in text and MAIN.search(text) is not None


def may_set_default(name: str) -> bool:
    """Whether a file of that name may choose a default device for others."""
    return name.endswith(".py") and not name.startswith("test_")


def _content(file: Path) -> bytes:
    try:
        return read(file)
    except SourceError:
        return b""  # reported where the file itself is checked
