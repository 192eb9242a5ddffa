"""After ``Module.to``: which plain attributes of the module it has passed by.

Tensors, and modules that it never registered: in a list, a tuple or a dict.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from runtime_guard.core.patches import Patches
from runtime_guard.core.placement import PassedBy, Placement, placement_of, tag
from runtime_guard.core.sites import Stack, user_frames, user_stack
from runtime_guard.core.torch_internals import disable_torch_function
from runtime_guard.recording import gradients, observers
from runtime_guard.recording.attributes import where_assigned
from runtime_guard.recording.events import Kind

_local = threading.local()
_lock = threading.RLock()
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
        if moves_a_module():
            return apply(module, fn, recurse)
        settle()  # an earlier move, before this one undoes it
        _local.inside = True
        try:
            before = _device_of_state(module, device_of)
            result = apply(module, fn, recurse)
            after = _device_of_state(module, device_of)
            target = after if after is not None else _target_of(fn, device_of)
        finally:
            _local.inside = False
        observers.problem(Kind.MODULE_MOVE, f"{type(module).__name__}.to", "", target=str(target))
        if target is not None and before != target:
            if _is_own_mover(module):
                _wait_for(_Move(weakref.ref(module), target, device_of, user_stack()))
            else:
                note_passed_by(module, target, device_of, user_stack())
        if after is not None and before != after:
            _report_optimized(module, after)
            for tell in _told:
                tell(module)
        return result

    def watched_add_group(optimizer: torch.optim.Optimizer, group: Any) -> Any:
        try:
            result = add_group(optimizer, group)
        except ValueError:
            given = group.get("params", ()) if isinstance(group, dict) else ()
            tensors = [given] if isinstance(given, torch.Tensor) else list(given)
            gradients.asked_about(
                (t for t in tensors if isinstance(t, torch.Tensor)), type(optimizer).__name__
            )
            raise
        with _lock:
            _optimizers.add(optimizer)
        return result

    patches.set(torch.nn.Module, "_apply", watched_apply)
    patches.set(torch.optim.Optimizer, "add_param_group", watched_add_group)


def moves_a_module() -> bool:
    """Is the calling thread inside the move of a module?  What comes along is the module's."""
    return getattr(_local, "inside", False)


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
    with _lock:
        optimizers = list(_optimizers)
    for optimizer in optimizers:
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
    with _lock:
        _unsettled.append(move)
        if not _hooks:
            register: Any = torch.nn.modules.module.register_module_forward_pre_hook
            _hooks.append(register(lambda *_: settle()))


def settle() -> None:
    """Note what modules have passed by whose own ``to`` or ``_apply`` has returned."""
    if not _unsettled and not _hooks:
        return
    with _lock:
        moves = _unsettled[:]
        _unsettled.clear()
        for move in moves:
            module = move.module()
            if module is not None and _is_own_mover(module):
                _unsettled.append(move)
            elif module is not None:
                note_passed_by(module, move.device, move.device_of, move.stack)
        if not _unsettled:
            while _hooks:
                _hooks.pop().remove()


def note_passed_by(
    module: torch.nn.Module, device: torch.device, device_of: DeviceOf, stack: Stack
) -> None:
    """Note every tensor in plain attributes of ``module``'s tree that is not on ``device``.

    It is a bug when it meets what was moved; many are moved where they are used, or read by the
    host alone.
    """
    registered = set(map(id, module.modules()))
    call = f"{type(module).__name__}.to"
    for prefix, child in module.named_modules():
        skipped = {"_parameters", "_buffers", "_modules", *_made_anew(child)}
        for name, value in list(vars(child).items()):
            if name in skipped:
                continue
            for label, tensors in _hidden(name, value, registered):
                with disable_torch_function():
                    elsewhere = [tensor for tensor in tensors if device_of(tensor) != device]
                    if not elsewhere:
                        continue
                    where = device_of(elsewhere[0])
                found = PassedBy(
                    f"{prefix}.{label}" if prefix else label,
                    _way_of_keeping(value),
                    type(child).__name__,
                    call,
                    where,
                    device,
                    stack,
                    where_assigned(type(child), name),  # type: ignore[arg-type]
                    *_cure(name, value, elsewhere[0]),
                )
                with disable_torch_function():
                    placements = [placement_of(each) or Placement(where) for each in elsewhere]
                    for tensor, placement in zip(elsewhere, placements, strict=True):
                        tag(tensor, placement.of_attribute(found))
                observers.passed_by(Kind.PASSED_BY, found, placements[0].made)


def _way_of_keeping(value: Any) -> str:
    """How ``Module.to`` sees it, in words."""
    if isinstance(value, (list, tuple, dict)):
        kind = next(kind for kind in (list, tuple, dict) if isinstance(value, kind))
        return f"is in a plain {kind.__name__}"
    return "is a plain attribute"


def _cure(name: str, value: Any, tensor: torch.Tensor) -> tuple[str, str]:
    """What to write instead, and the rule that says so."""
    if _unwrapped(value) is not value:
        return "give the module that it wraps an attribute of its own", "DEV206"
    if isinstance(value, torch.nn.Module) or _holds_modules(value):
        kind = "ModuleDict" if isinstance(value, dict) else "ModuleList"
        return f"keep the modules of `{name}` in an `nn.{kind}`", "DEV206"
    if isinstance(value, torch.Tensor):
        return f'`self.register_buffer("{name}", …)` makes it follow', "DEV205"
    if isinstance(tensor, torch.nn.Parameter):
        kind = "ParameterDict" if isinstance(value, dict) else "ParameterList"
        return f"keep the parameters of `{name}` in an `nn.{kind}`", "DEV205"
    return "register each tensor with `self.register_buffer`", "DEV205"


def _unwrapped(value: Any) -> Any:
    """The module in ``functools.lru_cache(net)`` or ``functools.partial(net, scale=2)``."""
    if isinstance(value, functools.partial):
        inner: Any = value.func
    else:
        inner = getattr(value, "__wrapped__", None) if callable(value) else None
    return inner if isinstance(inner, torch.nn.Module) else value


def _holds_modules(value: Any, depth: int = 0) -> bool:
    if isinstance(value, torch.nn.Module) or depth == _DEEPEST:
        return depth < _DEEPEST
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, (list, tuple, dict)) and any(
        _holds_modules(item, depth + 1) for item in list(items)[:_MOST]
    )


def _made_anew(module: torch.nn.Module) -> Iterator[str]:
    """Attributes that hooks of ``torch.nn.utils`` make of registered ones before each forward:
    those of ``weight_norm``, ``spectral_norm`` and ``prune``."""
    for hook in module._forward_pre_hooks.values():
        if type(hook).__module__.startswith("torch.nn.utils."):
            yield str(getattr(hook, "name", None) or getattr(hook, "_tensor_name", ""))


_MOST = 200
_DEEPEST = 3


def _hidden(
    label: str, value: Any, registered: set[int], depth: int = 0
) -> Iterator[tuple[str, list[torch.Tensor]]]:
    """The tensors that an attribute holds: itself, in containers, all the state of a module."""
    value = _unwrapped(value)
    if isinstance(value, torch.Tensor):
        yield label, [value]
    elif isinstance(value, torch.nn.Module):
        if id(value) not in registered:
            yield label, [*value.parameters(), *value.buffers()]
    elif depth < _DEEPEST and isinstance(value, (list, tuple)):
        for position, item in enumerate(value[:_MOST]):
            yield from _hidden(f"{label}[{position}]", item, registered, depth + 1)
    elif depth < _DEEPEST and isinstance(value, dict):
        for key, item in list(value.items())[:_MOST]:
            yield from _hidden(f"{label}[{key!r}]", item, registered, depth + 1)
