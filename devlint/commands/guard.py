"""The runtime guard's modules, for the commands that run a program."""

from __future__ import annotations

import importlib.util
from typing import Any

from devlint.commands.options import Refusal


def guard(module: str) -> Any:
    """A module of the runtime guard, which needs torch."""
    if importlib.util.find_spec("torch") is None:
        raise Refusal("this command needs torch: pip install 'devlint[guard]'")
    return importlib.import_module(f"runtime_guard.{module}")
