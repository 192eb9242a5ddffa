"""`devlint check`: files and folders checked, and fixed if asked."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from devlint.check.cache import Cache
from devlint.check.repeats import Repeats
from devlint.commands.known import baseline_of, stale, stale_note, with_known
from devlint.commands.messages import errors_of
from devlint.commands.options import (
    FINDINGS,
    INTERRUPTED,
    STDIN,
    UNCHECKED,
    color_option,
    comparing,
    configuring,
    formats,
    output_file_option,
    outputs,
    paths_argument,
    quiet_option,
    show_suppressed_option,
)
from devlint.commands.report_output import exit_code, save, usual_format
from devlint.commands.settings import configured, configured_paths, rules_for, with_jobs
from devlint.config import Config
from devlint.project.repository import repository_of
from devlint.report import Report
from devlint.reporters.formats import WITH_RULES, render
from devlint.reporters.options import Options
from devlint.rule import Rule
from devlint.terminal import ProgressBar, emit, show, wants_color

if TYPE_CHECKING:
    from devlint.fixes import Fixed

# A check whose report is kept loads neither rules nor the inference: what does is imported where it
# is needed.
WATCHED_FORMS = ("text", "concise")
EXAMPLES = """\b
Examples:
  devlint check                        the project, as it is configured
  devlint check train.py --fix         repair what is safe to repair
  devlint check --diff                 show the repairs as a patch
  devlint check --watch                again at each save, and only what changed
  devlint check --diff-base main       only what differs from main
  devlint check --output sarif=devlint.sarif --format concise
"""


def _shard(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """`2/4` is the second of four."""
    if value is None:
        return None
    number, slash, count = value.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise click.BadParameter(f"{value!r} is not I/N, such as 1/4, 2/4, 3/4 and 4/4")
    return int(number), int(count)


@click.command(name="check", epilog=EXAMPLES)
@paths_argument
@configuring
@formats
@output_file_option
@outputs
@click.option(
    "--stdin-filename",
    type=click.Path(path_type=Path),
    help="The name of what is read from standard input (`-`).",
)
@comparing
@click.option(
    "--shard",
    metavar="I/N",
    callback=_shard,
    help="Check part I of N, for `devlint merge` to join.",
)
@click.option(
    "--executor",
    type=click.Choice(["dask"]),
    help="Check on a cluster whose workers see the project at the same path.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="With --executor: the cluster's.  [default: DASK_SCHEDULER_ADDRESS]",
)
@click.option(
    "--watch", is_flag=True, help="Check again whenever a file is saved, and tell what changed."
)
@click.option("--fix", is_flag=True, help="Apply the safe fixes, and report what is left.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: the unsafe ones too.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option(
    "--add-ignores",
    metavar="REASON",
    help="Suppress each finding with a comment that gives this reason.",
)
@click.option(
    "--remove-unused-ignores", is_flag=True, help="Remove suppressions that suppress nothing."
)
@show_suppressed_option
@quiet_option
@click.option("--verbose", "-v", is_flag=True, help="Say where inference gave up, and timings.")
@click.option("--no-progress", is_flag=True, help="Show no progress bar on long runs.")
@color_option
def command(
    paths: tuple[Path, ...],
    form: str | None,
    output_file: Path | None,
    output: tuple[tuple[str, Path], ...],
    stdin_filename: Path | None,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    baseline: Path | None,
    no_baseline: bool,
    error_on_stale: bool,
    diff_base: str | None,
    staged: bool,
    shard: tuple[int, int] | None,
    executor: str | None,
    scheduler: str | None,
    watch: bool,
    add_ignores: str | None,
    remove_unused_ignores: bool,
    show_suppressed: bool,
    quiet: bool,
    verbose: bool,
    no_progress: bool,
    color: str,
    **settings: Any,
) -> None:
    """Check files and directories; without PATHS, the project; with `-`, standard input.

    Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 usage or configuration errors,
    3 some file could not be checked.
    """
    ignoring = add_ignores is not None or remove_unused_ignores
    _refuse_together(
        {
            "--fix": fix,
            "--diff": diff,
            "--staged": staged,
            "--add-ignores": add_ignores is not None,
            "--remove-unused-ignores": remove_unused_ignores,
        }
    )
    _refuse_together({"--staged": staged, "--diff-base": diff_base is not None})
    whole = {"--fix": fix, "--diff": diff, "--staged": staged, "`-`": STDIN in paths}
    whole |= {"--add-ignores": add_ignores is not None}
    whole |= {"--remove-unused-ignores": remove_unused_ignores}
    if shard is not None:
        _refuse_with("--shard", {**whole, "--diff-base": diff_base is not None, "--watch": watch})
    if executor is not None:
        _refuse_with("--executor", {**whole, "--watch": watch})
    elif scheduler is not None:
        raise click.UsageError("--scheduler needs --executor")
    if watch:
        _refuse_with(
            "--watch",
            {**whole, "--output-file": output_file is not None, "--output": bool(output)},
        )
        if form not in (None, *WATCHED_FORMS):
            raise click.UsageError(f"--watch prints {' or '.join(WATCHED_FORMS)}, not {form}")
    if unsafe_fixes and not (fix or diff):
        raise click.UsageError("--unsafe-fixes needs --fix or --diff")
    if STDIN in paths and (ignoring or staged or diff_base is not None):
        raise click.UsageError("standard input (`-`) is of no revision, and has no file to write")
    if add_ignores is not None and not _is_reason(add_ignores):
        raise click.UsageError("--add-ignores needs a reason of one line without `#`")
    contents = {}
    absolute = [Path(os.path.abspath(path)) for path in paths]
    if STDIN in paths:
        absolute = [Path(os.path.abspath(stdin_filename or "<stdin>"))]
        contents = {absolute[0]: sys.stdin.buffer.read()}
    if watch:
        _watch(absolute, settings, (baseline, no_baseline, diff_base), form, quiet, color)
    config = with_jobs(configured(absolute, settings))
    if remove_unused_ignores:
        from devlint.suppression import UNUSED  # see above

        layer = config.command_line
        unused = (*layer.extend_select, UNUSED.code)
        config = replace(config, command_line=replace(layer, extend_select=unused))
    entries = baseline_of(config, baseline, no_baseline)
    to_check = absolute or configured_paths(config)
    is_plain = not (any(whole.values()) or shard or executor or diff_base)
    cache = _cache_of(config)
    kept = None
    if cache is not None and is_plain:
        kept = Repeats(cache).find(to_check, with_known(config, (), to_check, entries, None))
    rules: tuple[Rule, ...] = ()
    if kept is None or entries or WITH_RULES & {form, *(other for other, _ in output)}:
        rules = rules_for(config)
    fixed: Fixed | None = None
    if kept is not None:
        report = kept
    else:
        from devlint.commands.check_run import Asked, checked  # see above

        bar = ProgressBar() if sys.stderr.isatty() and not no_progress else None
        asked = Asked(
            contents,
            entries,
            error_on_stale,
            diff_base,
            staged,
            fix or diff,
            unsafe_fixes,
            shard,
            executor,
            scheduler,
        )
        try:
            # what writes to files believes no cache that a project brings along
            usable = None if ignoring else cache
            report, fixed = checked(to_check, config, rules, asked, usable, bar)
        finally:
            if bar:
                bar.clear()
    if diff and fixed:
        from devlint.commands.changes import patch_of  # with --fix and the like only

        emit(patch_of(fixed), sys.stdout)
        emit(errors_of(fixed.report), sys.stderr)
        sys.exit(UNCHECKED if fixed.report.errors else FINDINGS if fixed.changes else 0)
    if ignoring:
        from devlint.commands.changes import change_ignores  # as above

        sys.exit(change_ignores(report, add_ignores))
    stream = sys.stdout
    if fix and fixed:
        if contents:
            stream = sys.stderr  # standard output gets the fixed text
            after = fixed.changes[0].after if fixed.changes else contents[absolute[0]]
            sys.stdout.buffer.write(after)
        else:
            from devlint.commands.changes import write_fixed  # as above

            write_fixed(fixed)
    options = Options(
        color=color == "always",
        base=Path.cwd(),
        show_suppressed=show_suppressed,
        summary=not quiet,
        fixed=fixed.count if fixed else 0,
        repository=repository_of(report.root),
        rules=rules,
    )
    if output_file is None:
        colored = replace(options, color=wants_color(color, stream))
        emit(render(form or usual_format(), report, colored), stream)
    else:
        save(output_file, render(form or "text", report, options))
    for other, file in output:
        save(file, render(other, report, options))
    outdated = stale(report, entries, config, rules)
    emit(stale_note(outdated), sys.stderr)
    if verbose:
        emit(_verbose(report), sys.stderr)
    code = exit_code(report, config.fail_on)
    sys.exit(FINDINGS if error_on_stale and outdated and not code else code)


def _cache_of(config: Config) -> Cache | None:
    """What is kept from check to check, if anything is."""
    folder = config.cache_folder()
    return None if folder is None or config.rule_paths else Cache(folder, config.root)


def _watch(
    paths: list[Path],
    settings: dict[str, Any],
    known: tuple[Path | None, bool, str | None],
    form: str | None,
    quiet: bool,
    color: str,
) -> NoReturn:
    """Check again and again, until Ctrl-C."""
    # a single check needs none of it
    from devlint.commands.watch import watch

    def prepare() -> tuple[list[Path], Config, tuple[Rule, ...]]:
        baseline, no_baseline, diff_base = known
        config = with_jobs(configured(paths, settings))
        rules = rules_for(config)
        to_check = paths or configured_paths(config)
        entries = baseline_of(config, baseline, no_baseline)
        return to_check, with_known(config, rules, to_check, entries, diff_base), rules

    options = Options(color=wants_color(color, sys.stdout), base=Path.cwd(), summary=not quiet)
    with suppress(KeyboardInterrupt):
        watch(prepare, form or "text", options)
    sys.exit(INTERRUPTED)


def _refuse_together(options: dict[str, bool]) -> None:
    given = [name for name, is_given in options.items() if is_given]
    if len(given) > 1:
        raise click.UsageError(f"{given[0]} and {given[1]} cannot be used together")


def _refuse_with(option: str, others: dict[str, bool]) -> None:
    for name in (name for name, is_given in others.items() if is_given):
        _refuse_together({option: True, name: True})


def _is_reason(text: str) -> bool:
    return bool(text.strip()) and "#" not in text and show(text) == text


def _verbose(report: Report) -> str:
    lines = [f"{path}: {note}" for path, note in report.notes]
    stages = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in report.seconds.items())
    files = "1 file" if report.files == 1 else f"{report.files} files"
    lines.append(f"{files}; CPU time: {stages}")
    return "".join(f"devlint: {show(line)}\n" for line in lines)
