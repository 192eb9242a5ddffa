"""The parts of torch without public name or without types that this package stands on.

In one place, because these are what a new release of torch may move.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, cast

import torch
import torch._library.custom_ops
import torch.overrides
import torch.utils._device
import torch.utils._python_dispatch

RELEASE = tuple(int(part) for part in torch.__version__.partition("+")[0].split(".")[:2])
"""Of PyTorch: ``(2, 13)``."""

_c: Any = torch._C
_overrides: Any = torch.overrides
_dispatch: Any = torch.utils._python_dispatch

tensor_base: Any = torch._C.TensorBase
storage_base: Any = torch._C.StorageBase
functions_in_cpp: Any = torch._VF
forward_ad: Any = torch.autograd.forward_ad
"""Its ``_current_level`` is 0 or more where dual tensors are."""
mkldnn_enabled: Callable[[], bool] = _c._get_mkldnn_enabled
enable_mkldnn: Callable[[bool], None] = _c._set_mkldnn_enabled
nn_in_cpp: Any = torch._C._nn
copy_below: Any = torch.ops.aten._to_copy.default
flex_attention: Any = getattr(torch.ops.higher_order, "flex_attention", None)
default_device_context: Any = torch.utils._device

custom_operators: Any = torch._library.custom_ops.OPDEFS
"""What ``torch.library.custom_op`` made, by qualified name: definitions with their kernels."""

capture_frames: Callable[[bool, bool, bool], Any] = _c._profiler.gather_traceback
"""The frames of the caller, taken in C++: of Python, of TorchScript, of C++."""
_symbolize: Callable[[list[Any]], list[list[dict[str, Any]]]] = _c._profiler.symbolize_tracebacks


def frames_of_captured(captured: list[Any]) -> list[list[dict[str, Any]]]:
    """The frames that ``capture_frames`` took, each as ``name``, ``filename`` and ``line``.

    C++ asks ``torch._inductor`` for the lines behind generated code, and so imports it, which takes
    seconds; where nobody has there is no such code.
    """
    if "torch._inductor" in sys.modules:
        return _symbolize(captured)
    attributes, nobody = vars(torch), object()
    attributes["_inductor"] = nobody
    try:
        return _symbolize(captured)
    finally:
        if attributes.get("_inductor") is nobody:
            del attributes["_inductor"]


script_function: Any = _c.ScriptFunction
script_method: Any = _c.ScriptMethod

function_mode_stack: Callable[[], list[Any]] = _overrides._get_current_function_mode_stack
function_mode_count: Callable[[], int] = _overrides._len_torch_function_stack
function_mode_at: Callable[[int], Any] = _c._get_function_stack_at
push_function_mode: Callable[[Any], None] = _overrides._push_mode
pop_function_mode: Callable[[], Any] = _overrides._pop_mode
_has_torch_function: Callable[[Any], bool] = torch.overrides.has_torch_function
dispatch_mode_stack: Callable[[], list[Any]] = _dispatch._get_current_dispatch_mode_stack
without_dispatch_modes: Callable[[], AbstractContextManager[Any]] = _dispatch._disable_current_modes

dispatch_mode_count: Callable[[], int] = _c._len_torch_dispatch_stack
dispatch_mode_at: Callable[[int], Any] = _c._get_dispatch_stack_at
is_any_autocast_enabled: Callable[[], bool] = _c._is_any_autocast_enabled
_saved_tensors_hooks: Any = getattr(_c._autograd, "_top_saved_tensors_default_hooks", None)
saved_tensors_hooks: Callable[[bool], Any] = _saved_tensors_hooks or (lambda _: "unknown")
"""What packs and unpacks what autograd saves, None where nothing does."""
current_node: Callable[[], Any] = _c._current_autograd_node
"""The node of autograd's graph that backward is in, or None."""
set_key_excluded: Callable[[Any, bool], None] = _c._dispatch_tls_set_dispatch_key_excluded
"""From now on this thread's operations pass by what the dispatcher has for a key, or no longer."""
PYTHON, PYTHON_SNAPSHOT = _c.DispatchKey.Python, _c.DispatchKey.PythonTLSSnapshot
"""The keys by which dispatch modes are called."""


@contextlib.contextmanager
def below_dispatch_modes() -> Iterator[None]:
    """A block in which no dispatch mode sees what C++ does in this thread."""
    set_key_excluded(PYTHON, True)
    set_key_excluded(PYTHON_SNAPSHOT, True)
    try:
        yield
    finally:
        set_key_excluded(PYTHON, False)
        set_key_excluded(PYTHON_SNAPSHOT, False)


FAKE = _c._TorchDispatchModeKey.FAKE
PROXY = _c._TorchDispatchModeKey.PROXY
is_tracing: Callable[[Any], Any] = _c._get_dispatch_mode
"""The mode of fake tensors (``FAKE``) or of ``make_fx`` (``PROXY``) that is in force, or None."""

push_saved_tensors_hooks: Callable[[Any, Any], None] = (
    _c._autograd._push_saved_tensors_default_hooks
)

is_functional: Callable[[torch.Tensor], bool] = torch._is_functional_tensor
"""Is it a tensor of ``torch.func.functionalize``, which stands for another?"""

real_device = cast("Callable[[torch.Tensor], torch.device]", tensor_base.device.__get__)
"""Where PyTorch itself says that a tensor is, whatever ``Tensor.device`` answers."""

_as_subclass: Callable[[torch.Tensor, Any], torch.Tensor] = torch.Tensor.as_subclass

disable_torch_function: Callable[[], AbstractContextManager[Any]] = _c.DisableTorchFunction
"""A block in which neither modes nor subclasses are asked."""


@contextlib.contextmanager
def without_function_modes() -> Iterator[None]:
    """A block in which no function mode of those around it is asked; its own ones are."""
    modes = [pop_function_mode() for _ in range(function_mode_count())]
    try:
        with _c._EnableTorchFunction():
            yield
    finally:
        for mode in reversed(modes):
            push_function_mode(mode)


class dispatcher:
    """The tables of PyTorch's dispatcher, and its layer for autocast on the host."""

    registrations: Callable[[str], list[str]] = _c._dispatch_get_registrations_for_dispatch_key
    library: Any = torch.library.Library
    overriding: dict[str, Any] = (
        {"allow_override": True}
        if "allow_override" in inspect.signature(torch.library.Library.impl).parameters
        else {}
    )

    autocast_of_cuda: Any = _c.DispatchKeySet(_c.DispatchKey.AutocastCUDA)
    """The keys with which an operator is what CUDA's autocast makes of it."""

    @staticmethod
    def operator(name: str) -> Any:
        """``aten::sum.dim_IntList`` as what can be called."""
        namespace, _, rest = name.partition("::")
        base, _, overload = rest.partition(".")
        return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")

    @staticmethod
    def kernel(name: str, key: str) -> Any:
        """The kernel of an operator for a dispatch key; None before torch 2.9."""
        get_kernel = getattr(torch.library, "get_kernel", None)
        return None if get_kernel is None else get_kernel(name, key)

    @staticmethod
    def below_autocast(keys: Any) -> Any:
        """A set of dispatch keys without the host's autocast."""
        return keys.remove(_c.DispatchKey.AutocastCPU)

    @staticmethod
    def without_autocast() -> AbstractContextManager[Any]:
        """A block in which the host's autocast is passed by."""
        guard: AbstractContextManager[Any] = _c._ExcludeDispatchKeyGuard(
            _c.DispatchKeySet(_c.DispatchKey.AutocastCPU)
        )
        return guard


def without_batch(tensor: torch.Tensor) -> torch.Tensor:
    """The whole that a slice of the older ``vmap`` (``torch._vmap_internals``) stands for."""
    level = _c._vmapmode_increment_nesting() - 1
    _c._vmapmode_decrement_nesting()
    whole: torch.Tensor = torch._remove_batch_dim(tensor, level, 1, 0)
    return whole


def wraps_others(tensor: torch.Tensor) -> bool:
    """Is it a tensor without memory whose class answers for it (``_make_wrapper_subclass``)?"""
    if type(tensor).__torch_dispatch__ is torch.Tensor.__torch_dispatch__:
        return False
    try:
        return tensor.untyped_storage().data_ptr() == 0
    except (NotImplementedError, RuntimeError):
        return True


def as_subclass(tensor: torch.Tensor, cls: Any) -> torch.Tensor:
    """``tensor.as_subclass(cls)``, which torch 2.4 refuses of what a dispatch mode has seen."""
    try:
        return _as_subclass(tensor, cls)
    except RuntimeError as error:
        if "already associated to a python object" not in str(error):
            raise
    with without_dispatch_modes():
        return _as_subclass(tensor, cls)


def enter(mode: Any) -> None:
    """Push a function or dispatch mode."""
    mode.__enter__()


class FunctionHook(torch.overrides.TorchFunctionMode):
    """A mode that sees every call of a function of torch."""


def has_torch_function(tensors: Any) -> bool:
    """``torch.overrides.has_torch_function``; to ``torch.nn`` as it were without hooks of ours.

    There it decides about faster paths (``nn.TransformerEncoder``), elsewhere whether to ask us.
    """
    if not sys._getframe(1).f_globals.get("__name__", "").startswith("torch.nn.modules."):
        return _has_torch_function(tensors)
    modes = [pop_function_mode() for _ in range(function_mode_count())]
    others = [mode for mode in modes if not isinstance(mode, FunctionHook)]
    try:
        for mode in reversed(others):
            push_function_mode(mode)
        return bool(_has_torch_function(tensors))
    finally:
        for _ in others:
            pop_function_mode()
        for mode in reversed(modes):
            push_function_mode(mode)


class DispatchHook(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A mode that sees every ATen operation, those inside of higher-order operators included."""

    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # the wrapper that PyTorch would put around __torch_dispatch__ imports all of torch._dynamo
        return False
