"""Autograd on a virtual machine: what is saved, custom functions, and where gradients are."""

from __future__ import annotations

import functools
from typing import Any, cast

import torch

from runtime_guard.core.patches import Patches
from runtime_guard.core.torch_internals import (
    FAKE,
    disable_torch_function,
    function_mode_count,
    function_mode_stack,
    is_tracing,
    push_saved_tensors_hooks,
)
from runtime_guard.virtual import gradient_checks
from runtime_guard.virtual.forward_mode import tag_tangents
from runtime_guard.virtual.function_mode import FunctionMode
from runtime_guard.virtual.machine import Machine


def patch_saved_tensors(patches: Patches) -> None:
    """Hooks for what autograd saves are called from C++ in the middle of an operation."""

    def hooked(hook: Any, mode: FunctionMode) -> Any:
        def call(value: Any) -> Any:
            if function_mode_count():
                return hook(value)
            with mode.in_sight():
                return hook(value)

        return call

    def enter_hooks(self: Any) -> None:
        pack, unpack = self.pack_hook, self.unpack_hook
        for mode in reversed(function_mode_stack()):
            if isinstance(mode, FunctionMode):
                pack, unpack = hooked(pack, mode), hooked(unpack, mode)
                break
        push_saved_tensors_hooks(pack, unpack)

    patches.set(torch.autograd.graph.saved_tensors_hooks, "__enter__", enter_hooks)


def patch_functions(patches: Patches, machine: Machine) -> None:
    """Custom autograd functions: a gradient is where the input is that it is for."""
    function = torch.autograd.Function
    real = vars(function)["apply"]  # of Python's making, of C's since torch 2.14

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        tag_tangents(args)
        result = real.__get__(None, cls)(*args, **kwargs)
        with disable_torch_function():
            gradient_checks.gradients_stay(machine, result, args, cls.__name__)
        return result

    patches.set(function, "apply", classmethod(functools.wraps(function.apply)(apply)))
    context = torch.autograd.function.FunctionCtx
    set_materialize: Any = context.set_materialize_grads

    @functools.wraps(set_materialize)
    def set_materialize_grads(ctx: Any, value: bool) -> None:
        set_materialize(ctx, value)
        setattr(ctx, gradient_checks.MATERIALIZES, value)

    patches.set(context, "set_materialize_grads", set_materialize_grads)


def patch_hooks(patches: Patches) -> None:
    """``x.register_hook(hook)``: a gradient that the hook hands on is where it was."""
    register: Any = torch.Tensor.register_hook

    @functools.wraps(register)
    def register_hook(tensor: torch.Tensor, hook: Any) -> Any:
        return register(tensor, gradient_checks.staying(hook) if callable(hook) else hook)

    patches.set(torch.Tensor, "register_hook", register_hook)


def patch_backward(patches: Patches, machine: Machine) -> None:
    """``y.backward(g)``: the gradient is where ``y`` is; a 0-dim one is brought there."""
    autograd = cast("Any", torch.autograd)
    real = autograd._make_grads

    @functools.wraps(real)
    def make_grads(outputs: Any, grads: Any, *args: Any, **kwargs: Any) -> Any:
        if is_tracing(FAKE):
            gradient_checks.refuse_fakes(machine, outputs)
        made = real(outputs, grads, *args, **kwargs)
        with disable_torch_function():
            return tuple(
                gradient_checks.root_gradient(machine, position, output, grad)
                for position, (output, grad) in enumerate(zip(outputs, made, strict=True))
            )

    patches.set(autograd, "_make_grads", make_grads)
