"""DEV406: two streams, or a stream and the host, work on one tensor in no order."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.facts import Facts, StreamRace
from devlint.rule import Claim, Note, Rule
from devlint_rules.helpers.assumptions import assume
from devlint_rules.helpers.rewrites import short


def _check(facts: Facts) -> Iterator[Claim]:
    for race in facts.stream_races:
        yield _of_streams(race) if race.stream else _of_host(race)


def _overlaps(race: StreamRace) -> Assumptions:
    message = "nothing out of sight waits for what runs on the device"
    return assume(AssumptionKind.WORK_OVERLAPS, race.site, message)


def _of_host(race: StreamRace) -> Claim:
    assumed = _overlaps(race)
    return Claim(
        race.site,
        Severity.ERROR,
        confidence_of(assumed),
        f"`{race.name}` is overwritten while its copy to the device may still be reading it: the "
        "device may get the new values",
        advice=(
            "record a `torch.cuda.Event` behind the copy and call its `synchronize()` before the "
            "write, or take turns with two buffers"
        ),
        trace=(Note(race.first, f"copied without waiting here, by `{short(race.first.node)}`"),),
        assumptions=assumed,
    )


def _of_streams(race: StreamRace) -> Claim:
    assumed = _overlaps(race)
    return Claim(
        race.site,
        Severity.ERROR,
        confidence_of(assumed),
        f"`{race.name}` is made on `{race.stream}` and used on another stream, which does not wait "
        "for it: the values may be garbage",
        advice=(
            f"call `torch.cuda.current_stream().wait_stream({race.stream})` first, and "
            f"`{race.name}.record_stream(torch.cuda.current_stream())` where it may be freed"
        ),
        trace=(Note(race.first, f"made here, on `{race.stream}`"),),
        assumptions=assumed,
    )


RULE = Rule(
    code="DEV406",
    name="stream-race",
    severity=Severity.ERROR,
    summary="A pinned buffer is overwritten before its copy has landed, or streams do not wait.",
    what="""\
Reports a write by the host into pinned memory that an earlier copy with `non_blocking=True` may
still be reading, in the same turn of a loop or the next; and a tensor that is made under
`with torch.cuda.stream(side):` and used outside, in a function that orders the two streams by
nothing.""",
    why="""\
A copy with `non_blocking=True` is queued, and reads its source when its turn comes. Kernels of one
stream run in their order, those of several in any. Nothing raises: the values are wrong now and
then, mostly under load.""",
    reference="https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-streams",
    bad=(
        """\
import torch


def upload(chunks, device):
    buffer = torch.empty(1024, pin_memory=True)
    uploaded = []
    for chunk in chunks:
        buffer.copy_(chunk)
        uploaded.append(buffer.to(device, non_blocking=True))
    return uploaded
""",
        """\
import torch


def pair(first, second):
    buffer = torch.empty(16).pin_memory()
    buffer[:] = first
    a = buffer.cuda(non_blocking=True)
    buffer[:] = second
    b = buffer.cuda(non_blocking=True)
    return a, b
""",
        """\
import torch


def double_and_add(x):
    side = torch.cuda.Stream()
    x = x.cuda()
    with torch.cuda.stream(side):
        y = x * 2
    return y + 1
""",
    ),
    good=(
        """\
import torch


def upload(chunks, device):
    buffer = torch.empty(1024, pin_memory=True)
    landed = torch.cuda.Event()
    uploaded = []
    for chunk in chunks:
        landed.synchronize()
        buffer.copy_(chunk)
        uploaded.append(buffer.to(device, non_blocking=True))
        landed.record()
    return uploaded
""",
        """\
import torch


def upload(chunks, device):
    uploaded = []
    for chunk in chunks:
        buffer = torch.empty(1024, pin_memory=True)  # another one for each copy
        buffer.copy_(chunk)
        uploaded.append(buffer.to(device, non_blocking=True))
    return uploaded
""",
        """\
import torch


def double_and_add(x):
    side = torch.cuda.Stream()
    x = x.cuda()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x * 2
    torch.cuda.current_stream().wait_stream(side)
    return y + 1
""",
    ),
    check=_check,
    twin="""\
`DeviceGuard(on_race="record")` keeps the order of virtual streams and reports what has none;
`devlint confirm` does not ask it to, and leaves the finding undecided.""",
    limits="""\
A call of anything out of sight between the copy and the write may wait, and is taken to. A buffer
that is filled in one method and copied in another is left alone.

A preview: of the 125 files with streams or pinned copies in 52 public repositories none had a
finding, so that nobody knows yet how often it is right.""",
    preview=True,
)
