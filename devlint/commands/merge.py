"""`devlint merge`: the results of several checks become one report."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from devlint.commands.known import stale_note
from devlint.commands.options import (
    FINDINGS,
    Refusal,
    color_option,
    fail_on_option,
    formats,
    output_file_option,
    outputs,
    quiet_option,
    show_suppressed_option,
)
from devlint.commands.report_output import exit_code, save, usual_format
from devlint.commands.settings import all_rules
from devlint.config import NEVER
from devlint.findings import Severity
from devlint.merge.results import MergeError, read_result
from devlint.merge.union import join
from devlint.reporters.formats import render
from devlint.reporters.options import Options
from devlint.terminal import emit, wants_color

EXAMPLES = """\b
Examples:
  devlint merge shard-*.json                        the report of the whole check
  devlint merge shard-*.json --output sarif=devlint.sarif
  devlint merge linux.sarif windows.sarif --format json
"""


@click.command(name="merge", epilog=EXAMPLES)
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@formats
@output_file_option
@outputs
@fail_on_option
@show_suppressed_option
@quiet_option
@color_option
def command(
    results: tuple[Path, ...],
    form: str | None,
    output_file: Path | None,
    output: tuple[tuple[str, Path], ...],
    fail_on: str | None,
    show_suppressed: bool,
    quiet: bool,
    color: str,
) -> None:
    """Join RESULTS, JSON or SARIF reports of `devlint check`, into one report.

    Shards (`devlint check --shard`) give the report and the exit code of the whole check; other
    results are put side by side, each finding once. No source is read.

    Exit codes: as those of `devlint check`; 2 also for results that make no whole.
    """
    here = Path.cwd()
    try:
        joined = join([read_result(file, here) for file in results], here)
    except MergeError as error:
        raise Refusal(str(error)) from None
    report = joined.report
    options = Options(
        color=color == "always",
        base=joined.here,
        show_suppressed=show_suppressed,
        summary=not quiet,
        repository=joined.repository,
        rules=all_rules(),
    )
    if output_file is None:
        colored = replace(options, color=wants_color(color, sys.stdout))
        emit(render(form or usual_format(), report, colored), sys.stdout)
    else:
        save(output_file, render(form or "text", report, options))
    for other, file in output:
        save(file, render(other, report, options))
    emit(stale_note(joined.stale), sys.stderr)
    least = joined.fail_on
    if fail_on:
        least = None if fail_on == NEVER else Severity(fail_on)
    code = exit_code(report, least)
    sys.exit(FINDINGS if joined.terms.error_on_stale and joined.stale and not code else code)
