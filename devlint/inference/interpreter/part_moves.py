"""Part moves: `data.apply(lambda part: part.to(device))` moves all that an object holds, in place.

graph.apply(lambda t: t.cuda())
loss = model(graph.x) + weights.cuda()    # graph.x is on the card
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import CPU, Device, Variable
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Unknown, Value
from devlint.inference.models.module_places import move_module
from devlint.inference.models.moves.targets import target_of
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.traffic import Moves
from devlint.inference.program.values import FunctionValue, Instance
from devlint.inference.syntax.moved_globals import MOVING_METHODS
from devlint.inference.syntax.text import dotted


def move_of_parts(frame: Frame, node: cst.Call, base: Value, arguments: Arguments) -> Value | None:
    """The object, with all of it where the function that is applied brings each part; None if
    that is no move."""
    move = _applied_move(arguments)
    if move is None or not _has_parts(base) or not isinstance(node.func, cst.Attribute):
        return None
    assert isinstance(move.func, cst.Attribute)
    target, _ = target_of(frame, move.func.attr.value, _arguments(frame, move))
    if not isinstance(target, (Device, Variable)):
        return None
    if type(base) is Instance and base.module:  # it is given each submodule, and the module
        move_module(frame, base, target, node)
        return base
    origin = base.origin if type(base) is Tensor or type(base) is Instance else None
    step = Provenance(StepKind.MOVED, node, frame.unit.source, origin, "moved here, part by part")
    moved = Tensor(target, step, 0, Evidence())
    path = dotted(node.func.value)
    if path:
        frame.state.hold(path, moved)
    if type(base) is Tensor and type(base.place) is Variable and target != CPU:
        frame.kept(Moves).goals.setdefault(base.place, set()).add(target)
    return moved


def _applied_move(arguments: Arguments) -> cst.Call | None:
    """The body of `lambda t: t.to(device)`."""
    if len(arguments.positional) != 1 or arguments.keywords:
        return None
    applied = arguments.positional[0][0]
    if type(applied) is not FunctionValue or not isinstance(applied.function.node, cst.Lambda):
        return None
    parameters, body = applied.function.node.params.params, applied.function.node.body
    if len(parameters) != 1 or not isinstance(body, cst.Call):
        return None
    func = body.func
    if not isinstance(func, cst.Attribute) or func.attr.value not in MOVING_METHODS:
        return None
    return body if dotted(func.value) == parameters[0].name.value else None


def _has_parts(base: Value) -> bool:
    """An object that may hold tensors: nothing that is surely one tensor."""
    return type(base) in (Instance, Unknown) or (type(base) is Tensor and not base.is_sure)


def _arguments(frame: Frame, call: cst.Call) -> Arguments:
    positional = [(frame.eval(a.value), a.value) for a in call.args if a.keyword is None]
    keywords = {a.keyword.value: (frame.eval(a.value), a.value) for a in call.args if a.keyword}
    return Arguments(list(positional), dict(keywords))
