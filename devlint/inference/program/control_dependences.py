"""Control dependences of a file's functions: the conditions and loops that each node depends on.

    if wanted:                    # the branches around `x.cuda()`: this one,
        for x in batches:         # and the loop's body
            x.cuda()

A function is walked once, when the first of its nodes is asked for.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.program.declarations import Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.syntax.control_dependence import Branches, walk


class ControlDependences:
    """Those of one file; for the function None, of what no function is around."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._by_function: dict[Function | None, dict[cst.CSTNode, Branches]] = {}

    def of(self, function: Function | None) -> dict[cst.CSTNode, Branches]:
        """All nodes of a function, or of the module, in the order of the text, with theirs."""
        known = self._by_function.get(function)
        if known is None:
            body = self._unit.tree if function is None else function.node.body
            known = self._by_function[function] = dict(walk(body))
        return known

    def around(self, function: Function | None, node: cst.CSTNode | None) -> Branches:
        """Those around a node of the function; none around what stands elsewhere."""
        return self.of(function).get(node, ()) if node is not None else ()


def branches_around(frame: Frame, node: cst.CSTNode) -> Branches:
    """Those around a node of the function that is being inferred."""
    return frame.unit.kept(ControlDependences).around(frame.function, node)
