"""Joining environments where branches meet."""

from __future__ import annotations

from devlint.inference.domain.path_conditions import Sides
from devlint.inference.domain.value import UNTOLD, join_branches
from devlint.inference.program.loops import Environment


def join_environments(a: Environment, b: Environment, sides: Sides = UNTOLD) -> Environment:
    """The environment in which each name holds what either branch left in it.

    A name that only one branch bound keeps that value: reading it is legal only behind that
    branch. `a` is reused for the result. `sides`: the facts under which each of the two is left.
    """
    if a is b:
        return a
    for name, value in b.items():
        mine = a.get(name)
        if mine is None:
            a[name] = value
        elif mine is not value:
            a[name] = join_branches(mine, value, sides)
    return a
