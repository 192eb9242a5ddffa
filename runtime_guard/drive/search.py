"""Call after call, until the finding's line shows what it claims: a best-first search, bounded.

What got furthest, in lines of the project, is changed first.  Each call is one that a witness could
make as it stands; nothing of it is patched.
"""

from __future__ import annotations

import gc
import heapq
import itertools
import os
import signal
import sys
import time
import traceback
import types
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch

from runtime_guard.commands.attribution import span_of
from runtime_guard.commands.expectations import EXPECTATIONS, Finding
from runtime_guard.commands.session import news_of
from runtime_guard.commands.verdicts import HARMLESS, judge
from runtime_guard.core.sites import is_users
from runtime_guard.drive.examples import examples_of
from runtime_guard.drive.objects import leave_group
from runtime_guard.drive.plan import Entry
from runtime_guard.drive.program import NotMade, Program, choices_of, choices_of_parts, write
from runtime_guard.drive.repair import Failure, Frame, edits, names_at
from runtime_guard.drive.scenario import MOVES, Data
from runtime_guard.drive.sooner import met_sooner
from runtime_guard.drive.values import Address, Omitted, Value
from runtime_guard.guard import DeviceGuard
from runtime_guard.recording.events import Event, Kind
from runtime_guard.recording.evidence import Evidence
from runtime_guard.recording.policies import Policy

MOST_CALLS = 400
AFTER_IT_RAN = 24
"""How many more calls are made once the line ran, and nothing of the kind was seen."""
MOST_LACKING = 4
"""How many calls of a base are made that lacks what its heirs have."""
_FIRST = -1_000_000
"""Before all that comes of what was tried."""
ONE_CALL = 10.0
"""Processor seconds; three times that by the clock, for a call that waits for something."""


@dataclass(frozen=True)
class Budget:
    """Processor seconds for all calls of one finding, and how many."""

    seconds: float
    calls: int = MOST_CALLS


@dataclass
class Try:
    """One call, and what came of it."""

    entry: Entry
    program: Program
    failure: Failure | None
    progress: int
    reached: bool
    confirmed: bool
    lines: dict[str, Counter[int]] = field(default_factory=dict, repr=False)
    exercised: bool = False
    """Did something on the card get to the finding's own lines?"""
    keep_going: bool = False
    mixed: bool = False
    """Did devices mix, wherever it was?"""
    moved: bool = False
    """Was anything moved at the finding's own lines?"""
    harmless: str = ""
    """What was seen there, where it did no harm in this call and may do some in another."""


class LineCounts:
    """How often each line of the project was executed, by file."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root) + os.sep
        self.counts: dict[str, Counter[int]] = {}
        self._known: dict[str, Counter[int] | None] = {}

    def _of(self, name: str) -> Counter[int] | None:
        if name not in self._known:
            path = os.path.realpath(name)
            ours = path.startswith(self.root) and "site-packages" not in path
            self._known[name] = self.counts.setdefault(path, Counter()) if ours else None
        return self._known[name]

    def __enter__(self) -> LineCounts:
        sys.settrace(self._on_call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _on_call(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        counts = self._of(frame.f_code.co_filename)
        if counts is None:
            return None

        def on_line(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
            if event == "line":
                counts[frame.f_lineno] += 1
            return on_line

        return on_line


class _TooLong(BaseException):
    """One call took longer than ``ONE_CALL``."""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise _TooLong

    timers = (
        (signal.SIGPROF, signal.ITIMER_PROF, seconds),
        (signal.SIGALRM, signal.ITIMER_REAL, 3 * seconds),
    )
    before = [signal.signal(number, stop) for number, _, _ in timers]
    for _, timer, most in timers:
        signal.setitimer(timer, most)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


class OnCard(torch.overrides.TorchFunctionMode):
    """Notes whether an operation at some lines got a tensor that is not on the host."""

    def __init__(self, span: tuple[str, int, int]) -> None:
        super().__init__()
        self.span = span
        self.seen = False

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if not self.seen and self._at_the_lines(sys._getframe(1)):
            self.seen = any(map(_on_card, (*args, *(kwargs or {}).values())))
        result = func(*args, **(kwargs or {}))
        return result

    def _at_the_lines(self, frame: FrameType | None) -> bool:
        file, first, last = self.span
        while frame is not None:
            at = first <= (frame.f_lineno or 0) <= last
            if at and os.path.realpath(frame.f_code.co_filename) == file:
                return True
            frame = frame.f_back
        return False


def _on_card(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_on_card, value))
    return isinstance(value, torch.Tensor) and value.device.type != "cpu"


class Driver:
    """Calls for one finding, in this process, which is on the virtual machine already."""

    def __init__(
        self, finding: Finding, root: str, card: str, devices: str, calls: int = 1,
        data: Data = "card",
    ) -> None:  # fmt: skip
        self.finding = finding
        self.root = root
        self.card = card
        self.devices = devices
        self.calls = calls
        self.data = data
        self.span = span_of(finding, root)
        self.tried: dict[str, Try] = {}
        self.to_be_filled_in = False
        """Are there heirs of the class of the entry, which are tried next?"""
        self.begun: dict[Entry, list[dict[Address, Value]]] = {}

    def attempt(
        self, module: types.ModuleType, entry: Entry, choices: Mapping[Address, Value],
        keep_going: bool = False, watched: bool = False,
    ) -> Try:  # fmt: skip
        """Make the call that ``choices`` say.  Raises ``NotMade`` where none can be written.

        ``keep_going``: mixed-device operations are noted, and pass.
        """
        program = write(module, entry, choices, self.calls, self.data)
        code = compile(program.text, "<witness>", "exec")
        names: dict[str, Any] = {"torch": torch, "card": self.card}
        error: BaseException | None = None
        torch.manual_seed(0)
        mode = OnCard(self.span)
        policy: Policy = "record" if keep_going else "raise"
        with LineCounts(self.root) as counts, DeviceGuard(on_mixed=policy) as guard:
            try:
                with _limited(ONE_CALL):
                    if watched:
                        with mode:
                            exec(code, names)
                    else:
                        exec(code, names)
            except KeyboardInterrupt:
                raise
            except BaseException as raised:
                error = raised
            names.clear()
            leave_group()
            gc.collect()
        events = (*guard.ledger, *news_of(error, guard.ledger))
        own = tuple(_not_of_another(events))
        evidence = Evidence(own, self.devices)
        sooner = met_sooner(self.finding, own, self.root)
        executed = {file: set(lines) for file, lines in counts.counts.items()}
        (judged,) = judge([self.finding], evidence, executed, self.root, harm=True)
        file, first, last = self.span
        ran = any(first <= line <= last for line in executed.get(file, ()))
        return Try(
            entry,
            program,
            None if error is None else failure_of(error, self.root),
            sum(map(len, executed.values())),
            ran,
            judged["verdict"] == "confirmed" or sooner is not None,
            counts.counts,
            mode.seen,
            keep_going,
            any(event.kind is Kind.MIXED for event in events),
            any(event.kind is Kind.TRANSFER and self._is_own(event) for event in events),
            judged["reason"] if judged["reason"].endswith(HARMLESS) else "",
        )

    def _is_own(self, event: Event) -> bool:
        file, first, last = self.span
        return any(
            first <= site.line <= last and os.path.realpath(site.file) == file
            for site in event.stack
        )

    def beginnings(self, module: types.ModuleType, entry: Entry) -> list[dict[Address, Value]]:
        """Calls that the project makes.  Raises ``NotMade``."""
        plain = write(module, entry, {}, self.calls, self.data)
        parts = choices_of_parts(plain, self.root)
        known = examples_of(module.__file__ or "", self.root, entry)
        chosen = [{**parts, **choices_of(plain, example)} for example in known]
        return [*chosen, parts] if parts else chosen

    def search(
        self, module: types.ModuleType, entry: Entry, budget: Budget,
        tell: Callable[[Try], None] = lambda done: None, known_only: bool = False,
    ) -> Try:  # fmt: skip
        """The best call found: a confirming one, else one that ran the line to its end, else the
        furthest.  ``tell`` hears of each that is better than all before.  Raises ``NotMade``.

        ``known_only``: nothing is tried but the calls that the project makes."""
        number = itertools.count()
        if entry not in self.begun:
            self.begun[entry] = self.beginnings(module, entry)
        first = self.begun[entry] + ([] if known_only else [{}])
        end = time.process_time() + budget.seconds  # to read a large project takes seconds
        waiting = [(_FIRST, 0, next(number), choices) for choices in first]
        seen: set[str] = set()
        best: Try | None = None
        refused: NotMade | None = None
        after = lacking = 0
        wanted = Frame(self.span[0], self.span[1], 0)
        traced = [
            Frame(*span_of(place, self.root)[:2], 0) for place in self.finding.get("related", ())
        ]
        keep_going = False
        while waiting and len(seen) < budget.calls and time.process_time() < end:
            _, depth, _, choices = heapq.heappop(waiting)
            try:
                text = write(module, entry, choices, self.calls, self.data).text
                if text in seen:
                    continue
                seen.add(text)
                again = self.tried.get(text)
                done = again or self.attempt(module, entry, choices, keep_going)
                if again is None:
                    self.tried[text] = done
                if done.mixed and not (done.confirmed or keep_going):
                    # another bug stands before this one
                    keep_going = True
                    done = self.tried[text] = self.attempt(module, entry, choices, keep_going)
            except NotMade as error:
                refused = refused or error
                continue
            if best is None or _rank(done) > _rank(best):
                best = done
                tell(done)
            if done.confirmed:
                return done
            if best.reached and best.failure is None:
                after += 1
                if after > AFTER_IT_RAN:
                    break
            if known_only:
                continue
            lacking += self.to_be_filled_in and _lacks(entry, done.failure)
            if lacking > MOST_LACKING:
                break
            for at, (address, value) in enumerate(
                edits(done.failure, done.program, wanted, traced)
            ):
                if at >= 40:
                    break
                key = (-done.progress + at // 4, depth + 1, next(number))
                heapq.heappush(waiting, (*key, {**choices, address: value}))
        if best is None:
            raise refused or NotMade("nothing was tried within the time")
        return best


def _lacks(entry: Entry, failure: Failure | None) -> bool:
    """Does the object itself lack what its heirs have?  No argument gives it that."""
    name = entry.owner.rpartition(".")[2]
    return failure is not None and failure.text.startswith(f"'{name}' object has no attribute ")


def _not_of_another(events: Sequence[Event]) -> Iterator[Event]:
    """Without the mixtures of what comes from a mixture that was let pass."""
    spoilt: set[tuple[str, int]] = set()
    for event in events:
        if event.kind is Kind.MIXED:
            if any((site.file, site.line) in spoilt for site in event.origins):
                continue
            spoilt.update((site.file, site.line) for site in event.stack[:1])
        yield event


def _rank(done: Try) -> tuple[bool, bool, int]:
    return done.confirmed, done.reached and done.failure is None, done.progress


def failure_of(error: BaseException, root: str) -> Failure:
    """An exception as data."""
    if isinstance(error, _TooLong):
        return Failure("TimeoutError", f"the call took longer than {ONE_CALL:g} s")
    root = os.path.realpath(root) + os.sep
    frames = []
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = os.path.realpath(frame.f_code.co_filename)
        if file.startswith(root) and is_users(frame.f_code.co_filename):
            frames.append(Frame(frame.f_code.co_filename, line, frame.f_code.co_firstlineno))
    return Failure(type(error).__name__, str(error), tuple(reversed(frames)))


def settled(done: Try, finding: Finding, root: str) -> str:
    """Why the call does not speak against the finding, though its line ran; empty if it does."""
    if done.failure is not None:
        return f"the call ends with {done.failure}"
    if done.harmless:
        return done.harmless
    file, first, _ = span_of(finding, root)
    names = names_at(file, first, 0)
    for slot, value in done.program.slots.values():
        if isinstance(value, Omitted) and slot.name in names:
            return f"`{slot.name}`, which that line speaks of, is left out"
    if finding["rule"] in MOVES:
        if not done.moved:
            return "nothing was moved there"
    elif not done.exercised:
        return "nothing on the card got to its line"
    expectation = EXPECTATIONS[finding["rule"]]
    file, first, last = span_of(finding, root)
    counts = done.lines.get(file, Counter())
    times = max((count for line, count in counts.items() if first <= line <= last), default=0)
    if times < expectation.times:
        return "the loop was not gone through repeatedly"
    if expectation.related:
        for place in finding.get("related", ()):
            file, first, last = span_of(place, root)
            if not any(first <= line <= last for line in done.lines.get(file, ())):
                return f"{place['path']}:{place['line']}, where it would show, did not run"
    return ""
