"""Unification: what happens when one operation brings tensors together.

`meet` gives the result's place and notes each contradiction; `settle` turns what was noted in a
function into facts, once the whole function has shown which values are tensors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import libcst as cst

from devlint.inference.confidence.policy import strength
from devlint.inference.conventions import holds
from devlint.inference.domain.assumptions import Assumption, AssumptionKind, Assumptions
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import Const
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import ALWAYS, PathCondition, both, either, exclude
from devlint.inference.domain.placement import (
    CPU,
    Device,
    Placement,
    Variable,
    VariableKind,
    same_place,
)
from devlint.inference.domain.provenance import Provenance, Site, StepKind
from devlint.inference.domain.tensors import (
    COPYING,
    DEFAULT,
    EMPTY,
    GRAD,
    INDIRECT,
    INHERITED,
    KEPT,
    LOADED,
    MAYBE_SCALAR,
    PARAMETER,
    SCALAR,
    SHAPED,
    VECTOR,
    Tensor,
)
from devlint.inference.domain.value import UNKNOWN, Unknown, Value, alternatives, choose
from devlint.inference.facts import MeetingKind
from devlint.inference.models.current_device import strays
from devlint.inference.models.elements import is_given_part
from devlint.inference.models.factories import FROM_HOST
from devlint.inference.program.accelerator_notes import Mentions
from devlint.inference.program.assumption_sites import at, guess, of_code, of_value
from devlint.inference.program.constructors import runs_in_constructor
from devlint.inference.program.device_awareness import notes_host
from devlint.inference.program.events import KeptMeets, TensorRead
from devlint.inference.program.frames import Frame
from devlint.inference.program.meetings import MeetingDraft, Meetings, Pending
from devlint.inference.program.predicates import want_two_settings
from devlint.inference.program.traffic import HostReads, Moves
from devlint.inference.program.unplaced_factories import UnplacedFactories
from devlint.inference.program.values import Instance
from devlint.inference.syntax.filled_parts import fills
from devlint.inference.syntax.text import called_name, dotted, shorten

MAX_PENDING = 24
MAX_WAYS = 16  # of the alternatives of several operands to come together


# Which operand sets the device of a meeting: the higher, the more others must follow it.
_MODULE, _CHOSEN, _INPUT, _HOST, _DEFAULT, _UNKNOWN = 5, 4, 3, 2, 1, 0


Candidate = tuple[Tensor, cst.CSTNode, int]  # a tensor, its expression, the operand's number


def tensors_in(value: Value, depth: int = 3) -> list[Tensor]:
    """The tensors that a value is or holds."""
    if type(value) is Tensor:
        return [value]
    if type(value) is Sequence and depth:
        found = []
        if value.items is not None:
            for item in value.items:
                found += tensors_in(item, depth - 1)
        elif value.element is not None:
            found = tensors_in(value.element, depth - 1)
        return found
    if type(value) is Mapping and depth:
        return tensors_in(value.any(), depth - 1)
    if type(value) is Instance:
        return [] if value.tensor is None else [value.tensor]
    found = []
    for alternative in alternatives(value):
        if alternative is not value:
            found += tensors_in(alternative, depth)
    return found


def _parts(value: Value, depth: int = 3) -> list[Value]:
    """What meets in an operand: the elements of a list do, the alternatives of a value do not."""
    if type(value) is Sequence and value.items is not None and depth:
        return [part for item in value.items for part in _parts(item, depth - 1)]
    return [value]


def authority(tensor: Tensor) -> int:
    place = tensor.place
    if place is None:
        return _UNKNOWN
    if isinstance(place, Variable):
        if place.kind is VariableKind.MODULE:
            return _MODULE
        return _CHOSEN if place.kind is VariableKind.DEVICE else _INPUT
    if place.is_accelerator:
        return _CHOSEN
    return _DEFAULT if tensor.traits & DEFAULT else _HOST


def contradiction(frame: Frame, odd: Tensor, anchor: Tensor, pointwise: bool) -> Assumptions | None:
    """The assumptions under which the two may not meet; None if they may."""
    a, b = odd.place, anchor.place
    if a is None or b is None or a is b:
        return None
    if never_meet(frame, odd, anchor):
        return None
    if pointwise and (_exempt(odd) or _exempt(anchor)):
        return None
    found = _contradicted(frame, odd, anchor)
    if found is None:
        return None
    assumed = [*found]
    if want_two_settings(odd.assumed, anchor.assumed):
        message = "the settings that {} and what it meets depend on are on together"
        assumed.append(of_value(frame, AssumptionKind.SETTINGS_COMBINE, odd, message))
    if frame.unit.keeps_to_host:
        message = "this file runs on an accelerator, though it asks for none"
        assumed.append(of_code(frame, AssumptionKind.SCRIPT_RUNS_ON_ACCELERATOR, message))
    if pointwise:
        assumed += [
            has_dimensions(frame, t)
            for t in (odd, anchor)
            if t.traits & MAYBE_SCALAR and _on_cpu(t)
        ]
    return tuple(assumed)


def has_dimensions(frame: Frame, tensor: Tensor) -> Assumption:
    """The assumption that a tensor of open size is no number."""
    kind = AssumptionKind.VALUE_HAS_DIMENSIONS
    if tensor.was_given:
        kind = AssumptionKind.GIVEN_TENSOR_HAS_DIMENSIONS
    return of_value(frame, kind, tensor, "{} has at least one dimension")


def index_contradiction(frame: Frame, base: Tensor, index: Tensor) -> Assumptions | None:
    """The assumptions under which a tensor may not be read at an index, as in `contradiction`.

    An index on the host is copied to wherever the tensor is. One on an accelerator is refused by a
    tensor on the host or on another card.
    """
    if index.traits & SCALAR:
        return None  # read as a number
    place = base.place
    if _on_cpu(base):
        if base.traits & EMPTY:
            return None  # a placeholder: something else stands here by now
        found = contradiction(frame, base, index, pointwise=False)
    elif type(place) is Device and type(index.place) is Device and index.place.is_accelerator:
        found = contradiction(frame, index, base, pointwise=False)
    else:
        return None
    if found is not None and index.traits & MAYBE_SCALAR and not _is_measured_by(base, index):
        message = "{} has at least one dimension"
        return (*found, of_value(frame, AssumptionKind.VALUE_HAS_DIMENSIONS, index, message))
    return found


def _is_measured_by(base: Tensor, index: Tensor) -> bool:
    """`torch.arange(len(x))[x > 0]`: what gives a table its size has a dimension itself."""
    sizes = base.sizes
    if sizes is None or sizes.origin is None or index.origin is None:
        return False
    if not sizes.traits & MAYBE_SCALAR:
        return False  # the index is only a part of it, of which a number may be left
    for step in index.origin.chain():
        if step is sizes.origin:
            return True
        if not isinstance(step.node, (cst.Comparison, cst.BinaryOperation, cst.UnaryOperation)):
            return False
    return False


def leave_index_to_callers(frame: Frame, node: cst.CSTNode, base: Tensor, index: Tensor) -> None:
    """`table[index]`, of which one is a parameter, or both: a call may put them apart."""
    place = base.place
    is_host = index.evidence is not None and index.evidence.is_host
    if place is None or place is index.place or index.place in (None, CPU) or is_host:
        return
    if Variable in (type(place), type(index.place)):
        add_pending(frame, node, MeetingKind.INDEX, "index", base, index, pointwise=False)


def never_meet(frame: Frame, a: Tensor, b: Tensor) -> bool:
    """The two belong to different branches, or one to another branch than this code; or one was
    moved on the way that the other has not come."""
    when = frame.state.when
    return exclude(a.assumed, b.assumed) or exclude(a.when, when) or exclude(b.when, when)


def _contradicted(frame: Frame, odd: Tensor, anchor: Tensor) -> Assumptions | None:
    a, b = odd.place, anchor.place
    if type(a) is Variable and type(b) is Variable:
        return None
    if type(a) is Device and type(b) is Device:
        found = _with_guess(frame, clash(frame, odd, anchor), odd, anchor)
    else:
        known, variable = (odd, anchor) if type(a) is Device else (anchor, odd)
        found = _rigid(frame, known, variable)
    if found is None:
        return None
    return (
        *found,
        *_loaded_on_host(frame, odd, anchor),
        *_made_by_default(frame, odd, anchor),
        *_left_behind(frame, odd, anchor),
    )


def _with_guess(frame: Frame, found: Assumptions | None, *tensors: Tensor) -> Assumptions | None:
    """With the assumption that a callee out of sight kept one of these where it was."""
    guessed = guess(frame, *tensors)
    return found if found is None or guessed is None else (*found, guessed)


def _loaded_on_host(frame: Frame, *tensors: Tensor) -> Iterator[Assumption]:
    """The assumption that a batch is on the host, in a project whose data sets move what they
    hold: what a loader yields is where its rows are."""
    importer = frame.unit.context.importer
    for tensor in tensors:
        root = tensor.origin.root if tensor.origin is not None else None
        if root is None or root.kind is not StepKind.LOADED or not _on_cpu(tensor):
            continue
        if tensor.traits & LOADED and importer is not None and importer.moves_data():
            message = "{} is of none of the project's data sets that move what they hold"
            yield of_value(frame, AssumptionKind.DATA_STAYS_ON_HOST, tensor, message)
            return


def _made_by_default(frame: Frame, *tensors: Tensor) -> Iterator[Assumption]:
    """The assumption that a factory makes its tensor on the host, in a file whose programs choose
    another default device: that belongs to the process, whoever sets it."""
    importer = frame.unit.context.importer
    for tensor in tensors:
        if importer is None or tensor.origin is None or not _is_made_up(tensor):
            continue
        made = tensor.origin.root
        converted = isinstance(made.node, cst.Call) and called_name(made.node) in FROM_HOST
        if not converted and importer.programs_choose_default_device(made.source.path):
            message = "{} is made before a program chooses its default device"
            yield of_value(frame, AssumptionKind.DEFAULT_DEVICE_IS_CPU, tensor, message)
            return


def _left_behind(frame: Frame, *tensors: Tensor) -> Iterator[Assumption]:
    """The assumption that a parameter which another object was handed is not moved with it: a move
    of a module changes its parameters in place, whoever else has them.

    self.support = nn.Parameter(torch.linspace(0, 1, 3))
    self.net = Net(self.support).cuda()    # `self.support` is on CUDA from here on
    """
    for tensor in tensors:
        if _on_cpu(tensor) and tensor.origin is not None and tensor.origin.root.handed:
            message = "{} is not moved with what it was handed to"
            yield of_value(frame, AssumptionKind.PARAMETER_STAYS_BEHIND, tensor, message)
            return


def _exempt(tensor: Tensor) -> bool:
    """A 0-dim CPU tensor meets every device in point-wise operations; one without elements is
    a placeholder that never takes part in one."""
    return bool(tensor.traits & (SCALAR | EMPTY)) and _on_cpu(tensor)


def written(tensor: Tensor) -> Tensor:
    """What an operation writes has to be where its other operands are, even a 0-dim tensor."""
    if not tensor.traits & (SCALAR | MAYBE_SCALAR) or not _on_cpu(tensor):
        return tensor
    return tensor.with_place(tensor.place, tensor.origin, drop=SCALAR | MAYBE_SCALAR)


def _is_made_up(tensor: Tensor) -> bool:
    """Made on the default device: what computes with it mostly goes by what else it is given."""
    return bool(tensor.traits & DEFAULT) and _on_cpu(tensor)


def _on_cpu(tensor: Tensor) -> bool:
    place = tensor.place
    return type(place) is Device and place.type == "cpu"


def clash(frame: Frame, odd: Tensor, anchor: Tensor) -> Assumptions | None:
    """The assumptions under which two known devices differ, as in `contradiction`."""
    a, b = odd.place, anchor.place
    assert type(a) is Device and type(b) is Device
    if a.type != b.type:
        if "meta" in (a.type, b.type):
            return None
        if a.is_accelerator and b.is_accelerator:
            # One machine has one kind: these are mostly branches of a choice.
            message = f"one machine has {a} and {b}"
            return (of_value(frame, AssumptionKind.TWO_ACCELERATORS_MEET, odd, message),)
        return ()
    if a.index == b.index:
        return None
    if a.index is None or b.index is None:
        if not (a.index or b.index):
            return None  # the current device is 0 unless somebody set it
        message = f"the current device is not {b if a.index is None else a}"
        return (of_value(frame, AssumptionKind.CURRENT_DEVICE_IS_ANOTHER, odd, message),)
    return ()


def _rigid(frame: Frame, known: Tensor, variable: Tensor) -> Assumptions | None:
    place, rigid = known.place, variable.place
    assert type(place) is Device and type(rigid) is Variable
    if place.type != "cpu":
        return strays(frame, known, variable)
    if frame.constructing:
        return None  # nothing has been moved yet
    kind = rigid.kind
    is_input = kind is VariableKind.INPUT
    assumed: list[Assumption] = []
    if known.was_given:
        message = "{} is no parameter, and stays where it was when the module is moved"
        assumed.append(of_value(frame, AssumptionKind.GIVEN_TENSOR_STAYS_BEHIND, known, message))
    if not known.traits & DEFAULT:
        if _was_brought_from(known, rigid):
            message = f"{{}} was not on the host before, and `{rigid.name}` is where it was"
            assumed.append(
                of_value(frame, AssumptionKind.SOURCE_OF_MOVE_IS_ELSEWHERE, known, message)
            )
        elif is_input and _left_the_host(variable):
            message = f"{{}} was brought from the host to `{rigid.name}`, which is not there"
            assumed.append(
                of_value(frame, AssumptionKind.SOURCE_OF_MOVE_IS_ELSEWHERE, variable, message)
            )
        elif is_input:
            message = f"`{rigid.name}` is elsewhere than {{}}, which was put on the host"
            assumed.append(
                of_value(frame, AssumptionKind.EXPLICIT_HOST_MEETS_INPUT, known, message)
            )
        elif kind is not VariableKind.DEVICE or not known.traits & LOADED:
            message = "{} was put on the host, and not for what it meets here"
            assumed.append(
                of_value(frame, AssumptionKind.EXPLICIT_HOST_IS_MEANT_ELSEWHERE, known, message)
            )
    elif is_input and not frame.in_module:
        message = "callers hand in {} on an accelerator"
        assumed.append(of_value(frame, AssumptionKind.CALLER_IS_ACCELERATED, variable, message))
    guessed = guess(frame, known, variable)
    if guessed is not None:
        assumed.append(guessed)
    if kind is not VariableKind.DEVICE:
        assumed += _left_host(frame)
    if variable.evidence is not None and variable.evidence.hints.own:
        message = "{} was moved after the class made it"
        assumed.append(of_value(frame, AssumptionKind.HELD_MODULE_WAS_MOVED, variable, message))
    if rigid in frame.kept(HostReads).inputs:
        message = f"the host reads `{rigid.name}` only where it is on the host"
        assumed.append(of_value(frame, AssumptionKind.HOST_READS_OTHERS, variable, message))
    if frame.unit.feeds_host and is_input:
        assumed.append(with_device_data(frame))
    if frame.unit.is_test:
        assumed.append(in_test(frame))
    if strength(assumed) > 0 and runs_in_constructor(frame):
        return None
    if _answers_to_callers(frame, variable):
        message = "calls of this inner function hand in {} on an accelerator"
        assumed.append(
            of_value(frame, AssumptionKind.LOCAL_CALLS_HAND_IN_ACCELERATOR, variable, message)
        )
    if is_input and not frame.in_module and _was_array(known):
        message = "callers that hand in arrays for {} hand in tensors of an accelerator, too"
        assumed.append(of_value(frame, AssumptionKind.CALLER_HANDS_IN_TENSORS, known, message))
    return tuple(assumed)


def _was_brought_from(tensor: Tensor, place: Variable) -> bool:
    """A move says where its source is not: this one brought the tensor to the host from where the
    other one still is. `rows[mask] + columns[mask].cpu()` So does what is made on the host in the
    likeness of the other: `torch.zeros_like(rows, device="cpu")`"""
    for step in tensor.origin.chain() if tensor.origin is not None else ():
        if step.kind is StepKind.MOVED or (step.kind is StepKind.CREATED and _is_likened(step)):
            return step.before is place
    return False


def _left_the_host(tensor: Tensor) -> bool:
    """A move says where its source is not, and so where it goes: this one brought the tensor from
    the host to where an input is. `table.cpu()[mask.to(x.device)]`, of a mask made on the host"""
    for step in tensor.origin.chain() if tensor.origin is not None else ():
        if step.kind is StepKind.MOVED:
            return step.before == CPU
    return False


def _is_likened(step: Provenance) -> bool:
    return isinstance(step.node, cst.Call) and dotted(step.node.func).endswith("_like")


def in_test(frame: Frame) -> Assumption:
    """Tests run where their fixtures put them."""
    message = "this file, a test by its path, runs on an accelerator"
    return of_code(frame, AssumptionKind.TEST_RUNS_ON_ACCELERATOR, message)


def code_is_accelerated(frame: Frame) -> list[Assumption]:
    """What has to be assumed of a script that asks for no accelerator, and of code for data."""
    found = [on_accelerator(frame)] if frame.unit.host_script else []
    return [*found, with_device_data(frame)] if frame.unit.feeds_host else found


def on_accelerator(frame: Frame) -> Assumption:
    message = "this script runs on an accelerator, though it asks for none"
    return of_code(frame, AssumptionKind.SCRIPT_RUNS_ON_ACCELERATOR, message)


def with_device_data(frame: Frame) -> Assumption:
    message = "this file, which prepares data by its path, gets tensors of an accelerator"
    return of_code(frame, AssumptionKind.DATA_CODE_GETS_DEVICE_TENSORS, message)


def fed_from_elsewhere(frame: Frame, module: cst.CSTNode) -> Assumption:
    """An object that keeps its module on the host mostly feeds it from there."""
    message = f"`{shorten(module)}` was left on the host, and its inputs are elsewhere"
    return at(frame, AssumptionKind.HELD_MODULE_IS_FED_FROM_ELSEWHERE, module, message)


def _left_host(frame: Frame) -> list[Assumption]:
    """What has to be assumed of a script that never asks for an accelerator, and of an object
    whose device is the host."""
    found = []
    if frame.unit.host_script:
        found.append(on_accelerator(frame))
    if frame.function is not None and frame.function.exports:
        message = f"`{frame.function.name}`, which exports a model, runs on an accelerator"
        found.append(of_code(frame, AssumptionKind.EXPORT_RUNS_ON_ACCELERATOR, message))
    if frame.info is not None and notes_host(frame.info):
        message = f"`{frame.info.name}`, whose device is the host, is moved"
        found.append(of_code(frame, AssumptionKind.OBJECT_LEAVES_HOST, message))
    return found


def _was_array(tensor: Tensor) -> bool:
    """`if isinstance(x, np.ndarray): x = torch.from_numpy(x)`, `x` being handed in."""
    step = tensor.origin.root if tensor.origin is not None else None
    return (
        step is not None
        and type(step.before) is Variable
        and isinstance(step.node, cst.Call)
        and dotted(step.node.func).endswith("from_numpy")
    )


def _answers_to_callers(frame: Frame, tensor: Tensor) -> bool:
    """A parameter of a function that is defined in another and called only there: its calls are in
    sight, and say what it gets."""
    place, function = tensor.place, frame.function
    if type(place) is not Variable or place.kind is not VariableKind.INPUT or function is None:
        return False
    return function.is_local and any(place is p.variable for p in function.parameters)


def meet(
    frame: Frame,
    node: cst.CSTNode,
    operation: str,
    operands: list[tuple[Value, cst.CSTNode]],
    pointwise: bool = True,
    kind: MeetingKind = MeetingKind.OPERATION,
    indirect: bool = False,
    indices: tuple[cst.CSTNode, ...] = (),
) -> Value:
    """Unify the devices of an operation's tensor operands.

    Returns the result as a tensor where the operands live, or the unknown value when no operand is
    a tensor. `indirect`: through an unknown callee, so that nothing is certain. `indices`: the
    operands that are an index, a mask or `out=`.
    """
    candidates: list[Candidate] = []
    uncertain = False
    count = 0
    for value, expression in operands:
        for part in _parts(value):
            mixed = type(part) is Sequence and part.mixed
            candidates += [
                (t, expression, -1 if mixed else count)
                for t in tensors_in(part)
                if not exclude(t.when, frame.state.when)
            ]
            count += 1
        if type(value) is Unknown:
            uncertain = True
    for tensor, expression, _ in candidates:
        if tensor.traits & COPYING:
            frame.emit(TensorRead(node, tensor, expression))
    if not candidates:
        return UNKNOWN
    if frame.in_module and not frame.constructing:
        _note_kept(frame, node, operands, candidates)
    if len(candidates) > 1 and frame.unit.kept(Mentions).converts:
        frame.unit.kept(Mentions).met([tensor for tensor, _, _ in candidates])
    if len(candidates) == 1 and not uncertain:
        anchor = candidates[0][0]
    else:
        anchor = max(candidates, key=_weight)[0]
        if anchor.place is not None and len(candidates) > 1:
            clashed = _compare(
                frame, node, operation, candidates, anchor, pointwise, kind, indirect, indices
            )
            if clashed:  # it is said here, and whatever the result meets would say it again
                result = _result(frame, node, candidates, anchor, pointwise, indirect)
                if result.origin is not None:
                    result.origin.mended = anchor.place
                return result.with_place(None, result.origin)
    others = uncertain or any(t.place is None for t, _, _ in candidates)
    if others and _exempt(anchor):
        return Tensor(None, anchor.origin)  # the operand of unknown place decides
    if others and indirect and _is_made_up(anchor):
        return Tensor(None, anchor.origin)  # it computes with the others, wherever those are
    if others and anchor.traits & KEPT and _on_cpu(anchor) and frame.in_module:
        # If the unknown one is elsewhere, they cannot meet: that is the one thing to say of it.
        return Tensor(None, anchor.origin)
    if frame.is_forward:
        _show_inputs(candidates)
    apart = [] if uncertain else _apart(candidates)
    if apart:
        return _each_way(frame, node, candidates, apart, pointwise, indirect)
    result = _together(frame, node, candidates, pointwise, indirect)
    own = result.evidence
    if uncertain and own is not None and own is anchor.evidence and own.hints.number:
        result.evidence = Evidence(parents=(own,))  # if it is a tensor, the unknown operand is one
    return result


def _together(
    frame: Frame, node: cst.CSTNode, candidates: list[Candidate], pointwise: bool, indirect: bool
) -> Tensor:
    """The result of operands of which nothing shows that they are apart."""
    anchor = max(candidates, key=_weight)[0]
    known = anchor.evidence
    if known is not None and not known.is_tensor:
        sure_ones = [
            c
            for c in candidates
            if c[0].place is not None
            and (c[0].evidence is None or belongs_to_moved_batch(frame, c[0]))
        ]
        open_ones = {number for c in candidates if c not in sure_ones and (number := c[2]) >= 0}
        if sure_ones and all(number in open_ones for _, _, number in sure_ones):
            return Tensor(
                None, anchor.origin
            )  # each is one of several, and another of them is open
        if sure_ones:  # what is no more than perhaps a tensor does not decide where the result is
            rival, anchor = anchor, max(sure_ones, key=_weight)[0]
            if _exempt(anchor) or (indirect and _is_made_up(anchor)):
                return Tensor(None, anchor.origin)  # it goes along with a tensor of any device
            if known.hints.output and anchor.traits & KEPT and _on_cpu(anchor):
                return Tensor(None, anchor.origin)  # as beside one of unknown place
            result = _result(frame, node, sure_ones, anchor, pointwise, indirect)
            if result.origin is not None and rival.place is not anchor.place:
                result.origin.rival = rival
            return result
        if authority(anchor) == _MODULE and any(
            t.place is None and t.evidence is None for t, _, _ in candidates
        ):
            return Tensor(None, anchor.origin)  # `x * self.config.rate`: rather a number
    return _result(frame, node, candidates, anchor, pointwise, indirect)


def _note_kept(
    frame: Frame,
    node: cst.CSTNode,
    operands: list[tuple[Value, cst.CSTNode]],
    candidates: list[Candidate],
) -> None:
    """A plain attribute that a module keeps on the host meets what its method is given or computes,
    of which no more is known: `self.decode(boxes, self.priors)`."""
    for tensor, expression, _ in candidates:
        if not tensor.traits & KEPT or not tensor.is_sure:
            continue
        if tensor.traits & (SCALAR | MAYBE_SCALAR | EMPTY):
            continue
        if _on_cpu(tensor):
            others = (_is_open(v, other) for v, other in operands if other is not expression)
        elif authority(tensor) == _CHOSEN and type(tensor.place) is Variable:
            others = (authority(t) in (_MODULE, _INPUT) and t.is_sure for t, _, _ in candidates)
        else:
            continue
        if any(others):
            frame.emit(KeptMeets(tensor, node))


def _is_open(value: Value, node: cst.CSTNode) -> bool:
    """A value that was handed in, or computed here, and may be a tensor anywhere."""
    path = dotted(node)
    if path.startswith("self."):
        return False
    if type(value) is Unknown:
        return True
    return any(
        not isinstance(t.place, Device)
        and not (t.evidence is not None and (t.evidence.is_host or t.evidence.hints.number))
        for t in tensors_in(value)
    )


def _apart(candidates: list[Candidate]) -> list[int]:
    """The numbers of the operands that are one of several in different places, by tests that came
    out this way or that."""
    found: dict[int, None] = {}
    if len({number for _, _, number in candidates}) == len(candidates):
        return []
    for index, (tensor, _, number) in enumerate(candidates):
        for other, _, its in candidates[:index]:
            if number == its and tensor.place is not other.place:
                if number == -1 or not exclude(tensor.when, other.when):
                    return []
                found[number] = None
    ways = math.prod(sum(c[2] == number for c in candidates) for number in found)
    return list(found) if ways <= MAX_WAYS else []


def _each_way(
    frame: Frame,
    node: cst.CSTNode,
    candidates: list[Candidate],
    apart: list[int],
    pointwise: bool,
    indirect: bool,
) -> Value:
    """The result for each alternative of these operands, as far as they may come together."""
    others = [c for c in candidates if c[2] not in apart]
    ways: list[tuple[list[Candidate], PathCondition]] = [([], ALWAYS)]
    for number in apart:
        alternatives_of = [c for c in candidates if c[2] == number]
        ways = [
            ([*chosen, one], both(when, one[0].when))
            for chosen, when in ways
            for one in alternatives_of
            if not exclude(when, one[0].when)
        ]
    results: list[tuple[Value, PathCondition]] = []
    for chosen, when in ways:
        operands = [*chosen, *others]
        results.append((_together(frame, node, operands, pointwise, indirect), when))
    return choose(results)


def mended_place(tensor: Tensor) -> Placement:
    """Where a tensor is once the contradiction is mended that it was computed by: with the operand
    that sets the device. Else where it is."""
    if tensor.place is not None or tensor.origin is None:
        return tensor.place
    for step in tensor.origin.chain():
        if step.kind is StepKind.MOVED:
            return None
        if step.mended is not None:
            return step.mended
    return None


def decider(tensor: Tensor) -> Tensor | None:
    """What turned out to be a tensor, and decides where this value is: when the value was computed
    that was open."""
    if tensor.origin is None:
        return None
    for step in tensor.origin.chain():
        if step.kind is StepKind.MOVED:
            return None
        if type(step.rival) is Tensor and step.rival.is_sure:
            return step.rival
    return None


def is_told(draft: MeetingDraft) -> bool:
    """Both are tensors, by all that the function shows, and where they were thought to be."""
    sides = (draft.left, draft.right)
    return all(side.is_sure and decider(side) is None for side in sides)


def _show_inputs(candidates: list[Candidate]) -> None:
    """What `forward` is given, and computes with beside a tensor, is one: `x - self.mean`."""
    if not any(tensor.is_sure for tensor, _, _ in candidates):
        return
    for tensor, _, _ in candidates:
        evidence, origin = tensor.evidence, tensor.origin
        if evidence is None or evidence.hints.number or origin is None:
            continue
        if origin.root.kind is StepKind.PARAMETER and _picked(origin):
            evidence.mark_tensor()


def _picked(origin: Provenance) -> bool:
    """An input, or a part of it: `x`, `x[:n]`."""
    return all(
        step.kind is StepKind.PARAMETER or isinstance(step.node, cst.Subscript)
        for step in origin.chain()
    )


def _weight(candidate: Candidate) -> tuple[int, bool, bool, bool]:
    """Which candidate sets the place of the result: the highest."""
    tensor = candidate[0]
    number = tensor.evidence is not None and tensor.evidence.hints.number
    return authority(tensor), tensor.is_sure, not number, not tensor.traits & SCALAR


def _compare(
    frame: Frame,
    node: cst.CSTNode,
    operation: str,
    candidates: list[Candidate],
    anchor: Tensor,
    pointwise: bool,
    kind: MeetingKind,
    indirect: bool,
    indices: tuple[cst.CSTNode, ...],
) -> bool:
    """Note what contradicts the anchor; whether anything certainly or likely does."""
    first, clashed = anchor, False
    first_node, first_number = next((n, i) for t, n, i in candidates if t is first)
    counts: dict[int, int] = {}
    for _, _, number in candidates:
        counts[number] = counts.get(number, 0) + 1
    unplaced = frame.kept(UnplacedFactories).by_call
    for tensor, expression, number in candidates:
        if unplaced and tensor.origin is not None:
            factory = unplaced.get(tensor.origin.root.node)
            if factory is not None:
                factory.used = True
                if factory.whole and not indirect:
                    _show_companions(factory.sizes, candidates)
                factory.joined = factory.joined or any(
                    _is_companion(t, factory.sizes) for t, _, _ in candidates
                )
                factory.settled = factory.settled or any(_came_to_host(t) for t, _, _ in candidates)
                factory.peers.update(
                    t.origin.root.node for t, _, _ in candidates if t.origin is not None
                )
        if tensor is first or tensor.place is first.place or tensor.place is None:
            continue
        anchor, anchor_node, anchor_number = first, first_node, first_number
        is_branch = number == first_number and number != -1
        if is_branch or exclude(tensor.when, first.when):
            # Another branch of the value that sets the place: it meets the other operands.
            others = _others(tensor, number, candidates)
            if not others:
                continue
            anchor, anchor_node, anchor_number = max(others, key=_weight)
            if tensor.place is anchor.place:
                continue
        found = contradiction(frame, tensor, anchor, pointwise)
        if found is not None and is_placeholder(operation, tensor, anchor):
            continue
        if number == -1:
            same_choice = _is_converted(tensor, anchor)
        else:
            same_choice = _goes_along(tensor, anchor_number, candidates) or (
                counts[number] > 1 and _is_converted(tensor, anchor)
            )
        started = counts[number] > 1 and _exempt(tensor)  # a sum before its first term
        fits = _fits_default(frame, tensor, anchor, anchor_number, candidates)
        if found is not None:
            assumed = [*found]
            if same_choice or started or fits:
                message = f"`{shorten(expression)}` and `{shorten(anchor_node)}` may come together"
                message += " from their branches"
                assumed.append(at(frame, AssumptionKind.BRANCHES_COMBINE, expression, message))
            if kind is MeetingKind.CALLEE:
                assumed += _of_callee(frame, node, operation, tensor, expression, candidates)
            elif assumed and _belongs_with(frame, tensor, candidates):
                assumed.append(with_its_batch(frame, expression))
            several = counts[number] > 1 and number != -1
            if several:
                several = not stands_in(frame, tensor, [t for t, _, n in candidates if n == number])
            if indirect:  # a callee out of sight
                message = f"`{operation}` computes with its arguments together"
                assumed.append(at(frame, AssumptionKind.CALLEE_BRINGS_TOGETHER, node, message))
            if several:  # one branch only
                message = f"`{shorten(expression)}` is as this one of its branches leaves it"
                assumed.append(at(frame, AssumptionKind.BRANCH_TAKEN, expression, message))
            if indirect and (several or tensor.traits & anchor.traits & INDIRECT):
                message = "these guesses hold together"
                assumed.append(at(frame, AssumptionKind.GUESSES_HOLD_TOGETHER, node, message))
            by_index = expression in indices or anchor_node in indices
            spoken = MeetingKind.INDEX if by_index else kind
            whole = tuple(assumed)
            note(frame, node, spoken, operation, tensor, expression, anchor, anchor_node, whole)
            clashed = clashed or (strength(whole) > 0 and tensor.is_sure and anchor.is_sure)
            alone = number == -1 or (counts[number] == 1 and counts[first_number] == 1)
            if alone and not indirect:
                leave_to_callers(frame, node, kind, operation, tensor, anchor, pointwise)
        elif not indirect and Variable in (type(tensor.place), type(anchor.place)):
            add_pending(frame, node, kind, operation, tensor, anchor, pointwise)
            own = [t for t, _, n in candidates if n == number and n != -1]
            if is_given_part(tensor) or is_moved_by_another_branch(own, anchor):
                leave_undecided(
                    frame, node, kind, operation, tensor, expression, anchor, anchor_node
                )
    return clashed


def _show_companions(sizes: Tensor, candidates: list[Candidate]) -> None:
    """What meets a tensor that torch made with its shape is one; `noise = torch.randn(x.shape)`.
    What the function itself moves somewhere may come from anywhere."""
    for tensor, _, _ in candidates:
        evidence = tensor.evidence
        if tensor.place is sizes.place and evidence is not None and not evidence.was_moved:
            evidence.mark_tensor()


def _is_companion(tensor: Tensor, sizes: Tensor) -> bool:
    """A tensor that is somewhere; or what is where the sizes come from, if it is a tensor."""
    if tensor.place is None:
        return tensor.is_sure
    return tensor.place is sizes.place and not tensor.is_sure


def _others(tensor: Tensor, number: int, candidates: list[Candidate]) -> list[Candidate]:
    """What one alternative of an operand meets in the others."""
    return [
        c
        for c in candidates
        if (c[2] != number or number == -1)
        and c[0].place is not None
        and not exclude(c[0].when, tensor.when)
    ]


def _came_to_host(tensor: Tensor) -> bool:
    """The tensor was moved to the host, for what it meets there."""
    if tensor.place != CPU or tensor.origin is None:
        return False
    return any(step.kind is StepKind.MOVED for step in tensor.origin.chain())


def is_placeholder(operation: str, *operands: Tensor) -> bool:
    """One of the operands has no elements: only what joins tensors is ever done to it."""
    return any(t.traits & EMPTY for t in operands) and not joins(operation)


def _is_converted(tensor: Tensor, other: Tensor) -> bool:
    """One was made a tensor because its value was none, the other is where that value is if it is
    one: the elements of a list are all of one kind, and a value is of one kind everywhere."""
    step = tensor.origin.root if tensor.origin is not None else None
    return (
        step is not None
        and step.kind is StepKind.CREATED
        and type(step.before) is Variable
        and step.before is other.place
    )


def is_optional(frame: Frame, tensor: Tensor) -> bool:
    """The tensor comes of a parameter that the caller may leave out: the other stands in for
    that."""
    root = tensor.origin.root if tensor.origin is not None else None
    if root is None or not isinstance(root.node, cst.Param) or frame.function is None:
        return False
    default = frame.function.defaults.get(root.node.name.value)
    return type(default) is Const and default.value is None


def stands_in(frame: Frame, tensor: Tensor, others: list[Tensor]) -> bool:
    """What a method of a module makes for an input that is left out: the others are that input."""
    rest = [t for t in others if t.origin is not tensor.origin]
    return (
        frame.in_module
        and bool(rest)
        and bool(tensor.traits & DEFAULT and tensor.when)
        and all(is_optional(frame, t) for t in rest)
    )


def _fits_default(
    frame: Frame, tensor: Tensor, anchor: Tensor, number: int, candidates: list[Candidate]
) -> bool:
    """The anchor is a parameter that may be left out, and what stands in for it is where the
    tensor is: `if limits is None: limits = torch.arange(…)`."""
    return is_optional(frame, anchor) and any(
        n == number and same_place(t.place, tensor.place) and not never_meet(frame, t, tensor)
        for t, _, n in candidates
    )


def _goes_along(tensor: Tensor, number: int, candidates: list[Candidate]) -> bool:
    """One alternative of an operand comes from the same value as one of the other operand: where
    the one is taken, the other is."""
    root = tensor.origin.root.node if tensor.origin is not None else None
    return root is not None and any(
        t.origin is not None and t.origin.root.node is root and t.place == tensor.place
        for t, _, n in candidates
        if n == number
    )


def _of_callee(
    frame: Frame,
    node: cst.CSTNode,
    operation: str,
    odd: Tensor,
    expression: cst.CSTNode,
    candidates: list[Candidate],
) -> Assumptions:
    """The assumptions under which a callee, known by its name only, computes with both."""
    in_batch = _belongs_with(frame, odd, candidates)
    if _are_inputs(operation, odd, expression, candidates):
        message = f"`{operation}` is a model, by its name"
        named = at(frame, AssumptionKind.NAME_SUGGESTS_MODEL, node, message)
        return (named, with_its_batch(frame, expression)) if in_batch else (named,)
    if in_batch and _is_criterion(frame, node, operation):
        odd.show()
        return (with_its_batch(frame, expression),)
    if _is_made_up(odd) and holds("criterion-callee", operation.rpartition(".")[2]):
        message = f"`{operation}` is a loss, by its name"
        return (at(frame, AssumptionKind.NAME_SUGGESTS_MODEL, node, message),)
    message = f"`{operation}` computes with its arguments as a model does"
    return (at(frame, AssumptionKind.CALLEE_IS_MODEL, node, message),)


def _are_inputs(
    operation: str, odd: Tensor, expression: cst.CSTNode, candidates: list[Candidate]
) -> bool:
    """A model or a criterion gets what its caller moved, beside something of the kind that stayed
    behind: it computes with both. Any other callee may have them for different ends."""
    if odd.traits & KEPT or not any(holds("module-name", n) for n in operation.split(".")[-2:]):
        return False  # `model(x)`, and a method of it: `model.decode(x)`
    made = _is_made_up(odd)  # here, for the model
    if not made and not holds("input-expression", shorten(expression)):
        return False
    return any(
        t.place is not odd.place
        and t.origin is not None
        and any(step.kind is StepKind.MOVED for step in t.origin.chain())
        and (made or holds("input-expression", shorten(node)))
        for t, node, _ in candidates
    )


def belongs_to_moved_batch(frame: Frame, part: Tensor) -> bool:
    """A part of a batch of which the function moved another part: `images.to(device)` says that
    `labels` is on the host, and that both are tensors."""
    evidence, origin = part.evidence, part.origin
    if evidence is None or origin is None:
        return False
    if not (comes_with_others(frame, part) or (evidence.hints.part and part.traits & LOADED)):
        return False
    return origin.root.node in frame.kept(Moves).of_batches


def comes_with_others(frame: Frame, part: Tensor) -> bool:
    """A part of what the function is handed in as a whole, and does not fill itself; no framework
    has brought that to the device already."""
    if not is_given_part(part) or frame.unit.moves_batches or frame.function is None:
        return False
    root = part.origin.root.node if part.origin is not None else None
    return isinstance(root, cst.Param) and not fills(frame.function.node, root.name.value)


def is_left_behind(frame: Frame, part: Tensor, other: Tensor) -> bool:
    """A part of a batch meets what is where another part of the batch was moved to. What a callee
    out of sight makes of a part is none: a model's output is where the model is."""
    if part.traits & INDIRECT or part.origin is None or not belongs_to_moved_batch(frame, part):
        return False
    goals = frame.kept(Moves).of_batches[part.origin.root.node]
    return any(same_place(other.place, goal) for goal in goals)


def _belongs_with(frame: Frame, odd: Tensor, candidates: list[Candidate]) -> bool:
    """A part of a batch meets something where another part of the batch was moved to."""
    return any(t is not odd and is_left_behind(frame, odd, t) for t, _, _ in candidates)


def with_its_batch(frame: Frame, expression: cst.CSTNode) -> Assumption:
    """The assumption that a part is needed where the rest of its batch was moved to."""
    message = f"`{shorten(expression)}` is needed where the rest of its batch was moved to"
    return at(frame, AssumptionKind.BATCH_BELONGS_TOGETHER, expression, message)


def left_behind(frame: Frame, part: Tensor, expression: cst.CSTNode) -> list[Assumption]:
    """What has to be assumed of a part that stayed behind when the rest of its batch was moved. Of
    what a loader yields all that counts are tensors; what a caller hands in may hold a number."""
    assumed = [with_its_batch(frame, expression)]
    if not part.is_sure and is_given_part(part):
        message = f"`{shorten(expression)}` is a tensor"
        assumed.append(at(frame, AssumptionKind.VALUE_IS_TENSOR, expression, message))
    part.show()
    return assumed


def _is_criterion(frame: Frame, node: cst.CSTNode, operation: str) -> bool:
    """A callee out of sight that computes a loss: by its name, or since its result is gone back
    through: `loss = crit(out, y)`, `loss.backward()`."""
    if holds("criterion-callee", operation.rpartition(".")[2]):
        return True
    statement, function = frame.current, frame.function
    if not isinstance(statement, cst.Assign) or statement.value is not node or function is None:
        return False
    names = [dotted(target.target) for target in statement.targets]
    return any(name and f"{name}.backward(" in function.text for name in names)


def joins(operation: str) -> bool:
    """An operation that puts tensors together, whatever they hold."""
    return operation.rpartition(".")[2].endswith(("cat", "stack", "concat", "concatenate"))


def add_pending(
    frame: Frame,
    node: cst.CSTNode,
    kind: MeetingKind,
    operation: str,
    left: Tensor,
    right: Tensor,
    pointwise: bool,
    called: Evidence | None = None,
    assumptions: Assumptions = (),
) -> None:
    """Two operands that a caller may put apart: one note for each pair of places."""
    key = (left.place, right.place)
    pendings = frame.kept(Meetings).pendings
    old = pendings.get(key)
    if old is not None:
        old.when = either(old.when, frame.state.when)
    if (old is None and len(pendings) < MAX_PENDING) or (old and not may_meet(old)):
        pendings[key] = Pending(
            node, kind, operation, left, right, pointwise, frame.state.when, called, assumptions
        )


def is_moved_by_another_branch(branches: list[Tensor], anchor: Tensor) -> bool:
    """One of the branches of an operand leaves it where the other operand is, by a move."""
    return any(
        t.place == anchor.place and t.origin is not None and t.origin.kind is StepKind.MOVED
        for t in branches
    )


def leave_undecided(
    frame: Frame,
    node: cst.CSTNode,
    kind: MeetingKind,
    operation: str,
    odd: Tensor,
    odd_node: cst.CSTNode,
    anchor: Tensor,
    anchor_node: cst.CSTNode,
) -> None:
    """An input meets what is on a device, which a move in this function may say that it is not on,
    here or further down."""
    is_input = type(odd.place) is Variable and odd.place.kind is VariableKind.INPUT
    undecided = frame.kept(Meetings).undecided
    fits = authority(anchor) == _CHOSEN or (authority(anchor) == _MODULE and is_given_part(odd))
    if is_input and fits and len(undecided) < MAX_PENDING:
        caught = frame.control.caught
        guessed = guess(frame, anchor)
        assumed = () if guessed is None else (guessed,)
        draft = MeetingDraft(
            node, kind, operation, odd, odd_node, anchor, anchor_node, assumed, None, caught
        )
        undecided.append(draft)


def may_meet(pending: Pending) -> bool:
    """Neither operand has been shown to be no tensor meanwhile."""
    return not any(
        t.evidence is not None and t.evidence.is_host for t in (pending.left, pending.right)
    )


def leave_to_callers(
    frame: Frame,
    node: cst.CSTNode,
    kind: MeetingKind,
    operation: str,
    left: Tensor,
    right: Tensor,
    pointwise: bool,
) -> None:
    """A contradiction with a parameter that may be no tensor: a call that hands one in shows it."""
    for tensor in (left, right):
        if tensor.is_sure and not _answers_to_callers(frame, tensor):
            continue
        if type(tensor.place) is Variable and tensor.place.parameter:
            add_pending(frame, node, kind, operation, left, right, pointwise)
            return


def note(
    frame: Frame,
    node: cst.CSTNode,
    kind: MeetingKind,
    operation: str,
    left: Tensor,
    left_node: cst.CSTNode,
    right: Tensor,
    right_node: cst.CSTNode,
    assumptions: Assumptions,
    inside: Site | None = None,
) -> None:
    """Remember a contradiction: one for each cause and place that sets the device."""
    if frame.control.expecting:
        return
    root = left.origin.root.node if left.origin is not None else left_node
    key = (root, right.place)
    drafts = frame.kept(Meetings).drafts
    old = drafts.get(key)
    is_stronger = old is None or strength(assumptions) > strength(old.assumptions)
    if old is not None and (old.node is node or not is_stronger):
        guessed = not (old.left.is_sure and old.right.is_sure)
        if not (guessed and left.is_sure and right.is_sure):
            return
    caught = frame.control.caught
    drafts[key] = MeetingDraft(
        node, kind, operation, left, left_node, right, right_node, assumptions, inside, caught
    )


def _result(
    frame: Frame,
    node: cst.CSTNode,
    candidates: list[Candidate],
    anchor: Tensor,
    pointwise: bool,
    indirect: bool,
) -> Tensor:
    if frame.control.loops and _feeds(anchor):
        frame.control.loops[-1].feeds_device = True
    traits = anchor.traits & INHERITED
    scalar = SCALAR
    maybe = SCALAR | MAYBE_SCALAR
    vector = VECTOR
    shaped = SHAPED if pointwise and not indirect else 0
    empty = EMPTY
    requires = 0
    evidence: list[Evidence] = []
    sure = chosen = False
    for tensor, _, _ in candidates:
        chosen = chosen or bool(tensor.when)
        scalar &= tensor.traits
        empty &= tensor.traits
        if not tensor.traits & maybe:
            maybe = 0
        if not tensor.traits & SCALAR:
            vector &= tensor.traits
            shaped &= tensor.traits if tensor.place is anchor.place else 0
        requires |= tensor.traits & (GRAD | PARAMETER)
        if tensor.evidence is None:
            sure = True
        else:
            evidence.append(tensor.evidence)
    traits |= scalar or vector
    traits |= shaped
    traits |= empty
    if maybe and not scalar:
        traits |= MAYBE_SCALAR
    if requires:
        traits |= GRAD
    if indirect:
        traits |= INDIRECT
    if sure:
        known = None
    elif len(evidence) == 1:
        known = evidence[0]
    else:
        known = Evidence(parents=tuple(evidence[:4]))
    origin = Provenance(StepKind.COMPUTED, node, frame.unit.source, anchor.origin)
    origin.mixes = any(_is_from_elsewhere(tensor, anchor) for tensor, _, _ in candidates)
    if chosen:
        origin.when = _meanwhile(candidates, anchor)
    return Tensor(anchor.place, origin, traits, known)


def _is_from_elsewhere(tensor: Tensor, anchor: Tensor) -> bool:
    """An operand that was made by another call than the anchor, and has to stay beside it: were the
    anchor made on another device, the two would not meet."""
    if tensor is anchor or tensor.origin is None or anchor.origin is None or _exempt(tensor):
        return False
    apart = tensor.origin.root.node is not anchor.origin.root.node
    return apart and same_place(tensor.place, anchor.place) and tensor.place is not None


def _meanwhile(candidates: list[Candidate], anchor: Tensor) -> PathCondition:
    """What holds of a result that is where the anchor is: what holds of that, and of each operand
    beside it."""
    operands: dict[int, PathCondition] = {}
    own = next(number for tensor, _, number in candidates if tensor is anchor)
    for tensor, _, number in candidates:
        if number != own and not exclude(tensor.when, anchor.when):
            held = operands.get(number)
            operands[number] = tensor.when if held is None else either(held, tensor.when)
    when = anchor.when
    for held in operands.values():
        when = both(held, when)
    return when


def _feeds(tensor: Tensor) -> bool:
    """An operation on it runs on an accelerator, in the accelerated world."""
    place = tensor.place
    if type(place) is Device:
        return place.is_accelerator
    return type(place) is Variable and tensor.is_sure
