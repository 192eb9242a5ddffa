"""Moved parameters: what a function demands of one that it moves itself, on another path than this.

    def apply(self, x):
        if self.tiled:
            return self.net(crop(x).to(self.device))
        return self.net(x)      # a caller's tensor of the host fails here

Where it moves the parameter on any path, it needs it nowhere, but for paths that an option chooses
instead. A test of the tensor itself, or of devices, is no such option: it asks whether the tensor
is there already.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.path_conditions import Predicate, contrary
from devlint.inference.domain.tensors import Tensor
from devlint.inference.program.meetings import Pending


def moves(pending: Pending, tensor: Tensor) -> bool:
    """The function moves this operand of a meeting itself, as far as that counts there."""
    effects = tensor.evidence.effects if tensor.evidence is not None else None
    if effects is None or not effects.moved:
        return False
    root = tensor.origin.root.node if tensor.origin is not None else None
    own = root.name.value if isinstance(root, cst.Param) else ""
    choices = [contrary(pending.when, way) for way in effects.ways]
    return not (own and choices and all(_is_option(choice, own) for choice in choices))


def _is_option(choice: Predicate | None, own: str) -> bool:
    """A test that has to do neither with the parameter nor with devices."""
    if choice is None or not choice.names:
        return False
    names = {part for name in choice.names for part in name.split(".")}
    return own not in names and not holds("device-condition", " ".join(choice.names))
