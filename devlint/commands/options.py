"""Arguments and options that several commands take, exit codes, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from devlint.reporters.formats import FORMATS
from devlint.suggestions import nearest
from devlint.terminal import show

FINDINGS, USAGE, UNCHECKED = 1, 2, 3
INTERRUPTED = 130  # as shells have it for Ctrl-C
STDIN = Path("-")
Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]


class Refusal(click.ClickException):
    """A configuration or an argument that cannot be worked with; one line, no usage."""

    exit_code = USAGE

    def format_message(self) -> str:
        return show(self.message)  # it may name a file of the project


def _codes(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Selectors may be given comma-separated, repeatedly, or both."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def _alone(_: click.Context, __: click.Parameter, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Standard input is checked alone. A path that is missing is an error of the report."""
    if STDIN in paths and len(paths) > 1:
        raise click.BadParameter("`-` (standard input) cannot be checked along with paths")
    return paths


def _outputs(
    _: click.Context, __: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, Path], ...]:
    """`FORMAT=FILE`, each file once."""
    found: dict[Path, str] = {}
    for value in values:
        form, equals, file = value.partition("=")
        if not equals or not file:
            raise click.BadParameter(f"{value!r} is not FORMAT=FILE, such as sarif=devlint.sarif")
        if form not in FORMATS:
            raise click.BadParameter(
                f"{form!r} is no format: {', '.join(FORMATS)}{nearest(form, FORMATS)}"
            )
        if Path(file) in found:
            raise click.BadParameter(f"{file} is given twice")
        found[Path(file)] = form
    return tuple((form, file) for file, form in found.items())


def _selectors(name: str, text: str) -> Decorator:
    return click.option(name, multiple=True, callback=_codes, metavar="CODES", help=text)


fail_on_option = click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "performance", "never"]),
    help="The least severity that makes the exit code 1.  [default: warning]",
)
config_option = click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help="Use this pyproject.toml or devlint.toml.",
)
_CONFIGURING: tuple[Decorator, ...] = (
    _selectors("--select", "Run these rules only: codes, code prefixes, names or ALL."),
    _selectors("--extend-select", "Run these rules too."),
    _selectors("--ignore", "Do not run these rules."),
    fail_on_option,
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
        "--jobs",
        "-j",
        type=click.IntRange(min=1),
        metavar="N",
        help="Check with N processes; 1: one at a time.  [default: one for each core]",
    ),
    click.option("--no-cache", is_flag=True, help="Neither use nor keep outcomes of other checks."),
    click.option(
        "--cache-dir",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Where they are kept.  [default: .devlint_cache in the project]",
    ),
    config_option,
)  # fmt: skip


def configuring(command: Command) -> Command:
    """The options that say something else than the configuration file does."""
    for option in reversed(_CONFIGURING):
        command = option(command)
    return command


paths_argument = click.argument(
    "paths", nargs=-1, type=click.Path(path_type=Path, allow_dash=True), callback=_alone
)
color_option = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colour the output; auto heeds NO_COLOR and FORCE_COLOR.  [default: auto]",
)
text_or_json = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text",
    help="[default: text]",
)  # fmt: skip
formats = click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    help="[default: text; github under GitHub Actions]",
)
output_file_option = click.option(
    "--output-file",
    "-o",
    type=click.Path(path_type=Path),
    help="Write the report to a file instead of standard output.",
)


quiet_option = click.option(
    "--quiet", "-q", is_flag=True, help="Print findings and errors, no summary."
)


show_suppressed_option = click.option(
    "--show-suppressed", is_flag=True, help="Show suppressed findings too."
)


outputs = click.option(
    "--output",
    multiple=True,
    callback=_outputs,
    metavar="FORMAT=FILE",
    help="Write the report to a file too, in a format; may be given several times.",
)
_COMPARING: tuple[Decorator, ...] = (
    click.option(
        "--baseline",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Do not report what this file lists.  [default: .devlint-baseline, if it is there]",
    ),
    click.option("--no-baseline", is_flag=True, help="Report what the baseline lists, too."),
    click.option(
        "--error-on-stale", is_flag=True, help="Exit with 1 if the baseline lists what is gone."
    ),
    click.option(
        "--diff-base",
        metavar="REV",
        help="Report only what a check of this git revision does not find.",
    ),
    click.option(
        "--staged", is_flag=True, help="Check what is staged; report what HEAD does not have."
    ),
)


def comparing(command: Command) -> Command:
    """The options that leave out what was there before."""
    for option in reversed(_COMPARING):
        command = option(command)
    return command
