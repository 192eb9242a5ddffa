"""Parts that constructors are handed: of which class they are, as all constructions in sight say.

class Classifier(nn.Module):
    def __init__(self, encoder):
        self.encoder = encoder      # an `Encoder`, of which every call here makes one

Classifier(Encoder())
"""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.frames import lookup
from devlint.inference.program.units import Unit
from devlint.inference.program.values import ClassValue
from devlint.inference.syntax.constructions import Constructions, made_by


class _Constructed:
    """The constructions of one file; its tree is walked where the text shows that there are some:
    a call, beside `class Model(nn.Module)`."""

    def __init__(self, unit: Unit) -> None:
        self.tree = unit.tree
        self.text = unit.source.text

    @cached_property
    def calls(self) -> Constructions:
        return Constructions(self.tree)

    def may_have(self, info: ClassInfo) -> bool:
        return self.text.count(f"{info.name}(") > isinstance(info.node.lpar, cst.LeftParen)


def handed_class(function: Function, name: str) -> ClassInfo | None:
    """The class of all that the file's constructions hand in for a parameter of a constructor, of a
    class that no other of the file inherits from."""
    info, unit = function.info, function.unit
    if info is None or function.name != "__init__" or name not in function.positional:
        return None
    known = unit.kept(_Constructed)
    if not known.may_have(info) or info.name in known.calls.bases:
        return None
    handed = known.calls.handed(info.name, function.positional.index(name), name)
    makers = {made_by(node) for node in handed or ()}
    if len(makers) != 1:
        return None
    made, own = lookup(unit, makers.pop()), lookup(unit, info.name)
    is_own = type(own) is ClassValue and own.info is info
    return made.info if is_own and type(made) is ClassValue else None
