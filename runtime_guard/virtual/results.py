"""What every operation leaves: used operands, results that are where it ran, a host that waited."""

from __future__ import annotations

from typing import Any

import torch

from runtime_guard.agreement.plans import Plan
from runtime_guard.core.placement import TAG, Placement, placement_of, tag, tag_new
from runtime_guard.core.tensors import tensors_of
from runtime_guard.recording import gradients, observers
from runtime_guard.virtual import moves
from runtime_guard.virtual.function_mode import FunctionMode


def note_use(
    placement: Placement, plan: Plan, operand: torch.Tensor, *, by_host: bool = True
) -> None:
    """An operand was used: what watches its move is told.

    A view alone wants no gradient: it may yet become a leaf itself.
    """
    watched = placement.move
    if watched is not None:
        watched.used = True
        if watched.leaf is not None and not (plan.copies or plan.view):
            gradients.on_use(watched, operand)
        # a copy back to the device waits its turn behind the one that is on its way
        if not watched.landed and by_host and not (plan.copies and moves.moving.active):
            moves.report_read(watched, plan.name)


def wait(
    mode: FunctionMode,
    plan: Plan,
    device: torch.device,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
) -> None:
    """The host waits for ``device`` in this operation, unless its arguments spare it that."""
    if plan.no_sync_with is not None and plan.no_sync_with(args, kwargs or {}):
        return
    moves.land_all(device)
    if not mode.quiet and plan.sync is not None:
        observers.sync(plan.called, plan.sync)


def tag_results(result: Any, placement: Placement, plan: Plan) -> None:
    """Say where the fresh tensors of ``result`` are."""
    if type(result) is torch.Tensor:
        try:
            storage = result.untyped_storage()
        except (NotImplementedError, RuntimeError):
            tag(result, placement.of_result())
            return
        if getattr(storage, TAG, None) is None:
            tag_new(storage, placement.result or placement.of_result())
        return
    for position, item in enumerate(result if isinstance(result, (tuple, list)) else [result]):
        if position in plan.host_results:
            continue
        for tensor in (item,) if isinstance(item, torch.Tensor) else tensors_of(item):
            try:
                storage = tensor.untyped_storage()
            except (NotImplementedError, RuntimeError):
                if placement_of(tensor) is None:
                    tag(tensor, placement.of_result())
                continue
            if getattr(storage, TAG, None) is not None:
                continue
            if type(tensor) is torch.Tensor:
                tag_new(storage, placement.result or placement.of_result())
            elif placement_of(tensor) is None:
                tag(tensor, placement.of_result())
