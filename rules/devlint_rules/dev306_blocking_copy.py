"""DEV306: pinned memory copied with waiting, or a wish not to wait that pageable memory denies."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Confidence, Severity
from devlint.inference.facts import Facts, Hotness, Move
from devlint.rule import Claim, Rule
from devlint_rules.helpers.rewriting import short
from devlint_rules.helpers.wording import history, is_host, loop_note, may_be_accelerator


def _goes_up_in_hot_loop(move: Move) -> bool:
    return (
        move.loop is not None
        and move.loop.hotness is Hotness.HOT
        and not move.of_module
        and not move.discarded
        and (is_host(move.subject.placement) or move.subject.pinned)
        and may_be_accelerator(move.target)
    )


def _check(facts: Facts) -> Iterator[Claim]:
    for move in facts.moves:
        if not _goes_up_in_hot_loop(move) or move.loop is None:
            continue
        name, call = move.subject.name, short(move.site.node)
        if move.subject.pinned and not move.non_blocking:
            confidence = Confidence.LIKELY
            message = f"`{name}` is pinned, and `{call}` waits for the copy all the same"
            advice = "pass `non_blocking=True`"
        elif move.non_blocking and move.subject.pageable:
            confidence = Confidence.LIKELY
            message = f"`{call}` asks not to wait, but `{name}` is in pageable memory: it waits"
            advice = "make the DataLoader pin its batches: `pin_memory=True`"
        else:
            continue
        yield Claim(
            move.site,
            Severity.PERFORMANCE,
            confidence,
            message,
            advice=advice,
            trace=(*history(move.subject), loop_note(move.loop)),
        )


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
`pin_memory=True`.""",
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
    ),
    good=(
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
Whether the wait costs anything depends on what else the host has to do. A loader handed in by the
caller is left alone.""",
)
