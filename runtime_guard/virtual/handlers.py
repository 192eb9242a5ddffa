"""What a virtual machine answers to the calls that name devices: factories, moves, host reads.

Each handler is called with torch functions unhooked and returns what PyTorch would on a machine
that has the accelerators.  ``build_handlers`` is the table that ``FunctionMode`` looks into.
"""

from __future__ import annotations

from typing import Any

import torch

from runtime_guard.core.memory import meter_of
from runtime_guard.core.placement import CPU, Placement, local_part, placement_of, tag
from runtime_guard.core.sites import user_site
from runtime_guard.core.tensors import tensors_of
from runtime_guard.core.torch_internals import (
    PROXY,
    copy_below,
    default_device_context,
    disable_torch_function,
    enable_mkldnn,
    flex_attention,
    functions_in_cpp,
    is_tracing,
    mkldnn_enabled,
    nn_in_cpp,
)
from runtime_guard.recording import gradients, observers
from runtime_guard.recording.events import Kind
from runtime_guard.recording.explanation import explain_operands, rule_for, with_explanation
from runtime_guard.recording.modes import explain_error
from runtime_guard.virtual import attention, moves
from runtime_guard.virtual.autocast import cast_all, lower_dtype
from runtime_guard.virtual.function_mode import FunctionMode, Handler
from runtime_guard.virtual.machine import UnsupportedVirtually
from runtime_guard.virtual.refusals import check_generator
from runtime_guard.virtual.single_operations import CONVERSION, pass_by

__tracebackhide__ = True  # pytest shows the user's frames only

Args = tuple[Any, ...]
Kwargs = dict[str, Any]

_FROM_DATA = (torch.tensor, torch.as_tensor, torch.asarray)
_SPARSE = tuple(
    getattr(torch, name)
    for name in (
        "sparse_coo_tensor",
        "sparse_compressed_tensor",
        "sparse_csr_tensor",
        "sparse_csc_tensor",
        "sparse_bsr_tensor",
        "sparse_bsc_tensor",
    )
)


def default_device(mode: FunctionMode) -> torch.device | None:
    """The device of ``with torch.device(...)`` or ``set_default_device``, or None."""
    current = default_device_context.CURRENT_DEVICE
    return None if current is None else mode.machine.parse(current)


def _asked_device(mode: FunctionMode, kwargs: Kwargs) -> torch.device | None:
    requested = kwargs.get("device")
    return default_device(mode) if requested is None else mode.machine.parse(requested)


def _finish(mode: FunctionMode, result: Any, target: torch.device, kwargs: Kwargs) -> Any:
    pinned = kwargs.get("pin_memory")
    if isinstance(result, torch.Tensor):
        if pinned:
            result = moves.pin(result)
        moves.tag_fresh(result, target)
    return result


def _factory(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``torch.zeros(...)``: the result lives on ``device=``, the default device, or ``out``'s."""
    target = _asked_device(mode, kwargs)
    out = kwargs.get("out")
    if out is not None:
        held = moves.device_of(out)
        if kwargs.get("device") is not None and target is not None and target.type != held.type:
            raise RuntimeError(
                f"device type {target.type} does not match device type of out parameter "
                f"({held.type})"
            )
        target = held
    elif target is None:
        target = CPU
    virtual = mode.machine.is_virtual(target)
    generator = kwargs.get("generator")
    if generator is not None:
        check_generator(generator, target, func)
    if target.type != "meta":
        pinned = kwargs.pop("pin_memory", False)
        if virtual and is_tracing(PROXY):
            raise UnsupportedVirtually(
                f"make_fx on virtual devices: {_name(func)} would be traced on the host"
            )
        if pinned and virtual:
            raise RuntimeError("Only dense CPU tensors can be pinned")
        if virtual or kwargs.get("device") is not None or default_device(mode) is not None:
            kwargs["device"] = CPU
        if virtual and out is None:
            _refuse_too_much(func, args, kwargs, target)
        result = func(*args, **kwargs)
        if out is None:
            _finish(mode, result, target, {"pin_memory": pinned})
            if pinned and isinstance(result, torch.Tensor):
                return _finish(mode, moves.pin(result), target, {})
        return result
    return func(*args, **kwargs)


def _refuse_too_much(func: Any, args: Args, kwargs: Kwargs, target: torch.device) -> None:
    """Raise before the host's memory is taken for what the card has no room for."""
    meter = meter_of(target)
    if meter is not None and meter.limit is not None:
        there = {name: value for name, value in kwargs.items() if name != "generator"}
        meter.room_for(func(*args, **{**there, "device": "meta"}).untyped_storage().nbytes())


def _from_data(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``torch.tensor(data)``, ``as_tensor`` and ``asarray``: a tensor keeps its device.

    PyTorch asks no subclass about them: what is copied from one is a plain tensor.
    """
    data: Any = args[0] if args else kwargs.get("data", kwargs.get("obj"))
    if isinstance(data, torch.Tensor):
        with disable_torch_function():
            return _from_tensor(mode, func, data, args, kwargs)
    return _from_values(mode, func, data, args, kwargs)


def _from_tensor(
    mode: FunctionMode, func: Any, data: torch.Tensor, args: Args, kwargs: Kwargs
) -> Any:
    target = _asked_device(mode, kwargs)
    source = moves.device_of(data)
    if source.type == "meta" or (target is not None and target.type == "meta"):
        return func(*args, **kwargs)
    if target is None:
        target = source
    if source is not target:
        kwargs["device"] = CPU
        copy = func is torch.tensor
        moved = moves.move(mode.machine, data.detach() if copy else data, target, what=_name(func))
        placement = placement_of(moved)
        replaced = (moved, *args[1:]) if args else args
        if not args:
            kwargs["data" if "data" in kwargs else "obj"] = moved
        result = func(*replaced, **kwargs)
        if placement is not None:
            tag(result, placement)
        return result
    if target is not CPU or kwargs.get("device") is not None:
        kwargs["device"] = CPU
    result = func(*args, **kwargs)
    if func is torch.tensor and target is not CPU:
        tag(result, Placement(target, user_site()))
    return result


def _from_values(mode: FunctionMode, func: Any, data: Any, args: Args, kwargs: Kwargs) -> Any:
    observers.reads_of_elements(_name(func), data)
    target = _asked_device(mode, kwargs)
    if target is not None and target.type == "meta":
        return func(*args, **kwargs)
    if target is None:
        target = CPU
    pinned = kwargs.pop("pin_memory", False)
    if target is not CPU or kwargs.get("device") is not None:
        kwargs["device"] = CPU
    result = func(*args, **kwargs)
    if target is not CPU:
        if func is not torch.tensor and not isinstance(data, (list, tuple, int, float)):
            grad = result.requires_grad
            result = result.detach().clone()  # it shared memory with a NumPy array
            result.requires_grad_(grad)
        observers.transfer(result, CPU, target, _name(func))
    if pinned:
        result = moves.pin(result)
    moves.tag_fresh(result, target)
    return result


def _new(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``x.new_tensor(data)`` and the legacy ``x.new(...)``: beside ``x``, or on ``device=``."""
    requested = kwargs.get("device")
    target = moves.device_of(args[0]) if requested is None else mode.machine.parse(requested)
    if target.type == "meta":
        return func(*args, **kwargs)
    if requested is not None:
        kwargs["device"] = CPU
    result = func(*args, **kwargs)
    moves.tag_fresh(result, target)
    return result


def _sparse(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Sparse constructors: the device is ``device=`` or that of the values."""
    target = _asked_device(mode, kwargs)
    tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, torch.Tensor)]
    if target is None and tensors:
        target = moves.device_of(tensors[-1])
    if target is None:
        target = CPU
    if target.type == "meta":
        return func(*args, **kwargs)

    def there(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return moves.move(mode.machine, value, target, what=_name(func))
        return value

    args = tuple(there(a) for a in args)
    kwargs = {key: there(value) for key, value in kwargs.items()}
    if kwargs.get("device") is not None or default_device(mode) is not None:
        kwargs["device"] = CPU
    result = func(*args, **kwargs)
    if target is not CPU:
        moves.tag_fresh(result, target)
    return result


def _from_host_memory(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``torch.from_numpy`` and ``frombuffer``: always the host."""
    result = func(*args, **kwargs)
    moves.tag_fresh(result, CPU)
    return result


def _name(func: Any) -> str:
    return getattr(func, "__name__", str(func))


def parse_to(mode: FunctionMode, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    """The arguments of ``Tensor.to`` in all its overloads, by name.

    Overloads as in ``torch/csrc/autograd/utils/python_arg_parsing.h``: ``(device, dtype,
    non_blocking, copy)``, ``(dtype, non_blocking, copy)``, ``(other, non_blocking, copy)``.
    """
    found: dict[str, Any] = dict(kwargs)
    names = ["device", "dtype", "non_blocking", "copy"]
    if args:
        head = args[0]
        if isinstance(head, bool):  # to PyTorch a dtype
            observers.problem(
                Kind.NOT_A_DEVICE, ".to", "a truth value is taken for the dtype torch.bool"
            )
            args = (torch.bool, *args[1:])
        if isinstance(head, (bool, torch.dtype, type)):  # `float` is a dtype to PyTorch, too
            names = ["dtype", "non_blocking", "copy"]
        elif isinstance(head, torch.Tensor):
            names = ["other", "non_blocking", "copy"]
    found.update(zip(names, args, strict=False))
    other = found.pop("other", None)
    if other is not None:
        found["device"], found["dtype"] = moves.device_of(other), other.dtype
    elif found.get("device") is not None:
        found["device"] = mode.machine.parse(found["device"])
    return found


def _parse_module_to(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """What ``Module.to`` parses its arguments with: the device it returns is a wish for ``.to``."""
    if args and type(args[0]) is int:
        args = (mode.machine.parse(args[0]), *args[1:])
    if type(kwargs.get("device")) is int:
        kwargs["device"] = mode.machine.parse(kwargs["device"])
    result = func(*args, **kwargs)
    other = args[0] if args else kwargs.get("tensor")
    if isinstance(other, torch.Tensor):
        return (moves.device_of(other), *result[1:])
    return result


def _to(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    if len(args) == 2 and type(args[1]) is torch.dtype and not kwargs:
        refuse_dtype = args[1] is torch.float64 and "mps" in mode.machine.counts
        if not refuse_dtype and mode.operation_hook is not None:
            converted = pass_by(mode.operation_hook, CONVERSION, func, args, None)
            if converted is not NotImplemented:
                return converted
    wish = parse_to(mode, args[1:], kwargs)
    return moves.move(
        mode.machine,
        args[0],
        wish.get("device"),
        what=".to",
        dtype=wish.get("dtype"),
        non_blocking=bool(wish.get("non_blocking", False)),
        copy=bool(wish.get("copy", False)),
        memory_format=wish.get("memory_format"),
    )


def _to_copy(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``aten._to_copy``, as tensors that wrap others call it."""
    if kwargs.get("device") is None:
        return mode.run(func, args, kwargs)
    return moves.move(
        mode.machine,
        args[0],
        mode.machine.parse(kwargs["device"]),
        what=".to",
        dtype=kwargs.get("dtype"),
        non_blocking=bool(kwargs.get("non_blocking", False)),
        copy=True,
        memory_format=kwargs.get("memory_format"),
    )


def _move_method(kind: str) -> Handler:
    """``Tensor.cuda`` and its siblings."""

    def handler(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
        if kind not in mode.machine.counts:
            mode.machine.canonical(torch.device(kind))
            return func(*args, **kwargs)
        device = args[1] if len(args) > 1 else kwargs.get("device")
        if device is None:
            target = mode.machine.canonical(torch.device(kind))
        elif isinstance(device, int):
            target = mode.machine.canonical(torch.device(kind, device))
        else:
            target = mode.machine.parse(device)
            if target.type != kind:
                raise RuntimeError(f"Invalid device, must be {kind} device")
        non_blocking = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
        return moves.move(
            mode.machine,
            args[0],
            target,
            what=f".{kind}",
            non_blocking=bool(non_blocking),
            memory_format=kwargs.get("memory_format"),
        )

    return handler


def _cpu(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    memory_format = kwargs.get("memory_format", args[1] if len(args) > 1 else None)
    return moves.move(mode.machine, args[0], CPU, what=".cpu", memory_format=memory_format)


def _double(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    moves.refuse_dtype(torch.float64, moves.device_of(args[0]))
    return mode.run(func, args, kwargs)


def _type_as(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    other = args[1] if len(args) > 1 else kwargs["other"]
    target = moves.device_of(other)
    return moves.move(mode.machine, args[0], target, what=".type_as", dtype=other.dtype)


def _type(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``Tensor.type()``: the legacy name, or a conversion that also moves."""
    tensor = args[0]
    wanted = args[1] if len(args) > 1 else kwargs.get("dtype")
    device = moves.device_of(tensor)
    if wanted is None:
        name: str = func(tensor)
        if mode.machine.is_virtual(device):
            return name.replace("torch.", f"torch.{device.type}.", 1)
        return name
    if isinstance(wanted, torch.dtype):
        return moves.move(mode.machine, tensor, None, what=".type", dtype=wanted)
    kind, dtype = legacy_type(wanted)
    target = CPU if kind == "cpu" else device
    if kind != "cpu" and device.type != kind:
        target = mode.machine.canonical(torch.device(kind))
    non_blocking = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
    return moves.move(
        mode.machine, tensor, target, what=".type", dtype=dtype, non_blocking=bool(non_blocking)
    )


LEGACY_DTYPES = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "ByteTensor": torch.uint8,
    "CharTensor": torch.int8,
    "ShortTensor": torch.int16,
    "IntTensor": torch.int32,
    "LongTensor": torch.int64,
    "BoolTensor": torch.bool,
}


def legacy_type(wanted: Any) -> tuple[str, torch.dtype]:
    """``torch.cuda.FloatTensor`` or its name -> ``("cuda", torch.float32)``.

    Raises ``ValueError("invalid type")`` for other names, as PyTorch does.
    """
    name = wanted if isinstance(wanted, str) else f"{wanted.__module__}.{wanted.__name__}"
    name = name.removeprefix("builtins.")
    parts = name.removeprefix("torch.").split(".")
    leaf = parts[-1]
    dtype = torch.get_default_dtype() if leaf == "Tensor" else LEGACY_DTYPES.get(leaf)
    if dtype is None:
        raise ValueError(f"invalid type: '{name}'")
    return (parts[0] if len(parts) > 1 else "cpu"), dtype


def _get_device(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> int:
    device = moves.device_of(args[0] if args else kwargs["input"])
    return -1 if device.type == "cpu" else device.index or 0


def _numpy(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``Tensor.numpy()``: refused for an accelerator's tensor (``tensor_numpy.cpp``)."""
    tensor = args[0]
    device = moves.device_of(tensor)
    if device.type != "cpu" and device.type != "meta":
        if kwargs.get("force"):
            host = moves.move(mode.machine, tensor.detach(), CPU, what=".numpy")
            return func(host, **kwargs)
        sentence = (
            f"can't convert {device} device type tensor to numpy. Use Tensor.cpu() to copy the "
            "tensor to host memory first."
        )
        explanation = explain_operands([tensor], ["self"])
        observers.problem(
            Kind.HOST_READ,
            ".numpy",
            f"{sentence} {explanation}",
            source=str(device),
            target="cpu",
        )
        raise TypeError(with_explanation(sentence, explanation, "DEV401"))
    _note_host_read(tensor, ".numpy")
    try:
        return func(*args, **kwargs)
    except RuntimeError as error:  # it requires grad
        explain_error(error, ".numpy", args, kwargs)
        raise


def _note_host_read(tensor: torch.Tensor, what: str) -> None:
    placement = placement_of(tensor)
    if placement is not None and placement.move is not None:
        placement.move.used = True
        if not placement.move.landed:
            moves.report_read(placement.move, what)


def _reads_host(what: str) -> Handler:
    """A call that copies the values into Python objects: one sync, whatever it does inside."""

    def handler(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
        tensor = args[0]
        _note_host_read(tensor, what)
        if moves.device_of(tensor).type not in ("cpu", "meta"):
            moves.land_all()
            if not mode.quiet:
                observers.sync(what, "the values go to the host")
        mode.quiet += 1
        try:
            return func(*args, **kwargs)
        finally:
            mode.quiet -= 1

    return handler


def _reads_one(what: str) -> Handler:
    """``bool(t)`` and its siblings: ``.item()`` that the program does not ask for by name."""

    def handler(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
        with observers.read_as(what):
            return mode.enter(func, args, kwargs)

    return handler


def _prints(what: str) -> Handler:
    """``repr``, ``str`` and ``format`` of a tensor: one sync, then PyTorch's own formatting."""

    def handler(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
        _note_host_read(args[0], what)
        if moves.device_of(args[0]).type not in ("cpu", "meta") and not mode.quiet:
            moves.land_all()
            observers.sync(what, "printing reads the values")
        mode.quiet += 1
        try:
            return mode.enter(func, args, kwargs)
        finally:
            mode.quiet -= 1

    return handler


def _pin_memory(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    return moves.pin(args[0])


def _is_pinned(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> bool:
    return moves.is_pinned(args[0])


def _get_grad(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``tensor.grad``: of the copy of a leaf that was moved it is None."""
    if args[0].grad_fn is not None and not args[0].retains_grad:
        gradients.asked_about(args, "`.grad`")
    return func(*args, **kwargs)


def _set_grad(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``tensor.grad = g``: both on one device (``THPVariable_set_grad``)."""
    tensor, grad = args
    if isinstance(grad, torch.Tensor):
        expected, found = moves.device_of(tensor), moves.device_of(grad)
        if expected is not found:
            raise RuntimeError(
                with_explanation(
                    "assigned grad has data located on a different device",
                    explain_operands([tensor, grad], ["self", "grad"]),
                    rule_for([tensor, grad]),
                )
            )
    return func(*args, **kwargs)


def _copying(position: int) -> Handler:
    """``copy_`` and ``x[i] = value``: the gradient of a value from elsewhere goes back to it."""

    def handler(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
        value = args[position] if len(args) > position else kwargs.get("other")
        mode.writes_number = position == 2 and not isinstance(value, torch.Tensor)
        try:
            result = mode.run(func, args, kwargs)
        finally:
            mode.writes_number = False
        if position == 2 and observers.observing():
            _note_element(args[0], args[1])
        if isinstance(value, torch.Tensor) and value.requires_grad and torch.is_grad_enabled():
            source = moves.device_of(value)
            if source is not moves.device_of(args[0]):
                moves.gradient_goes_back(mode.machine, args[0], value, source)
        return result

    return handler


def _note_element(written: torch.Tensor, index: Any) -> None:
    """``x[i, j] = value`` on an accelerator: one launch for one element."""
    indices = index if isinstance(index, tuple) else (index,)
    if len(indices) != written.dim() or not all(isinstance(i, int) for i in indices):
        return
    device = moves.device_of(written)
    if device.type not in ("cpu", "meta"):
        observers.problem(Kind.ELEMENT_WRITE, "__setitem__", "", target=str(device))


def _on_the_host_only(name: str) -> Handler:
    """``apply_`` and its siblings, which call a Python function per element."""

    def handler(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
        if moves.device_of(args[0]).type != "cpu":
            raise TypeError(f"{name} is only implemented on CPU tensors")
        return func(*args, **kwargs)

    return handler


def _unsupported(what: str, why: str) -> Handler:
    def handler(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
        if args and isinstance(args[0], torch.Tensor) and moves.device_of(args[0]).type != "cpu":
            raise UnsupportedVirtually(f"{what} of a virtual accelerator's tensor: {why}")
        return func(*args, **kwargs)

    return handler


def _no_cuda_array(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``__cuda_array_interface__``: absent; its pointer would be the host's."""
    if moves.device_of(args[0]).type != "cpu":
        raise AttributeError(
            "a virtual accelerator's tensor has no __cuda_array_interface__: its memory is the "
            "host's"
        )
    return func(*args, **kwargs)


def _same_device_first(names: tuple[str, str], text: str) -> Handler:
    """A composite that checks two of its arguments before anything else, in its own words."""

    def handler(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
        first = args[0] if args else kwargs.get("input")
        second = kwargs.get("window")
        if second is None:
            second = next((a for a in args[1:] if isinstance(a, torch.Tensor)), None)
        if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
            refuse_if_apart(mode, text, (first, second), names, _name(func))
        return mode.enter(func, args, kwargs)

    return handler


def _all_together(text: str) -> Handler:
    """A composite that first wants all its tensors on one device, 0-dim ones included."""

    def handler(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
        tensors = tensors_of([*args, *kwargs.values()])
        for tensor in tensors[1:]:
            pair = (tensors[0], tensor)
            refuse_if_apart(mode, text, pair, ("tensors[0]", "tensors[i]"), _name(func))
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
    sentence = text.format(*devices)
    explanation = explain_operands(tensors, names)
    observers.problem(
        Kind.MIXED,
        what,
        f"{sentence} {explanation}",
        source=str(devices[0]),
        target=str(devices[1]),
        operands=tensors,
    )
    if observers.mixed_policy() == "raise":
        raise RuntimeError(with_explanation(sentence, explanation, rule_for(tensors)))


def _recurrent(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
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
                _name(func),
            )
    for weight in weights if isinstance(weights, (tuple, list)) else ():
        if isinstance(weight, torch.Tensor):
            refuse_if_apart(
                mode,
                "Input and parameter tensors are not at the same device, found input tensor at {0} "
                "and parameter tensor at {1}",
                (data, weight),
                ("input", "weight"),
                _name(func),
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


def _ctc_loss(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
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


def _one_hot(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
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


def _tensor_split(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
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


def _pad_packed(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``_VF._pad_packed_sequence``: the lengths that come back are on the host."""
    result = mode.run(func, args, kwargs)
    moves.tag_fresh(result[1], CPU)
    return result


def _flex_attention(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """The operator of ``flex_attention``: autograd traces it, on the devices that PyTorch knows."""
    trained = any(t.requires_grad for t in tensors_of([*args, *kwargs.values()]))
    if trained and torch.is_grad_enabled():
        raise UnsupportedVirtually(
            "flex_attention with gradients on virtual devices: it compiles, for a device that is "
            "not there"
        )
    return mode.run(func, args, kwargs)


def _named_device(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> torch.device:
    """``torch.device(...)``: a number alone is an index of the machine's accelerator."""
    if len(args) == 1 and not kwargs and type(args[0]) is int:
        numbered: torch.device = func(mode.machine.primary, args[0])
        return numbered
    return mode.machine.name(func(*args, **kwargs))


def _attention(mode: FunctionMode, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """``scaled_dot_product_attention`` where the program chose a backend by name."""
    query = args[0] if args else kwargs["query"]
    if local_part(query) is not None:
        return _distributed_attention(mode, func, args, kwargs)
    if attention.takes_anything() or moves.device_of(query).type != "cuda":
        return mode.run(func, args, kwargs)
    named = dict(zip(("query", "key", "value", "attn_mask"), args, strict=False)) | kwargs
    mask = named.get("attn_mask")
    attention.check_backends(named["query"], named["key"], named["value"], mask)
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


def build_handlers() -> dict[Any, Handler]:
    """The table from overridable functions to handlers."""
    table: dict[Any, Handler] = {}
    for factory in default_device_context._device_constructors():
        table[factory] = _factory
    for factory in _FROM_DATA:
        table[factory] = _from_data
    for factory in _SPARSE:
        table[factory] = _sparse
    for host in (torch.from_numpy, torch.frombuffer, torch.from_file):
        table[host] = _from_host_memory
    tensor: Any = torch.Tensor
    table[tensor.new_tensor] = _new
    table[tensor.new] = _new
    table[tensor.to] = _to
    table[copy_below] = _to_copy
    table[nn_in_cpp._parse_to] = _parse_module_to
    table[tensor.cuda] = _move_method("cuda")
    table[tensor.xpu] = _move_method("xpu")
    table[tensor.cpu] = _cpu
    table[tensor.double] = _double
    table[tensor.type] = _type
    table[tensor.type_as] = _type_as
    table[tensor.get_device] = _get_device
    if hasattr(torch, "get_device"):
        table[torch.get_device] = _get_device
    table[tensor.numpy] = _numpy
    for reader, what in observers.READERS.items():
        table[reader] = _reads_one(what)
    table[tensor.tolist] = _reads_host("tolist")
    table[tensor.__repr__] = _prints("repr")
    table[tensor.__format__] = _prints("format")
    table[tensor.pin_memory] = _pin_memory
    table[tensor.is_pinned] = _is_pinned
    table[tensor.grad.__get__] = _get_grad
    table[tensor.grad.__set__] = _set_grad
    table[tensor.copy_] = _copying(1)
    table[tensor.__setitem__] = _copying(2)
    for name in ("apply_", "map_", "map2_"):
        table[getattr(tensor, name)] = _on_the_host_only(name)
    table[tensor.__dlpack__] = _unsupported(
        "__dlpack__", "its memory is the host's, a consumer would believe it is the device's"
    )
    table[tensor.__cuda_array_interface__.__get__] = _no_cuda_array
    table[torch.stft] = table[tensor.stft] = _same_device_first(
        ("self", "window"),
        "stft input and window must be on the same device but got self on {0} and window on {1}",
    )
    table[torch.istft] = table[tensor.istft] = _same_device_first(
        ("self", "window"),
        "istft input and window must be on the same device but got self on {0} and window on {1}",
    )
    together = {
        torch.meshgrid: "meshgrid expects all tensors to have the same device",
        torch.block_diag: "torch.block_diag: input tensors must all be on the same "
        "device. Input 0 is on device {0} and another is on device {1}.",
        torch.quantile: "quantile() q tensor must be on the same device as the input tensor",
        torch.nanquantile: "quantile() q tensor must be on the same device as the input tensor",
        tensor.quantile: "quantile() q tensor must be on the same device as the input tensor",
        tensor.nanquantile: "quantile() q tensor must be on the same device as the input tensor",
    }
    for function, text in together.items():
        table[function] = _all_together(text)
    for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        table[getattr(functions_in_cpp, name)] = _recurrent
    table[nn_in_cpp.scaled_dot_product_attention] = _attention
    if flex_attention is not None:  # since torch 2.5
        table[flex_attention] = _flex_attention
    table[torch.device] = _named_device
    table[torch.ctc_loss] = _ctc_loss
    table[nn_in_cpp.one_hot] = _one_hot
    table[torch.tensor_split] = table[tensor.tensor_split] = _tensor_split
    table[functions_in_cpp._pad_packed_sequence] = _pad_packed
    return table
