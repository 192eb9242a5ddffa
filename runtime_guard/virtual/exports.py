"""``torch.export`` on virtual devices: PyTorch's own trace, on fake tensors of a card.

The fake of a virtual tensor is on its device.  So mixed devices raise in the trace, and the program
names cards, as where there are some; it runs on virtual tensors.  ``torch.onnx.export`` needs no
more.  What PyTorch does beside such a trace on real tensors, below every hook, there is no card for
(``draft_export``); nor does the engine of autograd run on fake tensors where there is none.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch
import torch.export

from runtime_guard.core.device_guards import guards
from runtime_guard.core.patches import Patches, Replacement, original_of
from runtime_guard.core.placement import placement_of, tag
from runtime_guard.core.torch_internals import RELEASE, without_function_modes
from runtime_guard.virtual.compilers import code_is_traced
from runtime_guard.virtual.function_bodies import OVERRIDE_CHECKS
from runtime_guard.virtual.machine import unsupported

Suspended = Callable[[], AbstractContextManager[None]]
_FACTS = frozenset(
    {"current_device", "current_device_index", "current_accelerator", "get_device_properties"}
)
"""Functions whose results, not whose code, belong into a strict trace."""
_OLDER = RELEASE < (2, 13)
"""Does Dynamo trace what function modes do, and keep real tensors beside fake ones?"""
_rehearsed: set[bool] = set()
"""Whether a trace that is strict, one that is not, or both were made outside of all blocks."""


def patch_exports(patches: Patches, suspended: Suspended) -> None:
    """Let ``torch.export`` trace what is on the machine's devices for one block.

    ``suspended`` is a block in which torch is as it was before.
    """
    trace = _Trace(patches.shown, suspended)
    for name in ("export", "export_for_training"):
        real = getattr(torch.export, name, None)
        if real is not None:
            patches.set(torch.export, name, _exporting(real, trace))
    if hasattr(torch.export, "draft_export"):
        why = "it runs the model on real tensors below every hook"
        patches.set(torch.export, "draft_export", unsupported("torch.export.draft_export", why))


class _Trace:
    """What has to be so while PyTorch traces a model."""

    def __init__(self, replaced: list[Replacement], suspended: Suspended) -> None:
        self.suspended = suspended
        self.checks = [(r.owner, r.name) for r in replaced if r.name in OVERRIDE_CHECKS]
        self.facts = [r.value for r in replaced if r.name in _FACTS]

    @contextlib.contextmanager
    def prepared(self, strict: bool) -> Iterator[None]:
        """In the block a model can be traced; strictly by ``torch._dynamo``, which reads code."""
        _rehearse(strict, self.suspended)
        if not strict:
            yield
            return
        for fact in self.facts:
            torch.compiler.assume_constant_result(fact)  # type: ignore[no-untyped-call]
        known = Patches()
        for owner, name in self.checks:
            known.set(owner, name, original_of(owner, name))
        if _OLDER:
            builder = importlib.import_module("torch._dynamo.variables.builder")
            known.set(builder, "clone_input", _cloned)
        try:
            with code_is_traced(), without_function_modes() if _OLDER else contextlib.nullcontext():
                yield
        finally:
            known.undo()


def _cloned(value: torch.Tensor, **_: Any) -> torch.Tensor:
    """A copy of a real tensor, which Dynamo keeps beside a fake one, where that tensor is.

    Its own asks C++ for memory on the card.
    """
    placement = placement_of(value)
    with torch.no_grad():
        result = value.clone()
    if placement is not None:
        tag(result, placement)
    return result.requires_grad_(value.requires_grad and value.is_leaf)


class _Layer(torch.nn.Module):
    """A layer that also calls functions of PyTorch's."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.layer_norm(x, (1,)) + torch.ones(1, device=x.device)


def _rehearse(strict: bool, suspended: Suspended) -> None:
    """Export a layer outside of the block, once, before anything is exported in it.

    PyTorch makes tables of its functions and classes on its first trace, and keeps them: made in a
    block they would be of stand-ins.
    """
    if strict not in _rehearsed:
        with suspended(), code_is_traced():
            torch.export.export(_Layer(), (torch.ones(1),), strict=strict)
        _rehearsed.add(strict)


def _exporting(real: Callable[..., Any], trace: _Trace) -> Any:
    if guards() is None:
        why = "C++ would ask for the card, and its table of devices is out of reach"
        return unsupported(f"torch.export.{real.__name__}", why)
    default = inspect.signature(real).parameters["strict"].default

    @functools.wraps(real)
    def export(*args: Any, **kwargs: Any) -> Any:
        with trace.prepared(bool(kwargs.get("strict", default))):
            return real(*args, **kwargs)

    return export
