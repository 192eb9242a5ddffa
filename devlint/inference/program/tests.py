"""How the tests around a place in the code came out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

import libcst as cst

from devlint.inference.domain.path_conditions import (
    MAX_AROUND,
    TRUE,
    Literal,
    PathCondition,
    Predicate,
    Sides,
    both,
)
from devlint.inference.program.frames import Frame
from devlint.inference.program.predicates import Written, normalized, written_choice
from devlint.inference.syntax.text import answer_of, dotted


def one_of(frame: Frame, count: int) -> list[PathCondition]:
    """What holds on each of several ways of which one is taken here."""
    choice = once(frame)
    return [((choice, True, index),) for index in range(count)]


def enter(frame: Frame, when: PathCondition) -> None:
    """Go on where these facts hold as well."""
    frame.state.when = both(frame.state.when, when, MAX_AROUND)


def once(frame: Frame, inner: bool = False) -> Predicate:
    """What may come out otherwise the next time."""
    frame.state.clock.now += 1
    return Predicate(frame.state.clock.now, inner)


def of_test(frame: Frame, node: cst.BaseExpression) -> Sides:
    """What holds where a condition is true, and where it is false."""
    tests = frame.unit.tests
    written = tests.get(node)
    if written is None:
        written = tests[node] = written_choice(in_full(frame, node))
    seen: dict[Hashable, Predicate] = {}
    if_true, if_false = ([_fact(frame, each, seen) for each in side] for side in written)
    return tuple(if_true), tuple(if_false)


def in_full(frame: Frame, node: cst.BaseExpression) -> cst.BaseExpression:
    """What a test asks by a method of its own object that does no more than answer:
    `len(self.gpus) > 0` of `self.uses_gpu()`."""
    if not (isinstance(node, cst.Call) and not node.args and frame.info is not None):
        return node
    owner, _, name = dotted(node.func).rpartition(".")
    method = frame.info.method(name) if owner == "self" else None
    answer = None if method is None else answer_of(method.node)
    return node if answer is None else answer


def of_name(frame: Frame, name: str, outcome: bool) -> PathCondition:
    """The test that a name holds something true, or something false."""
    return (_fact(frame, (("bool", name), outcome, TRUE, (name,)), {}),)


def _fact(frame: Frame, written: Written, seen: dict[Hashable, Predicate]) -> Literal:
    subject, is_so, value, paths = written
    choice = seen.get(subject)
    if choice is None:
        is_new = isinstance(subject, cst.CSTNode)
        choice = seen[subject] = once(frame) if is_new else _predicate(frame, subject, paths)
    return choice, is_so, value


def _predicate(
    frame: Frame, subject: Hashable, paths: tuple[str, ...], inner: bool = False
) -> Predicate:
    """The one on this subject, as it is now."""
    born = _born(frame, paths)
    choice = frame.state.choices.get((subject, born))
    if choice is None:
        choice = frame.state.choices[subject, born] = Predicate(born, inner, subject, paths)
    return choice


def is_on_own_object(choice: Predicate) -> bool:
    """A method asks its own object alone, before it changes that: `if self.keeps_host:`. Another
    method of the same object that asks the same, before or after the call, gets the same answer."""
    names = choice.names
    return not choice.born and bool(names) and all(f"{n}.".startswith("self.") for n in names)


def is_current(frame: Frame, choice: Predicate) -> bool:
    """None of its names has been bound since the test was made."""
    return _born(frame, choice.names) == choice.born


_NOTHING = cst.Name("None")


def _born(frame: Frame, paths: Iterable[str]) -> int:
    bound = frame.state.bound
    return max((bound.get(path, 0) for path in paths), default=0)


def seen_from(
    frame: Frame, choice: Predicate, function: Hashable, given: Mapping[str, cst.BaseExpression]
) -> Predicate:
    """A callee's choice as its caller sees it. A test on nothing but what the callee was given
    comes out the same in another call that is given the same. `given`: expressions by parameter."""
    if is_on_own_object(choice) and normalized(given.get("self", _NOTHING), []) == "self":
        return _predicate(frame, choice.subject, choice.names, inner=True)
    paths: list[str] = []
    texts: list[Hashable] = []
    for name in choice.names if not choice.born else ():
        if "." not in name:
            text = normalized(given[name], paths) if name in given else None
            if text is None:
                return once(frame, inner=True)
            texts.append(text)
    if not texts:
        return once(frame, inner=True)
    if choice.subject == ("filled", choice.names[0]):
        return _predicate(frame, ("filled", texts[0]), tuple(paths), inner=True)
    born = _born(frame, paths)
    key = (function, choice.subject, *texts), born
    if key not in frame.state.choices:
        frame.state.choices[key] = Predicate(born, inner=True)
    return frame.state.choices[key]
