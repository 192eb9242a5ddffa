"""Values on the current accelerator that meet one whose device the caller chose.

A bare `.cuda()` behind `if x.is_cuda` is right on one card only: the current card need not be the
one that `x` is on. Behind a flag of the configuration, whoever sets it means the current card for
everything. Where no condition guards the `.cuda()`, that is said of the mention itself, but in code
for CUDA alone, which may demand it. A card by its number, `f"cuda:{rank}"`, is another one than the
current card for all numbers but one, unless something makes it that.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from devlint.inference.conventions import holds, without
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.domain.placement import CUDA, Device, Variable, VariableKind
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value
from devlint.inference.models.devices import NumberedCards
from devlint.inference.models.places import last_move
from devlint.inference.program.accelerator_notes import Mentions
from devlint.inference.program.assumption_sites import at
from devlint.inference.program.declarations import Function
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import code, every, parts, shorten

_RIGID = (VariableKind.INPUT, VariableKind.MODULE)


def strays(frame: Frame, known: Tensor, variable: Tensor) -> Assumptions | None:
    """The assumptions under which a value made for the current accelerator misses a rigid one, as
    in `meetings.contradiction`."""
    place, other = known.place, variable.place
    if type(place) is not Device or place.type != "cuda" or place.index is not None:
        return None
    if type(other) is not Variable or known.origin is None:
        return None
    if other in frame.unit.kept(NumberedCards).places:
        return _of_number(frame, known, other)
    if other.kind not in _RIGID:
        return None
    mentions = frame.unit.kept(Mentions)
    if frame.function is None or mentions.is_script:
        return None
    if known.origin.root.kind is not StepKind.CREATED:
        return None  # it came from the caller, as the other did
    for step in known.origin.chain():
        noted = mentions.notes.get(step.node)
        if noted is not None:
            if not noted.bare or not (noted.guarded or _is_on_purpose(frame, noted.function)):
                return None
            around = [] if noted.function is None else _tests_around(noted.function.node, step.node)
            flag = next((test for test in around if _is_flag(test)), None)
            if flag is not None:
                message = f"where `{shorten(flag)}` is on, not everything is on the current card"
                return (at(frame, AssumptionKind.FLAG_MAY_BE_OFF, flag, message),)
            # What is computed with it is where it is: one finding for all that comes of it.
            first = mentions.strayed.setdefault(known.origin.root.node, other)
            kind = AssumptionKind.CURRENT_DEVICE_IS_ANOTHER
            message = "is on another card than the current one"
            if mentions.takes_devices and any(map(_asks_machine, around)):
                kind = AssumptionKind.OTHER_CARDS_ARE_USED
                message = "is on no card, or not on the current one"
            name = "the module" if other.kind is VariableKind.MODULE else f"`{other.name}`"
            assumed = at(frame, kind, step.node, f"{name} {message}")
            return (assumed,) if first is other else None
        if step.kind is StepKind.MOVED:
            return None  # to a device that a variable holds
    return None


def _of_number(frame: Frame, known: Tensor, card: Variable) -> Assumptions | None:
    """A bare `.cuda()` beside a card by its number, `f"cuda:{rank}"`, which nothing in sight makes
    the current one: for a script that is itself, for others it may be who imports them."""
    text, importer = frame.unit.source.text, frame.unit.context.importer
    if holds("card-choosing-text", text) or holds("visible-cards-chosen", text):
        return None
    mentions = frame.unit.kept(Mentions)
    if importer is not None and not mentions.is_script and importer.chooses_card():
        return None
    for step in known.origin.chain() if known.origin is not None else ():
        noted = mentions.notes.get(step.node)
        if noted is not None and noted.bare:
            first = mentions.strayed.setdefault(step.node, card)
            message = f"`{card.name}` is another card than the current one"
            kind = AssumptionKind.OTHER_CARDS_ARE_USED
            return (at(frame, kind, step.node, message),) if first is card else None
    return None


def beside_inputs(frame: Frame, result: Value, inputs: Mapping[str, Variable]) -> Value:
    """A function's result, where what came to the current card behind `if x.is_cuda` is where the
    caller has `x`: on the host, if that is there."""

    def placed(value: Value) -> Value:
        if type(value) is Tensor:
            beside = _asked(frame, value, inputs) if value.place == CUDA else None
            return value if beside is None else value.with_place(beside, value.origin)
        return value.map(placed)

    return placed(result) if inputs else result


def goes_with(frame: Frame, tensor: Tensor, other: Tensor, inputs: Mapping[str, Variable]) -> bool:
    """A value that came to the current card behind `if x.is_cuda` is where the caller has `x`, of
    which the other one is."""
    return tensor.place == CUDA and (
        type(other.place) is Variable and _asked(frame, tensor, inputs) is other.place
    )


def _asked(frame: Frame, tensor: Tensor, inputs: Mapping[str, Variable]) -> Variable | None:
    """Where the input is of which a move's condition asked whether it is on CUDA."""
    move = last_move(tensor)
    if move is None or frame.function is None:
        return None
    for test in _tests_around(frame.function.node, move.node):
        for asked in every(test, cst.Attribute):
            if asked.attr.value == "is_cuda" and isinstance(asked.value, cst.Name):
                return inputs.get(asked.value.value)
    return None


def _is_on_purpose(frame: Frame, function: Function | None) -> bool:
    """Code for CUDA alone demands it with no condition, and may yet be given another card than the
    current one; unless it chooses the card of its tensors, or is run for itself."""
    mentions = frame.unit.kept(Mentions)
    if not mentions.meant and not mentions.named(function):
        return False
    runs_itself = frame.unit.is_test or holds("cold-path", frame.unit.source.path)
    text = frame.unit.source.text
    return not (runs_itself or holds("card-choosing-text", text))


def _asks_machine(test: cst.CSTNode) -> bool:
    """`torch.cuda.is_available()`: a machine may have cards, and the caller a tensor elsewhere."""
    asked = code(test)
    return holds("availability-call", asked) and not holds("device-question", asked)


def _is_flag(test: cst.CSTNode) -> bool:
    asked = without("torch-api", code(test))
    return holds("accelerator-word", asked) and not holds("device-question", asked)


def _tests_around(block: cst.CSTNode, node: cst.CSTNode) -> list[cst.CSTNode]:
    """The conditions in a block under which a node in it runs."""
    inside: list[tuple[cst.CSTNode, list[cst.CSTNode]]] = [(block, [])]
    for each, tests in inside:  # grows on the way
        if each is node:
            return tests
        own: list[cst.CSTNode] = [each.test] if isinstance(each, (cst.If, cst.IfExp)) else []
        inside += [(part, tests + own) for part in parts(each)]
    return []
