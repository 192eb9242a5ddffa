"""Objects of library classes that are no modules: where they live, how they move, what they hold.

A batch of a tokenizer, a graph, a distribution, a packed sequence, an `Accelerator`: what each
class does is in devlint.knowledge (`[classes]`). An object that holds tensors has a stand-in for
them, so that it meets what its tensors meet.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import HOST, Const, Host
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import CPU, Placement
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import DEFAULT, LOADED, MAYBE_SCALAR, SCALAR, Tensor
from devlint.inference.domain.value import UNKNOWN, Value, alternatives, is_untold
from devlint.inference.models.constructors import CHAINS
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.library_functions import apply_call
from devlint.inference.models.library_objects import class_of, part, result_of_attribute
from devlint.inference.models.module_places import carry
from devlint.inference.models.moves.objects import move_of_object
from devlint.inference.models.operands import operands_of
from devlint.inference.program.events import HostReads
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import FunctionValue, Instance
from devlint.inference.syntax.text import dotted, shorten
from devlint.knowledge import Call


def _moves_by(frame: Frame, name: str) -> str:
    return next((info.to for info in class_of(frame, name) if info.to), "")


def elements(frame: Frame, node: cst.CSTNode, holder: Instance) -> Value:
    """What a mapping of names to tensors holds: `batch["x"]`, `**batch`."""
    if holder.tensor is None or result_of_attribute(frame, holder.library, "*") is None:
        return UNKNOWN
    found = part(frame, node, holder.tensor)
    if found.evidence is not None:
        found.evidence = Evidence()  # a part that has parts, as of a graph of several kinds
    return found


def row(frame: Frame, node: cst.CSTNode, holder: Instance, index: Value) -> Value | None:
    """`graphs[0]`: what a data set read, on the host until somebody moves that, or the data set; by
    several numbers a data set gives another one. None where no table says what a row is."""
    is_one = type(index) is Const or (type(index) is Host and not index.array)
    known = _row_method(frame, holder) if is_one else None
    if known is None or not known.instance:
        return None
    if _may_be_moved(frame, node, holder) or holds("row-moving-text", frame.unit.source.text):
        return holding(Instance(None, known.instance), Tensor(None, holder.origin, 0, Evidence()))
    origin = frame.origin(StepKind.LOADED, node, None, "what a data set reads is on the CPU")
    return holding(Instance(None, known.instance), Tensor(CPU, origin, LOADED, Evidence(True)))


def _may_be_moved(frame: Frame, node: cst.CSTNode, holder: Instance) -> bool:
    """A library's data set is where it was brought; one of the project may bring rows elsewhere, or
    itself be brought there."""
    if holder.info is None:
        return holder.place != CPU
    name = dotted(node.value) if isinstance(node, cst.Subscript) else ""
    text = frame.unit.source.text
    moves = bool(name) and any(f"{name}{move}(" in text for move in (".to", ".cuda"))
    return moves or holds("placing-text", holder.info.text)


def _row_method(frame: Frame, holder: Instance) -> Call | None:
    """What gives a row of a library's data set, or of the project's own that inherits it."""
    info = holder.info
    if info is not None and info.method("__getitem__") is not None:
        return None
    owners = [holder.library] if info is None else info.library_bases
    knowledge = frame.unit.context.knowledge
    found = (knowledge.method_of(owner, "__getitem__") for owner in owners)
    return next((method for method in found if method is not None), None)


def assign_item(
    frame: Frame, target: cst.Subscript, holder: Instance, value: Value, source: cst.CSTNode
) -> None:
    """`object[key] = value`: what writes a file reads the value on the host. Of a mapping of which
    one part is brought elsewhere by hand, the others that count are, too."""
    known = frame.unit.context.knowledge.method_of(holder.library, "__setitem__")
    if known is not None and known.reads_host:
        frame.emit(HostReads(target, shorten(target), value, source))
    held, path = holder.tensor, dotted(target.value)
    if held is None or not path or is_untold(elements(frame, target, holder)):
        return
    if any(type(part) is Tensor and part.place != held.place for part in alternatives(value)):
        frame.bind(path, holding(holder, held.with_place(None, held.origin)))


def call_method(
    frame: Frame, node: cst.Call, holder: Instance, name: str, arguments: Arguments
) -> Value | None:
    """`object.name(…)`, as far as the tables say."""
    if name in ("to", "cuda", "cpu") and _moves_by(frame, holder.library):
        return _move(frame, node, holder, name, arguments)
    if holder.library in CHAINS and name == "__call__":
        return _in_turn(frame, node, holder, arguments)
    known = frame.unit.context.knowledge.method_of(holder.library, name)
    if known is None:
        if name in ("items", "values", "keys", "get", "pop"):
            return _of_mapping(frame, node, holder, name)
        if name == "clone":
            return holder
        return None
    if known.moves:
        return _moved(frame, node, holder.place, arguments)

    if holder.library.startswith("torch."):
        for value, _ in operands_of(known, arguments):
            for given in tensors_in(value):
                given.show()  # torch's own objects compute with tensors: `prior.log_prob(z)`
    subject = node.func.value if isinstance(node.func, cst.Attribute) else node.func
    receiver = (holder.tensor, subject) if holder.tensor is not None else None
    found = apply_call(frame, node, shorten(node.func), known, arguments, receiver)
    return _drawn(found, arguments) if "sample_shape" in known.params else found


def _drawn(found: Value, arguments: Arguments) -> Value:
    """Samples of a distribution of numbers: one number, unless a shape is asked for."""
    shape = arguments.get(0, "sample_shape")
    if type(found) is not Tensor or not found.traits & SCALAR or shape is None:
        return found
    if type(shape) is Sequence and shape.items == []:
        return found
    told = (type(shape) is Host and shape.whole) or type(shape) is Sequence
    traits = found.traits & ~SCALAR | (0 if told else MAYBE_SCALAR)
    return Tensor(found.place, found.origin, traits, found.evidence)


def _in_turn(frame: Frame, node: cst.Call, chain: Instance, arguments: Arguments) -> Value:
    """What the last link makes of what those before it made."""

    if chain.items is None or not chain.items.items or len(arguments.positional) != 1:
        return UNKNOWN
    value, argument = arguments.positional[0]
    for link in chain.items.items:
        if type(link) not in (Instance, FunctionValue):
            return UNKNOWN  # out of sight: it may move what it is given
        value = frame.interpreter.call(frame, node, link, Arguments([(value, argument)], {}))
    if type(value) is Tensor and value.place == CPU and value.traits & DEFAULT:
        # An image that was converted, and no factory's tensor, which could be made elsewhere.
        origin = frame.origin(StepKind.LOADED, node, None, "converted here on the host")
        return Tensor(CPU, origin, LOADED, value.evidence)
    return value


def _of_mapping(frame: Frame, node: cst.Call, holder: Instance, name: str) -> Value:
    inner = elements(frame, node, holder)
    if is_untold(inner) or name in ("get", "pop"):
        return inner
    if name == "keys":
        return HOST
    item = inner if name == "values" else Sequence([HOST, inner], None, "tuple")
    return Sequence(None, item, "iterator")


def _move(frame: Frame, node: cst.Call, holder: Instance, name: str, arguments: Arguments) -> Value:
    """A move of an object: it gives back a moved one, and the name of one that moves in place
    holds that."""

    assert isinstance(node.func, cst.Attribute)
    in_place = _moves_by(frame, holder.library) == "in-place"
    held = holder.tensor if holder.tensor is not None else Tensor(holder.place, holder.origin)
    moved = move_of_object(frame, node, held, name, arguments, in_place)
    instance = Instance(None, holder.library, False, moved.place, moved.origin)
    if holder.tensor is not None:
        instance.tensor = moved
    path = dotted(node.func.value)
    if in_place and path:
        frame.bind(path, instance)
    return instance


def holding(holder: Instance, tensor: Tensor) -> Instance:
    """Such an object that holds tensors like this one."""
    instance = Instance(None, holder.library, False, tensor.place, tensor.origin)
    instance.tensor = tensor
    return instance


def _moved(frame: Frame, node: cst.Call, place: Placement, arguments: Arguments) -> Value:
    """`accelerator.prepare(model, optimizer, loader)`: its arguments, where it is."""
    if arguments.open:
        return UNKNOWN
    found = [carry(frame, node, value, place) for value, _ in arguments.positional]
    return found[0] if len(found) == 1 else Sequence(found, None, "tuple")
