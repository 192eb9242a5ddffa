"""Conventions: what names, paths, comments and texts suggest where nothing is certain.

All of them are rows of `devlint/knowledge/conventions.toml`; `holds("model-name", "net")` asks one.
"""

from devlint.inference.conventions.asking import holds, leave_out
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
    "holds",
    "leave_out",
    "read_conventions",
]
