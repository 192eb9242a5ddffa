"""Contracts at calls: what is given against what a signature declares."""

from __future__ import annotations

import libcst as cst

from devlint.contracts import SELF, SameDevice
from devlint.inference.domain.tensors import Tensor
from devlint.inference.interpreter.contract_checks import as_tensors, check, compare, fixed
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.program.contracts import Signature
from devlint.inference.program.declarations import Function
from devlint.inference.program.frames import Frame
from devlint.inference.summaries.arguments import Binding


def check_call(
    frame: Frame, node: cst.CSTNode, function: Function, signature: Signature, binding: Binding
) -> None:
    """The arguments of a call, against the contracts of its callee."""
    for name, declared in signature.parameters.items():
        given = binding.given.get(name)
        if given is None:
            continue
        said = f"parameter `{name}` of `{function.name}`"
        value, expression = given
        if not isinstance(declared.requirement, SameDevice):
            check(frame, node, said, value, expression, declared)
            continue
        for other in declared.requirement.names:
            known = fixed(signature.parameters, other)
            if known is not None:
                check(frame, node, said, value, expression, known)
                continue
            if other == SELF and function.info is not None:
                own = binding.places.get(function.info.variable)
                place = function.info.variable if own is None else own.place
                anchors = [Tensor(place, own.origin if own is not None else None)]
                anchor_node: cst.CSTNode = node.func if isinstance(node, cst.Call) else node
            elif other in binding.given:
                anchor, anchor_node = binding.given[other]
                anchors = tensors_in(as_tensors(frame, anchor))
            else:
                continue
            for tensor in tensors_in(value):
                for place_of_other in anchors:
                    compare(frame, node, said, tensor, expression, place_of_other, anchor_node)
