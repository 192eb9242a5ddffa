"""Operands that contradict: recorded, and refused unless every guard only wants to know."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch

from runtime_guard.recording import observers
from runtime_guard.recording.events import Kind, hint_at
from runtime_guard.recording.explanation import explain_operands, rule_for, with_explanation

__tracebackhide__ = True  # pytest shows the user's frames only


def refuse(
    sentence: str,
    what: str,
    tensors: Sequence[torch.Tensor],
    names: Sequence[str],
    *,
    between: tuple[torch.device, torch.device],
    error: type[Exception] = RuntimeError,
    indexing: bool = False,
    rule: str = "",
) -> None:
    """Record that ``what`` met ``tensors``, its arguments ``names``, on two devices, and raise or
    warn as the guards wish.

    ``sentence`` is PyTorch's; ``rule`` the one of ``devlint check``, where the operands do not say.
    """
    explanation = explain_operands(tensors, names)
    rule = rule or rule_for(tensors)
    if indexing and rule in ("DEV101", "DEV102"):
        rule = "DEV104"
    observers.problem(
        Kind.MIXED,
        what,
        f"{sentence} {explanation} {hint_at(rule)}",
        source=str(between[0]),
        target=str(between[1]),
        operands=tensors,
    )
    policy = observers.mixed_policy()
    if policy == "raise":
        raise error(with_explanation(sentence, explanation, rule))
    if policy == "warn":
        warnings.warn(
            with_explanation(sentence, explanation, rule),
            observers.DevicePolicyWarning,
            stacklevel=2,
        )
