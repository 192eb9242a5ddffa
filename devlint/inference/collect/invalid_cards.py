"""Cards by number where a list or a device belongs, and by a device's name where numbers do.

`DataParallel(net, device_ids=0)` wants a sequence; `torch.load(path, map_location=0)` calls what is
neither a name, a device nor a table; and `CUDA_VISIBLE_DEVICES="cuda:0"` names no card that there
is, so that none is left.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.host import (
    ASSUMED,
    GLOBAL_RANK,
    Const,
    DeviceValue,
    External,
    text_of,
)
from devlint.inference.domain.placement import Variable
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import Mistake, MistakenDevice
from devlint.inference.models.devices import written_device
from devlint.inference.program.control_dependences import ControlDependences, branches_around
from devlint.inference.program.declarations import Function
from devlint.inference.program.events import ArgumentGiven, Called, EnvironmentSet
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.units import Unit
from devlint.inference.syntax import command_line
from devlint.inference.syntax.control_dependence import is_passed
from devlint.inference.syntax.evaluation_order import moments
from devlint.inference.syntax.text import code, dotted, every, shorten

_CARDS = "device_ids"
_PLACE = "map_location"
_VISIBLE = "CUDA_VISIBLE_DEVICES"
_WRAPPERS = ("DataParallel", "DistributedDataParallel")
# Their `map_location` by position.
_LOADS = {
    "torch.load": 1,
    "torch.jit.load": 1,
    "torch.hub.load_state_dict_from_url": 2,
    "torch.utils.model_zoo.load_url": 2,
}


class _Seen:
    """What one file says of loads and of options."""

    def __init__(self, unit: Unit) -> None:
        # By function, the parameters that it gives to a load as they are.
        self.places: dict[Function, set[str]] = {}
        has_options = unit.contains("add_argument")
        self.options = command_line.numbers(unit.tree) if has_options else frozenset()


def concerns(unit: Unit) -> bool:
    """Whether the calls in a file are looked at."""
    return unit.contains(_CARDS) or unit.contains(_PLACE) or unit.contains("load")


def of_call(frame: Frame, event: Called) -> None:
    """A wrapper for several cards, or a load."""
    node, callee, arguments = event
    if type(callee) is not External or not callee.name.startswith("torch"):
        return
    func = node.func
    name = f"{callee.name}.{func.attr.value}" if type(func) is cst.Attribute else callee.name
    if name.startswith("torch.nn.") and name.rpartition(".")[2] in _WRAPPERS:
        _of_wrapper(frame, node, arguments)
    elif name in _LOADS:
        _of_load(frame, node, _LOADS[name], arguments)


def _of_wrapper(frame: Frame, node: cst.Call, arguments: Arguments) -> None:
    value, given = arguments.get(1, _CARDS), arguments.node(1, _CARDS)
    if value is None or given is None:
        return
    single = any(type(v) is DeviceValue and v.sure for v in alternatives(value))
    if single or _is_number(value):
        _note(frame, node, Mistake.NO_LIST, given)
    elif _is_number_by_name(frame, value, given) and not _is_asked(frame, node, given):
        _note(frame, node, Mistake.NO_LIST, given, inferred=True)


def _of_load(frame: Frame, node: cst.Call, position: int, arguments: Arguments) -> None:
    value, given = arguments.get(position, _PLACE), arguments.node(position, _PLACE)
    if value is None or given is None:
        return
    if _is_number(value):
        _note(frame, node, Mistake.CARD_NUMBER, given)
    elif _is_number_by_name(frame, value, given) and not _is_asked(frame, node, given):
        _note(frame, node, Mistake.CARD_NUMBER, given, inferred=True)
    else:
        _keep_place(frame, value)


def _keep_place(frame: Frame, value: Value) -> None:
    """A parameter that a function gives to a load: its callers are asked."""
    place = value.place if type(value) is DeviceValue else None
    if frame.function is not None and type(place) is Variable and place.parameter:
        frame.unit.kept(_Seen).places.setdefault(frame.function, set()).add(place.name)


def of_argument(frame: Frame, event: ArgumentGiven) -> None:
    """A function that gives its parameter to a load is given the number of a card."""
    node, value, given, function, parameter = event
    if given is node or parameter not in function.unit.kept(_Seen).places.get(function, ()):
        return
    if _is_number(value):
        _note(frame, node, Mistake.CARD_NUMBER, given, f"{function.name}", inferred=True)


def _is_number(value: Value) -> bool:
    """The number of a card, in one case at least."""
    return any(map(_is_one, alternatives(value)))


def _is_one(value: Value) -> bool:
    if type(value) is Const:
        return type(value.value) is int and value is not ASSUMED
    return value is GLOBAL_RANK or (type(value) is DeviceValue and value.number)


def _is_number_by_name(frame: Frame, value: Value, given: cst.CSTNode) -> bool:
    """`rank`, or `args.gpu` where the command line has an integer of that name: nothing shows that
    it is anything else."""
    owner, _, name = dotted(given).rpartition(".")
    shown = [v for v in alternatives(value) if type(v) in (DeviceValue, Const)]
    if shown or (type(value) is Tensor and value.is_sure):
        return False
    if owner and name in frame.unit.kept(_Seen).options:
        return holds("configuration-owner", owner)
    return holds("rank-name", name)


def _is_asked(frame: Frame, node: cst.CSTNode, given: cst.CSTNode) -> bool:
    """A condition around asks what it is: `type(cards) is list`, `len(cards) > 1`."""
    written = dotted(given)
    around = branches_around(frame, node)
    tests = (test.test for test, _ in around if isinstance(test, (cst.If, cst.IfExp)))
    return any(
        dotted(argument.value) == written
        for test in tests
        for call in every(test, cst.Call)
        for argument in call.args
    )


def of_environment(frame: Frame, event: EnvironmentSet) -> None:
    """`os.environ["CUDA_VISIBLE_DEVICES"] = device`."""
    node, value, source = event
    index = node.slice[0].slice if node.slice else None
    name = frame.eval(index.value) if isinstance(index, cst.Index) else None
    if name is None or text_of(name) != _VISIBLE:
        return
    devices = [device for v in alternatives(value) if (device := written_device(v)) is not None]
    if any(device.is_accelerator for device in devices):
        _note(frame, node, Mistake.HIDES_CARDS, source, _VISIBLE)
    elif isinstance(source, cst.BaseExpression) and _names_device(frame, node, source):
        _note(frame, node, Mistake.HIDES_CARDS, source, _VISIBLE, inferred=True)


def _names_device(frame: Frame, node: cst.CSTNode, source: cst.BaseExpression) -> bool:
    """The same value, by its name, is made a device: `torch.device(device)`."""
    if not isinstance(source, (cst.Name, cst.Attribute, cst.Subscript)):
        return False
    function, written = frame.function, code(source)
    if function is not None and not function.contains(f"device({written})"):
        return False
    body: cst.CSTNode = frame.unit.tree if function is None else function.node.body
    order = moments(body)
    bound = [
        order[each].number
        for each in every(body, cst.Assign)
        if each in order and any(code(target.target) == written for target in each.targets)
    ]
    walked = frame.unit.kept(ControlDependences).of(function)
    for call in every(body, cst.Call):
        if call not in order or code(call) != f"torch.device({written})":
            continue
        first, last = sorted((order[node].number, order[call].number))
        here, there = walked.get(node, ()), walked.get(call, ())
        beside = is_passed(here, there) or is_passed(there, here)
        if beside and not any(first < place < last for place in bound):
            return True
    return False


def _note(
    frame: Frame,
    node: cst.CSTNode,
    mistake: Mistake,
    given: cst.CSTNode,
    callee: str = "",
    inferred: bool = False,
) -> None:
    if frame.control.caught:
        return
    if not callee and isinstance(node, cst.Call):
        callee = shorten(node.func)
    fact = MistakenDevice(frame.site(node), mistake, shorten(given), callee, inferred)
    frame.unit.mistaken[node] = fact
