"""Observations: what a meeting shows of its operands, and what collectors learn from it."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.placement import CPU, Device, Variable
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import COPYING, EMPTY, KEPT, MAYBE_SCALAR, SCALAR, Tensor
from devlint.inference.domain.value import Unknown, Value
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.places import was_moved
from devlint.inference.models.unification.authority import Authority, authority
from devlint.inference.models.unification.exemptions import is_on_cpu
from devlint.inference.models.unification.operands import Candidate, Operation
from devlint.inference.program.accelerator_notes import Mentions
from devlint.inference.program.events import KeptMeets, TensorRead
from devlint.inference.program.frames import Frame
from devlint.inference.program.unplaced_factories import UnplacedFactories, UnplacedFactory
from devlint.inference.syntax.text import dotted


def tell(
    frame: Frame,
    node: cst.CSTNode,
    operands: list[tuple[Value, cst.CSTNode]],
    candidates: list[Candidate],
) -> None:
    """Tell the collectors of the operands."""
    for tensor, expression, _ in candidates:
        if tensor.traits & COPYING:
            frame.emit(TensorRead(node, tensor, expression))
    if frame.in_module and not frame.constructing:
        for tensor, expression, _ in candidates:
            if tensor.traits & KEPT and _meets_what_is_elsewhere(
                tensor, expression, operands, candidates
            ):
                frame.emit(KeptMeets(tensor, node))
    if len(candidates) > 1 and frame.unit.kept(Mentions).converts:
        frame.unit.kept(Mentions).met([each.tensor for each in candidates])


def _meets_what_is_elsewhere(
    kept: Tensor,
    node: cst.CSTNode,
    operands: list[tuple[Value, cst.CSTNode]],
    candidates: list[Candidate],
) -> bool:
    """A plain attribute that a module keeps on the host meets what its method is given or computes,
    of which no more is known: `self.decode(boxes, self.priors)`."""
    if kept.traits & (SCALAR | MAYBE_SCALAR | EMPTY) or not kept.is_sure:
        return False
    if is_on_cpu(kept):
        return any(_is_open(value, other) for value, other in operands if other is not node)
    if authority(kept) is not Authority.CHOSEN or type(kept.place) is not Variable:
        return False
    others = (each.tensor for each in candidates if each.tensor.is_sure)
    return any(authority(other) in (Authority.MODULE, Authority.INPUT) for other in others)


def _is_open(value: Value, node: cst.CSTNode) -> bool:
    """A value that was handed in, or computed here, and may be a tensor anywhere."""
    if dotted(node).startswith("self."):
        return False
    if type(value) is Unknown:
        return True
    return any(
        not isinstance(t.place, Device)
        and not (t.evidence is not None and (t.evidence.is_host or t.evidence.hints.number))
        for t in tensors_in(value)
    )


def show_inputs(candidates: list[Candidate]) -> None:
    """What `forward` is given, and computes with beside a tensor, is one: `x - self.mean`."""
    if not any(each.tensor.is_sure for each in candidates):
        return
    for tensor, _, _ in candidates:
        evidence, origin = tensor.evidence, tensor.origin
        if evidence is None or evidence.hints.number or origin is None:
            continue
        if origin.root.kind is StepKind.PARAMETER and _picked(origin):
            evidence.mark_tensor()


def _picked(origin: Provenance) -> bool:
    """An input, or a part of it: `x`, `x[:n]`."""
    return all(
        step.kind is StepKind.PARAMETER or isinstance(step.node, cst.Subscript)
        for step in origin.chain()
    )


def note_factories(frame: Frame, operation: Operation, candidates: list[Candidate]) -> None:
    """Keep what tensors meet that factories made on the default device."""
    unplaced = frame.kept(UnplacedFactories).by_call
    if not unplaced:
        return
    tensors = [each.tensor for each in candidates]
    if not operation.indirect:
        show_companions(frame, tensors)
    for tensor in tensors:
        factory = unplaced.get(tensor.origin.root.node) if tensor.origin is not None else None
        if factory is not None:
            _note_company(factory, tensors)


def show_companions(frame: Frame, tensors: list[Tensor]) -> None:
    """What meets a tensor that torch made with its shape is one: `noise = torch.randn(x.shape)`; so
    is, in a file without NumPy, what lent it one of its sizes: `torch.zeros(x.shape[0], 3) + x`.
    What the function itself moves somewhere may come from anywhere."""
    unplaced = frame.kept(UnplacedFactories).by_call
    for made in tensors if unplaced else ():
        factory = unplaced.get(made.origin.root.node) if made.origin is not None else None
        if factory is None or (not factory.whole and frame.unit.knows_arrays):
            continue
        lender = factory.sizes
        for tensor in tensors:
            evidence = tensor.evidence
            if tensor.place is not lender.place or evidence is None or evidence.was_moved:
                continue
            if factory.whole or evidence is lender.evidence:
                evidence.mark_tensor()


def _note_company(factory: UnplacedFactory, tensors: list[Tensor]) -> None:
    factory.used = True
    factory.joined = factory.joined or any(_is_companion(t, factory.sizes) for t in tensors)
    factory.settled = factory.settled or any(map(_is_meant_for_host, tensors))
    factory.peers.update(t.origin.root.node for t in tensors if t.origin is not None)


def _is_meant_for_host(tensor: Tensor) -> bool:
    """It was brought there, or came to be there otherwise than by a factory: as lengths do, that
    are always returned on the host."""
    if tensor.place != CPU or tensor.origin is None:
        return False
    return was_moved(tensor) or tensor.origin.root.kind is not StepKind.CREATED


def _is_companion(tensor: Tensor, sizes: Tensor) -> bool:
    """A tensor that is somewhere; or what is where the sizes come from, if it is a tensor."""
    if tensor.place is None:
        return tensor.is_sure
    return tensor.place is sizes.place and not tensor.is_sure
