"""The files that a check is about, by its paths and its configuration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from devlint.check.resources import with_deep_stack
from devlint.config import Config
from devlint.project.discovery import Discovery, discover


def files_at(paths: Sequence[Path], config: Config) -> Discovery:
    """The files that are checked."""
    return _discover(paths, config, force_exclude=config.force_exclude)


def files_around(config: Config) -> Discovery:
    """The files of the whole project."""
    return _discover([config.root], config, force_exclude=False)


def are_everything(paths: Sequence[Path], config: Config) -> bool:
    """Whether the paths are the whole project."""
    return any(path.resolve() == config.root for path in paths)


def _discover(paths: Sequence[Path], config: Config, *, force_exclude: bool) -> Discovery:
    return with_deep_stack(
        lambda: discover(
            paths,
            config.root,
            (*config.exclude, *config.extend_exclude),
            gitignore=config.respect_gitignore,
            force_exclude=force_exclude,
        )
    )
