"""Statements: what each does to the environment, and whether control falls through it.

Here are the simple ones, such as `return` and `import`, and the table of all.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import Const
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import under
from devlint.inference.interpreter import contracts
from devlint.inference.interpreter.assignments import (
    run_annotated,
    run_assign,
    run_augmented,
)
from devlint.inference.interpreter.class_bodies import declare_class
from devlint.inference.interpreter.control_flow import run_if, run_match, run_try, run_with
from devlint.inference.interpreter.definitions import declare_function
from devlint.inference.interpreter.files import run_all
from devlint.inference.interpreter.loops import run_for, run_while
from devlint.inference.interpreter.narrowing import narrow
from devlint.inference.models import creations
from devlint.inference.models.module_places import baked
from devlint.inference.program.events import Asserted, Tested
from devlint.inference.program.frames import EXECUTORS, Frame
from devlint.inference.program.imports import imported, take_all
from devlint.inference.syntax.endings import never_returns
from devlint.inference.syntax.text import code, dotted


def _line(frame: Frame, node: cst.SimpleStatementLine) -> bool:
    return run_all(frame, node.body)


def _commented_line(frame: Frame, node: cst.SimpleStatementLine) -> bool:
    if not frame.unit.has_contract_comments:
        return run_all(frame, node.body)
    with frame.under(contract=contracts.of_line(frame, node)):
        return run_all(frame, node.body)


def _expression(frame: Frame, node: cst.Expr) -> bool:
    frame.statement = node.value
    frame.eval(node.value)
    frame.fresh = None
    frame.statement = None
    if type(node.value) is cst.Call and type(node.value.func) is cst.Attribute:
        changed = dotted(node.value.func.value)  # `names.append(x)`
        if changed and changed != "self":
            frame.state.forget_tests(changed)
    return not never_returns(node.value)


_NEVER = ("False", "0", "not True", "None")


def _delete(frame: Frame, node: cst.Del) -> bool:
    targets = node.target.elements if isinstance(node.target, cst.Tuple) else ()
    for name in [node.target, *(e.value for e in targets)]:
        path = dotted(name)
        if path:
            frame.state.env.pop(path, None)
    return True


def _global(frame: Frame, node: cst.Global) -> bool:
    frame.global_names.update(item.name.value for item in node.names)
    return True


def _nonlocal(frame: Frame, node: cst.Nonlocal) -> bool:
    frame.nonlocal_names.update(item.name.value for item in node.names)
    return True


def _return(frame: Frame, node: cst.Return) -> bool:
    value = frame.eval(node.value) if node.value is not None else Const(None)
    if node.value is not None:
        creations.note_result(frame, node.value, value)
    if frame.function is not None:
        value = baked(frame, value)
        if type(value) is Tensor or (type(value) is Sequence and value.kind == "tuple"):
            value = under(value, frame.state.when)
    frame.outcome.returns.append((node, value))
    frame.outcome.ways.append(frame.state.when)
    frame.outcome.exits.append(frame.state.env)
    return False


def _raise(frame: Frame, node: cst.Raise) -> bool:
    if node.exc is not None:
        with frame.under(cold=True):
            frame.eval(node.exc)
    return False


def _break(frame: Frame, node: cst.Break) -> bool:
    loop = frame.control.loop
    if loop is not None:
        loop.breaks.append(dict(frame.state.env))
    return False


def _continue(frame: Frame, node: cst.Continue) -> bool:
    loop = frame.control.loop
    if loop is not None:
        loop.continues.append(dict(frame.state.env))
    return False


def _assert(frame: Frame, node: cst.Assert) -> bool:
    with frame.under(guarding=True):
        value = frame.eval(node.test)
        frame.emit(Tested(node.test, value, "assert"))
    frame.emit(Asserted(node))
    narrow(frame, node.test, True)
    return code(node.test) not in _NEVER  # `assert False, "not ready"` raises


def _function(frame: Frame, node: cst.FunctionDef) -> bool:
    frame.bind(node.name.value, declare_function(frame, node))
    return True


def _class(frame: Frame, node: cst.ClassDef) -> bool:
    frame.bind(node.name.value, declare_class(frame, node))
    return True


def _import(frame: Frame, node: cst.Import) -> bool:
    for alias in node.names:
        name = dotted(alias.name)
        if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
            frame.bind(alias.asname.name.value, imported(frame.unit, name))
        else:
            root = name.partition(".")[0]
            frame.bind(root, imported(frame.unit, root))
    return True


def _import_from(frame: Frame, node: cst.ImportFrom) -> bool:
    module = dotted(node.module) if node.module is not None else ""
    level = len(node.relative)
    if isinstance(node.names, cst.ImportStar):
        for key, value in take_all(frame.unit, module, level).items():
            frame.bind(key, value)
        return True
    for alias in node.names:
        name = bound = dotted(alias.name)
        if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
            bound = alias.asname.name.value
        frame.bind(bound, imported(frame.unit, module, name, level))
    return True


EXECUTORS.update(
    {
        cst.SimpleStatementLine: _commented_line,
        cst.SimpleStatementSuite: _line,
        cst.Expr: _expression,
        cst.Assign: run_assign,
        cst.AnnAssign: run_annotated,
        cst.AugAssign: run_augmented,
        cst.Del: _delete,
        cst.Global: _global,
        cst.Nonlocal: _nonlocal,
        cst.Return: _return,
        cst.Raise: _raise,
        cst.Break: _break,
        cst.Continue: _continue,
        cst.Assert: _assert,
        cst.If: run_if,
        cst.Match: run_match,
        cst.Try: run_try,
        cst.TryStar: run_try,
        cst.With: run_with,
        cst.For: run_for,
        cst.While: run_while,
        cst.FunctionDef: _function,
        cst.ClassDef: _class,
        cst.Import: _import,
        cst.ImportFrom: _import_from,
    }
)
