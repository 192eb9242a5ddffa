"""Signs that code which names an accelerator is to run on the host, too.

A choice of the device is such a sign, that the file leaves, or that the code around is given and
passes by. From further away it is one only where most of the project leaves a choice: among files
that demand CUDA one more is no exception. So it is with a choice of whoever runs the code, with a
function that goes by the device of an input elsewhere, and with a module's method in a file that
goes by the devices of tensors, which could take that of its input.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.collect import cuda_on_purpose
from devlint.inference.collect.availability_guards import Demands
from devlint.inference.conventions import holds
from devlint.inference.program.accelerator_notes import MentionNote, Mentions, functions
from devlint.inference.program.declarations import Function
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import dotted, every


def serves_host(unit: Unit, noted: MentionNote) -> bool:
    """The code around a mention is for the host, too, by one of these signs."""
    mentions = unit.kept(Mentions)
    if noted.calls_backend:
        return _offers_host(noted, mentions)
    if noted.kind not in ("device", "legacy-type"):
        return False
    given = unit.kept(_GivenDevices)
    if mentions.leaves_host(noted.function) or any(map(given.holds, functions(noted.function))):
        return True
    from_afar = (
        (noted.function is not None and cuda_on_purpose.device_of_input(noted.function) != "")
        or (noted.in_module and mentions.takes_devices)
        or _is_asked_elsewhere(noted, mentions)
        or _is_run_on_host(unit, noted)
    )
    importer = unit.context.importer
    return from_afar and not (importer is not None and importer.is_for_cuda())


def _is_run_on_host(unit: Unit, noted: MentionNote) -> bool:
    """What imports the file leaves the choice; what is run itself chooses for itself."""
    importer = unit.context.importer
    is_library = noted.function is not None and importer is not None
    return is_library and importer is not None and importer.programs_offer_host(unit.source.path)


def _is_asked_elsewhere(noted: MentionNote, mentions: Mentions) -> bool:
    """The same class moves something else only where a condition asks for the card: where that does
    not hold, this move fails."""
    info = noted.function.info if noted.function is not None else None
    return info is not None and any(
        other.kind == "device"
        and other.guarded
        and other.function is not None
        and other.function.info is info
        for other in mentions.notes.values()
    )


class _GivenDevices:
    """Which functions of a file are given a device: asked for at each mention, answered once."""

    def __init__(self, unit: Unit) -> None:
        self._known: dict[Function, bool] = {}

    def holds(self, function: Function) -> bool:
        if function not in self._known:
            self._known[function] = _is_given_device(function)
        return self._known[function]


def _is_given_device(function: Function) -> bool:
    """The function, or the constructor of its class, takes a device; or it reads the
    configuration's, or its class the object's."""
    constructor = function.info.method("__init__") if function.info is not None else None
    made = cuda_on_purpose.parameters_of(constructor) if constructor is not None else []
    taken = (*cuda_on_purpose.parameters_of(function), *made)
    if function.info is not None and function.info.contains("self.device"):
        return True
    return any(holds("device-name", each) for each in taken) or any(
        holds("device-name", read.attr.value) and _is_owner(dotted(read.value))
        for read in every(function.node.body, cst.Attribute)
    )


def _is_owner(name: str) -> bool:
    own = name.rpartition(".")[2]
    return bool(own) and (own == "self" or holds("configuration-owner", own))


def _offers_host(noted: MentionNote, mentions: Mentions) -> bool:
    """The code around a backend's call is given its device, or the call its object's, which its
    constructor is given; or its file offers the host; and it has not taken CUDA's itself."""
    around = functions(noted.function)
    if _asks_about_object(noted, around):
        around += [f.info.methods["__init__"] for f in around if f.info is not None]
    if _asks_about_card(noted) or any(each.says("cuda-device-text") for each in around):
        return False
    given = (name for function in around for name in cuda_on_purpose.parameters_of(function))
    if any(holds("device-name", each) for each in given):
        return True
    if noted.node in mentions.unit.kept(Demands).classes.values():
        return False  # an object with a stream is for CUDA
    return mentions.leaves_host(noted.function)


def _asks_about_object(noted: MentionNote, around: list[Function]) -> bool:
    """`torch.cuda.reset_peak_memory_stats(self.device)`, of an object with a constructor."""
    made = all(f.info is None or "__init__" in f.info.methods for f in around)
    given = noted.node.args if isinstance(noted.node, cst.Call) else ()
    own = (dotted(argument.value).rpartition(".") for argument in given)
    return made and any(owner == "self" and holds("device-name", name) for owner, _, name in own)


def _asks_about_card(noted: MentionNote) -> bool:
    """What a card can do is asked, inside a function, where it is known to be one of CUDA's."""
    return noted.function is not None and "get_device_capability" in noted.text
