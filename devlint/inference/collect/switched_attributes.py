"""Attributes that exist behind a switch of their object: a method that makes them is called only
where it is on, and they are used only there.

    if self.caches:
        self.make_cache()
    …
    if self.caches:
        x = x + self.cache

Whether they are there at all goes by what the object was made with.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.program.control_dependences import ControlDependences
from devlint.inference.program.declarations import ClassInfo
from devlint.inference.syntax.control_dependence import Branches
from devlint.inference.syntax.text import dotted


def switch_of(info: ClassInfo, method: str, name: str) -> str:
    """`self.caches`, around all calls of the method that makes an attribute, and around all that
    other methods do with it; "" without one."""
    if method.startswith("__") or method == "forward":
        return ""
    if not any(each.contains(f"self.{method}(") for each in info.lineage()):
        return ""
    calls, uses = list(_around(info, method, "")), list(_around(info, name, method))
    if not calls or not uses:
        return ""
    common = set.intersection(*(_switches(branches) for branches in (*calls, *uses)))
    return min(common, default="")


def _around(info: ClassInfo, name: str, but: str) -> Iterator[Branches]:
    """The conditions around each `self.name` of the class and its bases, but in one method."""
    for each in info.lineage():
        for called, method in each.methods.items():
            if called == but or f"self.{name}" not in method.text:
                continue
            for node, around in method.unit.kept(ControlDependences).of(method).items():
                if isinstance(node, cst.Attribute) and dotted(node) == f"self.{name}":
                    yield around


def _switches(around: Branches) -> set[str]:
    """The attributes of the object that have to be true there."""
    return {
        dotted(test.test)
        for test, branch in around
        if isinstance(test, cst.If)
        and branch is test.body
        and dotted(test.test).startswith("self.")
    }
