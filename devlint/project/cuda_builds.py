"""Files that only CUDA runs: they need an extension that the project builds for it.

A module that imports such an extension unguarded, or compiles one when it is imported, or a module
that imports one that does, raises at its import where there is no CUDA; and what only such modules
import is for them alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from devlint.project.import_graph import MOST, ImportGraph, Modules, directories, text_of

_NAMED = r"""\(\s*(?:name\s*=\s*)?["']([\w.]+)["']"""
_FOR_CUDA = re.compile(r"\bCUDAExtension" + _NAMED)
_FOR_HOST = re.compile(r"\b(?:CppExtension|Extension)" + _NAMED)
_SETUP = "setup.py"
_DEPTH = 5  # of directories below the root that may have a setup of their own


# `fused = load("fused", sources=["fused.cpp", "fused_kernel.cu"])`, wherever the file is loaded.
_COMPILED = re.compile(
    rb"^\w+[ \t]*=[ \t]*(?:[\w.]+\.)?load(?:_inline)?"
    rb"\((?:[^()]|\([^()]*\))*?(?:\([^()]*)?\.cu[\"']",
    re.M,
)


def compiles_for_cuda(text: bytes) -> bool:
    """Whether a file compiles kernels of CUDA's when it is imported."""
    return b"cpp_extension" in text and _COMPILED.search(text) is not None


class CudaBuilds:
    """The extensions that a project builds for CUDA, and which of its files need them.

    compiling: the files that compile one when they are imported.
    """

    def __init__(self, project: Modules, compiling: Iterable[Path] = ()) -> None:
        self.project = project
        self._compiling = frozenset(compiling)
        self.graph = ImportGraph(project, unguarded=True)
        self._extensions: frozenset[str] | None = None
        self._needs: dict[Path, bool] = {}

    def needed_by(self, file: Path) -> bool:
        """Whether nothing but CUDA runs a file."""
        is_any = bool(self._compiling or self.extensions())
        return is_any and (self._imports(file) or self._serves_it(file))

    def extensions(self) -> frozenset[str]:
        """The modules that are built for CUDA, and not for the host, too."""
        if self._extensions is None:
            texts = [text_of(file) for file in self._setups()]
            built = {name for text in texts for name in _FOR_CUDA.findall(text)}
            portable = {name for text in texts for name in _FOR_HOST.findall(text)}
            self._extensions = frozenset(built - portable)
        return self._extensions

    def _setups(self) -> Iterator[Path]:
        waiting, seen = [(self.project.root, 0)], 0
        while waiting and seen < MOST:
            directory, depth = waiting.pop(0)
            seen += 1
            if self.project.has_file(directory, _SETUP):
                yield directory / _SETUP
            if depth < _DEPTH:
                waiting += [(inner, depth + 1) for inner in directories(directory)]

    def _imports(self, file: Path) -> bool:
        """The file compiles or imports one of the extensions, or imports what does; a cycle adds
        nothing."""
        known = self._needs.get(file)
        if known is None:
            self._needs[file] = False
            known = self._needs[file] = file in self._compiling or any(
                name in self.extensions() or self._is_needed_by_module(name, file)
                for name in self.graph.names(file)
            )
        return known

    def _is_needed_by_module(self, name: str, file: Path) -> bool:
        found = self.graph.file_of(name, file)
        return found is not None and self._imports(found)

    def _serves_it(self, file: Path, seen: frozenset[Path] = frozenset()) -> bool:
        """All that import it need an extension, or serve what does."""
        importers = self.graph.importers_of(file) - seen
        seen |= importers | {file}
        return bool(importers) and all(
            self._imports(other) or self._serves_it(other, seen) for other in importers
        )
