"""The configuration that a command line and the files around its paths give, and the rules."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from devlint.check.resources import cores
from devlint.commands.options import Refusal
from devlint.config import NEVER, Config, ConfigError, find_config
from devlint.findings import Confidence, Severity
from devlint.rule import Rule
from devlint.selection import Layer, SelectionError, validate


def configured(paths: Sequence[Path], settings: Mapping[str, Any]) -> Config:
    """The configuration for the paths (absolute; none: for here), under the command line's."""
    file = settings["config_file"]
    try:
        config = find_config(_start(paths), Path(os.path.abspath(file)) if file else None)
    except ConfigError as error:
        raise Refusal(str(error)) from None
    directory = settings["cache_dir"]
    fail_on, min_confidence = settings["fail_on"], settings["min_confidence"]
    if fail_on:
        config = replace(config, fail_on=None if fail_on == NEVER else Severity(fail_on))
    if min_confidence:
        config = replace(config, min_confidence=Confidence(min_confidence))
    return replace(
        config,
        extend_exclude=(*config.extend_exclude, *settings["exclude"]),
        force_exclude=config.force_exclude or settings["force_exclude"],
        respect_gitignore=config.respect_gitignore and not settings["no_gitignore"],
        jobs=settings["jobs"] or config.jobs,
        cache=config.cache and not settings["no_cache"],
        cache_dir=os.path.abspath(directory) if directory else config.cache_dir,
        command_line=Layer(
            settings["select"] or None, settings["extend_select"], settings["ignore"]
        ),
    )


def with_jobs(config: Config) -> Config:
    """The configuration with a number of processes: as many as there are cores, if it says none."""
    return replace(config, jobs=config.jobs or cores())


def _start(paths: Sequence[Path]) -> Path:
    """Where the configuration is looked for: the folder that the paths share, or here.

    Here, too, if what they share lies above: it is then not one project that they are of.
    """
    here = Path.cwd()
    folders = {path if os.path.isdir(path) else path.parent for path in paths}
    try:
        shared = Path(os.path.commonpath(folders)) if folders else here
    except ValueError:  # on different drives
        return here
    return here if len(folders) > 1 and shared in here.parents else shared


def configured_paths(config: Config) -> list[Path]:
    """The paths that are checked when none are given."""
    paths = [Path(os.path.abspath(config.root / path)) for path in config.paths]
    for path, written in zip(paths, config.paths, strict=True):
        if not os.path.lexists(path):
            raise Refusal(f"{config.file}: paths: there is no file or directory {written!r}")
    return paths


def all_rules(paths: Sequence[Path] = ()) -> tuple[Rule, ...]:
    """Every rule installed, and those at the paths."""
    # a check whose report is kept asks for none
    from devlint.rules import RulePackError, load_rules

    try:
        return load_rules(paths)
    except RulePackError as error:
        raise Refusal(str(error)) from None


def known_rules(config_file: Path | None) -> tuple[Rule, ...]:
    """Every rule installed, and those of a configuration that is named: no other runs code."""
    if config_file is None:
        return all_rules()
    try:
        config = find_config(Path.cwd(), Path(os.path.abspath(config_file)))
    except ConfigError as error:
        raise Refusal(str(error)) from None
    return all_rules(config.rule_files())


def rules_for(config: Config) -> tuple[Rule, ...]:
    """Every rule installed or configured, after the selectors are found to mean some of them."""
    rules = all_rules(config.rule_files())
    try:
        for where, selectors in config.selectors():
            validate(selectors, rules, where)
    except SelectionError as error:
        raise Refusal(str(error)) from None
    return rules
