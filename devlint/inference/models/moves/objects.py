"""Moves of modules, and of objects that hold tensors."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.path_conditions import both
from devlint.inference.domain.placement import Placement
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import DEFAULT, INDIRECT, KEPT, LOADED, PARAMETER, Tensor
from devlint.inference.domain.value import Value
from devlint.inference.models.module_places import move_module, move_what_was_handed_in, placed
from devlint.inference.models.moves.copies import is_non_blocking, wait_for_copies
from devlint.inference.models.moves.notes import note_move
from devlint.inference.models.moves.targets import Stay, condition_of_target, target_of
from devlint.inference.models.places import on_accelerator
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Instance
from devlint.inference.syntax.attribute_moves import attributes_set_after
from devlint.inference.syntax.text import dotted, receiver_of


def move_of_object(
    frame: Frame,
    node: cst.Call,
    held: Tensor,
    name: str,
    arguments: Arguments,
    in_place: bool,
) -> Tensor:
    """A move of an object that holds tensors (`held` stands for them)."""
    target, target_node = target_of(frame, name, arguments)
    if isinstance(target, Stay):
        return held
    wait_for_copies(frame, name, target, arguments)
    non_blocking = is_non_blocking(name, arguments)
    note_move(frame, node, name, held, target, target_node, in_place, non_blocking)
    if frame.control.loop is not None and on_accelerator(Tensor(target)) >= 1:
        frame.control.loop.feeds_device = True
    step = Provenance(StepKind.MOVED, node, frame.unit.source, held.origin, before=held.place)
    return held.with_place(target, step, drop=DEFAULT | LOADED | INDIRECT | KEPT)


# Methods of which the caller says that they move: where the parts are, it says as well.
MOVERS = ("to", "cuda", "cpu", "__init__")


def note_moved_part(frame: Frame) -> None:
    """A method moves a part of its module: from then on that is in two places.

    def set_up(self): self.net.cuda()
    """
    info, function = frame.info, frame.function
    if info is not None and info.is_module and function is not None:
        function.moves_object |= function.name not in MOVERS


def move_of_module(
    frame: Frame, node: cst.Call, module: Instance, name: str, arguments: Arguments
) -> Value:
    """`Module.to`: in place, and returns the module."""
    target, target_node = target_of(frame, name, arguments)
    if isinstance(target, Stay):
        return module
    before, origin = placed(frame, module)
    subject = Tensor(before, origin)
    note_move(frame, node, name, subject, target, target_node, of_module=True)
    if frame.instance is module and frame.info is not None:
        frame.info.places_itself = True
        frame.info.stands_on = target
        function = frame.function
        if function is not None:
            function.moves_object = True
        body = function.node.body if function is not None and function.name == "__init__" else None
        if isinstance(body, cst.BaseSuite) and not frame.control.conditional:
            later = attributes_set_after(body.body, node)
            frame.info.moved_whole = target, frozenset(later)
    elif dotted(receiver_of(node)).startswith("self."):
        note_moved_part(frame)
    wrapped = module.parent if module.library == "Parallel" else None
    when = condition_of_target(frame, arguments, target)
    if wrapped is not None:
        move_module(frame, wrapped, target, node, when)  # a wrapper has no parameters of its own
    elif isinstance(receiver_of(node), cst.Call):
        # A fresh module that no name holds yet.
        module.place = target
        module.origin = frame.origin(StepKind.MOVED, node, origin, "moved here")
        module.origin.when = both(module.origin.when, when)
        move_what_was_handed_in(module)
    else:
        move_module(frame, module, target, node, when)
        if origin is not None:
            _move_held_parameters(frame, node, origin, target)
    return module


def _move_held_parameters(
    frame: Frame, node: cst.Call, module: Provenance, target: Placement
) -> None:
    """`weight = fc.weight`, then `fc.cuda()`: a parameter is moved in place, under each name
    that holds it.
    https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to
    """
    for path, held in [*frame.state.env.items()]:
        if type(path) is not str or type(held) is not Tensor or held.origin is None:
            continue
        is_own = held.origin.kind is StepKind.REGISTERED and held.origin.parent is module
        if held.traits & PARAMETER and is_own:
            step = Provenance(
                StepKind.MOVED, node, frame.unit.source, held.origin, before=held.place
            )
            frame.state.move(path, held.with_place(target, step, drop=DEFAULT | LOADED))
