"""What the inference found out about one file: all that a rule may read.

A fact says what happens, never whether it is bad: that is a rule's to say. `Site`s are places in
the source by node; the engine turns them into lines and columns for those that become findings.

Its modules, all of whose classes stand here, too:

    file: `Facts`, all of one file; `ParsedSource`, that file
    operands: operands and loops, of which facts are made
    meetings: operands that one operation, or one kernel, brings together
    transfers, host_reads, waits: moves and copies, reads and waits of the host
    modules, loaders, autocasts: what these keep, are given, or touch
    mentions, device_arguments: accelerators by name, and devices that are handed on
    placements: the places of values, for who asks to see them
"""

from devlint.inference.domain.provenance import Site as Site
from devlint.inference.domain.provenance import Source as Source
from devlint.inference.domain.provenance import Step as Step
from devlint.inference.domain.provenance import StepKind as StepKind
from devlint.inference.facts.autocasts import AutocastElsewhere as AutocastElsewhere
from devlint.inference.facts.autocasts import AutocastMistake as AutocastMistake
from devlint.inference.facts.autocasts import MistakenAutocast as MistakenAutocast
from devlint.inference.facts.device_arguments import DroppedArgument as DroppedArgument
from devlint.inference.facts.device_arguments import IndexTest as IndexTest
from devlint.inference.facts.device_arguments import Mistake as Mistake
from devlint.inference.facts.device_arguments import MistakenDevice as MistakenDevice
from devlint.inference.facts.device_arguments import Neglect as Neglect
from devlint.inference.facts.device_arguments import UnreadContract as UnreadContract
from devlint.inference.facts.file import Facts as Facts
from devlint.inference.facts.file import ParsedSource as ParsedSource
from devlint.inference.facts.host_reads import ElementAccess as ElementAccess
from devlint.inference.facts.host_reads import HostRead as HostRead
from devlint.inference.facts.host_reads import UndetachedRead as UndetachedRead
from devlint.inference.facts.loaders import DefaultDeviceTrap as DefaultDeviceTrap
from devlint.inference.facts.loaders import Trap as Trap
from devlint.inference.facts.loaders import WorkerAccess as WorkerAccess
from devlint.inference.facts.meetings import KernelLaunch as KernelLaunch
from devlint.inference.facts.meetings import Meeting as Meeting
from devlint.inference.facts.meetings import MeetingKind as MeetingKind
from devlint.inference.facts.mentions import AbsentBackend as AbsentBackend
from devlint.inference.facts.mentions import AcceleratorBinding as AcceleratorBinding
from devlint.inference.facts.mentions import CudaCall as CudaCall
from devlint.inference.facts.mentions import Mention as Mention
from devlint.inference.facts.mentions import MissingName as MissingName
from devlint.inference.facts.modules import DispatchedMove as DispatchedMove
from devlint.inference.facts.modules import KeptGraph as KeptGraph
from devlint.inference.facts.modules import LateMove as LateMove
from devlint.inference.facts.modules import Leftover as Leftover
from devlint.inference.facts.modules import MetaLeftover as MetaLeftover
from devlint.inference.facts.modules import MissingDevice as MissingDevice
from devlint.inference.facts.modules import NonLeaf as NonLeaf
from devlint.inference.facts.modules import Placer as Placer
from devlint.inference.facts.modules import PlainAttribute as PlainAttribute
from devlint.inference.facts.operands import Hotness as Hotness
from devlint.inference.facts.operands import Loop as Loop
from devlint.inference.facts.operands import Operand as Operand
from devlint.inference.facts.placements import Placed as Placed
from devlint.inference.facts.placements import ValueKind as ValueKind
from devlint.inference.facts.placements import Whereabouts as Whereabouts
from devlint.inference.facts.transfers import DataCopy as DataCopy
from devlint.inference.facts.transfers import DataKind as DataKind
from devlint.inference.facts.transfers import HiddenCopy as HiddenCopy
from devlint.inference.facts.transfers import Move as Move
from devlint.inference.facts.transfers import Rebinding as Rebinding
from devlint.inference.facts.transfers import RoundTrip as RoundTrip
from devlint.inference.facts.waits import CardWideCall as CardWideCall
from devlint.inference.facts.waits import ForbiddenWait as ForbiddenWait
from devlint.inference.facts.waits import LateRead as LateRead
from devlint.inference.facts.waits import StreamRace as StreamRace
from devlint.inference.facts.waits import Sync as Sync
from devlint.inference.facts.waits import Timing as Timing
