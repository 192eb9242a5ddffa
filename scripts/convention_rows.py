"""The rows of `devlint/knowledge/conventions.toml`.

A row has a table of its own, whose name is its id:

    [model-name]
    looks-at = "name"  # a `Subject`
    suggests = "a model"
    words = ["model", "net(work)?"]  # any of these regular expressions
    how = "last"  # where they stand: see `_PLACES`; left out, anywhere
    example = ["target_net"]
    counter-example = ["network_size"]

`<name>` in a pattern stands for a name that the question hands in; `of` is the one that it has in
the examples. `pattern` instead of `words` and `how` is one regular expression, searched for. With
`ignore-case = true` case counts for nothing.
"""

from __future__ import annotations

import enum
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from generated_pages import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

sys.path.insert(0, str(ROOT))

from devlint.inference.conventions.searches import NAME, compiled

FILE = ROOT / "devlint" / "knowledge" / "conventions.toml"


class ConventionError(Exception):
    """A row that says what a row cannot say. The message names the row and the key."""


class Subject(str, enum.Enum):
    """What a convention looks at."""

    NAME = "name"  # of a variable, an attribute, a function or a class
    CALLEE = "callee"  # the dotted name of what is called
    DECORATOR = "decorator"
    TYPE = "type"  # an annotation, or a base class
    PATH = "path"  # of the file, relative to the project
    COMMENT = "comment"
    STRING = "string"
    CONDITION = "condition"  # the names and strings in one
    EXPRESSION = "expression"  # its source text
    FUNCTION = "text of function"
    CLASS = "text of class"
    FILE = "text of file"


@dataclass(frozen=True, slots=True)
class Convention:
    """One row. `regex` is searched for; `of` stands for `<name>` in the examples."""

    id: str
    looks_at: Subject
    suggests: str
    regex: str
    ignore_case: bool
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]
    of: str = ""

    def compiled(self, name: str = "") -> re.Pattern[str]:
        """Its regular expression, about this name."""
        return compiled(self.regex, self.ignore_case, name)


# Where words stand in a text.
_PLACES = {
    "part": "{}",
    "start": r"\A(?:{})",
    "end": r"(?:{})\Z",
    "whole": r"\A(?:{})\Z",
    "last": r"(?:\A|_)(?:{})\Z",  # the last of the words of a name: `target_net`
    "member": r"(?:\A|\.)(?:{})\Z",  # what stands behind the last dot
}


_KEYS = frozenset(
    {"looks-at", "suggests", "words", "how", "pattern", "of", "ignore-case"}
    | {"example", "counter-example"}
)


def conventions() -> Mapping[str, Convention]:
    """All rows, by id."""
    return read_conventions(FILE.read_text(encoding="utf-8"))


def read_conventions(text: str) -> Mapping[str, Convention]:
    """The rows of a text. Raises ConventionError for one that is not sound."""
    rows = _rows(text)
    for row in rows.values():
        try:
            row.compiled()
        except re.error as error:
            raise ConventionError(f"{row.id}: not a regular expression: {error}") from None
    return rows


def _rows(text: str) -> Mapping[str, Convention]:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConventionError(f"conventions: not TOML: {error}") from None
    return {name: _read_row(name, table) for name, table in tables.items()}


def _read_row(name: str, table: object) -> Convention:
    if not isinstance(table, dict):
        raise ConventionError(f"{name}: expected a table of fields, not {table!r}")
    unknown = sorted(table.keys() - _KEYS)
    if unknown:
        raise ConventionError(f"{name}: no such key: {', '.join(unknown)}")
    subjects = [subject.value for subject in Subject]
    if table.get("looks-at") not in subjects:
        raise ConventionError(f"{name}: looks-at: expected one of {', '.join(subjects)}")
    suggests = table.get("suggests")
    if not isinstance(suggests, str) or not suggests:
        raise ConventionError(f"{name}: suggests: expected a text")
    ignore_case = table.get("ignore-case", False)
    if not isinstance(ignore_case, bool):
        raise ConventionError(f"{name}: ignore-case: expected true or false")
    regex = _regex(name, table)
    examples, counter_examples = (_texts(name, table, k) for k in ("example", "counter-example"))
    of = table.get("of", "")
    if not isinstance(of, str) or bool(of) != (NAME in regex):
        raise ConventionError(f"{name}: of: expected the name for {NAME} in the examples")
    subject = Subject(table["looks-at"])
    return Convention(name, subject, suggests, regex, ignore_case, examples, counter_examples, of)


def _regex(name: str, table: Mapping[str, Any]) -> str:
    if "pattern" in table:
        if "words" in table or "how" in table:
            raise ConventionError(f"{name}: pattern: stands without words and how")
        pattern = table["pattern"]
        if not isinstance(pattern, str):
            raise ConventionError(f"{name}: pattern: expected a text")
        return pattern
    how = table.get("how", "part")
    if how not in _PLACES:
        raise ConventionError(f"{name}: how: expected one of {', '.join(_PLACES)}")
    return _PLACES[how].format("|".join(_texts(name, table, "words")))


def _texts(name: str, table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    texts = table.get(key)
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
        raise ConventionError(f"{name}: {key}: expected a list of texts")
    return tuple(texts)
