"""Joining environments where branches meet."""

from __future__ import annotations

from devlint.inference.domain.containers import Address
from devlint.inference.domain.path_conditions import Sides
from devlint.inference.domain.value import UNTOLD, join_branches
from devlint.inference.program.loops import Environment


def join_environments(a: Environment, b: Environment, sides: Sides = UNTOLD) -> Environment:
    """The environment in which each name holds what either branch left in it.

    A name that only one branch bound keeps that value: reading it is legal only behind that
    branch. A container that only one branch wrote to holds in the other what it held before. `a` is
    reused for the result. `sides`: the facts under which each of the two is left.
    """
    if a is b:
        return a
    for key in a.keys() - b.keys():
        if type(key) is Address and key.first is not None:
            a[key] = join_branches(a[key], key.first, sides)
    for key, value in b.items():
        mine = a.get(key)
        if mine is None and type(key) is Address:
            mine = key.first
        if mine is None:
            a[key] = value
        elif mine is not value:
            a[key] = join_branches(mine, value, sides)
    return a
