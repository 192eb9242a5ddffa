"""The pytest plugin ``devlint_guard``.

``--device-guard`` watches every test, ``--virtual-devices=cuda:2`` runs the session on virtual
accelerators, ``--device-contracts`` checks what annotations declare; the markers
``virtual_devices(spec)`` and ``device_budget(...)`` and the fixture ``device_guard`` do so for one
test.  Where none of them is used, torch is not even imported.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from runtime_guard.guard import DeviceGuard
    from runtime_guard.recording.events import Event

_MACHINE = pytest.StashKey[ExitStack]()
_LEDGER = pytest.StashKey[Any]()
_GUARD = pytest.StashKey[Any]()
_WATCHED = pytest.StashKey[int]()
_MISTAKE = pytest.StashKey[str]()
_CONTRACTS = pytest.StashKey[Any]()

MARKERS = (
    "virtual_devices(spec): run the test on virtual accelerators, such as 'cuda:2'; on the real "
    "ones where the machine has them.",
    "device_budget(transfers=None, syncs=None, h2d=None, d2h=None, d2d=None): fail the test when "
    "its call makes more transfers or syncs than that; h2d, d2h and d2d are sizes such as '4 MiB'.",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    group = parser.getgroup("devlint", "device guard")
    group.addoption(
        "--device-guard",
        action="store_true",
        help="record every transfer, sync and device bug of the tests, and sum up at the end",
    )
    group.addoption(
        "--virtual-devices",
        metavar="SPEC",
        help="run on virtual accelerators that hold real values: cuda:2, mps, cuda:1,xpu:1",
    )
    checks = "check the device contracts of annotated functions at each call; one broken fails it"
    group.addoption("--device-contracts", action="store_true", help=checks)
    parser.addini("device_contracts", type="bool", default=False, help=checks)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Make the virtual machine before conftest files and test modules ask what there is."""
    options = early_config.known_args_namespace
    _require_torch(options.device_guard or options.virtual_devices)
    _start_machine(early_config, options.virtual_devices)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers; make the virtual machine if the plugin was loaded late."""
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    contracts = config.getoption("--device-contracts") or config.getini("device_contracts")
    spec = config.getoption("--virtual-devices")
    _require_torch(config.getoption("--device-guard") or spec or contracts)
    _start_machine(config, spec)
    if contracts:
        from runtime_guard.contracts import Watch  # start-up: torch

        config.stash[_CONTRACTS] = Watch()


def _require_torch(wanted: object) -> None:
    if wanted and importlib.util.find_spec("torch") is None:
        raise pytest.UsageError("the device guard needs torch: pip install 'devlint[guard]'")


def _start_machine(config: pytest.Config, spec: str | None) -> None:
    if not spec or _MACHINE in config.stash:
        return
    from runtime_guard.virtual.context import virtual_devices  # start-up: torch

    stack = ExitStack()
    try:
        stack.enter_context(virtual_devices(spec))
    except (ValueError, RuntimeError) as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[_MACHINE] = stack


def pytest_unconfigure(config: pytest.Config) -> None:
    """Give torch back."""
    stack = config.stash.get(_MACHINE, None)
    if stack is not None:
        stack.close()


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say on which devices the tests run, and whether contracts are checked."""
    spec = config.getoption("--virtual-devices")
    said = [f"virtual devices {spec}"] if spec else []
    said += ["contracts are checked"] if _CONTRACTS in config.stash else []
    return f"device guard: {', '.join(said)}" if said else None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, None]:
    """The virtual machine and the guard of one test, fixtures included."""
    marker = item.get_closest_marker("virtual_devices")
    watched = item.config.getoption("--device-guard")
    if marker is None and not watched:
        yield
        return
    with ExitStack() as stack:
        if marker is not None:
            try:
                _enter_machine_of(marker, stack)
            except ValueError as error:
                item.stash[_MISTAKE] = str(error)
        if watched:
            from runtime_guard.guard import DeviceGuard  # start-up: torch

            guard = item.stash[_GUARD] = DeviceGuard()
        yield
    if watched:
        _add(item.config, guard.ledger)
        item.config.stash[_WATCHED] += 1


@contextmanager
def _watched(item: pytest.Item) -> Iterator[None]:
    """What watches ``item`` in one of its phases; pytest's own reporting lies between them."""
    guard: Any = item.stash.get(_GUARD, None)
    contracts: Any = item.config.stash.get(_CONTRACTS, None)
    with ExitStack() as stack:
        for watcher in (guard, contracts):
            if watcher is not None:
                stack.enter_context(watcher)
        yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, None]:
    """Watch the fixtures."""
    with _watched(item):
        outcome = yield
    if _MISTAKE in item.stash:
        outcome.force_exception(pytest.fail.Exception(item.stash[_MISTAKE], pytrace=False))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, None]:
    """Watch the fixtures' ends."""
    with _watched(item):
        yield


def _enter_machine_of(marker: pytest.Mark, stack: ExitStack) -> None:
    from runtime_guard.virtual.context import really_available, virtual_devices  # start-up: torch

    spec = marker.args[0] if marker.args else marker.kwargs.get("spec", "cuda:1")
    machine = virtual_devices(str(spec))
    if not any(really_available(kind) for kind in machine.counts):
        stack.enter_context(machine)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    """Hold the call of a test to its budget."""
    marker = item.get_closest_marker("device_budget")
    if marker is None:
        with _watched(item):
            _tell_of_error((yield))
        return
    from runtime_guard.guard import DeviceGuard  # start-up: torch
    from runtime_guard.recording.budgets import excesses, make_budget  # start-up: torch

    try:
        if marker.args:
            raise TypeError("device_budget: its limits have names, as in device_budget(syncs=0)")
        budget = make_budget(**marker.kwargs)
    except (TypeError, ValueError) as error:
        outcome = yield
        outcome.force_exception(pytest.fail.Exception(str(error), pytrace=False))
        return
    with _watched(item), DeviceGuard() as guard:
        outcome = yield
        _tell_of_error(outcome)
    found = excesses(budget, guard.ledger)
    if found and outcome.excinfo is None:
        text = "\n".join(["device budget exceeded", *found])
        outcome.force_exception(pytest.fail.Exception(text, pytrace=False))


def _tell_of_error(outcome: Any) -> None:
    """The exception that ends a test may stand for a bug that no hook sees."""
    if outcome.excinfo is not None and "runtime_guard.recording.observers" in sys.modules:
        from runtime_guard.commands.session import tell_of  # start-up: torch

        tell_of(outcome.excinfo[1])


@pytest.fixture
def device_guard(request: pytest.FixtureRequest) -> Iterator[DeviceGuard]:
    """A ``DeviceGuard`` around the test's call: its ledger, ``forbid_syncs()``, ``allow(why)``."""
    from runtime_guard.guard import DeviceGuard  # start-up: torch

    with DeviceGuard() as guard:
        yield guard


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist hands its ledger to the process that prints the summary."""
    output = getattr(session.config, "workeroutput", None)
    ledger = session.config.stash.get(_LEDGER, None)
    if output is not None and ledger is not None:
        from runtime_guard.recording.evidence import event_to_json  # start-up: torch

        output["device_guard"] = [event_to_json(event) for event in ledger]
        output["device_guard_tests"] = session.config.stash.get(_WATCHED, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a worker of pytest-xdist hands over."""
    output = getattr(node, "workeroutput", {})
    if "device_guard" in output:
        from runtime_guard.recording.evidence import event_from_json  # start-up: torch

        _add(node.config, map(event_from_json, output["device_guard"]))
        node.config.stash[_WATCHED] += output["device_guard_tests"]


def _add(config: pytest.Config, events: Iterable[Event]) -> None:
    """Add ``events`` to the ledger of the session."""
    from runtime_guard.recording.ledger import Ledger  # start-up: torch

    if _LEDGER not in config.stash:
        config.stash[_LEDGER] = Ledger()
        config.stash[_WATCHED] = 0
    config.stash[_LEDGER].merge(events)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The lines that cost most, and the bugs that were seen, over all tests."""
    if not config.getoption("--device-guard"):
        return
    terminalreporter.section("device guard")
    ledger = config.stash.get(_LEDGER, None)
    if ledger is None:
        terminalreporter.write_line("no test ran")
        return
    from runtime_guard.reports.text import summary_lines  # start-up: torch

    for line in summary_lines(ledger, config.stash.get(_WATCHED, 0)):
        terminalreporter.write_line(line)
