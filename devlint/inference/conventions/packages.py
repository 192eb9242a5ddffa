"""Packages that are installed where a project is run: the standard library, and well-known ones."""

from __future__ import annotations

import sys

from devlint.inference.conventions.queries import holds


def is_installed(package: str) -> bool:
    """Whether a top-level name is one of theirs, not a module's that lies beside a file."""
    return package in sys.stdlib_module_names or holds("library-name", package)
