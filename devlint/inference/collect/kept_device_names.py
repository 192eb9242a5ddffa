"""Device names that a name or an attribute holds: `self.device = "cuda"`.

Where nothing but a literal is ever bound to it, `x.to(self.device)` demands as much as
`x.to("cuda")`, and it is the literal that has to go.
"""

from __future__ import annotations

from typing import TypeAlias

import libcst as cst

from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.events import DeviceNameKept
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import dotted

Owner: TypeAlias = ClassInfo | Function | None  # of an attribute, of a local name, of a global one


class _KeptNames:
    """The literals of one file, by whose name it is that holds them."""

    def __init__(self, unit: Unit) -> None:
        self.literals: dict[tuple[Owner, str], cst.SimpleString] = {}


def of_assignment(frame: Frame, event: DeviceNameKept) -> None:
    """Keep where a name of CUDA's cards is written."""
    node, target = event
    if node.raw_value.startswith("cuda"):
        owner = frame.info if isinstance(target, cst.Attribute) else frame.function
        frame.unit.kept(_KeptNames).literals[owner, dotted(target)] = node


def literal_of(frame: Frame, node: cst.CSTNode) -> cst.SimpleString | None:
    """The literal that the name or the attribute in `node` holds, if it holds one."""
    literals = frame.unit.kept(_KeptNames).literals
    if isinstance(node, cst.Attribute):
        return literals.get((frame.info, dotted(node)))
    if not isinstance(node, cst.Name):
        return None
    return literals.get((frame.function, node.value)) or literals.get((None, node.value))
