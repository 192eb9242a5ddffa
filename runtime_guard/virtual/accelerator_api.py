"""``torch.cuda``, ``torch.xpu``, ``torch.mps`` and ``torch.accelerator`` of a virtual machine.

Functions over a ``Machine``, in tables of attribute names that ``virtual`` installs.
Memory figures are those of the live storages (``memory``).
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import torch

from runtime_guard.core.memory import Meter
from runtime_guard.core.placement import CPU, intern_device
from runtime_guard.core.sites import Site, user_site
from runtime_guard.recording import observers
from runtime_guard.virtual import moves
from runtime_guard.virtual.machine import Machine, UnsupportedVirtually, unsupported
from runtime_guard.virtual.profiles import Profile
from runtime_guard.virtual.races import Races, Watch, event_numbers

_RELEASE = tuple(int(part) for part in torch.__version__.partition("+")[0].split(".")[:2])
VERSION = "13.0" if _RELEASE >= (2, 11) else "12.8"
"""What ``torch.version.cuda`` says on a virtual CUDA machine where the build has no answer: that of
the release's build for CUDA on PyPI.  torchvision's wheel there compares it with its own."""
CUDNN_VERSION = 91002
"""Likewise ``torch.backends.cudnn.version()``: that of PyTorch 2.9's."""


def synchronized(what: str) -> None:
    """Every non-blocking copy has arrived; the host waited."""
    moves.land_all()
    observers.sync(what, "an explicit synchronisation", hidden=False)


class DeviceContext:
    """``torch.cuda.device(i)``: makes a device current for a block; -1 does nothing."""

    machine: Machine
    kind: str

    def __init__(self, device: Any) -> None:
        self.idx = index_of(self.machine, self.kind, device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = self.machine.set_current_index(self.kind, self.idx)

    def __exit__(self, *_: object) -> None:
        self.machine.set_current_index(self.kind, self.prev_idx)


def index_of(machine: Machine, kind: str, device: Any, *, needed: bool = False) -> int:
    """The index that ``device`` (index, text, device or None) means for functions of ``kind``.

    What has no index means the current device.  Raises ``ValueError`` where an index is
    ``needed``, and for other types of devices, as ``torch.cuda._utils._get_device_index`` does.
    """
    if isinstance(device, int):
        return int(device)
    if isinstance(device, DeviceContext):
        return device.idx
    parsed = torch.device(device) if isinstance(device, str) else device
    if isinstance(parsed, torch.device):
        if parsed.type != kind:
            raise ValueError(f"Expected a {kind} device, but got: {parsed}")
        if parsed.index is not None:
            return parsed.index
    if needed:
        raise ValueError(
            "Expected a torch.device with a specified index or an integer, but got:" + str(device)
        )
    return machine.current_index(kind)


class VirtualEvent:
    """A stream event: recorded, waited for and timed on the host's clock."""

    def __init__(self, *_: Any, enable_timing: bool = False, **__: Any) -> None:
        self.enable_timing = enable_timing
        self._time: float | None = None
        self._number = next(event_numbers)
        self.device: torch.device | None = None

    def record(self, stream: Any = None) -> None:
        """Note the time, and what ``stream`` (the current one) was given until now."""
        self._time = time.perf_counter()
        if Watch.current is not None:
            Watch.current.recorded(self._number, _number_of(stream, Watch.current))

    def wait(self, stream: Any = None) -> None:
        """``stream`` (the current one) goes on behind this; virtual work is done at once."""
        if Watch.current is not None and self._time is not None:
            Watch.current.waited(self._number, _number_of(stream, Watch.current))

    def query(self) -> bool:
        """Virtual work is done at once, and by this the host knows it."""
        moves.land_all()
        return True

    def synchronize(self) -> None:
        """A host sync."""
        synchronized("Event.synchronize")

    def ipc_handle(self) -> bytes:
        """Raises ``UnsupportedVirtually``."""
        raise UnsupportedVirtually("Event.ipc_handle on virtual devices: there is no device")

    def elapsed_time(self, end: VirtualEvent) -> float:
        """Milliseconds from this event to ``end``.

        Raises ``ValueError`` if one of them takes no time or was not recorded
        (``c10/cuda/CUDAEvent.h``).
        """
        if not (self.enable_timing and end.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._time is None or end._time is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end._time - self._time) * 1000.0


def _number_of(stream: Any, races: Races) -> int:
    if stream is not None:
        return races.number_of(stream)
    kind = races.machine.primary
    return races.stream(torch.device(kind, races.machine.current_index(kind)))


_stream_ids = itertools.count(1)


class VirtualStream:
    """A stream on which everything is done at once, in program order."""

    machine: Machine
    kind: str

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        index = index_of(self.machine, self.kind, device)
        self.device = intern_device(torch.device(self.kind, index))
        self.device_index = index
        self.priority = priority
        self.stream_id = next(_stream_ids)
        self.cuda_stream = self.stream_id
        self._before: dict[int, list[Any]] = {}
        """What each thread that is in it goes back to."""

    def synchronize(self) -> None:
        """A host sync."""
        synchronized("Stream.synchronize")

    def query(self) -> bool:
        """Virtual work is done at once, and by this the host knows it."""
        moves.land_all()
        return True

    def is_capturing(self) -> bool:
        """Virtual devices capture no graphs."""
        return False

    def wait_stream(self, stream: Any) -> None:
        """Go on behind ``stream``; virtual work is done in program order anyway."""
        if Watch.current is not None:
            races = Watch.current
            races.ordered(races.number_of(stream), races.number_of(self))

    def wait_event(self, event: Any) -> None:
        """Go on behind ``event``; virtual work is done in program order anyway."""
        event.wait(self)

    def record_event(self, event: VirtualEvent | None = None) -> VirtualEvent:
        """Record and return ``event`` or a new one."""
        event = VirtualEvent() if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> VirtualStream:
        before = self._before.setdefault(threading.get_ident(), [])
        before.append(self.machine.enter_stream(self))
        return self

    def __exit__(self, *_: object) -> None:
        self.machine.leave_stream(self, self._before[threading.get_ident()].pop())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VirtualStream) and (self.device, self.stream_id) == (
            other.device,
            other.stream_id,
        )

    def __hash__(self) -> int:
        return hash((self.device, self.stream_id))

    def __repr__(self) -> str:
        return f"<virtual stream {self.stream_id} on {self.device}>"


def default_stream(stream_type: type[VirtualStream], index: int) -> VirtualStream:
    """The stream that a device has without being asked for one."""
    stream = stream_type(index)
    stream.stream_id = stream.cuda_stream = 0
    return stream


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


def properties(kind: str, index: int, profile: Profile) -> SimpleNamespace:
    """What ``get_device_properties`` tells of a virtual device.  ``total_memory`` in bytes."""
    return SimpleNamespace(
        name=device_name(kind, index),
        major=profile.capability[0],
        minor=profile.capability[1],
        total_memory=profile.memory,
        multi_processor_count=profile.processors,
        warp_size=32,
        max_threads_per_multi_processor=2048,
        max_threads_per_block=1024,
        shared_memory_per_block=49152,
        shared_memory_per_multiprocessor=167936,
        regs_per_multiprocessor=65536,
        L2_cache_size=41943040,
        is_integrated=0,
        is_multi_gpu_board=0,
        gcnArchName="",
        uuid=f"virtual-{kind}-{index}",
    )


def device_name(kind: str, index: int) -> str:
    """``devlint virtual cuda device 0``."""
    return f"devlint virtual {kind} device {index}"


UNSUPPORTED = (
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "change_current_allocator",
    "clock_rate",
    "cudart",
    "current_blas_handle",
    "device_memory_used",
    "get_per_process_memory_fraction",
    "get_stream_from_external",
    "graph",
    "host_memory_stats",
    "list_gpu_processes",
    "make_graphed_callables",
    "memory_usage",
    "power_draw",
    "temperature",
    "use_mem_pool",
)
"""Functions of ``torch.cuda`` that ask something of a device which only a real one knows."""


class NoGraph:
    """Stands for ``torch.cuda.CUDAGraph`` and ``MemPool``, which cannot be made."""

    def __new__(cls, *_: Any, **__: Any) -> NoGraph:
        raise UnsupportedVirtually(
            "CUDA graphs and memory pools on virtual devices: there is no device behind them"
        )


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _zero(*_: Any, **__: Any) -> int:
    return 0


def memory_api(machine: Machine, kind: str) -> dict[str, Callable[..., Any]]:
    """Memory figures of ``torch.cuda`` and ``torch.accelerator``: nothing is kept in reserve."""

    def meter(device: Any = None) -> Meter:
        index = index_of(machine, kind, device)
        machine.check_index(kind, index)
        return machine.meters[intern_device(torch.device(kind, index))]

    def allocated(device: Any = None) -> int:
        return meter(device).allocated

    def peak(device: Any = None) -> int:
        return meter(device).peak

    def reset(device: Any = None) -> None:
        meter(device).reset_peak()

    def info(device: Any = None) -> tuple[int, int]:
        total = machine.profiles[kind].memory
        return total - meter(device).allocated, total

    def summary(device: Any = None, abbreviated: bool = False) -> str:
        figures = meter(device)
        return f"virtual device: {figures.allocated} bytes allocated, {figures.peak} at most"

    return {
        "memory_allocated": allocated,
        "memory_reserved": allocated,
        "memory_cached": allocated,
        "max_memory_allocated": peak,
        "max_memory_reserved": peak,
        "max_memory_cached": peak,
        "reset_peak_memory_stats": reset,
        "reset_max_memory_allocated": reset,
        "reset_max_memory_cached": reset,
        "memory_stats": lambda device=None: meter(device).stats(),
        "memory_summary": summary,
        "mem_get_info": info,
        "get_memory_info": info,
    }


def module_api(machine: Machine, kind: str, module: Any) -> dict[str, Any]:
    """Attributes of ``torch.cuda`` (or ``xpu``) on the virtual machine."""

    def index(device: Any = None) -> int:
        found = index_of(machine, kind, device)
        machine.check_index(kind, found)
        return found

    def known(device: Any = None) -> int:
        """An index that ``get_device_properties`` has something to tell of."""
        found = index_of(machine, kind, device)
        with contextlib.suppress(RuntimeError):
            machine.check_index(kind, found)
            if found >= 0:
                return found
        raise AssertionError("Invalid device id")

    profile = machine.profiles[kind]

    def bf16_supported(including_emulation: bool = True) -> bool:
        return including_emulation or profile.capability >= (8, 0)

    def set_device(device: Any) -> None:
        machine.touch(kind)
        machine.set_current_index(kind, index_of(machine, kind, device, needed=True))

    def current_device() -> int:
        machine.touch(kind)
        return machine.current_index(kind)

    def lazy_init() -> None:
        """Called from C++ it means that something below the hooks wants the real thing."""
        if "_lazy_init" not in sys._getframe(1).f_code.co_names:
            raise UnsupportedVirtually(
                f"virtual devices: code below the hooks, such as the kernel of a custom operator, "
                f"asked PyTorch itself for the {kind} device"
            )
        machine.touch(kind)

    def synchronize(device: Any = None) -> None:
        index(device)
        synchronized(f"torch.{kind}.synchronize")

    def exchange(device: int) -> int:
        return machine.set_current_index(kind, device)

    @contextlib.contextmanager
    def stream_context(stream: Any) -> Iterator[None]:
        with contextlib.nullcontext() if stream is None else stream:
            yield

    context = type("device", (DeviceContext,), {"machine": machine, "kind": kind})

    def device_of(tensor: Any) -> Any:
        return context(tensor.get_device() if tensor.device.type == kind else -1)

    stream_type = type("Stream", (VirtualStream,), {"machine": machine, "kind": kind})

    def current_stream(device: Any = None) -> Any:
        at = index(device)
        return machine.current_stream(kind, at) or default_stream(stream_type, at)

    def set_stream(stream: Any) -> None:
        if stream is not None:
            machine.enter_stream(stream)

    def get_rng_state(device: Any = kind) -> torch.Tensor:
        return torch.get_rng_state()

    def set_rng_state(new_state: torch.Tensor, device: Any = kind) -> None:
        torch.set_rng_state(new_state)

    def get_rng_state_all() -> list[torch.Tensor]:
        return [torch.get_rng_state() for _ in range(machine.counts[kind])]

    def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
        for state in list(new_states)[:1]:
            torch.set_rng_state(state)

    api: dict[str, Any] = {
        "is_available": lambda: True,
        "is_initialized": machine.is_initialized,
        "init": lambda: machine.touch(kind),
        "_lazy_init": lazy_init,
        "_lazy_call": _nothing,
        "_is_in_bad_fork": machine.is_in_bad_fork,
        "device_count": lambda: machine.counts[kind],
        "current_device": current_device,
        "set_device": set_device,
        "device": context,
        "device_of": device_of,
        "_exchange_device": exchange,
        "_maybe_exchange_device": exchange,
        "get_device_name": lambda device=None: device_name(kind, known(device)),
        "get_device_capability": lambda device=None: (known(device), profile.capability)[1],
        "get_device_properties": lambda device=None: properties(kind, known(device), profile),
        "is_current_stream_capturing": lambda: False,
        "can_device_access_peer": lambda device, peer: known(device) != known(peer),
        "synchronize": synchronize,
        "is_bf16_supported": bf16_supported,
        "is_tf32_supported": lambda: profile.capability >= (8, 0),
        "get_arch_list": lambda: ["sm_{}{}".format(*profile.capability)],
        "get_gencode_flags": lambda: "",
        "ipc_collect": _nothing,
        "Stream": stream_type,
        "ExternalStream": stream_type,
        "Event": VirtualEvent,
        "stream": stream_context,
        "StreamContext": stream_context,
        "set_stream": set_stream,
        "current_stream": current_stream,
        "default_stream": lambda device=None: default_stream(stream_type, index(device)),
        "get_sync_debug_mode": lambda: machine.sync_debug_mode,
        "set_sync_debug_mode": machine.set_sync_debug_mode,
        "manual_seed": _nothing,
        "manual_seed_all": _nothing,
        "seed": _nothing,
        "seed_all": _nothing,
        "initial_seed": torch.initial_seed,
        "get_rng_state": get_rng_state,
        "set_rng_state": set_rng_state,
        "get_rng_state_all": get_rng_state_all,
        "set_rng_state_all": set_rng_state_all,
        "default_generators": tuple(
            virtual_generator(intern_device(torch.device(kind, i)))
            for i in range(machine.counts[kind])
        ),
        "empty_cache": _nothing,
        "get_allocator_backend": lambda: "native",
        **memory_api(machine, kind),
        "memory_snapshot": lambda *_, **__: [],
        "reset_accumulated_memory_stats": _nothing,
        "set_per_process_memory_fraction": _nothing,
        "utilization": _zero,
    }
    for name in UNSUPPORTED:
        api[name] = unsupported(f"torch.{kind}.{name}", "there is no device behind it")
    api["CUDAGraph"] = api["MemPool"] = api["XPUGraph"] = NoGraph
    return {
        name: value
        for name, value in api.items()
        if hasattr(module, name) or name in ("_is_in_bad_fork",)
    }


def mps_api(machine: Machine) -> dict[str, Any]:
    """Attributes of ``torch.mps`` on the virtual machine."""
    memory = memory_api(machine, "mps")

    def set_rng_state(new_state: torch.Tensor, device: Any = "mps") -> None:
        torch.set_rng_state(state_on_host(new_state))

    return {
        "device_count": lambda: 1,
        "synchronize": lambda: synchronized("torch.mps.synchronize"),
        "empty_cache": _nothing,
        "manual_seed": _nothing,
        "seed": _nothing,
        "get_rng_state": lambda device="mps": torch.get_rng_state(),
        "set_rng_state": set_rng_state,
        "set_per_process_memory_fraction": _nothing,
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
        "get_device_capability": lambda device=None: {},
        "empty_cache": _nothing,
        "empty_host_cache": _nothing,
        "Graph": NoGraph,
        **memory_api(machine, kind),
        "reset_accumulated_memory_stats": _nothing,
    }
    return {name: value for name, value in api.items() if hasattr(torch.accelerator, name)}


def nvtx_api() -> dict[str, Any]:
    """``torch.cuda.nvtx`` with nobody listening."""
    return {
        "range_push": _zero,
        "range_pop": _zero,
        "range_start": _zero,
        "range_end": _nothing,
        "mark": _nothing,
    }


def cudnn_api() -> dict[str, Any]:
    """``torch.backends.cudnn`` of a build that has none."""
    return {"is_available": lambda: True, "version": lambda: CUDNN_VERSION}


def profiler_api() -> dict[str, Any]:
    """``torch.cuda.profiler`` with nobody listening."""
    return {"start": _nothing, "stop": _nothing}


def comm_api() -> dict[str, Callable[..., Any]]:
    """``torch.nn.parallel.comm``: the collectives of ``DataParallel``, as copies and sums."""

    def device(index: Any) -> torch.device:
        return torch.device("cpu") if index in (-1, CPU) else torch.device(index)

    def broadcast(tensor: torch.Tensor, devices: Any = None, *, out: Any = None) -> Any:
        if out is not None:
            for copy in out:
                copy.copy_(tensor)
            return tuple(out)
        return tuple(tensor.to(device(d)) for d in devices)

    def broadcast_coalesced(tensors: Any, devices: Any, buffer_size: int = 0) -> Any:
        return [[t.to(device(d)) for t in tensors] for d in devices]

    def reduce_add(inputs: Any, destination: Any = None) -> torch.Tensor:
        target = inputs[0].device if destination is None else device(destination)
        total: torch.Tensor = inputs[0].to(target)
        for tensor in inputs[1:]:
            total = total + tensor.to(target)
        return total

    def reduce_add_coalesced(inputs: Any, destination: Any = None, buffer_size: int = 0) -> Any:
        return tuple(reduce_add(group, destination) for group in zip(*inputs, strict=True))

    def scatter(
        tensor: torch.Tensor,
        devices: Any = None,
        chunk_sizes: Any = None,
        dim: int = 0,
        streams: Any = None,
        *,
        out: Any = None,
    ) -> Any:
        count = len(devices if devices is not None else out)
        chunks = (
            tensor.chunk(count, dim)
            if chunk_sizes is None
            else torch.split(tensor, chunk_sizes, dim)
        )
        if out is not None:
            for copy, chunk in zip(out, chunks, strict=False):
                copy.copy_(chunk)
            return tuple(out)
        return tuple(c.to(device(d), copy=True) for c, d in zip(chunks, devices, strict=False))

    def gather(tensors: Any, dim: int = 0, destination: Any = None, *, out: Any = None) -> Any:
        if out is not None:
            return torch.cat([t.to(out.device) for t in tensors], dim, out=out)
        target = tensors[0].device if destination is None else device(destination)
        return torch.cat([t.to(target) for t in tensors], dim)

    return {
        "broadcast": broadcast,
        "broadcast_coalesced": broadcast_coalesced,
        "reduce_add": reduce_add,
        "reduce_add_coalesced": reduce_add_coalesced,
        "scatter": scatter,
        "gather": gather,
    }
