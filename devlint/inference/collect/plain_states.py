"""States without tensors of a card: what schedulers, samplers and gradient scalers hand out as
their `state_dict()` are numbers, which no load puts anywhere. An optimizer's has tensors.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import dotted


def is_of_numbers(unit: Unit, call: cst.Call) -> bool:
    """`scheduler.load_state_dict(…)`, `scaler.state_dict()`: by its name the object has no tensors
    in its state. A scaler is one of gradients where the file has to do with such, and may be a
    module that scales its input where it has not."""
    owner, _, method = dotted(call.func).rpartition(".")
    if method not in ("state_dict", "load_state_dict"):
        return False
    is_scaler = owner.lower().endswith("scaler") and "GradScaler" in unit.source.text
    return is_scaler or holds("numbers-owner", owner)
