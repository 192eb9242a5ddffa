"""Methods of a tensor, and of values that may be tensors."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import FALSE, HOST, TRUE, Const, DeviceValue, Host
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import CPU
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
from devlint.inference.domain.value import UNKNOWN, Value, is_untold
from devlint.inference.facts import MeetingKind
from devlint.inference.models import generators, gradients
from devlint.inference.models.call_results import shape_result
from devlint.inference.models.devices import is_dtype
from devlint.inference.models.factory_calls import factory_result
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.library_functions import syncs_for
from devlint.inference.models.loaders import is_indifferent, is_measure, makes_batch
from devlint.inference.models.module_inputs import (
    check_made,
    leave_inputs_to_callers,
    show_moved,
)
from devlint.inference.models.moves.tensors import move_of_tensor, type_as, type_of_tensor
from devlint.inference.models.operands import (
    index_nodes,
    mark_operands,
    operands_of,
    without_zero_dim,
)
from devlint.inference.models.places import on_accelerator
from devlint.inference.models.sizes import show_numbers
from devlint.inference.models.tokenizers import tokenized
from devlint.inference.models.unification.exemptions import written
from devlint.inference.models.unification.meeting import meet
from devlint.inference.program.events import (
    ArrayTaken,
    HostReads,
    HostWaits,
    PlaceSettled,
    TensorRead,
    UnknownCalled,
)
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.traffic import HostCopies
from devlint.inference.program.values import Instance, Parameters
from devlint.inference.syntax.moved_globals import MOVING_METHODS
from devlint.inference.syntax.text import dotted, receiver_of, shorten
from devlint.knowledge import Agreement, Call, Result

# Methods that only tensors have: whoever calls them says that the receiver is one.
_TELLING = frozenset(
    {"size", "view", "view_as", "unsqueeze", "expand", "permute", "contiguous", "detach", "detach_"}
    | {
        "new_zeros",
        "new_ones",
        "new_tensor",
        "new_full",
        "new_empty",
        "new",
        "type_as",
        "masked_fill",
    }
    | {
        "masked_fill_",
        "scatter_",
        "scatter_add_",
        "index_select",
        "gather",
        "softmax",
        "log_softmax",
    }
    | {"sigmoid", "relu", "unbind", "chunk", "bmm", "matmul", "mm", "expand_as"}
    | {
        "backward",
        "unfold",
        "index_add_",
        "index_fill_",
        "topk",
        "argsort",
        "clamp",
        "clamp_",
        "mul_",
    }
    | {
        "add_",
        "sub_",
        "div_",
        "copy_",
        "zero_",
        "fill_",
        "numel",
        "dim",
        "item",
        "is_floating_point",
    }
    | {"get_device", "pin_memory", "is_pinned", "nonzero", "masked_select", "index_copy_", "long"}
    | {
        "norm",
        "int",
        "bool",
        "exp_",
        "uniform_",
        "normal_",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "addmm",
        "baddbmm",
        "clone",
        "float",
        "double",
        "half",
    }
)


# Methods that read no element.
_VIEWS = frozenset(
    {"view", "reshape", "size", "dim", "numel", "squeeze", "unsqueeze", "detach", "expand"}
    | {"permute", "transpose", "flatten", "narrow", "t", "chunk", "split", "is_pinned", "data_ptr"}
)


# Shared by tensors and arrays, which nobody moves to a device: of a value that was moved they say
# that it is a tensor.
_OF_ARRAYS = frozenset(
    {"argmax", "argmin", "max", "min", "sum", "mean", "std", "var", "prod", "cumsum", "any", "all"}
    | {"dot", "nonzero", "squeeze", "reshape", "flatten", "transpose"}
)

# Methods of modules, dicts, strings, arrays …: whoever calls them on a value of unknown type says
# that it is no tensor, or nothing.
_MODULE_METHODS = frozenset(
    {"parameters", "named_parameters", "state_dict", "load_state_dict", "train", "eval", "modules"}
    | {"named_modules", "children", "buffers", "zero_grad", "register_buffer", "forward", "step"}
)

_HOST_METHODS = frozenset(
    {"append", "extend", "keys", "values", "items", "get", "pop", "update", "split", "join"}
    | {"format", "startswith", "endswith", "lower", "upper", "strip", "encode", "decode"}
    | {"read", "write", "close"}
)
_OF_TEXT = frozenset({"encode", "decode"})  # and methods of models


# Methods that change the type of a module as well.
_OF_MODULES = frozenset({"float", "double", "half"})


def _show_source(tensor: Tensor, evidence: Evidence) -> None:
    """`x.cpu().mean()`: what is a tensor behind a move was one before it."""
    if tensor.origin is not None and tensor.origin.kind is StepKind.MOVED:
        for source in evidence.parents:
            source.mark_tensor()


def _is_count(name: str, arguments: Arguments) -> bool:
    """By its name a method that tensors lack gives a number: `graph.num_edges()`."""
    return holds("count-getter", name) and not any(tensors_in(v) for v, _ in arguments.all())


def call_tensor_method(
    frame: Frame, node: cst.Call, tensor: Tensor, name: str, arguments: Arguments
) -> Value:
    """`tensor.name(…)`."""
    evidence = tensor.evidence
    if evidence is not None:
        leaf = name == "requires_grad_" and not arguments.all()  # models are frozen: `(False)`
        of_array = name in _OF_ARRAYS and evidence.was_moved
        if leaf or name in _TELLING or (name in ("any", "all") and frame.in_module) or of_array:
            evidence.mark_tensor()
            if name not in _OF_MODULES:
                _show_source(tensor, evidence)
        elif not evidence.is_tensor:
            return _method_of_unknown(frame, node, tensor, name, arguments)
    if name in ("items", "keys", "named_children", "named_parameters"):
        return _pairs(tensor, name)
    if name in MOVING_METHODS:
        return move_of_tensor(frame, node, tensor, name, arguments)
    if tensor.traits & COPYING and name not in _VIEWS:
        frame.emit(TensorRead(node, tensor, receiver_of(node)))
    if name == "copy_":
        _copy_without_waiting(frame, node, tensor, arguments)
    if name == "type_as":
        return type_as(frame, node, tensor, arguments)
    if name == "type":
        return type_of_tensor(frame, node, tensor, arguments)
    if name == "copy_":
        frame.emit(PlaceSettled(tensor))  # made to be filled from elsewhere
    if name in ("numpy", "__array__"):
        return _as_array(frame, node, tensor, name, arguments)
    if name in ("requires_grad_", "detach_"):
        wanted = arguments.get(0, "requires_grad") if name == "requires_grad_" else FALSE
        return _require_grad(frame, node, tensor, TRUE if wanted is None else wanted)
    if name == "pin_memory":
        return tensor.with_place(tensor.place, tensor.origin, drop=PAGEABLE, add=PINNED)
    if name in ("dim", "numel", "size", "nelement", "ndimension", "stride"):
        return Host(tensor, whole=name in ("size", "stride") and not arguments.positional)
    if name == "get_device":
        return DeviceValue(tensor.place, tensor)  # its index
    if name in ("apply_", "map_", "map2_"):
        frame.emit(HostReads(node, f".{name}()", tensor, receiver_of(node)))
        return tensor
    if name in ("resize_", "resize_as_") and tensor.traits & EMPTY:
        return _resized(frame, node, tensor)
    if name == "new":
        return _computed(frame, node, tensor, drop=EMPTY)
    known = frame.unit.context.knowledge.methods.get(name)
    if known is None and evidence is None:
        return UNKNOWN
    if known is None:
        # No method of tensors: what its object is was shown by something that is not it.
        if _is_count(name, arguments):
            return HOST
        return _method_of_unknown(frame, node, tensor, name, arguments)
    show_numbers(frame, node, known, arguments)
    if tensor.place is None and not arguments.positional and not arguments.keywords:
        return _unplaced(frame, node, tensor, known)
    if known.sync and syncs_for(known, arguments):
        frame.emit(HostWaits(node, f".{name}()", tensor, receiver_of(node)))
    if known.result is Result.HOST:
        return HOST
    if known.result is Result.NONE:
        return UNKNOWN
    if known.result is Result.LIKE:
        device = arguments.keywords.get("device")
        if device is not None:
            return factory_result(frame, node, name, device[0], device[1], arguments)
        return _computed(frame, node, tensor, drop=SCALAR | GRAD | EMPTY)
    if known.random:
        generators.check(frame, node, tensor, arguments)
    if known.agreement is Agreement.FREE:
        if known.in_place or name.endswith("_"):
            _wrote(frame, node)
            return tensor
        drop = GRAD if name == "detach" else 0
        if name == "view" and _gives_dtype(arguments):
            pass  # `x.view(torch.float32)` reads the same elements as numbers of another kind
        elif name in ("expand", "repeat", "view", "reshape", "unsqueeze"):
            drop |= SCALAR | MAYBE_SCALAR | VECTOR | SHAPED
        if name in ("view", "reshape", "squeeze", "flatten", "unbind", "select", "diagonal"):
            drop |= MATRIX
        return shape_result(frame, node, _computed(frame, node, tensor, drop), known, arguments)
    others = operands_of(known, arguments)
    if tensor.is_sure and known.agreement is Agreement.STRICT:
        mark_operands(known, arguments, others)
    writes = known.in_place or (name.endswith("_") and not name.endswith("__"))
    subject = written(tensor) if writes else tensor
    operands = [(subject, receiver_of(node)), *without_zero_dim(known, arguments, others)]
    result = meet(
        frame,
        node,
        f".{name}",
        operands,
        known.agreement is Agreement.POINTWISE,
        MeetingKind.OPERATION,
        indices=index_nodes(known, arguments),
    )
    if writes:
        _wrote(frame, node)
        return tensor
    return shape_result(frame, node, result, known, arguments)


def _gives_dtype(arguments: Arguments) -> bool:
    given = arguments.get(0, "dtype")
    return given is not None and is_dtype(given)


def _as_array(
    frame: Frame, node: cst.Call, tensor: Tensor, name: str, arguments: Arguments
) -> Value:
    """`.numpy()` reads the memory itself; `.numpy(force=True)` detaches and copies to the host."""
    forced = arguments.get(0, "force") if name == "numpy" else None
    if forced is None or (type(forced) is Const and forced.value is False):
        frame.emit(HostReads(node, f".{name}()", tensor, receiver_of(node)))
        frame.emit(ArrayTaken(node, f".{name}()", tensor, receiver_of(node)))
    return Host(array=True)


def _is_of_no_text(arguments: Arguments) -> bool:
    return makes_batch(arguments) or any(tensors_in(value) for value, _ in arguments.all())


def _was_unknown(tensor: Tensor) -> bool:
    """All that is known of it is that it was moved: what its class does is out of sight."""
    origin = tensor.origin
    return origin is not None and origin.kind is StepKind.MOVED and origin.parent is None


def _pairs(tensor: Tensor, name: str) -> Value:
    """What was taken for a tensor is a mapping of names to tensors, or a module."""
    if name == "keys":
        return Sequence(None, HOST, "iterator")
    inner = Tensor(tensor.place, tensor.origin, tensor.traits & ~SCALAR, Evidence())
    return Sequence(None, Sequence([HOST, inner], None, "tuple"), "iterator")


def _copy_without_waiting(
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


def _computed(frame: Frame, node: cst.CSTNode, tensor: Tensor, drop: int = 0) -> Tensor:
    kept = INHERITED | SCALAR | VECTOR | GRAD | PARAMETER | MAYBE_SCALAR | SHAPED | COPYING
    kept |= EMPTY
    traits = tensor.traits & kept & ~drop
    if traits & PARAMETER:
        traits = (traits & ~PARAMETER) | GRAD & ~drop
    origin = Provenance(StepKind.COMPUTED, node, frame.unit.source, tensor.origin)
    return Tensor(tensor.place, origin, traits, tensor.evidence)


def _unplaced(frame: Frame, node: cst.Call, tensor: Tensor, known: Call) -> Value:
    if known.sync and syncs_for(known, Arguments([], {})):
        frame.emit(HostWaits(node, f".{_method(node)}()", tensor, receiver_of(node)))
    if known.result is Result.HOST:
        return HOST
    return Tensor(None, None, 0, tensor.evidence)


def _method(node: cst.Call) -> str:
    return node.func.attr.value if isinstance(node.func, cst.Attribute) else ""


def _require_grad(frame: Frame, node: cst.Call, tensor: Tensor, wanted: Value) -> Value:
    """A leaf that requires grad; `x.requires_grad_()` on a line of its own changes `x`."""
    result = gradients.leaf(tensor, wanted)
    path = dotted(receiver_of(node))
    if path:
        frame.state.hold(path, result)
    return result


def _resized(frame: Frame, node: cst.Call, tensor: Tensor) -> Value:
    """`buffer.resize_(n)`: what was empty takes part from here on."""
    filled = tensor.with_place(tensor.place, tensor.origin, drop=EMPTY)
    path = dotted(receiver_of(node))
    if path:
        frame.state.env[path] = filled
        frame.state.note_part(path)
    _wrote(frame, node)
    return filled


def _wrote(frame: Frame, node: cst.Call) -> None:
    """An in-place method changes what its receiver's name holds."""
    path = dotted(receiver_of(node))
    if path:
        frame.touch(path)


def _method_of_unknown(
    frame: Frame, node: cst.Call, tensor: Tensor, name: str, arguments: Arguments
) -> Value:
    """A method of a value of which it is open whether it is a tensor."""
    evidence = tensor.evidence
    assert evidence is not None
    if name in ("to", "cuda", "cpu"):
        return move_of_tensor(frame, node, tensor, name, arguments)
    if name == "type":
        return type_of_tensor(frame, node, tensor, arguments) if arguments.all() else HOST
    if name in _MODULE_METHODS:
        evidence.mark_host()
        module = Instance(None, "", True, tensor.place, tensor.origin)
        if name in ("parameters", "named_parameters"):
            own = Tensor(tensor.place, tensor.origin, PARAMETER | GRAD)
            if name == "parameters":
                return Parameters(module, own)
            return Sequence(None, Sequence([HOST, own], None, "tuple"), "iterator")
        return UNKNOWN if name not in ("train", "eval") else tensor
    if name in ("items", "values") and not arguments.positional:
        evidence.mark_host()
        inner = Tensor(tensor.place, tensor.origin, tensor.traits, Evidence())
        if name == "values":
            return Sequence(None, inner, "iterator")
        return Sequence(None, Sequence([HOST, inner], None, "tuple"), "iterator")
    if name in ("get", "pop"):
        return Tensor(tensor.place, tensor.origin, tensor.traits, Evidence())
    if name in _HOST_METHODS and not (name in _OF_TEXT and _is_of_no_text(arguments)):
        evidence.mark_host()
        return UNKNOWN
    if name == "numpy":
        evidence.mark_tensor()
        return _as_array(frame, node, tensor, name, arguments)
    if name == "tolist":
        return HOST
    known = frame.unit.context.knowledge.methods.get(name)
    if known is None:
        evidence.effects.foreign = True
        frame.emit(UnknownCalled(node, arguments))
        if _is_count(name, arguments):
            return HOST
        batch = tokenized(frame, node, name, arguments)
        if batch is not None:
            return batch
        indifferent = makes_batch(arguments) or is_indifferent(name)
        if indifferent or _was_unknown(tensor):
            return UNKNOWN
        # An unknown method: what comes back is where its arguments are, not where its object is.
        given = [(v, n) for v, n in arguments.all() if not is_measure(arguments, n)]
        check_made(frame, node, tensor, given)
        leave_inputs_to_callers(frame, node, tensor, arguments)
        if holds("module-name", dotted(receiver_of(node)).rpartition(".")[2]):
            show_moved(given)
        made = meet(
            frame,
            node,
            shorten(node.func),
            given,
            True,
            MeetingKind.CALLEE,
            indirect=True,
        )
        if not is_untold(made):
            return made
        # a model, mostly, or something made of no tensors
        return UNKNOWN if name.startswith(("from_", "load_")) else Tensor(None, None, 0, Evidence())
    if known.result is Result.HOST:
        return HOST
    operands = [(tensor, receiver_of(node)), *operands_of(known, arguments)]
    result = meet(frame, node, f".{name}", operands, known.agreement is not Agreement.STRICT)
    return shape_result(frame, node, result, known, arguments)
