"""Tensors that factories made on the default device, with the shapes of tensors elsewhere."""

from __future__ import annotations

from dataclasses import field

import libcst as cst

from devlint.inference.domain.provenance import Provenance
from devlint.inference.domain.tensors import Tensor
from devlint.records import dataclass


@dataclass(slots=True, eq=False)
class UnplacedFactory:
    """A tensor that a factory made on the default device with the shape of another."""

    node: cst.Call
    tensor: Tensor
    sizes: Tensor
    name: str = ""  # to which the statement assigns it, or what is computed of it
    whole: bool = False  # with its shape, or most of it: `torch.randn(x.shape)`
    stands_in: bool = False  # it takes the other's place: `self.x = torch.zeros(self.x.shape)`
    settled: bool = False  # moved, read by the host, or seen to meet another
    used: bool = False  # something computes with it, or it is handed on
    joined: bool = False  # it meets another tensor, of which it is open where that is
    filled: Provenance | None = None  # what it is while inputs are written into it
    peers: set[cst.CSTNode] = field(default_factory=set)  # the roots of what it was joined with


@dataclass(slots=True, eq=False)
class UnplacedFactories:
    """Those of one function, by the call."""

    by_call: dict[cst.CSTNode, UnplacedFactory] = field(default_factory=dict)
