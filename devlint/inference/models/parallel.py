"""Wrappers for several cards: `DataParallel(net, device_ids=[0, 1])`, `DistributedDataParallel`.

What they give is the module, seen through a wrapper. With `device_ids` they need its parameters on
the first of these cards: `DistributedDataParallel` when it is made, and `DataParallel`, which moves
the module to a single card itself, when it is called. A module that nobody in sight has placed is
left to others.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import Const
from devlint.inference.domain.placement import CPU, CUDA, Device
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import DEFAULT, PARAMETER, Tensor
from devlint.inference.domain.value import UNKNOWN, Value, alternatives, is_untold, union
from devlint.inference.facts import MeetingKind
from devlint.inference.models import module_places
from devlint.inference.models.devices import place_of
from devlint.inference.models.handlers import Handler
from devlint.inference.models.unification.contradictions import contradiction
from devlint.inference.models.unification.drafts import note
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Instance
from devlint.inference.syntax.evaluation_order import moments
from devlint.inference.syntax.text import shorten

_CARDS = "device_ids"


def _data_parallel(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    wrappers = [module_places.in_parallel(module) for module in _wrapped(arguments)]
    cards = arguments.get(1, _CARDS)
    if type(cards) is Sequence and cards.items:
        for wrapper in wrappers:
            wrapper.fields.entries[_CARDS] = cards
            if len(cards.items) == 1 and wrapper.parent is not None:
                place = place_of(frame, cards.items[0])
                module_places.move_module(frame, wrapper.parent, place, node)
    return union(wrappers)


def _distributed(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    modules = _wrapped(arguments)
    cards, written = arguments.get(1, _CARDS), arguments.node(1, _CARDS)
    given = arguments.node(0, "module")
    if type(cards) is Sequence and cards.items and written is not None and given is not None:
        on_host = [_left_on_host(frame, module) for module in modules]
        if on_host and None not in on_host:  # each of those that it may be
            _check(frame, node, (on_host[0], given), cards, written)
    return union(map(module_places.in_parallel, modules))


def check_call(frame: Frame, node: cst.Call, wrapper: Instance) -> None:
    """`para(x)`, of a `DataParallel` for several cards."""
    cards = wrapper.fields.entries.get(_CARDS)
    if wrapper.parent is None or type(cards) is not Sequence or len(cards.items or ()) < 2:
        return
    on_host = _left_on_host(frame, wrapper.parent)
    if on_host is not None and cards.node is not None:
        _check(frame, node, (on_host, node.func), cards, cards.node)


def _check(
    frame: Frame,
    node: cst.Call,
    module: tuple[Tensor | None, cst.CSTNode],
    cards: Sequence,
    written: cst.CSTNode,
) -> None:
    """Note a module on the host whose cards are in sight."""
    own, given = module
    assert own is not None and cards.items
    card = cards.items[0]
    if type(card) is Const and card.value is None:
        return  # `[device.index]` of the host, or of a device that has none: no card is named
    first = place_of(frame, card)
    place = first if type(first) is Device and first.is_accelerator else CUDA
    step = frame.origin(StepKind.CREATED, written, None, "its cards are named here")
    there = Tensor(place, step)
    assumed = contradiction(frame, own, there, pointwise=False)
    if assumed is not None:
        said = shorten(node.func)
        note(frame, node, MeetingKind.CARDS, said, (own, given), (there, written), assumed)


def _left_on_host(frame: Frame, module: Instance) -> Tensor | None:
    """What stands for a module that this function made or put on the host; None for any other."""
    place, origin = module_places.placed(frame, module)
    if place != CPU or origin is None or not _shows_state(frame, module):
        return None
    body = frame.unit.tree if frame.function is None else frame.function.node.body
    here = moments(body)
    is_put = origin.kind is StepKind.MOVED and origin.node in here
    if not (is_put or (origin.kind is StepKind.CREATED and origin.node in here)):
        return None
    return Tensor(place, origin, 0 if is_put else DEFAULT)


def _shows_state(frame: Frame, module: Instance) -> bool:
    """Whether a module holds parameters by what is in sight. Of `self.net = estimator.net` nobody
    knows where it is."""
    if not module_places.stateful(frame, module):
        return False
    if module.info is None:
        return True
    held = [v for each in module.info.lineage() for v in each.attributes.values()]
    return any(_is_shown(each) for value in held for each in alternatives(value))


def _is_shown(value: Value) -> bool:
    if type(value) is Instance:
        return value.module and bool(value.library or value.info or value.items)
    return type(value) is Tensor and bool(value.traits & PARAMETER)


def _wrapped(arguments: Arguments) -> list[Instance]:
    value = arguments.get(0, "module") or UNKNOWN
    found = map(_as_module, alternatives(value))
    return [module for module in found if module is not None]


def _as_module(value: Value) -> Instance | None:
    """What a wrapper of modules is given is one, if its class is out of sight; `net = None` of
    before is not what is wrapped."""
    if type(value) is Instance:
        return value
    if type(value) is Tensor:
        return Instance(None, "", True, value.place, value.origin)
    return Instance(None, "", True, None) if is_untold(value) else None


PARALLEL: dict[str, Handler] = {
    "torch.nn.DataParallel": _data_parallel,
    "torch.nn.parallel.DataParallel": _data_parallel,
    "torch.nn.parallel.DistributedDataParallel": _distributed,
}
