"""Where the host waits for the device, and where it reads device memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

import libcst as cst

from devlint.inference.confidence.policy import strength
from devlint.inference.conventions import holds
from devlint.inference.domain.assumptions import SHOWN_BY_CALLS, Assumption, AssumptionKind
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import Const, Host
from devlint.inference.domain.path_conditions import exclude
from devlint.inference.domain.placement import CPU, Variable, VariableKind
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import COPYING, INDIRECT, Tensor
from devlint.inference.domain.value import UNKNOWN, Value, alternatives
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.places import is_model_output, is_output, on_accelerator
from devlint.inference.models.unification.accelerated_code import in_test, with_device_data
from devlint.inference.program import options
from devlint.inference.program.assumption_sites import (
    at,
    branch_taken,
    guess,
    is_out_of_sight,
    of_value,
)
from devlint.inference.program.constructors import is_being_made
from devlint.inference.program.device_awareness import is_for_host, works_on_device
from devlint.inference.program.events import (
    Formatted,
    HostDemanded,
    HostNeeds,
    HostReadNote,
    HostReads,
    HostWaits,
    LateReadNote,
    NumberTaken,
    PlaceSettled,
    SyncNote,
    TensorRead,
    Tested,
)
from devlint.inference.program.frames import Frame
from devlint.inference.program.predicates import NO_TENSOR, is_no_tensor
from devlint.inference.program.traffic import HostCopies, HostInputs
from devlint.inference.syntax.text import called_name, dotted, every, names_in, shorten

_GUESSED = frozenset(
    {"float()", "int()", "bool()", "round()", "f-string", "print()", "range()"}
    | {"str()", ".format()", "%"}
)


_BY_NAME = AssumptionKind.NAME_SUGGESTS_MODEL


_CONVERTS = frozenset({"float", "int", "round", "str", "bool", "max", "min", "abs", "math.exp"})


def sync(frame: Frame, event: HostWaits) -> None:
    """The host waits for a value that lives on a device. `inside`: in a callee, there."""
    node, call, value, value_node, inside = event
    for tensor in alternatives(value):
        if type(tensor) is not Tensor:
            continue
        frame.emit(PlaceSettled(tensor))
        host_needs(frame, HostNeeds(tensor))
        if tensor.traits & COPYING:
            late_read(frame, TensorRead(node, tensor, value_node))
        if call in _GUESSED and _is_guess(frame, tensor):
            continue
        if on_accelerator(tensor) >= 0 or (tensor.place is None and tensor.is_sure):
            frame.kept(HostCopies).landing.clear()  # earlier copies on the stream have landed, too
        if on_accelerator(tensor) >= 0 or (tensor.place is None and not frame.unit.host_script):
            consumer = _consumer(frame)
            frame.notes.append(
                SyncNote(
                    node,
                    call,
                    tensor,
                    value_node,
                    frame.control.loop,
                    options.is_cold(frame),
                    guards_error=frame.control.guarding,
                    evaluates=frame.control.evaluating,
                    for_logging=holds("showing-callee", consumer)
                    or type(frame.current) is cst.AugAssign,
                    needed=_is_needed(frame, consumer),
                    inside=inside,
                    perhaps=any(type(v) in (Const, Host) for v in alternatives(value)),
                )
            )
            return


def formatted(frame: Frame, event: Formatted) -> None:
    """Values are written into a text, one by one or as a tuple: the host reads each tensor."""
    node, call, value, value_node = event
    if type(value) is not Sequence or value.items is None:
        sync(frame, HostWaits(node, call, value, value_node))
        return
    elements = value_node.elements if isinstance(value_node, cst.Tuple) else ()
    for index, part in enumerate(value.items):
        there = elements[index].value if len(elements) == len(value.items) else value_node
        sync(frame, HostWaits(node, call, part, there))


def _is_guess(frame: Frame, tensor: Tensor) -> bool:
    """What an unknown callee returned, or arithmetic with it: it may be a number."""
    if not tensor.traits & INDIRECT or tensor.origin is None:
        return False
    calls = (step.node for step in tensor.origin.chain() if isinstance(step.node, cst.Call))
    return is_out_of_sight(frame, next(calls, tensor.origin.node))


def _consumer(frame: Frame) -> str:
    """The function that gets the value, beyond mere conversions of numbers."""
    for call in reversed(frame.control.consumers):
        name = dotted(call.func) or (
            call.func.attr.value if isinstance(call.func, cst.Attribute) else "?"
        )
        if name not in _CONVERTS:
            return name
    return ""


def _is_needed(frame: Frame, consumer: str) -> bool:
    """The host works on with the value, as far as the statement shows."""
    if consumer:
        return not holds("keeping-callee", consumer)
    statement = frame.current
    if isinstance(statement, cst.Assign):
        return all(isinstance(t.target, (cst.Name, cst.Tuple)) for t in statement.targets)
    return isinstance(statement, (cst.Return, cst.For, cst.AnnAssign))


def test_of(frame: Frame, event: Tested) -> None:
    """`if t:`, `while t:`, `assert t`: bool() of a tensor."""
    node, value, keyword = event
    for tensor in alternatives(value):
        # A name that may hold a tensor mostly asks whether it holds anything.
        if type(tensor) is not Tensor or _is_guess(frame, tensor):
            continue
        shown = type(node) is cst.Comparison and tensor.is_sure
        shown = shown or (value is tensor and is_computed(frame, tensor))
        if _is_counter(frame, tensor):
            continue
        if tensor.evidence is None or shown or _is_result(node) or _is_of_reduced(frame, node):
            sync(frame, HostWaits(node, keyword, tensor, node))
            return


def _is_counter(frame: Frame, tensor: Tensor) -> bool:
    """The tensor is made of a name that the function counts with: `step += 1`. A model may be told
    the step, and is no reason to take it for a tensor."""
    if tensor.evidence is None or tensor.origin is None or frame.function is None:
        return False
    nodes = [step.node for step in tensor.origin.chain()]
    return any(
        frame.function.says("counted-name", name.value)
        for node in nodes
        if isinstance(node, cst.BaseExpression)
        for name in every(node, cst.Name)
    )


def is_computed(frame: Frame, tensor: Tensor) -> bool:
    """The value is a tensor for certain: not only used as one, but made by an operation on
    tensors."""
    if tensor.evidence is None:
        return True
    if not tensor.is_sure or tensor.origin is None or tensor.origin.kind is not StepKind.COMPUTED:
        return False
    node = tensor.origin.node
    if isinstance(node, cst.Call):
        func = node.func
        name = func.attr.value if isinstance(func, cst.Attribute) else ""
        return name in frame.unit.context.knowledge.methods
    return isinstance(node, (cst.BinaryOperation, cst.Comparison))


def of_number(frame: Frame, event: NumberTaken) -> None:
    """A tensor is taken where a number is wanted: for a size, a bound, a comparison."""
    value = event.value
    if type(value) is not Tensor:
        return
    picked = event.call == "slice bound" and isinstance(event.value_node, cst.Subscript)
    if value.is_declared or is_computed(frame, value) or picked:
        before = len(frame.notes)
        sync(frame, HostWaits(event.node, event.call, value, event.value_node))
        for note in frame.notes[before:]:
            if type(note) is SyncNote and event.is_operand:
                note.is_operand, note.needed = True, False


def _is_order(node: cst.CSTNode) -> TypeGuard[cst.Comparison]:
    """`a < b`, `a == b`, and no question of identity or membership."""
    return isinstance(node, cst.Comparison) and not any(
        isinstance(target.operator, (cst.Is, cst.IsNot, cst.In, cst.NotIn))
        for target in node.comparisons
    )


def _is_result(node: cst.CSTNode) -> bool:
    """What is tested is computed there, and no plain name."""
    if isinstance(node, cst.Comparison):
        if not _is_order(node):
            return False
        # `if index == 0`, `if count > limit`: plain names are mostly numbers
        sides = (node.left, *(target.comparator for target in node.comparisons))
        return any(isinstance(side, (cst.Call, cst.Subscript)) for side in sides)
    return isinstance(node, cst.Call)


_REDUCING = frozenset({"sum", "any", "all", "max", "min", "mean", "norm", "count_nonzero"})


def _is_of_reduced(frame: Frame, node: cst.CSTNode) -> bool:
    """`count == 0`, of `count = mask.sum()`: a tensor, if the mask turns out to be one."""
    sides = [node.left, *(t.comparator for t in node.comparisons)] if _is_order(node) else []
    held = (frame.lookup(side.value) for side in sides if isinstance(side, cst.Name))
    for value in held:
        made = value.origin.node if type(value) is Tensor and value.origin is not None else None
        if isinstance(made, cst.Call) and called_name(made) in _REDUCING:
            return True
    return False


def read_by_host(frame: Frame, event: HostReads | HostDemanded) -> None:
    """Something that reads host memory, or demands that it is of the host, gets a value: it fails
    if that is on an accelerator."""
    node, sink, value, value_node = event
    found = [
        tensor
        for tensor in tensors_in(value)
        if not exclude(tensor.when, frame.state.when) and not _is_of_array(frame, tensor)
    ]
    for tensor in found:
        frame.emit(PlaceSettled(tensor))
    records = _is_records(value)
    for tensor in found:
        host_needs(frame, HostNeeds(tensor))
        if records:
            continue
        if type(event) is HostReads:
            frame.kept(HostInputs).made.update(_made_of(tensor))
        if tensor.traits & COPYING and type(event) is HostReads:
            late_read(frame, TensorRead(node, tensor, value_node))
        if on_accelerator(tensor) < 0 or is_being_made(frame, tensor):
            continue
        assumed: list[Assumption] = []
        if _is_input(tensor):
            assumed.append(_input_on_accelerator(frame, sink, tensor))
            if frame.unit.feeds_host:
                assumed.append(with_device_data(frame))
        if _is_open(assumed):
            frame.kept(HostInputs).inputs.add(tensor.place)
        beside = _beside(value, tensor)
        # What is an array now and then is handed to NumPy where it is one.
        may_be_array = sink != ".numpy()" and any(type(v) is Host and v.array for v in beside)
        if len(alternatives(value)) > 1:
            assumed.append(branch_taken(frame, value_node, tensor))
        chosen = frame.control.choosing or may_be_array
        if chosen:
            message = f"`{shorten(value_node)}` is a tensor here, and no array"
            assumed.append(at(frame, AssumptionKind.VALUE_IS_TENSOR, value_node, message))
        guessed = guess(frame, tensor)
        if guessed is not None and not chosen:
            assumed += [guessed, *_of_output(frame, node, tensor, assumed)]
        if frame.unit.is_test and type(tensor.place) is Variable:
            assumed.append(in_test(frame))
        is_weak = _is_open(assumed)
        is_list = type(value) is Sequence  # `np.array(self.losses)`
        returns = _goes_by_its_device(frame, value_node)
        shows = sink == ".numpy()" or is_list or returns
        inner = tensor.evidence is not None and tensor.evidence.is_inner
        if guessed is None and not chosen and shows and is_weak and not inner:
            surer: Assumption | None = None
            if not is_list and (returns or works_on_device(frame, tensor)):
                message = f"the code around `{shorten(value_node)}` works on an accelerator"
                surer = at(frame, AssumptionKind.CALLER_IS_ACCELERATED, value_node, message)
                is_weak = False
            elif _is_detached(tensor) and not is_for_host(frame):
                message = "{} is detached since a model is trained with it, on an accelerator"
                kind = AssumptionKind.DETACHED_INPUT_IS_ACCELERATED
                surer = of_value(frame, kind, tensor, message)
            if surer is not None:
                assumed = [surer if each.kind in SHOWN_BY_CALLS else each for each in assumed]
        if is_weak and tensor.is_sure and _is_input(tensor):
            frame.kept(HostInputs).unshown.add(tensor.place)
        is_open = is_weak and not frame.control.choosing and not may_be_array
        is_open = is_open and not frame.unit.is_test
        is_open = is_open and (guessed is None or guessed.kind is _BY_NAME)
        turned_on = options.turned_on(frame, (*frame.state.when, *tensor.when))
        caught, surmised = frame.control.caught, (*assumed, *turned_on)
        noted = (node, sink, tensor, value_node, surmised, caught, is_open, is_list)
        frame.notes.append(HostReadNote(*noted))
        return


def _made_of(tensor: Tensor) -> Iterator[cst.CSTNode]:
    """The creation and the operations that a value comes from, since it was moved."""
    for step in tensor.origin.chain() if tensor.origin is not None else ():
        if step.kind is StepKind.MOVED:
            return
        if step.kind in (StepKind.CREATED, StepKind.COMPUTED):
            yield step.node


def _goes_by_its_device(frame: Frame, node: cst.CSTNode) -> bool:
    """The function asks what it reads for its device: `torch.tensor(rank(x.numpy())).to(x.device)`
    goes back to where `x` was, and that need not be the host."""
    function = frame.function
    names = {each.removesuffix(".detach") for each in names_in(node)} - {"self"}
    return function is not None and any(function.says("device-read-of", each) for each in names)


def _beside(value: Value, tensor: Tensor) -> tuple[Value, ...]:
    """The alternatives of which a tensor is one: of a value, or of an element of it."""
    own = alternatives(value)
    if any(each is tensor for each in own):
        return own
    held = (part for each in own if type(each) is Sequence for part in each.children())
    around = (_beside(part, tensor) for part in held)
    return next((found for found in around if any(v is tensor for v in found)), own)


def _is_of_array(frame: Frame, tensor: Tensor) -> bool:
    """It is, or was computed of, an input that a test says is no tensor here, or of which a part is
    none: parts of one object are of one kind. `y = x.clone() if torch.is_tensor(x) else x.copy()`
    So are the inputs of one call that nothing declares: `scaled(x, std)`.
    """
    input_place = tensor.place
    if type(input_place) is not Variable or input_place.kind is not VariableKind.INPUT:
        return False
    arrays = {is_no_tensor(fact) for fact in (*tensor.when, *frame.state.when)} - {""}
    asked = (frame.state.env.get(NO_TENSOR + path, UNKNOWN) for path in arrays)
    places = {v.place for value in asked for v in alternatives(value) if type(v) is Tensor}
    if input_place in places or input_place.name in arrays:
        return True
    own = frame.function.parameters if frame.function is not None else ()
    return not tensor.is_declared and any(
        each.name in arrays or _was_array(frame, each.name) for each in own
    )


def _was_array(frame: Frame, parameter: str) -> bool:
    """On this path the function has made a tensor of what it was handed."""
    held = alternatives(frame.state.env.get(parameter, UNKNOWN))
    found = [v for v in held if type(v) is not Tensor or not exclude(v.when, frame.state.when)]
    is_told = 0 < len(found) < len(held)  # on another one it had no need to
    return is_told and all(type(v) is Tensor and v.was_converted for v in found)


def _is_open(assumed: list[Assumption]) -> bool:
    return strength(assumed) == 0 or any(each.kind in SHOWN_BY_CALLS for each in assumed)


def _input_on_accelerator(frame: Frame, sink: str, tensor: Tensor) -> Assumption:
    """The assumption that an input is on an accelerator, for which some uses of it speak."""
    measured = sink.endswith("pack_padded_sequence") and _is_measured(frame, tensor)
    if measured or (sink != ".numpy()" and _is_gradient(tensor)) or _was_brought(tensor):
        message = "{} is where the model is"
        return of_value(frame, AssumptionKind.CALLER_IS_ACCELERATED, tensor, message)
    if sink.endswith("pack_padded_sequence") and _is_of_batch(frame, tensor):
        message = "{} belongs to a batch, all of which is where the model is"
        return of_value(frame, AssumptionKind.BATCH_BELONGS_TOGETHER, tensor, message)
    if _is_promised(frame, tensor):
        message = "{} is declared a tensor, and callers hand in one on an accelerator"
        return of_value(frame, AssumptionKind.DECLARED_TENSOR_IS_ANYWHERE, tensor, message)
    message = "callers hand in {} on an accelerator"
    return of_value(frame, AssumptionKind.INPUT_MAY_BE_ACCELERATED, tensor, message)


def _was_brought(tensor: Tensor) -> bool:
    """It is made of what was brought to where the input is: `net(x.to(net.device))`. Whoever writes
    that counts with a device."""
    steps = tensor.origin.chain() if tensor.origin is not None else ()
    whole = (each for step in steps for each in (step.within or step).chain())
    return bool(tensor.traits & INDIRECT) and any(each.kind is StepKind.MOVED for each in whole)


def _is_promised(frame: Frame, tensor: Tensor) -> bool:
    """It follows a parameter that is declared a tensor, of a function that stands for itself and
    shows nothing: who imports it may hand in one from anywhere. What a method gets is its object's
    business, and a part of a tuple is of the kind of the other parts."""
    function = frame.function
    if not tensor.is_declared or function is None or function.info is not None:
        return False
    own = (p for p in function.parameters if p.variable is tensor.place)
    return any(type(p.value) in (Tensor, Mapping) for p in own) and not is_for_host(frame)


_OF_CALLERS = SHOWN_BY_CALLS | {AssumptionKind.CALLER_IS_ACCELERATED}


def _of_output(
    frame: Frame, node: cst.CSTNode, tensor: Tensor, assumed: list[Assumption]
) -> Iterator[Assumption]:
    """What has to be assumed of what came back from a callee out of sight."""
    of_callers = {each.kind for each in assumed} <= _OF_CALLERS
    of_input = of_callers and is_model_output(frame, tensor)
    if of_input or (strength(assumed) == 2 and is_output(frame, tensor)):
        message = "the callee that returns it is a model, by its name"
        yield at(frame, AssumptionKind.NAME_SUGGESTS_MODEL, node, message)
    else:
        message = "what the callee returns is no array"
        yield at(frame, AssumptionKind.GUESSES_HOLD_TOGETHER, node, message)


def _is_records(value: Value) -> bool:
    """A list of dicts: a table or an array of it keeps their values as they are."""
    return type(value) is Sequence and any(type(v) is Mapping for v in alternatives(value.any()))


def _is_measured(frame: Frame, tensor: Tensor) -> bool:
    """Lengths that `forward` counts in its input: tensors, where that is, as the module is."""
    steps = tensor.origin.chain() if frame.is_forward and tensor.origin is not None else ()
    called = [step.node.func for step in steps if isinstance(step.node, cst.Call)]
    counted = any(isinstance(f, cst.Attribute) and f.attr.value == "sum" for f in called)
    if counted:
        tensor.show()
    return counted


def _is_of_batch(frame: Frame, tensor: Tensor) -> bool:
    """An entry of what the method of a module is given, of which it reads others, too: `x["text"]`
    and `x["lengths"]`. Whoever brings a batch to a model brings all of it."""
    if not frame.in_module or frame.function is None or type(tensor.place) is not Variable:
        return False
    name = tensor.place.name
    entries = {_entry_of(node, name) for node in every(frame.function.node, cst.Subscript)}
    return len(entries - {""}) > 1


def _entry_of(node: cst.Subscript, name: str) -> str:
    """`"lengths"` of `x["lengths"]`, as it is written; "" where it is no entry of `x`."""
    of_it = isinstance(node.value, cst.Name) and node.value.value == name
    return next((key.value for key in every(node.slice[0], cst.SimpleString)), "") if of_it else ""


# What is read of a parameter's gradient: itself, or all their norms in one number.
_OF_GRADIENTS = frozenset({"grad", "clip_grad_norm_", "clip_grad_norm", "get_total_norm"})


def _is_gradient(tensor: Tensor) -> bool:
    """The gradient of what a caller hands in, a list of parameters, say, or the norm of it: it is
    where they train."""
    steps = list(tensor.origin.chain()) if tensor.origin is not None else []
    read = {step.node.attr.value for step in steps if isinstance(step.node, cst.Attribute)}
    called = (dotted(step.node.func) for step in steps if isinstance(step.node, cst.Call))
    read.update(name.rpartition(".")[2] for name in called)
    return tensor.is_sure and not read.isdisjoint(_OF_GRADIENTS)


def _is_detached(tensor: Tensor) -> bool:
    """`t.detach().view(-1).numpy()`: whoever detaches a tensor has autograd in mind, and whoever
    does not copy it to the host forgot the other half of it."""
    steps = tensor.origin.chain() if tensor.origin is not None else ()
    called = (step.node.func for step in steps if isinstance(step.node, cst.Call))
    return any(isinstance(f, cst.Attribute) and f.attr.value == "detach" for f in called)


def _is_input(tensor: Tensor) -> bool:
    return type(tensor.place) is Variable and tensor.place.kind is VariableKind.INPUT


def host_needs(frame: Frame, event: HostNeeds) -> None:
    """The host makes use of a tensor: the move that brought it there was for something."""
    tensor = event.tensor
    if tensor.place == CPU and tensor.origin is not None:
        for step in tensor.origin.chain():
            if step.kind is StepKind.MOVED:
                frame.kept(HostCopies).needed.add(step.node)
                return


def late_read(frame: Frame, event: TensorRead) -> None:
    """The host reads a copy that may not have landed."""
    node, tensor, value_node = event
    if tensor.origin is None:
        return
    landing = frame.kept(HostCopies).landing
    for step in tensor.origin.chain():
        if step.node in landing:
            landing.discard(step.node)
            frame.notes.append(LateReadNote(step.node, node, tensor, value_node))
            return
