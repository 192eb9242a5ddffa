"""Optimizers that an object keeps: their state was loaded by the constructor, and so lies where the
module was then.

    class Trainer:
        def __init__(self):
            self.net = Net()
            self.opt = torch.optim.Adam(self.net.parameters())
            self.opt.load_state_dict(torch.load("state.pt"))    # to where the parameters are

        def to_card(self):
            self.net.cuda()    # the same parameters, elsewhere: the state stays, and `step` raises

The constructor runs before all other methods, and before whoever has the object can reach for it.
Who keeps the optimizer in another attribute as well, hands it to what moves it, or loads its state
anew beside the move, may bring the state along.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.placement import CPU
from devlint.inference.domain.value import alternatives
from devlint.inference.facts import LateMove
from devlint.inference.models.optimizers import Built, BuiltOptimizers, target_of_move
from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Instance
from devlint.inference.syntax.text import called_name, dotted, every, parents_below

# What is asked of an optimizer that leaves its state where it is.
_HARMLESS = frozenset({"step", "zero_grad", "state_dict", "load_state_dict", "param_groups"})


def moved_later(frame: Frame, node: cst.Call, arguments: Arguments) -> None:
    """Note a move of what an object holds, `self.net.cuda()` or `trainer.net.cuda()`, that comes
    after its constructor has loaded the state of an optimizer."""
    moved = node.func.value if isinstance(node.func, cst.Attribute) else None
    owner = moved.value if isinstance(moved, cst.Attribute) else None
    if not isinstance(moved, cst.Attribute) or owner is None or not dotted(owner):
        return
    info = _class_of(frame, owner)
    maker = info.method("__init__") if info is not None else None
    if info is None or maker is None or maker.running or maker is frame.function:
        return
    name = moved.attr.value
    waiting = info.unit.kept(BuiltOptimizers).by_function.get(maker, ())
    late = [each for each in waiting if each.loaded and each.path == f"self.{name}"]
    if not late or info.unit is not frame.unit or not _was_left_on_host(info, name):
        return
    target = target_of_move(frame, node, arguments)
    if target is None or target == CPU:
        return
    for held in late:
        if not (_is_prepared(held, maker, frame.function) or _may_be_brought_along(info, held)):
            found = LateMove(frame.site(held.node), frame.site(node), dotted(moved), True)
            frame.unit.facts.late_moves.append(found)
            return


def _class_of(frame: Frame, owner: cst.BaseExpression) -> ClassInfo | None:
    """The class of the plain object that has the module."""
    found = frame.info if dotted(owner) == "self" else None
    if found is None:
        held = frame.eval(owner)
        found = held.info if type(held) is Instance else None
    return None if found is None or found.is_module else found


def _was_left_on_host(info: ClassInfo, name: str) -> bool:
    held = info.attributes.get(name)
    return held is not None and any(
        type(v) is Instance and v.left is not None for v in alternatives(held)
    )


def _is_prepared(held: Built, maker: Function, mover: Function | None) -> bool:
    """The constructor calls what moves the module, before it loads perhaps; or that loads anew."""
    if mover is None:
        return False
    return maker.contains(f"self.{mover.name}(") or mover.contains(f"{held.name}.load_state_dict(")


def _may_be_brought_along(info: ClassInfo, held: Built) -> bool:
    """Another method assigns the optimizer, reaches for its state or hands it to what may."""
    own = held.name.removeprefix("self.")
    if own == held.name or any(
        writer != "__init__" for each in info.lineage() for writer in each.writers.get(own, ())
    ):
        return True
    around = parents_below(info.node)
    uses = [each for each in every(info.node, cst.Attribute) if dotted(each) == held.name]
    return not all(_is_harmless(each, around) for each in uses)


def _is_harmless(use: cst.CSTNode, around: dict[cst.CSTNode, cst.CSTNode]) -> bool:
    above = around.get(use)
    if isinstance(above, cst.Attribute):
        return above.attr.value in _HARMLESS
    if isinstance(above, cst.Arg):
        call = around.get(above)
        return isinstance(call, cst.Call) and not holds("moving-helper", called_name(call))
    return isinstance(above, cst.AssignTarget)
