"""``devlint test``: a suite on the CPU and on virtual devices, and what differs.

Two runs of ``python -m pytest`` with the same arguments, each in a process of its own
(``suite_plugin``).  ``compare`` is the pure heart: what fails on the card alone, by cause.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from runtime_guard.commands import suite_records
from runtime_guard.commands.suite_records import NO_DEVICE, UNSUPPORTED, Ended, Failure, Orders
from runtime_guard.core.sites import Site, short_path
from runtime_guard.recording.events import hint_at
from runtime_guard.reports.text import page

DEFAULT_MACHINE = "cuda:1"
FINDINGS, USAGE, UNFINISHED = 1, 2, 3
_PLUGIN = "runtime_guard.commands.suite_plugin"
_PYTEST_USAGE, _PYTEST_NO_TESTS, _PYTEST_INTERRUPTED = 4, 5, 2
_PYTEST_ENDS = frozenset({0, 1})
_SHOWN_TESTS = 5
_SHOWN_LINES = 15


class SuiteError(ValueError):
    """A suite that cannot be run as it was asked for; the message says why."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = _tail(output)
        """The last lines of pytest's."""


@dataclass(frozen=True)
class SuiteRun:
    """One run of a suite."""

    devices: str
    """``the CPU`` or ``virtual cuda:1``."""
    tests: Mapping[str, Ended]
    died: str = ""
    """How the run ended before its end, and in which tests; empty where it did not."""

    def count(self, outcome: str) -> int:
        """How many tests ended so."""
        return sum(test.outcome == outcome for test in self.tests.values())

    @property
    def counts(self) -> dict[str, int]:
        """By outcome."""
        return {outcome: self.count(outcome) for outcome in ("passed", "failed", "skipped")}

    def __str__(self) -> str:
        said = [f"{count} {outcome}" for outcome, count in self.counts.items() if count]
        return ", ".join(said) or "no test ended"


@dataclass(frozen=True)
class Cause:
    """One reason for which tests fail on the card alone."""

    failure: Failure
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """What a suite does otherwise on a card."""

    cpu: SuiteRun
    card: SuiteRun
    causes: tuple[Cause, ...] = ()
    """Of what fails on the card alone: those in the code first, then those in the tests."""
    undecided: tuple[Cause, ...] = ()
    """Of what virtual devices cannot do."""
    on_both: tuple[str, ...] = ()
    on_cpu_alone: tuple[str, ...] = ()
    not_run: tuple[str, ...] = ()
    """Passed on the CPU, and did not run on the card."""

    @property
    def failed(self) -> tuple[str, ...]:
        """The tests that fail on the card alone."""
        return tuple(dict.fromkeys(test for cause in self.causes for test in cause.tests))

    @property
    def exit_code(self) -> int:
        """3 when a run did not come to its end, 1 when tests fail on the card alone, else 0."""
        if self.cpu.died or self.card.died:
            return UNFINISHED
        return FINDINGS if self.causes else 0


def compare(cpu: SuiteRun, card: SuiteRun) -> Difference:
    """Hold two runs against each other, by the names of tests."""
    red = {test.name for test in cpu.tests.values() if test.outcome == "failed"}
    failed = [test for test in card.tests.values() if test.outcome == "failed"]
    alone = [test for test in failed if test.name not in red]
    # a factory without `device=` is one whatever else is wrong with a test that is red anyway
    noted = [
        Ended(test.name, "failed", tuple(f for f in test.failures if f.kind == NO_DEVICE))
        for test in failed
        if test.name in red
    ]
    causes = _causes([*alone, *noted])
    names = {test.name for test in failed}
    return Difference(
        cpu,
        card,
        tuple(cause for cause in causes if cause.failure.kind != UNSUPPORTED),
        tuple(cause for cause in causes if cause.failure.kind == UNSUPPORTED),
        on_both=tuple(sorted(red & names)),
        on_cpu_alone=tuple(sorted(red & card.tests.keys() - names)),
        not_run=tuple(
            test.name
            for test in cpu.tests.values()
            if test.outcome == "passed" and test.name not in card.tests
        ),
    )


def _causes(tests: Iterable[Ended]) -> list[Cause]:
    """Failures of one kind at one line are one cause; those of the code before the tests'."""
    found: dict[tuple[Any, ...], tuple[Failure, dict[str, None]]] = {}
    for test in tests:
        for failure in test.failures:
            key = failure.kind or failure.error.partition(":")[0], failure.site
            found.setdefault(key, (failure, {}))[1][test.name] = None
    causes = [Cause(failure, tuple(names)) for failure, names in found.values()]
    return sorted(causes, key=lambda cause: (cause.failure.in_suite, -len(cause.tests)))


def run_suite(arguments: Sequence[str], orders: Orders) -> SuiteRun:
    """One run of pytest in a process of its own.  Raises ``SuiteError`` where it cannot start."""
    command = [
        *(sys.executable, "-m", "pytest", "-p", _PLUGIN),
        *("--continue-on-collection-errors", *arguments),
    ]
    environment = {
        **os.environ,
        suite_records.VARIABLE: json.dumps(asdict(orders)),
        "CUDA_VISIBLE_DEVICES": "",  # a real card would take part in both runs
    }
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    output = done.stdout.decode("utf-8", "replace")
    if done.returncode == _PYTEST_USAGE:
        raise SuiteError("pytest refuses its arguments", output)
    records = suite_records.read(orders.folder)
    devices = "the CPU" if orders.virtual is None else f"virtual {orders.virtual}"
    if done.returncode == _PYTEST_NO_TESTS or not (records.tests or records.unfinished):
        if done.returncode in (_PYTEST_NO_TESTS, *_PYTEST_ENDS):
            raise SuiteError(f"pytest found no tests on {devices}", output)
        raise SuiteError(f"pytest could not start on {devices}", output)
    run = SuiteRun(devices, records.tests, _death(done.returncode, records.unfinished, output))
    if orders.virtual is None and run.count("failed") == len(run.tests) and not run.died:
        raise SuiteError("every test fails on the CPU: there is nothing to compare", output)
    return run


def _death(code: int, unfinished: Sequence[str], output: str) -> str:
    if code in _PYTEST_ENDS and not unfinished:
        return ""
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    if code == _PYTEST_INTERRUPTED:
        how = "an interruption"
    where = f" in {', '.join(unfinished)}" if unfinished else ""
    return f"ended with {how}{where}:\n{_tail(output)}".rstrip()


def _tail(output: str) -> str:
    lines = output.strip().splitlines()[-_SHOWN_LINES:]
    return "".join(f"  {line}\n" for line in lines)


def difference_of(
    arguments: Sequence[str],
    *,
    virtual: str = DEFAULT_MACHINE,
    put: bool = True,
    strict: bool = False,
    say: Callable[[str], Any] = lambda text: None,
) -> Difference:
    """Run the suite on the CPU and on the machine ``virtual``, and compare.

    With ``put`` what tests make goes to the card; ``strict`` notes factories without ``device=``.
    Raises ``SuiteError`` where there is no pytest, no test, or no such machine.
    """
    if importlib.util.find_spec("pytest") is None:
        raise SuiteError("there is no pytest in this environment: pip install pytest")
    from runtime_guard.virtual.machine import parse_machine  # start-up: torch

    parse_machine(virtual)
    runs = []
    for machine in (None, virtual):
        with tempfile.TemporaryDirectory(prefix="devlint-test-") as folder:
            on_card = machine is not None
            run = run_suite(arguments, Orders(folder, machine, put and on_card, strict and on_card))
        say(f"on {run.devices}: {run}")
        runs.append(run)
    return compare(*runs)


def render_text(difference: Difference) -> str:
    """The causes with their lines and tests, then what was left out, then a sentence."""
    lines: list[str] = []
    headings = {
        "in the code": [c for c in difference.causes if not c.failure.in_suite],
        "in the tests' own lines": [c for c in difference.causes if c.failure.in_suite],
        "what virtual devices cannot do": list(difference.undecided),
    }
    for heading, causes in headings.items():
        if causes:
            lines += [heading, ""]
        for cause in causes:
            lines += [*_cause_lines(cause), ""]
    for run in (difference.cpu, difference.card):
        if run.died:
            lines.append(f"the run on {run.devices} {run.died}")
    left_out = len(difference.on_both)
    lines += [
        f"{count} {sentence}"
        for count, sentence in (
            (
                left_out,
                f"failed on the CPU as well, and {'was' if left_out == 1 else 'were'} left out",
            ),
            (len(difference.on_cpu_alone), "failed on the CPU alone"),
            (len(difference.not_run), f"did not run on {difference.card.devices}"),
        )
        if count
    ]
    return page([*lines, _sentence(difference)])


def _sentence(difference: Difference) -> str:
    count, causes = len(difference.failed), len(difference.causes)
    if not count:
        return f"nothing fails on {difference.card.devices} alone"
    fail = f"{count} test{'s fail' if count > 1 else ' fails'}"
    by = f"{causes} cause{'s' if causes > 1 else ''}"
    return f"{fail} on {difference.card.devices} alone, by {by}"


def _cause_lines(cause: Cause) -> list[str]:
    failure = cause.failure
    what = failure.kind or "another result"
    told = failure.detail or failure.error
    if failure.rule and hint_at(failure.rule) not in told:
        told = f"{told} {hint_at(failure.rule)}"
    lines = [f"{failure.site}  {what}", *(f"    {line}" for line in told.splitlines())]
    lines += [f"    {test}" for test in cause.tests[:_SHOWN_TESTS]]
    more = len(cause.tests) - _SHOWN_TESTS
    return [*lines, f"    and {more} more"] if more > 0 else lines


def render_json(difference: Difference) -> str:
    """The same as one object, ``version`` 1, with all tests."""
    runs = {"cpu": difference.cpu, "card": difference.card}
    return (
        json.dumps(
            {
                "version": 1,
                "runs": {
                    name: {"devices": run.devices, **run.counts, "died": run.died}
                    for name, run in runs.items()
                },
                "causes": [_cause_to_json(cause) for cause in difference.causes],
                "undecided": [_cause_to_json(cause) for cause in difference.undecided],
                "failed_on_both": list(difference.on_both),
                "failed_on_cpu_alone": list(difference.on_cpu_alone),
                "not_run": list(difference.not_run),
            },
            indent=2,
            ensure_ascii=False,
        )
        + "\n"
    )


def _cause_to_json(cause: Cause) -> dict[str, Any]:
    failure = cause.failure
    return {
        "kind": failure.kind or None,
        "rule": failure.rule or None,
        "error": failure.error,
        "detail": failure.detail,
        "in_tests": failure.in_suite,
        **_site_to_json(failure.site),
        "stack": [_site_to_json(site) for site in failure.stack],
        "origins": [_site_to_json(site) for site in failure.origins],
        "tests": list(cause.tests),
    }


def _site_to_json(site: Site) -> dict[str, Any]:
    return {
        "path": short_path(site.file).replace(os.sep, "/"),
        "line": site.line,
        "end_line": site.end_line,
        "function": site.function,
    }


def run_test(
    arguments: Sequence[str],
    *,
    virtual: str = DEFAULT_MACHINE,
    put: bool = True,
    strict: bool = False,
    output_format: Literal["text", "json"] = "text",
    write: Callable[[str], Any] = sys.stdout.write,
    say: Callable[[str], Any] = lambda text: None,
) -> int:
    """The command: write what differs, return the exit code.  Raises ``ValueError``."""
    difference = difference_of(arguments, virtual=virtual, put=put, strict=strict, say=say)
    write(render_json(difference) if output_format == "json" else render_text(difference))
    return difference.exit_code
