"""Statements: what each does to the environment, and whether control falls through it."""

from __future__ import annotations

from contextlib import ExitStack

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import Const, DeviceValue
from devlint.inference.domain.path_conditions import ALWAYS, PathCondition
from devlint.inference.domain.tensors import DEFAULT, EMPTY, LITERAL, Tensor, tensor_like
from devlint.inference.domain.value import UNKNOWN, Value, under
from devlint.inference.interpreter import contract_checks, contracts
from devlint.inference.interpreter.assignments import assign
from devlint.inference.interpreter.branches import enter_branch, flag
from devlint.inference.interpreter.class_bodies import declare_class
from devlint.inference.interpreter.conditions import truth
from devlint.inference.interpreter.definitions import declare_function
from devlint.inference.interpreter.files import run_all
from devlint.inference.interpreter.loops import run_for, run_while
from devlint.inference.interpreter.narrowing import narrow
from devlint.inference.interpreter.operators import in_place
from devlint.inference.models.module_places import baked
from devlint.inference.program import tests
from devlint.inference.program.environments import join_environments
from devlint.inference.program.events import AddedUp, Asserted, Branched, Tested
from devlint.inference.program.frames import EXECUTORS, Assigned, Frame
from devlint.inference.program.loops import Environment
from devlint.inference.syntax.text import code, dotted, last_statement
from devlint.inference.syntax.words import (
    asks_for_accelerator,
    fills_name,
    fills_table,
    guards_error,
    is_cold,
    is_training,
    returns_constant,
    runs_without_gradients,
)


def block(frame: Frame, body: cst.BaseSuite) -> bool:
    """Run a suite."""
    return run_all(frame, body.body)


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
    return not _never_returns(node.value)


_NEVER = ("False", "0", "not True", "None")
_EXITS = frozenset({"sys.exit", "exit", "quit", "os._exit", "os.abort"})


def _never_returns(node: cst.BaseExpression) -> bool:
    return type(node) is cst.Call and dotted(node.func) in _EXITS


def _assign(frame: Frame, node: cst.Assign) -> bool:
    if type(node.value) is cst.Call and all(_is_slice(t.target) for t in node.targets):
        frame.unit.moved_calls.add(node.value)  # copied to where that is
    value = frame.eval(node.value)
    only = node.targets[0].target
    own = _own_move(only, node.value)
    fresh = [loop for loop in frame.control.loops if own and own not in loop.assigned]
    declared = frame.control.contract
    if declared is not None:
        value = contract_checks.hold(frame, node, f"`{code(only)}`", value, node.value, declared)
    for target in node.targets:
        assign(frame, target.target, value, node.value)
        if (
            type(value) is Const
            and type(value.value) is bool
            and isinstance(target.target, cst.Name)
        ):
            frame.state.flags[target.target.value] = None
    for loop in fresh:
        loop.assigned.discard(own)
        loop.rebound.add(own)
    frame.fresh = _assigned(frame, only.value, node.value) if isinstance(only, cst.Name) else None
    return True


def _assigned(frame: Frame, name: str, value: cst.BaseExpression) -> Assigned:
    return Assigned(name, value) if frame.fresh is None else frame.fresh.then(name, value)


def _is_slice(target: cst.BaseExpression) -> bool:
    """`x[:, 1:3]`."""
    return isinstance(target, cst.Subscript) and any(
        isinstance(element.slice, cst.Slice) for element in target.slice
    )


def _own_move(target: cst.BaseExpression, value: cst.BaseExpression) -> str:
    """`x` of `x = x.to(d)`."""
    if (
        type(value) is cst.Call
        and type(value.func) is cst.Attribute
        and value.func.attr.value in ("to", "cuda", "cpu")
    ):
        path = dotted(target)
        return path if path == dotted(value.func.value) else ""
    return ""


def _annotated(frame: Frame, node: cst.AnnAssign) -> bool:
    if node.value is not None:
        value = frame.eval(node.value)
        declared = frame.control.contract or contracts.of_annotation(
            frame, node.annotation.annotation
        )
        if declared is not None:
            value = contract_checks.hold(
                frame, node, f"`{code(node.target)}`", value, node.value, declared
            )
        assign(frame, node.target, value, node.value)
    return True


_IN_PLACE = {
    cst.AddAssign: "+=",
    cst.SubtractAssign: "-=",
    cst.MultiplyAssign: "*=",
    cst.DivideAssign: "/=",
    cst.FloorDivideAssign: "//=",
    cst.ModuloAssign: "%=",
    cst.PowerAssign: "**=",
    cst.MatrixMultiplyAssign: "@=",
    cst.BitAndAssign: "&=",
    cst.BitOrAssign: "|=",
    cst.BitXorAssign: "^=",
    cst.LeftShiftAssign: "<<=",
    cst.RightShiftAssign: ">>=",
}


def _augmented(frame: Frame, node: cst.AugAssign) -> bool:

    before = frame.eval(node.target)
    operator = _IN_PLACE.get(type(node.operator), "+=")
    value = frame.eval(node.value)
    if operator == "+=":
        frame.emit(AddedUp(node, value))
    result = in_place(frame, node, operator, before, value)
    assign(frame, node.target, result, node.value)
    frame.fresh = None
    return True


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
    if frame.function is not None:
        value = baked(frame, value)
        if type(value) is Tensor or (type(value) is Sequence and value.kind == "tuple"):
            value = under(value, frame.state.when)
    frame.outcome.returns.append((node, value))
    frame.outcome.exits.append(frame.state.env)
    return False


def _raise(frame: Frame, node: cst.Raise) -> bool:
    if node.exc is not None:
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


def _if(frame: Frame, node: cst.If) -> bool:
    with frame.under(guarding=guards_error(node)):
        known = truth(frame, node.test)
    accelerated = asks_for_accelerator(node.test)
    if accelerated:
        frame.emit(Branched(node, known))
    cold = is_cold(node.test) or fills_table(node) or returns_constant(node)
    cold = cold or (frame.control.loop is not None and fills_name(node))
    if known is not None:
        with frame.under(guarded=accelerated):
            narrow(frame, node.test, known)
            if not known:
                return _otherwise(frame, node.orelse)
            with frame.under(cold=cold):
                return block(frame, node.body)
    before, when, bound = frame.state.env, frame.state.when, frame.state.bound
    frame.state.env, frame.state.bound = dict(before), dict(bound)
    with frame.under(guarded=accelerated, cold=cold):
        if_true, if_false = tests.of_test(frame, node.test)
        enter_branch(frame, node.test, True, if_true)
        after_true = frame.state.when
        with frame.under(branch=flag(node.test, True)):
            falls = block(frame, node.body)
    then_env, then_bound = frame.state.env, frame.state.bound
    frame.state.env, frame.state.when, frame.state.bound = dict(before), when, bound
    with frame.under(guarded=accelerated):
        enter_branch(frame, node.test, False, if_false)
        after_false = frame.state.when
        with frame.under(cold=is_training(node.test), branch=flag(node.test, False)):
            else_falls = _otherwise(frame, node.orelse)
    if falls and else_falls:
        if node.orelse is None and frame.control.chained:
            _forget_initial(before, then_env, frame.state.env)
        frame.state.env = join_environments(then_env, frame.state.env, (if_true, if_false))
        frame.state.bound = _later(then_bound, frame.state.bound)
    elif falls:
        frame.state.env, frame.state.bound = then_env, then_bound
    if falls is not else_falls:  # what follows runs only where the one branch was taken
        frame.state.when = after_true if falls else after_false
    else:
        frame.state.when = when
    return falls or else_falls


def _later(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    """When each name was bound last, in either branch."""
    return one | {name: max(time, one.get(name, 0)) for name, time in other.items()}


def _forget_initial(before: Environment, taken: Environment, untaken: Environment) -> None:
    """At the end of an `if … elif …` chain with no `else`: what the last branch replaces was a
    placeholder, since the chain names all cases that the writer knows of."""
    for name, value in taken.items():
        old = before.get(name)
        if (
            type(old) is Tensor
            and old is not value
            and untaken.get(name) is old
            and old.traits & (LITERAL | EMPTY)
            and old.traits & DEFAULT
        ):
            untaken[name] = value


def _otherwise(frame: Frame, orelse: cst.If | cst.Else | None) -> bool:
    if orelse is None:
        return True
    if isinstance(orelse, cst.If):
        with frame.under(chained=True):
            return _if(frame, orelse)
    return block(frame, orelse.body)


def _match(frame: Frame, node: cst.Match) -> bool:
    subject = frame.eval(node.subject)
    before, when = frame.state.env, frame.state.when
    left: list[tuple[Environment, PathCondition]] = []
    exhaustive = False
    *cases, no_case = tests.one_of(frame, len(node.cases) + 1)
    for case, taken in zip(node.cases, cases, strict=True):
        frame.state.env = dict(before)
        frame.state.when = when
        tests.enter(frame, taken)
        _bind_pattern(frame, case.pattern, subject)
        if case.guard is not None:
            frame.eval(case.guard)
        if block(frame, case.body):
            left.append((frame.state.env, taken))
        pattern = case.pattern
        exhaustive = exhaustive or (
            isinstance(pattern, cst.MatchAs) and pattern.pattern is None and case.guard is None
        )
    if not exhaustive:
        left.append((before, no_case))
    frame.state.when = when
    return _continue_with(frame, left, before)


def _bind_pattern(frame: Frame, pattern: cst.MatchPattern, subject: Value) -> None:
    if isinstance(pattern, cst.MatchAs):
        if pattern.pattern is not None:
            _bind_pattern(frame, pattern.pattern, subject)
        if pattern.name is not None:
            frame.bind(pattern.name.value, subject)
    elif isinstance(pattern, (cst.MatchList, cst.MatchTuple)):
        part = frame.interpreter.element_of(frame, subject, pattern)
        items = subject.items if type(subject) is Sequence else None
        known = items is not None and len(items) == len(pattern.patterns)
        for index, item in enumerate(pattern.patterns):
            if isinstance(item, cst.MatchSequenceElement):
                _bind_pattern(frame, item.value, items[index] if items and known else part)
            elif isinstance(item, cst.MatchStar) and item.name is not None:
                frame.bind(item.name.value, Sequence(None, part))
    elif isinstance(pattern, cst.MatchOr):
        for option in pattern.patterns:
            _bind_pattern(frame, option.pattern, subject)
    elif isinstance(pattern, cst.MatchMapping):
        for entry in pattern.elements:
            _bind_pattern(frame, entry.pattern, tensor_like(subject))
    elif isinstance(pattern, cst.MatchClass):
        for element in pattern.patterns:
            _bind_pattern(frame, element.value, UNKNOWN)
        for keyword in pattern.kwds:
            _bind_pattern(frame, keyword.pattern, UNKNOWN)


def _continue_with(
    frame: Frame, left: list[tuple[Environment, PathCondition]], before: Environment
) -> bool:
    """Go on with the join of the environments that reach this point."""
    if not left:
        frame.state.env = dict(before)
        return False
    joined, known = left[0]
    for env, when in left[1:]:
        joined = join_environments(joined, env, (known, when))
        known = ALWAYS
    frame.state.env = joined
    return True


_HIDING = frozenset({"RuntimeError", "Exception", "BaseException"})


def _catches(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> bool:
    kind = handler.type
    if kind is None:
        return True
    names = [e.value for e in kind.elements] if isinstance(kind, cst.Tuple) else [kind]
    return any(dotted(name).rpartition(".")[2] in _HIDING for name in names)


def _raises(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> bool:
    """The handler tells the error in other words, and hides it from nobody."""
    return isinstance(last_statement(handler.body), cst.Raise)


def _try(frame: Frame, node: cst.Try | cst.TryStar) -> bool:
    before, when = dict(frame.state.env), frame.state.when
    runs, *handled = tests.one_of(frame, len(node.handlers) + 1)
    catching = [handler for handler in node.handlers if _catches(handler)]
    tells = bool(catching) and all(map(_raises, catching))
    hides = bool(catching) and not tells
    with frame.under(caught=hides, retold=tells):
        falls = block(frame, node.body)
    after = frame.state.env
    left: list[tuple[Environment, PathCondition]] = []
    if falls and node.orelse is not None:
        falls = block(frame, node.orelse.body)
        after = frame.state.env
    if falls:
        left.append((after, runs))
    entered = join_environments(dict(before), after) if falls else before
    with frame.under(cold=True):
        ways = iter(handled)
        for handler in node.handlers:
            taken = next(ways)
            frame.state.env, frame.state.when = dict(entered), when
            tests.enter(frame, taken)
            if handler.name is not None and isinstance(handler.name.name, cst.Name):
                frame.bind(handler.name.name.value, UNKNOWN)
            if block(frame, handler.body):
                left.append((frame.state.env, taken))
    frame.state.when = when
    falls = _continue_with(frame, left, entered)
    if node.finalbody is not None:
        falls = block(frame, node.finalbody.body) and falls
    return falls


_EXPECTING = frozenset({"raises", "assertRaises", "assertRaisesRegex", "suppress"})


def _with(frame: Frame, node: cst.With) -> bool:
    expects = any(
        dotted(item.item.func).rpartition(".")[2] in _EXPECTING
        for item in node.items
        if isinstance(item.item, cst.Call)
    )
    fake = any(
        dotted(getattr(i.item, "func", i.item)).endswith("FakeTensorMode") for i in node.items
    )
    evaluating = any(runs_without_gradients(item.item) for item in node.items)
    with ExitStack() as around:
        for item in node.items:
            value = frame.eval(item.item)
            if type(value) is DeviceValue:
                around.enter_context(frame.under(default_devices=(value.place,)))
            if item.asname is not None:
                assign(frame, item.asname.name, value, item.item)
        loop = frame.control.loop
        if evaluating and loop is not None:
            loop.evaluates = True
        # The tensors of `FakeTensorMode` need no device.
        with frame.under(evaluating=evaluating, guarded=fake, expecting=expects):
            return block(frame, node.body) or expects


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
            frame.bind(alias.asname.name.value, frame.unit.imported(name))
        else:
            root = name.partition(".")[0]
            frame.bind(root, frame.unit.imported(root))
    return True


def _import_from(frame: Frame, node: cst.ImportFrom) -> bool:
    base = dotted(node.module) if node.module is not None else ""
    unit = frame.unit
    name = unit.absolute(base, len(node.relative))
    if isinstance(node.names, cst.ImportStar):
        for key, value in unit.exports(name).items():
            frame.bind(key, value)
        return True
    for alias in node.names:
        imported = dotted(alias.name)
        bound = imported
        if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
            bound = alias.asname.name.value
        frame.bind(bound, unit.imported(name, imported))
    return True


EXECUTORS.update(
    {
        cst.SimpleStatementLine: _commented_line,
        cst.SimpleStatementSuite: _line,
        cst.Expr: _expression,
        cst.Assign: _assign,
        cst.AnnAssign: _annotated,
        cst.AugAssign: _augmented,
        cst.Del: _delete,
        cst.Global: _global,
        cst.Nonlocal: _nonlocal,
        cst.Return: _return,
        cst.Raise: _raise,
        cst.Break: _break,
        cst.Continue: _continue,
        cst.Assert: _assert,
        cst.If: _if,
        cst.Match: _match,
        cst.Try: _try,
        cst.TryStar: _try,
        cst.With: _with,
        cst.For: run_for,
        cst.While: run_while,
        cst.FunctionDef: _function,
        cst.ClassDef: _class,
        cst.Import: _import,
        cst.ImportFrom: _import_from,
    }
)
