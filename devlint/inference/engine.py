"""From a parsed file to its facts."""

from __future__ import annotations

from devlint.inference import calls, expressions, operators, statements, subscripts
from devlint.inference.facts import Facts
from devlint.inference.unit import Context, Importer, Parsed
from devlint.knowledge import Knowledge, load

# Importing these fills the tables of evaluators.
_TABLES = (calls, expressions, operators, statements, subscripts)


def infer_file(
    parsed: Parsed, importer: Importer | None = None, knowledge: Knowledge | None = None
) -> Facts:
    """The facts about one file.

    `importer` finds the project's other files. Files checked with one importer share what was
    inferred of the files that they import. Raises nothing for any file that parses, but for
    RecursionError on one nested deeper than the interpreter's stack.
    """
    context: Context | None = getattr(importer, "inference_context", None)
    if context is None:
        context = Context(knowledge if knowledge is not None else load(), importer)
        if importer is not None:
            importer.inference_context = context  # type: ignore[attr-defined]
    return infer_with(context, parsed)


def infer_with(context: Context, parsed: Parsed) -> Facts:
    """The facts about one file, in a run that is under way."""
    unit = context.unit_of(parsed)
    return unit.finish()
