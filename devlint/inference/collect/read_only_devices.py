"""Devices that nothing can set: `self.device = d`, where that is a property without a setter.

    class Detector(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.device = "cuda"    # AttributeError: the module tells where it was moved

Such properties are those of the classes in sight, and those of libraries that the tables name. What
a class says itself counts before what it inherits; and a base of which nothing is known may say
anything.
"""

from __future__ import annotations

from devlint.inference.conventions import holds
from devlint.inference.domain.host import External
from devlint.inference.facts import Mistake, MistakenDevice
from devlint.inference.program.declarations import ClassInfo
from devlint.inference.program.events import AttributeSet
from devlint.inference.program.frames import Frame
from devlint.inference.program.values import Instance
from devlint.inference.syntax.text import dotted, shorten

_SETTING = ("__setattr__", "__slots__")  # by which a class decides on its own


def of_assignment(frame: Frame, event: AttributeSet) -> None:
    """An attribute of an object gets a value."""
    target, holder, value = event
    name = target.attr.value
    if not holds("device-name", name) or _is_expected(frame):
        return
    if type(value) is Instance and value.module:
        return  # a module registers another one, whatever stands there
    owner = _owner(frame, holder, name)
    if owner:
        node = frame.current if dotted(target) else target
        fact = MistakenDevice(frame.site(node or target), Mistake.READ_ONLY, shorten(target), owner)
        frame.unit.mistaken[target] = fact


def _is_expected(frame: Frame) -> bool:
    """The function catches what is raised here."""
    function = frame.function
    names_error = function is not None and function.contains("AttributeError")
    return frame.control.caught or names_error


def _owner(frame: Frame, holder: Instance, name: str) -> str:
    """The class whose property without a setter the attribute is; "" if it is none."""
    info = holder.info
    if info is None:
        return _library_owner(frame, holder.library, name) if holder.library else ""
    for each in info.lineage():
        if any(own in each.methods or own in each.members for own in _SETTING):
            return ""
        function = each.methods.get(name)
        if function is not None:
            if f"{name}.setter" in each.methods:
                return ""
            return each.name if function.decorators == ("property",) else ""
        if name in each.members:
            return ""
        if each.bases and not all(_is_told(frame, each, base) for base in each.bases):
            return ""
    owners = (_library_owner(frame, base, name) for base in info.library_bases)
    return next((owner for owner in owners if owner), "")


def _is_told(frame: Frame, info: ClassInfo, base: object) -> bool:
    """A base in sight, or one of which the tables or the language say what it has."""
    if type(base) is ClassInfo:
        return True
    if type(base) is not External:
        return False
    knowledge = frame.unit.context.knowledge
    known = knowledge.module(base.name) or knowledge.class_(base.name)
    is_plain = base.name == "torch.nn.Module" or holds("deviceless-base", base.name)
    return known is not None or is_plain


def _library_owner(frame: Frame, library: str, name: str) -> str:
    """The last name of the class of a library that has such a property."""
    knowledge = frame.unit.context.knowledge
    for each in knowledge.lineage(library):
        known = knowledge.module(each) or knowledge.class_(each)
        if known is not None and known.device_is_read_only and known.device_attribute == name:
            return each.rpartition(".")[2]
    return ""
