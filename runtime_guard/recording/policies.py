"""What a guard objects to: which directions, asked for by name or not, from when on, how often.

``parse`` reads the same from ``DEVLINT_POLICY``, for a program that one cannot edit.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from runtime_guard.core.sites import Site

Policy = Literal["raise", "warn", "record"]
DIRECTIONS = ("H2D", "D2H", "D2D")
VARIABLE = "DEVLINT_POLICY"

EXPLICIT = frozenset(
    {
        *(".to", ".cpu", ".cuda", ".xpu", ".mps", ".type_as", ".type", ".numpy", "_to_copy"),
        *("copy_", "_foreach_copy_", "tensor", "as_tensor", "asarray", "item", "tolist"),
        *("backward of a copy", "backward"),
    }
)
"""The operations by which a program says itself that it moves or reads values."""


def is_explicit(what: str) -> bool:
    """Does the program ask by name for the transfer or sync ``what``?"""
    return what in EXPLICIT or what.endswith("synchronize")


def check_policy(name: str, policy: object) -> Policy:
    """``policy`` itself.  Raises ``ValueError`` for what is none."""
    if policy not in ("raise", "warn", "record"):
        raise ValueError(f"{name}={policy!r}: expected 'raise', 'warn' or 'record'")
    return policy


def by_direction(policy: Policy | Mapping[str, Policy]) -> dict[str, Policy]:
    """A policy for transfers, per direction; directions that a mapping leaves out are recorded."""
    if isinstance(policy, str):
        return dict.fromkeys(DIRECTIONS, check_policy("on_transfer", policy))
    unknown = set(policy) - set(DIRECTIONS)
    if unknown:
        raise ValueError(
            f"on_transfer: no direction {sorted(unknown)[0]!r}: {', '.join(DIRECTIONS)}"
        )
    return {d: check_policy("on_transfer", policy.get(d, "record")) for d in DIRECTIONS}


@dataclass
class Gate:
    """Whether it is time to object."""

    implicit_only: bool = False
    """Only to what the program does not ask for by name: printing, ``bool``, host indices."""
    after_steps: int = 0
    """Not before so many steps of an optimizer, or calls of ``guard.step()``: a warm-up."""
    first_only: bool = False
    """Once for each line."""
    steps: int = 0
    _told: set[tuple[str, Site]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if self.after_steps < 0:
            raise ValueError(f"after_steps={self.after_steps}: expected a number of steps")

    def passes(self, what: str, site: Site) -> bool:
        """Is an objection to ``what`` at ``site`` to be heard?"""
        if self.steps < self.after_steps or (self.implicit_only and is_explicit(what)):
            return False
        if not self.first_only:
            return True
        with self._lock:
            known = (what, site) in self._told
            self._told.add((what, site))
        return not known


def parse(text: str) -> dict[str, Any]:
    """``"on_sync=raise, on_transfer=D2H:warn, after_steps=3"`` as arguments of ``DeviceGuard``.

    Raises ``ValueError`` for what it does not understand.
    """
    options: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (word.strip() for word in part.partition("="))
        if name == "on_transfer" and ":" in value:
            direction, _, policy = value.partition(":")
            options.setdefault(name, {})[direction] = check_policy(name, policy)
        elif name in ("on_transfer", "on_sync"):
            options[name] = check_policy(name, value)
        elif name == "after_steps" and value.isdigit():
            options[name] = int(value)
        elif name in ("implicit_only", "first_only") and value in ("", "1", "true"):
            options[name] = True
        elif name == "allow" and value:
            options[name] = tuple(value.split())
        else:
            raise ValueError(
                f"{VARIABLE}: {part!r} is not understood: on_transfer=raise, on_transfer=D2H:warn, "
                "on_sync=warn, after_steps=3, implicit_only, first_only, allow=NAMES"
            )
    if "on_transfer" in options:
        by_direction(options["on_transfer"])
    return options


__all__ = ["Gate", "Policy", "by_direction", "check_policy", "is_explicit", "parse"]
