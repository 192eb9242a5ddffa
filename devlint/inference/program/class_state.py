"""Attributes of a class that only its body or its constructor sets and fills."""

from __future__ import annotations

import libcst as cst

from devlint.inference.program.declarations import ClassInfo
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import dotted, every

# What changes a container of Python's in place.
_CHANGING = frozenset(
    {"append", "extend", "insert", "pop", "popleft", "appendleft", "remove", "clear", "sort"}
    | {"reverse", "update", "setdefault", "popitem", "add", "discard"}
)


def kept_attribute(frame: Frame, node: cst.CSTNode) -> str:
    """`window` of `self.window`, which nobody sets but the class's body or the constructor, on any
    of its paths, and which no other method fills."""
    owner, _, name = dotted(node).partition(".")
    if owner != "self" or frame.info is None or not name:
        return ""
    lineage = frame.info.lineage()
    suites = [suite for info in lineage for suite, _ in info.assigned.get(name, ())]
    makers = [info.methods.get("__init__") for info in lineage]
    made = {
        id(suite)
        for maker in makers
        if maker is not None and suites
        for suite in every(maker.node.body, cst.IndentedBlock)
    }
    declared = any(name in info.members and name not in info.methods for info in lineage)
    if not (suites or declared) or any(id(suite) not in made for suite in suites):
        return ""
    return "" if any(_is_filled_by_others(info, name) for info in lineage) else name


def _is_filled_by_others(info: ClassInfo, name: str) -> bool:
    """`self.seen.append(x)`, `self.seen[0] = x`, in another method than the constructor."""
    path = f"self.{name}"
    return any(
        _fills(method.node, path)
        for own, method in info.methods.items()
        if own != "__init__" and method.contains(path)
    )


def _fills(node: cst.CSTNode, path: str) -> bool:
    targets: list[cst.CSTNode] = [each.target for each in every(node, cst.AssignTarget)]
    targets += [each.target for each in every(node, cst.AugAssign)]
    calls = (call.func for call in every(node, cst.Call))
    return any(isinstance(t, cst.Subscript) and dotted(t.value) == path for t in targets) or any(
        isinstance(f, cst.Attribute) and f.attr.value in _CHANGING and dotted(f.value) == path
        for f in calls
    )
