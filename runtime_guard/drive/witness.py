"""The script that a user keeps: what was called, on which virtual card, and what it shows.

It runs by itself (``python witness.py``), and is what the verdict was read from.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from runtime_guard.drive.scenario import Scenario

_HEAD = '''\
"""Witness of {rule} at {path}:{line}, written by `devlint confirm --drive`.

{message}

It imports and runs the project's code, on virtual devices: python {name}
"""

import os
import sys

import torch

from runtime_guard import DeviceGuard, virtual_devices

sys.path[:0] = {paths}
{environment}card = "{card}"


def witness() -> None:
    torch.manual_seed(0)
{body}

if __name__ == "__main__":
    with virtual_devices("{machine}"), DeviceGuard({policy}) as guard:
        witness()
    for event in guard.ledger:
        if event.stack:
            times = f"{{event.count}} times"
            print(event.stack[0], event.kind.value, event.what, times, event.detail)
'''


def file_name(finding: Mapping[str, Any]) -> str:
    """``dev102_pkg_net_58.py``"""
    place = re.sub(r"\W+", "_", finding["path"].removesuffix(".py")).strip("_")
    return f"{finding['rule'].lower()}_{place}_{finding['line']}.py"


def script(
    finding: Mapping[str, Any],
    program: str,
    scenario: Scenario,
    paths: Sequence[str],
    keep_going: bool = False,
) -> str:
    """The text of the witness that runs ``program``.

    ``keep_going``: it notes mixed-device operations, and lets them pass.
    """
    body = "".join(
        f"    {line}" if line.strip() else line for line in program.splitlines(keepends=True)
    )
    environment = "".join(
        f"os.environ[{name!r}] = {value!r}\n" for name, value in scenario.environment.items()
    )
    text = _HEAD.format(
        rule=finding["rule"],
        path=_printable(finding["path"]),
        line=finding["line"],
        message="\n".join(textwrap.wrap(_printable(finding.get("message", "")), 96)),
        name=file_name(finding),
        paths=[os.path.abspath(path) for path in paths],
        environment=environment,
        card=scenario.card,
        machine=scenario.machine,
        body=body,
        policy='on_mixed="record"' if keep_going else "",
    )
    return text if environment else text.replace("import os\nimport sys", "import sys", 1)


def _printable(text: str) -> str:
    """Fit for a docstring, whatever the project's names are."""
    plain = "".join(char if char.isprintable() else " " for char in text)
    return plain.replace("\\", "/").replace('"""', "'''")
