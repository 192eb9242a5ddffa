"""Parts that constructors are handed: of which class they are, as all constructions in sight say.

class Classifier(nn.Module):
    def __init__(self, encoder):
        self.encoder = encoder      # an `Encoder`, of which every call here makes one

Classifier(Encoder())
"""

from __future__ import annotations

from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.frames import lookup
from devlint.inference.program.units import Unit
from devlint.inference.program.values import ClassValue
from devlint.inference.syntax.constructions import Constructions, made_by


class _Constructed:
    """The constructions of one file."""

    def __init__(self, unit: Unit) -> None:
        self.calls = Constructions(unit.tree)


def handed_class(function: Function, name: str) -> ClassInfo | None:
    """The class of all that the file's constructions hand in for a parameter of a constructor, of a
    class that no other of the file inherits from."""
    info, unit = function.info, function.unit
    if info is None or function.name != "__init__" or name not in function.positional:
        return None
    calls = unit.kept(_Constructed).calls
    if info.name in calls.bases:
        return None
    handed = calls.handed(info.name, function.positional.index(name), name)
    makers = {made_by(node) for node in handed or ()}
    if len(makers) != 1:
        return None
    made, own = lookup(unit, makers.pop()), lookup(unit, info.name)
    is_own = type(own) is ClassValue and own.info is info
    return made.info if is_own and type(made) is ClassValue else None
