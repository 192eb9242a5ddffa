"""From a parsed file to its facts."""

from __future__ import annotations

from collections.abc import Callable

from devlint.inference.collect import (
    absent_backends,
    accelerator_bindings,
    accelerator_calls,
    autocasts,
    contradictions,
    default_devices,
    dispatched_models,
    dropped_devices,
    forbidden_waits,
    hard_coded_accelerators,
    ignored_devices,
    index_tests,
    kept_graphs,
    kernel_launches,
    listeners,
    meta_leftovers,
    missing_devices,
    moves_in_vain,
    notes,
    places,
    rebindings,
    stream_races,
    timings,
    undetached_reads,
    unmoved_modules,
)
from devlint.inference.collect.module_homes import Homes
from devlint.inference.collect.observer import observing
from devlint.inference.collect.plain_attributes import settle_class
from devlint.inference.facts import Facts, Placed
from devlint.inference.interpreter import (
    calls,
    contracts,
    expressions,
    operators,
    statements,
    subscripts,
)
from devlint.inference.interpreter.attributes import attribute_of
from devlint.inference.interpreter.files import run_unit
from devlint.inference.interpreter.iteration import element_of
from devlint.inference.program import roles, self_tests
from devlint.inference.program.declarations import Function, classes_of, functions_of
from devlint.inference.program.frames import body_of
from devlint.inference.program.functions import Summary
from devlint.inference.program.sources import Importer, Parsed
from devlint.inference.program.units import Context, Unit
from devlint.inference.summaries import returns
from devlint.inference.summaries.functions import summarize
from devlint.inference.summaries.substitution import call_function
from devlint.knowledge import Knowledge, load

# Importing these fills the tables of evaluators.
_TABLES = (calls, expressions, operators, statements, subscripts)


class _Interpreter:
    """The recursion: the rooms that walk the program, behind the interface that others know."""

    call = staticmethod(calls.call_value)
    call_function = staticmethod(call_function)
    element_of = staticmethod(element_of)
    attribute_of = staticmethod(attribute_of)
    on = staticmethod(listeners.on)

    def run(self, unit: Unit) -> None:
        run_unit(unit, self)

    def summarize(self, function: Function) -> Summary | None:
        return summarize(self, function)


_INTERPRETER = _Interpreter()


def new_context(knowledge: Knowledge, importer: Importer | None) -> Context:
    """A run with nothing inferred yet."""
    return Context(knowledge, importer, _INTERPRETER.run)


def infer_file(
    parsed: Parsed,
    importer: Importer | None = None,
    knowledge: Knowledge | None = None,
    interrupt: Callable[[], None] | None = None,
) -> Facts:
    """The facts about one file.

    `importer` finds the project's other files. Files checked with one importer share what was
    inferred of the files that they import. `interrupt` is called at each statement; what it raises
    ends the inference, and nothing more may be inferred with this importer. Raises nothing else for
    any file that parses, but for RecursionError on one nested deeper than the interpreter's stack.
    """
    context: Context | None = getattr(importer, "inference_context", None)
    if context is None:
        context = new_context(knowledge if knowledge is not None else load(), importer)
        if importer is not None:
            importer.inference_context = context  # type: ignore[attr-defined]
    context.interrupt = interrupt
    return infer_with(context, parsed)


def infer_with(context: Context, parsed: Parsed) -> Facts:
    """The facts about one file, in a run that is under way."""
    unit = context.unit_of(parsed)
    return finish_unit(unit)


def finish_unit(unit: Unit) -> Facts:
    """Infer all that is left and settle the facts."""
    if unit.is_foreign:
        return unit.facts  # torch's rules say nothing of it
    _INTERPRETER.run(unit)
    if unit._finished:
        return unit.facts
    unit._finished = True
    unit.facts.accelerated = unit.accelerated
    unit.facts.is_script = unit.is_script
    body = body_of(unit)
    assert body is not None
    for function in functions_of(unit):  # grows: inferring one declares those nested in it
        _INTERPRETER.summarize(function)
    contradictions.settle(body)
    notes.settle(body)
    for info in classes_of(unit):
        settle_class(info, body)
    unit.kept(Homes).settle()
    returns.settle(unit)
    moves_in_vain.settle(unit)
    roles.settle(unit)
    self_tests.note(unit)
    hard_coded_accelerators.settle(unit)
    accelerator_calls.settle(unit)
    autocasts.settle(unit)
    default_devices.settle(unit)
    dispatched_models.settle(unit)
    kernel_launches.settle(unit)
    meta_leftovers.settle(unit)
    missing_devices.settle(unit)
    rebindings.settle(unit)
    ignored_devices.settle(unit)
    unmoved_modules.settle(unit)
    dropped_devices.settle(unit)
    absent_backends.settle(unit)
    accelerator_bindings.settle(unit)
    index_tests.settle(unit)
    undetached_reads.leave(body)
    undetached_reads.settle(unit)
    timings.leave(body)
    kept_graphs.leave(body)
    kept_graphs.settle(unit)
    stream_races.leave(body)
    forbidden_waits.leave(body)
    forbidden_waits.settle(unit)
    contracts.settle(unit)
    places.settle(unit)
    unit.facts.mistaken_devices += unit.mistaken.values()
    return unit.facts


def places_in(
    parsed: Parsed,
    importer: Importer | None = None,
    knowledge: Knowledge | None = None,
    interrupt: Callable[[], None] | None = None,
) -> tuple[Placed, ...]:
    """Where every value of one file is. The importer must be one that nothing was inferred with."""
    with observing(parsed) as observer:
        infer_file(parsed, importer, knowledge, interrupt)
        return observer.settle()
