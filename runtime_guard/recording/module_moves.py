"""After ``Module.to``: what the module keeps as plain attributes stays where it was.

Tensors, and modules that it never registered: in a list, a tuple or a dict.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from runtime_guard.core.patches import Patches
from runtime_guard.core.placement import placement_of
from runtime_guard.core.sites import Stack, user_frames, user_stack
from runtime_guard.core.torch_internals import disable_torch_function
from runtime_guard.recording import observers
from runtime_guard.recording.attributes import where_assigned
from runtime_guard.recording.events import Kind

_local = threading.local()
_told: list[Callable[[torch.nn.Module], None]] = []
_optimizers: weakref.WeakSet[torch.optim.Optimizer] = weakref.WeakSet()

DeviceOf = Callable[[torch.Tensor], torch.device]


@contextlib.contextmanager
def telling_of_moves(tell: Callable[[torch.nn.Module], None]) -> Iterator[None]:
    """In the block, ``tell`` is called with every module that was moved as a whole."""
    _told.append(tell)
    try:
        yield
    finally:
        _told.remove(tell)


def watch_module_moves(patches: Patches, device_of: DeviceOf) -> None:
    """Wrap ``nn.Module._apply`` so that the outermost call looks for what it passed by.

    Also notes which optimizers there are, to tell of moves that come after them.
    """
    apply: Any = torch.nn.Module._apply
    add_group: Any = torch.optim.Optimizer.add_param_group

    def watched_apply(module: torch.nn.Module, fn: Any, recurse: bool = True) -> Any:
        if getattr(_local, "inside", False) or not observers.observing():
            return apply(module, fn, recurse)
        _local.inside = True
        try:
            before = _device_of_state(module, device_of)
            result = apply(module, fn, recurse)
            after = _device_of_state(module, device_of)
            target = after if after is not None else _target_of(fn, device_of)
        finally:
            _local.inside = False
        observers.problem(Kind.MODULE_MOVE, f"{type(module).__name__}.to", "", target=str(target))
        settle()
        if target is not None and before != target:
            if _is_own_mover(module):
                _wait_for(_Move(weakref.ref(module), target, device_of, user_stack()))
            else:
                report_left_behind(module, target, device_of)
        if after is not None and before != after:
            _report_optimized(module, after)
            for tell in _told:
                tell(module)
        return result

    def watched_add_group(optimizer: torch.optim.Optimizer, group: Any) -> Any:
        result = add_group(optimizer, group)
        _optimizers.add(optimizer)
        return result

    patches.set(torch.nn.Module, "_apply", watched_apply)
    patches.set(torch.optim.Optimizer, "add_param_group", watched_add_group)


def _device_of_state(module: torch.nn.Module, device_of: DeviceOf) -> torch.device | None:
    with disable_torch_function():
        for tensor in (*module.parameters(), *module.buffers()):
            return device_of(tensor)
    return None


def _target_of(fn: Any, device_of: DeviceOf) -> torch.device | None:
    """Where a module goes that has no state to look at: where its ``.to`` puts an empty tensor."""
    with observers.unobserved():
        try:
            moved = fn(torch.empty(0, device="cpu"))
        except Exception:  # the callback of some other kind of ``_apply``
            return None
    with disable_torch_function():
        target = device_of(moved) if isinstance(moved, torch.Tensor) else None
    return target if target is not None and target.type not in ("cpu", "meta") else None


def _report_optimized(module: torch.nn.Module, device: torch.device) -> None:
    """Record that an optimizer had taken parameters of ``module`` before it was moved."""
    moved = {id(parameter) for parameter in module.parameters()}
    for optimizer in list(_optimizers):
        groups = optimizer.param_groups
        if any(id(parameter) in moved for group in groups for parameter in group["params"]):
            observers.problem(
                Kind.OPTIMIZED_MOVE,
                f"{type(module).__name__}.to",
                f"{type(optimizer).__name__} had taken the parameters before they moved",
                target=str(device),
            )


_MOVERS = frozenset({"_apply", "to", "cuda", "cpu", "xpu", "type", "float", "double", "half"})


def _is_own_mover(module: torch.nn.Module) -> bool:
    """Was the move asked for by the module's own ``to``, ``_apply`` or the like?  It may go on."""
    return any(
        frame.f_locals.get(frame.f_code.co_varnames[0]) is module
        for frame in user_frames()
        if frame.f_code.co_name in _MOVERS and frame.f_code.co_argcount
    )


@dataclass(frozen=True)
class _Move:
    """A move of a module whose own method may have more to do."""

    module: weakref.ref[torch.nn.Module]
    device: torch.device
    device_of: DeviceOf
    stack: Stack


_unsettled: list[_Move] = []
_hooks: list[Any] = []


def _wait_for(move: _Move) -> None:
    """Look when the next module is called, is moved, or when the guard is asked."""
    _unsettled.append(move)
    if not _hooks:
        register: Any = torch.nn.modules.module.register_module_forward_pre_hook
        _hooks.append(register(lambda *_: settle()))


def settle() -> None:
    """Record what modules have left behind whose own ``to`` or ``_apply`` has returned."""
    moves = _unsettled[:]
    _unsettled.clear()
    for move in moves:
        module = move.module()
        if module is not None and _is_own_mover(module):
            _unsettled.append(move)
        elif module is not None:
            report_left_behind(module, move.device, move.device_of, move.stack)
    if not _unsettled:
        while _hooks:
            _hooks.pop().remove()


def report_left_behind(
    module: torch.nn.Module, device: torch.device, device_of: DeviceOf, stack: Stack | None = None
) -> None:
    """Record every tensor in plain attributes of ``module``'s tree that is not on ``device``."""
    registered = set(map(id, module.modules()))
    for prefix, child in module.named_modules():
        passed = {"_parameters", "_buffers", "_modules", *_made_anew(child)}
        for name, value in list(vars(child).items()):
            if name in passed:
                continue
            for label, tensor in _tensors_in(name, value, registered):
                with disable_torch_function():
                    where = device_of(tensor)
                    placement = placement_of(tensor)
                if where == device:
                    continue
                path = f"{prefix}.{label}" if prefix else label
                made = placement.made if placement is not None else None
                assigned = where_assigned(type(child), name)  # type: ignore[arg-type]
                stack = user_stack() if stack is None else stack
                observers.problem(
                    Kind.LEFT_BEHIND,
                    f"{type(module).__name__}.to",
                    f"`{path}` of {type(child).__name__} is a plain attribute and stays on {where} "
                    f"while the module moves to {device}",
                    source=str(where),
                    target=str(device),
                    stack=stack if made is None else (made, *stack),
                    declared=() if assigned is None else (assigned,),
                )


def _made_anew(module: torch.nn.Module) -> Iterator[str]:
    """Attributes that hooks of ``torch.nn.utils`` make of registered ones before each forward:
    those of ``weight_norm``, ``spectral_norm`` and ``prune``."""
    for hook in module._forward_pre_hooks.values():
        if type(hook).__module__.startswith("torch.nn.utils."):
            yield str(getattr(hook, "name", None) or getattr(hook, "_tensor_name", ""))


_MOST = 50
_DEEPEST = 3


def _tensors_in(
    label: str, value: Any, registered: set[int], depth: int = 0
) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that an attribute holds: itself, in containers, as a hidden module's state."""
    if isinstance(value, torch.Tensor):
        yield label, value
    elif isinstance(value, torch.nn.Module):
        if id(value) not in registered:
            state = (*value.named_parameters(), *value.named_buffers())
            yield from ((f"{label}.{name}", tensor) for name, tensor in state[:1])
    elif depth < _DEEPEST and isinstance(value, (list, tuple)):
        for position, item in enumerate(value[:_MOST]):
            yield from _tensors_in(f"{label}[{position}]", item, registered, depth + 1)
    elif depth < _DEEPEST and isinstance(value, dict):
        for key, item in list(value.items())[:_MOST]:
            yield from _tensors_in(f"{label}[{key!r}]", item, registered, depth + 1)
