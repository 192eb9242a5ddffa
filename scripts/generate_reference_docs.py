#!/usr/bin/env python3
"""Write `docs/reference.md`, all commands and options, and `docs/facts.md`, all facts.

Both come from the code. `--check` writes nothing and exits with 1 if a page is missing or stale.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import generated_pages

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"

sys.path[:0] = [str(ROOT)]

from devlint import config, facts, schema  # noqa: E402
from devlint.cli import main as program  # noqa: E402

OURS = {"feeds"}  # fields that are for the engine
REFERENCE = """\
# Commands and options

Generated from the code by `scripts/generate_reference_docs.py`. What the options mean in practice:
[commands](cli.md), [configuration](configuration.md), [the runtime guard](runtime-guard.md).
"""
FACTS = """\
# Facts

Generated from the code by `scripts/generate_reference_docs.py`. A [rule of your own](own-rules.md)
reads these; import them from `devlint.facts`.

**What is promised.** Every class, field and member on this page keeps its name, its type and its
meaning within a minor release (0.1.x, 0.2.x, …), and what a release is to remove stands in the
changelog of the one before. Classes, fields with a default, and members may be added at any time:
give arguments by keyword, and expect members that you do not know. What a rule finds may change
with any release, since the inference learns. `devlint.rule` and `devlint.testing` are under the
same promise; other modules are not.
"""


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """A command and those inside of it, by their whole names."""
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from commands(found, f"{name} {each}")


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def command_section(name: str, command: click.Command) -> str:
    """Usage, description and options of a command."""
    # the program's settings are its commands'; Click keeps the option for help of its first context
    context = click.Context(command, info_name=name, **program.context_settings)
    usage = command.get_usage(context).removeprefix("Usage: ")
    help_text = inspect.cleandoc((command.help or "").partition("\b")[0]).strip()
    parts = [f"### `{name}`", "", "```text", " ".join(usage.split()), "```"]
    if help_text:
        parts += ["", help_text.partition("\n\n")[0].replace("\n", " ")]
    records = [
        record
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option)
        and (record := parameter.get_help_record(context)) is not None
    ]
    if records:
        parts += ["", "| option | does |", "| --- | --- |"]
        parts += [f"| `{cell(option)}` | {cell(does)} |" for option, does in records]
    return "\n".join(parts)


def kind(fragment: dict[str, Any]) -> str:
    """What a value of the schema looks like, in words."""
    if "enum" in fragment:
        return ", ".join(f'`"{choice}"`' for choice in fragment["enum"])
    if fragment["type"] == "array":
        return f"list of {'tables' if fragment['items']['type'] == 'object' else 'strings'}"
    return {"boolean": "true or false", "object": "table", "string": "string", "integer": "number"}[
        fragment["type"]
    ]


def options() -> Iterator[str]:
    """A row for each key of the configuration."""
    empty = config.Config(Path("."))
    yield "| key | value | default | says |"
    yield "| --- | --- | --- | --- |"
    for name, fragment in schema.configuration_schema()["properties"].items():
        value = getattr(empty, name.replace("-", "_"))
        default = "" if value in ((), {}, None) else f"`{config._toml(value)}`"
        if name == "exclude":
            default = "see `devlint config`"
        cells = (f"[`{name}`](configuration.md#{name})", kind(fragment), cell(default))
        yield f"| {' | '.join(cells)} | {cell(fragment['description'])} |"


def reference_page() -> str:
    sections = [command_section(name, command) for name, command in commands(program, "devlint")]
    tables = "\n".join(options())
    return "\n\n".join(
        [REFERENCE.strip(), "## Commands", *sections, "## Configuration", tables]
    ) + "\n"  # fmt: skip


def documented(classes: list[type]) -> dict[str, dict[str, str]]:
    """The comment behind each field or member in the source of a class, by both names."""
    found: dict[str, dict[str, str]] = {}
    for each in classes:
        lines, _ = inspect.getsourcelines(each)
        matches = (re.match(r"    (\w+)(?::| = ).*?  # (.*)", line) for line in lines)
        found[each.__name__] = {m[1]: m[2] for m in matches if m and not m[2].startswith("type:")}
    return found


def fact_sections() -> Iterator[str]:
    classes = [getattr(facts, name) for name in facts.__all__]
    comments = documented([each for each in classes if inspect.isclass(each)])
    for each in classes:
        name = each.__name__
        text = inspect.cleandoc(each.__doc__ or "")
        yield f"## `{name}`\n\n{text}"
        fields = fields_of(each)
        if fields:
            shown = [field for field in fields if field not in OURS]
            rows = [(field, annotation(each, field)) for field in shown]
            head = "| field | type | |\n| --- | --- | --- |\n"
            yield head + "\n".join(
                f"| `{field}` | `{cell(type_)}` | {cell(comments[name].get(field, ''))} |"
                for field, type_ in rows
            )
        else:
            members = [member.name for member in each]
            yield "| member | |\n| --- | --- |\n" + "\n".join(
                f"| `{member}` | {cell(comments[name].get(member, ''))} |" for member in members
            )


def fields_of(each: type) -> tuple[str, ...]:
    """The fields of a record: a dataclass or a named tuple."""
    if dataclasses.is_dataclass(each):
        return tuple(field.name for field in dataclasses.fields(each))
    return getattr(each, "_fields", ())


def annotation(owner: type, field: str) -> str:
    """The type of a field as it is written."""
    (definition,) = ast.parse(inspect.getsource(owner)).body
    assert isinstance(definition, ast.ClassDef)
    return next(
        ast.unparse(each.annotation)
        for each in definition.body
        if isinstance(each, ast.AnnAssign)
        and isinstance(each.target, ast.Name)
        and each.target.id == field
    )


def facts_page() -> str:
    return "\n\n".join([FACTS.strip(), *fact_sections()]) + "\n"


def main(arguments: list[str]) -> int:
    wanted = {DOCS / "reference.md": reference_page(), DOCS / "facts.md": facts_page()}
    return generated_pages.update(wanted, "generate_reference_docs.py", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
