"""What to try otherwise when a call fails: from the error's words, and from where it was raised.

"mat1 and mat2 shapes cannot be multiplied (2x8 and 16x32)" asks for 16 where there was an 8;
"not enough values to unpack (expected 4, got 3)" for a fourth dimension; and an error in a line
that speaks of ``mask`` for another ``mask``.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from runtime_guard.drive.arguments import (
    ANSWERS,
    ANY_MODEL,
    FIRST,
    MODULE,
    SHAPES,
    Slot,
    candidates,
    source_tree,
)
from runtime_guard.drive.docstrings import shape_said
from runtime_guard.drive.program import FILE, GROUP, Program
from runtime_guard.drive.shape_words import (
    broadcast,
    other_kind,
    rank_asked,
    rank_with_the_missing,
    resized,
)
from runtime_guard.drive.uses import assigned_attributes
from runtime_guard.drive.values import Address, Omitted, Record, Several, Table, Tensor, Text, Value


@dataclass(frozen=True)
class Frame:
    """A frame of the project's code in a traceback."""

    file: str
    line: int
    first_line: int
    """Of its function."""


@dataclass(frozen=True)
class Failure:
    """An exception: its type's name, its text, and where it passed, innermost first."""

    type: str
    text: str
    frames: tuple[Frame, ...] = ()

    def __str__(self) -> str:
        first = self.text.strip().partition("\n")[0]
        return f"{self.type}: {first}" if first else self.type


Edit = tuple[Address, Value]


def edits(
    failure: Failure | None, program: Program, wanted: Frame, traced: Sequence[Frame] = ()
) -> Iterator[Edit]:
    """Single changes to ``program``, the most promising first.

    Without a failure (the call went well, and nothing showed at the line ``wanted``) those that it
    and the conditions around it speak of, then those around the places of its trace, ``traced``,
    then whatever is optional.
    """
    slots = program.slots
    if failure is None:
        own = names_at(wanted.file, wanted.line, 0)
        names = _conditions(wanted.file, wanted.line) | own
        asked = list(dict.fromkeys(_spoken_of(names, wanted, program, any_function=True)))
        left_out = [a for a in asked if isinstance(slots[a][1], Omitted)]
        for address in sorted(left_out, key=lambda a: slots[a][0].name not in own):
            yield from _others(address, *slots[address], 3)
        for address in _left_out_of(traced, program):
            yield from _others(address, *slots[address], 3)
        for address in asked:
            yield from _others(address, *slots[address], 8)
        for address, (slot, value) in slots.items():
            if address not in asked and (slot.optional or isinstance(value, Tensor)):
                yield from _others(address, slot, value, 3)
        return
    blamed = list(dict.fromkeys(_blamed(failure, program)))
    rest = [address for address in slots if address not in blamed]
    order = [*blamed, *rest]
    yield from _of_words(failure, program, blamed or order)
    for address in order:
        yield from (
            (address, value) for value in resized(failure.type, failure.text, slots[address][1])
        )
    for address in blamed:
        yield from _others(address, *slots[address], 8)
    for address in rest:
        yield from _others(address, *slots[address], 3)


def _left_out_of(places: Sequence[Frame], program: Program) -> Iterator[Address]:
    """``seed``, which is left out, where ``if config.seed is not None`` stands around a place."""
    asked = {
        name.rpartition(".")[2] for place in places for name in _conditions(place.file, place.line)
    }
    for address, (slot, value) in program.slots.items():
        if isinstance(value, Omitted) and slot.name in asked:
            yield address


def _others(address: Address, slot: Slot, value: Value, most: int) -> Iterator[Edit]:
    found = [other for other in candidates(slot) if other != value]
    yield from ((address, other) for other in found[:most])
    if isinstance(value, Text) and value.source.isdigit():
        yield from (
            (address, Text(n)) for n in ("1", "4", "16", "32", "64", "3", "12") if n != value.source
        )


def _of_words(failure: Failure, program: Program, order: list[Address]) -> Iterator[Edit]:
    text = failure.text
    rank = rank_asked(text)
    shape = shape_said(re.split(r"\b[Gg]ot\b|\bbut\b", text)[0])
    if missing := re.search(r"No such file or directory: '([^']+)'", text):
        path = os.path.relpath(missing[1])  # an absolute one may be below the current folder, too
        if not path.startswith(os.pardir):
            path += os.sep * missing[1].endswith(("/", os.sep))  # a folder
            yield (FILE, path), Text(repr(path))
    if "process group has not been initialized" in text:
        yield (GROUP,), Text("True")
    for address, (slot, value) in program.slots.items():
        yield from ((address, other) for other in broadcast(text, value))
        # "Either `sizes` or `longest` must be given"
        if isinstance(value, Omitted) and re.search(rf"[`'\"]{re.escape(slot.name)}\b", text):
            given = [other for other in candidates(slot) if not isinstance(other, Omitted)]
            yield from ((address, other) for other in given[:2])
    for address in order if "NoneType" in text else ():
        slot, value = program.slots[address]
        if isinstance(value, Omitted) and slot.default is None:  # it was left out, and is asked for
            given = [other for other in candidates(slot) if not isinstance(other, Omitted)]
            yield from ((address, other) for other in given[:3])
    for address in order:
        slot, value = program.slots[address]
        if isinstance(value, Tensor):
            for asked in dict.fromkeys((rank, rank_with_the_missing(text, len(value.shape)))):
                if asked is not None and asked != len(value.shape):
                    yield from ((address, replace(value, shape=shape)) for shape in SHAPES[asked])
            if "expected TensorOptions(" in text:  # `torch.Tensor(data)` takes data of the host
                yield address, Text(f"torch.rand({value.shape}).tolist()")
            yield from ((address, other) for other in other_kind(text, value))
            if _ONE_NUMBER.search(text):
                yield from ((address, Text(number)) for number in ("0.5", "2"))
            if shape and shape != value.shape:
                yield address, replace(value, shape=shape)
        parts = re.search(r"(?:not enough|too many) values to unpack \(expected (\d+)", text)
        if parts and isinstance(value, Several):
            yield address, replace(value, count=int(parts[1]))
        if failure.type == "AttributeError" or "find attribute " in text:
            yield from _attribute(address, slot, value, text)
        if failure.type == "KeyError" and isinstance(value, Table):
            key = text.strip("'\"")
            if key not in value.keys:
                yield address, Table((*value.keys, key))
        if "not callable" in text:
            yield address, Text("torch.nn.Identity()")
            yield address, ANSWERS
        called = isinstance(value, Text) and value.source.startswith("torch.nn.")
        if called and _OTHER_ARGUMENTS.search(text):
            yield from ((address, other) for other in (FIRST, ANY_MODEL, ANSWERS))
        if "must be tuple of ints" in text or "as an integer" in text or "must be int" in text:
            yield address, Text("8")
        if "not iterable" in text or "is not subscriptable" in text or "has no len()" in text:
            yield address, Several(2)
        if failure.type == "TypeError" and "must be Tensor" in text:
            yield address, Tensor("float", (2, 8))


_ONE_NUMBER = re.compile(
    r"only (one element|integer) tensors|[Bb]oolean value of Tensor|cannot be converted to Scalar"
)
_OTHER_ARGUMENTS = re.compile(
    r"positional arguments? but \d+ were given|unexpected keyword argument"
    r"|missing \d+ required positional"
)


def _attribute(address: Address, slot: Slot, value: Value, text: str) -> Iterator[Edit]:
    match = re.search(r"'([\w.]+)' object has no attribute '(\w+)'", text)
    match = match or re.search(r"find attribute ()(\w+)", text)  # of a model, looked for in it
    if not match:
        return
    held, name = match[1] or "Linear", match[2]
    if held == "Linear" and (value == MODULE or isinstance(value, Record)):
        own = value.attributes if isinstance(value, Record) else slot.beside_module
        if name not in own or value == MODULE:
            yield address, Record(tuple(dict.fromkeys((*own, name))), module=True)
    if isinstance(value, _HELD.get(held, ())) and not hasattr(_TENSOR, name):
        yield address, Record(tuple(dict.fromkeys((*slot.uses.attributes, name))))
    plain = held.rpartition(".")[2] == "SimpleNamespace"
    if plain and isinstance(value, Record) and name not in value.attributes:
        yield address, replace(value, attributes=(*value.attributes, name))
    elif hasattr(_TENSOR, name) and not isinstance(value, Tensor):
        yield address, Tensor("float", (2, 8))
    elif held in ("Tensor", "int", "list", "float") and slot.uses.attributes:
        yield address, Record((*slot.uses.attributes,))


_HELD: dict[str, type] = {"Tensor": Tensor, "int": Text, "Linear": Text, "list": Several}


class _TENSOR:
    """Attributes that ask for a tensor."""

    shape = size = device = dtype = dim = ndim = to = view = float = long = unsqueeze = None


def _blamed(failure: Failure, program: Program) -> Iterator[Address]:
    """The slots that the lines speak of where it was raised, the innermost first."""
    for frame in failure.frames:
        names = names_at(frame.file, frame.line, frame.first_line)
        found = list(_spoken_of(names, frame, program))
        yield from found
        for address in program.slots:  # `config = config_of(model)`: parts of `model`, too
            if any(address != whole == address[: len(whole)] for whole in found):
                yield address


def _spoken_of(
    names: frozenset[str], frame: Frame, program: Program, any_function: bool = False
) -> Iterator[Address]:
    """The slots that ``names`` in ``frame`` stand for, and those kept as attributes of ``self``."""
    for address, (slot, _) in program.slots.items():
        own = slot.code is not None and (any_function or _same(slot.code, frame))
        if own and (slot.path in names or (slot.name in names and len(slot.address) == 2)):
            yield address
    for address, made in program.made.items():
        for attribute, given in _kept(made).items():
            if f"self.{attribute}" in names and _within(made, frame):
                yield from ((*address, name) for name in given if (*address, name) in program.slots)


def _same(code: tuple[str, int], frame: Frame) -> bool:
    return code == (frame.file, frame.first_line)


@cache
def _kept(made: type) -> dict[str, set[str]]:
    tree = source_tree(made)
    return assigned_attributes(tree) if tree is not None else {}


@cache
def _span(made: type) -> tuple[str, int, int]:
    try:
        lines, first = inspect.getsourcelines(made)
        return inspect.getsourcefile(made) or "", first, first + len(lines)
    except (OSError, TypeError):
        return "", 0, 0


def _within(made: type, frame: Frame) -> bool:
    file, first, last = _span(made)
    return file == frame.file and first <= frame.line < last


@cache
def _statements(file: str) -> tuple[ast.stmt, ...]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.stmt))


@cache
def _conditions(file: str, line: int) -> frozenset[str]:
    """Dotted names in the conditions and loops around ``line``, and before it in its function."""
    names: set[str] = set()
    around = [s for s in _statements(file) if s.lineno <= line <= (s.end_lineno or s.lineno)]
    for statement in around:
        if isinstance(statement, (ast.If, ast.While)):
            names |= set(_dotted_in(statement.test))
        elif isinstance(statement, ast.For):
            names |= set(_dotted_in(statement.iter))
    functions = [s for s in around if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef))]
    if functions:
        inner = max(functions, key=lambda s: s.lineno)
        for node in ast.walk(inner):
            # `if x is None: return` before the line
            if not isinstance(node, ast.If) or (node.end_lineno or 0) >= line:
                continue
            if any(isinstance(part, ast.Return) for part in node.body):
                names |= set(_dotted_in(node.test))
        names |= _sources(file, inner.lineno, line, names)
    return frozenset(names)


@cache
def names_at(file: str, line: int, first_line: int) -> frozenset[str]:
    """Dotted names in the smallest statement at ``line``, and those that they come from."""
    around = [s for s in _statements(file) if s.lineno <= line <= (s.end_lineno or s.lineno)]
    if not around:
        return frozenset()
    smallest = min(around, key=lambda s: (s.end_lineno or s.lineno) - s.lineno)
    names = set(_dotted_in(smallest))
    return frozenset(names | _sources(file, first_line, smallest.lineno, names))


def _sources(file: str, first: int, line: int, names: set[str]) -> set[str]:
    """What ``names`` were assigned from before ``line``: of ``h = x.view(-1)`` also ``x``."""
    found = set(names)
    before = [
        s for s in _statements(file) if isinstance(s, ast.Assign) and first <= s.lineno < line
    ]
    for statement in sorted(before, key=lambda s: -s.lineno):
        made = {name for target in statement.targets for name in _dotted_in(target)}
        if made & found:
            found |= set(_dotted_in(statement.value))
    return found


def _dotted_in(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            text = ast.unparse(part)
            if re.fullmatch(r"[\w.]+", text):
                yield text
