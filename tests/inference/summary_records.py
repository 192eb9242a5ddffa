"""Summaries as plain data: a table of records, without syntax nodes or objects of a run.

Nothing in devlint writes summaries down. This codec is how a law is tested: that a summary has what
its callers need of the function, and refers to all else by name.

    def shift(t):
        return t + torch.ones(3)

Its result is a tensor where `t` is, so the record of the result and that of the parameter both
refer to the record of one variable, `Record("Variable", ("t", …))`, by its number.

Values are a graph in which identity counts: two tensors are in one place if they have the same
variable, two tests come out alike if they are on the same predicate, and a list may be reached by
two ways. Hence a table of records that refer to each other, written by one small codec for all
classes. Codecs for trees (msgspec, cattrs) would make two of what is shared, and would want a
second class for each class of values to keep the syntax nodes out.

A summary owns what its function made. All else that it reaches is the program's, and is named
(`summary_names`): a node by its file and its number there, a function or a class by its node, a
global list by its name.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, Protocol, TypeAlias

from devlint.contracts import On, SameDevice
from devlint.inference.domain import host, kinds, placement, value
from devlint.inference.domain.assumptions import Assumption, AssumptionKind
from devlint.inference.domain.containers import Address, Loader, Mapping, NamedTuple, Sequence
from devlint.inference.domain.path_conditions import Predicate
from devlint.inference.domain.provenance import Provenance, Site, StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.facts import MeetingKind
from devlint.inference.program import values
from devlint.inference.program.functions import Parameter, Summary
from devlint.inference.program.meetings import Pending
from devlint.inference.program.outcomes import MovedEntry
from devlint.inference.program.type_expressions import TypeExpression


@dataclass(frozen=True, slots=True)
class Ref:
    """Another record of the table, by its number."""

    number: int


Cell: TypeAlias = "bool | int | float | str | Ref | tuple[Cell, ...] | None"


@dataclass(frozen=True, slots=True)
class Record:
    """One thing: its class, and what its fields hold."""

    kind: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class SummaryData:
    """A summary: the first of its records, and all that it owns."""

    records: tuple[Record, ...]


class NotASummary(ValueError):
    """Data that is no summary, or is one of another program."""


class Names(Protocol):
    """What the program calls its own things."""

    def name(self, thing: object) -> tuple[Cell, ...] | None:
        """The name of what the program holds; None of what a summary owns."""

    def find(self, name: tuple[Cell, ...]) -> Any:
        """What has this name. Raises LookupError."""


# The classes of what a summary owns.
OWNED: tuple[type, ...] = (
    *(Summary, Parameter, Pending, MovedEntry, Site, Assumption),
    *(placement.Variable, placement.Device, Predicate, Provenance, Address),
    *(kinds.Evidence, kinds.Effects, kinds.Hints),
    *(Tensor, host.Const, host.Host, host.DeviceValue, host.External, value.Union),
    *(Sequence, Mapping, Loader, NamedTuple, TypeExpression),
    *(values.ProjectModule, values.FunctionValue, values.ClassValue, values.Instance),
    *(values.Placed, values.Optimizer, values.Parameters, values.Method, values.Partial),
    *(values.Generator, values.Super, values.Contract, On, SameDevice),
)
ENUMS: tuple[type[Enum], ...] = (
    *(StepKind, kinds.Kind, placement.VariableKind, MeetingKind, AssumptionKind),
)
# Of each of these there is one.
CONSTANTS: dict[str, object] = {
    **{name: getattr(value, name) for name in ("UNKNOWN", "TOP", "PLACED", "UNREAD")},
    **{name: getattr(host, name) for name in ("NONE", "TRUE", "FALSE", "ASSUMED")},
    **{name: getattr(host, name) for name in ("HOST", "GLOBAL_RANK", "ARRAY", "DTYPE")},
    **{name: getattr(placement, name) for name in ("CPU", "CUDA", "META")},
}
_CONSTANT_NAMES = {id(thing): name for name, thing in CONSTANTS.items()}


def _fields(kind: type) -> tuple[str, ...]:
    if is_dataclass(kind):
        return tuple(each.name for each in fields(kind))
    slots = (getattr(each, "__slots__", ()) for each in reversed(kind.__mro__))
    return tuple(name for each in slots for name in each)


FIELDS = {kind: _fields(kind) for kind in OWNED}
_CLASSES = {kind.__name__: kind for kind in (*OWNED, *ENUMS)}


# --- from a summary to data ----------------------------------------------------------------------


def encode(summary: Summary, names: Names) -> SummaryData:
    """The summary as data."""
    writer = _Writer(names)
    writer.ref(summary)
    return SummaryData(tuple(map(writer.record, writer.things)))  # grows on the way


class _Writer:
    def __init__(self, names: Names) -> None:
        self.names = names
        self.things: list[Any] = []
        self.numbers: dict[int, Ref] = {}

    def ref(self, thing: object) -> Ref:
        known = self.numbers.get(id(thing))
        if known is None:
            known = self.numbers[id(thing)] = Ref(len(self.things))
            self.things.append(thing)
        return known

    def cell(self, held: object) -> Cell:
        if held is None or type(held) in (bool, int, float, str):
            return held  # type: ignore[return-value]  # mypy does not narrow by `in`
        if type(held) is tuple:
            return tuple(map(self.cell, held))
        if type(held) is values.Imported:
            return self.cell(held.resolved())
        return self.ref(held)

    def record(self, thing: Any) -> Record:
        kind = type(thing)
        constant = _CONSTANT_NAMES.get(id(thing))
        if constant is not None:
            return Record("constant", (constant,))
        if kind in ENUMS:
            return Record(kind.__name__, (thing.value,))
        name = self.names.name(thing)
        if name is not None:
            return Record("name", name)
        if kind is list:
            return Record("list", tuple(map(self.cell, thing)))
        if kind is dict:
            return Record("dict", tuple((self.cell(k), self.cell(v)) for k, v in thing.items()))
        if kind in FIELDS:
            held = (getattr(thing, field) for field in FIELDS[kind])
            return Record(kind.__name__, tuple(map(self.cell, held)))
        return Record("literal", (repr(thing),))  # `b"…"`, `1j`, `...`


# --- and back ------------------------------------------------------------------------------------


def decode(data: SummaryData, names: Names) -> Summary:
    """The summary that such data is of. Raises NotASummary."""
    try:
        found = _Reader(data.records, names).things[0]
    except (LookupError, TypeError, ValueError, SyntaxError) as error:
        raise NotASummary(str(error)) from error
    if type(found) is not Summary:
        raise NotASummary(f"{found!r} is no summary")
    return found


class _Reader:
    """First each thing is there, then it gets its fields: they may refer to each other."""

    def __init__(self, records: tuple[Record, ...], names: Names) -> None:
        self.names = names
        self.things = [self._thing(record) for record in records]
        rows = list(zip(records, self.things, strict=True))
        for record, thing in rows:
            if type(thing) in FIELDS and record.kind in _CLASSES:
                for field, cell in zip(FIELDS[type(thing)], record.cells, strict=True):
                    object.__setattr__(thing, field, self.value(cell))
        for record, thing in rows:  # once what they are by is whole
            if record.kind == "list":
                thing.extend(map(self.value, record.cells))
            elif record.kind == "dict":
                thing.update(self.value(pair) for pair in record.cells)

    def _thing(self, record: Record) -> Any:
        make = _MAKERS.get(record.kind)
        if make is not None:
            return make(*record.cells)
        if record.kind == "name":
            return self.names.find(record.cells)
        kind = _CLASSES[record.kind]
        return kind(*record.cells) if kind in ENUMS else object.__new__(kind)

    def value(self, cell: Cell) -> Any:
        if type(cell) is Ref:
            return self.things[cell.number]
        return tuple(map(self.value, cell)) if type(cell) is tuple else cell


_MAKERS: dict[str, Callable[..., Any]] = {
    "constant": CONSTANTS.__getitem__,
    "literal": ast.literal_eval,
    "list": lambda *_: [],
    "dict": lambda *_: {},
}


# --- as text -------------------------------------------------------------------------------------


def to_json(data: SummaryData) -> str:
    """The data as JSON: a list of records, each a list of its class and its cells."""
    return json.dumps([[record.kind, *map(_plain, record.cells)] for record in data.records])


def from_json(text: str) -> SummaryData:
    """The data that this is. Raises NotASummary."""
    try:
        records = [Record(str(kind), tuple(map(_cell, cells))) for kind, *cells in json.loads(text)]
    except (TypeError, ValueError, LookupError) as error:
        raise NotASummary(str(error)) from error
    return SummaryData(tuple(records))


def _plain(cell: Cell) -> object:
    if type(cell) is Ref:
        return {"ref": cell.number}
    return list(map(_plain, cell)) if type(cell) is tuple else cell


def _cell(plain: Any) -> Cell:
    if type(plain) is dict:
        return Ref(plain["ref"])
    return tuple(map(_cell, plain)) if type(plain) is list else plain
