"""Waits: where the host waits for the device, and where it should."""

from __future__ import annotations

from devlint.inference.call_contexts import Given
from devlint.inference.domain.provenance import Site
from devlint.inference.facts.operands import Loop, Operand
from devlint.records import NamedTuple


class Sync(NamedTuple):
    """The host waits for the device."""

    site: Site
    call: str  # ".item()", "float()", "if tensor", "print", …
    operand: Operand
    loop: Loop | None
    cold: bool  # under `if step % n == 0` and the like, or in a branch that leaves the loop
    for_logging: bool = False
    function: Site | None = None  # the function around it
    in_step: str = ""  # its name, when it runs once per step
    called_in: Site | None = None  # the call in a hot loop that says so
    trains: bool = False  # that function goes back and takes a step of the optimizer itself
    in_module: bool = False  # inside a method of an nn.Module
    guards_error: bool = False  # only to raise, to warn or to assert
    evaluates: bool = False  # in code that evaluates: no gradients, or by its name
    elementwise: bool = False  # of one element of a tensor that the loop goes through
    whole: Site | None = None  # that tensor
    of_piece: bool = False  # a number made of a row or a piece of it, no element as it is
    needed: bool = False  # the host works on with it: it is not just kept, added up or shown
    invariant: bool = False  # what is read does not change in the loop
    inside: Site | None = None  # where the callee waits, when this is a call
    perhaps: bool = False  # the value is a tensor in one of several cases only
    is_operand: bool = False  # given to PyTorch for a number that it only computes with
    given: Given | None = None  # the parameter of a plain function that is read
    kept: str = ""  # the attribute that is read, or an element of it: only the constructor sets it


class LateRead(NamedTuple):
    """A tensor copied to the host with `non_blocking=True` is read with no synchronisation."""

    copy: Site
    read: Site
    operand: Operand


class Timing(NamedTuple):
    """The time between two readings of a clock, with device work and no wait for it in between."""

    start: Site
    end: Site
    name: str  # what the first reading is bound to
    work: Site  # the last of the work
    sure: bool  # the work is an accelerator's; else it is where the caller's inputs are
    function: Site | None = None  # the function around it


class CardWideCall(NamedTuple):
    """A call that concerns the whole card: `synchronize` waits for all of its work, `empty_cache`
    gives its cached memory back."""

    site: Site
    call: str
    loop: Loop | None
    cold: bool  # under `if step % n == 0` and the like
    function: Site | None
    measured: bool  # time or memory is measured around it
    overlapping: bool  # streams, events or copies without waiting are around it
    meant: bool  # a comment right above it speaks of memory
    in_step: str = ""  # the name of the function around it, when it runs once per step


class StreamRace(NamedTuple):
    """The host writes into `name` (`stream` is ""), or the current stream uses what `stream` makes,
    while `first` may not be done with it."""

    site: Site
    name: str
    first: Site
    stream: str


class ForbiddenWait(NamedTuple):
    """The host waits where it can't: `where` is "capture" of a CUDA graph, "vmap" or "compile" as
    one graph, `around` what says so."""

    site: Site
    call: str
    name: str
    where: str
    around: Site
    inside: Site | None  # where the callee waits, when this is a call
    sure: bool  # for an accelerator, whatever the caller does
