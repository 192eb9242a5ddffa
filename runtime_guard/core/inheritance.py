"""What processes that the program starts are told in their environment, and for how long.

``DEVLINT_VIRTUAL_DEVICES`` is the machine, ``DEVLINT_EVIDENCE`` a folder for what they see; another
folder, on ``PYTHONPATH``, has the ``sitecustomize`` that reads them.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

MACHINE = "DEVLINT_VIRTUAL_DEVICES"
EVIDENCE = "DEVLINT_EVIDENCE"
_STARTUP = str(Path(__file__).resolve().parent.parent / "startup")
_lock = threading.Lock()
_told: dict[str, list[tuple[object, str]]] = {}
_before: dict[str, str | None] = {}


def tell(owner: object, name: str, value: str) -> None:
    """Children find ``value`` under ``name``, until ``owner`` takes it back."""
    with _lock:
        values = _told.setdefault(name, [])
        if not values:
            _before[name] = os.environ.get(name)
        values.append((owner, value))
        os.environ[name] = value
        paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        if _STARTUP not in paths:
            os.environ["PYTHONPATH"] = os.pathsep.join([_STARTUP, *filter(None, paths)])


def take_back(owner: object) -> None:
    """Children are told nothing more by ``owner``; without any owner all is as it was."""
    with _lock:
        for name, values in _told.items():
            kept = [entry for entry in values if entry[0] is not owner]
            if len(kept) == len(values):
                continue
            values[:] = kept
            value = kept[-1][1] if kept else _before.pop(name)
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if any(_told.values()) or any(os.environ.get(name) for name in (MACHINE, EVIDENCE)):
            return
        paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        if _STARTUP in paths:
            paths.remove(_STARTUP)
            os.environ["PYTHONPATH"] = os.pathsep.join(paths)
            if not os.environ["PYTHONPATH"]:
                del os.environ["PYTHONPATH"]
