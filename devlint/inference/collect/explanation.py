"""A value as messages show it: its name, where it is, and the steps that led there."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.placement import CPU
from devlint.inference.domain.provenance import Provenance, Site, Step, StepKind
from devlint.inference.domain.tensors import (
    DEFAULT,
    INDIRECT,
    LOADED,
    MASK,
    PAGEABLE,
    PARAMETER,
    PINNED,
    SCALAR,
    Tensor,
)
from devlint.inference.facts import Operand
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import called_name, dotted, shorten

MAX_STEPS = 5


def operand(frame: Frame, tensor: Tensor, node: cst.CSTNode) -> Operand:
    """The value as facts show it, with its history."""
    traits = tensor.traits
    return Operand(
        name=shorten(node),
        placement=tensor.place,
        site=frame.site(node),
        steps=history(tensor),
        by_default=bool(traits & DEFAULT),
        loaded=bool(traits & LOADED),
        scalar=bool(traits & SCALAR),
        is_parameter=bool(traits & PARAMETER),
        pinned=bool(traits & PINNED),
        pageable=bool(traits & PAGEABLE),
        indirect=bool(traits & INDIRECT),
        converted=tensor.was_converted,
        boolean=bool(traits & MASK) or (tensor.place == CPU and _is_made_boolean(tensor.origin)),
        mixed=is_mixed(tensor.origin),
    )


_TO_NUMBERS = frozenset({"float", "double", "half", "int", "long", "to", "type", "type_as"})


def _is_made_boolean(origin: Provenance | None) -> bool:
    """Its factory was told so, `torch.ones(n, dtype=torch.bool)`, or its last conversion was."""
    for step in origin.chain() if origin is not None else ():
        node = step.node
        name = called_name(node) if isinstance(node, cst.Call) else ""
        if name == "bool":
            return True
        if isinstance(node, cst.Call) and any(_is_dtype_of_masks(arg) for arg in node.args):
            return True
        if name in _TO_NUMBERS:
            return False
    return False


def _is_dtype_of_masks(arg: cst.Arg) -> bool:
    given = arg.keyword is not None and arg.keyword.value == "dtype"
    return given and dotted(arg.value).rpartition(".")[2] == "bool"


def is_mixed(origin: Provenance | None) -> bool:
    """The value was computed, since it was last moved, from several that were made apart."""
    for step in origin.chain() if origin is not None else ():
        if step.kind is StepKind.MOVED:
            return False
        if step.mixes:
            return True
    return False


_VERBS = {
    StepKind.CREATED: "made here",
    StepKind.LOADED: "loaded here",
    StepKind.MOVED: "moved here",
    StepKind.COMPUTED: "computed here",
    StepKind.PARAMETER: "handed in by the caller",
    StepKind.REGISTERED: "registered here, it moves with the module",
    StepKind.ATTRIBUTE: "kept here as a plain attribute",
    StepKind.BRANCH: "in this branch",
    StepKind.DECLARED: "declared here",
}


def history(tensor: Tensor) -> tuple[Step, ...]:
    """The steps that explain a value's place, oldest first: where it began, and what moved it."""
    return steps(tensor.origin)


def steps(origin: Provenance | None) -> tuple[Step, ...]:
    """The same of any provenance."""
    if origin is None:
        return ()
    chain = list(origin.chain())
    telling = [o for o in chain if o.kind is not StepKind.COMPUTED]
    computed = [o for o in chain if o.kind is StepKind.COMPUTED]
    # A computation tells something only as the last step, and only one of them does.
    chosen = (computed[:1] if computed and computed[0] is chain[0] else []) + telling
    chosen = chosen[:1] + chosen[-(MAX_STEPS - 1) :] if len(chosen) > MAX_STEPS else chosen
    return tuple(
        Step(o.kind, Site(o.source, o.node), o.note or _VERBS[o.kind], o.takes_device)
        for o in reversed(chosen)
    )
