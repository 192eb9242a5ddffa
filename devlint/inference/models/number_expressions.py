"""Expressions that are numbers for sure, and no tensors."""

from __future__ import annotations

from functools import partial

import libcst as cst

from devlint.inference.domain.host import Const, External, Host
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import alternatives
from devlint.inference.program.declarations import Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import dotted, every, parts

# They give no tensor whatever they are given; so do all functions of `math`.
_COUNTS = frozenset({"len", "int", "float", "round", "range"})


SIZES = frozenset({"size", "dim", "numel", "stride"})


# What their arguments count: sizes, bounds of counting.
_SIZED = frozenset({"arange", "zeros", "ones", "empty", "eye", "rand", "randn", "randperm"})


class _Sizes:
    """Of the functions of one file."""

    def __init__(self, unit: Unit) -> None:
        self.known: dict[Function, frozenset[str]] = {}


def _sizes_in(function: Function) -> frozenset[str]:
    """The names and attributes that a function gives to a factory for a size: numbers."""
    known = function.unit.kept(_Sizes).known
    if function not in known:
        calls = [c for c in every(function.node, cst.Call) if dotted(c.func).startswith("torch.")]
        sized = [c for c in calls if dotted(c.func)[6:] in _SIZED]
        known[function] = frozenset(
            dotted(each.value) for c in sized for each in c.args if each.keyword is None
        ) - {""}
    return known[function]


def is_number(frame: Frame, node: cst.CSTNode) -> bool:
    """No tensor for sure: literals, sizes, counts, and names of what was shown to be none."""
    if isinstance(node, (cst.Name, cst.Attribute)):
        function, path = frame.function, dotted(node)
        if function is not None and path in _sizes_in(function):
            return True
        if function is not None and function.says("counted-name", path):
            return True
        return all(map(is_host, alternatives(frame.eval(node))))
    if isinstance(node, cst.Call):
        path, _, last = dotted(node.func).rpartition(".")
        return last in SIZES if path not in ("", "math") else path == "math" or last in _COUNTS
    if isinstance(node, cst.Subscript) and isinstance(node.value, cst.Attribute):
        return node.value.attr.value == "shape"
    return all(map(partial(is_number, frame), parts(node)))


def is_host(value: object) -> bool:
    """No tensor, as far as is known."""
    if type(value) is Tensor:
        return value.evidence is not None and value.evidence.is_host
    return type(value) in (Const, Host, External)
