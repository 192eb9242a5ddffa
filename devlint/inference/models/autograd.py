"""An autograd function's `ctx`: what `forward` stores in it is what `backward` finds there."""

from __future__ import annotations

from devlint.inference.domain.host import Const, Host
from devlint.inference.domain.placement import Device
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import UNKNOWN, Value, alternatives, join_branches, union
from devlint.inference.program.declarations import Function
from devlint.inference.program.frames import Frame

_BASES = ("torch.autograd.Function", "torch.autograd.function.")


_STORING = ("forward", "setup_context")


def store(frame: Frame) -> None:
    """Keep what the attributes of `ctx` hold where `forward` returns."""
    function = frame.function
    if function is None or function.name not in _STORING or not _is_differentiable(function):
        return
    prefix = f"{_context(function)}."
    for env in frame.outcome.exits:
        for path, value in env.items():
            if isinstance(path, str) and path.startswith(prefix):
                name = path.removeprefix(prefix)
                held = function.stored.get(name)
                function.stored[name] = value if held is None else join_branches(held, value)


def restore(frame: Frame, function: Function) -> None:
    """What `ctx` holds at the beginning of `backward`."""
    if function.name != "backward" or not _is_differentiable(function):
        return

    assert function.info is not None
    for name in _STORING:
        storing = function.info.method(name)
        if storing is not None:
            frame.interpreter.summarize(storing)
            for attribute, value in storing.stored.items():
                lasting = _lasting(value)
                if lasting is not None:
                    frame.state.hold(f"{_context(function)}.{attribute}", lasting)


def _lasting(value: Value) -> Value | None:
    """A stored value as `backward` sees it. What is where an input was lives with `ctx`: None."""
    placed = [v for v in alternatives(value) if type(v) is not Tensor or type(v.place) is Device]
    if not placed:
        return None
    if len(placed) < len(alternatives(value)):
        return UNKNOWN
    return union(v if type(v) in (Tensor, Host, Const) else UNKNOWN for v in placed)


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
