"""What the inference found out about one file: all that a rule may read.

A fact says what happens, never whether it is bad: that is a rule's to say. `Site`s are places in
the source by node; the engine turns them into lines and columns for those that become findings.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import NamedTuple

import libcst as cst

from devlint.findings import Confidence
from devlint.inference.call_contexts import Feed, Given
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import Assumptions
from devlint.inference.domain.placement import Placement
from devlint.inference.domain.provenance import Site as Site
from devlint.inference.domain.provenance import Source as Source
from devlint.inference.domain.provenance import Step as Step
from devlint.inference.domain.provenance import StepKind as StepKind


class Operand(NamedTuple):
    """A value that takes part in a fact.

    `name` is its source text (shortened), `steps` its history, oldest first, at most five.
    """

    name: str
    placement: Placement
    site: Site
    steps: tuple[Step, ...] = ()
    by_default: bool = False  # made by a factory without `device=`: on the default device
    loaded: bool = False  # came from a DataLoader or the disk, never moved
    scalar: bool = False  # 0-dim
    requires_grad: bool = False
    is_parameter: bool = False
    pinned: bool = False
    pageable: bool = False  # a batch of a DataLoader in sight that does not pin its batches
    indirect: bool = False  # it, or the other operand's place, went through an unknown callee
    element: bool = False  # an element of the container whose name and site these are
    mixed: bool = False  # computed from several that were made apart: none of them alone decides

    @property
    def moved(self) -> bool:
        """Whether a move is in its history."""
        return any(step.kind is StepKind.MOVED for step in self.steps)


class Hotness(str, enum.Enum):
    """How often a loop's body runs for each unit of work."""

    HOT = "hot"  # batches, steps, tokens, time steps
    EPOCHS = "epochs"
    COLD = "cold"  # a few items: layers, files, devices; or under `if step % n == 0`


class Loop(NamedTuple):
    """A loop around a fact. `feeds_device`: its body runs operations on an accelerator."""

    site: Site
    over: str  # source text of what it iterates over, or its condition
    hotness: Hotness
    feeds_device: bool
    depth: int  # 1 is the outermost
    trains: bool = False  # its body runs a backward pass or an optimizer's step
    nested: bool = False  # inside another hot loop
    goes_back: bool = False  # each turn runs a backward pass itself, and no loop inside does


class MeetingKind(str, enum.Enum):
    """What kind of operation brings the operands together."""

    OPERATION = "operation"  # arithmetic, cat, matmul, a loss: all on one device
    INPUT = "input"  # a module called with an input
    INDEX = "index"  # an index, mask or out=
    GENERATOR = "generator"
    CALLEE = "callee"  # an unknown callee gets both: they must live together
    RETURN = "return"  # one return here, another there
    SHAPE = "shape"  # made here with the shape of one that lives there
    CONTRACT = "contract"  # `left` is elsewhere than a contract says, `right` where it says


class Meeting(NamedTuple):
    """Operands that one operation brings together although their devices contradict.

    `left` is the operand that is out of place (the one to mend), `right` the one that sets the
    device. `inside` is the operation in a callee, when the contradiction shows only at the call.
    """

    site: Site
    kind: MeetingKind
    operation: str  # "+", "torch.cat", "self.proj", …
    left: Operand
    right: Operand
    assumptions: Assumptions
    in_module: bool  # inside a method of an nn.Module
    inside: Site | None = None
    caught: bool = False  # inside `try … except RuntimeError`
    given: Given | None = None  # the parameter of a plain function that sets the device

    @property
    def confidence(self) -> Confidence:
        return confidence_of(self.assumptions)


class Move(NamedTuple):
    """A move that the code asks for: `.to`, `.cuda`, `.cpu`, `type_as`, `Module.to`."""

    site: Site
    method: str  # "to", "cuda", "cpu", "type_as", "from_numpy().to" …
    subject: Operand  # before the move
    target: Placement
    of_module: bool  # Module.to: in place
    discarded: bool  # the result is thrown away
    used_later: bool  # with `discarded`: the subject is read afterwards in the function
    non_blocking: bool
    loop: Loop | None  # the innermost loop
    invariant: bool  # the subject and the target do not change in that loop
    creation: Site | None  # the factory call that this move directly follows, on a fresh tensor
    target_node: cst.CSTNode | None  # the expression that names the target device, if one does
    guarded: bool  # under a condition on availability or on the device
    statement: cst.CSTNode | None = None  # the expression statement, when discarded
    function: Site | None = None  # the function around it
    in_step: str = ""  # its name, when it runs once per step
    recursive: bool = False  # that function calls itself in a loop
    cold: bool = False  # in code that runs once, or now and then
    to_tensor: bool = False  # `.to(other)`: the target is a tensor, its dtype counts too
    kept: str = ""  # the subject's attribute of the object, which only its constructor sets
    apart: bool = False  # other statements stand between the creation and the move


class RoundTrip(NamedTuple):
    """A tensor is moved away and back, and nothing in between needs it there."""

    away: Site
    back: Site
    subject: Operand
    start: Placement
    middle: Placement


class Sync(NamedTuple):
    """The host waits for the device."""

    site: Site
    call: str  # ".item()", "float()", "if tensor", "print", …
    operand: Operand
    loop: Loop | None
    cold: bool  # under `if step % n == 0` and the like, or in a branch that leaves the loop
    for_logging: bool = False
    function: Site | None = None  # the function around it
    in_step: str = ""  # its name, when it runs once per step
    called_in: Site | None = None  # the call in a hot loop that says so
    trains: bool = False  # that function goes back and takes a step of the optimizer itself
    in_module: bool = False  # inside a method of an nn.Module
    guards_error: bool = False  # only to raise, to warn or to assert
    evaluates: bool = False  # in code that evaluates: no gradients, or by its name
    elementwise: bool = False  # of one element of a tensor that the loop goes through
    whole: Site | None = None  # that tensor
    of_piece: bool = False  # a number made of a row or a piece of it, no element as it is
    needed: bool = False  # the host works on with it: it is not just kept, added up or shown
    invariant: bool = False  # what is read does not change in the loop
    inside: Site | None = None  # where the callee waits, when this is a call
    perhaps: bool = False  # the value is a tensor in one of several cases only
    is_operand: bool = False  # given to PyTorch for a number that it only computes with
    given: Given | None = None  # the parameter of a plain function that is read


class HiddenCopy(NamedTuple):
    """Indexing or assigning through an index copies a host tensor to the device in silence."""

    site: Site
    what: str  # "index" (`x[perm]` with a host index) or "assignment" (`x[i] = host`)
    operand: Operand  # the host tensor
    base: Operand  # the device tensor
    loop: Loop | None
    prepares: bool = False  # in code that builds something once, or that prepares data on the host
    in_step: str = ""  # the name of the function around it, when that runs once per step
    cold: bool = False  # in code that runs once, or now and then
    given: Given | None = None  # the parameter of a plain function that is indexed or written to


class DataKind(str, enum.Enum):
    """What Python data are, as far as the code shows."""

    NUMBER = "number"  # one number, written out
    WRITTEN = "written"  # numbers in lists, written out
    KEPT = "kept"  # an attribute that only the constructor sets


class DataCopy(NamedTuple):
    """Python data that never change are made a device tensor: `torch.tensor(1.0, device=d)`."""

    site: Site
    kind: DataKind
    data: Site
    target: Placement
    of_tensor: bool  # the device is that of a tensor: `device=x.device`
    loop: Loop | None
    cold: bool = False  # in code that runs once, or now and then
    function: Site | None = None  # the function around it
    in_module: bool = False  # inside a method of an nn.Module
    in_step: str = ""  # the name of that function, when it runs once per step


class HostRead(NamedTuple):
    """Something that reads host memory gets a tensor: `.numpy()`, `np.*`, PIL, matplotlib."""

    site: Site
    sink: str  # ".numpy()", "np.mean", …
    operand: Operand
    assumptions: Assumptions
    caught: bool = False
    given: Given | None = None  # the parameter of a plain function that is read
    of_list: bool = False  # the operand is a list of such tensors

    @property
    def confidence(self) -> Confidence:
        return confidence_of(self.assumptions)


class UndetachedRead(NamedTuple):
    """NumPy gets a tensor that autograd records: it refuses, on the host as well."""

    site: Site
    sink: str  # ".numpy()", "np.asarray", …
    operand: Operand
    assumptions: Assumptions
    caught: bool = False

    @property
    def confidence(self) -> Confidence:
        return confidence_of(self.assumptions)


class LateRead(NamedTuple):
    """A tensor copied to the host with `non_blocking=True` is read with no synchronisation."""

    copy: Site
    read: Site
    operand: Operand


class Timing(NamedTuple):
    """The time between two readings of a clock, with device work and no wait for it in between."""

    start: Site
    end: Site
    name: str  # what the first reading is bound to
    work: Site  # the last of the work
    sure: bool  # the work is an accelerator's; else it is where the caller's inputs are
    repeated: bool  # the work is done several times in a loop
    function: Site | None = None  # the function around it


class KeptGraph(NamedTuple):
    """A loop adds up or appends what autograd recorded, and keeps the graph of each turn."""

    site: Site  # the value
    name: str
    into: str  # what keeps it
    loop: Site
    backward: Site | None  # the pass that the loop runs through it; None: none, it evaluates
    sure: bool = True  # gradients are on there


class CardWideCall(NamedTuple):
    """A call that concerns the whole card: `synchronize` waits for all of its work, `empty_cache`
    gives its cached memory back."""

    site: Site
    call: str
    loop: Loop | None
    cold: bool  # under `if step % n == 0` and the like
    function: Site | None
    measured: bool  # time or memory is measured around it
    overlapping: bool  # streams, events or copies without waiting are around it
    meant: bool  # a comment right above it speaks of memory
    in_step: str = ""  # the name of the function around it, when it runs once per step


class StreamRace(NamedTuple):
    """The host writes into `name` (`stream` is ""), or the current stream uses what `stream` makes,
    while `first` may not be done with it."""

    site: Site
    name: str
    first: Site
    stream: str


class ForbiddenWait(NamedTuple):
    """The host waits where it can't: `where` is "capture" of a CUDA graph, "vmap" or "compile" as
    one graph, `around` what says so."""

    site: Site
    call: str
    name: str
    where: str
    around: Site
    inside: Site | None  # where the callee waits, when this is a call
    sure: bool  # for an accelerator, whatever the caller does


class NonLeaf(NamedTuple):
    """A tensor that requires grad was moved; the result, a non-leaf, is used as a parameter.

    `use` says how: "optimizer", "grad", "attribute" (kept on a module), "returned" or "" (nothing
    seen).
    """

    site: Site  # the move
    operand: Operand  # before the move
    use: str
    use_site: Site | None


class PlainAttribute(NamedTuple):
    """A module keeps a tensor, or modules in a container, as a plain attribute.

    `.to()`, `state_dict` and `parameters()` pass it by. `used_at` is the meeting with a value on
    the module's or an input's device, if one was seen; `read_at` one with a value that may be
    anywhere.
    """

    site: Site
    class_name: str
    attribute: str
    operand: Operand
    of_modules: bool  # a list, tuple or dict of modules
    overwrites: str  # "buffer" or "parameter" when it rebinds a registered name, else ""
    used_at: Site | None
    excused: bool  # the class moves it: its own _apply/to, `.to(x.device)` at use; or a test
    method: str  # the method that assigns it
    given: Given | None = None  # whose default device it is on, if not the program's
    was_given: bool = False  # the constructor was handed it, and may have got it from anywhere
    read_at: Site | None = None


class LateMove(NamedTuple):
    """An optimizer was built on parameters of a module that is moved afterwards."""

    optimizer: Site
    move: Site
    module: str
    loaded: bool = False  # a saved state was loaded into the optimizer in between


class Rebinding(NamedTuple):
    """`for t in ts: t = t.to(d)`: the container keeps the old tensors."""

    site: Site
    variable: str
    container: str
    used_later: bool  # the container is used after the loop


class Mention(NamedTuple):
    """The code names an accelerator, a backend or a legacy type without asking whether it is there.

    `kind`: "device" (`"cuda"`, `.cuda()`), "backend" (`torch.cuda.*` that raises without CUDA),
    "legacy-type" (`torch.cuda.FloatTensor`), "load" (`torch.load` with no map_location).
    """

    site: Site
    kind: str
    text: str
    index: int | None  # type: ignore[assignment]  # the field, not what tuples have
    guarded: bool
    in_main: bool  # in a script's main part or a test
    per_rank: bool  # in code that runs once per rank
    serves_host: bool = False  # the file elsewhere works without an accelerator, too
    near_input: bool = False  # a tensor or a module is at hand, with a device to go by
    weights: bool = False  # of a load: what is loaded are a model's or an optimizer's weights
    moves: bool = False  # of a legacy type: it takes a tensor from where it may be
    refused: bool = False  # of a legacy type: its `device=` is one that it refuses
    global_rank: bool = False  # the index is the rank among all nodes
    returns: bool = False  # it brings to the current card what some input's device gave
    on_purpose: str = ""  # why the code around it is for CUDA and nothing else, or runs once
    at_hand: str = ""  # a device that the code around it has, and that this is not: `q.device`
    strays: bool = False  # on purpose, and to another card than the one that the code is given
    stays_on_first: bool = False  # its code names the card of its rank, and makes none current
    follows: str = ""  # the tensor that it is for: `"cuda" if x.is_cuda else "cpu"`


class ElementAccess(NamedTuple):
    """Python reads or writes a device tensor element by element in a loop."""

    site: Site
    operand: Operand
    writes: bool
    loop: Loop
    single: bool = False  # certainly one element, and not a row


class Neglect(str, enum.Enum):
    """What a function does with a device that it does not keep to."""

    LEFT_OUT = "left out"  # of a call that takes it
    FLAG = "flag"  # of a call that takes it, and by which it goes to an accelerator or not
    DEFAULTED = "defaulted"  # the "callee" takes an accelerator by default, beside this input
    UNUSED = "unused"  # it never mentions it, and returns what the callee makes
    REPLACED = "replaced"  # the "callee" is a choice that takes the first card for any but the CPU
    MAPPED = "mapped"  # weights are loaded there; the "callee" is the model, which is not moved
    UNRESOLVED = (
        "unresolved"  # it may be None in the "callee", a move; another name has what is not
    )
    BESIDE = "beside"  # a module is moved there, its inputs to the "callee": `self.device`
    CURRENT = "current"  # it is asked for its type; the "callee" waits for the current card
    STREAM = "stream"  # all is copied there; the "callee" is a stream of the current card


class AbsentBackend(NamedTuple):
    """A question for a backend that is on `torch` only where its package was imported."""

    site: Site
    text: str  # `torch.npu.is_available`
    backend: str  # `npu`
    package: str  # `torch_npu`


class DroppedArgument(NamedTuple):
    """A `device` (or `map_location`) parameter is accepted and not passed on."""

    site: Site
    function: str
    parameter: str
    callee: str
    callee_site: Site | None
    moved: bool = False  # moved right where it comes back
    placed: Site | None = None  # where the callee puts its result on that device
    neglect: Neglect = Neglect.LEFT_OUT


class Mistake(str, enum.Enum):
    """What stands where a device belongs, and is none."""

    FLAG = "flag"  # True or False
    CONTEXT = "context"  # `torch.cuda.device(i)`, which is for a `with`
    OLD_CONTEXT = "old context"  # the same, given to a function of `torch.cuda`
    NEVER_EQUAL = "never equal"  # a torch.device compared with a string
    ALWAYS_UNEQUAL = "always unequal"
    NO_SUCH_TYPE = "no such type"  # compared with "gpu", as no device is called
    NO_INDEX = "no index"  # `torch.cuda.set_device("cuda")`
    MINUS_ONE = "minus one"  # `y.to(x.get_device())`, which is -1 on the host
    KEYWORD = "keyword"  # `module.cuda(non_blocking=True)`, which takes a device and no more
    FIRST_CARD = "first card"  # `device.index or -1`: the first card has the index 0
    NO_CARD = "no card"  # `device.index or 0`: no index is the current card, and not the first
    PRECEDENCE = "precedence"  # `device or "cuda" if available else "cpu"`


class MistakenDevice(NamedTuple):
    """`text` is given to `callee` as a device, or compared with one, and is none."""

    site: Site
    mistake: Mistake
    text: str
    callee: str
    inferred: bool = False  # by its name the parameter of the callee is a device


class CudaCall(NamedTuple):
    """A call of `torch.cuda` that `torch.accelerator` has a function for."""

    site: Site
    text: str  # what is called: `torch.cuda.synchronize`
    stand_in: str  # `torch.accelerator.synchronize`
    since: str  # the release of torch that it came with
    alike: bool  # where there is no accelerator, both do the same
    complete: str  # a later release, from which on every accelerator has it; "" for none
    rewritten: str  # the call of the other one; "" where the arguments may not fit
    guarded: bool  # a condition around it asks for CUDA
    test: Site | None  # `torch.cuda.is_available()` around it, and around nothing but such calls
    on_purpose: str  # why the code around it is for CUDA and nothing else
    targeted: bool  # the project says which torch it supports


class MissingName(NamedTuple):
    """A name that `torch.accelerator` does not have, in the release that the project supports."""

    site: Site
    name: str
    meant: str  # the name that `torch.accelerator` has for it; "" for none
    since: str  # the release that it came with; "" for none that is known
    target: str  # the release that the project supports, "" for unknown
    newest: str  # the newest release that is known


class AutocastMistake(str, enum.Enum):
    """What is wrong with what autocasting or a gradient scaler is given."""

    MISSING = "missing"  # `torch.autocast()`: it has to be told a device type
    DEVICE = "device"  # `torch.autocast(device)`, with a `torch.device`
    FLAG = "flag"  # `torch.autocast(True)`
    DTYPE = "dtype"  # `torch.autocast(torch.float16)`
    KEYWORD = "keyword"  # `torch.autocast(device="cuda")`, which takes no such keyword
    UNREAD = "unread"  # `torch.cuda.amp.autocast("cuda")`: a text that counts as True
    SCALE = "scale"  # `torch.cuda.amp.GradScaler("cuda")`: the first scale, which is no number
    SCALER_FLAG = "scaler flag"  # `torch.amp.GradScaler(False)`: a device, and it is enabled


class MistakenAutocast(NamedTuple):
    """`callee` is given what it does not take."""

    site: Site
    mistake: AutocastMistake
    callee: str
    given: Site  # the argument, or the call where it is missing
    text: str  # what is given
    keyword: str  # under which name


class AutocastElsewhere(NamedTuple):
    """The work behind an autocast is on another device, or on one that somebody chooses."""

    site: Site
    kind: str  # the device type that it is for
    subject: str  # what is elsewhere
    place: Placement


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


class UnreadContract(NamedTuple):
    """A contract that can't be understood, or that holds of nothing."""

    site: Site
    message: str


class KernelLaunch(NamedTuple):
    """The Triton kernel `kernel` is launched with `tensor`, on the current card.

    `strays`: the tensor is on the host or on another card, and `beside` one that is not; else it is
    on a card of somebody's choice, and nothing makes that the current one.
    """

    site: Site
    kernel: str
    tensor: Operand
    beside: Operand | None
    strays: bool


class Leftover(str, enum.Enum):
    """Where a module that was made on meta lacks its data."""

    MOVED = "moved"  # it is moved before anything is loaded
    UNASSIGNED = "unassigned"  # a state is copied into tensors that hold nothing
    BUFFER = "buffer"  # a buffer that is not saved stays on meta, and the module is moved
    EMPTY = "empty"  # a buffer that is not saved holds what `to_empty` found in memory


class MetaLeftover(NamedTuple):
    """`name`, made on meta at `made`, lacks data at `site`; `buffer` is registered where it is."""

    site: Site
    leftover: Leftover
    name: str
    made: Site
    buffer: str
    registered: Site | None


class Placer(str, enum.Enum):
    """What has placed the layers of a model."""

    DISPATCHED = "dispatched"  # `device_map="auto"` and accelerate's hooks
    PIPELINE = "pipeline"  # a diffusers pipeline with a `device_map`
    SEQUENTIAL = "sequential"  # `enable_sequential_cpu_offload()`
    OFFLOAD = "offload"  # `enable_model_cpu_offload()`
    EIGHT_BIT = "eight-bit"  # `load_in_8bit=True`


class DispatchedMove(NamedTuple):
    """`name` is moved as a whole, although `how`, at `made`, has placed its layers."""

    site: Site
    name: str
    placer: Placer
    how: str
    made: Site
    chained: bool  # `load(…).to(device)`


class ValueKind(str, enum.Enum):
    """What a value is that has a place."""

    TENSOR = "tensor"
    MODULE = "module"
    DEVICE = "device"  # a `torch.device`, or what stands for one


class Whereabouts(NamedTuple):
    """One of the things that a value may be, or hold, and where that is."""

    kind: ValueKind
    placement: Placement
    steps: tuple[Step, ...]
    assumptions: Assumptions = ()
    held: bool = False  # in a list, a tuple or a dict


class Placed(NamedTuple):
    """A value with its places. `site` is its name's or its expression's; `binds`: it is given
    that name there."""

    site: Site
    name: str
    whereabouts: tuple[Whereabouts, ...]
    binds: bool = False


@dataclass(slots=True)
class Facts:
    """All facts of one file, each list in source order of inference."""

    source: Source
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
    # Functions that nothing in sight uses, though the project uses their file: their names.
    left_over: dict[cst.CSTNode, str] = field(default_factory=dict)
    mentions: list[Mention] = field(default_factory=list)
    absent_backends: list[AbsentBackend] = field(default_factory=list)
    element_accesses: list[ElementAccess] = field(default_factory=list)
    dropped_arguments: list[DroppedArgument] = field(default_factory=list)
    mistaken_devices: list[MistakenDevice] = field(default_factory=list)
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
    accelerated: bool = False  # the file shows that it is meant for accelerators
    is_script: bool = False  # the file runs itself
    budgets_hit: list[str] = field(default_factory=list)  # honest notes for --verbose
