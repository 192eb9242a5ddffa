"""Copies to the host: which of them wait until they have landed."""

from __future__ import annotations

from devlint.inference.domain.host import Const
from devlint.inference.domain.placement import CPU, Placement
from devlint.inference.domain.value import Value
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.traffic import HostCopies


def wait_for_copies(frame: Frame, name: str, place: Placement, arguments: Arguments) -> None:
    """A blocking copy to the host of what is perhaps on an accelerator: whatever was copied before
    it, on the same stream, has landed as well."""
    if place == CPU and not is_non_blocking(name, arguments):
        frame.kept(HostCopies).landing.clear()


def is_non_blocking(name: str, arguments: Arguments) -> bool:
    if name != "to":
        return _is_true(arguments.get(1, "non_blocking"))
    given = arguments.keywords.get("non_blocking")
    # `t.to(device, dtype, True)`, `t.to(other, True)`
    return _is_true(given[0] if given is not None else None) or any(
        _is_true(value) for value, _ in arguments.positional[1:3]
    )


def _is_true(value: Value | None) -> bool:
    return type(value) is Const and value.value is True
