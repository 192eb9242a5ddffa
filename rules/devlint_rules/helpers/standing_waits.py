"""Waits that stay, whatever is done about others: what the host needs, the copies of batches, and
operations whose result has as many elements as the values say.

    order = torch.tensor([0], device=x.device)   # the host waits for this copy
    rows = x[mask]                               # and here for the number of rows, in any case
"""

from __future__ import annotations

import enum
import re

import libcst as cst

from devlint.inference.domain.placement import CPU, may_be_accelerator
from devlint.inference.facts import Facts, Move, Sync
from devlint.inference.syntax.text import dotted
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.legacy_types import of_sizes
from devlint_rules.helpers.masks import is_picked_by_mask
from devlint_rules.helpers.needs import MASKED, NUMBERS, is_needed
from devlint_rules.helpers.uses import is_reduced


class Moment(enum.Enum):
    """What happens at a node of a body, as far as the device is concerned."""

    WORK = enum.auto()  # something is called that may queue any amount of work
    READ = enum.auto()  # the host waits there for what it needs
    COPY = enum.auto()  # it waits for the copy of what it has read: a batch
    SIZED = enum.auto()  # it asks how large the result of an operation is
    WEIGHABLE = enum.auto()  # the same of rows that are added up: weighted by the mask, it need not
    OTHER = enum.auto()


Waits = dict[cst.CSTNode, Moment]

_TAKEN = NUMBERS | {".cpu()", ".numpy()", ".tolist()", ".equal()"}
# How many there are, or which answer it is, depends on the values: the host has to ask.
_SIZED = re.compile(
    r"\.?(nonzero|argwhere|where|unique\w*|repeat_interleave|masked_select|equal|allclose|bincount"
    r"|one_hot)(\(\))?"
)
_MAKES = re.compile(r"tensor|as_tensor|from_numpy|\w*Tensor")


def waits_of(facts: Facts, reads: bool) -> Waits:
    """Where the host waits whatever is done about other waits: for what it needs, for the copy of
    what it has read, and for the size of a result."""
    found = {m.site.node: Moment.COPY for m in facts.moves if _brings_data(m)}
    for sync in facts.syncs:
        moment = _moment(facts, sync, reads)
        if moment is not Moment.OTHER:
            found[sync.site.node] = moment
    return found


def _moment(facts: Facts, sync: Sync, reads: bool) -> Moment:
    """What a read is that stays, as one that the host needs or that checks for an error; where
    `reads` count, so is the read of any number."""
    if sync.cold or sync.inside is not None:
        return Moment.OTHER
    if sync.call in _TAKEN:
        is_number = reads and sync.call in NUMBERS
        if is_number or sync.guards_error or is_needed(facts, sync):
            return Moment.READ
    return _of_size(facts, sync.site.node) if is_sized(sync) else Moment.OTHER


def is_sized(sync: Sync) -> bool:
    """The values say how many there are: of rows that a mask picks, of what `nonzero` finds."""
    return sync.call == MASKED or _SIZED.fullmatch(sync.call) is not None


def _of_size(facts: Facts, node: cst.CSTNode) -> Moment:
    is_added_up = isinstance(node, cst.Subscript) and is_reduced(facts, node)
    return Moment.WEIGHABLE if is_added_up else Moment.SIZED


def rows_at(facts: Facts, node: cst.CSTNode, masks: frozenset[str]) -> Moment:
    """`x[mask]` is read, by what the text says."""
    if not isinstance(node, cst.Subscript) or not is_picked_by_mask(node, masks):
        return Moment.OTHER
    around = next(iter(path_to(facts.source.tree, node)), None)
    is_written = isinstance(around, (cst.AssignTarget, cst.AugAssign))
    return Moment.OTHER if is_written else _of_size(facts, node)


def _brings_data(move: Move) -> bool:
    """A blocking copy to the device, of what no factory has made there and then: a batch."""
    subject = move.subject
    stays = not (_is_made(move) or move.invariant or move.cold or subject.pinned)
    blocks = not (move.non_blocking or move.of_module or move.discarded or move.kept)
    away = not (may_be_accelerator(move.target) and may_be_accelerator(subject.placement))
    return stays and blocks and away and may_be_accelerator(move.target)


def _is_made(move: Move) -> bool:
    """A factory has made it on the host, and could have made it there."""
    if move.creation is not None:
        return not _copies_python(move.creation.node)
    subject = move.subject
    begun = subject.steps[0].site.node if subject.steps else None
    on_host = subject.placement == CPU and not subject.loaded
    return subject.by_default or (on_host and (begun is None or not _copies_python(begun)))


def _copies_python(made: cst.CSTNode) -> bool:
    """`torch.LongTensor(labels)`: no factory has made it there, it holds what Python had."""
    return isinstance(made, cst.Call) and makes_of_data(made) and of_sizes(made) is None


def makes_of_data(call: cst.Call) -> bool:
    """`torch.tensor(labels)`, of what is not written out there."""
    known = _MAKES.fullmatch(callee_name(call).rpartition(".")[2])
    return known is not None and bool(call.args) and not _is_written_out(call.args[0].value)


def _is_written_out(data: cst.BaseExpression) -> bool:
    """A number, or a list of numbers, that is written out."""
    if isinstance(data, (cst.List, cst.Tuple)):
        return all(_is_written_out(element.value) for element in data.elements)
    return isinstance(data, (cst.BaseNumber, cst.UnaryOperation))


def callee_name(call: cst.Call) -> str:
    """`model`, `loss.backward`, `.mean` of `model(x).mean()`."""
    name = dotted(call.func)
    if not name and isinstance(call.func, cst.Attribute):
        name = f".{call.func.attr.value}"
    return name
