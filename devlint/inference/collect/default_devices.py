"""The default device where nobody thinks of it: in samplers, in splits and in workers.

After `torch.set_default_device("cuda")` a `DataLoader` with `shuffle=True` draws its permutation on
CUDA with a generator of the host, which raises; and what a worker makes starts CUDA in a forked
process.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.collect.under_way import library_name
from devlint.inference.domain.host import NONE, TRUE, Const
from devlint.inference.domain.placement import CPU, Device
from devlint.inference.domain.provenance import Site
from devlint.inference.domain.value import Value
from devlint.inference.facts import DefaultDeviceTrap, Trap
from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.events import Called, TensorMade
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.units import Unit
from devlint.inference.program.values import Generator, Instance
from devlint.inference.syntax.text import shorten

_DATA = "torch.utils.data."
_LOADERS = frozenset({f"{_DATA}DataLoader", f"{_DATA}dataloader.DataLoader"})
_RANDOM = frozenset({f"{_DATA}RandomSampler", f"{_DATA}sampler.RandomSampler"})
_DISTRIBUTED = frozenset({f"{_DATA}DistributedSampler", f"{_DATA}distributed.DistributedSampler"})
_SPLITS = frozenset({f"{_DATA}random_split", f"{_DATA}dataset.random_split"})


class _Seen:
    """What one file's walk noted."""

    def __init__(self, unit: Unit) -> None:
        self.concerned = "set_default_" in unit.source.text
        self.traps: dict[cst.CSTNode, DefaultDeviceTrap] = {}
        self.loaders: dict[cst.Call, tuple[ClassInfo, str]] = {}  # with workers: of what, and where
        self.made: dict[Function, cst.Call] = {}  # the first tensor that a function makes


def concerns(unit: Unit) -> bool:
    """Whether the calls in a file are looked at."""
    return unit.kept(_Seen).concerned


def of_call(frame: Frame, event: Called) -> None:
    """Note a loader, a sampler or a split under a default device of CUDA's kind."""
    node, callee, arguments = event
    default = frame.unit.default_device
    if type(default) is not Device or not default.is_accelerator:
        return
    name = library_name(callee, node)
    if name in _LOADERS:
        if _draws(arguments.get(2, "shuffle"), None) and not _has_own(arguments, "generator"):
            _note(frame, node, Trap.SHUFFLE, default)
        _of_workers(frame, node, arguments, default)
    elif name in _RANDOM and not _has_own(arguments, "generator"):
        _note(frame, node, Trap.SAMPLER, default)
    elif name in _DISTRIBUTED and _draws(arguments.get(3, "shuffle"), TRUE):
        _note(frame, node, Trap.DISTRIBUTED, default)
    elif name in _SPLITS and not _has_own(arguments, "generator"):
        _note(frame, node, Trap.SPLIT, default)


def _draws(shuffle: Value | None, default: Value | None) -> bool:
    return (shuffle or default) is TRUE


def _has_own(arguments: Arguments, keyword: str) -> bool:
    """A generator that may be one of the default device, or arguments out of sight."""
    if arguments.open:
        return True
    pair = arguments.keywords.get(keyword)
    if pair is None or pair[0] is NONE:
        return False
    return not (type(pair[0]) is Generator and pair[0].place == CPU)


def _of_workers(frame: Frame, node: cst.Call, arguments: Arguments, default: Device) -> None:
    count, dataset = arguments.get(5, "num_workers"), arguments.get(0, "dataset")
    forks = type(count) is Const and type(count.value) is int and count.value > 0
    context = arguments.get(11, "multiprocessing_context")
    if forks and context is None and type(dataset) is Instance and dataset.info is not None:
        frame.unit.kept(_Seen).loaders[node] = dataset.info, str(default)


def made(frame: Frame, event: TensorMade) -> None:
    """Note a tensor that is made where the default device decides."""
    node, tensor = event
    seen, function = frame.unit.kept(_Seen), frame.function
    if seen.concerned and function is not None and tensor.place == frame.unit.default_device:
        seen.made.setdefault(function, node)


def _note(frame: Frame, node: cst.Call, trap: Trap, default: Device) -> None:
    frame.unit.kept(_Seen).traps[node] = DefaultDeviceTrap(
        frame.site(node), trap, shorten(node.func), str(default), None
    )


def settle(unit: Unit) -> None:
    """Make facts of what was noted."""
    seen = unit.kept(_Seen)
    if not seen.concerned:
        return
    unit.facts.default_device_traps += seen.traps.values()
    for node, (info, default) in seen.loaders.items():
        method = info.method("__getitem__")
        call = seen.made.get(method) if method is not None else None
        if call is not None:
            unit.facts.default_device_traps.append(
                DefaultDeviceTrap(
                    Site(unit.source, node),
                    Trap.WORKER,
                    shorten(call.func),
                    default,
                    Site(unit.source, call),
                )
            )
