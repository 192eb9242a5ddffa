"""The installed package that the started program is: whose lines a report names where none of the
user's own files runs.

    python -m app.train        app
    app-train                  app, by the entry point of that console script
    python train.py            none

It is not the package of the outermost frame: between the start and the program's code there may be
that of what reads its command line.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
import sysconfig
from typing import Any

_program: str | None = None
"""Its name, empty for none, None until somebody asks."""


def started(target: str, *, as_module: bool) -> None:
    """A program is run in this process: a module, or a script's file (or code)."""
    global _program
    _program = target.partition(".")[0] if as_module else _package_of_script(target)


def package_of_program() -> str:
    """The top-level package or module of the program; empty where it is not an installed one."""
    global _program
    if _program is None:
        main: Any = sys.modules.get("__main__")
        spec = getattr(main, "__spec__", None)
        if spec is not None:
            _program = spec.name.partition(".")[0]
        else:
            _program = _package_of_script(getattr(main, "__file__", None) or "")
    return _program


def _package_of_script(path: str) -> str:
    """The package of a console script's entry point."""
    scripts = os.path.realpath(sysconfig.get_path("scripts"))
    folder, name = os.path.split(path)
    if not folder or os.path.realpath(folder) != scripts:
        return ""
    name = name.removesuffix(".exe").removesuffix("-script.py")
    found = importlib.metadata.entry_points(group="console_scripts", name=name)
    return next((entry.module.partition(".")[0] for entry in found), "")
