"""What the host reads in a loop: elements and pieces of one tensor, and what never changes."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.domain.host import External
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import LOADED, Tensor
from devlint.inference.program.events import SyncNote
from devlint.inference.program.frames import Frame
from devlint.inference.program.loops import LoopState
from devlint.inference.summaries.waits import hot_one, is_property, prefixes
from devlint.inference.syntax.loops import targets_of
from devlint.inference.syntax.text import (
    called_name,
    dotted,
    has_key,
    names_in,
    owner_of,
    passed_through,
)
from devlint.records import NamedTuple

_NUMBERS = frozenset({".item()", "float()", "int()", "bool()", "if", "while", "assert"})
_TRUTHS = frozenset({"if", "while", "assert", "bool()"})

# These cut a tensor into pieces, all of them views of it.
_CUTTING = frozenset({"split", "split_with_sizes", "chunk", "tensor_split", "unbind"})


class Part(NamedTuple):
    """What a turn of a loop reads of a tensor: an element, or a number made of one piece of it."""

    whole: cst.CSTNode
    is_piece: bool


def part_read(frame: Frame, note: SyncNote) -> Part | None:
    """The part that a wait reads, of a tensor that the loop goes through and does not change."""
    loop, origin = note.loop, note.tensor.origin
    if loop is None or origin is None or isinstance(loop.node, cst.While):
        return None
    if hot_one(loop) is not loop:
        return None  # a loop over a few: of which the one around it asks again and again
    if note.call not in _NUMBERS and not _takes_number(note.call):
        return None
    newest = origin.node if origin.kind is StepKind.COMPUTED else None
    for top in (note.tensor_node, newest):
        sides = _sides(top)
        for side in sides:
            if any(other is not side and _is_remade(loop, other) for other in sides):
                continue
            made_of = _reduced(frame, side)
            whole = _whole(frame, note, loop, made_of)
            if whole is not None:
                is_cut = isinstance(whole, cst.Call) and called_name(whole) in _CUTTING
                return Part(whole, is_cut or made_of is not side)
            if _whole(frame, note, loop, side) is not None:
                return Part(side, False)
    return None


def _whole(frame: Frame, note: SyncNote, loop: LoopState, node: cst.CSTNode) -> cst.CSTNode | None:
    """The tensor of which the loop takes this element or piece."""
    if node is loop.over or node in passed_through(loop.over):
        return node
    if isinstance(node, cst.Name):
        return _gone_through(frame, note, loop, node.value)
    return _picked_from(node, targets_of(loop.node), loop.assigned)


def _takes_number(call: str) -> bool:
    """`torch.zeros()`, `range()`: a tensor stands there for a number."""
    return call.endswith("()") and not call.startswith(".") and call not in ("print()", "str()")


def _sides(node: cst.CSTNode | None) -> list[cst.CSTNode]:
    """`a[i]` of `a[i] * 2` and of `a[i] > b`."""
    if isinstance(node, cst.BinaryOperation):
        return [node.left, node.right]
    if isinstance(node, cst.Comparison):
        return [node.left, *(target.comparator for target in node.comparisons)]
    return [] if node is None else [node]


def _is_remade(loop: LoopState, node: cst.CSTNode) -> bool:
    """`gain * total` of `a[i] + gain * total`, where the loop makes the total: what it meets is
    read in its turn, and not before the loop."""
    made = loop.assigned - targets_of(loop.node)
    return not made.isdisjoint(names_in(node))


def _reduced(frame: Frame, node: cst.CSTNode) -> cst.CSTNode:
    """`row` of `row.max()` and of `torch.sum(row, dim=0)`: what a number is made of, alone."""
    methods = frame.unit.context.knowledge.methods
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        if node.func.attr.value not in methods:
            break
        in_torch = _is_torch(frame, node.func.value)
        given = node.args[1:] if in_torch else node.args
        if (in_torch and not node.args) or not all(map(_is_plain, given)):
            break
        node = node.args[0].value if in_torch else node.func.value
    return node


def _is_torch(frame: Frame, node: cst.BaseExpression) -> bool:
    """`torch`, or `th` after `import torch as th`."""
    module = frame.lookup(dotted(node)) if isinstance(node, cst.Name) else None
    return type(module) is External and module.name == "torch"


def _picked_from(node: cst.CSTNode, counters: set[str], assigned: set[str]) -> cst.CSTNode | None:
    """`a` of `a[i]` and `a[i][-1]` by the loop's counter, which the loop does not replace; and
    `a["key"]` of `a["key"][i]`: what has keys is no tensor."""
    indices: list[cst.BaseSlice] = []
    while isinstance(node, cst.Subscript) and not has_key(node):
        indices += [element.slice for element in node.slice]
        node = node.value
    base = dotted(owner_of(node))
    if not indices or not base or not prefixes(base).isdisjoint(assigned):
        return None
    picks = all(isinstance(part, cst.Index) for part in indices) and any(
        _depends(part.value, counters) for part in indices if isinstance(part, cst.Index)
    )
    return node if picks else None


def _depends(node: cst.CSTNode, names: set[str]) -> bool:
    """`i`, `i + 1`: a counter of the loop."""
    if isinstance(node, cst.BinaryOperation):
        return _depends(node.left, names) or _depends(node.right, names)
    return isinstance(node, cst.Name) and node.value in names


def _gone_through(frame: Frame, note: SyncNote, loop: LoopState, name: str) -> cst.CSTNode | None:
    """What a loop goes through under a name: the tensor that is read, or the cutting of it."""
    over = next((over for bound, over in _bound(loop) if bound == name), None)
    if over is None:
        return None
    path = dotted(over)
    if isinstance(over, cst.Call) and isinstance(over.func, cst.Attribute):
        in_torch = _is_torch(frame, over.func.value) and bool(over.args)
        if called_name(over) in _CUTTING:
            path = dotted(over.args[0].value if in_torch else over.func.value)
    held, origin = frame.lookup(path) if path else None, note.tensor.origin
    if type(held) is not Tensor or not held.is_sure or held.origin is None or origin is None:
        return None
    if held.traits & LOADED and held.evidence is not None:
        return None  # a batch: of several tensors, maybe
    same = held.place == note.tensor.place and held.origin.root is origin.root
    return over if same else None


def _bound(loop: LoopState) -> Iterator[tuple[str, cst.BaseExpression]]:
    """The names that a loop binds, each with what it goes through under that name."""
    clause = loop.node if isinstance(loop.node, cst.For) else getattr(loop.node, "for_in", None)
    while isinstance(clause, (cst.For, cst.CompFor)):
        yield from _paired(clause.target, clause.iter)
        clause = clause.inner_for_in if isinstance(clause, cst.CompFor) else None


def _paired(
    target: cst.BaseExpression, over: cst.BaseExpression
) -> Iterator[tuple[str, cst.BaseExpression]]:
    """`i, (a, b)` and `enumerate(zip(x, y))`: `a` goes through `x`, `b` through `y`."""
    passed = passed_through(over)
    if isinstance(target, cst.Name):
        yield target.value, passed[0] if len(passed) == 1 else over
    elif isinstance(target, cst.Tuple) and isinstance(over, cst.Call):
        parts = [element.value for element in target.elements]
        if dotted(over.func) == "enumerate":
            parts = parts[1:]
        for part, there in zip(parts, passed, strict=False):
            yield from _paired(part, there)


_SELECTING = ("masked_select", "mask indexing", "torch.masked_select")


def reads_the_same(frame: Frame, note: SyncNote) -> bool:
    """`mask.sum().item()`, of a mask that the loop neither binds nor writes: names, and methods of
    tensors that change nothing. `if k != best` asks for the same `best` in each turn, too."""
    loop = hot_one(note.loop)
    if loop is None or isinstance(loop.node, cst.While):
        return False
    node: cst.CSTNode = note.tensor_node
    if note.call in _SELECTING:
        return False  # what is selected goes by a mask, too
    if isinstance(node, cst.Comparison) and note.call in _TRUTHS:
        sides = [side for side in _sides(node) if _holds_tensor(frame, side)]
        return bool(sides) and all(_is_the_same(frame, side, loop) for side in sides)
    return _is_the_same(frame, node, loop)


def _holds_tensor(frame: Frame, node: cst.CSTNode) -> bool:
    """All but numbers, and names of which none is a tensor."""
    held = frame.lookup(dotted(node)) if dotted(node) else None
    return not isinstance(node, cst.BaseNumber) and (not dotted(node) or type(held) is Tensor)


def _is_the_same(frame: Frame, node: cst.CSTNode, loop: LoopState) -> bool:
    methods = frame.unit.context.knowledge.methods
    while isinstance(node, (cst.Call, cst.Attribute)) and not dotted(node):
        if isinstance(node, cst.Call):
            name = node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
            if name not in methods or name.endswith("_") or not all(map(_is_plain, node.args)):
                return False
            node = node.func
        assert isinstance(node, cst.Attribute)
        node = node.value
    path = dotted(node)
    if not path or is_property(frame, path):
        return False
    return prefixes(path).isdisjoint(loop.assigned | loop.rebound)


def _is_plain(argument: cst.Arg) -> bool:
    """A number or the like: the same in every turn."""
    value = argument.value
    if isinstance(value, cst.UnaryOperation):
        value = value.expression
    return isinstance(value, (cst.Integer, cst.Float, cst.SimpleString)) or (
        isinstance(value, cst.Name) and value.value in ("True", "False", "None")
    )
