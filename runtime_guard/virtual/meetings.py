"""The careful path: operands on several devices, ``out=``, indices, and what is refused."""

from __future__ import annotations

from typing import Any

import torch

from runtime_guard.agreement import operators, rules
from runtime_guard.agreement.plans import COLLECTIVES, Plan, Treatment
from runtime_guard.core.placement import placement_of, storage_of
from runtime_guard.core.tensors import tensors_of
from runtime_guard.recording import observers
from runtime_guard.recording.contradictions import refuse
from runtime_guard.virtual import moves
from runtime_guard.virtual.copies import adopt_buffers
from runtime_guard.virtual.gradient_checks import scalar_returns
from runtime_guard.virtual.kernels import kernel_of
from runtime_guard.virtual.process_groups import check_collective
from runtime_guard.virtual.results import note_use, tag_results, wait
from runtime_guard.virtual.thread_hook import ThreadHook

__tracebackhide__ = True  # pytest shows the user's frames only


def meet(
    mode: ThreadHook, plan: Plan, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The careful path: operands on several devices, ``out=``, indices."""
    operands, tensors = operands_of(func, args, kwargs)
    if not operands:
        return func(*args, **kwargs)
    for tensor in tensors:
        placement = placement_of(tensor)
        if placement is not None:
            note_use(placement, plan, tensor)
    if (
        plan.composite is not None
        and not plan.indexing
        and any(o.device is not operands[0].device for o in operands)
    ):
        with mode:
            return func._op_dk(plan.composite, *args, **kwargs)
    written = [t for o, t in zip(operands, tensors, strict=True) if o.written]
    if written and adopt_buffers(
        written, [t for o, t in zip(operands, tensors, strict=True) if not o.written]
    ):
        operands, tensors = operands_of(func, args, kwargs)
    decision = rules.decide(func, operands)
    if isinstance(decision, rules.Refusal):
        _refuse(mode, plan, decision, operands, tensors)
        decision = next(i for i, o in enumerate(operands) if o.device.type != "cpu")
    device = operands[decision].device
    if torch.is_grad_enabled():
        for operand, tensor in zip(operands, tensors, strict=True):
            if operand.dim == 0 and operand.device is not device and tensor.requires_grad:
                scalar_returns(mode.machine, tensor)
    compute = func
    if plan.treatment is Treatment.OTHERWISE and device.type not in ("cpu", "meta"):
        compute = kernel_of(plan.name, func, args)
    if func.namespace in COLLECTIVES:
        check_collective(func, args, tensors)
    result = compute(*args, **kwargs)
    placement = placement_of(tensors[decision])
    mode.latest = placement
    if device.type != "cpu" and plan.sync is not None:
        wait(mode.function_mode, plan, device, args, kwargs)
    if plan.indexing:
        _indices(mode, plan, operands, tensors)
    if plan.reads:
        _reads(mode, plan, operands)
    if placement is not None and (
        plan.tags_results or any(t.layout is not torch.strided for t in tensors)
    ):
        tag_results(result, placement, plan)
    return result


def operands_of(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[rules.Operand], list[torch.Tensor]]:
    operands: list[rules.Operand] = []
    tensors: list[torch.Tensor] = []
    for position, argument in enumerate(func._schema.arguments):
        value: Any = args[position] if position < len(args) else kwargs.get(argument.name)
        written = argument.alias_info is not None and argument.alias_info.is_write
        listed = isinstance(value, (list, tuple))
        for index, item in enumerate(value) if listed else ((0, value),):
            if not isinstance(item, torch.Tensor):
                continue
            operands.append(
                rules.Operand(
                    f"{argument.name}[{index}]" if listed else argument.name,
                    moves.device_of(item),
                    item.dim(),
                    item.numel(),
                    written,
                    item.dtype is torch.bool,
                    rules.LEGACY_NAMES.get(item.dtype, str(item.dtype)),
                )
            )
            tensors.append(item)
    return operands, tensors


def _reads(mode: ThreadHook, plan: Plan, operands: list[rules.Operand]) -> None:
    """An argument is read by the host in C++."""
    for operand in operands:
        if (
            operand.name == plan.reads
            and operators.waits_to_read(plan.name, operands[0].device, operand.device)
            and not mode.function_mode.quiet
        ):
            moves.land_all(operand.device)
            observers.sync(plan.called, operators.READS[plan.name][1])


def _indices(
    mode: ThreadHook, plan: Plan, operands: list[rules.Operand], tensors: list[torch.Tensor]
) -> None:
    """Indices from elsewhere are copied to the tensor's device; of a mask on an accelerator's
    tensor the count is read by the host."""
    if not observers.observing():
        return
    device = operands[0].device
    fills = rules.fills_a_mask(operands)
    for operand, tensor in zip(operands[1:], tensors[1:], strict=True):
        if not operand.name.startswith("indices"):
            continue
        if operand.device != device and operand.dim > 0:
            moves.record_transfer(
                mode.machine,
                tensor,
                operand.device,
                device,
                plan.name,
                non_blocking=False,
                pinned=moves.is_pinned(tensor),
            )
        counted = operand.mask and device.type != "cpu" and not fills
        if counted and not mode.function_mode.quiet:
            moves.land_all(device)
            observers.sync(plan.name, "a boolean mask: its result's shape depends on the values")


def _as_given(
    mode: ThreadHook, tensor: torch.Tensor, operand: rules.Operand
) -> tuple[torch.Tensor, str]:
    """What is told of an operand, and how it is called where it has no name.

    What a composite has made inside (the ``1 - target`` of ``binary_cross_entropy_with_logits``)
    says nothing to who called it: the argument on that device does, if it is but one.
    """
    given = tensors_of(mode.function_mode.call)
    storage = storage_of(tensor)
    if all(storage_of(argument) is not storage for argument in given):
        there = [a for a in given if moves.device_of(a) is operand.device]
        if len(there) == 1:
            return there[0], "an argument"
    return tensor, operand.name


def _refuse(
    mode: ThreadHook,
    plan: Plan,
    refusal: rules.Refusal,
    operands: list[rules.Operand],
    tensors: list[torch.Tensor],
) -> None:
    """A mixed-device operation: the two operands that ``refusal`` is about."""
    chosen = sorted((refusal.first, refusal.second))
    told = [_as_given(mode, tensors[i], operands[i]) for i in chosen]
    refuse(
        refusal.message,
        plan.name,
        [tensor for tensor, _ in told],
        [name for _, name in told],
        between=(operands[refusal.first].device, operands[refusal.second].device),
        error=refusal.error,
        indexing=plan.indexing,
    )
