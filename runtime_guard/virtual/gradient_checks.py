"""Gradients on another device than what they are of, which PyTorch's engine refuses."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch

from runtime_guard.core.placement import CPU
from runtime_guard.core.torch_internals import disable_torch_function
from runtime_guard.recording.contradictions import refuse
from runtime_guard.virtual.gradient_nodes import device_of_node, note_missing, note_outputs
from runtime_guard.virtual.machine import Machine, UnsupportedVirtually
from runtime_guard.virtual.moves import device_of, move

__tracebackhide__ = True  # pytest shows the user's frames only

_register_hook: Any = torch.Tensor.register_hook


def refuse_fakes(machine: Machine, outputs: Iterable[Any]) -> None:
    """Refuse a backward pass of fake tensors that are on an accelerator."""
    for output in outputs:
        if isinstance(output, torch.Tensor) and machine.is_virtual(output.device):
            raise UnsupportedVirtually(
                "gradients of fake tensors on virtual devices: the engine of autograd asks for the "
                f"{output.device.type} device, which is not there"
            )


def root_gradient(machine: Machine, position: int, output: Any, grad: Any) -> Any:
    """``grad`` as the gradient of the root ``output`` of a backward pass.

    ``validate_outputs`` in ``torch/csrc/autograd/engine.cpp``, which moves 0-dim ones.
    """
    if not isinstance(grad, torch.Tensor):
        return grad
    expected, found = _device_of_root(output), device_of(grad)
    if expected is None or expected is found or "meta" in (expected.type, found.type):
        return grad
    if grad.dim() == 0:
        return move(machine, grad, expected, what="backward")
    refuse_gradient(
        f"invalid gradient at index {position} - expected device {expected} but got {found}",
        "backward",
        grad,
        expected,
    )
    return grad


def _device_of_root(output: Any) -> torch.device | None:
    """Where a tensor, or the ``GradientEdge`` of one, is; None where nothing says so."""
    if isinstance(output, torch.Tensor):
        return device_of(output)
    node = getattr(output, "node", None)
    return None if node is None else device_of_node(node)


def refuse_gradient(
    sentence: str, what: str, gradient: torch.Tensor, expected: torch.device
) -> None:
    """Record a gradient on another device than ``expected``, and raise ``sentence``."""
    between = (expected, device_of(gradient))
    refuse(sentence, what, [gradient], ["the gradient"], between=between)


def staying(hook: Callable[[torch.Tensor], Any]) -> Callable[[torch.Tensor], Any]:
    """A hook of a tensor's gradient, whose result has to be where the gradient was.

    ``check_variable_result`` in ``torch/csrc/autograd/utils``.
    """

    @functools.wraps(hook)
    def checked(gradient: torch.Tensor) -> Any:
        result = hook(gradient)
        if not isinstance(result, torch.Tensor):
            return result
        with disable_torch_function():
            expected, found = device_of(gradient), device_of(result)
        if expected is not found:
            name = getattr(hook, "__name__", "<unknown>")
            refuse_gradient(
                f"hook '{name}' has changed the type of value (was {gradient.type()} got "
                f"{result.type()})",
                "register_hook",
                result,
                expected,
            )
        return result

    return checked


class _ScalarReturns:
    """Hook of a host's 0-dim tensor that met an accelerator's: its gradient is brought to it.

    ``validate_outputs`` in ``torch/csrc/autograd/engine.cpp``.
    """

    __slots__ = ("device", "machine", "tensor")
    __torch_unserializable__ = True  # who saves the tensor is not told of a hook of his

    def __init__(self, machine: Machine, tensor: torch.Tensor) -> None:
        self.machine = machine
        self.device = device_of(tensor)
        self.tensor = weakref.ref(tensor)

    def __call__(self, gradient: torch.Tensor) -> torch.Tensor:
        tensor = self.tensor()  # a leaf may have been moved since, by way of its `data`
        with disable_torch_function():
            device = self.device if tensor is None else device_of(tensor)
            return move(self.machine, gradient, device, what="backward")


def scalar_returns(machine: Machine, tensor: torch.Tensor) -> None:
    """The gradient of ``tensor``, a 0-dim one that meets others elsewhere, comes to it."""
    hooks = getattr(tensor, "_backward_hooks", None) or {}
    if not any(isinstance(hook, _ScalarReturns) for hook in hooks.values()):
        _register_hook(tensor, _ScalarReturns(machine, tensor))


class _GradientsStay:
    """Post hook of a custom function's node: refuses gradients on other devices than its inputs.

    ``validate_outputs`` in ``torch/csrc/autograd/engine.cpp``, which moves 0-dim ones.
    """

    __slots__ = ("devices", "machine", "name")

    def __init__(self, machine: Machine, name: str, devices: tuple[torch.device, ...]) -> None:
        self.machine = machine
        self.name = name
        self.devices = devices

    def __call__(self, gradients: tuple[Any, ...], _: Any) -> tuple[Any, ...]:
        stayed = list(gradients)
        with disable_torch_function():
            for position, (gradient, device) in enumerate(
                zip(gradients, self.devices, strict=False)
            ):
                if gradient is None or device_of(gradient) is device:
                    continue
                if gradient.dim() == 0:
                    stayed[position] = move(self.machine, gradient, device, what="backward")
                    continue
                sentence = (
                    f"Function {self.name} returned an invalid gradient at index {position} - "
                    f"expected device {device} but got {device_of(gradient)}"
                )
                refuse_gradient(sentence, self.name, gradient, device)
        return tuple(stayed)


MATERIALIZES = "_devlint_materializes"
"""The attribute of a custom function's node that keeps what cannot be asked of it: does it want
zeros for the gradients of outputs that nobody has used?"""


def gradients_stay(machine: Machine, result: Any, args: tuple[Any, ...], name: str) -> None:
    """After ``Function.apply(*args)``: its gradients have to be where ``args`` are."""
    results = [t for t in _listed(result) if isinstance(t, torch.Tensor)]
    node = results[0].grad_fn if results else None
    if node is None or node.name() != f"{name}Backward":
        return
    devices = tuple(device_of(a) for a in args if isinstance(a, torch.Tensor))
    if any(device is not CPU for device in devices):
        node.register_hook(_GradientsStay(machine, node.name(), devices))
    if len({*devices, *map(device_of, results)}) > 1:
        note_outputs(results)
        if getattr(node, MATERIALIZES, True):
            note_missing(node)


def _listed(result: Any) -> Iterable[Any]:
    return result if isinstance(result, (tuple, list)) else (result,)
