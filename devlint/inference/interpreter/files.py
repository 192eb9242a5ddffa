"""Files: a module's body is run once."""

from __future__ import annotations

from collections.abc import Sequence as Many

import libcst as cst

from devlint.inference.program.frames import BudgetExceeded, Frame, Interpreter, begin, body_of
from devlint.inference.program.units import Unit
from devlint.inference.syntax.words import skips_rest


def run_all(frame: Frame, statements: Many[cst.CSTNode]) -> bool:
    """Run statements in order; what stands behind a return or a raise is dead."""
    for index, statement in enumerate(statements):
        if not frame.execute(statement):
            return False
        if type(statement) is cst.If and not frame.control.cold and skips_rest(statement):
            with frame.under(cold=True):  # `if step % n: continue`: what follows runs now and then
                return run_all(frame, statements[index + 1 :])
    return True


def run_unit(unit: Unit, interpreter: Interpreter) -> None:
    """Walk the module's body, once."""
    if body_of(unit) is not None:
        return
    frame = begin(unit, interpreter)
    try:
        run_all(frame, unit.tree.body)
    except BudgetExceeded:
        unit.facts.budgets_hit.append(f"{unit.source.path}: its body is too large")
    # Branches replace the environment; functions read the one that is left.
    if frame.state.env is not unit.env:
        unit.env.update(frame.state.env)
        frame.state.env = unit.env
    frame.leave(frame.state.env)
