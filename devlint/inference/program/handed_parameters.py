"""Parameters that were handed to another object, which may register them: then they move with it.

    self.support = nn.Parameter(torch.linspace(0, 1, 3))
    self.net = Net(self.support).cuda()    # `self.support` is on CUDA from here on

A move of a module changes its parameters in place, under whatever name.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.tensors import Tensor
from devlint.inference.program.units import Unit


class HandedParameters:
    """Of one file: where the parameters were made that its code hands to constructors."""

    def __init__(self, unit: Unit) -> None:
        self._made: set[cst.CSTNode] = set()

    def add(self, tensor: Tensor) -> None:
        if tensor.origin is not None:
            self._made.add(tensor.origin.root.node)

    def has(self, tensor: Tensor) -> bool:
        """The tensor is such a parameter, or computed from one."""
        return tensor.origin is not None and tensor.origin.root.node in self._made
