"""Shapes of new tensors, as far as the arguments of a factory say."""

from __future__ import annotations

from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import Const, External, Host
from devlint.inference.domain.tensors import (
    EMPTY,
    LITERAL,
    MATRIX,
    MAYBE_SCALAR,
    SCALAR,
    SHAPED,
    VECTOR,
    Tensor,
)
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.models.factories import OF_DATA
from devlint.inference.program.functions import Arguments
from devlint.inference.syntax.text import dotted

_OF_SIZES = frozenset({"zeros", "ones", "empty", "rand", "randn", "full"})
SHAPES = SCALAR | MAYBE_SCALAR | SHAPED | VECTOR | MATRIX  # what is known of a tensor's dimensions


def traits_of_data(last: str, arguments: Arguments) -> int:
    """0-dim and emptiness, by what the factory is given."""
    if last == "scalar_tensor":
        return SCALAR
    if last in ("arange", "linspace", "logspace", "randperm") or last.endswith("_window"):
        return VECTOR
    if last in OF_DATA or last == "new_tensor":
        return _traits_of_literal(arguments)
    if last.removeprefix("new_") in _OF_SIZES:
        return _traits_of_sizes(arguments, last.endswith("full"))
    if last == "randint":  # behind its bounds, of which the lower one may be left out
        sizes = arguments.positional[1:][-1:]
        rest = Arguments(sizes, arguments.keywords, arguments.open)
        return _traits_of_sizes(rest, True) if sizes or "size" in arguments.keywords else 0
    return MATRIX if last == "eye" else 0


def _traits_of_literal(arguments: Arguments) -> int:
    """`torch.tensor(data)`: the shape is that of the data."""
    data = arguments.get(0, "data")
    if type(data) is Const or (type(data) is Host and not data.array and not data.whole):
        return SCALAR | LITERAL
    if type(data) is Host:
        return 0 if data.array else VECTOR
    if type(data) is Sequence:
        if data.items == []:
            return EMPTY
        flat = data.items is not None and all(type(v) in (Const, Host) for v in data.items)
        return LITERAL | (VECTOR if flat else 0)
    if type(data) is External and data.name.startswith(("math.", "numpy.", "sys.")):
        return SCALAR | LITERAL
    return 0 if _is_plural(arguments) else MAYBE_SCALAR


def _traits_of_sizes(arguments: Arguments, in_one: bool) -> int:
    """`torch.zeros(2, 3)`, `torch.zeros((2, 3))`; `in_one`: as a tuple alone."""
    given = [value for value, _ in arguments.positional[: 1 if in_one else None]]
    if not given and "size" in arguments.keywords:
        given = [arguments.keywords["size"][0]]
    if not arguments.positional and "size" not in arguments.keywords:
        return 0 if arguments.open else SCALAR
    first = given[0] if given else None
    if type(first) is Sequence and first.items == []:
        return SCALAR
    listed = first.items or [] if type(first) is Sequence else []
    if len(given) == 1 and (type(first) in (Const, Host) or len(listed) == 1):
        if _is_zero(listed[0] if listed else first):
            return EMPTY
        return 0 if type(first) is Host and first.whole else VECTOR
    is_empty = any(map(_is_zero, listed if in_one else [*given, *listed]))
    several = len(given) > 1 or len(listed) > 1
    return (EMPTY if is_empty else 0) | (MATRIX if several else 0)


def _is_zero(size: Value | None) -> bool:
    return type(size) is Const and size.value == 0


def _is_plural(arguments: Arguments) -> bool:
    """By its name the data is a list: `weights`, `anchors`, but not `num_edits`."""
    node = arguments.node(0, "data")
    name = dotted(node).rpartition(".")[2] if node is not None else ""
    counts = name.startswith(("num_", "n_", "total_", "count_")) or holds("width-name", name)
    singular = name.endswith(("eps", "bias", "loss", "pos", "axis"))
    return name.endswith("s") and not singular and not counts


# Factories whose bounds may be tensors, which they read.
OF_NUMBERS = frozenset({"linspace", "logspace"})


def shape_source(factory: str, arguments: Arguments) -> Tensor | None:
    """The tensor whose shape gave this one its size. What else a size is, is a number."""
    size = arguments.keywords.get("size")
    sizes: Tensor | None = None
    for value, _ in [*arguments.positional, *([size] if size is not None else [])]:
        for part in value.items or () if type(value) is Sequence else alternatives(value):
            if type(part) is Host and part.sizes is not None:
                sizes = sizes or part.sizes
            elif (
                factory in OF_NUMBERS
                and type(part) is Tensor
                and part.evidence is not None
                and not part.is_sure
                and not part.traits & SCALAR  # `lengths.max()`: what it is of may be a tensor
            ):
                part.evidence.mark_host()
    return sizes
