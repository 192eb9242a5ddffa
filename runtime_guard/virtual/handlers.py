"""The table of handlers: what a virtual machine answers to the calls that name devices.

Each is called with torch functions unhooked and returns what PyTorch would on a machine that has
the accelerators.  ``FunctionMode`` looks into the table.
"""

from __future__ import annotations

from typing import Any

import torch

from runtime_guard.core.torch_internals import (
    copy_below,
    default_device_context,
    flex_attention,
    functions_in_cpp,
    nn_in_cpp,
)
from runtime_guard.recording import observers
from runtime_guard.virtual import (
    composites,
    conversions,
    factories,
    forward_mode,
    host_reads,
    moves,
    writes,
)
from runtime_guard.virtual.function_mode import Args, FunctionMode, Handler, Kwargs

__tracebackhide__ = True  # pytest shows the user's frames only


def _named_device(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> torch.device:
    """``torch.device(...)``: a number alone is an index of the machine's accelerator."""
    if len(args) == 1 and not kwargs and type(args[0]) is int:
        numbered: torch.device = func(mode.machine.primary, args[0])
        return numbered
    return mode.machine.name(func(*args, **kwargs))


def _get_device(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> int:
    device = moves.device_of(args[0] if args else kwargs["input"])
    return -1 if device.type == "cpu" else device.index or 0


def build_handlers() -> dict[Any, Handler]:
    """The table from overridable functions to handlers."""
    table: dict[Any, Handler] = {}
    for maker in default_device_context._device_constructors():
        table[maker] = factories.factory
    for maker in factories.FROM_DATA:
        table[maker] = factories.from_data
    for maker in factories.SPARSE:
        table[maker] = factories.sparse
    for host in (torch.from_numpy, torch.frombuffer, torch.from_file):
        table[host] = factories.from_host_memory
    tensor: Any = torch.Tensor
    table[tensor.new_tensor] = factories.new
    table[tensor.new] = factories.new
    table[tensor.to] = conversions.to
    table[copy_below] = conversions.to_copy
    for overload in ("device", "dtype", "dtype_layout", "other"):
        table[getattr(torch.ops.aten.to, overload)] = conversions.to_overload
    table[nn_in_cpp._parse_to] = conversions.parse_module_to
    table[tensor.cuda] = conversions.move_method("cuda")
    table[tensor.xpu] = conversions.move_method("xpu")
    table[tensor.cpu] = conversions.cpu
    table[tensor.double] = conversions.double
    table[tensor.type] = conversions.type_
    table[tensor.type_as] = conversions.type_as
    table[tensor.get_device] = _get_device
    if hasattr(torch, "get_device"):
        table[torch.get_device] = _get_device
    table[tensor.numpy] = host_reads.numpy
    for reader, what in observers.READERS.items():
        table[reader] = host_reads.reads_one(what)
    table[tensor.tolist] = host_reads.reads_host("tolist")
    table[tensor.__repr__] = host_reads.prints("repr")
    table[tensor.__format__] = host_reads.prints("format")
    table[tensor.pin_memory] = host_reads.pin_memory
    table[tensor.is_pinned] = host_reads.is_pinned
    table[tensor.grad.__get__] = writes.get_grad
    table[tensor.grad.__set__] = writes.set_grad
    table[tensor.copy_] = writes.copying(1)
    table[tensor.__setitem__] = writes.copying(2)
    for name in ("apply_", "map_", "map2_"):
        table[getattr(tensor, name)] = host_reads.on_the_host_only(name)
    table[tensor.__dlpack__] = host_reads.unsupported(
        "__dlpack__", "its memory is the host's, a consumer would believe it is the device's"
    )
    table[tensor.__cuda_array_interface__.__get__] = host_reads.no_cuda_array
    table[torch.stft] = table[tensor.stft] = composites.same_device_first(
        ("self", "window"),
        "stft input and window must be on the same device but got self on {0} and window on {1}",
    )
    table[torch.istft] = table[tensor.istft] = composites.same_device_first(
        ("self", "window"),
        "istft input and window must be on the same device but got self on {0} and window on {1}",
    )
    together = {
        torch.meshgrid: "meshgrid expects all tensors to have the same device",
        torch.block_diag: "torch.block_diag: input tensors must all be on the same "
        "device. Input 0 is on device {0} and another is on device {1}.",
    }
    for function, text in together.items():
        table[function] = composites.all_together(text)
    for quantile in (torch.quantile, torch.nanquantile, tensor.quantile, tensor.nanquantile):
        table[quantile] = composites.all_together(
            "quantile() q tensor must be on the same device as the input tensor", ("input", "q")
        )
    for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        table[getattr(functions_in_cpp, name)] = composites.recurrent
    table[nn_in_cpp.scaled_dot_product_attention] = composites.scaled_dot_product
    if flex_attention is not None:  # since torch 2.5
        table[flex_attention] = composites.flex
    table[torch.device] = _named_device
    table[torch.ops.aten._assert_tensor_metadata.default] = composites.assert_metadata
    table[functions_in_cpp._make_dual] = forward_mode.make_dual
    table[functions_in_cpp._unpack_dual] = forward_mode.unpack_dual
    table[torch.ctc_loss] = composites.ctc_loss
    table[nn_in_cpp.one_hot] = composites.one_hot
    table[torch.tensor_split] = table[tensor.tensor_split] = composites.tensor_split
    table[functions_in_cpp._pad_packed_sequence] = composites.pad_packed
    return table
