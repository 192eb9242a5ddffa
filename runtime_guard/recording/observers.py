"""Who is watching: the active guards, and what a happening means for each of them.

One process-wide tuple, because a program's threads are all watched by a guard around them.  When it
is empty nothing is recorded and no stack is walked.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import MappingProxyType

import torch

from runtime_guard.core.placement import PassedBy, placement_of
from runtime_guard.core.sites import Site, Stack, nearest, user_expression, user_stack
from runtime_guard.recording.events import Event, Kind, hint_at
from runtime_guard.recording.ledger import Ledger
from runtime_guard.recording.policies import Gate, Policy, by_direction, check_policy


class DevicePolicyError(RuntimeError):
    """A guard's policy forbids what was about to happen."""


class DevicePolicyWarning(UserWarning):
    """A guard's policy asks to be told of what happened."""


_NO_POLICIES: Mapping[str, Policy] = MappingProxyType({})


class Observer:
    """A ledger with the policies that decide what else to do than count."""

    def __init__(
        self,
        on_mixed: Policy = "raise",
        on_transfer: Policy | Mapping[str, Policy] = "record",
        on_sync: Policy = "record",
        allow: frozenset[str] = frozenset(),
        on_contract: Policy | None = None,
        *,
        hidden_only: bool = False,
        gate: Gate | None = None,
    ) -> None:
        check_policy("on_contract", on_contract or "raise")
        self.ledger = Ledger()
        self.on_mixed: Policy = check_policy("on_mixed", on_mixed)
        self.on_contract: Policy | None = on_contract
        self.on_transfer = by_direction(on_transfer)
        self.on_sync: Policy = check_policy("on_sync", on_sync)
        self.gate = Gate() if gate is None else gate
        # of the calling thread, and of the calling task of an event loop
        self._here: ContextVar[Mapping[str, Policy]] = ContextVar("policies", default=_NO_POLICIES)
        self._allows: ContextVar[int] = ContextVar("allows", default=0)
        self.allowed = set(allow)
        self.hidden_only = hidden_only
        """Object to no sync that the program asks for by its name, such as ``synchronize``."""

    def sync_policy(self) -> Policy:
        """``on_sync``, or the stricter policy of the innermost ``forbid_syncs`` block."""
        return self._here.get().get("on_sync", self.on_sync)

    def transfer_policy(self, direction: str) -> Policy:
        """``on_transfer``, or that of the innermost ``forbid_transfers`` block."""
        found = self._here.get().get("on_transfer")
        return self.on_transfer.get(direction, "record") if found is None else found

    def objects_to(self, policy: Policy, key: str, what: str, stack: Stack) -> bool:
        """Is more to be done about ``what`` than to record it?

        A ``forbid_…`` block (``key``) knows no warm-up.  While ``torch.compile`` traces or CUDA
        captures a graph nothing is objected to: it runs once, and not in the program's time.
        """
        if policy == "record" or self.is_allowed(stack) or _being_compiled():
            return False
        return key in self._here.get() or self.gate.passes(what, nearest(stack))

    @contextlib.contextmanager
    def policy_here(self, name: str, policy: Policy) -> Iterator[None]:
        """``on_sync`` or ``on_transfer`` is ``policy`` for the calling thread or task."""
        token = self._here.set({**self._here.get(), name: policy})
        try:
            yield
        finally:
            self._here.reset(token)

    @contextlib.contextmanager
    def allowed_here(self) -> Iterator[None]:
        """No policy objects to the calling thread or task in the block."""
        token = self._allows.set(self._allows.get() + 1)
        try:
            yield
        finally:
            self._allows.reset(token)

    def is_allowed(self, stack: Stack) -> bool:
        """Is the calling code inside an ``allow`` block, or in an allowed module or function?"""
        if self._allows.get():
            return True
        return any(
            name == site.function or f"/{name.replace('.', '/')}" in site.file.replace("\\", "/")
            for site in stack
            for name in self.allowed
        )


_observers: tuple[Observer, ...] = ()
_lock = threading.Lock()
_local = threading.local()


def add_observer(observer: Observer) -> None:
    """Start to tell ``observer`` of everything."""
    global _observers
    with _lock:
        _observers = (*_observers, observer)


def remove_observer(observer: Observer) -> None:
    """Stop; the last of equal entries goes first, so that re-entry works."""
    global _observers
    with _lock:
        kept = list(_observers)
        for position in range(len(kept) - 1, -1, -1):
            if kept[position] is observer:
                del kept[position]
                break
        _observers = tuple(kept)


def observing() -> bool:
    """Is anybody watching?"""
    return bool(_observers) and not getattr(_local, "unobserved", False)


def watching() -> tuple[Observer, ...]:
    """The observers that are told of what happens in this thread now."""
    return _observers if observing() else ()


@contextlib.contextmanager
def unobserved() -> Iterator[None]:
    """Nothing that this thread does in the block is recorded: the guard's own trials."""
    _local.unobserved = True
    try:
        yield
    finally:
        _local.unobserved = False


@contextlib.contextmanager
def read_as(what: str) -> Iterator[None]:
    """Syncs of this thread in the block are called ``what``: ``bool(t)`` is no ``.item()``."""
    _local.reading = what
    try:
        yield
    finally:
        _local.reading = ""


def _being_compiled() -> bool:
    compiler = getattr(torch, "compiler", None)
    if compiler is not None and compiler.is_compiling():
        return True
    return bool(torch.cuda.is_available() and torch.cuda.is_current_stream_capturing())


READERS = {
    torch.Tensor.__bool__: "bool",
    torch.Tensor.__float__: "float",
    torch.Tensor.__int__: "int",
    torch.Tensor.__index__: "__index__",
    torch.Tensor.__complex__: "complex",
    torch.Tensor.__contains__: "in",
}
"""Ways to read one value without saying so."""


def mixed_policy() -> Policy:
    """What to do with a mixed-device operation: the strictest wish; ``raise`` without a guard."""
    wishes = {observer.on_mixed for observer in _observers}
    if not wishes or "raise" in wishes:
        return "raise"
    return "warn" if "warn" in wishes else "record"


def contract_policy() -> Policy:
    """What to do with a broken contract: the strictest wish; ``raise`` where no guard has one."""
    wishes = {observer.on_contract for observer in _observers} - {None}
    if not wishes or "raise" in wishes:
        return "raise"
    return "warn" if "warn" in wishes else "record"


def describe_tensor(tensor: torch.Tensor) -> str:
    """``float32[64, 10]``."""
    # what a lazy module has not made yet has a size, but no shape
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.size())}"


def transfer(
    tensor: torch.Tensor,
    source: torch.device,
    target: torch.device,
    what: str,
    *,
    blocking: bool = True,
    pinned: bool = False,
    seconds: float = 0.0,
    stack: Stack | None = None,
) -> Stack:
    """Record a copy of ``tensor`` between devices; return the stack it was recorded with.

    Raises ``DevicePolicyError`` when a guard forbids transfers.
    """
    if not observing():
        return ()
    stack = user_stack() if stack is None else stack
    nbytes = tensor.numel() * tensor.element_size()
    for observer in _observers:
        event = observer.ledger.record(
            Kind.TRANSFER,
            stack,
            what,
            source=str(source),
            target=str(target),
            blocking=blocking,
            pinned=pinned,
            nbytes=nbytes,
            seconds=seconds,
            shape=describe_tensor(tensor),
        )
        policy = observer.transfer_policy(event.direction)
        if observer.objects_to(policy, "on_transfer", what, stack):
            _object(
                policy,
                f"transfer {event.direction} of {describe_tensor(tensor)} ({nbytes} bytes, "
                f"{source} to {target}) by {what} at {nearest(stack)}",
            )
    return stack


def sync(
    what: str,
    detail: str,
    *,
    seconds: float = 0.0,
    stack: Stack | None = None,
    hidden: bool = True,
) -> None:
    """Record that the host waited for the device.  Raises when a guard forbids syncs."""
    if not observing():
        return
    stack = user_stack() if stack is None else stack
    what = getattr(_local, "reading", "") or what
    for observer in _observers:
        observer.ledger.record(Kind.SYNC, stack, what, detail=detail, seconds=seconds)
        if observer.hidden_only and not hidden:
            continue
        policy = observer.sync_policy()
        if observer.objects_to(policy, "on_sync", what, stack):
            _object(
                policy,
                f"sync by {what} ({detail}) at {nearest(stack)}",
            )


def problem(
    kind: Kind,
    what: str,
    detail: str,
    *,
    source: str = "",
    target: str = "",
    shape: str = "",
    stack: Stack | None = None,
    operands: Sequence[torch.Tensor] = (),
    declared: Stack = (),
) -> None:
    """Record a bug that was seen.  ``declared``: places that belong to it, beside the operands'."""
    if not observing():
        return
    at = user_expression() if stack is None else None
    stack = user_stack() if stack is None else stack
    origins = (*origins_of(operands), *declared)
    for found, made in _left_behind(operands) if kind is Kind.MIXED else ():
        passed_by(Kind.LEFT_BEHIND, found, made)
    for observer in _observers:
        observer.ledger.record(
            kind,
            stack,
            what,
            detail=detail,
            source=source,
            target=target,
            shape=shape,
            origins=origins,
            at=at,
        )


def _left_behind(operands: Sequence[torch.Tensor]) -> Iterator[tuple[PassedBy, Site | None]]:
    """What a move has passed by and where it was made: a module once, whatever of it meets."""
    told: list[PassedBy] = []
    for placement in map(placement_of, operands):
        found = None if placement is None else placement.passed_by
        if placement is not None and found is not None and found not in told:
            told.append(found)
            yield found, placement.made


def passed_by(kind: Kind, found: PassedBy, made: Site | None) -> None:
    """Record what a module's move has passed by, or that this has done harm."""
    problem(
        kind,
        found.call,
        f"{found.sentence} {hint_at(found.rule)}",
        source=str(found.source),
        target=str(found.target),
        stack=found.stack if made is None else (made, *found.stack),
        declared=() if found.assigned is None else (found.assigned,),
    )


FROM_DATA = frozenset({torch.tensor, torch.as_tensor})


def reads_of_elements(what: str, data: object) -> None:
    """``torch.tensor([x[0], x[1]])`` reads each tensor in its list, out of every hook's sight."""
    if not _observers or not isinstance(data, (list, tuple)):
        return
    for item in data:
        if isinstance(item, torch.Tensor):
            if item.device.type not in ("cpu", "meta"):
                sync(what, "reads the tensors in its list one by one")
        elif isinstance(item, (list, tuple)):
            reads_of_elements(what, item)


def origins_of(tensors: Sequence[torch.Tensor]) -> Stack:
    """The lines that made or last moved ``tensors``, as far as they are known, and those that threw
    a moved copy of one away."""
    sites: list[Site | None] = []
    for placement in map(placement_of, tensors):
        if placement is not None:
            sites += [placement.made, placement.moved]
            thrown = placement.thrown_away
            sites += [] if thrown is None else [thrown.site, thrown.at]
    return tuple(dict.fromkeys(site for site in sites if site is not None))


def _object(policy: Policy, text: str) -> None:
    if policy == "raise":
        raise DevicePolicyError(f"the device guard forbids this {text}")
    warnings.warn(text, DevicePolicyWarning, stacklevel=2)


__all__ = [
    "DevicePolicyError",
    "DevicePolicyWarning",
    "Event",
    "Observer",
    "Policy",
    "add_observer",
    "contract_policy",
    "describe_tensor",
    "mixed_policy",
    "observing",
    "problem",
    "remove_observer",
    "sync",
    "transfer",
]
