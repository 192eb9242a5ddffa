"""Compilers cannot follow virtual devices.

What a program compiles inside the block runs eagerly, and so does what it compiled before.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from runtime_guard.core.patches import Patches, original_of, show_originals
from runtime_guard.core.torch_internals import (
    function_mode_stack,
    script_function,
    script_method,
    without_dispatch_modes,
)
from runtime_guard.virtual.function_mode import FunctionMode
from runtime_guard.virtual.machine import UnsupportedVirtually

_READ_CONSTANTS = (
    "_jit_pass_cse",
    "_jit_pass_onnx_constant_fold",
    "_jit_pass_onnx_deduplicate_initializers",
)
"""Passes over a graph of TorchScript, by which ``torch.onnx.export`` goes, that look at values."""
_said: set[str] = set()


def say_once(text: str) -> None:
    """Warn of ``text`` the first time in this process."""
    if text not in _said:
        _said.add(text)
        warnings.warn(text, UserWarning, stacklevel=3)


def patch_compilers(patches: Patches) -> None:
    """Replace the entry points of the compilers for one block."""
    patches.set(torch, "compile", _eager("torch.compile", _as_compiled))
    for name in ("script", "trace_module"):
        patches.set(torch.jit, name, _eager(f"torch.jit.{name}"))
    patches.set(torch.jit, "trace", _trace)
    for name in ("save", "freeze", "optimize_for_inference"):
        patches.set(torch.jit, name, _scripted_only(f"torch.jit.{name}", getattr(torch.jit, name)))
    for name in _READ_CONSTANTS:
        if hasattr(torch._C, name):
            patches.set(torch._C, name, _out_of_sight(getattr(torch._C, name)))
    patches.set(script_function, "__call__", _scripted(script_function))
    patches.set(script_method, "__call__", _scripted(script_method))


def _as_is(target: Any) -> Any:
    return target


def _as_compiled(target: Any) -> Any:
    """What ``torch.compile`` returns, uncompiled: of a module a wrapper with ``_orig_mod``."""
    if not isinstance(target, torch.nn.Module):
        return target
    redo = show_originals()  # it makes a table of torch's functions, and keeps it
    try:
        return importlib.import_module("torch._dynamo.eval_frame").OptimizedModule(target, _as_is)
    finally:
        redo()


def _eager(name: str, dress: Callable[[Any], Any] = _as_is) -> Callable[..., Any]:
    def run_eagerly(target: Any = None, *args: Any, **kwargs: Any) -> Any:
        say_once(f"{name}: on virtual devices the code runs eagerly, uncompiled")
        if target is None:
            return run_eagerly
        return dress(target)

    return run_eagerly


def _trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """``torch.jit.trace``: it calls what it is given with the example, and returns it as it is."""
    given = kwargs.get("example_kwarg_inputs") or {}
    if example_inputs is not None or given:
        inputs = () if example_inputs is None else example_inputs
        func(*(inputs if isinstance(inputs, (tuple, list)) else (inputs,)), **given)
    return _eager("torch.jit.trace")(func)


def _scripted_only(name: str, real: Any) -> Callable[..., Any]:
    """``torch.jit.save`` and its like, of what was scripted before the block."""

    @functools.wraps(real)
    def call(module: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(module, (torch.jit.ScriptModule, script_function)):
            raise UnsupportedVirtually(
                f"{name} on virtual devices: what torch.jit compiles there runs eagerly, and there "
                "is no TorchScript of it"
            )
        return real(module, *args, **kwargs)

    return call


def _scripted(kind: Any) -> Callable[..., Any]:
    """``__call__`` of what TorchScript compiled before the block.

    A function still has its Python code, which runs instead.  A method has not: in its factories
    ``x.device`` is the host, so they are put beside its first tensor argument.
    """
    call = kind.__call__

    @functools.wraps(call)
    def call_scripted(self: Any, *args: Any, **kwargs: Any) -> Any:
        source = getattr(self, "_torchdynamo_inline", None)
        if source is not None:
            return source(*args, **kwargs)
        for mode in reversed(function_mode_stack()):
            if isinstance(mode, FunctionMode):
                with mode.called_with((*args, *kwargs.values())):
                    return call(self, *args, **kwargs)
        return call(self, *args, **kwargs)

    return call_scripted


def _out_of_sight(real: Any) -> Callable[..., Any]:
    """A pass over a graph, whose operations are none of the program's."""

    @functools.wraps(real)
    def call(*args: Any, **kwargs: Any) -> Any:
        with without_dispatch_modes():
            return real(*args, **kwargs)

    return call


@contextlib.contextmanager
def compiled_code_runs_eagerly() -> Iterator[None]:
    """What ``torch.compile`` made before the block is called uncompiled in it."""
    dynamo = sys.modules.get("torch._dynamo.eval_frame")
    if dynamo is None:  # nothing was compiled
        yield
        return
    with _stance(dynamo, "force_eager", lambda _: lambda callback: None):
        yield


@contextlib.contextmanager
def code_is_traced() -> Iterator[None]:
    """Within a block that runs what is compiled eagerly: ``torch._dynamo`` traces again."""
    dynamo = importlib.import_module("torch._dynamo.eval_frame")
    with _stance(dynamo, "default", lambda _: original_of(dynamo, "set_eval_frame")):
        yield


@contextlib.contextmanager
def _stance(dynamo: Any, name: str, set_eval_frame: Any) -> Iterator[None]:
    """What ``torch._dynamo`` does with compiled code in the block: a stance, since torch 2.6;
    before, what it does when such code is called."""
    if hasattr(dynamo, "_set_stance"):
        before = dynamo._set_stance(dynamo.DynamoStance(name))
        try:
            yield
        finally:
            dynamo._set_stance(before)
    else:
        patches = Patches()
        patches.set(dynamo, "set_eval_frame", set_eval_frame(dynamo))
        try:
            yield
        finally:
            patches.undo()
