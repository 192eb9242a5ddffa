"""Configuration: `[tool.devlint]` of pyproject.toml, or devlint.toml, read into a `Config`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devlint.baseline import USUAL_NAME
from devlint.findings import Confidence, Severity
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.project.discovery import DEFAULT_EXCLUDE
from devlint.project.patterns import compile_patterns
from devlint.records import dataclass
from devlint.rule import Rule
from devlint.selection import Layer, select, weight
from devlint.suggestions import nearest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:  # what needs it judges findings
    from devlint.inference.confidence.policy import Choices

NEVER = "never"
PROJECT_MARKERS = ("pyproject.toml", "devlint.toml", "setup.py", "setup.cfg", ".git")


class ConfigError(Exception):
    """A configuration that cannot be read, or says what it cannot say."""


@dataclass(frozen=True, slots=True)
class Override:
    """What `[[tool.devlint.overrides]]` says of the files that its paths match."""

    paths: tuple[str, ...]
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    min_confidence: Confidence | None = None

    @property
    def layer(self) -> Layer:
        return Layer(self.select, self.extend_select, self.ignore)


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that a check can be told. Paths are relative to `root`, the project root."""

    root: Path
    file: Path | None = None  # where it was read from
    paths: tuple[str, ...] = (".",)
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    respect_gitignore: bool = True
    fail_on: Severity | None = Severity.WARNING
    min_confidence: Confidence = Confidence.LIKELY
    severity: Mapping[str, Severity] = field(default_factory=dict)
    knowledge: tuple[str, ...] = ()
    target_torch: str | None = None  # the oldest release of torch that the project supports
    rule_paths: tuple[str, ...] = ()
    require_suppression_reason: bool = False
    assume: Choices = field(default_factory=dict)
    overrides: tuple[Override, ...] = ()
    command_line: Layer = field(default_factory=Layer)
    baseline: str = USUAL_NAME
    jobs: int | None = None  # processes that check; None: what the command thinks best
    cache: bool = True
    cache_dir: str = ".devlint_cache"
    known: frozenset[str] | None = None  # fingerprints of findings that are not reported

    def knowledge_files(self) -> tuple[Path, ...]:
        base = self.file.parent if self.file else self.root
        return tuple(base / path for path in self.knowledge)

    def rule_files(self) -> tuple[Path, ...]:
        """Files of rules, and folders of such; they are run, so `find_config` takes care."""
        base = self.file.parent if self.file else self.root
        return tuple(base / path for path in self.rule_paths)

    def baseline_file(self) -> Path:
        """The file of the baseline, whether it is there or not."""
        base = self.file.parent if self.file else self.root
        return base / self.baseline

    def cache_folder(self) -> Path | None:
        """Where commands keep the outcomes of checks; None: nowhere."""
        base = self.file.parent if self.file else self.root
        return base / self.cache_dir if self.cache else None

    def selectors(self) -> Iterable[tuple[str, Iterable[str]]]:
        """Every selector with where it was written, for validation."""
        file = self.file.name if self.file else "configuration"
        yield f"{file}: select", self.select or ()
        yield f"{file}: extend-select", self.extend_select
        yield f"{file}: ignore", self.ignore
        yield f"{file}: severity", self.severity
        for override in self.overrides:
            yield f"{file}: overrides: select", override.select or ()
            yield f"{file}: overrides: extend-select", override.extend_select
            yield f"{file}: overrides: ignore", override.ignore
            yield f"{file}: overrides: severity", override.severity
        yield "--select", self.command_line.select or ()
        yield "--extend-select", self.command_line.extend_select
        yield "--ignore", self.command_line.ignore


class Policy:
    """What holds for each file: the rules that run, their severities, the confidence asked for."""

    def __init__(self, config: Config, rules: tuple[Rule, ...]) -> None:
        self.config = config
        base = Layer(config.select, config.extend_select, config.ignore)
        self._base = select(rules, (base, config.command_line))
        self._rules = rules
        self._overrides = [(compile_patterns(o.paths), o) for o in config.overrides]

    def rules_for(self, path: str) -> tuple[Rule, ...]:
        """The rules that run on the file at `path`, by code."""
        layers = [o.layer for o in self._matching(path)]
        if not layers:
            return self._base
        on = {rule.code for rule in self._base}
        chosen = []
        for rule in self._rules:
            selected = rule.code in on
            for layer in layers:
                selected = layer.applied(rule, selected)
            # What the command line selects an override can take from, not add to.
            if selected and (rule.code in on or self.config.command_line.select is None):
                chosen.append(rule)
        return tuple(chosen)

    def severity_of(self, rule: Rule, claimed: Severity, path: str) -> Severity:
        """The severity of a claim: that of the last, most precise selector, else the rule's."""
        severity = claimed
        for table in (self.config.severity, *(o.severity for o in self._matching(path))):
            precise = max(table, key=lambda selector: weight((selector,), rule), default=None)
            if precise is not None and weight((precise,), rule):
                severity = table[precise]
        return severity

    def min_confidence_for(self, path: str) -> Confidence:
        confidence = self.config.min_confidence
        for override in self._matching(path):
            confidence = override.min_confidence or confidence
        return confidence

    def _matching(self, path: str) -> list[Override]:
        return [o for patterns, o in self._overrides if patterns.covers(path)]


def find_config(start: Path, explicit: Path | None = None) -> Config:
    """The configuration for what is at `start` (absolute). Raises ConfigError.

    The nearest directory upwards with a `devlint.toml`, or a `pyproject.toml` that has a
    `[tool.devlint]` table, is the project root. Without one it is the nearest directory upwards
    that looks like a project's, else the current directory if `start` lies in it, else `start`
    itself. An explicit file's directory is the root if `start` lies in it.
    """
    directory = start if start.is_dir() else start.parent
    if explicit is not None:
        config = _read(explicit)
        if config is None:
            raise ConfigError(f"{explicit}: has no [tool.devlint] table")
        if config.root in (directory, *directory.parents):
            return config
        return replace(config, root=_project_root(directory))
    for parent in (directory, *directory.parents):
        for name in ("devlint.toml", "pyproject.toml"):
            if (parent / name).is_file():
                config = _read(parent / name)
                if config is not None:
                    _keep_inside(config)
                    return config
    return Config(_project_root(directory))


def _keep_inside(config: Config) -> None:
    """Raise ConfigError if a configuration that nobody named runs code, or reads or writes files
    outside of its project."""
    if config.rule_paths:
        raise ConfigError(
            f"{config.file}: rule-paths: devlint would run the code of {config.rule_paths[0]!r}; "
            "if that is meant, name the configuration with --config"
        )
    root = os.path.realpath(config.root)
    folder = config.cache_folder()
    if folder is not None and (
        "\0" in config.cache_dir or Path(root) not in Path(os.path.realpath(folder)).parents
    ):
        raise ConfigError(
            f"{config.file}: cache-dir: {config.cache_dir!r} lies outside of the project; "
            "if that is meant, name the configuration with --config"
        )
    for path, file in zip(config.knowledge, config.knowledge_files(), strict=True):
        if "\0" in path or not Path(os.path.realpath(file)).is_relative_to(root):
            raise ConfigError(
                f"{config.file}: knowledge: {path!r} lies outside of the project; "
                "if that is meant, name the configuration with --config"
            )


def _project_root(directory: Path) -> Path:
    for parent in (directory, *directory.parents):
        if any((parent / name).exists() for name in PROJECT_MARKERS):
            return parent
    here = Path.cwd()
    return here if here in (directory, *directory.parents) else directory


def _read(file: Path) -> Config | None:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # of the TOML, its encoding, a number's length
        raise ConfigError(f"{file}: is not valid TOML: {error}") from None
    where = str(file)
    if file.name == "pyproject.toml" or "tool" in document:
        tool = document.get("tool", {})
        if not isinstance(tool, dict) or "devlint" not in tool:
            return None
        document = tool["devlint"]
        where += ": [tool.devlint]"
    if not isinstance(document, dict):
        raise ConfigError(f"{where} must be a table, not {document!r}")
    return Config(root=file.parent, file=file, **_values(document, OPTIONS, where))


# --- the options: key, how its value is read -------------------------------------------------


def _strings(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{where} must be a list of strings, not {value!r}")
    return tuple(value)


def _string(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{where} must be a string, not {value!r}")
    return value


def _release(value: object, where: str) -> str:
    text = _string(value, where)
    parts = text.split(".")
    if len(parts) not in (2, 3) or not all(part.isdecimal() for part in parts):
        raise ConfigError(f'{where} must be a release such as "2.9", not {text!r}')
    return text


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{where} must be true or false, not {value!r}")
    return value


def _count(value: object, where: str) -> int:
    if type(value) is not int or value < 1:
        raise ConfigError(f"{where} must be a whole number from 1 on, not {value!r}")
    return value


def _one_of(value: object, choices: Iterable[str], where: str) -> str:
    choices = list(choices)
    if value not in choices:
        listed = ", ".join(f'"{choice}"' for choice in choices)
        hint = nearest(value, choices) if isinstance(value, str) else ""
        raise ConfigError(f"{where} must be one of {listed}, not {value!r}{hint}")
    return str(value)


def _severity(value: object, where: str) -> Severity:
    return Severity(_one_of(value, (s.value for s in Severity), where))


def _fail_on(value: object, where: str) -> Severity | None:
    chosen = _one_of(value, (*(s.value for s in Severity), NEVER), where)
    return None if chosen == NEVER else Severity(chosen)


def _confidence(value: object, where: str) -> Confidence:
    return Confidence(_one_of(value, (c.value for c in Confidence), where))


def _severities(value: object, where: str) -> dict[str, Severity]:
    if not isinstance(value, dict):
        raise ConfigError(f'{where} must be a table such as {{ DEV301 = "warning" }}')
    return {code: _severity(word, f"{where}.{code}") for code, word in value.items()}


def _choices(value: object, where: str) -> Choices:
    if not isinstance(value, dict):
        raise ConfigError(f'{where} must be a table such as {{ "name-suggests-model" = false }}')
    kinds = [kind.value for kind in AssumptionKind]
    for kind in value:
        if kind not in kinds:
            raise ConfigError(f"{where} has no kind of assumption {kind!r}{nearest(kind, kinds)}")
    return {AssumptionKind(kind): _flag(on, f"{where}.{kind}") for kind, on in value.items()}


def _overrides(value: object, where: str) -> tuple[Override, ...]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ConfigError(f"{where} must be an array of tables: [[tool.devlint.overrides]]")
    overrides = []
    for number, table in enumerate(value, 1):
        here = f"{where} (number {number})"
        if "paths" not in table:
            raise ConfigError(f"{here} has no paths")
        overrides.append(Override(**_values(table, OVERRIDE_OPTIONS, here)))
    return tuple(overrides)


Reader = Callable[[object, str], Any]
OPTIONS: dict[str, Reader] = {
    "paths": _strings,
    "select": _strings,
    "extend-select": _strings,
    "ignore": _strings,
    "exclude": _strings,
    "extend-exclude": _strings,
    "force-exclude": _flag,
    "respect-gitignore": _flag,
    "fail-on": _fail_on,
    "min-confidence": _confidence,
    "severity": _severities,
    "knowledge": _strings,
    "target-torch": _release,
    "rule-paths": _strings,
    "require-suppression-reason": _flag,
    "assume": _choices,
    "baseline": _string,
    "jobs": _count,
    "cache": _flag,
    "cache-dir": _string,
    "overrides": _overrides,
}
OVERRIDE_OPTIONS: dict[str, Reader] = {
    "paths": _strings,
    "select": _strings,
    "extend-select": _strings,
    "ignore": _strings,
    "severity": _severities,
    "min-confidence": _confidence,
}


def _values(
    table: Mapping[str, object], options: Mapping[str, Reader], where: str
) -> dict[str, Any]:
    values = {}
    for key, value in table.items():
        reader = options.get(key)
        if reader is None:
            hint = nearest(key, options)
            raise ConfigError(f"{where} has no option {key!r}{hint}")
        values[key.replace("-", "_")] = reader(value, f"{where} {key}")
    return values


def to_toml(config: Config) -> str:
    """The effective configuration as the TOML that gives it."""
    lines = ["[tool.devlint]"]
    for option in OPTIONS:
        value = getattr(config, option.replace("-", "_"))
        plain = option not in ("assume", "overrides", "severity")
        if option == "fail-on" or (plain and value is not None):
            lines.append(f"{option} = {_toml(value)}")
    if config.severity:
        lines += ["", "[tool.devlint.severity]"]
        lines += [f"{_toml_key(code)} = {_toml(level)}" for code, level in config.severity.items()]
    if config.assume:
        lines += ["", "[tool.devlint.assume]"]
        lines += [f"{kind.value} = {_toml(on)}" for kind, on in config.assume.items()]
    for override in config.overrides:
        lines += ["", "[[tool.devlint.overrides]]"]
        for entry in fields(override):
            value = getattr(override, entry.name)
            if value:
                lines.append(f"{entry.name.replace('_', '-')} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if value is None:
        return f'"{NEVER}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (Severity, Confidence)):
        return f'"{value.value}"'
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml_key(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_key(key: str) -> str:
    return key if key.replace("-", "").replace("_", "").isalnum() and key.isascii() else _toml(key)
