"""Loops: a body is walked until one more turn changes nothing at its head.

    a = b = c = torch.zeros(3)
    for x in xs:
        a = b          # on the accelerator from the third turn on
        b = c
        c = c.cuda()

The first walk is the first turn, with the state before the loop. The second begins with the join
of both, each under the path condition that no turn was made or one; any other with what the turn
before left, until a turn leaves nothing new. The height of the lattice bounds the number of walks;
what is still new after `MAX_WALKS` may be anything.

Nested loops take the sum of their walks, not the product: an inner one is walked to its fixpoint in
the second walk of the outer one, and in the last one of the outermost; in all others once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Sequence as Many

import libcst as cst

from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import Host
from devlint.inference.domain.path_conditions import both
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import (
    TOP,
    UNKNOWN,
    Union,
    Value,
    alternatives,
    covers,
    cut,
    possible,
    same,
)
from devlint.inference.facts import Hotness
from devlint.inference.interpreter import first_iteration
from devlint.inference.interpreter.assignments import assign
from devlint.inference.interpreter.branches import enter_branch
from devlint.inference.interpreter.files import run_all
from devlint.inference.interpreter.iteration import hotness_of, loop_of, replaced_elements
from devlint.inference.models import objects
from devlint.inference.program import tests
from devlint.inference.program.events import LoopLeft, Tested
from devlint.inference.program.frames import Frame
from devlint.inference.program.loops import Environment, LoopState
from devlint.inference.program.state import join_environments
from devlint.inference.program.values import Instance
from devlint.inference.syntax.text import dotted, every

MAX_WALKS = 12


def run_for(frame: Frame, node: cst.For) -> bool:
    """Run a `for` loop; False when control does not leave it."""
    iterable = frame.eval(node.iter)
    element = frame.interpreter.element_of(frame, iterable, node.iter)
    heat = hotness_of(frame, node, iterable)

    def enter() -> None:
        assign(frame, node.target, element, node.iter)

    counts = _counts_accelerators(node.iter)
    with frame.under(guarded=counts):
        return _loop(frame, node, node.iter, heat, enter, _yields_modules(element))


def _counts_accelerators(node: cst.BaseExpression) -> bool:
    """`range(torch.cuda.device_count())`: without any, there is no turn."""
    calls = (dotted(call.func) for call in every(node, cst.Call))
    return any(name.startswith("torch.") and name.endswith(".device_count") for name in calls)


def _yields_modules(element: Value) -> bool:
    """`for layer in self.layers`, `for i, layer in enumerate(self.layers)`."""
    if type(element) is Sequence and element.kind == "tuple":
        return any(_yields_modules(part) for part in element.items or ())
    return all(type(v) is Instance and v.module for v in alternatives(element))


def run_while(frame: Frame, node: cst.While) -> bool:
    """Run a `while` loop; False when control does not leave it."""
    heat = hotness_of(frame, node, UNKNOWN)

    def enter() -> None:
        value = frame.eval(node.test)
        frame.emit(Tested(node.test, value, "while"))
        enter_branch(frame, node.test, True)

    return _loop(frame, node, node.test, heat, enter)


def _loop(
    frame: Frame,
    node: cst.For | cst.While,
    over: cst.CSTNode,
    heat: Hotness,
    enter: Callable[[], None],
    runs: bool = False,
) -> bool:
    """Walk a loop to its fixpoint, and leave it. `runs`: whoever wrote it counts on one turn at
    least."""
    outer = frame.control.loop
    loop = loop_of(frame, node, over, heat)
    loop.replacing = replaced_elements(node)
    loop.entry = frame.state.env
    if outer is not None:
        outer.nests = True
    with frame.under(loop=loop):
        frame.state.env = _fixpoint(frame, loop, node.body.body, enter, runs)
    if outer is not None:
        outer.feeds_device |= loop.feeds_device
        if loop.hotness is Hotness.HOT and loop.trains:
            outer.wraps_training = True
        else:
            outer.trains |= loop.trains
            outer.wraps_training |= loop.wraps_training
    if loop.moved_parts:
        none, more = tests.one_of(frame, 2)
        frame.state.env = join_environments(
            frame.state.env, frame.state.env | loop.moved_parts, (none, more)
        )
    _replace_elements(frame, loop)
    if node.orelse is not None and not run_all(frame, node.orelse.body.body):
        return bool(loop.breaks)
    for env in loop.breaks:
        frame.state.env = join_environments(frame.state.env, env, before=frame.state.before)
    if isinstance(node, cst.For):
        frame.emit(LoopLeft(node))
    return True


def _fixpoint(
    frame: Frame, loop: LoopState, body: Many[cst.CSTNode], enter: Callable[[], None], runs: bool
) -> Environment:
    """Walk a body until a turn leaves nothing new; the environment behind the loop."""
    before, when, mark = frame.state.env, frame.state.when, len(frame.notes)

    def walk(head: Environment) -> Environment:
        """The environment where a turn ends that begins with this one."""
        del frame.notes[mark:]  # of the walks before: the last one tells
        loop.breaks.clear()
        loop.continues.clear()
        frame.state = frame.state.fork(head)
        frame.state.when = when
        loop.since = frame.state.clock.now
        enter()
        run_all(frame, body)
        frame.state.when = when
        return _end(frame, loop)

    def settle(head: Environment) -> Environment:
        """The same, with loops inside walked once."""
        with frame.under(settling=True):
            return walk(head)

    end = settle(before)
    after = _after(frame, loop, before, end)
    if frame.control.settling or not (loop.differs or _changed(before, after)):
        if loop.differs:
            first_iteration.leave(before, end, after)
        return after
    loop.back, loop.head = end, after
    end = walk(loop.head)
    walks = 2
    while walks < MAX_WALKS and any(_news(after, end)):
        after = _after(frame, loop, after, end)
        loop.back = loop.head = _widened(after, end)
        end = settle(loop.head)
        walks += 1
    if walks > 2 and loop.nests and loop.depth == 1:
        end = walk(loop.head)
    news = _news(after, end)
    unsettled = {name: TOP for name in news if isinstance(name, str)} if walks == MAX_WALKS else {}
    after = _after(frame, loop, after, end) | unsettled
    first_iteration.add_up(before, end, after)
    if loop.differs:
        first_iteration.leave(before, end, after)
    return end if runs else after


def _replace_elements(frame: Frame, loop: LoopState) -> None:
    """A list or a batch of which the loop replaced every element holds nothing else; one that it
    may have left before holds both."""
    if loop.replacing is None or loop.replacement is None:
        return
    held, path = frame.eval(loop.replacing.value), dotted(loop.replacing.value)
    if loop.continues or loop.breaks:
        for each in alternatives(held) if path else ():
            if type(each) is Sequence:
                frame.write(each, each.adding(loop.replacement))
        return
    if type(held) is Sequence and path:
        frame.bind(path, Sequence(None, loop.replacement, held.kind))
    elif type(held) is Sequence:  # one list of a table
        frame.write(held, Sequence(None, loop.replacement, held.kind))
    put = loop.replacement
    is_array = type(put) is Host and put.array
    if type(held) is Mapping and is_array:
        frame.write(held, held.putting(dict.fromkeys(held.entries, put), put))
    for each in alternatives(held):
        if path and is_array and type(each) is Tensor and not each.is_sure:
            frame.bind(path, Mapping({}, put))
        if not path or type(put) is not Tensor:
            continue
        if type(each) is Tensor and not each.is_sure and put.place not in (None, each.place):
            frame.bind(path, Tensor(put.place, put.origin, put.traits, each.evidence))
        if type(each) is Instance and each.tensor is not None:
            frame.bind(path, objects.holding(each, put))


def _end(frame: Frame, loop: LoopState) -> Environment:
    """The environment where a turn ends: at the end of the body, or at a `continue`."""
    end = frame.state.env
    for env in loop.continues:
        end = join_environments(end, env, before=frame.state.before)
    return end


def _after(frame: Frame, loop: LoopState, before: Environment, end: Environment) -> Environment:
    """The environment after the turns so far, or one more: what names hold goes by their number.

    What a turn leaves holds where all turns before it were made; what it has left of a state in
    which they were not, a turn before it has left as well.
    """
    none, more = tests.one_of(frame, 2)
    for name, value in end.items() if loop.turns else ():
        if type(value) is Union:
            end[name] = possible(value, loop.turns)
    loop.turns = both(loop.turns, more)
    return join_environments(dict(before), end, (none, loop.turns), frame.state.before)


def _changed(before: Environment, after: Environment) -> bool:
    for name, value in after.items():
        old = before.get(name)
        if old is None or not same(old, value):
            return True
    return False


def _news(head: Environment, after: Environment) -> Iterator[object]:
    """The names that hold something which they held in no turn before: the next one may show more.

    A container or a module that is made anew in each turn has no name at the head.
    """
    for name, value in after.items():
        old = head.get(name)
        if old is None:
            if isinstance(name, str):
                yield name
        elif old is not value and not covers(old, value):
            yield name


def _widened(head: Environment, after: Environment) -> Environment:
    """The environment with no value deeper than the limit, where it differs from the head."""
    return {n: v if head.get(n) is v else cut(v) for n, v in after.items()}
