"""What each parameter may be, the likeliest first: annotation, default, use, and last its name.

``def forward(self, tokens: Tensor, mask=None)`` takes a tensor of whole numbers, for its name, and
no mask at first.  A class of the project is an ``Instance``, whose parameters are looked at
likewise.
"""

from __future__ import annotations

import argparse
import ast
import collections.abc
import enum
import inspect
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from runtime_guard.drive.docstrings import shapes_in, types_in
from runtime_guard.drive.names import by_name, is_device
from runtime_guard.drive.uses import Uses, assigned_attributes, uses_in
from runtime_guard.drive.values import (
    Address,
    Instance,
    Omitted,
    Record,
    Several,
    Table,
    Tensor,
    Text,
    Value,
)

SHAPES: dict[int, tuple[tuple[int, ...], ...]] = {
    0: ((),),
    1: ((8,), (2,)),
    2: ((2, 8),),
    3: ((2, 8, 8), (3, 32, 32)),
    4: ((2, 3, 32, 32), (2, 8, 8, 8)),
    5: ((2, 3, 8, 8, 8),),
}
"""Sizes to begin with, by the number of dimensions; the callee's errors say what else it takes."""
CARD = Text("torch.device(card)")
FILE_NAME = "witness-file"
ANSWERS = Text("lambda *_, **__: 4")
MODULE = Text("torch.nn.Linear(8, 8).to(card)")
ANY_MODEL = Text("runtime_guard.drive.objects.Gain().to(card)", ("runtime_guard.drive.objects",))
FIRST = Text("lambda *given, **_: given[0]")
_SGD = "torch.optim.SGD(torch.nn.Linear(8, 8).to(card).parameters(), 0.1)"
_PAIRS = (
    "[(torch.rand(8), torch.tensor(n % 4)) for n in range(6)]",
    "[(torch.rand(8), torch.rand(8)) for _ in range(6)]",
    "[(torch.rand(3, 32, 32), torch.tensor(n % 4)) for n in range(6)]",
)
MADE: dict[type, tuple[Text, ...]] = {
    torch.nn.Module: (MODULE, ANY_MODEL),
    torch.optim.Optimizer: (Text(_SGD),),
    torch.optim.lr_scheduler.LRScheduler: (Text(f"torch.optim.lr_scheduler.StepLR({_SGD}, 1)"),),
    torch.utils.data.Dataset: tuple(map(Text, _PAIRS)),
    torch.utils.data.DataLoader: tuple(
        Text(f"torch.utils.data.DataLoader({pairs}, batch_size=2)") for pairs in _PAIRS
    ),
}
"""What stands for an object of these classes."""
Code = tuple[str, int]
"""A function's file and first line."""


@dataclass(frozen=True)
class Slot:
    """A place for a value: a parameter, or a part of what stands for one."""

    address: Address
    name: str
    annotation: Any = None
    optional: bool = False
    default: Any = None
    uses: Uses = field(default_factory=Uses, compare=False)
    scope: dict[str, Uses] = field(default_factory=dict, compare=False)
    path: str = ""
    """Its dotted name in ``scope``: ``config.hidden_size``."""
    code: Code | None = None
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    shape: tuple[int, ...] = ()
    """The tensor's, where a docstring says it."""

    @property
    def beside_module(self) -> tuple[str, ...]:
        """The attributes that no module has, where methods of a module are called; else none."""
        module = torch.nn.Module
        methods = [
            uses
            for name in self.uses.attributes
            if hasattr(module, name) and (uses := self.scope.get(f"{self.path}.{name}"))
        ]
        if not any(uses.called or uses.asked for uses in methods):
            return ()
        own = (name for name in self.uses.attributes if not hasattr(module, name))
        return tuple(name for name in own if name != "training")

    def part(self, step: str, name: str, annotation: Any = None) -> Slot:
        """The slot of a part, such as an attribute."""
        path = f"{self.path}.{name}" if step.startswith(".") else f"{self.path}[]"
        return Slot(
            (*self.address, step),
            name,
            annotation,
            uses=self.scope.get(path, Uses()),
            scope=self.scope,
            path=path,
            code=self.code,
        )


def slots_of(function: Callable[..., Any], prefix: Address) -> list[Slot]:
    """The parameters of a function, method or class, without ``self``.

    Raises ``ValueError`` or ``TypeError`` for what has no signature.
    """
    code_of = _function_of(function)
    signature = inspect.signature(function)
    hints = _hints(code_of)
    documented = types_in(inspect.getdoc(code_of), inspect.getdoc(function))
    shapes = shapes_in(inspect.getdoc(code_of), inspect.getdoc(function))
    scope = _scope(function, code_of)
    _constants(scope, getattr(code_of, "__globals__", {}))
    slots = []
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        annotation = hints.get(name, parameter.annotation)
        if annotation is parameter.empty:
            annotation = documented.get(name)
        given = parameter.default is not parameter.empty
        slots.append(
            Slot(
                (*prefix, name),
                name,
                annotation,
                given or parameter.kind is parameter.VAR_POSITIONAL,
                parameter.default if given else None,
                scope.get(name, Uses()),
                scope,
                name,
                _code_key(code_of),
                parameter.kind,
                shapes.get(name, ()),
            )
        )
    return slots


def _function_of(function: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.isclass(function):
        function = function.__init__
    inner: Callable[..., Any] = inspect.unwrap(getattr(function, "__func__", function))
    return inner


def _code_key(function: Callable[..., Any]) -> Code | None:
    code = getattr(function, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else None


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except Exception:  # an annotation may be any expression
        return dict(getattr(function, "__annotations__", {}))


def source_tree(thing: Any) -> ast.AST | None:
    """The syntax tree of a function or class; None where there is no source."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(thing)))
    except (OSError, TypeError, SyntaxError):
        return None


def _scope(function: Callable[..., Any], code_of: Callable[..., Any]) -> dict[str, Uses]:
    """Uses by name; what a class keeps of an argument is used as ``self.name``."""
    tree = source_tree(code_of)
    if tree is None:
        return {}
    scope = uses_in(tree)
    if not inspect.isclass(function):
        return scope
    whole = source_tree(function)
    if whole is None:
        return scope
    inside = uses_in(whole)
    for attribute, names in assigned_attributes(tree).items():
        if len(names) != 1:
            continue
        (name,) = names
        for path, uses in inside.items():
            kept = f"self.{attribute}"
            if path == kept or path.startswith((kept + ".", kept + "[")):
                scope.setdefault(name + path[len(kept) :], Uses()).add(uses)
    return scope


def _constants(scope: Mapping[str, Uses], names: Mapping[str, Any]) -> None:
    """``mode == Mode.FAST`` and ``kind == KIND``: what the module's names stand for."""
    for uses in scope.values():
        for name in uses.compared:
            first, *rest = name.split(".")
            value = names.get(first)
            for part in rest:
                value = getattr(value, part, None)
            if isinstance(value, enum.Enum):
                uses.members[_named(type(value), value.name)] = None
            if isinstance(value, str):
                uses.strings[value.value if isinstance(value, enum.Enum) else value] = None


def candidates(slot: Slot) -> list[Value]:
    """What may stand in ``slot``, the likeliest first, each once."""
    found: list[Value] = []
    if is_device(slot.name):
        found += [CARD, Text("card")]
    members = [*slot.uses.members] if not isinstance(slot.default, str) else []
    if slot.optional:
        found.append(Omitted())
    found += members
    if isinstance(slot.default, bool):
        found.append(Text(repr(not slot.default)))
    elif isinstance(slot.default, str):
        found += _texts(slot.uses)
    elif isinstance(slot.default, int):
        found += [value for value in by_name(slot.name) if _is_number(value)]
        found += [Text(number) for number in ("2", "4", "1", "0", "8")]
    elif isinstance(slot.default, float):
        found += [Text("0.5"), Text("0.0"), Text("1.0")]
    else:
        found += _documented(slot)
        found += _by_annotation(slot, slot.annotation)
        found += _by_use(slot)
        found += by_name(slot.name)
        found += _FALLBACKS
    if slot.uses.attributes and not slot.uses.tensor:
        found.append(Record(tuple(slot.uses.attributes)))
    return list(dict.fromkeys(_fitting(slot, value) for value in found))


_FALLBACKS: tuple[Value, ...] = (
    Tensor("float", (2, 8)),
    Text("8"),
    Tensor("long", (2, 8)),
    Tensor("float", (2, 8, 8)),
    Tensor("float", (2, 3, 32, 32)),
    Tensor("float", ()),
    Tensor("float", (8,)),
    Several(2),
    MODULE,
    Text("0.5"),
    Text("None"),
    Text("True"),
)


def _is_number(value: Value) -> bool:
    return isinstance(value, Text) and value.source.replace(".", "", 1).isdigit()


def _fitting(slot: Slot, value: Value) -> Value:
    """A tensor with as many dimensions as its uses show."""
    ranks = slot.uses.ranks & SHAPES.keys()
    if isinstance(value, Tensor) and ranks and len(value.shape) < max(ranks):
        return replace(value, shape=SHAPES[max(ranks)][0])
    return value


_ARRAYS = frozenset({"np.ndarray", "numpy.ndarray", "ndarray"})


def _documented(slot: Slot) -> Iterator[Value]:
    """A tensor of the shape that its docstring says, of the type that its name says."""
    if slot.shape and slot.annotation in (None, Any, inspect.Parameter.empty, torch.Tensor):
        named = [value.kind for value in by_name(slot.name) if isinstance(value, Tensor)]
        yield from (Tensor(kind, slot.shape) for kind in dict.fromkeys((*named[:1], "float")))


def _texts(uses: Uses) -> Iterator[Text]:
    """What it is compared with, what has the ending that is asked for, and a path."""
    for text in uses.strings:
        yield Text(repr(text))
    for end in uses.ends:
        yield Text(repr(f"{FILE_NAME}{end}"))
    if uses.path:
        yield Text(f'"{FILE_NAME}"')


_OF_WHAT_IS_MOVED = frozenset({"to", "cuda", "cpu", "device", "dtype"})
"""What tensors and modules have in common: who is asked for nothing else is one of them."""


def _by_use(slot: Slot) -> Iterator[Value]:
    uses = slot.uses
    yield from _texts(uses)
    if uses.asked and not uses.called and not uses.attributes:
        yield ANSWERS
    if uses.is_flag:
        yield from (Text("False"), Text("True"))
    named = by_name(slot.name)
    if uses.kind in MADE:
        yield from MADE[uses.kind]
    elif uses.kind is str:
        yield from (v for v in named if isinstance(v, Text) and v.source.startswith('"'))
        yield Text('"mean"')
    elif uses.kind is object and not uses.called:
        yield Record(tuple(uses.attributes))
    elif slot.beside_module:
        yield Record(slot.beside_module, module=True)
    if not uses.classes.keys().isdisjoint(_ARRAYS):
        for rank in sorted(uses.ranks & SHAPES.keys(), reverse=True) or (3, 2):
            yield Text(f"torch.rand({', '.join(map(str, SHAPES[rank][0]))}).numpy()")
    if uses.keys or uses.mapping:
        yield Table(tuple(uses.keys))
    if uses.number > uses.tensor:
        yield from (value for value in named if isinstance(value, Text))
        yield Text("8")
    if uses.tensor or uses.ranks:
        yield from (value for value in named if isinstance(value, Tensor))
        for rank in sorted(uses.ranks & SHAPES.keys(), reverse=True)[:1]:
            yield from (Tensor("float", shape) for shape in SHAPES[rank])
        yield Tensor("float", (2, 8))
    elif uses.called:
        if uses.several:
            yield FIRST
            yield ANY_MODEL
        yield Text("torch.nn.Identity()")
        yield MODULE
    elif uses.attributes:
        if _OF_WHAT_IS_MOVED.issuperset(uses.attributes):
            yield from named
            yield Tensor("float", (2, 8))
        yield Record(tuple(uses.attributes))
    elif uses.iterated or uses.parts:
        yield Several(uses.parts or 2, as_tuple=bool(uses.parts))


def _by_annotation(slot: Slot, annotation: Any) -> Iterator[Value]:
    if annotation is None or annotation is Any:
        return
    named = by_name(slot.name)
    numbers = [value for value in named if isinstance(value, Text)]
    if isinstance(annotation, str):
        if annotation.rpartition(".")[2].rstrip("]") == "Tensor":
            annotation = torch.Tensor
        else:
            return
    origin = typing.get_origin(annotation)
    inside = typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        for part in inside:
            yield from _by_annotation(slot, part)
    elif origin is typing.Literal:
        yield from (Text(repr(choice)) for choice in inside)
    elif origin is typing.Annotated:
        yield from _by_annotation(slot, inside[0])
    elif origin is not None:
        yield from _by_container(slot, origin, inside)
    elif annotation is torch.Tensor:
        yield from (value for value in named if isinstance(value, Tensor))
        for rank in sorted(slot.uses.ranks & SHAPES.keys(), reverse=True)[:1]:
            yield from (Tensor("float", shape) for shape in SHAPES[rank])
        yield Tensor("float", (2, 8))
    elif annotation is bool:
        yield from (Text("True"), Text("False"))
    elif annotation is int:
        yield from (v for v in numbers if v.source.isdigit())
        yield Text("8")
    elif annotation is float:
        yield from (v for v in numbers if v.source.replace(".", "").isdigit())
        yield Text("0.5")
    elif annotation is str:
        yield from _texts(slot.uses)
        yield from (v for v in numbers if v.source.startswith('"'))
        yield Text('"mean"')
    elif annotation in (list, tuple, collections.abc.Iterable, collections.abc.Sequence):
        yield Several(2, as_tuple=annotation is tuple)
    elif annotation is dict:
        yield Table(tuple(slot.uses.keys))
    elif inspect.isclass(annotation):
        yield from _of_class(annotation)


def _by_container(slot: Slot, origin: Any, inside: tuple[Any, ...]) -> Iterator[Value]:
    if origin in (dict, collections.abc.Mapping, collections.abc.MutableMapping):
        yield Table(tuple(slot.uses.keys))
    elif origin is tuple:
        count = 2 if len(inside) == 2 and inside[1] is ... else len(inside)
        yield Several(count, as_tuple=True)
    elif origin in MADE:
        yield from MADE[origin]
    elif origin is collections.abc.Callable:
        yield from (v for v in by_name(slot.name) if isinstance(v, Text))
        yield Text("torch.nn.Identity()")
    elif inspect.isclass(origin) and issubclass(origin, collections.abc.Iterable):
        yield Several(2)


MOST_HEIRS = 4


def _heirs(wanted: type) -> list[type]:
    """Classes of the same package that inherit from it, for what takes some of them only."""
    package = wanted.__module__.split(".")[0]
    found = [wanted]
    for known in found:
        heirs: list[type] = type.__subclasses__(known)
        named = (heir for heir in heirs if "<locals>" not in heir.__qualname__)
        found += [heir for heir in named if heir.__module__.split(".")[0] == package]
        if len(found) > MOST_HEIRS:
            break
    return list(dict.fromkeys(found[1:]))[:MOST_HEIRS]


def _named(owner: type, name: str) -> Text:
    return Text(f"{owner.__module__}.{owner.__qualname__}.{name}", (owner.__module__,))


def _of_class(wanted: type) -> Iterator[Value]:
    if wanted is torch.device:
        yield CARD
    elif wanted is torch.dtype:
        yield Text("torch.float32")
    elif wanted is torch.Generator:
        yield Text("torch.Generator(card)")
    elif wanted is torch.Size:
        yield Text("torch.Size((2, 8))")
    elif made := next((made for kind, made in MADE.items() if wanted is kind), ()):
        yield from made
    elif issubclass(torch.nn.Linear, wanted) and wanted is not object:
        yield MODULE
    elif issubclass(torch.optim.SGD, wanted) and wanted is not object:
        yield from MADE[torch.optim.Optimizer]
    elif wanted is argparse.Namespace:
        yield Record(())
    elif wanted.__module__ == "numpy" and wanted.__name__ == "ndarray":
        yield Text("torch.rand(2, 8).numpy()")
    elif issubclass(wanted, enum.Enum):
        yield from (_named(wanted, name) for name in list(wanted.__members__)[:8])
    elif wanted.__module__.split(".")[0] not in sys.stdlib_module_names:
        for one in (wanted, *_heirs(wanted)):
            yield Instance(one.__module__, one.__qualname__)


def element_of(annotation: Any) -> Any:
    """What a container holds: ``Tensor`` for ``list[Tensor]``; None where it does not say."""
    for part in typing.get_args(annotation):
        if typing.get_origin(annotation) in (typing.Union, types.UnionType):
            inner = element_of(part)
            if inner is not None:
                return inner
        elif part is not ...:
            return part
    return None
