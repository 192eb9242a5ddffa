"""A file with a result of `devlint check`, JSON or SARIF: a part of a check, or a report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from devlint.check.plain_data import NotPlain
from devlint.check.shards import Part, unpacked
from devlint.merge import from_json, from_sarif
from devlint.records import dataclass
from devlint.report import Report
from devlint.reporters.json import VERSION
from devlint.reporters.sarif import SHARD


class MergeError(Exception):
    """Results that cannot be read, or make no whole; the message names the file."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a file holds. `part` is there if the check was one of several shards."""

    file: Path
    report: Report
    part: Part | None = None


def read_result(file: Path, root: Path) -> Result:
    """The result in a file, its paths below `root`. Raises MergeError."""
    try:
        whole = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise MergeError(f"{file}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise MergeError(f"{file}: is no JSON: {error}") from None
    try:
        if isinstance(whole, dict) and "runs" in whole:
            carried, report = _sarif(whole, root)
        elif isinstance(whole, dict) and whole["version"] == VERSION:
            carried, report = whole.get("shard"), from_json.report_of(whole, root)
        else:
            raise TypeError("no object of a version that is known")
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        why = f"{type(error).__name__}: {error}"
        raise MergeError(f"{file}: is no JSON or SARIF result of devlint ({why})") from None
    if carried is None:
        return Result(file, report)
    try:
        return Result(file, report, unpacked(carried))
    except NotPlain as error:
        raise MergeError(f"{file}: the data of its shard cannot be used: {error}") from None


def _sarif(whole: dict[str, Any], root: Path) -> tuple[object, Report]:
    (run,) = whole["runs"]
    name = run["tool"]["driver"]["name"]
    if name != "devlint":
        raise ValueError(f"of {name}")
    return run.get("properties", {}).get(SHARD), from_sarif.report_of(run, root)
