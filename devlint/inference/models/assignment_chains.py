"""Chains of assignments: one line after the other binds a name, which nothing else reads."""

from __future__ import annotations

import libcst as cst

from devlint.inference.program.frames import Assigned, Frame
from devlint.inference.syntax.text import every


def is_last_use(frame: Frame, latest: Assigned, moved: cst.BaseExpression) -> bool:
    """`x = x.to(d)`, `return x.to(d)`, or `y = x.exp().to(d)` where the function never reads `x`
    but to rebind it: nothing else reads the tensor before the move.

    A tensor that is no more than made, and moved under another name, mostly stands for data.
    """
    statement, name = frame.current, latest.name
    if isinstance(statement, cst.Return):
        return _mentions(statement, name) == 1
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0].target
    if isinstance(target, cst.Name) and target.value == name:
        return True
    if frame.function is None or _mentions(statement, name) != 1:
        return False
    if isinstance(moved, cst.Name) and assigned_before(frame, latest) is None:
        return False
    return _is_read_only_by(frame, latest)


def assigned_before(frame: Frame, latest: Assigned) -> Assigned | None:
    """`x = torch.ones(n)` before `x = x * 2`, and before `y = x * 2` where nothing else ever
    reads `x`."""
    before = latest.before
    if before is None or before.name == latest.name:
        return before
    reads = _mentions(latest.value, before.name)
    if frame.function is None or not reads:
        return None
    return before if _is_read_only_by(frame, before, reads) else None


def _is_read_only_by(frame: Frame, latest: Assigned, reads: int = 1) -> bool:
    """The function reads a name as often as that, and else only to rebind it."""
    assert frame.function is not None
    name, known = latest.name, reads
    step: Assigned | None = latest
    while step is not None and step.name == name:
        known += 1 + _mentions(step.value, name)
        step = step.before
    return _mentions(frame.function.node, name) == known


def _mentions(node: cst.CSTNode, name: str) -> int:
    return sum(each.value == name for each in every(node, cst.Name))
