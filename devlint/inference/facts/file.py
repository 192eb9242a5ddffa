"""All facts of one file."""

from __future__ import annotations

from dataclasses import field
from typing import Protocol

import libcst as cst

from devlint.inference.call_contexts import Feed
from devlint.inference.domain.provenance import Site, Source
from devlint.inference.facts.autocasts import AutocastElsewhere, MistakenAutocast
from devlint.inference.facts.device_arguments import (
    DroppedArgument,
    IndexTest,
    MistakenDevice,
    UnreadContract,
)
from devlint.inference.facts.host_reads import ElementAccess, HostRead, UndetachedRead
from devlint.inference.facts.loaders import DefaultDeviceTrap, WorkerAccess
from devlint.inference.facts.meetings import KernelLaunch, Meeting
from devlint.inference.facts.mentions import (
    AbsentBackend,
    AcceleratorBinding,
    CudaCall,
    Mention,
    MissingName,
)
from devlint.inference.facts.modules import (
    DispatchedMove,
    KeptGraph,
    LateMove,
    MetaLeftover,
    MissingDevice,
    NonLeaf,
    PlainAttribute,
)
from devlint.inference.facts.placements import Placed
from devlint.inference.facts.transfers import DataCopy, HiddenCopy, Move, Rebinding, RoundTrip
from devlint.inference.facts.waits import (
    CardWideCall,
    ForbiddenWait,
    LateRead,
    StreamRace,
    Sync,
    Timing,
)
from devlint.records import dataclass


class ParsedSource(Source, Protocol):
    """A file that was read and parsed, so that there can be facts of it."""

    text: str
    tree: cst.Module


@dataclass(slots=True, eq=False)
class Facts:
    """All facts of one file, each list in source order of inference. It equals itself alone, so
    what is worked out of it can be kept by it."""

    source: ParsedSource
    meetings: list[Meeting] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    round_trips: list[RoundTrip] = field(default_factory=list)
    syncs: list[Sync] = field(default_factory=list)
    hidden_copies: list[HiddenCopy] = field(default_factory=list)
    data_copies: list[DataCopy] = field(default_factory=list)
    host_reads: list[HostRead] = field(default_factory=list)
    feeds: set[Feed] = field(default_factory=set)
    undetached_reads: list[UndetachedRead] = field(default_factory=list)
    late_reads: list[LateRead] = field(default_factory=list)
    stream_races: list[StreamRace] = field(default_factory=list)
    forbidden_waits: list[ForbiddenWait] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)
    kept_graphs: list[KeptGraph] = field(default_factory=list)
    card_wide_calls: list[CardWideCall] = field(default_factory=list)
    non_leaves: list[NonLeaf] = field(default_factory=list)
    plain_attributes: list[PlainAttribute] = field(default_factory=list)
    late_moves: list[LateMove] = field(default_factory=list)
    rebindings: list[Rebinding] = field(default_factory=list)
    callees: dict[cst.CSTNode, cst.CSTNode] = field(default_factory=dict)  # by call, of this file
    # Functions that nothing in sight uses, though the project uses their file: their names.
    left_over: dict[cst.CSTNode, str] = field(default_factory=dict)
    # The check of a module that others import: its main part, and what only that names.
    self_tests: frozenset[cst.CSTNode] = frozenset()
    # Functions that run many times in one step, and the places that show it.
    repeated: dict[cst.CSTNode, Site] = field(default_factory=dict)
    # Those that nothing in sight calls, and of an application nothing out of sight.
    uncalled: dict[cst.CSTNode, str] = field(default_factory=dict)
    mentions: list[Mention] = field(default_factory=list)
    absent_backends: list[AbsentBackend] = field(default_factory=list)
    accelerator_bindings: list[AcceleratorBinding] = field(default_factory=list)
    element_accesses: list[ElementAccess] = field(default_factory=list)
    dropped_arguments: list[DroppedArgument] = field(default_factory=list)
    mistaken_devices: list[MistakenDevice] = field(default_factory=list)
    missing_devices: list[MissingDevice] = field(default_factory=list)
    index_tests: list[IndexTest] = field(default_factory=list)
    cuda_calls: list[CudaCall] = field(default_factory=list)
    missing_names: list[MissingName] = field(default_factory=list)
    mistaken_autocasts: list[MistakenAutocast] = field(default_factory=list)
    autocasts_elsewhere: list[AutocastElsewhere] = field(default_factory=list)
    default_device_traps: list[DefaultDeviceTrap] = field(default_factory=list)
    kernel_launches: list[KernelLaunch] = field(default_factory=list)
    meta_leftovers: list[MetaLeftover] = field(default_factory=list)
    dispatched_moves: list[DispatchedMove] = field(default_factory=list)
    worker_accesses: list[WorkerAccess] = field(default_factory=list)
    unread_contracts: list[UnreadContract] = field(default_factory=list)
    revealed: list[Placed] = field(default_factory=list)  # arguments of `reveal_device`
    # Where the file turns on what waits behind each operation of `backward`.
    anomaly_mode: Site | None = None
    accelerated: bool = False  # the file shows that it is meant for accelerators
    is_script: bool = False  # the file runs itself
    is_installed: bool = False  # others install the project, and may call what it does not
    budgets_hit: list[str] = field(default_factory=list)  # honest notes for --verbose
