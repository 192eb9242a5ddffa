"""What has to be assumed for a sync to cost something, and to be avoidable."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.domain.placement import Variable, VariableKind
from devlint.inference.facts import Facts, Hotness, Loop, Site, Sync
from devlint.inference.syntax.loops import targets_of
from devlint.inference.syntax.text import dotted, every, shorten
from devlint_rules.helpers.assumptions import assume, assume_if, time_matters
from devlint_rules.helpers.blocks import path_to, statements_before
from devlint_rules.helpers.needs import MASKED, is_needed
from devlint_rules.helpers.queues import Counted, ends_turn, waits_anyway
from devlint_rules.helpers.standing_waits import is_sized
from devlint_rules.helpers.turns import (
    handed_back,
    heads_stack,
    loop_beside,
    shown_each_turn,
)
from devlint_rules.helpers.uses import is_reduced

K = AssumptionKind


def has_waited(facts: Facts, node: cst.CSTNode) -> bool:
    """`torch.cuda.synchronize()` stands right above: there is nothing left to wait for."""
    for before in statements_before(facts, node):
        calls = [dotted(call.func) for call in every(before, cst.Call)]
        if any(name.endswith(".synchronize") for name in calls):
            return isinstance(before, cst.SimpleStatementLine)
        if any(not name.startswith("time.") for name in calls):
            return False
    return False


def is_only_asked_for(facts: Facts, sync: Sync) -> bool:
    """`if isinstance(v, torch.Tensor): v = v.item()`: callers may not hand one in."""
    name = sync.operand.name
    if sync.operand.steps:
        return False
    return any(
        isinstance(step, (cst.If, cst.IfExp))
        and any(
            dotted(call.func) == "isinstance" and call.args and dotted(call.args[0].value) == name
            for call in every(step.test, cst.Call)
        )
        for step in path_to(facts.source.tree, sync.site.node)
    )


_WHOLE = frozenset({".tolist()", ".cpu()", ".numpy()"})


def wait_in_any_case(facts: Facts, loop: Loop) -> Sync | None:
    """What makes the host wait in every turn of a loop, whatever becomes of its reads of elements:
    rows that a mask picks, a whole tensor that the host works on with, or a callee that waits."""
    for sync in facts.syncs:
        is_there = sync.loop is not None and sync.loop.site.node is loop.site.node
        is_other = sync.inside is not None or (
            sync.call == MASKED and not is_reduced(facts, sync.site.node)
        )
        is_whole = sync.call in _WHOLE and sync.needed and not sync.elementwise
        is_other = is_other or (is_whole and not _is_row(loop, sync.operand.site.node))
        if is_there and is_other and not (sync.cold or sync.invariant):
            return sync
    return None


def _is_row(loop: Loop, node: cst.CSTNode) -> bool:
    """`scores[i]`, `scores[i, :]` of the loop's counter: all rows can be read at once, as well."""
    while isinstance(node, cst.Attribute):  # `scores[i].data`
        node = node.value
    if not isinstance(node, cst.Subscript):
        return False
    parts = [element.slice for element in node.slice]
    indices = [part.value for part in parts if isinstance(part, cst.Index)]
    slices = [part for part in parts if isinstance(part, cst.Slice)]
    counted = targets_of(loop.site.node)
    return all(isinstance(index, cst.Name) and index.value in counted for index in indices) and all(
        part.lower is None and part.upper is None for part in slices
    )


def still_busy(facts: Facts, loop: Loop) -> Assumptions:
    """The assumption that elements are worth reading at once in a loop that waits anyway."""
    wait = wait_in_any_case(facts, loop)
    if wait is None:
        return ()
    message = f"the device still works, though `{wait.call}` waits in every turn anyway"
    return assume(K.DEVICE_IS_STILL_BUSY, wait.site, message)


def busy_at(
    facts: Facts,
    site: Site,
    around: cst.CSTNode | None,
    counted: Counted = Counted.NEEDED,
    sized: bool = False,
) -> Assumptions:
    """The assumption that the device has something to do where the host waits for it, though next
    to nothing is queued between that and a wait that stays. `around`: what repeats; `sized`: rows
    that a mask picks count as well."""
    if around is None:
        return ()
    wait = waits_anyway(facts, site.node, around, counted, sized)
    if wait is not None:
        message = f"the device still works, though the host waits at `{shorten(wait.node)}` anyway"
        return assume(K.DEVICE_IS_STILL_BUSY, wait, message)
    if counted is not Counted.BATCHES:  # a copy that can be done without costs by itself
        return ()
    loop = loop_beside(facts, site.node, around)
    if loop is not None:
        message = "one wait more counts beside those in each turn of this loop"
        return assume(K.DEVICE_IS_STILL_BUSY, loop, message)
    stack = heads_stack(facts, site.node, around)
    if stack is not None:
        message = "one wait counts ahead of all layers of this loop"
        return assume(K.DEVICE_IS_STILL_BUSY, stack, message)
    return ()


def counts_alone(facts: Facts, sync: Sync) -> Assumptions:
    """The assumption that one wait in each call of a part of a step slows it down: nothing shows
    that a step waits there many times, a loop around it or around what calls it, or that it is in
    the midst of a step: a loss is, between the pass forward and that back."""
    if sync.trains or (sync.loop is not None and _repeats(sync.loop, bool(sync.in_step))):
        return ()
    around = path_to(facts.source.tree, sync.site.node)
    functions = [step for step in around if isinstance(step, cst.FunctionDef)]
    if any(function in facts.repeated for function in functions) or _is_of_loss(facts, around):
        return ()
    called = f"call of `{functions[0].name.value}`" if functions else "step"
    message = f"one wait in each {called} counts, where nothing shows many of them"
    return assume(K.ONE_WAIT_COUNTS, sync.site, message)


def _repeats(loop: Loop, in_step: bool) -> bool:
    """The loop is hot; or each turn is a part of a step: it queues something, in what runs once per
    step or inside of another loop."""
    if loop.hotness is Hotness.HOT:
        return True
    is_part = loop.feeds_device and (in_step or loop.nested)
    return is_part and not loop.trains and loop.hotness is not Hotness.EPOCHS


def _is_of_loss(facts: Facts, around: Sequence[cst.CSTNode]) -> bool:
    """By the names of the functions, the class and the file around it."""
    functions = [step.name.value for step in around if isinstance(step, cst.FunctionDef)]
    classes = [step.name.value for step in around if isinstance(step, cst.ClassDef)]
    return any(holds("loss-place", name) for name in (*functions, facts.source.path)) or any(
        holds("loss-class", name) for name in classes
    )


def repeated(loop: Loop | None, function: Site | None) -> cst.CSTNode | None:
    """What runs once per step: a hot loop, else the function."""
    if loop is not None and loop.hotness is Hotness.HOT:
        return loop.site.node
    return function.node if function is not None else None


def assumptions(facts: Facts, sync: Sync) -> Assumptions:
    """What a sync rests on: it costs time where the tensor is on an accelerator for the ordinary
    caller, and nothing but the value makes the host wait there."""
    site = sync.site
    found = time_matters(facts, site)
    around = repeated(sync.loop, sync.function)
    if sync.perhaps or is_only_asked_for(facts, sync):
        found += assume(K.VALUE_IS_TENSOR, site, f"`{sync.operand.name}` is a tensor here")
    if has_waited(facts, site.node):
        message = "the device still works, though `synchronize` was called just before"
        found += assume(K.DEVICE_IS_STILL_BUSY, site, message)
    if not sync.elementwise:
        found += busy_at(facts, site, around, Counted.BATCHES, not is_sized(sync))
        found += counts_alone(facts, sync)
    if not _on_accelerator(facts, sync):
        message = f"callers hand in `{sync.operand.name}` on an accelerator"
        found += assume(K.INPUT_MAY_BE_ACCELERATED, site, message)
    if around is not None and ends_turn(facts, site.node, around):
        found += _wanted_at_once(facts, sync, around)
    seldom = _runs_seldom(sync)
    return (
        found
        + assume_if(bool(seldom), K.COLD_CODE_COUNTS, site, f"{seldom} has to be quick, too")
        + assume_if(
            is_needed(facts, sync),
            K.HOST_CAN_DO_WITHOUT,
            site,
            f"the host can do without `{sync.operand.name}` here",
        )
    )


def _wanted_at_once(facts: Facts, sync: Sync, around: cst.CSTNode) -> Assumptions:
    """The assumption that a number is not wanted where a step ends: there each turn may show it, or
    whoever is handed it back."""
    name = sync.operand.name
    shown = shown_each_turn(facts, sync, around)
    if shown is not None:
        message = f"the host can do without `{name}`, which each turn shows"
        return assume(K.HOST_CAN_DO_WITHOUT, shown, message)
    returned = handed_back(facts, sync, around)
    if returned is not None:
        message = f"no caller reads `{name}` at once, where the step ends"
        return assume(K.HOST_CAN_DO_WITHOUT, returned, message)
    return ()


def _runs_seldom(sync: Sync) -> str:
    """The code around a sync that need not be quick; nothing if there is none."""
    if sync.guards_error:
        return "the check for an error"
    loop = sync.loop
    trains = loop is not None and loop.trains
    logged = sync.for_logging and not sync.invariant
    once = (loop is None or not loop.nested) and not (sync.elementwise or sync.invariant)
    return "the evaluation" if sync.evaluates and not trains and (logged or once) else ""


def _on_accelerator(facts: Facts, sync: Sync) -> bool:
    """For the ordinary caller: what a function is given may be a host tensor."""
    placement = sync.operand.placement
    if not isinstance(placement, Variable) or placement.kind is not VariableKind.INPUT:
        return True
    if sync.in_module or sync.in_step or (sync.loop is not None and sync.loop.trains):
        return True
    loop = sync.loop  # two of them around what the method of an object is given
    many = sync.given is None and loop is not None and loop.nested and loop.feeds_device
    return (sync.elementwise or sync.invariant or many) and facts.accelerated
