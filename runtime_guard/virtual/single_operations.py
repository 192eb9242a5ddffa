"""Functions of torch that are one operation, which is checked where the function is called.

    x + y        x.view(2, 3)        torch.cat([x, y])        x[:, 1:]

Where all operands are on one device nothing can be refused, nothing waits, and the result is where
they are.  So one look is enough, the function mode's: the dispatch mode is passed by, whose call
costs more than all else that is done for an operation.  What autograd keeps of such an operation
are its operands and its result, hence nothing is made that nobody has seen.

In doubt the answer is ``NotImplemented``, and the dispatch mode sees the operation as ever.
"""

from __future__ import annotations

import itertools
import types as python_types
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from runtime_guard.agreement.plans import Plan, Treatment, plan_of
from runtime_guard.core.placement import CPU, TAG, Placement, tag, tag_new
from runtime_guard.core.torch_internals import (
    PYTHON,
    PYTHON_SNAPSHOT,
    dispatch_mode_at,
    dispatch_mode_count,
    forward_ad,
    function_mode_count,
    functions_in_cpp,
    is_any_autocast_enabled,
    is_functional,
    nn_in_cpp,
    saved_tensors_hooks,
    set_key_excluded,
    tensor_base,
)
from runtime_guard.virtual.function_bodies import DEVICE_KEYWORDS
from runtime_guard.virtual.races import Watch
from runtime_guard.virtual.refusals import says_what_is_missing

__tracebackhide__ = True  # pytest shows the user's frames only

is_grad_enabled = torch.is_grad_enabled
_Tensor = torch.Tensor
_Parameter = torch.nn.Parameter


class OperationHook(Protocol):
    """The dispatch mode that is passed by."""

    latest: Placement | None
    """Where the last operation ran."""


@dataclass(frozen=True, slots=True)
class SingleOperation:
    """What is known of such a function before it is called."""

    leading: int
    """How many arguments may be tensors, counted from the first one."""
    between: tuple[int, ...] = ()
    """Those among them that may not."""
    listed: bool = False
    """Is the first one a list of tensors?"""
    fresh: bool = False
    """May the result have memory of its own?"""
    writes: bool = False
    """Does it write to an operand?  Of one with a gradient autograd keeps what was there."""
    multiplies: bool = False
    """Is it ``linear`` or ``matmul``?  Of other layouts than matrices these keep a copy."""
    indexes: bool = False
    """Is it ``x[...]``, one operation or more, all views where no tensor is in the index?"""
    reads: bool = False
    """Does the host read it, and wait where it is not the host's?"""


IN_CPP = frozenset(
    {
        python_types.MethodDescriptorType,
        python_types.BuiltinFunctionType,
        python_types.WrapperDescriptorType,
    }
)
"""The types of functions that are written in C++."""
_HOMES = (tensor_base, torch, nn_in_cpp, functions_in_cpp)
_ABOUT_DEVICES = frozenset(DEVICE_KEYWORDS)
_PLAIN = frozenset(
    {int, float, bool, complex, type(None), torch.dtype, torch.layout, torch.memory_format}
    | {torch.Size}
)
"""Types of arguments that have no device."""
_LISTS = frozenset({list, tuple})
_PARTS_OF_INDICES = frozenset({int, type(None), type(...)})
_BOUNDS = frozenset({int, type(None)})
_VIEWS_OF_VIEWS = frozenset(
    {"chunk", "expand_as", "moveaxis", "movedim", "squeeze_", "swapaxes", "swapdims"}
    | {"unflatten", "view_as"}
)
"""Composites that are views and nothing else."""
_MADE_OF_ONE = frozenset(
    {"__and__", "__or__", "__xor__", "contiguous", "conv1d", "conv2d", "conv3d", "flatten"}
    | {"linear", "log_softmax", "matmul", "reshape", "reshape_as", "softmax", "square"}
)
"""Composites of views and one operation that makes something, at most."""
CONVERSION = SingleOperation(1, fresh=True)
"""``x.to(torch.float16)``"""
_MULTIPLICATIONS = frozenset({"linear", "matmul"})
_CONVERSIONS = ("float", "half", "bfloat16", "long", "int", "short", "char", "byte", "bool")
"""Methods that are ``_to_copy``, which is of no device but its operand's here."""


def pass_by(
    hook: OperationHook,
    single: SingleOperation,
    func: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
) -> Any:
    """The result of ``func``, without the dispatch mode; ``NotImplemented`` where it has to see.

    It is here that time goes: what ``placement_of`` and ``tag_results`` do is in line.
    """
    if (
        Watch.current is not None
        or function_mode_count()
        or dispatch_mode_count() != 1
        or dispatch_mode_at(0) is not hook
        or saved_tensors_hooks(False) is not None
        or is_any_autocast_enabled()
        or forward_ad._current_level >= 0  # tangents are to be seen
        or (
            kwargs
            and not (
                _PLAIN.issuperset(map(type, kwargs.values())) and _ABOUT_DEVICES.isdisjoint(kwargs)
            )
        )
        or (single.multiplies and _keeps_a_copy(args))
    ):
        return NotImplemented
    others = args[single.leading :]
    if others and not _PLAIN.issuperset(map(type, others)) and not _are_plain(single, others):
        return NotImplemented
    for position in single.between:
        if position < len(args) and type(args[position]) not in _PLAIN:
            return NotImplemented
    operands = args[: single.leading]
    if single.listed and operands and type(operands[0]) in _LISTS:
        operands = (*operands[0], *operands[1:])
    first: Placement | None = None
    untagged = False
    for operand in operands:
        kind = type(operand)
        if kind is not _Tensor and kind is not _Parameter:
            if kind in _PLAIN:
                continue
            return NotImplemented
        try:
            found = getattr(operand.untyped_storage(), TAG, None)
        except (NotImplementedError, RuntimeError):
            return NotImplemented
        if found is None:
            if is_functional(operand):
                return NotImplemented
            untagged = True
            continue
        if first is None:
            first = found
        elif found is not first and found.device is not first.device:
            return NotImplemented
        move = found.move
        if move is not None and not (move.used and move.landed and move.leaf is None):
            return NotImplemented
        if single.writes and operand.requires_grad and is_grad_enabled():
            return NotImplemented
    if first is not None and first.device is not CPU and (untagged or single.reads):
        return NotImplemented
    set_key_excluded(PYTHON, True)
    set_key_excluded(PYTHON_SNAPSHOT, True)
    try:
        result = func(*args, **kwargs) if kwargs else func(*args)
    except RuntimeError as error:
        if not says_what_is_missing(error):
            raise
        return NotImplemented  # the dispatch mode says it
    finally:
        set_key_excluded(PYTHON, False)
        set_key_excluded(PYTHON_SNAPSHOT, False)
    if first is None:
        return result
    hook.latest = first
    if single.fresh:
        try:
            storage = result.untyped_storage()
        except (NotImplementedError, RuntimeError):
            tag(result, first.of_result())
        else:
            if getattr(storage, TAG, None) is None:
                tag_new(storage, first.result or first.of_result())
    return result


def _keeps_a_copy(args: tuple[Any, ...]) -> bool:
    """Does a product of these first bring one of them in order, and keep that for backward?"""
    try:
        left, right = args[0], args[1]
        return right.dim() > 2 or not (left.dim() <= 2 or left.is_contiguous())
    except (AttributeError, IndexError):
        return True


def _are_plain(single: SingleOperation, others: tuple[Any, ...]) -> bool:
    """Is no tensor in the arguments where none is expected: sizes, dimensions, an index?"""
    if single.indexes:
        return _has_no_tensor(others[0])
    for value in others:
        kind = type(value)
        if kind not in _PLAIN and not (kind in _LISTS and _PLAIN.issuperset(map(type, value))):
            return False
    return True


def _has_no_tensor(index: Any) -> bool:
    """Is it an index of numbers, slices, ``None`` and ``...``, which makes views alone?"""
    for part in index if type(index) is tuple else (index,):
        kind = type(part)
        if kind is slice:
            if not _BOUNDS.issuperset((type(part.start), type(part.stop), type(part.step))):
                return False
        elif kind not in _PARTS_OF_INDICES:
            return False
    return True


def single_operation(func: Any) -> SingleOperation | None:
    """What is known of ``func`` where it is one operation, None for all other functions."""
    if func not in SINGLE_OPERATIONS:
        SINGLE_OPERATIONS[func] = _look_up(func)
    return SINGLE_OPERATIONS[func]


def _look_up(func: Any) -> SingleOperation | None:
    name = getattr(func, "__name__", "")
    if not any(getattr(home, name, None) is func for home in _HOMES):
        return None
    if name in _CONVERSIONS:
        return CONVERSION
    packet: Any = getattr(torch.ops.aten, name, None)
    if not hasattr(packet, "overloads"):
        return None
    overloads = [getattr(packet, overload) for overload in packet.overloads()]
    overloads = [o for o in overloads if _is_known(o) and not (_writes_out(o) or _takes_text(o))]
    single = [o for o in overloads if _is_single(o)]
    where = _tensor_positions(single)
    if not where or any(_tensors(o) <= where for o in overloads if o not in single):
        return None
    leading = max(where) + 1
    firsts = [overload._schema.arguments[0] for overload in single]
    return SingleOperation(
        leading,
        tuple(position for position in range(leading) if position not in where),
        any("List" in str(a.type) for a in firsts),
        name in _MADE_OF_ONE or any(_plan(o).tags_results for o in single),
        any(a.alias_info is not None and a.alias_info.is_write for a in firsts),
        name in _MULTIPLICATIONS,
    )


SINGLE_OPERATIONS: dict[Any, SingleOperation | None] = {
    tensor_base.__getitem__: SingleOperation(1, indexes=True),
    tensor_base.item: SingleOperation(1, reads=True),
}
"""Functions that were asked about, and what is known of them."""


def _is_known(overload: Any) -> bool:
    """Has the dispatcher this overload?  ``aten::split.str`` is TorchScript's."""
    try:
        return bool(torch._C._dispatch_has_kernel(overload.name()))
    except RuntimeError:
        return False


def _writes_out(overload: Any) -> bool:
    """Is it the overload with ``out=``?  A tensor in a keyword is never passed by."""
    return any(a.kwarg_only and a.is_out for a in overload._schema.arguments)


def _takes_text(overload: Any) -> bool:
    """Is a text demanded, such as the name of a dimension?  A call with one is never passed by."""
    return any(
        str(a.type) in ("str", "List[str]") and not a.has_default_value()
        for a in overload._schema.arguments
    )


def _plan(overload: Any) -> Plan:
    plan = plan_of(overload)
    assert plan is not None
    return plan


def _is_single(overload: Any) -> bool:
    """Is it one operation with one result, whose operands have to agree and which never waits?"""
    plan = _plan(overload)
    if plan.treatment is Treatment.DECOMPOSE:
        return plan.name in _MADE_OF_ONE or plan.name in _VIEWS_OF_VIEWS
    returns = [str(result.type) for result in overload._schema.returns]
    return (
        (returns == ["Tensor"] or (returns == ["List[Tensor]"] and not plan.tags_results))
        and plan.treatment is Treatment.SAME
        and plan.sync is None
        and plan.reads is None
        and not (plan.indexing or plan.copies or plan.foreign or plan.host_results)
    )


def _tensors(overload: Any) -> set[int]:
    """The positions of the tensors of an overload."""
    arguments = [a for a in overload._schema.arguments if not a.kwarg_only]
    return {i for i, a in enumerate(arguments) if "Tensor" in str(a.type)}


def _tensor_positions(overloads: list[Any]) -> frozenset[int]:
    """Where a tensor may stand.  Nowhere, where one that stands there may be meant as a number.

    PyTorch reads a tensor that it takes for a number, and waits for it.  ``clamp`` takes two
    numbers or two tensors, so of one of each it reads the tensor.
    """
    patterns = [_tensors(overload) for overload in overloads]
    if not patterns:
        return frozenset()
    ever: set[int] = set().union(*patterns)
    always = {position for position in ever if all(position in p for p in patterns)}
    either = sorted(ever - always)
    found = {tuple(position in pattern for position in either) for pattern in patterns}
    wanted = set(itertools.product((False, True), repeat=len(either)))
    if wanted - found - {(False,) * len(either)}:
        return frozenset()
    return frozenset(ever)
