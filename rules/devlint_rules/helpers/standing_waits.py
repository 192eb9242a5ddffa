"""Waits that stay, whatever is done about others: what the host needs, the copies of batches, and
operations whose result has as many elements as the values say.

    order = torch.tensor([0], device=x.device)   # the host waits for this copy
    rows = x[mask]                               # and here for the number of rows, in any case
"""

from __future__ import annotations

import re
from typing import NamedTuple

import libcst as cst

from devlint.inference.domain.placement import CPU, may_be_accelerator
from devlint.inference.facts import Facts, Move, Sync
from devlint.inference.syntax.text import dotted
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.legacy_types import of_sizes
from devlint_rules.helpers.masks import is_picked_by_mask
from devlint_rules.helpers.needs import MASKED, NUMBERS, is_needed
from devlint_rules.helpers.uses import is_reduced


class Taken(NamedTuple):
    """Which waits are taken to stay, besides those for what the host needs."""

    reads: bool = False  # reads of any number
    sized: bool = False  # operations whose result is as large as the values say


NEEDED = Taken()

# Copies, each with whether a condition on the device is around it; reads, with None.
Waits = dict[cst.CSTNode, bool | None]

_TAKEN = NUMBERS | {".cpu()", ".numpy()", ".tolist()"}
# How many there are, or which answer it is, depends on the values: the host has to ask.
_SIZED = re.compile(
    r"\.?(nonzero|argwhere|where|unique\w*|repeat_interleave|masked_select|equal|allclose|bincount"
    r"|one_hot)(\(\))?"
)
_MAKES = re.compile(r"tensor|as_tensor|from_numpy|\w*Tensor")


def waits_of(facts: Facts, asked: Taken) -> Waits:
    """Where the host waits whatever is done about other waits: for what it needs, and for the copy
    of what it has read."""
    counted = (s for s in facts.syncs if _stays(facts, s, asked))
    found: Waits = {m.site.node: m.guarded for m in facts.moves if _brings_data(m)}
    found.update((sync.site.node, None) for sync in counted)
    return found


def _stays(facts: Facts, sync: Sync, asked: Taken) -> bool:
    """A read that the host needs, as by a check for an error; and what is asked for besides."""
    if sync.cold or sync.inside is not None:
        return False
    if is_sized(sync):
        return asked.sized and (sync.call != MASKED or not is_reduced(facts, sync.site.node))
    if sync.call not in _TAKEN:
        return False
    is_number = asked.reads and sync.call in NUMBERS
    return is_number or sync.guards_error or is_needed(facts, sync)


def is_sized(sync: Sync) -> bool:
    """The values say how many there are: of rows that a mask picks, of what `nonzero` finds."""
    return sync.call == MASKED or _SIZED.fullmatch(sync.call) is not None


def picks_rows(facts: Facts, node: cst.Subscript, masks: frozenset[str], asked: Taken) -> bool:
    """`x[mask]` is read, by what the text says; where a sum weighted by the mask would do, only if
    any number counts."""
    if not asked.sized or not is_picked_by_mask(node, masks):
        return False
    around = next(iter(path_to(facts.source.tree, node)), None)
    is_read = not isinstance(around, (cst.AssignTarget, cst.AugAssign))
    return is_read and (asked.reads or not is_reduced(facts, node))


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
