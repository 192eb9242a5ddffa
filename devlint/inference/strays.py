"""Values on the current accelerator that meet one whose device the caller chose.

A bare `.cuda()` behind `if x.is_cuda` is right on one card only: the current card need not be the
one that `x` is on. Behind a flag of the configuration, whoever sets it means the current card for
everything. Where no condition guards the `.cuda()`, that is said of the mention itself.
"""

from __future__ import annotations

import re

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.placement import Device, Variable, VariableKind
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.frame import Frame
from devlint.inference.text import code, parts

_API = re.compile(r"\btorch\.\w+\.\w+")  # `torch.cuda.is_available`
_RIGID = (VariableKind.INPUT, VariableKind.MODULE)


def strays(frame: Frame, known: Tensor, variable: Tensor) -> int:
    """How sure it is that a value made for the current accelerator misses a rigid one: as in
    `meetings.contradiction`."""
    place, other = known.place, variable.place
    if type(place) is not Device or place.type != "cuda" or place.index is not None:
        return -1
    if type(other) is not Variable or other.kind not in _RIGID:
        return -1
    mentions = frame.unit.mentions
    if frame.function is None or mentions.is_script or mentions.meant or known.origin is None:
        return -1
    if known.origin.root.kind is not StepKind.CREATED:
        return -1  # it came from the caller, as the other did
    for step in known.origin.chain():
        noted = mentions.notes.get(step.node)
        if noted is not None:
            if not noted.bare or not noted.guarded or mentions.named(noted.function):
                return -1
            around = [] if noted.function is None else _tests_around(noted.function.node, step.node)
            if any(_is_flag(test) for test in around):
                return 0
            # What is computed with it is where it is: one finding for all that comes of it.
            first = mentions.strayed.setdefault(known.origin.root.node, other)
            return 1 if first is other else -1
        if step.kind is StepKind.MOVED:
            return -1  # to a device that a variable holds
    return -1


def _is_flag(test: cst.CSTNode) -> bool:
    asked = _API.sub("", code(test))
    return holds("accelerator-word", asked) and not holds("device-question", asked)


def _tests_around(block: cst.CSTNode, node: cst.CSTNode) -> list[cst.CSTNode]:
    """The conditions in a block under which a node in it runs."""
    inside: list[tuple[cst.CSTNode, list[cst.CSTNode]]] = [(block, [])]
    for each, tests in inside:  # grows on the way
        if each is node:
            return tests
        own: list[cst.CSTNode] = [each.test] if isinstance(each, (cst.If, cst.IfExp)) else []
        inside += [(part, tests + own) for part in parts(each)]
    return []
