"""``devlint run``: a program under the guard, and a report of what it cost."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from runtime_guard.commands import ranks
from runtime_guard.commands.program import Outcome, parse_command, require, run_program
from runtime_guard.reports import trace
from runtime_guard.reports.text import page, summary_of

REPORTS = ("html", "json", "trace", "text")


class ReportError(ValueError):
    """A report that cannot be written: its format or its file."""


def report_format(report: str) -> tuple[str, str | None]:
    """``out.html`` -> ``("html", "out.html")``; ``json`` -> ``("json", None)``, standard output.

    ``trace.json`` and ``*.trace.json`` are Chrome traces.  Raises ``ReportError`` for others.
    """
    if report in REPORTS:
        return report, None
    name = os.path.basename(report).lower()
    if name.endswith((".trace", ".trace.json")) or name == "trace.json":
        return "trace", report
    for ending, kind in ((".html", "html"), (".htm", "html"), (".json", "json"), (".txt", "text")):
        if name.endswith(ending):
            return kind, report
    raise ReportError(
        f"--report {report!r}: expected html, json, trace or text, or a file that ends in .html, "
        ".json, .trace.json or .txt"
    )


def run_command(
    words: Sequence[str],
    *,
    virtual: str | None = None,
    report: str | None = None,
    keep_going: bool = False,
    write: Callable[[str], Any] | None = None,
) -> int:
    """Run ``words`` (``train.py --epochs 1``, ``-m pkg``, ``pytest tests``); return its exit code.

    ``virtual`` is a machine such as ``"cuda:2"``, None the real devices.  ``report`` is a file or
    one of ``REPORTS``; None prints a summary to standard error.  Under ``torchrun`` a report file
    gets its rank's evidence beside it (``out.rank0.json``), and rank 0 writes the report of the
    ranks whose evidence is there when it ends.  Raises ``CommandError``,
    ``ReportError`` (both ``ValueError``) and ``OSError`` before the program starts.
    """
    program = parse_command(words)
    require(program)
    kind, path = report_format(report) if report is not None else ("text", None)
    if path is not None:
        with open(path, "a", encoding="utf-8"):
            pass  # fails now rather than after a night of training

    from runtime_guard.commands.session import tell_of, watch  # start-up: torch

    if path is not None and ranks.rank() is not None:
        with contextlib.suppress(FileNotFoundError):  # of an earlier run
            os.remove(ranks.rank_file(path, ranks.rank() or 0))
    with watch(virtual, keep_going=keep_going) as watched:
        outcome = run_program(program)
        if outcome.error is not None:
            tell_of(outcome.error)
    number = ranks.rank()
    if number is not None and path is not None:
        ranks.write_evidence(ranks.rank_file(path, number), watched.evidence(outcome.error))
        if number != 0:
            return outcome.exit_code
    text = _render(kind, watched, outcome, " ".join(words), path if number == 0 else None)
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    elif write is not None:
        write(text)
    else:
        (sys.stderr if report is None else sys.stdout).write(text)
    return outcome.exit_code


NO_ACCELERATOR = (
    "this machine has no accelerator, so that nothing can go to one or come from it: "
    "add `--virtual cuda:1` to run on a virtual one"
)
WAIT_FOR_RANKS = 30.0
"""Seconds that rank 0 waits for the evidence of the others."""


def _evidence_of_all_ranks(path: str) -> Any:
    """What the ranks left beside ``path``; a rank that does not come in time is left out."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    files = [ranks.rank_file(path, number) for number in range(size)]
    until = time.monotonic() + WAIT_FOR_RANKS
    while time.monotonic() < until and not all(map(os.path.exists, files)):
        time.sleep(0.05)
    return ranks.merge_files(file for file in files if os.path.exists(file))


def _render(kind: str, watched: Any, outcome: Outcome, title: str, ranks_beside: str | None) -> str:
    ledger = watched.guard.ledger
    if ranks_beside is not None:
        evidence = _evidence_of_all_ranks(ranks_beside)
    else:
        evidence = watched.evidence(outcome.error)
    device_map = watched.models.device_map()
    if kind == "html":
        from runtime_guard.reports import html  # start-up: torch

        return html.render(evidence, ledger, device_map, title)
    if kind == "json":
        from runtime_guard.reports import json_report  # start-up: torch

        return json_report.render(evidence, device_map)
    if kind == "trace":
        return trace.render(ledger, died=evidence.died)
    lines = [f"device guard: {title}"]
    if evidence.died:
        lines += ["the program died:", *(f"  {line}" for line in evidence.died.splitlines())]
    if not evidence.accelerated:
        lines.append(NO_ACCELERATOR)
    return page(["", *lines, *summary_of(evidence)])
