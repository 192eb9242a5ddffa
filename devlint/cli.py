"""The commands: what they take, what they print, and how they exit.

Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 usage or configuration errors, 3 some
file could not be checked. What is not needed for every command is imported where it is: a check of
one file shall not take longer than it must.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from devlint import __version__

if TYPE_CHECKING:
    from devlint.config import Config
    from devlint.fixing import Fixed
    from devlint.report import Report
    from devlint.rule import Rule

FINDINGS, USAGE, UNCHECKED = 1, 2, 3
INTERRUPTED = 130  # as shells have it for Ctrl-C
STDIN = Path("-")
Command = TypeVar("Command", bound=Callable[..., Any])


class Refusal(click.ClickException):
    """A configuration or an argument that cannot be worked with; one line, no usage."""

    exit_code = USAGE


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", "-V", message="devlint %(version)s")
def main() -> None:
    """Find device-placement bugs in PyTorch code: before it runs, and while it runs."""


def _codes(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Selectors may be given comma-separated, repeatedly, or both."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def _alone(_: click.Context, __: click.Parameter, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Standard input is checked alone. A path that is missing is an error of the report."""
    if STDIN in paths and len(paths) > 1:
        raise click.BadParameter("`-` (standard input) cannot be checked along with paths")
    return paths


Decorator = Callable[[Any], Any]


def _selectors(name: str, text: str) -> Decorator:
    return click.option(name, multiple=True, callback=_codes, metavar="CODES", help=text)


_CONFIGURING: tuple[Decorator, ...] = (
    _selectors("--select", "Run these rules only: codes, code prefixes, names or ALL."),
    _selectors("--extend-select", "Run these rules too."),
    _selectors("--ignore", "Do not run these rules."),
    click.option(
        "--fail-on",
        type=click.Choice(["error", "warning", "performance", "never"]),
        help="The least severity that makes the exit code 1.  [default: warning]",
    ),
    click.option(
        "--min-confidence",
        type=click.Choice(["certain", "likely", "possible"]),
        help="The least confidence of findings that are shown.  [default: likely]",
    ),
    click.option(
        "--exclude",
        multiple=True,
        metavar="PATTERN",
        help="Do not check what matches, as in .gitignore; added to those configured.",
    ),
    click.option(
        "--force-exclude", is_flag=True, help="Exclude files even when they are named themselves."
    ),
    click.option(
        "--no-gitignore", is_flag=True, help="Check what .gitignore files ignore, too."
    ),
    click.option(
        "--config",
        "config_file",
        type=click.Path(path_type=Path),
        help="Use this pyproject.toml or devlint.toml.",
    ),
)  # fmt: skip


def _configuring(command: Command) -> Command:
    """The options that say something else than the configuration file does."""
    for option in reversed(_CONFIGURING):
        command = option(command)
    return command


_paths = click.argument(
    "paths", nargs=-1, type=click.Path(path_type=Path, allow_dash=True), callback=_alone
)
_color = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colour the output; auto heeds NO_COLOR and FORCE_COLOR.  [default: auto]",
)


@main.command()
@_paths
@_configuring
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text",
    help="[default: text]",
)  # fmt: skip
@click.option(
    "--output-file", "-o", type=click.Path(path_type=Path), help="Write the report to a file."
)
@click.option(
    "--stdin-filename",
    type=click.Path(path_type=Path),
    help="The name of what is read from standard input (`-`).",
)
@click.option("--fix", is_flag=True, help="Apply the safe fixes, and report what is left.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: the unsafe ones too.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option("--show-suppressed", is_flag=True, help="Show suppressed findings too.")
@click.option("--quiet", "-q", is_flag=True, help="Print findings and errors, no summary.")
@click.option("--verbose", "-v", is_flag=True, help="Say where inference gave up, and timings.")
@click.option("--no-progress", is_flag=True, help="Show no progress bar on long runs.")
@_color
def check(
    paths: tuple[Path, ...],
    form: str,
    output_file: Path | None,
    stdin_filename: Path | None,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
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
    from devlint import engine
    from devlint.knowledge import KnowledgeError
    from devlint.terminal import ProgressBar, emit, show, wants_color

    if unsafe_fixes and not (fix or diff):
        raise click.UsageError("--unsafe-fixes needs --fix or --diff")
    contents = {}
    absolute = [Path(os.path.abspath(path)) for path in paths]
    if STDIN in paths:
        absolute = [Path(os.path.abspath(stdin_filename or "<stdin>"))]
        contents = {absolute[0]: sys.stdin.buffer.read()}
    config = _config(absolute, settings)
    rules = _rules(config)
    to_check = absolute or _configured_paths(config)
    bar = ProgressBar() if sys.stderr.isatty() and not no_progress else None
    try:
        if fix or diff:
            from devlint import fixing

            fixed = fixing.fix(
                to_check, config, rules, unsafe=unsafe_fixes, contents=contents, progress=bar
            )
        else:
            report = engine.check(to_check, config, rules, contents=contents, progress=bar)
    except KnowledgeError as error:
        raise Refusal(str(error)) from None
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        if bar:
            bar.clear()
    if diff:
        emit(_diff(fixed), sys.stdout)
        for broken in fixed.report.errors:
            place = f"{broken.path}:{broken.line}:{broken.column}"
            emit(f"{show(f'{place}: {broken.message}')}\n", sys.stderr)
        sys.exit(UNCHECKED if fixed.report.errors else FINDINGS if fixed.changes else 0)
    output = sys.stdout
    if fix:
        report = fixed.report
        if contents:
            output = sys.stderr  # standard output gets the fixed text
            after = fixed.changes[0].after if fixed.changes else contents[absolute[0]]
            sys.stdout.buffer.write(after)
        else:
            _write(fixed)
    text = _rendered(
        report,
        form,
        color=wants_color(color, output) if output_file is None else color == "always",
        show_suppressed=show_suppressed,
        summary=not quiet,
        fixed=fixed.count if fix else 0,
    )
    if output_file is None:
        emit(text, output)
    else:
        try:
            output_file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise Refusal(f"{output_file}: cannot be written: {error.strerror}") from None
    if verbose:
        emit(_verbose(report), sys.stderr)
    sys.exit(_exit_code(report, config))


def _config(paths: Sequence[Path], settings: Mapping[str, Any]) -> Config:
    """The configuration for the paths (absolute; none: for here), under the command line's."""
    from devlint.config import NEVER, ConfigError, find_config
    from devlint.findings import Confidence, Severity
    from devlint.selection import Layer

    file = settings["config_file"]
    try:
        config = find_config(_start(paths), Path(os.path.abspath(file)) if file else None)
    except ConfigError as error:
        raise Refusal(str(error)) from None
    fail_on, min_confidence = settings["fail_on"], settings["min_confidence"]
    if fail_on:
        config = replace(config, fail_on=None if fail_on == NEVER else Severity(fail_on))
    if min_confidence:
        config = replace(config, min_confidence=Confidence(min_confidence))
    return replace(
        config,
        extend_exclude=(*config.extend_exclude, *settings["exclude"]),
        force_exclude=config.force_exclude or settings["force_exclude"],
        respect_gitignore=config.respect_gitignore and not settings["no_gitignore"],
        command_line=Layer(
            settings["select"] or None, settings["extend_select"], settings["ignore"]
        ),
    )


def _start(paths: Sequence[Path]) -> Path:
    """Where the configuration is looked for: the folder that the paths share, or here.

    Here, too, if what they share lies above: it is then not one project that they are of.
    """
    here = Path.cwd()
    folders = {path if os.path.isdir(path) else path.parent for path in paths}
    try:
        shared = Path(os.path.commonpath(folders)) if folders else here
    except ValueError:  # on different drives
        return here
    return here if len(folders) > 1 and shared in here.parents else shared


def _configured_paths(config: Config) -> list[Path]:
    paths = [Path(os.path.abspath(config.root / path)) for path in config.paths]
    for path, written in zip(paths, config.paths, strict=True):
        if not os.path.lexists(path):
            raise Refusal(f"{config.file}: paths: there is no file or directory {written!r}")
    return paths


def _all_rules() -> tuple[Rule, ...]:
    from devlint.rules import RulePackError, load_rules

    try:
        return load_rules()
    except RulePackError as error:
        raise Refusal(str(error)) from None


def _rules(config: Config) -> tuple[Rule, ...]:
    """Every rule installed, after the selectors are found to mean some of them."""
    from devlint.selection import SelectionError, validate

    rules = _all_rules()
    try:
        for where, selectors in config.selectors():
            validate(selectors, rules, where)
    except SelectionError as error:
        raise Refusal(str(error)) from None
    return rules


def _rendered(
    report: Report, form: str, *, color: bool, show_suppressed: bool, summary: bool, fixed: int
) -> str:
    from devlint.reporters import json, text

    if form == "json":
        return json.render(report, show_suppressed=show_suppressed)
    options = text.Options(color, Path.cwd(), show_suppressed, summary, fixed)
    return text.render(report, options)


def _diff(fixed: Fixed) -> str:
    from devlint.fixing import unified_diff

    root = fixed.report.root
    return "".join(
        unified_diff(change, os.path.relpath(change.file, root).replace(os.sep, "/"))
        for change in fixed.changes
    )


def _write(fixed: Fixed) -> None:
    from devlint.findings import FileError
    from devlint.fixing import FixingError, write
    from devlint.project.imports import Project

    for change in fixed.changes:
        try:
            write(change)
        except FixingError as error:
            path = Project(fixed.report.root).path_of(change.file)
            fixed.report.errors.append(FileError(path, 1, 1, str(error)))


def _exit_code(report: Report, config: Config) -> int:
    if report.errors:
        return UNCHECKED
    fail_on = config.fail_on
    if fail_on and any(found.severity.rank >= fail_on.rank for found in report.findings):
        return FINDINGS
    return 0


def _verbose(report: Report) -> str:
    lines = [f"{path}: {note}" for path, note in report.notes]
    stages = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in report.seconds.items())
    files = "1 file" if report.files == 1 else f"{report.files} files"
    lines.append(f"{files}; CPU time: {stages}")
    return "".join(f"devlint: {line}\n" for line in lines)


@main.command()
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text",
    help="[default: text]",
)  # fmt: skip
@_color
def rules(form: str, color: str) -> None:
    """List the rules."""
    from devlint.reporters import catalogue
    from devlint.terminal import emit, wants_color

    found = _all_rules()
    if form == "json":
        emit(catalogue.rules_as_json(found), sys.stdout)
    else:
        emit(catalogue.rules_as_text(found, wants_color(color, sys.stdout)), sys.stdout)


@main.command()
@click.argument("rule")
@_color
def explain(rule: str, color: str) -> None:
    """Explain a RULE, by its code or name: what, why, examples, limits."""
    from devlint.reporters import catalogue
    from devlint.rules import find_rule, hint
    from devlint.terminal import emit, wants_color

    every = _all_rules()
    found = find_rule(every, rule)
    if found is None:
        raise Refusal(f"there is no rule {rule!r}{hint(rule, every)}")
    emit(catalogue.explanation(found, wants_color(color, sys.stdout)), sys.stdout)


@main.command(name="config")
@_paths
@_configuring
def show_config(paths: tuple[Path, ...], **settings: Any) -> None:
    """Print the configuration in effect for PATHS, as TOML."""
    from devlint.config import to_toml
    from devlint.terminal import emit

    config = _config([Path(os.path.abspath(path)) for path in paths], settings)
    _rules(config)  # for what it refuses
    layer = config.command_line
    config = replace(
        config,
        select=layer.select or config.select,
        extend_select=(*config.extend_select, *layer.extend_select),
        ignore=(*config.ignore, *layer.ignore),
    )
    origin = config.file or "no configuration file: the defaults"
    emit(f"# {origin}\n# project root: {config.root}\n{to_toml(config)}", sys.stdout)


def _guard(module: str) -> Any:
    """A module of the runtime guard, which needs torch."""
    import importlib.util

    if importlib.util.find_spec("torch") is None:
        raise Refusal("this command needs torch: pip install 'devlint[guard]'")
    return importlib.import_module(f"runtime_guard.{module}")


@main.command()
@click.argument("findings", type=click.Path(allow_dash=True), metavar="FINDINGS.json")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--virtual", metavar="DEVICES", help="Run on virtual devices, such as cuda:2.")
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    help="What the paths of the findings are relative to.  [default: the project]",
)
@click.option("--keep-going", is_flag=True, help="Let mixed-device operations pass, as noted.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text",
    help="[default: text]",
)  # fmt: skip
def confirm(
    findings: str,
    command: tuple[str, ...],
    virtual: str | None,
    root: Path | None,
    keep_going: bool,
    form: str,
) -> None:
    """Run COMMAND under the guard, and say of each finding whether it really happens.

    FINDINGS.json is a report of `devlint check --format json`, `-` for standard input. For example:
    devlint confirm findings.json --virtual cuda:2 -- python train.py --epochs 1

    Exit codes: 1 an error-level finding was confirmed, else 0; 2 usage errors.
    """
    import json

    from devlint.config import ConfigError, find_config
    from devlint.terminal import emit

    guard = _guard("commands.confirm")
    try:
        code = guard.run_confirm(
            findings,
            command,
            virtual=virtual,
            output_format=form,
            root=str(root or find_config(Path.cwd()).root),
            keep_going=keep_going,
            write=lambda text: emit(text, sys.stdout),
        )
    except OSError as error:
        raise Refusal(f"{findings}: cannot be read: {error.strerror}") from None
    except json.JSONDecodeError as error:
        raise Refusal(f"{findings}: is not JSON: {error}") from None
    except (ValueError, ConfigError) as error:
        raise Refusal(str(error)) from None
    sys.exit(code)


# -m and -c are the command's, as they are for `python` and `coverage run`
@main.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--virtual", metavar="DEVICES", help="Run on virtual devices, such as cuda:2.")
@click.option(
    "--report",
    metavar="FORMAT|FILE",
    help="html, json, trace or text, or a file that ends accordingly.  "
    "[default: a summary on standard error]",
)
@click.option("--keep-going", is_flag=True, help="Let mixed-device operations pass, as noted.")
def run(
    command: tuple[str, ...], virtual: str | None, report: str | None, keep_going: bool
) -> None:
    """Run COMMAND under the guard, and report its transfers, syncs and mixed-device failures.

    COMMAND is a script, `-m MODULE`, `-c CODE` or `pytest`, with its arguments. For example:
    devlint run --virtual cuda:2 --report run.html train.py --epochs 1

    Exits as the program does; 2 for usage errors.
    """
    guard = _guard("commands.run")
    try:
        code = guard.run_command(command, virtual=virtual, report=report, keep_going=keep_going)
    except OSError as error:
        raise Refusal(f"{error.filename or report}: cannot be written: {error.strerror}") from None
    except ValueError as error:
        raise Refusal(str(error)) from None
    sys.exit(code)
