"""The editor's settings, and the configuration of a file under them.

Files configure a check in an editor as they do on the command line; the settings take the place of
the command line's options.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path

from devlint.baseline import BaselineError, read_baseline
from devlint.config import PROJECT_MARKERS, Config, ConfigError, find_config
from devlint.findings import Confidence
from devlint.rule import Rule
from devlint.rules import RulePackError, load_rules
from devlint.selection import Layer, SelectionError, validate
from devlint.suggestions import nearest

SECTION = "devlint"
LIBRARIES = ("site-packages", "dist-packages")  # installed code is nobody's to mend


class SettingsError(Exception):
    """Settings or a configuration that cannot be worked with; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What an editor can set; in its JSON the names are written in camel case."""

    enable: bool = True
    configuration: str = ""
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    min_confidence: str = ""
    show_syntax_errors: bool = True
    inlay_hints: bool = True
    delay: int = 200  # milliseconds between the last key and the check


@dataclass(frozen=True, slots=True)
class Configured:
    """What a check needs beside the texts."""

    config: Config
    rules: tuple[Rule, ...]


def read_settings(given: object) -> tuple[Settings, list[str]]:
    """The settings in a JSON value, and what is wrong with it; that keeps its default."""
    if given is None:
        return Settings(), []
    if not isinstance(given, Mapping):
        return Settings(), [f"the settings must be an object, not {given!r}"]
    inner = given.get(SECTION)  # a client may send all that it has
    table: Mapping[str, object] = inner if isinstance(inner, Mapping) else given
    defaults, wrong = Settings(), []
    known = {_camel(each.name): each.name for each in fields(Settings)}
    values: dict[str, object] = {}
    for key, value in table.items():
        name = known.get(key)
        if name is None:
            if key not in CLIENT_ONLY:
                wrong.append(f"there is no setting {key!r}{nearest(key, known)}")
            continue
        if value is None:
            continue
        default = getattr(defaults, name)
        read = _read(value, default)
        if read is None:
            wrong.append(f"{SECTION}.{key} must be {_KINDS[type(default)]}, not {value!r}")
        else:
            values[name] = read
    confidences = [each.value for each in Confidence]
    if values.get("min_confidence", "") not in ("", *confidences):
        wrong.append(f"{SECTION}.minConfidence must be one of {', '.join(confidences)}")
        del values["min_confidence"]
    return replace(defaults, **values), wrong  # type: ignore[arg-type]  # `_read` looks at each


CLIENT_ONLY = ("command", "interpreter", "trace")  # of the extension, not of the server
_KINDS = {
    bool: "true or false",
    str: "a text",
    int: "a number that is not negative",
    tuple: "a list of texts",
}


def _read(value: object, default: object) -> object:
    """A value of the kind of the default; None if it is of another."""
    if isinstance(default, tuple):
        is_list = isinstance(value, list) and all(isinstance(each, str) for each in value)
        return tuple(value) if is_list and isinstance(value, list) else None
    if isinstance(default, bool) or not isinstance(default, int):
        return value if type(value) is type(default) else None
    return int(value) if isinstance(value, int | float) and value >= 0 else None


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.title() for other in others)


def configured(file: Path, settings: Settings, folders: Sequence[Path]) -> Configured:
    """The configuration of a file. Raises SettingsError."""
    explicit = settings.configuration
    base = _folder_of(file, folders) or file.parent
    try:
        named = Path(os.path.abspath(base / os.path.expanduser(explicit))) if explicit else None
        config = find_config(file, named)
        rules = _rules()
        config = replace(
            config,
            root=_root(config, file, folders),
            force_exclude=True,  # a file is open because someone reads it, not to have it checked
            min_confidence=Confidence(settings.min_confidence or config.min_confidence),
            command_line=Layer(settings.select or None, settings.extend_select, settings.ignore),
        )
        for where, selectors in config.selectors():
            validate(selectors, rules, where)
        baseline = config.baseline_file()
        if baseline.is_file():
            known = frozenset(entry.fingerprint for entry in read_baseline(baseline))
            config = replace(config, known=known)
    except (ConfigError, SelectionError, BaselineError, RulePackError) as error:
        raise SettingsError(str(error)) from None
    return Configured(config, rules)


def is_library(file: Path, folders: Sequence[Path]) -> bool:
    """Whether a file is installed code that someone looks something up in."""
    return _folder_of(file, folders) is None and any(part in LIBRARIES for part in file.parts)


def _root(config: Config, file: Path, folders: Sequence[Path]) -> Path:
    """The project's root; where nothing says what the project is, that of the editor, or the
    folder of the file. It is searched for callers, and the folder that an editor was started in
    may be the whole disk."""
    if config.file is not None or any((config.root / name).exists() for name in PROJECT_MARKERS):
        return config.root
    return _folder_of(file, folders) or file.parent


def _folder_of(file: Path, folders: Sequence[Path]) -> Path | None:
    """The innermost of the editor's folders that a file is in."""
    inside = [folder for folder in folders if folder in file.parents]
    return max(inside, key=lambda folder: len(folder.parts), default=None)


@lru_cache(maxsize=1)
def _rules() -> tuple[Rule, ...]:
    return load_rules()
