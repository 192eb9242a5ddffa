"""Sources of moves: a move says where its source is not.

    for batch in rows:
        out = net(batch["x"].to(device))
        draw(batch["x"])

What is drawn is on the host: why else would it be moved?
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.syntax.object_lives import leaves_host
from devlint.inference.syntax.text import code, dotted, every
from devlint.inference.syntax.words import names_module


def moved_sources(function: cst.CSTNode) -> frozenset[str]:
    """The values, as they are written, that a function brings from the host to another device:
    none that it puts in their own place, `x = x.to(device)`, and no module, which moves in place.
    """
    moves = [call for call in every(function, cst.Call) if leaves_host(call)]
    if not moves:
        return frozenset()
    in_place = {each.value for each in every(function, cst.Expr)}
    moved = (call.func for call in moves if call not in in_place)
    sources = (func.value for func in moved if isinstance(func, cst.Attribute))
    found = {code(source) for source in sources if _is_named_value(source)}
    if found:
        found -= {code(each.target) for each in every(function, cst.AssignTarget)}
    return frozenset(found)


def _is_named_value(node: cst.CSTNode) -> bool:
    if isinstance(node, (cst.Name, cst.Attribute)):
        return not names_module(dotted(node).rpartition(".")[2])
    return isinstance(node, cst.Subscript)
