"""Records as JSON and back, by the types of their fields: for pipes between processes, and files.

`to_plain(Location("a.py", 1, 2, 1, 5))` is `["a.py", 0, 1, 2, 1, 5]`. A record is a list of its
fields, an enumeration its value; nothing that is read can make anything but these.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

Record = TypeVar("Record")
Reader = Callable[[Any], Any]


class NotPlain(ValueError):
    """Data that is no such record."""


def to_plain(value: object) -> Any:
    """A record, and all in it, as lists, dictionaries, strings and numbers."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [to_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): to_plain(each) for key, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return [to_plain(getattr(value, name)) for name in _names(type(value))]
    raise TypeError(f"{type(value).__name__} is no plain data")


def from_plain(kind: type[Record], data: object) -> Record:
    """The record that such data is of. Raises NotPlain."""
    wanted: Any = kind
    try:
        found: Record = _reader(wanted)(data)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise NotPlain(f"no {kind.__name__}: {error}") from None
    return found


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


@cache
def _reader(kind: Any) -> Reader:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in (str, int, float, bool):
        return _exactly(kind)
    if origin in (Union, types.UnionType):
        return _one_of(tuple(a for a in arguments if a is not types.NoneType))
    if origin is list:
        each = _reader(arguments[0])
        return lambda data: [each(item) for item in _checked(data, list)]
    if origin is tuple and arguments[-1] is Ellipsis:
        each = _reader(arguments[0])
        return lambda data: tuple(each(item) for item in _checked(data, list))
    if origin is tuple:
        readers = tuple(_reader(argument) for argument in arguments)
        return lambda data: _in_turn(readers, data)
    if origin is dict:
        key, value = arguments[0], _reader(arguments[1])
        return lambda data: {key(k): value(v) for k, v in _checked(data, dict).items()}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    if is_dataclass(kind):
        return _record(kind)
    raise TypeError(f"{kind} is no plain data")


def _exactly(kind: type) -> Reader:
    def read(data: object) -> object:
        if type(data) is kind or (kind is float and type(data) is int):
            return data
        raise NotPlain(f"{data!r} is no {kind.__name__}")

    return read


def _one_of(kinds: tuple[Any, ...]) -> Reader:
    """Of several plain types the one that it is; or a record, or None."""
    inner = _reader(kinds[0])
    if len(kinds) == 1:
        return lambda data: None if data is None else inner(data)
    return lambda data: data if data is None or type(data) in kinds else inner(data)


def _in_turn(readers: tuple[Reader, ...], data: object) -> tuple[Any, ...]:
    items = _checked(data, list)
    if len(items) != len(readers):
        raise NotPlain(f"{len(items)} fields instead of {len(readers)}")
    return tuple([read(item) for read, item in zip(readers, items)])  # noqa: B905


def _record(kind: Any) -> Reader:
    hints: Mapping[str, Any] = get_type_hints(kind)
    readers = tuple(_reader(hints[name]) for name in _names(kind))
    keyword_only = [(place, f.name) for place, f in enumerate(fields(kind)) if f.kw_only]
    if not keyword_only:
        return lambda data: kind(*_in_turn(readers, data))
    plain = [place for place, f in enumerate(fields(kind)) if not f.kw_only]

    def read(data: object) -> Any:
        values = _in_turn(readers, data)
        by_name = {name: values[place] for place, name in keyword_only}
        return kind(*[values[place] for place in plain], **by_name)

    return read


def _checked(data: object, kind: Any) -> Any:
    if type(data) is not kind:
        raise NotPlain(f"{data!r} is no {kind.__name__}")
    return data
