"""Attribute tests: whether an object has what `hasattr(self, "embedder")` asks for."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import found
from devlint.inference.domain.host import FALSE, HOST, Const, External
from devlint.inference.domain.value import Value
from devlint.inference.program.declarations import ClassInfo
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Instance

_PLAIN_BASES = frozenset({"torch.nn.Module", "builtins.object"})
_OF_MODULES = frozenset({"training", "forward", "parameters", "to", "state_dict", "named_modules"})


def has_attribute(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`hasattr(self, "x")`: never, where all of the class is in sight and nothing sets it."""
    owner, name = arguments.get(0, "obj"), arguments.get(1, "name")
    if type(owner) is not Instance or owner.info is None or type(name) is not Const:
        return HOST
    lineage = owner.info.lineage()
    bases = [base for each in lineage for base in each.bases if type(base) is not ClassInfo]
    if any(type(b) is not External or b.name not in _PLAIN_BASES for b in bases):
        return HOST
    return HOST if any(_may_set(each, str(name.value)) for each in lineage) else FALSE


def _may_set(info: ClassInfo, name: str) -> bool:
    """The class or its file gives an object such an attribute, or one under a name made up."""
    text = info.unit.source.text
    asked = text.count(f'hasattr(self, "{name}"') + text.count(f"hasattr(self, '{name}'")
    named = text.count(f'"{name}"') + text.count(f"'{name}'")
    return (
        name in info.writers
        or name in info.members
        or name in info.methods
        or name.startswith("_")
        or name in _OF_MODULES
        or named > asked
        or "setattr(" in text
        or bool(found("attribute-assigned", text, name))
    )
