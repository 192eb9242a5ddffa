"""Processes that a watched program starts: they are on its machine, and leave what they saw.

A process that was started anew joins when it imports torch (``startup/sitecustomize.py``); one that
was forked has its parent's hooks and needs a ledger of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing.util
import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

from runtime_guard.commands import ranks
from runtime_guard.core import inheritance
from runtime_guard.guard import DeviceGuard
from runtime_guard.recording import policies
from runtime_guard.recording.evidence import Evidence, Peak, peaks_of
from runtime_guard.recording.policies import Policy
from runtime_guard.virtual.context import active_machine, enter_inherited, leave_inherited

_joined = contextlib.ExitStack()


def join() -> None:
    """Go on to the machine that the environment names, watched where a folder is named."""
    machine = os.environ.get(inheritance.MACHINE)
    folder = os.environ.get(inheritance.EVIDENCE)
    try:
        if machine:
            enter_inherited(machine)
            _joined.callback(leave_inherited)
    except (ValueError, RuntimeError) as error:
        print(f"devlint: {inheritance.MACHINE}={machine}: {error}", file=sys.stderr)
        return
    atexit.register(_joined.close)
    if folder:
        wish, _, path = folder.partition(":")
        options = policies.parse(os.environ.get(policies.VARIABLE, ""))
        policy: Policy = "record" if wish == "record" else "raise"
        guard = _joined.enter_context(DeviceGuard(on_mixed=policy, **options))
        _joined.callback(leave_evidence, guard, path)


def leave_evidence(guard: DeviceGuard, folder: str) -> None:
    """Write what ``guard`` saw in this process into ``folder``, if that is still there."""
    machine = active_machine()
    peaks = () if machine is None else peaks_of(machine.meters)
    evidence = Evidence(tuple(guard.ledger), "", peaks=peaks)
    number = ranks.rank()
    name = f"process {os.getpid()}" if number is None else f"rank {number}"
    path = os.path.join(folder, f"{uuid.uuid4().hex}.json")
    with contextlib.suppress(OSError):
        ranks.write_evidence(path, evidence.told_by(name))


class _Forked:
    """In a forked process the guard starts anew, and leaves its evidence at the end."""

    def __init__(self, guard: DeviceGuard, folder: str) -> None:
        self.guard = guard
        self.folder = folder
        self.over = False
        multiprocessing.util.register_after_fork(self, _Forked.start)

    def start(self) -> None:
        if self.over:
            return
        self.guard.ledger.clear()
        # runs in the child only, whose `atexit` does not
        multiprocessing.util.Finalize(
            None, leave_evidence, args=(self.guard, self.folder), exitpriority=100
        )


@contextlib.contextmanager
def heard_out(guard: DeviceGuard, *, keep_going: bool) -> Iterator[list[Peak]]:
    """What children of the block see is added to ``guard``'s ledger when it ends, and the memory
    that they took to the list.

    ``keep_going``: a mixed-device operation on virtual devices is recorded, and goes on.
    """
    folder = tempfile.mkdtemp(prefix="devlint-")
    owner = object()
    wish: Policy = "record" if keep_going else "raise"
    inheritance.tell(owner, inheritance.EVIDENCE, f"{wish}:{folder}")
    forked = _Forked(guard, folder)
    parent = os.getpid()
    peaks: list[Peak] = []
    try:
        yield peaks
    finally:
        inheritance.take_back(owner)
        forked.over = True
        if os.getpid() == parent:
            for path in sorted(Path(folder).glob("*.json")):
                with contextlib.suppress(OSError, ValueError):
                    evidence = ranks.read_evidence(str(path))
                    guard.ledger.merge(evidence.events)
                    peaks += evidence.peaks
            shutil.rmtree(folder, ignore_errors=True)
