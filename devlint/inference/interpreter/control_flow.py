"""Control flow: `if`, `match`, `try` and `with`, whose suites run, or may.

    if fast:
        x = x.cuda()
    x + y

Behind the `if`, `x` is on the card where `fast` is true, and else where it was.

The patterns of `match` bind names to parts of the subject: `case [x, *rest]` binds `x` to its first
element.
"""

from __future__ import annotations

from contextlib import ExitStack

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import DeviceValue
from devlint.inference.domain.path_conditions import ALWAYS, PathCondition
from devlint.inference.domain.tensors import DEFAULT, EMPTY, LITERAL, Tensor, tensor_like
from devlint.inference.domain.value import UNKNOWN, Value
from devlint.inference.interpreter.assignments import assign
from devlint.inference.interpreter.branches import enter_branch
from devlint.inference.interpreter.conditions import truth
from devlint.inference.interpreter.files import run_all
from devlint.inference.interpreter.narrowing import narrow
from devlint.inference.program import tests
from devlint.inference.program.events import Branched
from devlint.inference.program.frames import Frame
from devlint.inference.program.loops import Environment
from devlint.inference.program.state import State
from devlint.inference.syntax.endings import fails
from devlint.inference.syntax.text import dotted, last_statement
from devlint.inference.syntax.words import (
    asks_for_accelerator,
    catches_up,
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


def run_if(frame: Frame, node: cst.If) -> bool:
    """Run an `if`; False when neither suite is left at its end."""
    with frame.under(guarding=guards_error(node)):
        known = truth(frame, node.test)
    accelerated = asks_for_accelerator(node.test)
    if accelerated:
        frame.emit(Branched(node, known))
    cold = is_cold(node.test) or fills_table(node) or returns_constant(node)
    cold = cold or fails(last_statement(node.body))
    cold = cold or (frame.control.loop is not None and (fills_name(node) or catches_up(node)))
    if known is not None:
        with frame.under(guarded=accelerated):
            narrow(frame, node.test, known)
            if not known:
                return _otherwise(frame, node.orelse)
            with frame.under(cold=cold):
                return block(frame, node.body)
    here = frame.state
    frame.state = here.fork()
    with frame.under(guarded=accelerated, cold=cold):
        if_true, if_false = tests.of_test(frame, node.test)
        enter_branch(frame, node.test, True, if_true)
        after_true = frame.state.when
        with frame.under(conditional=True):
            falls = block(frame, node.body)
    taken, frame.state = frame.state, here.fork()
    with frame.under(guarded=accelerated):
        enter_branch(frame, node.test, False, if_false)
        after_false = frame.state.when
        seldom = is_training(node.test) or _fails(node.orelse)
        with frame.under(cold=seldom, conditional=node.orelse is not None):
            else_falls = _otherwise(frame, node.orelse)
    if falls:
        if else_falls:
            if node.orelse is None and frame.control.chained:
                _forget_initial(here.env, taken.env, frame.state.env)
            taken.join(frame.state, (if_true, if_false))
        frame.state = taken
    if falls is not else_falls:  # what follows runs only where the one branch was taken
        frame.state.when = after_true if falls else after_false
    else:
        frame.state.when = here.when
    return falls or else_falls


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


def _fails(orelse: cst.If | cst.Else | None) -> bool:
    return isinstance(orelse, cst.Else) and fails(last_statement(orelse.body))


def _otherwise(frame: Frame, orelse: cst.If | cst.Else | None) -> bool:
    if orelse is None:
        return True
    if isinstance(orelse, cst.If):
        with frame.under(chained=True):
            return run_if(frame, orelse)
    return block(frame, orelse.body)


def run_match(frame: Frame, node: cst.Match) -> bool:
    """Run a `match`; False when no case is left at its end."""
    subject = frame.eval(node.subject)
    here = frame.state
    left: list[tuple[State, PathCondition]] = []
    exhaustive = False
    *cases, no_case = tests.one_of(frame, len(node.cases) + 1)
    for case, taken in zip(node.cases, cases, strict=True):
        frame.state = here.fork()
        tests.enter(frame, taken)
        bind_pattern(frame, case.pattern, subject)
        if case.guard is not None:
            frame.eval(case.guard)
        if block(frame, case.body):
            left.append((frame.state, taken))
        pattern = case.pattern
        exhaustive = exhaustive or (
            isinstance(pattern, cst.MatchAs) and pattern.pattern is None and case.guard is None
        )
    if not exhaustive:
        left.append((here, no_case))
    return _continue_with(frame, left, here)


def _continue_with(frame: Frame, left: list[tuple[State, PathCondition]], before: State) -> bool:
    """Go on with the join of the states that reach this point."""
    if not left:
        frame.state = before.fork()
        return False
    joined, known = left[0]
    for state, when in left[1:]:
        joined.join(state, (known, when))
        known = ALWAYS
    joined.when = before.when
    frame.state = joined
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


def run_try(frame: Frame, node: cst.Try | cst.TryStar) -> bool:
    """Run a `try` with its handlers; False when none of its suites is left at its end."""
    entered = frame.state.fork()
    runs, *handled = tests.one_of(frame, len(node.handlers) + 1)
    catching = [handler for handler in node.handlers if _catches(handler)]
    tells = bool(catching) and all(map(_raises, catching))
    hides = bool(catching) and not tells
    with frame.under(caught=hides, retold=tells):
        falls = block(frame, node.body)
    if falls and node.orelse is not None:
        falls = block(frame, node.orelse.body)
    left: list[tuple[State, PathCondition]] = []
    if falls:
        left.append((frame.state, runs))
        entered.join(frame.state)
    with frame.under(cold=True):
        ways = iter(handled)
        for handler in node.handlers:
            taken = next(ways)
            frame.state = entered.fork()
            tests.enter(frame, taken)
            if handler.name is not None and isinstance(handler.name.name, cst.Name):
                frame.bind(handler.name.name.value, UNKNOWN)
            if block(frame, handler.body):
                left.append((frame.state, taken))
    falls = _continue_with(frame, left, entered)
    if node.finalbody is not None:
        falls = block(frame, node.finalbody.body) and falls
    return falls


_EXPECTING = frozenset({"raises", "assertRaises", "assertRaisesRegex", "suppress"})


def run_with(frame: Frame, node: cst.With) -> bool:
    """Run a `with`; False when its suite is not left at its end."""
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


def bind_pattern(frame: Frame, pattern: cst.MatchPattern, subject: Value) -> None:
    """Bind the names of a pattern to parts of its subject."""
    if isinstance(pattern, cst.MatchAs):
        if pattern.pattern is not None:
            bind_pattern(frame, pattern.pattern, subject)
        if pattern.name is not None:
            frame.bind(pattern.name.value, subject)
    elif isinstance(pattern, (cst.MatchList, cst.MatchTuple)):
        part = frame.interpreter.element_of(frame, subject, pattern)
        items = subject.items if type(subject) is Sequence else None
        known = items is not None and len(items) == len(pattern.patterns)
        for index, item in enumerate(pattern.patterns):
            if isinstance(item, cst.MatchSequenceElement):
                bind_pattern(frame, item.value, items[index] if items and known else part)
            elif isinstance(item, cst.MatchStar) and item.name is not None:
                frame.bind(item.name.value, Sequence(None, part))
    elif isinstance(pattern, cst.MatchOr):
        for option in pattern.patterns:
            bind_pattern(frame, option.pattern, subject)
    elif isinstance(pattern, cst.MatchMapping):
        for entry in pattern.elements:
            bind_pattern(frame, entry.pattern, tensor_like(subject))
    elif isinstance(pattern, cst.MatchClass):
        for element in pattern.patterns:
            bind_pattern(frame, element.value, UNKNOWN)
        for keyword in pattern.kwds:
            bind_pattern(frame, keyword.pattern, UNKNOWN)
