"""``torch.Tensor`` and what makes one past every hook: attributes replaced while a block runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.utils.dlpack

from runtime_guard.core.patches import Patches
from runtime_guard.core.placement import CPU, Placement, intern_device, placement_of, tag
from runtime_guard.core.sites import user_site
from runtime_guard.core.torch_internals import (
    FAKE,
    as_subclass,
    disable_torch_function,
    is_tracing,
    real_device,
)
from runtime_guard.virtual import moves
from runtime_guard.virtual.machine import Machine, UnsupportedVirtually
from runtime_guard.virtual.races import record_stream

_WRAPPED_DEVICE = 6
"""The position of ``device`` in ``_make_wrapper_subclass(cls, size, …)``, behind ``cls``."""


def patch_origins(patches: Patches) -> None:
    """Lines of the host's tensors that come from NumPy, a buffer, a file or another process.

    PyTorch shows none of these calls to a mode.
    """

    def noted(make: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        @functools.wraps(make)
        def made_here(*args: Any, **kwargs: Any) -> torch.Tensor:
            tensor = make(*args, **kwargs)
            if is_tracing(FAKE):
                return tensor
            with disable_torch_function():
                if placement_of(tensor) is None and real_device(tensor).type == "cpu":
                    tag(tensor, Placement(CPU, user_site()))
            return tensor

        return made_here

    for owner, name in (
        (torch, "from_numpy"),
        (torch, "frombuffer"),
        (torch._utils, "_rebuild_tensor"),  # of what is unpickled
    ):
        patches.set(owner, name, noted(getattr(owner, name)))


def patch_tensor(
    patches: Patches, machine: Machine, default_type: Callable[[], torch.device | None]
) -> None:
    """``Tensor.device`` and its shorthands as properties: seen even where modes are off.

    ``default_type`` tells what ``set_default_tensor_type`` made of ``torch.Tensor``.
    """

    def device(tensor: torch.Tensor) -> torch.device:
        with disable_torch_function():
            placement = placement_of(tensor)
        if placement is None:
            return real_device(tensor)
        if placement.move is not None:
            placement.move.used = True  # `x.to(d).device` tells where a move goes
        return placement.device

    def is_type(kind: str) -> property:
        return property(lambda tensor: tensor.device.type == kind)

    tensor = torch.Tensor
    patches.set(tensor, "device", property(device))
    for kind in ("cuda", "cpu", "xpu", "mps"):
        patches.set(tensor, f"is_{kind}", is_type(kind))

    def init(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> None:
        """``torch.Tensor([1.0])``, which no hook sees: note where it was made."""
        if type(tensor) is torch.Tensor and placement_of(tensor) is None:
            device = intern_device(real_device(tensor))
            chosen = default_type()
            if chosen is not None and device is CPU:
                device = machine.canonical(chosen)
            moves.tag_fresh(tensor, device)

    patches.set(tensor, "__init__", init)
    make: Any = tensor.__new__

    @functools.wraps(make)
    def new(cls: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
        """``Subclass(data)``: what a dispatch mode has seen cannot become another class."""
        if cls is tensor:
            return make(cls, *args, **kwargs)  # type: ignore[no-any-return]
        return as_subclass(make(tensor, *args, **kwargs), cls)

    patches.set(tensor, "__new__", staticmethod(new))
    patches.set(tensor, "as_subclass", as_subclass)
    # its C++ signature knows no streams but real ones
    patches.set(tensor, "record_stream", record_stream)


def patch_wrappers(patches: Patches, machine: Machine) -> None:
    """Tensors that wrap others: autograd asks the device of their C++ half for its stream."""
    real: Any = torch.Tensor._make_wrapper_subclass

    @functools.wraps(real)
    def make(cls: Any, *args: Any, **options: Any) -> torch.Tensor:
        positional = len(args) > _WRAPPED_DEVICE
        requested = args[_WRAPPED_DEVICE] if positional else options.get("device")
        target = machine.parse(requested) if requested is not None else CPU
        if not machine.is_virtual(target) or is_tracing(FAKE):
            return real(cls, *args, **options)  # type: ignore[no-any-return]
        if positional:
            args = (*args[:_WRAPPED_DEVICE], CPU, *args[_WRAPPED_DEVICE + 1 :])
        else:
            options["device"] = CPU
        wrapper: torch.Tensor = real(cls, *args, **options)
        with disable_torch_function():
            moves.tag_fresh(wrapper, target)
        return wrapper

    patches.set(torch.Tensor, "_make_wrapper_subclass", staticmethod(make))


def patch_nested(patches: Patches, machine: Machine) -> None:
    """``torch.nested.nested_tensor`` calls C++ past every hook."""
    make: Any = torch.nested.nested_tensor

    @functools.wraps(make)
    def nested_tensor(tensor_list: Any, **options: Any) -> torch.Tensor:
        if options.get("layout") is torch.jagged:  # Python all the way
            jagged: torch.Tensor = make(tensor_list, **options)
            return jagged
        requested = options.pop("device", None)
        target = machine.parse(requested) if requested is not None else None
        if target is None and tensor_list and isinstance(tensor_list[0], torch.Tensor):
            target = tensor_list[0].device
        if target is not None and not machine.is_virtual(target):
            options["device"] = target
        result: torch.Tensor = make(tensor_list, **options)
        if target is not None and machine.is_virtual(target):
            with disable_torch_function():
                moves.tag_fresh(result, machine.canonical(target))
        return result

    patches.set(torch.nested, "nested_tensor", nested_tensor)


def patch_dlpack(patches: Patches) -> None:
    """``torch.utils.dlpack.to_dlpack`` calls C++ past every hook."""
    dlpack: Any = torch.utils.dlpack
    real = dlpack.to_dlpack

    def to_dlpack(tensor: torch.Tensor) -> Any:
        if tensor.device.type not in ("cpu", "meta"):
            raise UnsupportedVirtually(
                "to_dlpack of a virtual accelerator's tensor: its memory is the host's"
            )
        return real(tensor)

    patches.set(dlpack, "to_dlpack", to_dlpack)
    patches.set(torch, "to_dlpack", to_dlpack)
