"""The device of the other operand, in words that hold at the place of a fix."""

from __future__ import annotations

import re

import libcst as cst

from devlint.inference.domain.placement import Variable, VariableKind
from devlint.inference.facts import Facts, Operand, Step, StepKind
from devlint.inference.syntax.text import every, owner_of
from devlint.rule import Replacement
from devlint_rules.helpers.blocks import assignment_of, is_written
from devlint_rules.helpers.parameters import is_tensor
from devlint_rules.helpers.rewrites import (
    add_argument,
    argument,
    atom,
    factory_of,
    in_file,
    is_path,
    move_target,
    moved_to,
    receiver,
    sole_factory,
    takes_device,
    text_of,
)
from devlint_rules.helpers.scopes import function_around, means_the_same, method_around
from devlint_rules.helpers.wording import registered_path

_CLASS = re.compile(r"[A-Z](?!\w*(Tensor|Parameter|Buffer)$)\w*")


def device_for(facts: Facts, operand: Operand, place: cst.CSTNode) -> str | None:
    """An expression for an operand's device at another place: what it was moved to, or made with,
    or the parameter or buffer that it was computed from."""
    for step in reversed(operand.steps):
        if step.kind is StepKind.COMPUTED:
            continue
        if not in_file(facts, step.site):
            return None
        text = _told(operand, step)
        if step.kind is StepKind.REGISTERED:
            return _of_registered(facts, step, place)
        if text is None:
            return None
        if step.kind is StepKind.PARAMETER and not _is_one_tensor(facts, step, place):
            return None
        return text if means_the_same(facts, text, step.site.node, place) else None
    return None


def _told(operand: Operand, step: Step) -> str | None:
    node, place = step.site.node, operand.placement
    if step.kind is StepKind.MOVED:
        return move_target(node)
    if step.kind is StepKind.CREATED and isinstance(node, cst.Call):
        given = argument(node, "device")
        return None if given is None else text_of(given.value)
    if step.kind is StepKind.PARAMETER and isinstance(node, cst.Param):
        is_its_own = isinstance(place, Variable) and place.kind is VariableKind.INPUT
        return f"{node.name.value}.device" if is_its_own else None
    return None


def _is_one_tensor(facts: Facts, step: Step, place: cst.CSTNode) -> bool:
    """The parameter is annotated as a tensor, or asked for what only a tensor has."""
    param, function = step.site.node, function_around(facts, place)
    if not isinstance(param, cst.Param) or function is None:
        return False
    return is_tensor(param, function)


def handed_along(facts: Facts, made: cst.CSTNode) -> str:
    """The tensor that a function was given and hands to a callee together with what it makes there:
    `out = …; kernel(features, out)`. "" without one."""
    bound, function = assignment_of(facts, made), function_around(facts, made)
    if bound is None or function is None or len(bound.targets) != 1:
        return ""
    own = text_of(bound.targets[0].target)
    given = {param.name.value: param for param in every(function.params, cst.Param)}
    for call in every(function.body, cst.Call):
        handed = [arg.value.value for arg in call.args if isinstance(arg.value, cst.Name)]
        if own in handed:
            along = (name for name in handed if name in given and is_tensor(given[name], function))
            return next(along, "")
    return ""


def _of_registered(facts: Facts, step: Step, place: cst.CSTNode) -> str | None:
    """`self.weight.device`, in a method of the class that registers it."""
    node, here = step.site.node, method_around(facts, place)
    there = method_around(facts, node)
    if here is None or there is None or here[0] is not there[0] or here[1].name.value == "__init__":
        return None
    if text_of(here[1]).partition("(")[2][:4] != "self":
        return None
    own = registered_path(node)
    return f"{own}.device" if own else None


def made_there(facts: Facts, operand: Operand, device: str | None) -> tuple[Replacement, ...]:
    """`device=` at the factory that made an operand on the default device."""
    made = sole_factory(operand)
    if made is None or device is None or not operand.by_default or not takes_device(operand, made):
        return ()
    return add_argument(made, f"device={device}") if in_file(facts, made) else ()


def made_for(facts: Facts, operand: Operand, other: Operand) -> tuple[Replacement, ...]:
    """Make an operand where the other one lives, if the factory is in sight."""
    made = factory_of(operand)
    return () if made is None else made_there(facts, operand, device_for(facts, other, made.node))


def made_by_name(facts: Facts, operand: Operand, tensor: Operand) -> tuple[Replacement, ...]:
    """Make an operand on the device of a tensor whose name is bound at the factory."""
    made = factory_of(operand)
    if made is None or tensor.element or not is_path(tensor.name):
        return ()
    if not means_the_same(facts, tensor.name, tensor.site.node, made.node):
        return ()
    return made_there(facts, operand, f"{tensor.name}.device")


def is_made_for(facts: Facts, operand: Operand) -> bool:
    """The operand reads a name that a factory's result is bound to in the same function, and that
    nothing else there mentions: `noise = torch.randn(3)`, then `x + 0.1 * noise`."""
    made, place = factory_of(operand), operand.site.node
    function = function_around(facts, place)
    if made is None or function is None or function is not function_around(facts, made.node):
        return False
    bound = assignment_of(facts, made.node)
    if (
        bound is None
        or len(bound.targets) != 1
        or not isinstance(bound.targets[0].target, cst.Name)
    ):
        return False
    mention = re.compile(rf"(?<![\w.]){bound.targets[0].target.value}\b")
    return [len(mention.findall(text_of(node))) for node in (place, function)] == [1, 2]


def brought_there(facts: Facts, operand: Operand, other: Operand) -> tuple[Replacement, ...]:
    """Make an operand where the other one lives, or move it where the two meet."""
    return made_for(facts, operand, other) or moved_where_it_meets(facts, operand, other)


def moved_where_it_meets(facts: Facts, operand: Operand, other: Operand) -> tuple[Replacement, ...]:
    """Move an operand to the other one's device right where they meet, by what is known of it."""
    device = device_for(facts, other, operand.site.node)
    if device is None or operand.site.node is other.site.node:
        return ()
    return moved_to(facts, operand, device)


def bound_anew(facts: Facts, operand: Operand, other: Operand, device: str | None) -> str:
    """The advice for an operand that the operation changes in place, `x[:, 2:] *= scale`: a copy of
    it would be changed in its stead, so that what it is a part of moves. "" for all others."""
    node = operand.site.node
    whole = text_of(owner_of(node))
    if not is_written(facts, node) or not in_file(facts, operand.site) or not is_path(whole):
        return ""
    told = device or device_for(facts, other, node)
    if told is None:
        return f"move `{whole}` itself to the device of the other operand, and bind it anew"
    return f"move what is changed in place before they meet: `{whole} = {whole}.to({told})`"


def moved_there_instead(facts: Facts, operand: Operand, other: Operand) -> tuple[Replacement, ...]:
    """The move that took an operand to the wrong place, to the other one's device instead."""
    moves = [step.site for step in operand.steps if step.kind is StepKind.MOVED]
    before = receiver(moves[-1].node) if moves else None
    if before is None or move_target(moves[-1].node) is None or not in_file(facts, moves[-1]):
        return ()
    device = device_for(facts, other, moves[-1].node)
    return () if device is None else (Replacement(moves[-1], f"{atom(before)}.to({device})"),)


def module_moved(facts: Facts, module: Operand, other: Operand) -> tuple[Replacement, ...]:
    """A module that was left where it was made is moved right there."""
    for step in reversed(module.steps):
        made = step.site
        if not isinstance(made.node, cst.Call) or not in_file(facts, made):
            return ()
        if _CLASS.fullmatch(text_of(made.node.func).rpartition(".")[2]):
            device = device_for(facts, other, made.node)
            text = f"{text_of(made.node)}.to({device})"
            return () if device is None else (Replacement(made, text),)
    return ()
