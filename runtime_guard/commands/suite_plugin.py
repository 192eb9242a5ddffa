"""The pytest plugin of the two runs of ``devlint test``: how each test ended, and why.

In the run on the card the session is on the virtual machine from collection on, and a guard is
around each test.  In the one on the CPU torch is not even imported.
"""

from __future__ import annotations

import json
import os
import random
import sys
import traceback
from collections.abc import Generator, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from runtime_guard.commands.suite_records import (
    NO_DEVICE,
    UNSUPPORTED,
    VARIABLE,
    Ended,
    Failure,
    Orders,
    Outcome,
    Writer,
)
from runtime_guard.core.sites import Site, is_users, nearest

_FOLDERS_OF_TESTS = frozenset({"test", "tests", "testing"})


class Suite:
    """A session's files, and what its tests met."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self.writer = Writer(orders.folder)
        self.stack = ExitStack()
        self.placing: Any = None
        self.errors: list[tuple[str, BaseException]] = []
        """Of the test that runs: the phase and what ended it."""
        self.outcomes: set[str] = set()
        self._files: set[str] = set()
        self._answers: dict[str, bool] = {}

    def has(self, file: str) -> bool:
        """Is ``file`` one of the tests', and not of what they test?"""
        known = self._answers.get(file)
        if known is None:
            path = Path(file)
            known = self._answers[file] = (
                path.name == "conftest.py"
                or file in self._files
                or (
                    "site-packages" not in path.parts
                    and not _FOLDERS_OF_TESTS.isdisjoint(self._below_root(path).parts)
                )
            )
        return known

    def _below_root(self, path: Path) -> Path:
        try:
            return path.relative_to(self.root)
        except ValueError:
            return Path()

    root = Path()

    def add_file(self, path: Path) -> None:
        """A file that is collected."""
        self._files.add(str(path))
        self._answers.pop(str(path), None)

    def start(self) -> None:
        """Go to the machine, for all of the session."""
        if self.orders.virtual is None:
            return
        from runtime_guard.commands.suite_placement import Placing  # start-up: torch
        from runtime_guard.virtual.context import virtual_devices  # start-up: torch

        self.stack.enter_context(virtual_devices(self.orders.virtual))
        device = self.orders.virtual.partition(":")[0].rpartition("x")[2].partition("@")[0]
        placed = device if self.orders.put else None
        if self.orders.put or self.orders.strict:
            self.placing = self.stack.enter_context(
                Placing(placed, self.has, strict=self.orders.strict)
            )


_suites: list[Suite] = []


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before conftest files ask what there is."""
    suite = Suite(Orders(**json.loads(os.environ[VARIABLE])))
    suite.root = early_config.rootpath
    _suites.append(suite)
    suite.start()


def pytest_configure(config: pytest.Config) -> None:
    """In a worker of pytest-xdist no initial conftest is loaded before."""
    if not _suites:
        pytest_load_initial_conftests(config)


def pytest_unconfigure() -> None:
    """Leave the machine."""
    while _suites:
        _suites.pop().stack.close()


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path) -> None:
    """What the file makes as it is imported is the tests' already."""
    _suites[-1].add_file(module_path)


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, None]:
    """A file that cannot be imported is told as a test is."""
    suite = _suites[-1]
    guard: Any = None
    with ExitStack() as stack:
        if suite.orders.virtual is not None and isinstance(collector, pytest.Module):
            from runtime_guard.guard import DeviceGuard  # start-up: torch

            guard = stack.enter_context(DeviceGuard())
        report = (yield).get_result()
    call = getattr(report, "call", None)
    error = call.excinfo.value if call is not None and call.excinfo is not None else None
    if report.outcome == "failed" and error is not None:
        failures = _failures(suite, error, () if guard is None else guard.problems)
        suite.writer.end(Ended(collector.nodeid or ".", "failed", failures))
    elif suite.placing is not None and suite.placing.unplaced:
        suite.writer.end(Ended(collector.nodeid, "failed", _unplaced(suite)))
    if suite.placing is not None:
        suite.placing.forget()


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, None]:
    """One test, its fixtures included, with the same random numbers in both runs."""
    suite = _suites[-1]
    suite.errors, suite.outcomes = [], set()
    suite.writer.start(item.nodeid)
    _seed()
    guard: Any = None
    with ExitStack() as stack:
        if suite.orders.virtual is not None:
            from runtime_guard.commands.children import heard_out  # start-up: torch
            from runtime_guard.guard import DeviceGuard  # start-up: torch

            guard = stack.enter_context(DeviceGuard())
            stack.enter_context(heard_out(guard, keep_going=False))
        yield
    failures = [
        failure
        for _, error in suite.errors
        for failure in _failures(suite, error, () if guard is None else guard.problems)
    ]
    failures += _unplaced(suite)
    suite.writer.end(Ended(item.nodeid, _outcome(suite, failures), tuple(failures)))
    suite.errors = []
    if suite.placing is not None:
        suite.placing.forget()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, None]:
    """Keep what ended the test; what is expected to fail is skipped by pytest itself."""
    report = (yield).get_result()
    suite = _suites[-1]
    suite.outcomes.add(report.outcome)
    if report.outcome == "failed":
        error = call.excinfo.value if call.excinfo else AssertionError(str(report.longrepr))
        suite.errors.append((report.when, error))


def _outcome(suite: Suite, failures: Iterable[Failure]) -> Outcome:
    if any(failures) or "failed" in suite.outcomes:
        return "failed"
    return "skipped" if "skipped" in suite.outcomes else "passed"


def _seed() -> None:
    random.seed(0)
    for name, seed in (("numpy", "random.seed"), ("torch", "manual_seed")):
        found: Any = sys.modules.get(name)
        for part in seed.split("."):
            found = getattr(found, part, None)
        if found is not None:
            found(0)


def _unplaced(suite: Suite) -> tuple[Failure, ...]:
    if suite.placing is None:
        return ()
    return tuple(
        Failure(
            f"{what} without device=",
            site,
            NO_DEVICE,
            detail=f"{what} is called without device=",
            in_suite=suite.has(site.file),
            stack=(site,),
        )
        for site, what in suite.placing.unplaced.items()
    )


def _failures(suite: Suite, error: BaseException, problems: Iterable[Any]) -> tuple[Failure, ...]:
    """What ended a test, as the guard tells it where it saw it."""
    said = f"{type(error).__name__}: {str(error).strip()}".partition("\n")[0]
    chain = _chain(error)
    for one in chain:
        if type(one).__name__ == "UnsupportedVirtually":
            site = nearest(_frames(one))
            return (
                Failure(said, site, UNSUPPORTED, detail=str(one), in_suite=suite.has(site.file)),
            )
    event = _event_of(chain, list(problems)) if suite.orders.virtual is not None else None
    if event is None:
        stack = _frames(error)
        site = nearest(stack)
        return (Failure(said, site, in_suite=suite.has(site.file), stack=stack),)
    return (
        Failure(
            said,
            event.site,
            event.kind.value,
            event.rule,
            event.told,
            suite.has(event.site.file),
            event.stack,
            event.origins,
        ),
    )


def _event_of(chain: list[BaseException], problems: list[Any]) -> Any:
    """What the guard saw of one of these errors, else the last bug that it saw in the test."""
    from runtime_guard.commands.session import news_of  # start-up: torch

    for error in chain:
        said = str(error).strip().partition("\n")[0]
        for event in reversed(problems):
            if said and (said in event.detail or event.detail in said):
                return event
        for event in news_of(error, ()):
            return event
    return problems[-1] if problems else None


def _chain(error: BaseException) -> list[BaseException]:
    """The exception, what it was raised from or during, and so on."""
    found: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in found:
        found.append(one)
        one = one.__cause__ or one.__context__
    return found


def _frames(error: BaseException) -> tuple[Site, ...]:
    frames = reversed(traceback.extract_tb(error.__traceback__))
    return tuple(
        Site(frame.filename, frame.lineno or 0, frame.lineno or 0, frame.name)
        for frame in frames
        if is_users(frame.filename)
    )
