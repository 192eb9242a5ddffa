"""Collation: functions that make the batches of a loader, `collate_fn=stack`."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import found
from devlint.inference.program.declarations import Function, functions_of
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import dotted, every


def collates(function: Function) -> bool:
    """A function is some loader's `collate_fn`, or is called by such alone."""
    return function.name in function.unit.kept(_Collation).names


class _Collation:
    def __init__(self, unit: Unit) -> None:
        self.names = _collating(unit)


def _collating(unit: Unit) -> set[str]:
    if "collate_fn" not in unit.source.text:
        return set()
    given = {
        dotted(each.value.func if isinstance(each.value, cst.Call) else each.value)
        for each in every(unit.tree, cst.Arg)
        if each.keyword is not None and each.keyword.value == "collate_fn"
    }
    collating = {name.rpartition(".")[2] for name in given}
    known = {f.name: f for f in functions_of(unit)}
    waiting = [known[name] for name in collating if name in known]
    for function in waiting:  # grows by those that they call
        text = function.text
        for callee in set(found("any-call", text)) & known.keys() - collating:
            inside = len(found("call-of-any", text, callee))
            if inside == len(found("call-of-any", unit.source.text, callee)):
                collating.add(callee)
                waiting.append(known[callee])
    return collating
