"""The state at a place in the code: names, heap and path, and the clock that orders its tests."""

from __future__ import annotations

from typing import Any

from devlint.inference.domain.containers import Address
from devlint.inference.domain.path_conditions import ALWAYS, PathCondition, Predicate, Sides
from devlint.inference.domain.placement import Placement
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import UNTOLD, Value, alternatives, join_branches
from devlint.inference.program.loops import Environment

NOTHING_BEFORE: Environment = {}


def join_environments(
    a: Environment, b: Environment, sides: Sides = UNTOLD, before: Environment = NOTHING_BEFORE
) -> Environment:
    """The environment in which each name holds what either branch left in it.

    A name that only one branch bound keeps that value: reading it is legal only behind that
    branch. A container that only one branch wrote to holds in the other what it held before, and so
    does an attribute of the method's own object. `a` is reused for the result. `sides`: the facts
    under which each of the two is left. `before`: what those attributes held.
    """
    if a is b:
        return a
    for key in a.keys() - b.keys():
        if type(key) is Address and key.first is not None:
            a[key] = join_branches(a[key], key.first, sides)
        elif key in before:
            a[key] = join_branches(a[key], _as_it_was(before[key], a[key]), sides)
        elif type(key) is not str:
            a[key] = a[key].of_branch(sides[0])
    for key, value in b.items():
        mine = a.get(key)
        if mine is None and type(key) is Address:
            mine = key.first
        if mine is None and key in before:
            mine = _as_it_was(before[key], value)
        if mine is None:
            a[key] = value.of_branch(sides[1])
        elif mine is not value:
            a[key] = join_branches(mine, value, sides)
    return a


def _as_it_was(before: Value, beside: Value) -> Value:
    """An attribute where a branch does not assign it: in one of the states of its object, of which
    one that is elsewhere than what the other branch leaves is somewhere."""
    places, theirs = _places(before), _places(beside)
    return before if len(places) == 1 and places == theirs else Tensor(None)


def _places(value: Value) -> set[Placement]:
    """Where the alternatives of a value are: None is somewhere."""
    return {v.place if type(v) is Tensor else None for v in alternatives(value)}


class Clock:
    """Orders what is bound and asked in a function, over all of its branches."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0


class State:
    """What changes from statement to statement: branches fork it, and it is joined behind them.

        x = torch.zeros(3)
        if fast:
            x = x.cuda()
        x + y

    The branch has a fork; at the sum is the join, with `x` on the card where `fast` is true.
    """

    __slots__ = (
        "before",
        "bound",
        "choices",
        "clock",
        "derived",
        "env",
        "flags",
        "owners",
        "parts",
        "when",
    )

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.when: PathCondition = ALWAYS  # how the tests came out that lead here
        self.bound: dict[str, int] = {}  # when each name was bound last
        # What only ever grows is one for all branches.
        self.clock = Clock()  # it goes on where a name is bound
        self.choices: dict[Any, Predicate] = {}  # by what they are on and its age, see tests.py
        self.flags: dict[str, None] = {}  # names that are set to True or False, in order
        self.owners: set[str] = set()  # names of which `hold` keeps parts
        self.parts: dict[str, set[str]] = {}  # paths that were bound or held, by their owners
        self.derived: dict[Any, Value] = {}  # values by (evidence, attribute)
        self.before: Environment = {}  # what attributes held that a branch or a loop assigns

    def fork(self, env: Environment | None = None) -> State:
        """The state where a branch begins, or, with other names and another heap, a loop's turn."""
        branch = State.__new__(State)
        branch.env = dict(self.env if env is None else env)
        branch.when = self.when
        branch.bound = dict(self.bound)
        branch.clock = self.clock
        branch.choices = self.choices
        branch.flags = self.flags
        branch.owners = self.owners
        branch.parts = self.parts
        branch.derived = self.derived
        branch.before = self.before
        return branch

    def aside(self) -> State:
        """The state for a part of an expression, whose names are its own. Whatever it changes in
        place is another from here on."""
        part = self.fork()
        part.bound = self.bound
        return part

    def keep_effects(self, part: State, sides: Sides = UNTOLD) -> None:
        """What a part of an expression did to containers and modules stands, where the part was
        evaluated; its names were its own. `ready and rows.append(x)`"""
        theirs = {key: value for key, value in part.env.items() if type(key) is not str}
        if any(self.env.get(key) is not value for key, value in theirs.items()):
            mine = {key: value for key, value in self.env.items() if type(key) is not str}
            self.env.update(join_environments(mine, theirs, sides))

    def join(self, other: State, sides: Sides = UNTOLD) -> None:
        """Two branches meet here. `sides`: the facts under which each of them is left."""
        self.env = join_environments(self.env, other.env, sides, self.before)
        mine = self.bound
        self.bound = mine | {
            name: max(time, mine.get(name, 0)) for name, time in other.bound.items()
        }

    def bind(self, name: str, value: Value) -> None:
        """A name holds another value from here on: what is known of its parts is of the old one."""
        if name in self.owners or "." in name:
            for key in self.parts.get(name, ()):
                self.env.pop(key, None)
        self.env[name] = value
        if "." in name:
            self.note_part(name)

    def hold(self, path: str, value: Value) -> None:
        """Keep what `x`, `x.part` or `x["part"]` holds, a part until its owner is bound anew."""
        self.env[path] = value
        owner, dot, _ = path.replace("[", ".").partition(".")
        if owner and dot:
            self.owners.add(owner)
            self.note_part(path)

    def move(self, path: str, value: Value) -> None:
        """What `x` or `x.part` holds was moved in place, and its parts with it."""
        self.bind(path, value)
        self.hold(path, value)

    def note_part(self, path: str) -> None:
        """Remember of what a path is a part: `x.part` and `x` of `x.part["key"]`."""
        for end, letter in enumerate(path):
            if letter in ".[":
                self.parts.setdefault(path[:end], set()).add(path)
        index = path[path.rfind("[") + 1 : -1] if path.endswith("]") else ""
        if index.isidentifier():  # `x[key]` is another entry where `key` is bound anew
            self.parts.setdefault(index, set()).add(path)
            self.owners.add(index)

    def forget_tests(self, name: str) -> None:
        """A test on what a name holds may come out otherwise from here on."""
        self.clock.now += 1
        self.bound[name] = self.clock.now
