"""Device names that a name or an attribute holds: `self.device = "cuda"`.

Where nothing but a literal is ever bound to it, `x.to(self.device)` demands as much as
`x.to("cuda")`, and it is the literal that has to go.
"""

from __future__ import annotations

import itertools
from typing import TypeAlias

import libcst as cst

from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.events import DeviceNameKept
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import dotted, every

Owner: TypeAlias = ClassInfo | Function | None  # of an attribute, of a local name, of a global one


class _KeptNames:
    """The literals of one file, by whose name it is that holds them; None: that holds others, too,
    or one that is chosen where an accelerator is."""

    def __init__(self, unit: Unit) -> None:
        self.literals: dict[tuple[Owner, str], cst.SimpleString | None] = {}


def of_assignment(frame: Frame, event: DeviceNameKept) -> None:
    """Keep where a name of CUDA's cards is written."""
    node, target = event
    path, literals = dotted(target), frame.unit.kept(_KeptNames).literals
    is_demanded = node.raw_value.startswith("cuda") and not frame.control.guarded
    owners: list[Owner] = [frame.function]
    if isinstance(target, cst.Attribute) and frame.info is not None:
        owners.append(frame.info)
    for owner in owners:
        is_kept = is_demanded and _is_sole(frame, owner, path)
        literals[owner, path] = node if is_kept else None


def _is_sole(frame: Frame, owner: Owner, path: str) -> bool:
    """A function, a class or a file assigns nothing else to a name or an attribute."""
    around = frame.unit.tree if owner is None else owner.node
    bound = (each for each in every(around, cst.AssignTarget) if dotted(each.target) == path)
    return len([*itertools.islice(bound, 2)]) == 1


def literal_of(frame: Frame, node: cst.CSTNode) -> cst.SimpleString | None:
    """The literal that the name or the attribute in `node` holds, if it holds one: by what this
    function assigns, else by what its class or its file does."""
    literals, path = frame.unit.kept(_KeptNames).literals, dotted(node)
    around = frame.info if isinstance(node, cst.Attribute) else None
    own = (frame.function, path)
    return literals[own] if own in literals else literals.get((around, path))
