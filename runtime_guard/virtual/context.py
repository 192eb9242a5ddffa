"""``virtual_devices("cuda:2")``: a machine with accelerators, on a machine without.

Values live in host memory and are computed by the CPU's kernels; devices are tags.  Nothing is left
behind when the block ends: every attribute of torch is the object it was.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.parallel._functions
import torch.nn.parallel.comm
import torch.utils.dlpack

from runtime_guard.core import device_guards, inheritance
from runtime_guard.core.memory import install_meters
from runtime_guard.core.patches import Patches, show_originals
from runtime_guard.core.torch_internals import (
    has_torch_function,
    without_dispatch_modes,
    without_function_modes,
)
from runtime_guard.core.warning_places import keep_places
from runtime_guard.recording.module_moves import watch_module_moves
from runtime_guard.virtual import accelerator_api, data_parallel, generators, moves
from runtime_guard.virtual.autocast import patch_autocast
from runtime_guard.virtual.autograd import (
    patch_backward,
    patch_functions,
    patch_hooks,
    patch_saved_tensors,
)
from runtime_guard.virtual.compilers import compiled_code_runs_eagerly, patch_compilers
from runtime_guard.virtual.exports import patch_exports
from runtime_guard.virtual.fakes import patch_fakes
from runtime_guard.virtual.function_bodies import override_checks
from runtime_guard.virtual.handlers import build_handlers
from runtime_guard.virtual.hook_stacks import ThreadHooks, is_hooked
from runtime_guard.virtual.interprocess import rebuild, share_between_processes
from runtime_guard.virtual.legacy_types import (
    LEGACY_DTYPES,
    legacy_sparse_types,
    legacy_type,
    legacy_types,
)
from runtime_guard.virtual.libraries import patch_libraries
from runtime_guard.virtual.machine import (
    Machine,
    UnsupportedVirtually,
    no_such_part,
    parse_machine,
    parts_that_need_a_driver,
)
from runtime_guard.virtual.management import patch_management
from runtime_guard.virtual.process_groups import patch_process_groups
from runtime_guard.virtual.profiler import patch_profiler
from runtime_guard.virtual.remembered import ask_again
from runtime_guard.virtual.stand_ins import give_originals_back, hand_out
from runtime_guard.virtual.storages import patch_storages
from runtime_guard.virtual.streams import VirtualEvent, VirtualStream
from runtime_guard.virtual.tensor_groups import grouped
from runtime_guard.virtual.tensor_patches import (
    patch_dlpack,
    patch_nested,
    patch_origins,
    patch_tensor,
    patch_wrappers,
)
from runtime_guard.virtual.torch_imports import TorchImports

_entered: list[Machine] = []
"""The machines of the blocks that have not ended, the latest last; blocks may end in any order."""
_entry_lock = threading.RLock()


def active_machine() -> Machine | None:
    """The virtual machine in force, None outside of ``virtual_devices``."""
    return _entered[-1] if _entered else None


class virtual_devices(contextlib.ContextDecorator):
    """Inside the block, torch has the accelerators of ``spec``: ``"cuda:2"``, ``"cuda:1,mps"``.

    Context manager and decorator; may be nested with the same or with other devices (the innermost
    counts) and entered again.  Threads started inside belong to it.  With ``memory`` (``"24 GiB"``,
    or a kind of card such as ``"T4"``; in the spec ``"cuda:2@T4"``) an allocation beyond it raises
    ``torch.OutOfMemoryError``.  Raises ``ValueError`` for a
    spec it does not understand and ``RuntimeError`` where torch has a real device of that type.
    """

    def __init__(self, spec: str = "cuda:1", *, memory: str | None = None) -> None:
        self.spec = spec if memory is None else f"{spec}@{memory}"
        self.counts, self.profiles = parse_machine(self.spec)
        self._entered: list[_Installed] = []

    def _recreate_cm(self) -> virtual_devices:
        return virtual_devices(self.spec)

    def __enter__(self) -> Machine:
        for kind in self.counts:
            if really_available(kind):
                raise RuntimeError(
                    f"virtual_devices({self.spec!r}): this machine has a real {kind} device; use "
                    "DeviceGuard on it instead"
                )
        leave_inherited()
        installed = _Installed(Machine(self.counts, self.profiles))
        installed.install()
        inheritance.tell(installed, inheritance.MACHINE, self.spec)
        self._entered.append(installed)
        return installed.machine

    def __exit__(self, *_: object) -> None:
        self._entered.pop().remove()


_inherited: list[virtual_devices] = []


def enter_inherited(spec: str) -> None:
    """Go on to the machine of the parent process, until this one asks for a machine itself."""
    machine = virtual_devices(spec)
    machine.__enter__()
    _inherited.append(machine)


def leave_inherited() -> None:
    """Leave the parent's machine, if this process is on it."""
    while _inherited:
        _inherited.pop().__exit__()


def really_available(kind: str) -> bool:
    """Has this machine a real accelerator of type ``kind``?  False inside ``virtual_devices``."""
    if _entered:
        return False
    module = getattr(torch, kind, None)
    if kind == "mps":
        return bool(torch.backends.mps.is_available())
    return bool(module is not None and module.is_available())


def _nothing() -> None:
    return None


def arrive(*sent: Any) -> torch.Tensor:
    """A tensor that another process on a virtual machine sent to this one."""
    return rebuild(active_machine(), *sent)


class _Installed:
    """One entered block: its machine, the attributes it replaced, the hooks of its threads."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.patches = Patches()
        self.handlers: dict[Any, Any] = {}
        self.hooks: ThreadHooks | None = None
        self.imports = TorchImports(self._suspended)
        self.modules = frozenset(sys.modules)
        """Those that were there before the block."""
        self.eager = contextlib.ExitStack()
        self.end_autocast: Callable[[], None] = _nothing
        self.end_sharing: Callable[[], None] = _nothing
        self.default_device: torch.device | None = None
        self.default_dtype = torch.float32

    def install(self) -> None:
        with without_dispatch_modes():
            pass  # imports parts of torch: in a block other threads would see torch without it then
        with _entry_lock:
            self.handlers = build_handlers()
            self.default_device = _global_default_device()
            self.default_dtype = torch.get_default_dtype()
            try:
                self._patch()
            except BaseException:
                self.patches.undo()
                self.end_autocast()
                self.end_sharing()
                raise
            self.imports.install()
            _entered.append(self.machine)
            install_meters(self.machine.meters)
            ask_again()
        self.eager.enter_context(compiled_code_runs_eagerly())
        self.hooks = ThreadHooks(self.machine, self.handlers)
        self.hooks.push()

    def remove(self) -> None:
        inheritance.take_back(self)
        if self.hooks is not None:
            self.hooks.pop()
        self.eager.close()
        with _entry_lock:
            self.imports.remove()
            changed = _global_default_device() != self.default_device
            taken_back = self.patches.undo()
            give_originals_back(taken_back, self.modules)
            ask_again()
            self.end_autocast()
            self.end_sharing()
            _entered.remove(self.machine)
            install_meters(_entered[-1].meters if _entered else {})
            if not _entered:
                device_guards.take_back()
            self.machine.set_sync_debug_mode(0)
            self.machine.over = True
            if changed:
                torch.set_default_device(self.default_device)
            if self.default_device is None:  # a None left there confuses torch 2.4
                vars(torch._GLOBAL_DEVICE_CONTEXT).pop("device_context", None)
            if torch.get_default_dtype() is not self.default_dtype:
                torch.set_default_dtype(self.default_dtype)
        moves.forget_watched()

    @contextlib.contextmanager
    def _suspended(self) -> Iterator[None]:
        """Torch as it is outside of the block, for imports."""
        with _entry_lock, without_function_modes():
            finders = [f for f in sys.meta_path if isinstance(f, TorchImports)]
            for finder in finders:  # first of all: what follows imports, too
                finder.remove()
            redo = show_originals()
            try:
                with without_dispatch_modes():
                    yield
            finally:
                redo()
                sys.meta_path[:0] = finders

    def _patch(self) -> None:
        machine, patches = self.machine, self.patches
        base = _Real.of(not _entered)
        self._patch_accelerators(base)
        patches.update(torch, base.types(machine, "cpu"))
        if hasattr(torch, "accelerator"):  # since torch 2.6
            patches.update(torch.accelerator, accelerator_api.accelerator_api(machine))
        patches.set(torch, "Generator", generators.generator_factory(machine, base.generator))
        set_rng_state = generators.rng_state_setter(torch.set_rng_state)
        patches.set(torch, "set_rng_state", set_rng_state)
        patches.set(torch.random, "set_rng_state", set_rng_state)
        stream = type(
            "Stream",
            (VirtualStream,),
            {"machine": machine, "kind": machine.primary},
        )
        patches.set(torch, "Stream", stream)
        patches.set(torch, "Event", VirtualEvent)
        patches.set(torch, "set_default_tensor_type", self._set_default_tensor_type)
        patches.set(torch, "get_device_module", self._get_device_module)
        patches.set(torch._C, "_get_accelerator", lambda *_: torch.device(machine.primary))
        patches.set(torch.overrides, "has_torch_function", has_torch_function)
        for module in (torch.nn.functional, torch.functional, torch._tensor):
            patches.update(module, override_checks(module, self.handlers))
        patch_wrappers(patches, machine)
        patch_nested(patches, machine)
        patches.set(torch._C, "_group_tensors_by_device_and_dtype", grouped)
        patch_dlpack(patches)
        patch_tensor(patches, machine, lambda: machine.default_type)
        patch_storages(patches, machine)
        patch_origins(patches)
        self.end_autocast = patch_autocast(machine, patches)
        patch_profiler(patches, machine)
        patch_saved_tensors(patches)
        patch_functions(patches, machine)
        patch_backward(patches, machine)
        patch_hooks(patches)
        patch_compilers(patches)
        patch_fakes(patches, machine)
        patch_exports(patches, self._suspended)
        if "cuda" in machine.counts:
            patch_process_groups(patches)
            patch_management(patches, machine)
        self._patch_threads()
        self._patch_futures()
        self.end_sharing = share_between_processes(patches, machine, arrive)
        patches.set(torch._C, "__getattr__", no_such_part)
        patches.update(torch._C, parts_that_need_a_driver())
        watch_module_moves(patches, moves.device_of)
        keep_places(patches)
        hand_out(patches)

    def _patch_accelerators(self, base: _Real) -> None:
        """``torch.cuda`` and its siblings."""
        machine, patches = self.machine, self.patches
        for kind in machine.counts:
            module = getattr(torch, kind)
            if kind == "mps":
                patches.update(module, accelerator_api.mps_api(machine))
                patches.set(torch.backends.mps, "is_available", lambda: True)
                patches.set(torch.backends.mps, "is_built", lambda: True)
                continue
            api = accelerator_api.module_api(machine, kind, module)
            patches.update(module, api)
            for part in ("random", "memory", "graphs"):
                sub = getattr(module, part, None)
                if sub is not None:
                    patches.update(sub, {n: v for n, v in api.items() if n in vars(sub)})
            if kind == "cuda":
                self._patch_cuda(base)

    def _patch_cuda(self, base: _Real) -> None:
        """What there is of CUDA alone."""
        machine, patches = self.machine, self.patches
        patches.update(torch.cuda, base.types(machine, "cuda"))
        sparse_types = legacy_sparse_types(machine, "cuda")
        patches.update(
            torch.cuda.sparse,
            {n: t for n, t in sparse_types.items() if hasattr(torch.cuda.sparse, n)},
        )
        patch_libraries(patches, machine)
        patches.update(torch.nn.parallel.comm, data_parallel.comm_api())
        # a list with a place for each card, made where it is first asked for
        patches.set(torch.nn.parallel._functions, "_streams", None)

    def _patch_threads(self) -> None:
        """Threads started inside the block get hooks of their own."""
        machine, handlers = self.machine, self.handlers
        start = threading.Thread.start

        @functools.wraps(start)
        def start_hooked(thread: threading.Thread) -> None:
            run = thread.run

            def run_hooked() -> None:
                hooks = ThreadHooks(machine, handlers)
                hooks.push()
                try:
                    run()
                finally:
                    hooks.pop()

            thread.run = run_hooked  # type: ignore[method-assign]
            start(thread)

        self.patches.set(threading.Thread, "start", start_hooked)

    def _patch_futures(self) -> None:
        """What a future calls back may run in a thread that C++ started, such as gloo's."""

        def hooked(register: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(register)
            def register_hooked(future: Any, callback: Callable[..., Any]) -> Any:
                def call(done: Any) -> Any:
                    if is_hooked():
                        return callback(done)
                    hooks = ThreadHooks(self.machine, self.handlers)
                    hooks.push()
                    try:
                        return callback(done)
                    finally:
                        hooks.pop()

                return register(future, call)

            return register_hooked

        future, machine = torch._C.Future, self.machine
        make = future.__init__

        @functools.wraps(make)
        def make_on_host(future: Any, devices: list[torch.device]) -> None:
            """Its devices are those of which streams are waited for: here nothing runs behind."""
            make(future, [device for device in devices if not machine.is_virtual(device)])

        self.patches.set(future, "__init__", make_on_host)
        for name in ("then", "add_done_callback"):
            self.patches.set(future, name, hooked(getattr(future, name)))

    def _set_default_tensor_type(self, wanted: Any) -> None:
        kind, dtype = legacy_type(wanted)
        self.machine.default_type = torch.device(kind) if kind != "cpu" else None
        torch.set_default_dtype(dtype)
        torch.set_default_device(kind if kind != "cpu" else None)

    def _get_device_module(self, device: Any = None) -> Any:
        kind = self.machine.primary if device is None else torch.device(device).type
        module = getattr(torch, kind, None)
        if module is None:
            raise RuntimeError(
                f"Device '{kind}' does not have a corresponding module registered as "
                f"'torch.{kind}'."
            )
        return module


class _Real:
    """What the outermost block found in torch, for blocks nested in it."""

    outermost: _Real | None = None

    def __init__(self) -> None:
        self.generator = torch.Generator
        self.cpu_types = {name: getattr(torch, name) for name in LEGACY_DTYPES}

    @classmethod
    def of(cls, outermost: bool) -> _Real:
        if outermost or cls.outermost is None:
            cls.outermost = cls()
        return cls.outermost

    def types(self, machine: Machine, kind: str) -> dict[str, Any]:
        """The legacy tensor types of ``kind`` for ``machine``."""
        return legacy_types(machine, kind, self.cpu_types)


def _global_default_device() -> torch.device | None:
    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    device: torch.device | None = getattr(context, "device", None)
    return device


@contextlib.contextmanager
def hooks_in_this_thread(machine_block: virtual_devices) -> Iterator[None]:
    """For threads that something else than ``threading.Thread`` started: watch this one too."""
    if not machine_block._entered:
        raise RuntimeError("hooks_in_this_thread: the virtual_devices block is not entered")
    installed = machine_block._entered[-1]
    hooks = ThreadHooks(installed.machine, installed.handlers)
    hooks.push()
    try:
        yield
    finally:
        hooks.pop()


__all__ = ["UnsupportedVirtually", "active_machine", "hooks_in_this_thread", "virtual_devices"]
