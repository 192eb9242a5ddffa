"""Collectives: process groups that take tensors of their accelerators only."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.domain.placement import CPU, CUDA
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import DEFAULT, INDIRECT, Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import MeetingKind
from devlint.inference.models.unification.drafts import note
from devlint.inference.program.assumption_sites import of_value
from devlint.inference.program.frames import Frame


def uses_nccl(frame: Frame) -> bool:
    """The file names NCCL for its process groups, and no backend that takes host tensors."""
    text = frame.unit.source.text
    return holds("nccl-backend", text) and not holds("host-backend", text)


def check_collective(
    frame: Frame, node: cst.Call, name: str, values: list[tuple[Value, cst.CSTNode]]
) -> None:
    """NCCL refuses host tensors (torch.distributed, "Backends")."""
    said = "an NCCL group takes tensors of its accelerators only"
    for value, argument in values:
        for tensor in alternatives(value):
            if type(tensor) is not Tensor or tensor.traits & INDIRECT:
                continue
            if tensor.place == CPU and tensor.is_sure:
                assumed: Assumptions = ()
                if not tensor.traits & DEFAULT:
                    message = "{} was put on the host, and not for what it meets here"
                    kind_of = AssumptionKind.EXPLICIT_HOST_IS_MEANT_ELSEWHERE
                    assumed = (of_value(frame, kind_of, tensor, message),)
                group = Tensor(CUDA, frame.origin(StepKind.COMPUTED, node.func, None, said))
                kind = MeetingKind.OPERATION
                note(frame, node, kind, name, (tensor, argument), (group, node.func), assumed)
