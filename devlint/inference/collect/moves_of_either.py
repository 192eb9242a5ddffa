"""Lost moves of values that are a module or a tensor, as the code asks itself.

    if isinstance(part, (nn.Module, nn.Parameter)):
        part.to(device)

A module moves in place. Of a tensor, and of a parameter, which is one, the result is lost: the
branch is right for one of the two that it names.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.domain.host import External
from devlint.inference.domain.tensors import PARAMETER, Tensor
from devlint.inference.domain.value import Value, alternatives, is_untold
from devlint.inference.interpreter.narrowing import PARAMETERS, TENSORS, classes, is_module_class
from devlint.inference.models.moves.notes import note_move
from devlint.inference.models.moves.targets import Stay, target_of
from devlint.inference.program.control_dependences import branches_around
from devlint.inference.program.events import Called
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import code, dotted, every


def concerns(unit: Unit) -> bool:
    """Whether the calls in a file are looked at."""
    return unit.contains("isinstance(")


def of_call(frame: Frame, event: Called) -> None:
    """A move on a line of its own."""
    node, receiver, arguments = event
    func = node.func
    if frame.statement is not node or type(func) is not cst.Attribute:
        return
    name, path = func.attr.value, dotted(func.value)
    if name not in ("to", "cuda", "cpu") or not path or not _is_open(receiver):
        return
    kinds = _asked(frame, node, path)
    names = {kind.name for kind in kinds if type(kind) is External}
    if names.isdisjoint(TENSORS | PARAMETERS) or not any(is_module_class(frame, k) for k in kinds):
        return
    target, target_node = target_of(frame, name, arguments)
    if isinstance(target, Stay):
        return
    traits = PARAMETER if names.isdisjoint(TENSORS) else 0
    note = note_move(frame, node, name, Tensor(None, None, traits), target, target_node)
    note.either = True


def _is_open(value: Value) -> bool:
    """Nothing else says what it is."""
    return all(
        is_untold(each) or (type(each) is Tensor and not each.is_sure)
        for each in alternatives(value)
    )


def _asked(frame: Frame, node: cst.CSTNode, path: str) -> list[Value]:
    """The classes of which a value is one by the innermost question for its class, if it holds what
    it was asked for."""
    around = branches_around(frame, node)
    for choice, branch in reversed(around):
        if not isinstance(choice, cst.If) or f"isinstance({path}," not in code(choice.test):
            continue
        if branch is not choice.body or _is_bound(choice.body, path):
            return []
        return [
            kind
            for call in _true(choice.test)
            if dotted(call.args[0].value) == path
            for kind in classes(frame, call.args[1].value)
        ]
    return []


def _true(test: cst.BaseExpression) -> Iterator[cst.Call]:
    """The questions for a class of which one is answered with yes where a condition holds; of
    several that all hold the first."""
    if isinstance(test, cst.BooleanOperation):
        found = [list(_true(side)) for side in (test.left, test.right)]
        if isinstance(test.operator, cst.Or):
            yield from [call for side in found for call in side] if all(found) else []
        else:
            yield from next((side for side in found if side), [])
    elif isinstance(test, cst.Call) and dotted(test.func) == "isinstance" and len(test.args) == 2:
        yield test


def _is_bound(body: cst.CSTNode, path: str) -> bool:
    """The branch gives the name another value."""
    return any(dotted(each.target) == path for each in every(body, cst.AssignTarget))
