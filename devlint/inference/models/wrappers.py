"""Wrappers and copies: what they give is, as far as devices go, what they were given.

`torch.compile(net)` and `copy.deepcopy(net)` are where `net` is.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import Const, External, Host
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import UNKNOWN, Value, alternatives, union
from devlint.inference.models import module_places
from devlint.inference.models.devices import place_of
from devlint.inference.models.handlers import Handler
from devlint.inference.models.module_inputs import feed
from devlint.inference.models.parallel import PARALLEL
from devlint.inference.models.tensor_classes import TENSOR
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import FunctionValue, Instance, Partial


def _copied(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`copy.deepcopy(x)`: another object, where the first one is now."""
    return union(_copy(frame, v) for v in alternatives(_same(frame, node, arguments)))


def _copy(frame: Frame, value: Value) -> Value:
    if type(value) is Mapping:
        return Mapping(dict(value.entries), value.element)
    if type(value) is Instance:
        place, origin = module_places.placed(frame, value)
        copied = module_places.replaced(value, place, origin, None)
        copied.fields = Mapping(dict(frame.fields_of(value).entries))
        copied.tensor = value.tensor
        return copied
    return value


def _replaced(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`dataclasses.replace(batch, images=images)`: another object, with some fields of its own."""
    copied = _copied(frame, node, arguments)
    if type(copied) is not Instance or arguments.open:
        return UNKNOWN
    copied.given = None
    copied.fields.entries.update({name: v for name, (v, _) in arguments.keywords.items()})
    return copied


def _script_module(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`torch.jit.load`: a module, where `map_location` says, else where it was saved from."""
    value = arguments.get(1, "map_location")
    place = place_of(frame, value) if value is not None else None
    return Instance(None, "", True, place, frame.origin(StepKind.LOADED, node, None, "loaded here"))


def _traced(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`torch.jit.trace(net, x)`: it calls the module, and returns it, wrapped."""
    feed(frame, node, frame.unit.context.knowledge.functions["torch.jit.trace"], arguments)
    return _same(frame, node, arguments)


def _same(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """A wrapper that gives back what it wraps, as far as devices go: `torch.compile(m)`."""
    return arguments.positional[0][0] if arguments.positional else UNKNOWN


def _cast(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`cast(Tensor, x)`: the value itself, which is a tensor."""
    if len(arguments.positional) < 2:
        return UNKNOWN
    kind, value = arguments.positional[0][0], arguments.positional[1][0]
    for each in alternatives(value) if type(kind) is External and kind.name == TENSOR else ():
        if type(each) is Tensor:
            each.show()
    return value


def _partial(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    if not arguments.positional:
        return UNKNOWN
    callee = arguments.positional[0][0]
    rest = [v for v, _ in arguments.positional[1:]]
    keywords = {k: v for k, (v, _) in arguments.keywords.items()}
    if type(callee) is FunctionValue and callee.given is None:
        return FunctionValue(callee.function, callee.bound, (rest, keywords))
    return Partial(callee, rest, keywords)


# What `checkpoint` keeps for itself.
_OF_CHECKPOINT = frozenset(
    {"use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug"}
)


def _checkpoint(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`checkpoint(block, x)`: the result of `block(x)`."""
    if not arguments.positional:
        return UNKNOWN
    rest = {k: v for k, v in arguments.keywords.items() if k not in _OF_CHECKPOINT}
    callee = node.args[0].value if node.args and node.args[0].star == "" else None
    given = Arguments(arguments.positional[1:], rest, arguments.open, callee=callee)
    return frame.interpreter.call(frame, node, arguments.positional[0][0], given)


def _cache(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`lru_cache(f)` and `lru_cache(maxsize=n)(f)`: a module in it is hidden from its parent."""
    callee = arguments.positional[0][0] if arguments.positional else None
    if type(callee) is Instance and callee.module:
        return Sequence([callee], None, "cache", node)
    if callee is None or type(callee) in (Const, Host):
        return External("functools.cache")
    return callee


WRAPPERS: dict[str, Handler] = {
    "torch.compile": _same,
    "torch.jit.script": _same,
    "torch.jit.trace": _traced,
    "torch.jit.load": _script_module,
    "torch.jit.freeze": _same,
    "torch.utils.checkpoint.checkpoint": _checkpoint,
    "torch.vmap": _same,
    "torch.func.vmap": _same,
    "functorch.vmap": _same,
    # Derivatives are where the function is called.
    **dict.fromkeys(
        (f"torch.func.{name}" for name in ("grad", "jacrev", "jacfwd", "hessian")), _same
    ),
    "copy.deepcopy": _copied,
    "copy.copy": _copied,
    "dataclasses.replace": _replaced,
    "typing.cast": _cast,
    **PARALLEL,
    "functools.partial": _partial,
    "functools.lru_cache": _cache,
    "functools.cache": _cache,
}
