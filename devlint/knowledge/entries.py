"""From an entry as it is written (JSON or TOML) to a `Call`, `ModuleClass` or `ClassInfo`.

An entry is a table of the fields of its dataclass; fields that keep their default are left out.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from devlint.knowledge.model import Agreement, Call, ClassInfo, ModuleClass, Result

Entry = Mapping[str, Any]
Kind = TypeVar("Kind", bound="Call | ModuleClass | ClassInfo")


class KnowledgeError(Exception):
    """A knowledge file can't be read, or says something that it can't say.

    The message names the file, the key and, for a misspelt one, the nearest right one.
    """


_POSITIONS = frozenset({"host_results", "no_tensors"})
_ORDERED = frozenset({"params", "bases", "instances", "feeds"}) | _POSITIONS
_ENUMS: dict[str, type[enum.Enum]] = {"agreement": Agreement, "result": Result}
_CHOICES: dict[tuple[type, str], tuple[str, ...]] = {
    (Call, "scalar"): ("", "always", "never", "without-dim", "without-none"),
    (ModuleClass, "stateful"): ("always", "never", "weight"),
    (ClassInfo, "to"): ("", "in-place", "new"),
}


def read_entry(kind: type[Kind], entry: Entry) -> Kind:
    """Build the object. The entry must be sound (generated, or passed by `check_entry`)."""
    fields: dict[str, Any] = {}
    for name, value in entry.items():
        if isinstance(value, list):
            value = tuple(value) if name in _ORDERED else frozenset(value)
        elif name == "methods":
            value = {method: read_entry(Call, call) for method, call in value.items()}
        elif name == "attributes":
            value = {attribute: Result(result) for attribute, result in value.items()}
        elif name in _ENUMS:
            value = _ENUMS[name](value)
        fields[name] = value
    return kind(**fields)


def check_entry(kind: type[Kind], entry: object, where: str) -> None:
    """Raise KnowledgeError unless `entry` can be read as a `kind`.

    where: the file and the key, as the message shall begin.
    """
    if not isinstance(entry, Mapping):
        raise KnowledgeError(f"{where}: expected a table of fields, not {entry!r}")
    defaults = {field.name: _default(field) for field in dataclasses.fields(kind)}
    for name, value in entry.items():
        if name not in defaults:
            raise KnowledgeError(f"{where}: unknown key {name!r}{nearest(name, defaults)}")
        _check_value(kind, name, value, defaults[name], f"{where}, key {name!r}")


def nearest(name: str, names: Iterable[str]) -> str:
    """`; did you mean 'tensors'?`, or all names where none is near."""
    names = list(names)
    import difflib  # nothing is wrong with most words

    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; expected one of {', '.join(sorted(names))}"


def _default(field: dataclasses.Field[Any]) -> object:
    if field.default is not dataclasses.MISSING:
        return field.default
    assert field.default_factory is not dataclasses.MISSING
    return field.default_factory()


def _check_value(kind: type, name: str, value: object, default: object, where: str) -> None:
    if name == "methods":
        if not isinstance(value, Mapping):
            raise KnowledgeError(f"{where}: expected a table of methods, not {value!r}")
        for method, call in value.items():
            check_entry(Call, call, f"{where}, method {method!r}")
    elif name == "attributes":
        if not isinstance(value, Mapping):
            raise KnowledgeError(f"{where}: expected a table of results, not {value!r}")
        for attribute, result in value.items():
            check_choice(result, [r.value for r in Result], f"{where}, attribute {attribute!r}")
    elif name in _ENUMS:
        check_choice(value, [member.value for member in _ENUMS[name]], where)
    elif (kind, name) in _CHOICES:
        check_choice(value, _CHOICES[kind, name], where)
    elif isinstance(default, (tuple, frozenset)):
        item_type, items = (int, "numbers") if name in _POSITIONS else (str, "names")
        if not isinstance(value, list) or not all(type(item) is item_type for item in value):
            raise KnowledgeError(f"{where}: expected a list of {items}, not {value!r}")
    elif type(value) is not type(default):
        expected = {bool: "true or false", int: "a whole number", str: "a string"}[type(default)]
        raise KnowledgeError(f"{where}: expected {expected}, not {value!r}")


def check_choice(value: object, choices: Iterable[str], where: str) -> None:
    """Raise KnowledgeError unless the value is one of the choices."""
    choices = list(choices)
    if value not in choices:
        near = nearest(value, choices) if isinstance(value, str) else ""
        raise KnowledgeError(f"{where}: {value!r} is no known value{near}")
