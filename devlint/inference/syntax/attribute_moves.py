"""Attributes that a method puts elsewhere: `self.x = self.x.to(device)`.

What a constructor leaves in such an attribute is there until the user, a framework or a base class
calls the method: whoever reads the attribute elsewhere is not meant to find it before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.syntax.text import called_name, code, dotted, every, owner_of

_METHODS = frozenset({"to", "cuda", "xpu", "npu"})


_COMPREHENSIONS = (cst.DictComp, cst.ListComp, cst.GeneratorExp, cst.Dict, cst.List, cst.Tuple)


def moved_attribute(target: cst.CSTNode, value: cst.BaseExpression) -> str:
    """The attribute of `self` that an assignment moves, or an element of which, else ""."""
    path = dotted(owner_of(target))
    if not path.startswith("self.") or path.count(".") > 1:
        return ""
    return path.removeprefix("self.") if _moves(path, value) else ""


def _moves(path: str, value: cst.CSTNode) -> bool:
    """An expression is what a name holds, moved; or a container of that."""
    if isinstance(value, cst.IfExp):
        return _moves(path, value.body) or _moves(path, value.orelse)
    if isinstance(value, _COMPREHENSIONS):
        text = code(value)
        return holds("any-move-in-text", text) and holds("mention", text, path)
    if not isinstance(value, cst.Call):
        return False
    func, name = value.func, called_name(value)
    if isinstance(func, cst.Attribute):
        if name in _METHODS and _is_of(path, func.value):
            return name != "to" or holds("to-device-text", code(value))
        if _moves(path, func.value):  # `self.x.to(device).float()`
            return True
    arguments = [argument.value for argument in value.args]
    if holds("moving-helper", name):
        return any(dotted(argument) == path for argument in arguments)
    return any(_moves(path, argument) for argument in arguments[:1])  # `dict(…)`, `Parameter(…)`


def _is_of(path: str, receiver: cst.CSTNode) -> bool:
    """`self.x`, `self.x[:n]`, `self.x.detach()`."""
    while isinstance(receiver, (cst.Attribute, cst.Call, cst.Subscript)):
        if dotted(receiver) == path:
            return True
        receiver = receiver.func if isinstance(receiver, cst.Call) else receiver.value
    return False


def is_mover(method: str) -> bool:
    """By its name, a method that puts its object elsewhere: `to_cuda`, `set_device`."""
    return holds("moving-method", method)


def attributes_set_after(body: Sequence[cst.CSTNode], node: cst.CSTNode) -> Iterator[str]:
    """The attributes of `self` that statements after the one of a node assign."""
    at = next(
        (i for i, part in enumerate(body) if any(node is call for call in every(part, cst.Call))),
        len(body),
    )
    for part in body[at + 1 :]:
        for target in every(part, cst.AssignTarget):
            holder, _, name = dotted(target.target).rpartition(".")
            if holder == "self":
                yield name
