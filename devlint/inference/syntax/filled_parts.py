"""What a function fills: parts of a value, `graph.ndata["h"] = feat`, and lists."""

from __future__ import annotations

from functools import lru_cache

import libcst as cst

from devlint.inference.syntax.text import code, dotted, every


@lru_cache(maxsize=64)
def fills(function: cst.CSTNode, name: str) -> bool:
    """Some part of what has this name is assigned, and not only brought somewhere as it is, as by
    `batch["image"] = batch["image"].to(device)`."""
    for assign in every(function, cst.Assign):
        for target in assign.targets:
            part = target.target
            if not isinstance(part, (cst.Subscript, cst.Attribute)) or _owner(part) != name:
                continue
            if code(part) not in code(assign.value):
                return True
    return False


def fills_list_with(function: cst.CSTNode, joined: cst.BaseExpression) -> bool:
    """What is made of an expression is appended to a list: `rows.append(torch.cat([row, rest]))`,
    or by a name that it gets first."""
    appended = [
        argument.value
        for call in every(function, cst.Call)
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "append"
        for argument in call.args
    ]
    if any(_contains(each, joined) for each in appended):
        return True
    names = {name.value for each in appended for name in every(each, cst.Name)}
    return any(
        dotted(target.target) in names
        for assign in every(function, cst.Assign)
        if _contains(assign.value, joined)
        for target in assign.targets
    )


def _contains(whole: cst.CSTNode, part: cst.CSTNode) -> bool:
    return any(node is part for node in every(whole, type(part)))


def _owner(part: cst.BaseExpression) -> str:
    while isinstance(part, (cst.Subscript, cst.Attribute)):
        part = part.value
    return part.value if isinstance(part, cst.Name) else ""
