"""Python data made a device tensor in each call: `torch.tensor(self.rows, device=x.device)`.

The data are on the host, so each call copies them over the bus, and the host waits for the copy.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.collect import call_contexts
from devlint.inference.collect.notes import keep_last
from devlint.inference.domain.host import External
from devlint.inference.domain.placement import CPU, Placement
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import DataCopy, DataKind
from devlint.inference.models.devices import place_of
from devlint.inference.program import options
from devlint.inference.program.class_state import kept_attribute
from devlint.inference.program.events import Called, CreatedThenMoved
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.summaries.waits import function_site, hot_one, loop_fact
from devlint.inference.syntax.loops import targets_of
from devlint.inference.syntax.text import called_name, dotted, every, names_in, parts

_COUNTS = frozenset({"range", "len", "float", "int", "enumerate", "zip", "min", "max", "abs"})
_FACTORIES = frozenset({"torch.tensor", "torch.as_tensor"})


class _Seen:
    """Of one file, the copies that were noted."""

    __slots__ = ("places",)

    def __init__(self, unit: Unit) -> None:
        self.places: dict[cst.CSTNode, int] = {}  # in the file's facts


def of_call(frame: Frame, event: Called) -> None:
    """Note a tensor that is made on a device, of what never changes."""
    node, callee, arguments = event
    if type(callee) is not External or not isinstance(node.func, cst.Attribute):
        return
    if f"{callee.name}.{node.func.attr.value}" not in _FACTORIES:
        return
    device = arguments.keywords.get("device")
    if device is None or not arguments.positional:
        return
    value, data = arguments.positional[0]
    _note(frame, node, value, data, place_of(frame, device[0]), device[1])


def of_move(frame: Frame, event: CreatedThenMoved) -> None:
    """`torch.tensor(self.rows).to(x.device)` is the same copy. One number is DEV304's either way:
    the move says it."""
    made = event.factory
    if not isinstance(made, cst.Call) or f"torch.{called_name(made)}" not in _FACTORIES:
        return
    if not made.args or made.args[0].star or made.args[0].keyword is not None:
        return
    data = made.args[0].value
    if not _is_number(data) and event.target_node is not None:
        _note(frame, event.node, frame.eval(data), data, event.target, event.target_node)


def _note(
    frame: Frame,
    node: cst.CSTNode,
    value: Value,
    data: cst.CSTNode,
    place: Placement,
    device: cst.CSTNode,
) -> None:
    kind = _kind(frame, value, data)
    if kind is None or place is None or place == CPU:
        return
    if frame.constructing or frame.control.guarding:
        return
    copies, seen = frame.unit.facts.data_copies, frame.unit.kept(_Seen)
    fact = DataCopy(
        site=frame.site(node),
        kind=kind,
        data=frame.site(data),
        target=place,
        of_tensor=dotted(device).endswith(".device") and not dotted(device).startswith("self"),
        loop=loop_fact(frame, hot_one(frame.control.loop)),
        cold=options.is_cold(frame),
        function=function_site(frame),
        in_module=frame.in_module,
        given=call_contexts.given(frame, Tensor(place)),
    )
    keep_last(frame, "data", copies, seen.places, fact)


def _kind(frame: Frame, value: Value, data: cst.CSTNode) -> DataKind | None:
    if _is_number(data):
        return DataKind.NUMBER
    if isinstance(data, (cst.List, cst.Tuple)):
        return DataKind.WRITTEN if _is_written(data) else None
    held = alternatives(value)
    if kept_attribute(frame, data) and not any(type(v) is Tensor and v.is_sure for v in held):
        return DataKind.KEPT
    return DataKind.KEPT if _is_computed_of_kept(frame, data) else None


def _is_computed_of_kept(frame: Frame, node: cst.CSTNode) -> bool:
    """`[1 / c for c in self.counts]`: of what never changes, and nothing else."""
    if not isinstance(node, cst.ListComp):
        return False
    bound = targets_of(node)
    names = [name for part in parts(node) for name in names_in(part)]
    given = [n for n in names if n not in bound and not n.startswith("math.") and n not in _COUNTS]
    return bool(given) and all(_is_kept(frame, node, name) for name in given)


def _is_kept(frame: Frame, node: cst.ListComp, name: str) -> bool:
    read = (each for each in every(node, cst.Attribute) if dotted(each) == name)
    return any(kept_attribute(frame, each) for each in read)


def _is_number(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.UnaryOperation):
        node = node.expression
    return isinstance(node, cst.BaseNumber)


def _is_written(node: cst.List | cst.Tuple) -> bool:
    """All numbers of it are written out."""
    values = [element.value for element in node.elements]
    return bool(values) and all(
        _is_written(v) if isinstance(v, (cst.List, cst.Tuple)) else _is_number(v) for v in values
    )
