"""Movers: methods of a class that move what it keeps, and when that has happened.

    def cuda(self):
        self.mask = self.mask.cuda()

The mask is where the constructor left it, until somebody calls `cuda`.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import found, holds, is_rebound, without
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.placement import CPU
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import GRAD, SCALAR, Tensor
from devlint.inference.domain.value import UNKNOWN, Value, alternatives, union
from devlint.inference.models.module_places import others_move, replaced
from devlint.inference.program.declarations import ClassInfo
from devlint.inference.program.frames import Frame, running_methods
from devlint.inference.program.values import Instance
from devlint.inference.syntax.attribute_moves import is_mover
from devlint.inference.syntax.text import code

_OF_MODULES = frozenset({"to", "cuda", "xpu", "npu"})  # the moves of a module as a whole


_SAYS_HOW = ("_apply", "to", "cuda")  # by one of these a class says how it is moved


def moves_plain_attribute(info: ClassInfo, name: str) -> bool:
    """The class says itself how it is moved, and may move a plain attribute by that: the
    method names it, calls another that does, or hands its object on."""
    methods = [m for m in map(info.method, _SAYS_HOW) if m is not None]
    for method in methods:  # grows on the way
        text = without("aside", code(method.node.body))
        if holds("mention", text, name) or holds("object-handed-on", text):
            return True
        called = [info.method(each) for each in found("own-call", text)]
        if None in called:
            return True  # a method out of sight
        methods += [m for m in called if m is not None and m not in methods]
    return False


def where_read(info: ClassInfo, name: str, found: Value) -> Value:
    """What an attribute holds by the time that others read what the constructor left."""
    values = alternatives(found)
    moved = [_once_moved(info, v) for v in values]
    changed = [value for value, after in zip(values, moved, strict=True) if value is not after]
    if not changed:
        return found
    is_one = any(isinstance(value, (Tensor, Instance)) for value in changed)
    if not (_is_moved_later(info, name) or (is_one and _is_rebound_outside(info, name))):
        return found
    return union(moved)


def _is_rebound_outside(info: ClassInfo, name: str) -> bool:
    """Code that has such an object gives it another value under this name, and does so before
    others read it, as far as they are meant to: `rows.table = rows.table.cuda()`."""
    known = info.rebound.get(name)
    if known is None:
        known = info.rebound[name] = any(_rebinds(each, name) for each in info.lineage())
    return known


def _rebinds(info: ClassInfo, name: str) -> bool:
    unit, importer = info.unit, info.unit.context.importer
    if is_rebound(unit.source.text, name):
        return True
    if importer is None:
        return False
    return importer.rebinds_elsewhere(f"{info.name}.{name}", unit.source.path)


def _is_moved_later(info: ClassInfo, name: str) -> bool:
    """Some other method than the one that reads the attribute moves it: not the constructor, which
    has left it where it is."""
    if any(name in ancestor.remade for ancestor in info.lineage()):
        return False
    if _is_moved_by_base(info, name):
        return True
    movers = {method for ancestor in info.lineage() for method in ancestor.moved.get(name, ())}
    movers.discard("__init__")
    running = running_methods(info)
    reader = running[-1].function if running else None
    return bool(movers) and (reader is None or reader.name not in movers)


def _is_moved_by_base(info: ClassInfo, name: str) -> bool:
    """A base class of the project moves what its subclasses keep under this name, as by
    `self.model.to(self.device)` in a constructor that they call last."""
    bases = (ancestor for ancestor in info.lineage() if ancestor is not info)
    return any(base.contains(f"self.{name}.{m}(") for base in bases for m in ("to", "cuda"))


def moved_on_demand(
    info: ClassInfo, frame: Frame, name: str, found: Value, node: cst.Attribute
) -> Value:
    """What an attribute holds that a method of the object moves, if somebody calls it: it may
    be in either place, where the code around `node` does not call that method. Of a module
    these are the parts that do not follow it then."""
    movers = _movers_of(info, name)
    function = frame.function
    if not movers or (function is not None and function.name in movers):
        return found
    contains = frame.unit.contains if function is None else function.contains
    calls = [f"{owner}.{mover}(" for owner in (code(node.value), ")") for mover in movers]
    if any(map(contains, calls)):
        return found
    return union(
        _somewhere(v) if not info.is_module or _follows_module(info, v) else v
        for v in alternatives(found)
    )


def _follows_module(info: ClassInfo, value: Value) -> bool:
    """A parameter, buffer or submodule."""
    return isinstance(value, (Tensor, Instance)) and value.place is info.variable


def _movers_of(info: ClassInfo, name: str) -> frozenset[str]:
    """The methods that move an attribute by itself, and that no other method calls."""
    found = info.movers.get(name)
    if found is None:
        movers = {m for ancestor in info.lineage() for m in ancestor.moved.get(name, ())}
        if info.is_module:
            movers -= _OF_MODULES
        else:
            movers |= _movers_of_all(info)
        found = frozenset(m for m in movers if is_mover(m) and not _is_called_inside(info, m))
        info.movers[name] = found
    return found


def _movers_of_all(info: ClassInfo) -> set[str]:
    """The methods that hand the object on, and may move whatever it holds by that:
    `for name, value in vars(self).items(): setattr(self, name, value.to(device))`."""
    return {
        name
        for ancestor in info.lineage()
        for name, method in ancestor.methods.items()
        if is_mover(name) and holds("object-handed-on", without("aside", code(method.node.body)))
    }


def _is_called_inside(info: ClassInfo, method: str) -> bool:
    return any(f"self.{method}(" in ancestor.text for ancestor in info.lineage())


def _once_moved(info: ClassInfo, value: Value) -> Value:
    """What the constructor left on the host, when it has been moved: somewhere."""
    if type(value) is Mapping or type(value) is Sequence:
        return UNKNOWN
    if not isinstance(value, (Tensor, Instance)):
        return value
    step = value.origin
    if value.place != CPU or step is None or not _is_of_constructor(info, step):
        return value
    if isinstance(value, Tensor):
        traits = value.traits & (SCALAR | GRAD)
        return Tensor(None, step, traits, value.evidence)

    return others_move(value, step, step)


def _is_of_constructor(info: ClassInfo, step: Provenance) -> bool:
    return step.kind is StepKind.ATTRIBUTE and any(
        step.node in ancestor.constructed for ancestor in info.lineage()
    )


def _somewhere(value: Value) -> Value:
    """A value that is moved or not, as others chose."""
    if type(value) is Tensor:
        return Tensor(None, value.origin, value.traits & (SCALAR | GRAD), value.evidence)
    if type(value) is Mapping or type(value) is Sequence:
        return UNKNOWN
    if type(value) is Instance and value.module:
        return replaced(value, None, value.origin, value.parent)
    return value
