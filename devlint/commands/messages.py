"""Lines that commands print beside a report."""

from __future__ import annotations

from devlint.report import Report
from devlint.terminal import show


def errors_of(report: Report) -> str:
    """What could not be checked, a line each."""
    places = ((f"{e.source}:{e.line}:{e.column}", e.message) for e in report.errors)
    return "".join(f"{show(f'{place}: {message}')}\n" for place, message in places)
