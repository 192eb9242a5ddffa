"""Collectives as NCCL has them, on the host's process groups.

NCCL gathers and scatters by numbers of elements, whatever the shapes; gloo wants shapes that match.
NCCL has a mean of integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    if not tensor.is_contiguous():
        raise ValueError("Tensors must be contiguous")
    return tensor.view(-1)


def _check(whole: torch.Tensor, part: torch.Tensor, group: Any, sentence: str) -> None:
    """The checks of ``ProcessGroupNCCL.cpp``."""
    if whole.dtype is not part.dtype:
        raise TypeError("output tensor must have the same type as input tensor")
    if whole.numel() != part.numel() * dist.ProcessGroup.unbox(group).size():
        raise ValueError(sentence)


def _gather(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``all_gather_into_tensor``: ``(output, input, group, …)``."""
    whole, part, group = args[:3]
    wrong = "output tensor size must be equal to world_size times input tensor size"
    _check(whole, part, group, wrong)
    result = func(_flat(whole), _flat(part), *args[2:], **kwargs)
    return (whole, *result[1:])


def _scatter(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``reduce_scatter_tensor``: ``(output, input, group, …)``."""
    part, whole, group = args[:3]
    wrong = "input tensor must be the same size as output size times world size"
    _check(whole, part, group, wrong)
    result = func(_flat(part), _flat(whole), *args[2:], **kwargs)
    return (part, *result[1:])


def _scatter_list(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``reduce_scatter``: ``([output], [[inputs]], group, operation, …)``.

    Where gloo has none (that of 2.6), all of it is reduced everywhere.
    """
    try:
        return func(*args, **kwargs)
    except RuntimeError as error:
        if "does not support reduce_scatter" not in str(error):
            raise
    (part,), (parts,), boxed, operation = args[:4]
    whole = torch.cat([_flat(each) for each in parts])
    given = {"tensors": [whole], "process_group": boxed, "reduce_op": operation, "timeout": -1}
    schema = torch.ops.c10d.allreduce_.default._schema
    _, work = torch.ops.c10d.allreduce_(
        *(given.get(argument.name, argument.default_value) for argument in schema.arguments)
    )
    dist.Work.unbox(work).wait()
    sizes = [each.numel() for each in parts]
    _flat(part).copy_(torch.split(whole, sizes)[dist.ProcessGroup.unbox(boxed).rank()])
    return [part], work


def _in_one_go(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Several of them: ``(outputs, inputs, group, …)``."""
    outputs, inputs = ([_flat(tensor) for tensor in tensors] for tensors in args[:2])
    return func(outputs, inputs, *args[2:], **kwargs)


def _gather_list(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``all_gather``: ``([outputs], [input], group, …)``; one broadcast each if sizes differ."""
    (parts,), (own,), boxed = args[:3]
    if len({part.numel() for part in parts}) == 1:
        return func(*args, **kwargs)
    group = dist.ProcessGroup.unbox(boxed)
    parts[group.rank()].copy_(own)
    for root, part in enumerate(parts[:-1]):
        group.broadcast(part, root).wait()
    last = torch.ops.c10d.broadcast_([parts[-1]], boxed, len(parts) - 1, 0, True, -1)
    return args[0], last[1]


def _exchange_lists(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``all_to_all``: ``(outputs, inputs, group, …)``, each of a size of its own."""
    outputs, inputs, boxed = args[:3]
    if len({part.numel() for part in (*outputs, *inputs)}) == 1:
        return func(*args, **kwargs)
    received, sent = (torch.cat([_flat(part) for part in parts]) for parts in (outputs, inputs))
    sizes = [[part.numel() for part in parts] for parts in (outputs, inputs)]
    work = dist.ProcessGroup.unbox(boxed).alltoall_base(received, sent, *sizes)
    work.wait()
    for part, values in zip(outputs, torch.split(received, sizes[0]), strict=True):
        _flat(part).copy_(values)
    return outputs, work.boxed()


def _reduce_everywhere(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``all_reduce``: ``([tensor], group, operation, …)``.

    The mean of integers is NCCL's: their sum, divided without a rest; gloo divides as floats do.
    """
    tensors, boxed, operation = args[:3]
    if _are_floats(tensors) or not _is_mean(operation):
        return func(*args, **kwargs)
    group = dist.ProcessGroup.unbox(boxed)
    options = dist.AllreduceOptions()
    options.reduceOp = dist.ReduceOp(dist.ReduceOp.SUM)
    work = group.allreduce(tensors, options)
    work.wait()
    for tensor in tensors:
        tensor.div_(group.size(), rounding_mode="trunc")
    return tensors, work.boxed()


def _is_mean(operation: Any) -> bool:
    """Is it ``ReduceOp.AVG``?  In some releases (2.9 is one) no operation says which it is."""
    mean: Any = dist.ReduceOp.AVG
    return hasattr(operation, "op") and bool(operation.op() == int(mean))


def _are_floats(tensors: list[torch.Tensor]) -> bool:
    return all(tensor.is_floating_point() or tensor.is_complex() for tensor in tensors)


BY_ELEMENTS: dict[str, Callable[..., Any]] = {
    "allreduce_": _reduce_everywhere,
    "allgather_": _gather_list,
    "alltoall_": _exchange_lists,
    "reduce_scatter_": _scatter_list,
    "_allgather_base_": _gather,
    "_reduce_scatter_base_": _scatter,
    "allgather_into_tensor_coalesced_": _in_one_go,
    "reduce_scatter_tensor_coalesced_": _in_one_go,
}
"""The operators of c10d that NCCL goes about otherwise."""
