"""Attributes that the body of a class gives its objects, and those that its methods read.

    class Scale(nn.Module):
        size = 3                             # gives `size`

        def __init__(self, factor):
            super().__init__()
            self.factor = factor             # gives `factor`

        def forward(self, x):                # gives `forward`
            return self.factor * x           # reads `factor`

A name that stands in a string of its own (`setattr(self, "factor", 2)`, `hasattr(self, "factor")`)
is taken to be given. A class that writes attributes whose names it works out gives all there are.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.syntax.text import LEAVES, called_name, dotted, every, parts
from devlint.records import NamedTuple


class GivenAttributes(NamedTuple):
    """What a class gives its objects."""

    names: frozenset[str]
    is_open: bool  # and perhaps others, by names that its text does not have

    def gives(self, name: str) -> bool:
        """The class may give its objects such an attribute."""
        return self.is_open or name in self.names


# Methods by which a class says itself what its objects have.
_OWN_WAY = frozenset({"__getattr__", "__getattribute__", "__setstate__", "__new__"})


def given_attributes(node: cst.ClassDef) -> GivenAttributes:
    """What the body of a class gives, wherever in it that stands."""
    names: set[str] = set()
    is_open = False
    waiting: list[tuple[cst.CSTNode, bool]] = [(node.body, False)]
    while waiting:
        current, in_method = waiting.pop()
        if isinstance(current, cst.SimpleString):
            names.add(current.raw_value)
        elif isinstance(current, cst.Call):
            is_open = is_open or _writes_by_name(current) or _hands_on_writing(current)
        elif isinstance(current, cst.Attribute):
            is_open = is_open or current.attr.value == "__dict__"
        for target in _targets(current):
            names.update(_bound(target, of_class=not in_method))
        if isinstance(current, (cst.FunctionDef, cst.ClassDef)):
            if not in_method:
                names.add(current.name.value)
            in_method = in_method or isinstance(current, cst.FunctionDef)
        elif isinstance(current, (cst.Import, cst.ImportFrom)) and not in_method:
            names.update(_imported(current))
        waiting += [(part, in_method) for part in parts(current)]
    return GivenAttributes(frozenset(names), is_open or bool(names & _OWN_WAY))


def _writes_by_name(call: cst.Call) -> bool:
    """`setattr(self, name, value)`, `vars(self)`; a name that is written is a name like others."""
    called = called_name(call)
    if called not in ("setattr", "__setattr__", "vars"):
        return False
    return not any(isinstance(argument.value, cst.SimpleString) for argument in call.args)


_WRITERS = frozenset({"setattr", "register_buffer", "register_parameter", "add_module"})


def _hands_on_writing(call: cst.Call) -> bool:
    """`split(self.register_buffer, rows)`, `partial(setattr, self)`: whoever gets that may give the
    object any attribute."""
    return any(dotted(each.value).rpartition(".")[2] in _WRITERS for each in call.args)


def _targets(node: cst.CSTNode) -> list[cst.CSTNode]:
    """What a statement or an expression binds."""
    if isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.NamedExpr)):
        return [node.target]
    if isinstance(node, (cst.For, cst.CompFor)):
        return [node.target]
    return [node.name] if isinstance(node, cst.AsName) else []


def _bound(target: cst.CSTNode, of_class: bool) -> Iterator[str]:
    """`a` of `self.a, b`; of the class's own lines `b`, too."""
    if isinstance(target, cst.Attribute):
        yield target.attr.value
    elif isinstance(target, cst.Name) and of_class:
        yield target.value
    elif isinstance(target, cst.StarredElement):
        yield from _bound(target.value, of_class)
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _bound(element.value, of_class)


def _imported(node: cst.Import | cst.ImportFrom) -> Iterator[str]:
    for alias in every(node, cst.ImportAlias):
        yield dotted(alias.name).partition(".")[0]


class AttributeRead(NamedTuple):
    """`self.name`, read by a method."""

    node: cst.Attribute
    name: str
    as_device: bool  # `device=self.name`, `torch.device(self.name)`


def attribute_reads(method: cst.FunctionDef) -> Iterator[AttributeRead]:
    """What a method reads of its object, each where it stands, but for what it calls and what it
    tries: `self.close()`, `try: self.card`."""
    params = (*method.params.posonly_params, *method.params.params)
    if not params:
        return
    own = params[0].name.value
    devices: set[cst.CSTNode] = set()
    called: set[cst.CSTNode] = set()
    waiting: list[cst.CSTNode] = [method.body]
    while waiting:
        current = waiting.pop()
        if type(current) in LEAVES or isinstance(current, cst.ClassDef):
            continue
        if isinstance(current, cst.Try) and current.handlers:
            continue
        if isinstance(current, cst.Call):
            called.add(current.func)
            devices.update(_devices_of(current))
        elif isinstance(current, cst.Attribute) and dotted(current.value) == own:
            if current not in called:
                yield AttributeRead(current, current.attr.value, current in devices)
            continue
        below = parts(current)
        below.reverse()
        waiting += below


def _devices_of(call: cst.Call) -> Iterator[cst.CSTNode]:
    """What a call is given as a device."""
    for number, argument in enumerate(call.args):
        word = argument.keyword.value if argument.keyword is not None else ""
        if word == "device" or (
            number == 0 and not word and dotted(call.func) in ("torch.device", "th.device")
        ):
            yield argument.value
