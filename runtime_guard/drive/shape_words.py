"""What an error's words say of a tensor's shape and type: other tensors to try."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from runtime_guard.drive.arguments import SHAPES
from runtime_guard.drive.values import Tensor, Text, Value

LARGEST = 4096
"""No size that an error speaks of is tried beyond it."""
_RANKS = (
    re.compile(r"[Ee]xpected (\d)D\b"),
    re.compile(r"[Ee]xpected \d-?D \(unbatched\) or (\d)-?D"),
    re.compile(r"\b(\d)D \(batched\)"),
    re.compile(r"expected (\d) dims"),
    re.compile(r"to unpack \(expected (\d)"),
    re.compile(r"must be (\d)-?D\b|(?:must have|expects?) (\d) dim"),
    re.compile(r"(\d)[Dd] or \d[Dd]? (?:tensor|input)"),
    re.compile(r"number of subscripts in the equation \((\d)\)"),
)


def rank_asked(text: str) -> int | None:
    """How many dimensions ``expected 4D input`` or ``too many indices`` wants."""
    for pattern in _RANKS[1:3] + _RANKS:
        if match := pattern.search(text):
            rank = int(next(group for group in match.groups() if group))
            return rank if rank in SHAPES else None
    if match := re.search(r"Dimension out of range .*but got (-?\d+)", text):
        asked = int(match[1])
        rank = asked + 1 if asked >= 0 else -asked
        return rank if rank in SHAPES else None
    if match := re.search(r"too many indices for tensor of dimension (\d)", text):
        return min(int(match[1]) + 1, 5)
    return None


def rank_with_the_missing(text: str, rank: int) -> int | None:
    """``a, b, k = *q.shape, k.shape[-2]`` wants as many dimensions more as values are missing."""
    match = re.search(r"not enough values to unpack \(expected (\d+), got (\d+)\)", text)
    asked = rank + int(match[1]) - int(match[2]) if match else None
    return asked if asked in SHAPES else None


_BROADCAST = re.compile(
    r"output with shape \[([\d, ]+)\] doesn't match the broadcast shape \[([\d, ]+)\]"
)


def broadcast(text: str, value: Value) -> Iterator[Value]:
    """``images.sub_(mean)`` wants images with all the dimensions that ``mean`` has.

    What a loader makes batches of lacks the first one.
    """
    if match := _BROADCAST.search(text):
        found, asked = match[1], match[2]
        if isinstance(value, Tensor) and str([*value.shape]) == f"[{found}]":
            yield replace(value, shape=tuple(int(size) for size in asked.split(",")))
        for one, other in ((found, asked), (_without_first(found), _without_first(asked))):
            if isinstance(value, Text) and one and f"torch.rand({one}" in value.source:
                yield Text(value.source.replace(f"torch.rand({one}", f"torch.rand({other}"))


def _without_first(sizes: str) -> str:
    return sizes.partition(", ")[2]


def other_kind(text: str, value: Tensor) -> Iterator[Tensor]:
    """With numbers of the type that the error speaks of, or with indices that are in range."""
    if value.kind == "long" and re.search(r"out of range|out of bounds|>= 0 &&", text):
        if value.high > 1:
            yield replace(value, high=1)
        return
    asks_long = re.search(
        r"scalar types?:? (Long|Int)|(must be|dtype) (long|int)|indices must be|int64|as indices",
        text,
    )
    if value.kind != "long" and asks_long:
        yield replace(value, kind="long")
    if value.kind != "bool" and re.search(r"\b[Bb]ool(Tensor)?\b", text):
        yield replace(value, kind="bool")
    if value.kind != "float" and re.search(
        r"\b([Ff]loat\w*|floating|'Long'|'Bool'|\"?not implemented for)", text
    ):
        yield replace(value, kind="float")


def resized(kind: str, text: str, value: Value) -> Iterator[Value]:
    """With one of the sizes that the error speaks of in the place of another."""
    if kind not in (
        "RuntimeError",
        "ValueError",
        "AssertionError",
        "IndexError",
        "EinopsError",
    ):
        return
    spoken = [int(n) for n in re.findall(r"(?<![\w.])\d+|(?<=x)\d+", text)]
    sizes = [n for n in dict.fromkeys(spoken) if 0 < n <= LARGEST]
    if isinstance(value, Tensor):
        for at in reversed(range(len(value.shape))):
            if value.shape[at] in sizes:
                for size in sizes:
                    if size != value.shape[at]:
                        yield replace(
                            value, shape=(*value.shape[:at], size, *value.shape[at + 1 :])
                        )
        if "EinopsError" in kind or "Wrong shape" in text:
            for shapes in SHAPES.values():
                yield from (replace(value, shape=shape) for shape in shapes if shape != value.shape)
    elif isinstance(value, Text) and value.source.isdigit():
        if int(value.source) in sizes:
            yield from (Text(str(size)) for size in sizes if str(size) != value.source)
        if "divisible" in text or "multiple" in text:
            yield from (Text(str(size * times)) for size in sizes for times in (1, 2, 4))
    elif isinstance(value, Text) and "torch." in value.source:
        for size in sizes:  # `{"a": torch.rand(10, 2)}`, as the project makes it
            number = rf"(?<![\w.\"']){size}(?![\w.\"'])"
            if re.search(number, value.source):
                for other in sizes:
                    if other != size:
                        yield replace(value, source=re.sub(number, str(other), value.source))
