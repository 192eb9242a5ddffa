"""Generators of random numbers: the host's, and an accelerator's with the same numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from runtime_guard.core.sites import Site, user_site
from runtime_guard.virtual.machine import Machine


def state_on_host(state: Any) -> Any:
    """The state of a generator, which lies on the host whatever the generator's device.

    Raises PyTorch's ``TypeError`` for one on a device (``check_rng_state`` of ATen): what
    ``torch.load(…, map_location="cuda")`` gives back.
    """
    if isinstance(state, torch.Tensor) and state.device.type != "cpu":
        raise TypeError("RNG state must be a torch.ByteTensor")
    return state


def rng_state_setter(real: Callable[[torch.Tensor], None]) -> Callable[[torch.Tensor], None]:
    """``torch.set_rng_state`` that refuses a state on a device."""

    @functools.wraps(real)
    def set_rng_state(new_state: torch.Tensor) -> None:
        real(state_on_host(new_state))

    return set_rng_state


class HostGenerator(torch.Generator):
    """A generator of the host that knows the line that made it."""

    made: Site

    def set_state(self, state: torch.Tensor) -> HostGenerator:
        """Go on from a state, which lies on the host."""
        super().set_state(state_on_host(state))
        return self

    def __reduce__(self) -> Any:
        return restored_on_host, (self.get_state(),)


def restored_on_host(state: torch.Tensor) -> torch.Generator:
    """A copied or unpickled generator of the host."""
    generator = torch.Generator()
    generator.set_state(state)
    return generator


class VirtualGenerator(torch.Generator):
    """A CPU generator that says it is an accelerator's: same seeds, same numbers as on the CPU."""

    _virtual_device: torch.device
    made: Site

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        """The accelerator it fills tensors of."""
        return self._virtual_device

    def set_state(self, state: torch.Tensor) -> VirtualGenerator:
        """Go on from a state, which lies on the host."""
        super().set_state(state_on_host(state))
        return self

    def clone_state(self) -> VirtualGenerator:
        """A generator of the same device that goes on from the same state."""
        clone = virtual_generator(self._virtual_device)
        clone.set_state(self.get_state())
        return clone

    def __reduce__(self) -> Any:
        return restored_generator, (self._virtual_device, self.get_state())

    graphsafe_get_state = clone_state

    def graphsafe_set_state(self, state: torch.Generator) -> VirtualGenerator:
        """Go on from the state of another generator."""
        self.set_state(state.get_state())
        return self


def virtual_generator(device: torch.device) -> VirtualGenerator:
    """A generator for ``device``."""
    generator = VirtualGenerator()
    generator._virtual_device = device
    return generator


def restored_generator(device: torch.device, state: torch.Tensor) -> VirtualGenerator:
    """A copied or unpickled generator."""
    generator = virtual_generator(device)
    generator.set_state(state)
    return generator


def generator_factory(machine: Machine, real: type[torch.Generator]) -> Any:
    """What stands in for ``torch.Generator``: ``isinstance`` holds for every generator."""

    class GeneratorMeta(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, real)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, real)

        def __call__(cls, device: Any = "cpu", **options: Any) -> torch.Generator:
            if isinstance(device, bool):
                real(device)  # raises
            parsed = machine.parse(device)
            if machine.is_virtual(parsed):
                generator = virtual_generator(parsed)
                generator.made = user_site()
                return generator
            if parsed.type != "cpu":
                return real(device=parsed, **options)
            on_host = HostGenerator(device=parsed, **options)
            on_host.made = user_site()
            return on_host

    return GeneratorMeta(
        "Generator",
        (),
        {"__module__": "torch", "__qualname__": "Generator", "__doc__": real.__doc__},
    )
