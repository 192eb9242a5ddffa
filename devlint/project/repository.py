"""The repository that a project lies in."""

from __future__ import annotations

from pathlib import Path


def repository_of(folder: Path) -> Path | None:
    """The nearest folder upwards with a `.git`: a folder, or a file in a worktree or submodule."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
