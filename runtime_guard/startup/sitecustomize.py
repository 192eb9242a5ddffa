"""The start of a Python program whose parent process is on a virtual machine.

Python imports a module of this name by itself.  Nothing of devlint or torch is imported unless
the program imports torch; then it goes on to the parent's machine.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_HERE = os.path.dirname(os.path.abspath(__file__))


class _AfterImport(MetaPathFinder):
    """Calls a function when a module has been imported.

    A program may import one of ours first, which imports torch: then the function is called when
    ours is there, which the function needs.
    """

    def __init__(self, name: str, call: Callable[[], None]) -> None:
        self.name = name
        self.call = call
        self.begun = 0
        """Modules of ours whose import has begun and is not over."""
        self.found = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module as it is found without us, and a loader that calls us behind it."""
        ours = fullname.startswith("runtime_guard.")
        if fullname != self.name and not ours:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if ours:
            sys.meta_path.insert(0, self)
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            self.begun += ours
            try:
                run(module)
            finally:
                self.begun -= ours
            self.found = self.found or not ours
            if self.found and not self.begun:
                self.found = False
                self.call()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _join_the_machine() -> None:
    try:
        children = importlib.import_module("runtime_guard.commands.children")
    except ImportError:  # an interpreter that devlint is not installed for
        return
    children.join()


def _run_the_next() -> None:
    """A ``sitecustomize`` of the user's own, which this one hides."""
    spec = PathFinder.find_spec("sitecustomize", [p for p in sys.path if p != _HERE])
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("DEVLINT_VIRTUAL_DEVICES") or os.environ.get("DEVLINT_EVIDENCE"):
    sys.meta_path.insert(0, _AfterImport("torch", _join_the_machine))
if __name__ == "sitecustomize":
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    _run_the_next()
