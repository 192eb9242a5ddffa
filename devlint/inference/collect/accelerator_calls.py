"""Calls of `torch.cuda` that `torch.accelerator` has as well, and names that it does not have.

`torch.cuda.synchronize()` is for CUDA, `torch.accelerator.synchronize()` for whatever is there, and
`torch.accelerator.get_device_name()` for nothing: it was never there.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.collect import cuda_on_purpose
from devlint.inference.conventions import holds
from devlint.inference.domain.host import Const, DeviceValue, External
from devlint.inference.domain.placement import ACCELERATORS
from devlint.inference.domain.value import Value
from devlint.inference.facts import CudaCall, MissingName
from devlint.inference.program.accelerator_notes import (
    MentionNote,
    Mentions,
    named_for_accelerators,
)
from devlint.inference.program.control_dependences import ControlDependences
from devlint.inference.program.declarations import Function
from devlint.inference.program.events import Called, TypeNamed
from devlint.inference.program.frames import Frame, body_of
from devlint.inference.program.functions import Arguments
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import code, dotted, every, shorten
from devlint.knowledge import StandIn

_CUDA = "torch.cuda."
_ACCELERATOR = "torch.accelerator."
_OTHERS = tuple(
    text
    for name in sorted(ACCELERATORS - {"cuda"})
    for text in (f"torch.{name}.", f'"{name}"', f"'{name}'")
)
# Asked by code for several cards, which has launchers, wrappers or NCCL in it: for CUDA, too.
_OF_SEVERAL = frozenset({"device_count", "current_device_index", "set_device_index"})


class _Seen:
    """What one file's walk noted, by node."""

    def __init__(self, unit: Unit) -> None:
        text = unit.source.text
        self.calls_cuda = "cuda." in text
        self.names_accelerator = "accelerator" in text
        self.calls: dict[cst.Call, tuple[MentionNote, StandIn, str]] = {}
        self.missing: dict[cst.Attribute, str] = {}


def concerns(unit: Unit) -> bool:
    """Whether the calls in a file are looked at."""
    return unit.kept(_Seen).calls_cuda or unit.kept(_Seen).names_accelerator


def of_call(frame: Frame, event: Called) -> None:
    """Note a call of `torch.cuda` that `torch.accelerator` has a function for, or one of a function
    that `torch.accelerator` does not have."""
    node, callee, arguments = event
    seen, func = frame.unit.kept(_Seen), node.func
    assert type(callee) is External
    name = callee.name
    if type(func) is cst.Attribute:
        name = f"{name}.{func.attr.value}"
        _of_name(frame, func, name)
    if not name.startswith(_CUDA):
        return
    stand_in = frame.unit.context.knowledge.accelerators.stand_in(name[len(_CUDA) :])
    if stand_in is None or arguments.open:
        return
    guarded = frame.control.guarded or frame.control.caught
    note = MentionNote(
        node, "backend", shorten(node), None, guarded, frame.function, frame.in_module
    )
    seen.calls[node] = note, stand_in, _rewritten(stand_in, arguments)


def _rewritten(stand_in: StandIn, arguments: Arguments) -> str:
    """The call with `torch.accelerator`, whose functions take no keywords; "" where its arguments
    may not fit."""
    given = list(arguments.all())
    if len(given) > 1:
        return ""
    written = [code(node) for _, node in given]
    if stand_in.name == "device_index":
        written = [_index(value, node) for value, node in given]
    return f"{_ACCELERATOR}{stand_in.name}({', '.join(written)})" if all(written) else ""


def _index(value: Value, node: cst.CSTNode) -> str:
    """The number of a device; "" where it may be none."""
    if type(value) is DeviceValue:
        return f"{code(node)}.index" if dotted(node) and value.sure else ""
    is_number = type(value) is Const and type(value.value) is int
    return code(node) if is_number or dotted(node).endswith(".index") else ""


def of_name(frame: Frame, event: TypeNamed) -> None:
    """Note a name that `torch.accelerator` does not have."""
    node, value = event
    if frame.unit.kept(_Seen).names_accelerator and type(value) is External:
        _of_name(frame, node, value.name)


def _of_name(frame: Frame, node: cst.Attribute, full_name: str) -> None:
    owner, _, name = full_name.rpartition(".")
    if f"{owner}." != _ACCELERATOR or name.startswith("_") or frame.control.caught:
        return
    if not frame.unit.context.knowledge.accelerators.lacks(name):
        return
    around = frame.function.text if frame.function is not None else frame.unit.source.text
    if "AttributeError" not in around and not _is_asked_for(frame.unit.source.text, name):
        frame.unit.kept(_Seen).missing[node] = name


def _is_asked_for(text: str, name: str) -> bool:
    """`hasattr(torch.accelerator, "name")`, or the file puts it there itself."""
    return any(each in text for each in (f'"{name}"', f"'{name}'", f"{_ACCELERATOR}{name} ="))


def settle(unit: Unit) -> None:
    """Make facts of what was noted."""
    seen = unit.kept(_Seen)
    frame, known = body_of(unit), unit.context.knowledge.accelerators
    if frame is None:
        return
    for node, name in seen.missing.items():
        meant = known.meant(name)
        meant = "" if not meant or known.lacks(meant) else meant
        unit.facts.missing_names.append(
            MissingName(
                frame.site(node), name, meant, known.since(name), known.target, known.newest
            )
        )
    if not seen.calls or unit.kept(Mentions).meant:
        return
    for note, stand_in, rewritten in seen.calls.values():
        if named_for_accelerators(note.function) or _is_for_more(unit, note.function):
            continue
        if _is_done_elsewhere(unit, note, stand_in):
            continue
        test = _test_of(unit, note, set(seen.calls))
        unit.facts.cuda_calls.append(
            CudaCall(
                site=frame.site(note.node),
                text=shorten(note.node.func) if isinstance(note.node, cst.Call) else note.text,
                stand_in=f"{_ACCELERATOR}{stand_in.name}",
                since=stand_in.since,
                alike=stand_in.alike,
                complete=stand_in.complete,
                rewritten=rewritten if "torch.cuda" in code(note.node) else "",
                guarded=note.guarded or bool(_around(unit, note)),
                test=frame.site(test) if test is not None else None,
                on_purpose=_on_purpose(unit, note, stand_in),
                targeted=bool(known.target),
            )
        )


def _on_purpose(unit: Unit, note: MentionNote, stand_in: StandIn) -> str:
    """Why this one call is not what keeps the code from other accelerators."""
    why = cuda_on_purpose.reason(unit, note)
    if why:
        return why
    text = unit.source.text
    if stand_in.name in _OF_SEVERAL:
        return "it counts or chooses cards"
    if holds("cuda-bound-text", text) or holds("cuda-tied-text", text):
        return "more of its file is for CUDA"
    if not (note.guarded or _around(unit, note) or holds("chosen-device-text", text)):
        return "no device is chosen in its file"
    return ""


def _is_for_more(unit: Unit, function: Function | None) -> bool:
    """`torch.mps.synchronize()` or `device.type == "mps"` stands beside it: the code tells
    accelerators apart itself. Or it has other things that are for CUDA: with one call it is not
    done."""
    text = unit.source.text if function is None else function.text
    return holds("cuda-bound-text", text) or any(other in text for other in _OTHERS)


def _is_done_elsewhere(unit: Unit, note: MentionNote, stand_in: StandIn) -> bool:
    """`if kind == "cuda": torch.cuda.synchronize()`, and `else: module.synchronize()`."""
    return any(
        choice.orelse is not None and f"{stand_in.name}(" in code(choice.orelse)
        for choice, branch in _around(unit, note)
        if isinstance(choice, cst.If) and branch is choice.body
    )


def _around(unit: Unit, note: MentionNote) -> list[tuple[cst.CSTNode, cst.CSTNode]]:
    """The conditions around it that ask for CUDA."""
    around = unit.kept(ControlDependences).around(note.function, note.node)
    return [
        (choice, branch)
        for choice, branch in around
        if isinstance(choice, (cst.If, cst.IfExp)) and "cuda" in code(choice.test)
    ]


def _test_of(unit: Unit, note: MentionNote, calls: set[cst.Call]) -> cst.CSTNode | None:
    """`torch.cuda.is_available()` in front of it, where nothing but such calls is behind it."""
    around = _around(unit, note)
    if len(around) != 1:
        return None
    choice, branch = around[0]
    assert isinstance(choice, (cst.If, cst.IfExp))
    test = choice.test
    if not isinstance(test, cst.Call) or dotted(test.func) != "torch.cuda.is_available":
        return None
    if branch is not choice.body or not _is_nothing(choice.orelse):
        return None
    mentioned = code(branch).count("cuda")
    replaced = [call for call in every(branch, cst.Call) if call in calls]
    return test if mentioned == len(replaced) else None


def _is_nothing(orelse: cst.CSTNode | None) -> bool:
    """No other branch, or a number in it."""
    return orelse is None or isinstance(orelse, cst.BaseNumber) or dotted(orelse) == "None"
