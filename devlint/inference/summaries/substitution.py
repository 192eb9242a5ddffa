"""A function of the project is called: its result there, and what of its body shows only there."""

from __future__ import annotations

from functools import partial

import libcst as cst

from devlint.inference.domain.assumptions import Assumption, AssumptionKind, Assumptions
from devlint.inference.domain.containers import Loader, Mapping, Sequence
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import exclude, is_of_state
from devlint.inference.domain.placement import CPU, Variable, VariableKind
from devlint.inference.domain.provenance import Site, Source, StepKind
from devlint.inference.domain.tensors import DEFAULT, INDIRECT, LOADED, Tensor
from devlint.inference.domain.value import (
    UNKNOWN,
    Union,
    Unknown,
    Value,
    alternatives,
    possible,
    union,
)
from devlint.inference.facts import MeetingKind
from devlint.inference.interpreter import contract_checks, contract_places, contracts
from devlint.inference.interpreter.conditions import asks_for_host
from devlint.inference.models import gradients
from devlint.inference.models.module_inputs import fed_from_elsewhere
from devlint.inference.models.module_places import placed, scatters, stateful
from devlint.inference.models.places import on_accelerator, was_moved
from devlint.inference.models.unification.authority import authority
from devlint.inference.models.unification.batches import is_left_behind, left_behind
from devlint.inference.models.unification.branches import stands_in
from devlint.inference.models.unification.contradictions import contradiction, never_meet
from devlint.inference.models.unification.drafts import note
from devlint.inference.models.unification.exemptions import is_placeholder
from devlint.inference.models.unification.indices import index_contradiction
from devlint.inference.models.unification.observations import show_companions
from devlint.inference.models.unification.pending_meetings import add_pending, leave_to_callers
from devlint.inference.program.assumption_sites import at, branch_taken
from devlint.inference.program.declarations import Function
from devlint.inference.program.events import ArgumentGiven, DefaultTaken, FunctionCalled, HostWaits
from devlint.inference.program.frames import Frame, closure_of
from devlint.inference.program.functions import Arguments, Summary
from devlint.inference.program.meetings import Pending
from devlint.inference.program.roles import note_call
from devlint.inference.program.values import FunctionValue, Instance, self_of
from devlint.inference.summaries import declared_arguments, object_state
from devlint.inference.summaries.arguments import ArgumentsBound, Binding, CallBound
from devlint.inference.summaries.call_conditions import chosen, facts_of, own_facts
from devlint.inference.summaries.callee_values import odd_branches, substitute
from devlint.inference.summaries.moved_parameters import moves
from devlint.inference.syntax.text import every, shorten


def call_function(
    frame: Frame,
    node: cst.CSTNode,
    callee: FunctionValue,
    arguments: Arguments,
    as_module: bool = False,
) -> Value | None:
    """Instantiate a function's summary; None when it has none yet (recursion).

    as_module: the call is `module(…)`, and the function its `forward`.
    """
    function = callee.function
    note_call(frame, function, node)
    summary = frame.interpreter.summarize(function)
    signature = contracts.signature_of(function)
    if summary is None:
        return contract_places.promised(signature)
    if summary.left_default is not None:
        frame.unit.default_device = frame.outcome.left_default = summary.left_default
    binding = _bind(frame, node, callee, summary, arguments)
    frame.emit(CallBound(function, binding))
    frame.emit(ArgumentsBound(node, function, binding))
    frame.emit(FunctionCalled(node, function))
    if signature:
        declared_arguments.check_call(frame, node, function, signature, binding)
    if function.name == "__init__" and type(callee.bound) is Instance:
        callee.bound.given = {v: t for v, t in binding.places.items() if v.parameter}
    if summary.syncs and function.unit is not frame.unit:
        _sync_in_callee(frame, node, summary.syncs[0], binding)
    is_off = any(asks_for_host(name, value) for name, (value, _) in binding.given.items())
    for pending in () if _builds_module(function) or is_off else summary.pendings:
        _check_pending(frame, node, pending, binding, as_module)
    binding.fresh = summary.fresh
    object_state.leave(frame, function, summary, binding)
    object_state.leave_entries(frame, summary, binding)
    if is_off:
        return UNKNOWN  # `cuda=False`: what the function was taken to do is not done here
    result = _taken(summary.result, binding)
    result = substitute(binding, result.with_facts(partial(chosen, binding)))
    return gradients.marked(result, 0) if gradients.are_off(frame) else result


def _builds_module(function: Function) -> bool:
    """The constructor of a module: nothing has been moved yet. Of any other object it computes with
    what it is given, where that is: `Found(model(x))`."""
    return function.name == "__init__" and function.info is not None and function.info.is_module


def _taken(result: Value, binding: Binding) -> Value:
    """What a call returns, without what it does not come to with what it is given."""
    if type(result) is Union:
        whens = [*result.whens, *(v.when for v in result.alternatives if type(v) is Tensor)]
        facts = facts_of(binding, tuple(fact for when in whens for fact in when))
        here = possible(result, facts)
        if any(type(v) is Unknown for v in alternatives(here)):  # as of a recursion
            own = tuple(fact for fact in facts if "." in fact[0].names[-1])
            return possible(result, own)  # its object's flags hold all the same
        return here
    if type(result) is Sequence and result.items is not None and result.kind == "tuple":
        items = [_taken(item, binding) for item in result.items]
        return Sequence(items, None, "tuple", result.node, result.names)
    return result


def _bind(
    frame: Frame,
    node: cst.CSTNode,
    callee: FunctionValue,
    summary: Summary,
    arguments: Arguments,
) -> Binding:
    function = callee.function
    binding = Binding(frame, node, function)
    binding.callee = arguments.callee or binding.callee
    parameters = summary.parameters
    start = 0
    info = function.info
    if info is not None and not function.is_static and parameters:
        start = 1
        bound = callee.bound
        if type(bound) is Instance and bound is not self_of(info):
            place, origin = placed(frame, bound)
            if bound.module and not stateful(frame, bound):
                place = None  # it is wherever its inputs are
            related = info.lineage() if bound.info is None else bound.info.lineage()
            for each in (info, *related):  # what a base registers lives there, too
                binding.places[each.variable] = Tensor(place, origin, 0)
                binding.owners.add(each.variable)
                binding.nodes[each.variable] = _holder(binding)
            binding.holder = bound
            if bound.given is not None:
                binding.places.update(bound.given)
        elif bound is None and arguments.positional:
            start = 0
        else:
            binding.inside = True
    if closure_of(function) is frame:
        binding.inside = True  # a closure, called where the parameters that it reads are bound
    keywords = dict(arguments.keywords)
    needed = (p for p in parameters[start:] if p.default is None and not p.keyword_only)
    positional = list(arguments.fitted(sum(p.name not in keywords for p in needed)))
    if callee.given is not None:
        given_positional, given_keywords = callee.given
        positional = [(v, node) for v in given_positional] + positional
        for key, value in given_keywords.items():
            keywords.setdefault(key, (value, node))
    rest = list(parameters[start:])
    index = 0
    for parameter in rest:
        if parameter.name in keywords:
            actual, actual_node = keywords[parameter.name]
        elif index < len(positional) and not parameter.keyword_only:
            actual, actual_node = positional[index]
            index += 1
        elif parameter.default is not None and not arguments.open:
            actual, actual_node = parameter.default, node
            frame.emit(DefaultTaken(node, function, parameter, summary))
        else:
            actual, actual_node = UNKNOWN, node
            if parameter.default is None and "**" in keywords:
                binding.spread[parameter.name] = keywords["**"][0]
        if parameter.is_device:
            frame.emit(ArgumentGiven(node, actual, actual_node, function, parameter.name))
        binding.put(parameter, actual, actual_node)
    binding.fall_back(rest)
    _bind_rest(binding, summary, positional[index:], keywords, arguments.open)
    return binding


def _bind_rest(
    binding: Binding,
    summary: Summary,
    positional: list[tuple[Value, cst.CSTNode]],
    keywords: dict[str, tuple[Value, cst.CSTNode]],
    is_open: bool,
) -> None:
    """Hand what no other parameter takes to `*args` and `**kwargs`."""
    rest, named = summary.rest, summary.named_rest
    if rest is not None:
        values = [value for value, _ in positional]
        handed = (
            Sequence(None, union(values), "tuple") if is_open else Sequence(values, None, "tuple")
        )
        binding.put(rest, handed, _only_node(binding, [node for _, node in positional]))
    if named is not None:
        known = {parameter.name for parameter in summary.parameters}
        left = {key: pair for key, pair in keywords.items() if key not in known}
        spread, _ = left.pop("**", (None, None))
        entries = {key: value for key, (value, _) in left.items()}
        nodes = [node for _, node in left.values()]
        binding.put(named, Mapping(entries, spread), _only_node(binding, nodes))


def _only_node(binding: Binding, nodes: list[cst.CSTNode]) -> cst.CSTNode:
    """The argument that is meant, or the call where it is one of several."""
    return nodes[0] if len(nodes) == 1 else binding.node


def _check_pending(
    frame: Frame, node: cst.CSTNode, pending: Pending, binding: Binding, as_module: bool
) -> None:
    """Two operands that the callee brings together, with what this call hands in: they can't meet,
    or that is for this function's callers to say."""
    called = pending.called
    if moves(pending, pending.left) or moves(pending, pending.right):
        return
    if pending.kind is MeetingKind.INPUT and pending.right.place in binding.scattering:
        return
    if called is not None:
        handed = binding.handed_in(called)
        if called.effects.moved or called.effects.handed:
            return
        if not _wants_inputs(frame, handed, pending):
            return
        called = handed.evidence if type(handed) is Tensor else None
    whens = (*pending.when, *pending.left.when, *pending.right.when)
    own = own_facts(binding, whens)
    if not _comes_there(pending, binding) or exclude(own, frame.state.when):
        return
    for a in _operands(pending.left, binding):
        for b in _fed(pending, binding) or _operands(pending.right, binding):
            if a is b or a.place is None or b.place is None or never_meet(frame, a, b):
                continue
            if exclude(own, a.assumed) or exclude(own, b.assumed):
                continue  # the object's flags that lead there are those that lead elsewhere here
            if called is not None:  # a parameter of this function, too: its callers know
                _pass_on(frame, node, pending, binding, a, b, called)
                continue
            found = _contradiction(frame, pending, a, b)
            if found is None and _is_open(pending, a, b):
                _pass_on(frame, node, pending, binding, a, b)
            elif found is not None and not _is_by_placeholder(pending, a, b):
                _tell(frame, node, pending, binding, a, b, found, as_module)
                return


def _fed(pending: Pending, binding: Binding) -> list[Tensor]:
    """Of a module that the callee calls, a part that its move had not seen yet."""
    place = pending.right.place
    if pending.kind is not MeetingKind.INPUT or type(place) is not Variable:
        return []
    part = binding.parts_left.get(place)
    return [] if part is None else [part]


def _comes_there(pending: Pending, binding: Binding) -> bool:
    """This call comes to the operation with what it hands in, as far as that is seen from here."""
    left, right = pending.left, pending.right
    place = right.place
    of_input = type(place) is Variable and place.kind is VariableKind.INPUT
    of_batch = of_input and pending.kind is MeetingKind.INPUT and left.traits & LOADED
    if of_batch and _loader_of(left, binding) is None:
        return False  # what is handed in for the loader may move its batches
    whens = (when for when in (pending.when, left.when, right.when) if when)
    return not any(exclude(when, facts_of(binding, when)) for when in whens)


def _contradiction(frame: Frame, pending: Pending, a: Tensor, b: Tensor) -> Assumptions | None:
    """What has to be assumed for the two to be on different devices; None where they are not."""
    if pending.kind is MeetingKind.CONTRACT:
        return contract_checks.broken(frame, a, b)
    if pending.kind is MeetingKind.INDEX:
        return index_contradiction(frame, a, b)
    return contradiction(frame, a, b, pending.pointwise)


def _is_open(pending: Pending, a: Tensor, b: Tensor) -> bool:
    """The callers of this function decide whether the two can meet."""
    if pending.kind is MeetingKind.CONTRACT:
        return contract_checks.is_open(a) or contract_checks.is_open(b)
    return Variable in (type(a.place), type(b.place)) and a.place is not b.place


def _is_by_placeholder(pending: Pending, a: Tensor, b: Tensor) -> bool:
    checked = pending.kind in (MeetingKind.CONTRACT, MeetingKind.INDEX)
    return not checked and is_placeholder(pending.operation, a, b)


def _tell(
    frame: Frame,
    node: cst.CSTNode,
    pending: Pending,
    binding: Binding,
    a: Tensor,
    b: Tensor,
    found: Assumptions,
    as_module: bool,
) -> None:
    """Note that the callee brings together what can't meet."""
    kind, said, left, right = pending.kind, pending.operation, pending.left, pending.right
    if kind is MeetingKind.OPERATION:
        _show_computed(binding.function, left, a)
        _show_computed(binding.function, right, b)
        show_companions(frame, [a, b])
    assumed = _open(binding, (*found, *pending.assumptions))
    for odd, other, inside in ((a, b, left), (b, a, right)):
        if kind is not MeetingKind.INDEX and is_left_behind(frame, odd, other):
            assumed += left_behind(frame, odd, _argument(inside, binding, node))
    if _fed_by_its_holder(a, b, binding) or _fed_by_its_holder(b, a, binding):
        assumed.append(fed_from_elsewhere(frame, binding.callee))
    sides = [(a, _argument(left, binding, node)), (b, _argument(right, binding, node))]
    for kept, argument in sides:
        if kept.place == CPU and is_of_state(kept.when):
            assumed.append(branch_taken(frame, argument, kept))
    in_order = kind in (MeetingKind.CONTRACT, MeetingKind.INDEX)
    if not in_order and authority(a) > authority(b):
        a, b, sides = b, a, sides[::-1]
    handed = _handed_to_module(pending, binding) if as_module else None
    if handed is None or not _is_direct(frame, pending, handed, a, b, binding):
        assumed += _reached(frame, node, pending, binding)
    if as_module and kind is not MeetingKind.CONTRACT:
        kind, said = MeetingKind.INPUT, shorten(binding.callee)
    there = Site(_source_of(pending, frame), pending.node)
    note(frame, node, kind, said, sides[0], sides[1], tuple(assumed), there)
    leave_to_callers(frame, node, pending.kind, pending.operation, a, b, pending.pointwise)


def _pass_on(
    frame: Frame,
    node: cst.CSTNode,
    pending: Pending,
    binding: Binding,
    a: Tensor,
    b: Tensor,
    called: Evidence | None = None,
) -> None:
    """Leave to this function's callers what its callee left to it."""
    kind, said = pending.kind, pending.operation
    assumed = pending.assumptions
    if pending.node not in binding.function.unconditional:
        assumed += _reached(frame, node, pending, binding)
    add_pending(frame, node, kind, said, a, b, pending.pointwise, called, assumed)


# Of a parameter that is called: the module that a call hands in for it shows what it does.
_OF_CALLED = frozenset(
    {
        AssumptionKind.MODULE_USES_ALL_INPUTS,
        AssumptionKind.NAME_SUGGESTS_MODEL,
        AssumptionKind.UNKNOWN_CALLEE_KEEPS_DEVICE,
    }
)


def _open(binding: Binding, assumed: Assumptions) -> list[Assumption]:
    """What is still to be assumed of the callee: `net(rows)` is no call out of sight where this
    call hands in a module for `net` whose class is known."""
    shown = {name for name, (value, _) in binding.given.items() if _is_known_module(value)}
    of_shown = {
        id(node)
        for node in (every(binding.function.node, cst.Call) if shown else ())
        if isinstance(node.func, cst.Name) and node.func.value in shown
    }
    return [a for a in assumed if a.kind not in _OF_CALLED or id(a.site.node) not in of_shown]


def _is_known_module(value: Value) -> bool:
    if type(value) is not Instance or not value.module:
        return False
    return value.info is not None or bool(value.library)


def _reached(frame: Frame, node: cst.CSTNode, pending: Pending, binding: Binding) -> Assumptions:
    """What has to be assumed for what a call hands in to come to an operation: that the call does,
    or, where every call of the function does, that it is still the same there; and that so is the
    object of a method."""
    kinds = (AssumptionKind.CALL_REACHES_OPERATION, AssumptionKind.ARGUMENT_ARRIVES_AS_GIVEN)
    if any(a.kind in kinds for a in pending.assumptions):
        return ()
    code = shorten(pending.node)
    if pending.node in binding.function.unconditional:
        comes = at(frame, kinds[1], node, f"what this call hands in comes to `{code}` as it is")
        if binding.function.info is None or binding.function.is_static:
            return (comes,)
        message = "the object is as the code in sight has left it"
        return (comes, at(frame, AssumptionKind.OBJECT_IS_AS_SEEN, node, message))
    return (at(frame, kinds[0], node, f"this call comes to `{code}` with what it hands in"),)


def _handed_to_module(pending: Pending, binding: Binding) -> Tensor | None:
    """The operand that the caller hands in, where the other one is the called module's own."""
    if pending.right.place in binding.owners:
        return pending.left
    return pending.right if pending.left.place in binding.owners else None


def _show_computed(callee: Function, inside: Tensor, handed: Tensor) -> None:
    """What the caller moved, and its callee computes with as it is or in parts, is a tensor:
    modules have no arithmetic, and numbers no device. An attribute of it may be a module's."""
    if inside.evidence is None or handed.evidence is None or not was_moved(handed):
        return
    parameters = callee.summary.parameters if callee.summary is not None else ()
    values = [each.value for each in parameters]
    own = [value.evidence for value in values if type(value) is Tensor]
    if any(each in own for each in inside.evidence.ancestry()):
        handed.evidence.mark_tensor()


def _is_direct(
    frame: Frame,
    pending: Pending,
    inside: Tensor,
    odd: Tensor,
    anchor: Tensor,
    binding: Binding,
) -> bool:
    """Each call of the module with this value comes to the operation inside, and nothing is
    guessed on the way."""
    indirect = (odd.traits | anchor.traits | pending.left.traits | pending.right.traits) & INDIRECT
    if indirect or pending.when or pending.left.when or pending.right.when:
        return False
    place = inside.place
    handed, _ = binding.given.get(place.name if type(place) is Variable else "", (UNKNOWN, None))
    if type(handed) is Union:
        several = [v for v in handed.alternatives if type(v) is Tensor]
        return stands_in(frame, odd, several)
    return type(handed) is Tensor


def _loader_of(batch: Tensor, binding: Binding) -> cst.CSTNode | None:
    """What the caller hands in for the loader of a batch, where that moves nothing itself."""
    step = batch.origin.root if batch.origin is not None else None
    for name in every(step.node, cst.Name) if step is not None else ():
        actual, node = binding.given.get(name.value, (UNKNOWN, None))
        if type(actual) is Loader and type(actual.batch) is Tensor and actual.batch.place == CPU:
            return node
    return None


def _wants_inputs(frame: Frame, handed: Value | None, pending: Pending) -> bool:
    """What is called, or a method of it, is a module that wants its inputs where it is, or a
    parameter that may be."""

    if type(handed) is Tensor:
        return handed.evidence is not None and not handed.evidence.is_tensor
    if type(handed) is not Instance or not handed.module:
        return False
    if handed.info is None:
        known = frame.unit.context.knowledge.module(handed.library) if handed.library else None
        if scatters(handed):
            return False
        return bool(known or not handed.library) and stateful(frame, handed)
    method = pending.operation.rpartition(".")[2]
    function = handed.info.method(method) or handed.info.method("forward")
    summary = frame.interpreter.summarize(function) if function is not None else None
    if summary is None:
        return False
    own = {info.variable for info in handed.info.lineage()}
    return any(own & {p.left.place, p.right.place} for p in summary.pendings)


def _fed_by_its_holder(held: Tensor, given: Tensor, binding: Binding) -> bool:
    """An object that keeps its module where it was made, on the CPU, is fed from there."""
    return (
        held.place == CPU
        and bool(held.traits & DEFAULT)
        and held.origin is not None
        and any(step.kind is StepKind.ATTRIBUTE for step in held.origin.chain())
        and type(given.place) is Variable
        and given.place.kind is VariableKind.INPUT
        and bool(binding.owners)
    )


def _holder(binding: Binding) -> cst.CSTNode:
    """`net` of `net(x)` and of `net.encode(x)`."""
    func = binding.callee
    if isinstance(func, cst.Attribute) and func.attr.value == binding.function.name:
        return func.value
    return func


def _operands(inside: Tensor, binding: Binding) -> list[Tensor]:
    """An operand of the callee, seen from the caller. What a module holds is on the default device
    by default, as long as nobody has moved the module."""
    found = odd_branches(binding, inside)
    handed = binding.values.get(inside.evidence) if inside.evidence is not None else None
    if type(handed) is Sequence and handed.kind == "tuple" and len({t.place for t in found}) > 1:
        return []  # which of them it takes as one is open
    if inside.place not in binding.owners:
        return found
    return [
        t.with_place(CPU, t.origin, add=DEFAULT) if t.place == CPU and not was_moved(t) else t
        for t in found
    ]


def _source_of(pending: Pending, frame: Frame) -> Source:
    origin = pending.left.origin or pending.right.origin
    return origin.source if origin is not None else frame.unit.source


def _argument(tensor: Tensor, binding: Binding, node: cst.CSTNode) -> cst.CSTNode:
    place = tensor.place
    if type(place) is Variable:
        return binding.nodes.get(place, node)
    loader = _loader_of(tensor, binding) if tensor.traits & LOADED else None
    return node if loader is None else loader


def _sync_in_callee(frame: Frame, node: cst.CSTNode, site: Site, binding: Binding) -> None:
    """A callee in another file that syncs makes its call in a loop a sync. One in the same file
    is reported where it waits."""
    if not frame.control.loops:
        return

    for stand_in in binding.places.values():
        if on_accelerator(stand_in) >= 1:
            frame.emit(HostWaits(node, "call", stand_in, node, inside=site))
            return
