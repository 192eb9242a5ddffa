"""Autograd functions: `apply` runs `forward`, and `backward` finds what that has left.

    class Clamp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clamp(0, 1)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * (x > 0)

`Clamp.apply(x)` is `forward(ctx, x)`. The attributes of `ctx` hold in `backward` what `forward`
left in them, `ctx.saved_tensors` holds in order what was saved, tensors all of them, and a gradient
is where the output is that it belongs to.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import Const, Host
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import Device
from devlint.inference.domain.tensors import COPYING, GRAD, NON_LEAF, RECORDED, Tensor
from devlint.inference.domain.value import UNKNOWN, Value, alternatives, join_branches, union
from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import FunctionValue
from devlint.inference.syntax.text import dotted

_BASES = ("torch.autograd.Function", "torch.autograd.function.")


_STORING = ("forward", "setup_context")


_SAVED = "saved_tensors"


_OF_FORWARD = GRAD | RECORDED | NON_LEAF | COPYING  # traits that end with it


def applied(info: ClassInfo) -> FunctionValue | None:
    """`apply` of a class: its `forward`, which gets a `ctx` unless `setup_context` does."""
    forward = info.method("forward")
    if forward is None or not _is_differentiable(forward):
        return None
    context: list[Value] = [] if info.method("setup_context") is not None else [UNKNOWN]
    return FunctionValue(forward, None, (context, {}))


def save(frame: Frame, node: cst.Attribute, arguments: Arguments) -> None:
    """`ctx.save_for_backward(x, y)`: tensors all of them, or None."""
    function = frame.function
    if function is None or not _stores(function) or dotted(node.value) != _context(function):
        return
    for value, _ in arguments.positional:
        if type(value) is Tensor:
            value.show()
    saved = None if arguments.open else [value for value, _ in arguments.positional]
    kept = Sequence(saved, None, "tuple", addresses=())
    frame.state.hold(f"{_context(function)}.{_SAVED}", kept)


def store(frame: Frame) -> None:
    """Keep what the attributes of `ctx` hold where `forward` returns."""
    function = frame.function
    if function is None or not _stores(function):
        return
    prefix = f"{_context(function)}."
    for env in frame.outcome.exits:
        for path, value in env.items():
            if isinstance(path, str) and path.startswith(prefix):
                name = path.removeprefix(prefix)
                held = function.stored.get(name)
                function.stored[name] = value if held is None else join_branches(held, value)


def restore(frame: Frame, function: Function) -> None:
    """What `ctx` holds at the beginning of `backward`, and where the gradients are."""
    if function.name != "backward" or not _is_differentiable(function):
        return

    assert function.info is not None
    for name in _STORING:
        storing = function.info.method(name)
        if storing is not None:
            summary = frame.interpreter.summarize(storing)
            for attribute, value in storing.stored.items():
                lasting = _saved(value) if attribute == _SAVED else _lasting(value)
                frame.state.hold(f"{_context(function)}.{attribute}", lasting)
            if name == "forward" and summary is not None:
                _place_gradients(frame, function, summary.result)


def _place_gradients(frame: Frame, function: Function, output: Value) -> None:
    """A tensor for each output of `forward` that is one, where that is if its place is known."""
    is_row = type(output) is Sequence and output.kind == "tuple" and output.items is not None
    outputs = output.items if is_row and type(output) is Sequence else [output]
    for parameter, of_output in zip(function.parameters[1:], outputs or (), strict=False):
        value = parameter.value
        if type(value) is not Tensor or type(of_output) is not Tensor:
            continue
        place = of_output.place if type(of_output.place) is Device else value.place
        evidence = value.evidence if value.is_sure else Evidence(True)
        parameter.value = Tensor(place, value.origin, value.traits, evidence)
        frame.state.env[parameter.name] = parameter.value


def _saved(value: Value) -> Value:
    """`ctx.saved_tensors` in `backward`; several rows of one length are one."""
    if type(value) is not Sequence or value.items is None:
        return UNKNOWN
    return Sequence([_tensor(_lasting(item)) for item in value.items], None, "tuple")


def _tensor(value: Value) -> Value:
    """What is saved is a tensor, whatever a caller may hand in elsewhere."""
    if type(value) is Tensor and not value.is_sure:
        return Tensor(value.place, value.origin, value.traits, Evidence(True))
    return value


def _lasting(value: Value) -> Value:
    """A stored value as `backward` sees it: an input is where it was handed in. What is there in
    one branch and elsewhere in another is somewhere."""
    held = alternatives(value)
    placed = [type(v) is not Tensor or type(v.place) is Device for v in held]
    if any(placed) and not all(placed):
        return UNKNOWN
    return union(_of_backward(v) for v in held)


def _of_backward(value: Value) -> Value:
    if type(value) is not Tensor:
        return value if type(value) in (Host, Const) else UNKNOWN
    evidence = None if value.evidence is None else Evidence(value.is_sure)
    return Tensor(value.place, value.origin, value.traits & ~_OF_FORWARD, evidence, value.sizes)


def _stores(function: Function) -> bool:
    return function.name in _STORING and _is_differentiable(function)


def _is_differentiable(function: Function) -> bool:
    info = function.info
    return (
        info is not None
        and function.is_static
        and bool(_context(function))
        and any(base.startswith(_BASES) for base in info.library_bases)
    )


def _context(function: Function) -> str:
    params = function.node.params
    listed = [*params.posonly_params, *params.params]
    return listed[0].name.value if listed else ""
