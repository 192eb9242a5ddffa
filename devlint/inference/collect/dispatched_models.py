"""Moves of a model whose layers a library has placed: by `device_map="auto"`, or by offloading.

Accelerate keeps hooks on such a model, which bring inputs to where each layer was put. To move it
as a whole raises where a layer waits on the host or on disk, and elsewhere leaves the hooks sending
inputs to where the layers were.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.host import DeviceValue, External, text_of
from devlint.inference.domain.placement import Device
from devlint.inference.domain.value import Value
from devlint.inference.facts import DispatchedMove, Placer
from devlint.inference.models.devices import written_device
from devlint.inference.program.control_dependences import ControlDependences
from devlint.inference.program.declarations import Function
from devlint.inference.program.events import Called
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.units import Unit
from devlint.inference.program.values import Instance
from devlint.inference.syntax.evaluation_order import moments
from devlint.inference.syntax.text import dotted, shorten

_STRATEGIES = frozenset({"auto", "balanced", "balanced_low_0", "sequential"})
_OFFLOADING = {
    "enable_sequential_cpu_offload": Placer.SEQUENTIAL,
    "enable_model_cpu_offload": Placer.OFFLOAD,
}
_DISPATCHING = frozenset({"dispatch_model", "load_checkpoint_and_dispatch"})

_WORDS = ("device_map", "_cpu_offload", "load_in_8bit", "dispatch")
_RELEASING = frozenset({"reset_device_map", "remove_all_hooks"})
_UNHOOKING = frozenset({"remove_hook_from_module", "remove_hook_from_submodules"})


class _Seen:
    """What one file's walk noted."""

    def __init__(self, unit: Unit) -> None:
        text = unit.source.text
        self.concerned = any(word in text for word in _WORDS)
        # Calls that load a model and place its layers: by what, and in which function.
        self.loaded: dict[cst.CSTNode, tuple[Placer, str, Function | None]] = {}
        # Names of what was placed after it was loaded, by the run of a function.
        self.names: dict[tuple[Frame, str], tuple[Placer, cst.Call]] = {}
        self.moves: dict[cst.CSTNode, DispatchedMove] = {}


def concerns(unit: Unit) -> bool:
    """Whether the calls in a file are looked at."""
    return unit.kept(_Seen).concerned


def of_call(frame: Frame, event: Called) -> None:
    """Note what places the layers of a model, and what moves the model after that."""
    node, callee, arguments = event
    seen, func = frame.unit.kept(_Seen), node.func
    name = func.attr.value if type(func) is cst.Attribute else dotted(func)
    if name == "from_pretrained":
        _of_loading(frame, node, callee, arguments)
    elif name in _DISPATCHING and arguments.positional:
        placed = dotted(arguments.positional[0][1])
        if placed:
            seen.names[frame, placed] = Placer.DISPATCHED, node
    elif name in _UNHOOKING and arguments.positional:
        seen.names.pop((frame, dotted(arguments.positional[0][1])), None)
    elif type(func) is not cst.Attribute:
        return
    elif name in _OFFLOADING:
        seen.names[frame, dotted(func.value)] = _OFFLOADING[name], node
    elif name in _RELEASING:
        seen.names.pop((frame, dotted(func.value)), None)
    elif name in ("to", "cuda") and _is_to_card(name, arguments):
        _of_move(frame, node, func, callee)


def _of_loading(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> None:
    loaded = frame.unit.kept(_Seen).loaded
    flag = arguments.keywords.get("load_in_8bit")
    if flag is not None and isinstance(flag[1], cst.Name) and flag[1].value == "True":
        loaded[node] = Placer.EIGHT_BIT, "load_in_8bit=True", frame.function
        return
    pair = arguments.keywords.get("device_map")
    if pair is None or text_of(pair[0]) not in _STRATEGIES:
        return
    if not isinstance(pair[1], cst.SimpleString):
        return  # chosen somewhere: perhaps together with what moves
    is_pipeline = type(callee) is External and callee.name.endswith("Pipeline")
    placer = Placer.PIPELINE if is_pipeline else Placer.DISPATCHED
    loaded[node] = placer, f"device_map={shorten(pair[1])}", frame.function


def _is_to_card(name: str, arguments: Arguments) -> bool:
    """`.cuda()`, `.to(device)`: not `.to(torch.float16)` or `.to("cpu")`."""
    if name == "cuda":
        return True
    value, given = arguments.get(0, "device"), arguments.node(0, "device")
    if value is None or given is None:
        return False
    if text_of(value):
        place = written_device(value)
        return place is not None and place.is_accelerator
    if type(value) is DeviceValue:
        return type(value.place) is not Device or value.place.is_accelerator
    return holds("device-name", dotted(given))


def _of_move(frame: Frame, node: cst.Call, func: cst.Attribute, callee: Value) -> None:
    seen, name = frame.unit.kept(_Seen), dotted(func.value)
    made: cst.CSTNode | None = None
    placer, how = Placer.DISPATCHED, ""
    if (frame, name) in seen.names and not _is_rebound(
        frame, name, seen.names[frame, name][1], node
    ):
        placer, made = seen.names[frame, name]
        how = shorten(made)
    else:
        made = func.value if func.value in seen.loaded else None
        if type(callee) is Instance and callee.origin is not None and callee.parent is None:
            made = callee.origin.node
        if made not in seen.loaded:
            return
        placer, how, _ = seen.loaded[made]
    if frame.control.caught or frame.control.expecting or _is_chosen(frame, node, made):
        return
    seen.moves[node] = DispatchedMove(
        frame.site(node),
        shorten(func.value) if name else "",
        placer,
        how,
        frame.site(made),
        func.value is made,
    )


def _is_rebound(frame: Frame, name: str, placing: cst.Call, move: cst.Call) -> bool:
    """The name gets another value between the two calls."""
    when = moments(frame.unit.tree if frame.function is None else frame.function.node.body)
    if placing not in when or move not in when:
        return True
    between = range(when[placing].number + 1, when[move].number)
    return any(
        when[node].number in between
        for node in when
        if isinstance(node, cst.Assign) and node.value is not placing
        if any(dotted(target.target) == name for target in node.targets)
    )


def _is_chosen(frame: Frame, move: cst.Call, made: cst.CSTNode) -> bool:
    """The move is in a branch that the placing is not in: it may be the one for other models."""
    dependences = frame.unit.kept(ControlDependences)
    around = dependences.around(frame.function, move)
    known = dependences.around(frame.function, made)
    return any(pair not in known for pair in around)


def settle(unit: Unit) -> None:
    """Make facts of what was noted."""
    unit.facts.dispatched_moves += unit.kept(_Seen).moves.values()
