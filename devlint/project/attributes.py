"""Attributes that the files of a project give objects of classes which stand in others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from devlint.inference.conventions import is_assigned

_BASES = re.compile(rb"\n[ \t]*class[ \t]+\w+[ \t]*\(([^)]*)\)")
_WORD = re.compile(rb"\w+")
_BY_NAME = rb"\bsetattr\((?!self\b)[^,\n]+,\s*['\"]%b['\"]"
# A class of all modules that takes the place of torch's: `nn.Module = Module`.
_OTHER_MODULE = re.compile(
    rb"\n[ \t]*(?:torch\.)?nn\.Module[ \t]*=(?!=)|\bnn,[ \t]*['\"]Module['\"]"
)


class Attributes:
    """Which attributes the texts of a project give, each looked for when it is first asked for."""

    def __init__(self, texts: Mapping[Path, bytes]) -> None:
        self._texts = {
            file: text for file, text in texts.items() if file.suffix in (".py", ".ipynb")
        }
        self._known: dict[str, frozenset[Path]] = {}

    def gives(self, attribute: str, file: Path) -> bool:
        """Whether another file may give an object of a class of this one an attribute,
        `Class.attribute`."""
        owner, _, name = attribute.partition(".")
        if name not in self._known:
            self._known[name] = frozenset(self._giving(name))
        giving = self._known[name] | self._subclassing.get(owner, frozenset())
        return bool(giving - {file}) or self._replaces_module

    def _giving(self, name: str) -> Iterator[Path]:
        literal = name.encode()
        by_name = re.compile(_BY_NAME % re.escape(literal))
        for file, text in self._texts.items():
            if literal not in text:
                continue
            if by_name.search(text) or is_assigned(text.decode(errors="replace"), name):
                yield file

    @cached_property
    def _replaces_module(self) -> bool:
        return any(b"Module" in t and _OTHER_MODULE.search(t) for t in self._texts.values())

    @cached_property
    def _subclassing(self) -> Mapping[str, frozenset[Path]]:
        """The files with a class that stands on one of this name."""
        found: dict[str, set[Path]] = {}
        for file, text in self._texts.items():
            for bases in _BASES.findall(b"\n" + text):
                for name in _WORD.findall(bases):
                    found.setdefault(name.decode(errors="replace"), set()).add(file)
        return {name: frozenset(files) for name, files in found.items()}
