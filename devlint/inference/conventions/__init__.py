"""Conventions: what names, paths, comments and texts suggest where nothing is certain.

All of them are rows of `devlint/knowledge/conventions.toml`; `holds("module-name", "net")` asks
one.
"""

from devlint.inference.conventions.asking import found, holds, leave_out, may_hold, without
from devlint.inference.conventions.reading import (
    Convention,
    ConventionError,
    Subject,
    conventions,
    read_conventions,
)

__all__ = [
    "Convention",
    "ConventionError",
    "Subject",
    "conventions",
    "found",
    "holds",
    "leave_out",
    "may_hold",
    "read_conventions",
    "without",
]
