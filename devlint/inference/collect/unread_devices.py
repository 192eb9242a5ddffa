"""Devices that a function takes and never reads, though it makes tensors.

    def draw(count, device=None):
        sample = Sample()
        sample.values = torch.rand(count)      # on the default device
        return sample

The law: nothing in the function reads the parameter, and in it a factory makes a tensor on the
default device that leaves it, or a call leaves a callee of the project, which takes a device under
the same name, to its default. A signature may be asked for by others: by a base, by what the method
stands for in subclasses, or by a decorator.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.host import Const, DeviceValue, External
from devlint.inference.domain.provenance import Site, StepKind
from devlint.inference.domain.tensors import DEFAULT, SCALAR, Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import DroppedArgument, Neglect
from devlint.inference.program.accelerator_notes import Mentions
from devlint.inference.program.declarations import ClassInfo, Function, classes_of
from devlint.inference.program.events import DefaultTaken, FunctionReturns, TensorMade
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.program.values import ClassValue
from devlint.inference.syntax.text import code, dotted, every, shorten


class _Notes:
    """What the functions of a file make and call without a device."""

    def __init__(self, unit: Unit) -> None:
        self.made: dict[Function, list[cst.Call]] = {}
        self.calls: dict[Function, list[DefaultTaken]] = {}


def made(frame: Frame, event: TensorMade) -> None:
    """A factory made a tensor on the default device."""
    node, tensor = event
    if frame.function is not None and tensor.traits & DEFAULT and not tensor.traits & SCALAR:
        frame.unit.kept(_Notes).made.setdefault(frame.function, []).append(node)


def of_default(frame: Frame, event: DefaultTaken) -> None:
    """A call leaves out a device."""
    if frame.function is not None and event.parameter.is_device and type(event.node) is cst.Call:
        frame.unit.kept(_Notes).calls.setdefault(frame.function, []).append(event)


def of_function(frame: Frame, event: FunctionReturns) -> None:
    """A function that takes a device and never reads it."""
    function, result = event
    node = function.node
    if (
        not isinstance(node, cst.FunctionDef)
        or frame.unit.kept(Mentions).meant
        or frame.unit.is_test
    ):
        return
    names = [p.name for p in function.parameters if p.is_device and p.name != "map_location"]
    unread = [name for name in names if _makes(frame, function, result) and _is_unread(node, name)]
    for name in unread:
        call, callee = next(_without_device(frame, function, name, result), (None, None))
        if call is None or call in frame.unit.dropped:
            continue  # there is none, or more is known of it
        taken = None if callee is None else Site(callee.unit.source, callee.node.params)
        frame.unit.dropped[call] = DroppedArgument(
            frame.site(call),
            function.name,
            name,
            shorten(call.func),
            taken,
            neglect=Neglect.UNUSED,
        )


def _makes(frame: Frame, function: Function, result: Value) -> bool:
    notes = frame.unit.kept(_Notes)
    noted = function in notes.calls or function in notes.made
    return noted or _made_by_default(frame, result) is not None


def _is_unread(node: cst.FunctionDef, name: str) -> bool:
    if any(each.value == name for each in every(node.body, cst.Name)):
        return False  # in most functions this comes early
    body = code(node.body)
    return not any(holds("mention", body, each) for each in (name, "locals"))


def _without_device(
    frame: Frame, function: Function, name: str, result: Value
) -> Iterator[tuple[cst.Call, Function | None]]:
    """What makes something in the function, and is not told where; and the function of the project
    that does."""
    returned = _made_by_default(frame, result)
    if returned is not None:
        yield returned, None
    if is_demanded(frame.unit, function, name):
        return
    notes = frame.unit.kept(_Notes)
    for node, callee, left_out, _ in notes.calls.get(function, ()):
        if left_out.name == name and _is_chosen(left_out.default) and isinstance(node, cst.Call):
            yield node, callee
    made = notes.made.get(function, ())
    if made and not _is_of_module(function) and not function.says("moves-in-text"):
        kept = set(_kept(frame, function.node.body))
        yield from ((call, None) for call in made if call in kept)


def is_demanded(unit: Unit, function: Function, parameter: str) -> bool:
    """Others ask for the parameter: a base or a subclass with such a method, a base out of sight,
    or whoever gets the function from a decorator."""
    info = function.info
    if not _NO_DEMAND.issuperset(function.decorators):
        return True
    if info is None or function.name == "__init__":
        return False
    if not all(
        type(base) is ClassInfo or _is_known(base) for i in info.lineage() for base in i.bases
    ):
        return True
    heirs = [each for each in classes_of(unit) if info in each.lineage()]
    methods = [each.methods.get(function.name) for each in (*info.lineage(), *heirs)]
    others = [each for each in methods if each is not None and each is not function]
    return any(parameter in _names(each.node.params) for each in others)


# Decorators that leave the signature of a function to itself.
_NO_DEMAND = frozenset({"staticmethod", "classmethod", "torch.no_grad", "torch.inference_mode"})


def _is_known(base: object) -> bool:
    return type(base) is External and (
        base.name.startswith("torch.") or holds("deviceless-base", base.name)
    )


def _names(params: cst.Parameters) -> set[str]:
    return {each.name.value for each in (*params.params, *params.kwonly_params)}


def _is_chosen(default: Value | None) -> bool:
    """A device of its own, and not that of what comes in: `device="cuda:0"`."""
    if type(default) is Const:
        return isinstance(default.value, str)
    return type(default) is DeviceValue and default.place is not None


def _is_of_module(function: Function) -> bool:
    """A constructor of a module, which is moved with all that it has."""
    return function.name == "__init__" and function.info is not None and function.info.is_module


def _kept(frame: Frame, body: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What an object keeps: `x.t = made`, `setattr(x, name, made)`, `return Shares(made)`."""
    for assign in every(body, cst.Assign):
        if any(isinstance(target.target, cst.Attribute) for target in assign.targets):
            yield assign.value
    for call in every(body, cst.Call):
        if dotted(call.func) == "setattr" or type(frame.lookup(dotted(call.func))) is ClassValue:
            yield from (argument.value for argument in call.args)


def _made_by_default(frame: Frame, result: Value) -> cst.Call | None:
    """The factory of what is returned on the default device, whatever comes in."""
    tensors = [v for v in alternatives(result) if type(v) is not Const]
    made: cst.Call | None = None
    for tensor in tensors:
        if type(tensor) is not Tensor or not tensor.traits & DEFAULT or tensor.traits & SCALAR:
            return None
        root = tensor.origin.root if tensor.origin is not None else None
        if root is None or root.kind is not StepKind.CREATED or root.source != frame.unit.source:
            return None
        made = root.node if isinstance(root.node, cst.Call) else None
    return made
