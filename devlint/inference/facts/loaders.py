"""Data loading: default devices in samplers, accelerators in workers."""

from __future__ import annotations

import enum

from devlint.inference.domain.provenance import Site
from devlint.records import NamedTuple


class Trap(str, enum.Enum):
    """What meets a default device that it was not made for."""

    SHUFFLE = "shuffle"  # `DataLoader(…, shuffle=True)`, whose generator is one of the host
    SAMPLER = "sampler"  # `RandomSampler(…)`, likewise
    DISTRIBUTED = "distributed"  # `DistributedSampler(…)`, which takes no generator
    SPLIT = "split"  # `random_split(…)`, which takes the host's generator
    WORKER = "worker"  # a worker makes a tensor, and so starts CUDA in a forked process


class DefaultDeviceTrap(NamedTuple):
    """`text` is called where the default device is `default`."""

    site: Site
    trap: Trap
    text: str
    default: str
    made: Site | None  # where the worker makes a tensor


class WorkerAccess(NamedTuple):
    """`Dataset.__getitem__`, a `collate_fn` or a worker touches an accelerator.

    `workers` is the most that a DataLoader in sight starts, None where that is open.
    """

    site: Site
    where: str
    text: str
    chosen: bool = False  # the device is one that the caller chooses
    workers: int | None = None
    pinned: bool = False  # a DataLoader in sight pins what it makes
