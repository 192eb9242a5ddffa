"""DEV306: pinned memory copied with waiting, or a wish not to wait that pageable memory denies."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import Assumptions
from devlint.inference.domain.placement import may_be_accelerator
from devlint.inference.facts import Facts, Hotness, Loop, Move, Site, StepKind
from devlint.inference.syntax.text import every
from devlint.rule import Claim, Note, Rule
from devlint_rules.helpers.assumptions import is_cold_file, time_matters, warm_code
from devlint_rules.helpers.causes import habits
from devlint_rules.helpers.repetition import wait_in_turn
from devlint_rules.helpers.rewrites import receiver, short, text_of
from devlint_rules.helpers.wording import MAX_TWINS, and_more, history, is_host, loop_note

_OF_MEMORY = frozenset({"as_tensor", "asarray", "from_numpy", "frombuffer"})
_OF_DATA = _OF_MEMORY | {"tensor"}
_TORCH_FACTORY = re.compile(
    r"\w*Tensor|(as_|new_)?tensor|asarray|from_numpy|frombuffer|(new_)?(zeros|ones|empty|full)"
    r"|arange|linspace|rand(n|int|perm)?|eye"
)
_PINS = re.compile(r"\bpin")  # `pin_memory=self.pin`: it may be pinned


def _goes_up_in_hot_loop(move: Move) -> bool:
    return (
        move.loop is not None
        and move.loop.hotness is Hotness.HOT
        and not move.of_module
        and not move.discarded
        and (is_host(move.subject.placement) or move.subject.pinned)
        and may_be_accelerator(move.target)
    )


def _made_pageable(move: Move) -> Site | None:
    """The factory that made it of data, in pageable memory; None where it may be pinned. What is
    made of a written-out value, or of none, is better made on the device: DEV304 says so."""
    steps = move.subject.steps
    made = next((step for step in steps if step.kind is StepKind.CREATED), None)
    if made is None or any(s.kind not in (StepKind.CREATED, StepKind.COMPUTED) for s in steps):
        return None
    call = made.site.node
    if not isinstance(call, cst.Call) or _PINS.search(text_of(call)):
        return None
    if isinstance(move.subject.site.node, cst.IfExp):
        return None
    name = text_of(call.func).rpartition(".")[2]
    if name in _OF_DATA:
        is_written_out = not call.args or not any(True for _ in every(call.args[0].value, cst.Name))
        return None if is_written_out else made.site
    return None if move.creation is not None else made.site


def _asks_in_vain(facts: Facts, move: Move) -> Site | None:
    """`torch.tensor(xs).to(d, non_blocking=True)`, in code that runs again and again."""
    if not move.non_blocking or move.of_module or move.discarded or move.subject.pinned:
        return None
    if not is_host(move.subject.placement) or not may_be_accelerator(move.target):
        return None
    if move.function is None or move.cold or move.subject.is_parameter or is_cold_file(facts):
        return None
    return _made_pageable(move)


def _check(facts: Facts) -> Iterator[Claim]:
    by_function: dict[int, dict[int, tuple[Move, Site]]] = {}
    for move in facts.moves:
        made = _asks_in_vain(facts, move)
        if made is not None and move.function is not None:
            found = by_function.setdefault(id(move.function.node), {})
            found.setdefault(id(move.site.node), (move, made))
    for found in by_function.values():
        yield _in_vain(facts, list(found.values()))
    yield from habits(facts, _of_loops(facts))


def _of_loops(facts: Facts) -> Iterator[Claim]:
    for move in facts.moves:
        if not _goes_up_in_hot_loop(move) or move.loop is None:
            continue
        name, call = move.subject.name, short(move.site.node)
        if move.subject.pinned and not move.non_blocking:
            message = f"`{name}` is pinned, and `{call}` waits for the copy all the same"
            advice = "pass `non_blocking=True`"
        elif move.non_blocking and move.subject.pageable:
            message = f"`{call}` asks not to wait, but `{name}` is in pageable memory: it waits"
            advice = "make the DataLoader pin its batches: `pin_memory=True`"
        else:
            continue
        assumed = time_matters(facts, move.site) + _host_could_go_on(facts, move, move.loop)
        yield Claim(
            move.site,
            Severity.PERFORMANCE,
            confidence_of(assumed),
            message,
            advice=advice,
            trace=(*history(move.subject), loop_note(move.loop)),
            assumptions=assumed,
        )


def _host_could_go_on(facts: Facts, move: Move, loop: Loop) -> Assumptions:
    """The assumption that the host has something else to do while the copy runs: not where it waits
    for the device in every turn anyway."""
    wait = wait_in_turn(facts, loop)
    message = "the copy has to be quick, though the host waits in every turn"
    return (
        warm_code(wait is not None, wait or move.site, message)
        + warm_code(move.cold, move.site, "what runs once or seldom has to be quick, too")
        + warm_code(
            _only_copies(facts, loop), move.site, "there is something to do while the copies run"
        )
    )


_COLLECTS = frozenset({"append", "extend", "insert", "add", "update", "setdefault", "items"})


def _only_copies(facts: Facts, loop: Loop) -> bool:
    """The body of a loop moves and collects, and calls nothing else."""
    body = getattr(loop.site.node, "body", None)
    moves = {move.site.node for move in facts.moves}
    return isinstance(body, cst.BaseSuite) and all(
        call in moves
        or (isinstance(call.func, cst.Attribute) and call.func.attr.value in _COLLECTS)
        for call in every(body, cst.Call)
    )


def _in_vain(facts: Facts, copies: list[tuple[Move, Site]]) -> Claim:
    """One finding for a function, with all its places in the trace."""
    (move, made), *others = copies
    assert isinstance(made.node, cst.Call)
    assumed = time_matters(facts, move.site)
    return Claim(
        move.site,
        Severity.PERFORMANCE,
        confidence_of(assumed),
        f"`{short(move.site.node)}` asks not to wait, but `{move.subject.name}` is in pageable "
        f"memory{and_more(len(others))}: the host copies it first, and may wait",
        advice=f"copy from pinned memory: `{_pinned(move, made.node)}`",
        trace=(
            *history(move.subject),
            *(Note(m.site, "copied from pageable memory, too") for m, _ in others[:MAX_TWINS]),
        ),
        assumptions=assumed,
    )


def _pinned(move: Move, made: cst.Call) -> str:
    """The factories of torch can be asked for pinned memory; what others give is pinned then."""
    factory = short(made.func)
    head, _, name = factory.rpartition(".")
    if head != "torch" and not _TORCH_FACTORY.fullmatch(name):
        subject = receiver(move.site.node)
        held = short(subject) if isinstance(subject, (cst.Name, cst.Attribute)) else "(…)"
        return f"{held}.pin_memory()"
    has_option = name not in _OF_MEMORY and not name.endswith("Tensor")
    return f"{factory}(…, pin_memory=True)" if has_option else f"{factory}(…).pin_memory()"


RULE = Rule(
    code="DEV306",
    name="blocking-copy",
    severity=Severity.PERFORMANCE,
    summary=(
        "A pinned source copied with `non_blocking=False`, or `non_blocking=True` from pageable "
        "memory."
    ),
    what="""\
Reports a host-to-device copy in a hot loop that uses only half of the pair: pinned memory without
`non_blocking=True`, or `non_blocking=True` on a batch of a DataLoader without
`pin_memory=True`. In any function: `non_blocking=True`, by keyword or by position, on what was just
made of data in memory that is not pinned: `torch.tensor(xs).to(device, non_blocking=True)`.""",
    why="""\
Only a copy from pinned memory can run beside the host, and only `non_blocking=True` lets it. With
one of the two alone the host waits until the copy is queued or done.""",
    reference="https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
    bad=(
        """\
from torch.utils.data import DataLoader


def run(model, dataset):
    model.cuda()
    for batch in DataLoader(dataset, batch_size=8, pin_memory=True):
        yield model(batch.cuda())
""",
        """\
from torch.utils.data import DataLoader


def run(model, dataset, device):
    model.to(device)
    for batch in DataLoader(dataset, batch_size=8):
        yield model(batch.to(device, non_blocking=True))
""",
        """\
import torch
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def run(model, dataset):
    for images, labels in DataLoader(dataset, pin_memory=True):
        images = images.to(device)
        yield model(images), labels
""",
        """\
import torch


def positions(lengths: list[int], device):
    return torch.tensor(lengths).to(device, torch.int32, True)
""",
    ),
    good=(
        """\
import torch


def positions(lengths: list[int], device):
    host = torch.tensor(lengths, dtype=torch.int32, pin_memory=True)
    return host.to(device, non_blocking=True)
""",
        """\
from torch.utils.data import DataLoader


def run(model, dataset):
    model.cuda()
    for batch in DataLoader(dataset, batch_size=8, pin_memory=True):
        yield model(batch.cuda(non_blocking=True))
""",
        """\
from torch.utils.data import DataLoader


def run(model, dataset, device):
    model.to(device)
    for batch in DataLoader(dataset, batch_size=8):
        yield model(batch.to(device))
""",
        """\
def run(model, loader, device):
    model.to(device)
    for batch in loader:  # whether this loader pins is not in sight
        yield model(batch.to(device, non_blocking=True))
""",
    ),
    check=_check,
    twin="""\
The guard sees a pinned source copied with a wait, or a pageable one that was not to wait.""",
    limits="""\
Whether the wait costs anything depends on what else the host has to do: where it waits for the
device in every turn of the loop anyway, the finding is a `possible` one. A loader handed in by the
caller is left alone.""",
)
