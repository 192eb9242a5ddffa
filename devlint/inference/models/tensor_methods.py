"""Methods of a tensor.

Some change it in place: then its name holds something else from then on.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import FALSE, HOST, TRUE, Const, DeviceValue, Host
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import CPU, Device
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import (
    COPYING,
    EMPTY,
    GRAD,
    INHERITED,
    MATRIX,
    MAYBE_SCALAR,
    PAGEABLE,
    PARAMETER,
    PINNED,
    SCALAR,
    SHAPED,
    VECTOR,
    Tensor,
)
from devlint.inference.domain.value import UNKNOWN, Value
from devlint.inference.facts import MeetingKind
from devlint.inference.models import generators, gradients
from devlint.inference.models.call_results import shape_result
from devlint.inference.models.devices import is_dtype
from devlint.inference.models.factory_calls import factory_result
from devlint.inference.models.factory_shapes import SHAPES, traits_of_data
from devlint.inference.models.library_functions import syncs_for
from devlint.inference.models.moves.tensors import move_of_tensor, type_as, type_of_tensor
from devlint.inference.models.operands import (
    index_nodes,
    mark_operands,
    operands_of,
    without_zero_dim,
)
from devlint.inference.models.places import on_accelerator
from devlint.inference.models.sizes import show_numbers
from devlint.inference.models.unification.exemptions import written
from devlint.inference.models.unification.meetings import meet
from devlint.inference.models.unknown_methods import (
    as_array,
    is_count,
    method_of_unknown,
    tells_tensor,
)
from devlint.inference.program.events import HostReads, HostWaits, PlaceSettled, TensorRead
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.traffic import HostCopies
from devlint.inference.syntax.moved_globals import MOVING_METHODS
from devlint.inference.syntax.text import dotted, receiver_of
from devlint.knowledge import Agreement, Call, Result

# Methods that read no element: a copy to the host is contiguous already, as a rule.
_VIEWS = frozenset(
    {"view", "reshape", "size", "dim", "numel", "squeeze", "unsqueeze", "detach", "expand"}
    | {"permute", "transpose", "flatten", "narrow", "t", "chunk", "split", "is_pinned", "data_ptr"}
    | {"contiguous", "pin_memory"}  # such a copy lands in pinned memory
)


def call_tensor_method(
    frame: Frame, node: cst.Call, tensor: Tensor, name: str, arguments: Arguments
) -> Value:
    """`tensor.name(…)`."""
    if not tells_tensor(frame, tensor, name, arguments):
        return method_of_unknown(frame, node, tensor, name, arguments)
    if name in ("items", "keys", "named_children", "named_parameters"):
        return _pairs(tensor, name)
    if name in MOVING_METHODS:
        return move_of_tensor(frame, node, tensor, name, arguments)
    if tensor.traits & COPYING and name not in _VIEWS:
        frame.emit(TensorRead(node, tensor, receiver_of(node)))
    if name == "copy_":
        copy_without_waiting(frame, node, tensor, arguments)
        frame.emit(PlaceSettled(tensor))  # made to be filled from elsewhere
    found = _by_own_law(frame, node, tensor, name, arguments)
    if found is not None:
        return found
    known = frame.unit.context.knowledge.methods.get(name)
    if known is not None:
        return _known_method(frame, node, tensor, name, known, arguments)
    if tensor.evidence is None:
        return UNKNOWN
    # No method of tensors: what its object is was shown by something that is not it.
    if is_count(name, arguments):
        return HOST
    return method_of_unknown(frame, node, tensor, name, arguments)


def _by_own_law(
    frame: Frame, node: cst.Call, tensor: Tensor, name: str, arguments: Arguments
) -> Value | None:
    """Methods that the knowledge's table does not describe."""
    if name == "type_as":
        return type_as(frame, node, tensor, arguments)
    if name == "type":
        return type_of_tensor(frame, node, tensor, arguments)
    if name in ("numpy", "__array__"):
        return as_array(frame, node, tensor, name, arguments)
    if name in ("requires_grad_", "detach_"):
        wanted = arguments.get(0, "requires_grad") if name == "requires_grad_" else FALSE
        return require_grad(frame, node, tensor, TRUE if wanted is None else wanted)
    if name == "pin_memory":
        is_elsewhere = type(tensor.place) is Device and tensor.place.is_accelerator
        place = tensor.place if is_elsewhere else CPU  # no other can be pinned
        return tensor.with_place(place, tensor.origin, drop=PAGEABLE, add=PINNED)
    if name in ("dim", "numel", "size", "nelement", "ndimension", "stride"):
        return Host(tensor, whole=name in ("size", "stride") and not arguments.positional)
    if name == "get_device":
        return DeviceValue(tensor.place, tensor, number=True)  # its index
    if name in ("apply_", "map_", "map2_"):
        frame.emit(HostReads(node, f".{name}()", tensor, receiver_of(node)))
        return tensor
    if name in ("resize_", "resize_as_") and tensor.traits & EMPTY:
        return resized(frame, node, tensor)
    return _computed(frame, node, tensor, drop=EMPTY) if name == "new" else None


def _known_method(
    frame: Frame, node: cst.Call, tensor: Tensor, name: str, known: Call, arguments: Arguments
) -> Value:
    """A method of the knowledge's table."""
    show_numbers(frame, node, known, arguments)
    is_unplaced = tensor.place is None and not arguments.positional and not arguments.keywords
    if known.sync and syncs_for(known, arguments):
        frame.emit(HostWaits(node, f".{name}()", tensor, receiver_of(node)))
    if known.result is Result.HOST:
        return HOST
    if is_unplaced:
        return Tensor(None, None, 0, tensor.evidence)
    if known.result is Result.NONE:
        return UNKNOWN
    if known.result is Result.LIKE:
        device = arguments.keywords.get("device")
        if device is not None:
            return factory_result(frame, node, name, *device, arguments)
        made = _computed(frame, node, tensor, drop=SHAPES | GRAD | EMPTY)
        return made.with_place(made.place, made.origin, add=traits_of_data(name, arguments))
    if known.random:
        generators.check(frame, node, tensor, arguments)
    writes = known.in_place or (name.endswith("_") and not name.endswith("__"))
    if known.agreement is not Agreement.FREE:
        result = _met(frame, node, tensor, name, known, arguments, writes)
    elif known.in_place or name.endswith("_"):
        writes, result = True, tensor
    else:
        result = _computed(frame, node, tensor, _lost_traits(name, arguments))
    if writes:
        wrote(frame, node)
        return tensor
    return shape_result(frame, node, result, known, arguments)


def _met(
    frame: Frame,
    node: cst.Call,
    tensor: Tensor,
    name: str,
    known: Call,
    arguments: Arguments,
    writes: bool,
) -> Value:
    """The tensor and the operands of its method are brought together."""
    others = operands_of(known, arguments)
    if tensor.is_sure and known.agreement is Agreement.STRICT:
        mark_operands(known, arguments, others)
    subject = written(tensor) if writes else tensor
    return meet(
        frame,
        node,
        f".{name}",
        [(subject, receiver_of(node)), *without_zero_dim(known, arguments, others)],
        known.agreement is Agreement.POINTWISE,
        MeetingKind.OPERATION,
        indices=index_nodes(known, arguments),
    )


def _lost_traits(name: str, arguments: Arguments) -> int:
    """What is known of a tensor, and not of its view or copy."""
    drop = GRAD if name == "detach" else 0
    # `x.view(torch.float32)` reads the same elements as numbers of another kind
    as_dtype = name == "view" and _gives_dtype(arguments)
    if name in ("expand", "repeat", "view", "reshape", "unsqueeze") and not as_dtype:
        drop |= SCALAR | MAYBE_SCALAR | VECTOR | SHAPED
    if name in ("view", "reshape", "squeeze", "flatten", "unbind", "select", "diagonal"):
        drop |= MATRIX
    return drop


def _gives_dtype(arguments: Arguments) -> bool:
    given = arguments.get(0, "dtype")
    return given is not None and is_dtype(given)


def _pairs(tensor: Tensor, name: str) -> Value:
    """What was taken for a tensor is a mapping of names to tensors, or a module."""
    if name == "keys":
        return Sequence(None, HOST, "iterator")
    inner = Tensor(tensor.place, tensor.origin, tensor.traits & ~SCALAR, Evidence())
    return Sequence(None, Sequence([HOST, inner], None, "tuple"), "iterator")


def _computed(frame: Frame, node: cst.CSTNode, tensor: Tensor, drop: int = 0) -> Tensor:
    kept = INHERITED | SCALAR | VECTOR | GRAD | PARAMETER | MAYBE_SCALAR | SHAPED | COPYING
    kept |= EMPTY
    traits = tensor.traits & kept & ~drop
    if traits & PARAMETER:
        traits = (traits & ~PARAMETER) | GRAD & ~drop
    origin = Provenance(StepKind.COMPUTED, node, frame.unit.source, tensor.origin)
    return Tensor(tensor.place, origin, traits, tensor.evidence)


def copy_without_waiting(
    frame: Frame, node: cst.Call, tensor: Tensor, arguments: Arguments
) -> None:
    """`host.copy_(t, non_blocking=True)`: what the host's name holds has not landed yet."""
    source, waits = arguments.get(0, "src"), arguments.get(1, "non_blocking")
    path = dotted(receiver_of(node))
    if not path or type(source) is not Tensor or type(waits) is not Const or not waits.value:
        return
    if tensor.place == CPU and on_accelerator(source) >= 1:
        step = Provenance(
            StepKind.MOVED, node, frame.unit.source, tensor.origin, before=source.place
        )
        frame.state.hold(path, tensor.with_place(tensor.place, step, add=COPYING))
        frame.kept(HostCopies).landing.add(node)


def require_grad(frame: Frame, node: cst.Call, tensor: Tensor, wanted: Value) -> Value:
    """A leaf that requires grad; `x.requires_grad_()` on a line of its own changes `x`."""
    result = gradients.leaf(tensor, wanted)
    path = dotted(receiver_of(node))
    if path:
        frame.state.hold(path, result)
    return result


def resized(frame: Frame, node: cst.Call, tensor: Tensor) -> Value:
    """`buffer.resize_(n)`: what was empty takes part from here on."""
    filled = tensor.with_place(tensor.place, tensor.origin, drop=EMPTY)
    path = dotted(receiver_of(node))
    if path:
        frame.state.env[path] = filled
        frame.state.note_part(path)
    wrote(frame, node)
    return filled


def wrote(frame: Frame, node: cst.Call) -> None:
    """An in-place method changes what its receiver's name holds."""
    path = dotted(receiver_of(node))
    if path:
        frame.touch(path)
