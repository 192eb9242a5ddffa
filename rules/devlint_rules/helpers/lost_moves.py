"""Moves of tensors whose result nobody keeps, by mistake."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from devlint.inference.domain.placement import CPU, Placement, Variable, VariableKind
from devlint.inference.facts import Facts, Move
from devlint.inference.syntax.loops import targets_of
from devlint.inference.syntax.text import names_in
from devlint_rules.helpers.rewrites import text_of

_ACCELERATOR = re.compile(r"cuda|gpu|accelerat|\bmps\b|\bxpu\b|\bhpu\b|\bnpu\b", re.I)
_HOST_DEVICE = re.compile(r"device\s*=\s*(torch\.device\()?[\"']cpu[\"']", re.I)
# What is called like a function is a module, which moves in place: `trainer.loss_fn.cuda()`.
_FUNCTION = re.compile(r"(_fn|_func|_function|criterion)$")
# Methods of modules that no tensor has.
_OF_MODULES = "eval|train|parameters|named_parameters|state_dict|load_state_dict"


def _is_for_host(text: str) -> bool:
    """A program whose device is the CPU, and that knows of no other."""
    return bool(_HOST_DEVICE.search(text)) and not _ACCELERATOR.search(text)


def _is_owner(place: Placement, kind: VariableKind) -> bool:
    return isinstance(place, Variable) and place.kind is kind


def _is_module(move: Move) -> bool:
    """Elsewhere in the function it is used as only a module is: `model.eval()`."""
    if move.function is None or not move.subject.name.isidentifier():
        return False
    return bool(
        re.search(rf"(?<![\w.]){move.subject.name}\.({_OF_MODULES})\(", text_of(move.function.node))
    )


def _is_of_function(call: cst.Call) -> bool:
    """`load(x)`, `torch.zeros(1, device="cuda")`: no method of a tensor that somebody holds."""
    func = call.func
    return isinstance(func, cst.Name) or text_of(func).startswith("torch.")


def _is_to_each(move: Move) -> bool:
    """Each turn of a loop takes the same tensor somewhere else, and none could keep it there for
    the next: `for i in range(cards): x.to(f"cuda:{i}")` warms up the ways between them."""
    loop = move.loop.site.node if move.loop is not None else None
    if not isinstance(loop, cst.For) or move.target_node is None:
        return False
    bound = targets_of(loop)
    is_another = bound.isdisjoint(names_in(move.subject.site.node))
    return is_another and not bound.isdisjoint(names_in(move.target_node))


def lost_moves(facts: Facts) -> Iterator[Move]:
    """The moves that leave their tensor where it was, though it is meant to be elsewhere."""
    for move in facts.moves:
        # A move of a nameless tensor on a line of its own is there for its effect: a warm-up.
        if not move.discarded or move.of_module or move.creation is not None:
            continue
        place = move.subject.placement
        if place is not None and place == move.target and not move.to_tensor:
            continue  # it is there already
        if _is_owner(place, VariableKind.MODULE) and _is_owner(move.target, VariableKind.INPUT):
            continue  # what a module registers is where its inputs come to
        if move.target == CPU and _is_for_host(facts.source.text):
            continue  # nothing is elsewhere
        if _is_module(move) or _is_to_each(move) or _FUNCTION.search(move.subject.name):
            continue
        subject = move.subject.site.node
        if isinstance(subject, cst.Call) and _is_of_function(subject):
            continue  # of what a function gave, for nobody to hold
        target = move.target_node
        if target is not None and text_of(target) == f"{text_of(subject)}.device":
            continue  # it is there already, wherever that is
        yield move
