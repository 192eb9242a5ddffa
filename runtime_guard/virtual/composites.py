"""Composites that look at devices themselves, before PyTorch asks a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from runtime_guard.core.placement import CPU, local_part, placement_of, tag
from runtime_guard.core.tensors import tensors_of
from runtime_guard.core.torch_internals import enable_mkldnn, mkldnn_enabled
from runtime_guard.recording import observers
from runtime_guard.recording.contradictions import refuse
from runtime_guard.virtual import attention, moves
from runtime_guard.virtual.autocast import cast_all, lower_dtype
from runtime_guard.virtual.factories import name_of
from runtime_guard.virtual.function_mode import Args, FunctionMode, Handler, Kwargs
from runtime_guard.virtual.machine import UnsupportedVirtually

__tracebackhide__ = True  # pytest shows the user's frames only


def same_device_first(names: tuple[str, str], text: str) -> Handler:
    """A composite that checks two of its arguments before anything else, in its own words."""

    def handler(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
        first = args[0] if args else kwargs.get("input")
        second = kwargs.get("window")
        if second is None:
            second = next((a for a in args[1:] if isinstance(a, torch.Tensor)), None)
        if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
            refuse_if_apart(mode, text, (first, second), names, name_of(func))
        return mode.enter(func, args, kwargs)

    return handler


def all_together(text: str, names: Sequence[str] = ()) -> Handler:
    """A composite that first wants all its tensors on one device, 0-dim ones included.

    ``names`` are its arguments, where it takes no list of tensors.
    """

    def handler(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
        tensors = tensors_of([*args, *kwargs.values()])
        called = names or [f"tensors[{number}]" for number in range(len(tensors))]
        for tensor, name in zip(tensors[1:], called[1:], strict=False):
            pair = (tensors[0], tensor)
            refuse_if_apart(mode, text, pair, (called[0], name), name_of(func))
        return mode.enter(func, args, kwargs)

    return handler


def refuse_if_apart(
    mode: FunctionMode,
    text: str,
    tensors: tuple[torch.Tensor, torch.Tensor],
    names: tuple[str, str],
    what: str,
) -> None:
    """Raise ``text`` (with ``{0}`` and ``{1}`` for the devices) unless both live together."""
    devices = [moves.device_of(t) for t in tensors]
    if devices[0] is devices[1]:
        return
    between = (devices[0], devices[1])
    refuse(text.format(*devices), what, tensors, names, between=between)


def assert_metadata(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> None:
    """``_assert_tensor_metadata``, by which an exported program holds its tensors to their devices.

    The sentence is that of ``_assert_match`` in ``ATen/native/TensorProperties.cpp``.
    """
    device = kwargs.pop("device", None)
    found = moves.device_of(args[0])
    if device is not None and mode.machine.parse(device) != found:
        raise RuntimeError(f"Tensor device mismatch! Expected: {device}, Got: {found}")
    func(*args, **kwargs)


def recurrent(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``_VF.lstm`` and the other layers: input, hidden state and weights live together.

    The sentence is that of ``check_attributes`` in ``aten/src/ATen/native/RNN.cpp``.
    """
    data = args[0]
    packed = isinstance(args[3], (tuple, list))  # (data, batch_sizes, hx, weights, ...)
    hidden, weights = (args[2], args[3]) if packed else (args[1], args[2])
    for states in hidden if isinstance(hidden, (tuple, list)) else [hidden]:
        if isinstance(states, torch.Tensor):
            refuse_if_apart(
                mode,
                "Input and hidden tensors are not at the same device, found input tensor at {0} "
                "and hidden tensor at {1}",
                (data, states),
                ("input", "hx"),
                name_of(func),
            )
    for weight in weights if isinstance(weights, (tuple, list)) else ():
        if isinstance(weight, torch.Tensor):
            refuse_if_apart(
                mode,
                "Input and parameter tensors are not at the same device, found input tensor at {0} "
                "and parameter tensor at {1}",
                (data, weight),
                ("input", "weight"),
                name_of(func),
            )
    found = lower_dtype([data])
    if found is not None:  # `_cudnn_rnn` casts all it is given
        args = tuple(cast_all(value, *found) for value in args)
    if args[0].dtype is not torch.float16 or not mkldnn_enabled():
        return mode.run(func, args, kwargs)
    enable_mkldnn(False)  # has no recurrent layers of float16, the host's other kernels have
    try:
        return mode.run(func, args, kwargs)
    finally:
        enable_mkldnn(True)


def ctc_loss(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``torch.ctc_loss``: its C++ takes the lengths to the device of ``log_probs`` by itself."""
    log_probs = args[0] if args else kwargs["log_probs"]
    placement = placement_of(log_probs)

    def beside(value: Any) -> Any:
        copy = value.clone()
        if placement is not None:
            tag(copy, placement)
        return copy

    args = tuple(
        beside(a) if position in (2, 3) and isinstance(a, torch.Tensor) else a
        for position, a in enumerate(args)
    )
    for name in ("input_lengths", "target_lengths"):
        if isinstance(kwargs.get(name), torch.Tensor):
            kwargs[name] = beside(kwargs[name])
    return mode.run(func, args, kwargs)


def one_hot(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``F.one_hot``: only a host tensor's values are checked; the number of classes may be read."""
    tensor = args[0] if args else kwargs["tensor"]
    classes = args[1] if len(args) > 1 else kwargs.get("num_classes", -1)
    if moves.device_of(tensor).type == "cpu":
        return mode.run(func, args, kwargs)
    if classes == -1 and not mode.quiet:
        observers.sync("one_hot", "the number of classes is read from the values")
    mode.quiet += 1
    try:
        return mode.run(func, args, kwargs)
    finally:
        mode.quiet -= 1


def tensor_split(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``tensor_split``: where to split is a matter of the host."""
    for where in (*args[1:2], *kwargs.values()):
        if isinstance(where, torch.Tensor) and moves.device_of(where).type != "cpu":
            refuse_if_apart(
                mode,
                "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on {1}",
                (torch.empty(0), where),
                ("the host", "tensor_indices_or_sections"),
                "tensor_split",
            )
    return mode.run(func, args, kwargs)


def pad_packed(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``_VF._pad_packed_sequence``: the lengths that come back are on the host."""
    result = mode.run(func, args, kwargs)
    moves.tag_fresh(result[1], CPU)
    return result


def flex(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """The operator of ``flex_attention``: what it is made of, which autograd follows by itself.

    PyTorch's own gradient is of a graph that it draws on fake tensors, by autograd of a card that
    is there; and what the score's function captures has one only if a compiler has found it.
    """
    with mode.in_sight():
        made_of = func.py_kernels[torch._C.DispatchKey.CompositeExplicitAutograd]
        result, logsumexp, maxima = made_of(*args, **kwargs)
    return result, logsumexp, maxima.detach()


def scaled_dot_product(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``scaled_dot_product_attention`` where the program chose a backend by name."""
    query = args[0] if args else kwargs["query"]
    if local_part(query) is not None:
        return _distributed_attention(mode, func, args, kwargs)
    if attention.takes_anything() or moves.device_of(query).type != "cuda":
        return mode.run(func, args, kwargs)
    named = dict(zip(("query", "key", "value", "attn_mask"), args, strict=False)) | kwargs
    operands = attention.Operands(
        named["query"],
        named["key"],
        named["value"],
        named.get("attn_mask"),
        mode.machine.profiles["cuda"].capability,
        bool(named.get("is_causal")),
    )
    attention.check_backends(operands)
    with attention.hosts_choice():
        return mode.run(func, args, kwargs)


def _distributed_attention(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Of a ``DTensor``, which knows how to cut CUDA's kernels and not those of the host."""
    names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
    named = dict(zip(names, args, strict=False)) | kwargs
    if moves.device_of(named["query"]).type != "cuda":
        return mode.run(func, args, kwargs)
    dropout = named.get("dropout_p", 0.0)
    if dropout or named.get("enable_gqa"):
        what = "dropout" if dropout else "groups of queries"
        raise UnsupportedVirtually(
            f"scaled_dot_product_attention of a DTensor with {what} on virtual devices: the host "
            "has no kernel for it; give it the local tensors"
        )
    operands = [named[name] for name in ("query", "key", "value")]
    operands += [named.get("attn_mask"), True, dropout, bool(named.get("is_causal"))]
    kernel = torch.ops.aten._scaled_dot_product_efficient_attention
    result, *_ = mode.run(kernel, tuple(operands), {"scale": named.get("scale")})
    return result
