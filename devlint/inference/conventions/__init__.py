"""Conventions: what names, paths, comments and texts suggest where nothing is certain.

All of them are rows of `devlint/knowledge/conventions.toml`, of which
`scripts/generate_conventions.py` makes `conventions.json`; that is read here.
`holds("module-name", "net")` asks one.
"""

from devlint.inference.conventions.packages import is_installed
from devlint.inference.conventions.queries import (
    found,
    holds,
    is_assigned,
    is_rebound,
    leave_out,
    may_hold,
    without,
)

__all__ = [
    "found",
    "holds",
    "is_assigned",
    "is_installed",
    "is_rebound",
    "leave_out",
    "may_hold",
    "without",
]
