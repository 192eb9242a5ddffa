"""What DataLoader workers run: `Dataset.__getitem__`, `collate_fn`, and accelerators in there."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.host import Const, External
from devlint.inference.domain.placement import CUDA, Device, Placement, Variable, VariableKind
from devlint.inference.domain.provenance import Site
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import WorkerAccess
from devlint.inference.models.devices import place_of
from devlint.inference.program.control_dependences import branches_around
from devlint.inference.program.declarations import Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.units import Unit
from devlint.inference.program.values import FunctionValue
from devlint.inference.syntax.text import shorten
from devlint.inference.syntax.words import asks_for_accelerator, words

_SAMPLING = frozenset({"__getitem__", "__getitems__", "__iter__"})


_HANDED = ("collate_fn", "worker_init_fn")


class Workers:
    """What one file's walk noted of DataLoaders and of what their workers may run."""

    __slots__ = ("accesses", "concerned", "counts", "handed", "pinned")

    def __init__(self, unit: Unit) -> None:
        text = unit.source.text
        self.concerned = holds("worker-text", text)
        self.accesses: list[tuple[Function, cst.Call, bool]] = []
        self.handed: dict[Function, str] = {}
        self.counts: list[int | None] = []  # num_workers of the DataLoaders in sight
        self.pinned: set[Function] = set()  # they make what a DataLoader pins

    def of_call(
        self, frame: Frame, node: cst.Call, callee: Value, name: str, arguments: Arguments
    ) -> None:
        """Note a DataLoader, or a call that puts something on an accelerator."""
        if not self.concerned:
            return
        if type(callee) is External and holds("loader-class", f"{callee.name}.{name}".rstrip(".")):
            self._loader(arguments)
        if frame.function is None:
            return
        place: Placement = None
        if name == "cuda":
            given = arguments.get(0, "device")
            place = CUDA if given is None else place_of(frame, given)
        elif name == "to" and arguments.positional:
            place = place_of(frame, arguments.positional[0][0])
        elif "device" in arguments.keywords:
            place = place_of(frame, arguments.keywords["device"][0])
        chosen = type(place) is Variable and place.kind is VariableKind.DEVICE
        there = chosen or (type(place) is Device and place.is_accelerator)
        chosen = chosen or (there and _is_asked_for(frame, node))
        access = (frame.function, node, chosen)
        if there and access not in self.accesses:
            self.accesses.append(access)

    def _loader(self, arguments: Arguments) -> None:
        count = arguments.get(5, "num_workers")
        if count is None and not arguments.open:
            self.counts.append(0)
        else:
            held = count.value if type(count) is Const else None
            self.counts.append(held if type(held) is int else None)
        pins = arguments.get(7, "pin_memory")
        is_pinned = type(pins) is Const and pins.value is True
        for keyword in _HANDED:
            given = arguments.keywords.get(keyword)
            for value in alternatives(given[0]) if given is not None else ():
                if type(value) is FunctionValue:
                    self.handed[value.function] = keyword
                    if is_pinned and keyword == "collate_fn":
                        self.pinned.add(value.function)

    def settle(self, unit: Unit) -> None:
        """Make facts of what workers would run."""
        for function, node, chosen in self.accesses:
            where = self._where(function)
            if where:
                site, text = Site(unit.source, node), shorten(node)
                pinned = function in self.pinned
                unit.facts.worker_accesses.append(
                    WorkerAccess(site, where, text, chosen, self.count, pinned)
                )

    @property
    def count(self) -> int | None:
        """The most workers of a DataLoader in sight; None where that is open."""
        if not self.counts or None in self.counts:
            return None
        return max(count for count in self.counts if count is not None)

    def _where(self, function: Function) -> str:
        """What runs a function in a worker, as messages name it; "" for nothing."""
        handed = self.handed.get(function)
        if handed is not None:
            name = f"`{function.name}`" if function.name != "<lambda>" else "a lambda"
            return f"{name}, the `{handed}` of a DataLoader"
        info = function.info
        if info is None or function.name not in _SAMPLING:
            return ""
        if any(holds("dataset-base", base) for base in info.library_bases):
            return f"`{info.name}.{function.name}`"
        return ""


def _is_asked_for(frame: Frame, node: cst.Call) -> bool:
    """`if self.device.type == "cuda": x = x.cuda()`: whoever makes the data set has chosen."""
    around = branches_around(frame, node)
    tests = [test.test for test, _ in around if isinstance(test, cst.If)]
    return any(asks_for_accelerator(t) and "is_available" not in words(t) for t in tests)
