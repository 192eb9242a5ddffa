"""``torch.cuda``, ``torch.xpu``, ``torch.mps`` and ``torch.accelerator`` of a virtual machine.

Functions over a ``Machine``, in tables of attribute names that ``context`` installs.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable
from typing import Any

import torch

from runtime_guard.core.placement import intern_device
from runtime_guard.virtual.device_context import DeviceContext, index_of
from runtime_guard.virtual.device_properties import device_name, properties
from runtime_guard.virtual.generators import state_on_host, virtual_generator
from runtime_guard.virtual.machine import Machine, UnsupportedVirtually, unsupported
from runtime_guard.virtual.memory_figures import memory_api
from runtime_guard.virtual.stand_ins import nothing, zero
from runtime_guard.virtual.streams import (
    StreamContext,
    VirtualEvent,
    VirtualStream,
    default_stream,
    synchronized,
)

UNSUPPORTED = (
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "change_current_allocator",
    "clock_rate",
    "cudart",
    "current_blas_handle",
    "device_memory_used",
    "get_stream_from_external",
    "graph",
    "graph_pool_handle",
    "host_memory_stats",
    "list_gpu_processes",
    "make_graphed_callables",
    "memory_usage",
    "power_draw",
    "temperature",
    "use_mem_pool",
    "_get_pynvml_handler",
    "_raw_device_uuid_nvml",
)
"""Functions of ``torch.cuda`` that ask something of a device which only a real one knows."""


class NoGraph:
    """Stands for ``torch.cuda.CUDAGraph`` and ``MemPool``, which cannot be made."""

    def __new__(cls, *_: Any, **__: Any) -> NoGraph:
        raise UnsupportedVirtually(
            "CUDA graphs and memory pools on virtual devices: there is no device behind them"
        )


def check_error(result: int) -> None:
    """``torch.cuda.check_error`` of what a call of CUDA's runtime gave; 0 is success."""
    if result != 0:
        raise UnsupportedVirtually(
            f"torch.cuda.check_error({result}) on virtual devices: there is no runtime of CUDA's"
        )


Index = Callable[..., int]
"""The index of a device that a call names, checked."""


def module_api(machine: Machine, kind: str, module: Any) -> dict[str, Any]:
    """Attributes of ``torch.cuda`` (or ``xpu``) on the virtual machine."""

    def index(device: Any = None) -> int:
        found = index_of(machine, kind, device)
        machine.check_index(kind, found)
        return found

    api: dict[str, Any] = {
        **_state(machine, kind),
        **_current_device(machine, kind),
        **_facts(machine, kind),
        **_streams(machine, kind, index),
        **_random_numbers(machine, kind),
        **memory_api(machine, kind),
        "memory_snapshot": lambda *_, **__: [],
        "reset_accumulated_memory_stats": nothing(),
        "empty_cache": nothing(),
        "ipc_collect": nothing(),
        "get_allocator_backend": lambda: "native",
    }
    for name in UNSUPPORTED:
        api[name] = unsupported(f"torch.{kind}.{name}", "there is no device behind it")
    api["CUDAGraph"] = api["MemPool"] = api["XPUGraph"] = NoGraph
    return {
        name: value
        for name, value in api.items()
        if hasattr(module, name) or name in ("_is_in_bad_fork",)
    }


def _state(machine: Machine, kind: str) -> dict[str, Any]:
    """Whether there is an accelerator, and whether it is in use."""

    def lazy_init() -> None:
        """Called from C++ it means that something below the hooks wants the real thing."""
        if "_lazy_init" not in sys._getframe(1).f_code.co_names:
            raise UnsupportedVirtually(
                f"virtual devices: code below the hooks, such as the kernel of a custom operator, "
                f"asked PyTorch itself for the {kind} device"
            )
        machine.touch(kind)

    return {
        "is_available": lambda: True,
        "is_initialized": machine.is_initialized,
        "init": lambda: machine.touch(kind),
        "_lazy_init": lazy_init,
        "_lazy_call": nothing(),
        "_is_in_bad_fork": machine.is_in_bad_fork,
        "device_count": lambda: machine.counts[kind],
        "_device_count_nvml": lambda: machine.counts[kind],
        "check_error": check_error,
        "get_sync_debug_mode": lambda: machine.sync_debug_mode,
        "set_sync_debug_mode": machine.set_sync_debug_mode,
    }


def _current_device(machine: Machine, kind: str) -> dict[str, Any]:
    """Which device is the current one."""

    def set_device(device: Any) -> None:
        machine.touch(kind)
        machine.set_current_index(kind, index_of(machine, kind, device, needed=True))

    def current_device() -> int:
        machine.touch(kind)
        return machine.current_index(kind)

    def exchange(device: int) -> int:
        return machine.set_current_index(kind, device)

    context = type("device", (DeviceContext,), {"machine": machine, "kind": kind})

    def device_of(tensor: Any) -> Any:
        return context(tensor.get_device() if tensor.device.type == kind else -1)

    return {
        "current_device": current_device,
        "set_device": set_device,
        "device": context,
        "device_of": device_of,
        "_exchange_device": exchange,
        "_maybe_exchange_device": exchange,
    }


def _facts(machine: Machine, kind: str) -> dict[str, Any]:
    """What a device says of itself."""
    profile = machine.profiles[kind]

    def known(device: Any = None) -> int:
        """An index that ``get_device_properties`` has something to tell of."""
        found = index_of(machine, kind, device)
        with contextlib.suppress(RuntimeError):
            machine.check_index(kind, found)
            if found >= 0:
                return found
        raise AssertionError("Invalid device id")

    def bf16_supported(including_emulation: bool = True) -> bool:
        return including_emulation or profile.capability >= (8, 0)

    return {
        "get_device_name": lambda device=None: device_name(kind, known(device), profile),
        "get_device_capability": lambda device=None: (known(device), profile.capability)[1],
        "get_device_properties": lambda device=None: properties(kind, known(device), profile),
        "can_device_access_peer": lambda device, peer: known(device) != known(peer),
        "is_bf16_supported": bf16_supported,
        "is_tf32_supported": lambda: profile.capability >= (8, 0),
        "get_arch_list": lambda: ["sm_{}{}".format(*profile.capability)],
        "get_gencode_flags": lambda: "",
        "utilization": zero(),
    }


def _streams(machine: Machine, kind: str, index: Index) -> dict[str, Any]:
    """Streams, events, and who waits for all of them."""
    stream_type = type("Stream", (VirtualStream,), {"machine": machine, "kind": kind})

    def synchronize(device: Any = None) -> None:
        index(device)
        synchronized(f"torch.{kind}.synchronize")

    def current_stream(device: Any = None) -> Any:
        at = index(device)
        return machine.current_stream(kind, at) or default_stream(stream_type, at)

    def set_stream(stream: Any) -> None:
        if stream is not None:
            machine.enter_stream(stream)

    return {
        "synchronize": synchronize,
        "is_current_stream_capturing": lambda: False,
        "Stream": stream_type,
        "ExternalStream": lambda stream_ptr, device=None, **_: stream_type(device),
        "Event": VirtualEvent,
        "stream": StreamContext,
        "StreamContext": StreamContext,
        "set_stream": set_stream,
        "current_stream": current_stream,
        "default_stream": lambda device=None: default_stream(stream_type, index(device)),
    }


def _random_numbers(machine: Machine, kind: str) -> dict[str, Any]:
    """Seeds and states: those of the host's generator."""

    def get_rng_state(device: Any = kind) -> torch.Tensor:
        return torch.get_rng_state()

    def set_rng_state(new_state: torch.Tensor, device: Any = kind) -> None:
        torch.set_rng_state(new_state)

    def get_rng_state_all() -> list[torch.Tensor]:
        return [torch.get_rng_state() for _ in range(machine.counts[kind])]

    def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
        for state in list(new_states)[:1]:
            torch.set_rng_state(state)

    return {
        "manual_seed": nothing(),
        "manual_seed_all": nothing(),
        "seed": nothing(),
        "seed_all": nothing(),
        "initial_seed": torch.initial_seed,
        "get_rng_state": get_rng_state,
        "set_rng_state": set_rng_state,
        "get_rng_state_all": get_rng_state_all,
        "set_rng_state_all": set_rng_state_all,
        "default_generators": tuple(
            virtual_generator(intern_device(torch.device(kind, i)))
            for i in range(machine.counts[kind])
        ),
    }


def mps_api(machine: Machine) -> dict[str, Any]:
    """Attributes of ``torch.mps`` on the virtual machine."""
    memory = memory_api(machine, "mps")

    def set_rng_state(new_state: torch.Tensor, device: Any = "mps") -> None:
        torch.set_rng_state(state_on_host(new_state))

    return {
        "device_count": lambda: 1,
        "synchronize": lambda: synchronized("torch.mps.synchronize"),
        "empty_cache": nothing(),
        "manual_seed": nothing(),
        "seed": nothing(),
        "get_rng_state": lambda device="mps": torch.get_rng_state(),
        "set_rng_state": set_rng_state,
        "set_per_process_memory_fraction": nothing(),
        "current_allocated_memory": memory["memory_allocated"],
        "driver_allocated_memory": memory["memory_reserved"],
        "recommended_max_memory": lambda: machine.profiles["mps"].memory,
    }


def accelerator_api(machine: Machine) -> dict[str, Any]:
    """Attributes of ``torch.accelerator`` on the virtual machine."""
    kind = machine.primary

    def current_accelerator(check_available: bool = False) -> torch.device:
        return torch.device(kind)

    def set_index(device: Any) -> None:
        machine.set_current_index(kind, index_of(machine, kind, device, needed=True))

    class device_index(DeviceContext):
        def __init__(self, device: int | None) -> None:
            super().__init__(-1 if device is None else device)

    device_index.machine, device_index.kind = machine, kind
    stream_type = type("Stream", (VirtualStream,), {"machine": machine, "kind": kind})

    def current_stream(device: Any = None) -> Any:
        index = index_of(machine, kind, device)
        machine.check_index(kind, index)
        return machine.current_stream(kind, index) or default_stream(stream_type, index)

    def set_stream(stream: Any) -> None:
        machine.enter_stream(stream)

    api: dict[str, Any] = {
        "is_available": lambda: True,
        "device_count": lambda: machine.counts[kind],
        "current_accelerator": current_accelerator,
        "current_device_index": lambda: machine.current_index(kind),
        "current_device_idx": lambda: machine.current_index(kind),
        "set_device_index": set_index,
        "set_device_idx": set_index,
        "device_index": device_index,
        "current_stream": current_stream,
        "set_stream": set_stream,
        "synchronize": lambda device=None: synchronized("torch.accelerator.synchronize"),
        "get_device_capability": lambda device=None: {"supported_dtypes": _dtypes(kind)},
        "empty_cache": nothing(),
        "empty_host_cache": nothing(),
        "Graph": NoGraph,
        **memory_api(machine, kind),
        "reset_accumulated_memory_stats": nothing(),
    }
    return {name: value for name, value in api.items() if hasattr(torch.accelerator, name)}


def _dtypes(kind: str) -> set[torch.dtype]:
    """Those that tensors of a kind of accelerator may have."""
    every = {value for value in vars(torch).values() if isinstance(value, torch.dtype)}
    return every - {torch.float64} if kind == "mps" else every
