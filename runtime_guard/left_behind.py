"""After ``Module.to``: tensors that the module keeps as plain attributes stay where they were."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

from runtime_guard import observers
from runtime_guard.events import Kind
from runtime_guard.patches import Patches
from runtime_guard.placement import placement_of
from runtime_guard.sites import user_stack
from runtime_guard.torch_internals import disable_torch_function

_local = threading.local()
_told: list[Callable[[torch.nn.Module], None]] = []


@contextlib.contextmanager
def telling_of_moves(tell: Callable[[torch.nn.Module], None]) -> Iterator[None]:
    """In the block, ``tell`` is called with every module that was moved as a whole."""
    _told.append(tell)
    try:
        yield
    finally:
        _told.remove(tell)


def watch_module_moves(patches: Patches, device_of: Callable[[torch.Tensor], torch.device]) -> None:
    """Wrap ``nn.Module._apply`` so that the outermost call looks for tensors it passed by."""
    apply: Any = torch.nn.Module._apply

    def watched_apply(module: torch.nn.Module, fn: Any, recurse: bool = True) -> Any:
        if getattr(_local, "inside", False) or not observers.observing():
            return apply(module, fn, recurse)
        _local.inside = True
        try:
            before = _device_of_state(module, device_of)
            result = apply(module, fn, recurse)
            after = _device_of_state(module, device_of)
        finally:
            _local.inside = False
        if after is not None and before != after:
            report_left_behind(module, after, device_of)
            for tell in _told:
                tell(module)
        return result

    patches.set(torch.nn.Module, "_apply", watched_apply)


def _device_of_state(
    module: torch.nn.Module, device_of: Callable[[torch.Tensor], torch.device]
) -> torch.device | None:
    with disable_torch_function():
        for tensor in (*module.parameters(), *module.buffers()):
            return device_of(tensor)
    return None


def report_left_behind(
    module: torch.nn.Module,
    device: torch.device,
    device_of: Callable[[torch.Tensor], torch.device],
) -> None:
    """Record every plain tensor attribute of ``module``'s tree that is not on ``device``."""
    for prefix, child in module.named_modules():
        for name, value in list(vars(child).items()):
            for label, tensor in _tensors_in(name, value):
                with disable_torch_function():
                    where = device_of(tensor)
                    placement = placement_of(tensor)
                if where == device:
                    continue
                path = f"{prefix}.{label}" if prefix else label
                made = placement.made if placement is not None else None
                stack = user_stack()
                observers.problem(
                    Kind.LEFT_BEHIND,
                    f"{type(module).__name__}.to",
                    f"`{path}` of {type(child).__name__} is a plain attribute and stays on {where} "
                    f"while the module moves to {device}",
                    source=str(where),
                    target=str(device),
                    stack=stack if made is None else (made, *stack),
                )


def _tensors_in(name: str, value: Any) -> list[tuple[str, torch.Tensor]]:
    if name in ("_parameters", "_buffers", "_modules"):
        return []
    if isinstance(value, torch.Tensor):
        return [(name, value)]
    if isinstance(value, (list, tuple)):
        return [
            (f"{name}[{i}]", v) for i, v in enumerate(value[:50]) if isinstance(v, torch.Tensor)
        ]
    if isinstance(value, dict):
        items = list(value.items())[:50]
        return [(f"{name}[{k!r}]", v) for k, v in items if isinstance(v, torch.Tensor)]
    return []
