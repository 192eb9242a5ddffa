"""Methods of values of which it is open whether they are tensors.

Arrays of NumPy that are made of a tensor's memory answer some of them.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import HOST, Const, Host
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import GRAD, PARAMETER, Tensor
from devlint.inference.domain.value import UNKNOWN, Value, is_untold
from devlint.inference.facts import MeetingKind
from devlint.inference.models.call_results import shape_result
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.loaders import is_indifferent, is_measure, makes_batch
from devlint.inference.models.module_inputs import check_made, leave_inputs_to_callers, show_moved
from devlint.inference.models.moves.tensors import move_of_tensor, type_of_tensor
from devlint.inference.models.operands import operands_of
from devlint.inference.models.tokenizers import tokenized
from devlint.inference.models.unification.meetings import meet
from devlint.inference.program.events import ArrayTaken, HostReads, UnknownCalled
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Instance, Parameters
from devlint.inference.syntax.text import dotted, receiver_of, shorten
from devlint.knowledge import Agreement, Result

# Methods that only tensors have: whoever calls them says that the receiver is one.
_TELLING = frozenset(
    {"size", "view", "view_as", "unsqueeze", "expand", "expand_as", "permute", "contiguous"}
    | {"detach", "detach_", "clone", "numel", "dim", "new_zeros", "new_ones", "new_tensor"}
    | {"new_full", "new_empty", "new", "type_as", "is_floating_point", "get_device", "masked_fill"}
    | {"masked_fill_", "masked_select", "scatter_", "scatter_add_", "index_select", "index_add_"}
    | {"index_fill_", "index_copy_", "gather", "unfold", "unbind", "chunk", "topk", "argsort"}
    | {"nonzero", "clamp", "clamp_", "norm", "softmax", "log_softmax", "sigmoid", "relu", "bmm"}
    | {"matmul", "mm", "addmm", "baddbmm", "eq", "ne", "lt", "le", "gt", "ge", "add_", "sub_"}
    | {"mul_", "div_", "exp_", "copy_", "zero_", "fill_", "uniform_", "normal_", "backward", "item"}
    | {"pin_memory", "is_pinned", "long", "int", "bool", "float", "double", "half"}
)


# Shared by tensors and arrays, which nobody moves to a device: of a value that was moved they say
# that it is a tensor.
_OF_ARRAYS = frozenset(
    {"argmax", "argmin", "max", "min", "sum", "mean", "std", "var", "prod", "cumsum", "any", "all"}
    | {"dot", "nonzero", "squeeze", "reshape", "flatten", "transpose"}
)

# Arrays of NumPy, and tables of pandas, have these of the first as well.
_OF_TABLES = frozenset(
    {"size", "view", "nonzero", "item", "chunk", "eq", "ne", "lt", "le", "gt", "ge"}
)

# What arrays call otherwise, `axis` and `keepdims`; dimensions with names are those of others.
_OF_TORCH = ("dim", "keepdim")

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


def tells_tensor(frame: Frame, tensor: Tensor, name: str, arguments: Arguments) -> bool:
    """Note that a value is a tensor, if this method says so; whether it is one now."""
    evidence = tensor.evidence
    if evidence is None:
        return True
    leaf = name == "requires_grad_" and not arguments.all()  # models are frozen: `(False)`
    of_array = name in _OF_ARRAYS and evidence.was_moved
    given = (arguments.keywords[each][0] for each in _OF_TORCH if each in arguments.keywords)
    numbered = any(type(each) is Const and type(each.value) in (int, bool) for each in given)
    of_torch = name in _OF_ARRAYS and numbered
    named = name in ("any", "all") and frame.in_module
    if leaf or name in _TELLING or named or of_array or of_torch:
        evidence.mark_tensor()
        # `x.cpu().mean()`: what is a tensor behind a move was one before it.
        is_moved = tensor.origin is not None and tensor.origin.kind is StepKind.MOVED
        for source in evidence.parents if is_moved and name not in _OF_MODULES else ():
            source.mark_tensor()
        return True
    return evidence.is_tensor


def is_of_no_array(name: str) -> bool:
    """`x.clone()`, `x.unsqueeze(0)`: an array has no such method."""
    return name in _TELLING and name not in _OF_TABLES


def is_count(name: str, arguments: Arguments) -> bool:
    """By its name a method that tensors lack gives a number: `graph.num_edges()`."""
    return holds("count-getter", name) and not any(tensors_in(v) for v, _ in arguments.all())


def _is_of_no_text(arguments: Arguments) -> bool:
    return makes_batch(arguments) or any(tensors_in(value) for value, _ in arguments.all())


def _was_unknown(tensor: Tensor) -> bool:
    """All that is known of it is that it was moved: what its class does is out of sight."""
    origin = tensor.origin
    return origin is not None and origin.kind is StepKind.MOVED and origin.parent is None


def method_of_unknown(
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
        return _of_module(tensor, evidence, name)
    held = Tensor(tensor.place, tensor.origin, tensor.traits, Evidence())
    if name in ("items", "values") and not arguments.positional:
        evidence.mark_host()
        return Sequence(None, held if name == "values" else _pair(held), "iterator")
    if name in ("get", "pop"):
        return held
    if name in _HOST_METHODS and not (name in _OF_TEXT and _is_of_no_text(arguments)):
        evidence.mark_host()
        return UNKNOWN
    if name == "numpy":
        evidence.mark_tensor()
        return as_array(frame, node, tensor, name, arguments)
    if name == "tolist":
        return HOST
    known = frame.unit.context.knowledge.methods.get(name)
    if known is None:
        return _foreign_method(frame, node, tensor, name, arguments)
    if known.result is Result.HOST:
        return HOST
    operands = [(tensor, receiver_of(node)), *operands_of(known, arguments)]
    result = meet(frame, node, f".{name}", operands, known.agreement is not Agreement.STRICT)
    return shape_result(frame, node, result, known, arguments)


def _pair(inner: Value) -> Sequence:
    return Sequence([HOST, inner], None, "tuple")


def _of_module(tensor: Tensor, evidence: Evidence, name: str) -> Value:
    """`model.parameters()`: whatever has such a method is a module."""
    evidence.mark_host()
    if name not in ("parameters", "named_parameters"):
        return UNKNOWN if name not in ("train", "eval") else tensor
    own = Tensor(tensor.place, tensor.origin, PARAMETER | GRAD)
    if name == "named_parameters":
        return Sequence(None, _pair(own), "iterator")
    return Parameters(Instance(None, "", True, tensor.place, tensor.origin), own)


def _foreign_method(
    frame: Frame, node: cst.Call, tensor: Tensor, name: str, arguments: Arguments
) -> Value:
    """A method that tensors lack: what comes back is where its arguments are, not its object."""
    assert tensor.evidence is not None
    tensor.evidence.effects.foreign = True
    frame.emit(UnknownCalled(node, arguments))
    if is_count(name, arguments):
        return HOST
    batch = tokenized(frame, node, name, arguments)
    if batch is not None:
        return batch
    if makes_batch(arguments) or is_indifferent(name) or _was_unknown(tensor):
        return UNKNOWN
    given = [(v, n) for v, n in arguments.all() if not is_measure(arguments, n)]
    check_made(frame, node, tensor, given)
    leave_inputs_to_callers(frame, node, tensor, arguments)
    if holds("module-name", dotted(receiver_of(node)).rpartition(".")[2]):
        show_moved(given)
    made = meet(frame, node, shorten(node.func), given, True, MeetingKind.CALLEE, indirect=True)
    if not is_untold(made):
        return made
    # a model, mostly, or something made of no tensors
    return UNKNOWN if name.startswith(("from_", "load_")) else Tensor(None, None, 0, Evidence())


def as_array(
    frame: Frame, node: cst.Call, tensor: Tensor, name: str, arguments: Arguments
) -> Value:
    """`.numpy()` reads the memory itself; `.numpy(force=True)` detaches and copies to the host."""
    forced = arguments.get(0, "force") if name == "numpy" else None
    if forced is None or (type(forced) is Const and forced.value is False):
        frame.emit(HostReads(node, f".{name}()", tensor, receiver_of(node)))
        frame.emit(ArrayTaken(node, f".{name}()", tensor, receiver_of(node)))
    return Host(array=True)
