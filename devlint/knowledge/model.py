"""The form in which knowledge is written: what one API call does to devices.

Generated knowledge (torch) is JSON, hand-written knowledge and a user's own is TOML; both are read
into these tables. A key is a dotted name for a function or class (`torch.nn.functional.relu`) and
a bare name for a method of Tensor.
"""

from __future__ import annotations

import enum
from dataclasses import field

from devlint.records import dataclass


class Agreement(str, enum.Enum):
    """Which mixes of devices an operation accepts among its tensor operands."""

    POINTWISE = "pointwise"  # one device; 0-dim CPU tensors meet every device
    STRICT = "strict"  # one device, 0-dim tensors too
    FREE = "free"  # no check: copies across (copy_, slice assignment), or a single operand


class Result(str, enum.Enum):
    """Where the result lives."""

    OPERANDS = "operands"  # where the tensor operands live
    FIRST = "first"  # where the first tensor operand lives (in-place, views, `*_like` w/o device=)
    DEVICE = "device"  # `device=`, else the default device: a factory
    LIKE = "like"  # `device=`, else where the first operand lives
    CPU = "cpu"  # always a host tensor
    CUDA = "cuda"  # always the current CUDA device (`torch.cuda.FloatTensor`)
    HOST = "host"  # no tensor: a number, shape, bool, string, NumPy array
    NONE = "none"  # nothing of use
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Call:
    """One API function, or Tensor method (its `params` without the tensor itself).

    params: parameter names in order (keyword-only ones too).
    tensors: the parameters that take tensors and must agree; for a method the tensor itself always
        takes part. A parameter that takes a list of tensors counts too.
    host: the parameters that must be on the CPU (`lengths` of pack_padded_sequence).
    indices: the parameters at which the first operand is read: where it is, or on the CPU.
    numbers: the parameters that take numbers only: sizes, dimensions, bounds. A tensor without
        dimensions is taken for one, too, and the host waits for its value.
    results: how many tensors it returns (0: one value, n: a tuple of n, -1: a list or tuple of
        unknown length). Where `scalar` is "without-dim", a call without `dim` returns one value.
    host_results: the positions among several results that are host tensors in any case.
    no_tensors: the positions among several results that are no tensors (a sample rate).
    scalar: the result is 0-dim ("always", "without-dim": when neither `dim` nor `keepdim` is given,
        "without-none": unless `reduction="none"`, "": as its operands, "never": its operands are
        taken to have dimensions, since nobody sorts a number).
    sync: the host waits for the device.
    sync_unless: parameters whose presence makes it no sync (`output_size` of repeat_interleave).
    sync_only_if: it is a sync only if a tensor is given for one of these.
    in_place: it writes its first operand and returns it.
    random: it takes a `generator=`.
    zero_dim: the parameters of a strict operation that take a 0-dim CPU tensor all the same; a
        method's own tensor is `self`.
    reads_host: it reads the memory of every tensor it gets on the host, and raises for a tensor on
        an accelerator (NumPy, PIL, matplotlib).
    keeps: containers whose contents such a function leaves unread and keeps as objects: "mapping"
        (NumPy makes one object of a dict), "sequence" (a column of tensors is one of objects).
    instance: the dotted name of the class that the result is an instance of, where that is known.
    instances: the same of each of several results, in their order (`plt.subplots`).
    moves: it returns its arguments (modules, optimizers, loaders, tensors), one or as a tuple of as
        many, moved to where `result` says (`Accelerator.prepare`: to where the accelerator is; a
        function whose result is "device": its first argument, to its parameter `device`).
    feeds: it calls a module: the parameter that takes the module, then those that take its inputs
        (`torch.jit.trace(net, x)`).
    collective: it sends its tensors through a process group; the NCCL backend refuses host tensors.

    Surplus positional arguments belong to the last positional parameter (`torch.block_diag(a, b)`).
    Of a method of a module or class `first` means where the instance lives.
    LIKE and OPERANDS with no tensor among the arguments at all: the default device. The first
    operand of an `in_place` call is never exempt as a 0-dim tensor. A parameter `out` must be where
    the result is.
    """

    params: tuple[str, ...] = ()
    tensors: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    agreement: Agreement = Agreement.POINTWISE
    result: Result = Result.OPERANDS
    host: frozenset[str] = frozenset()
    indices: frozenset[str] = frozenset()
    results: int = 0
    scalar: str = ""
    sync: bool = False
    in_place: bool = False
    random: bool = False
    zero_dim: frozenset[str] = frozenset()
    reads_host: bool = False
    keeps: frozenset[str] = frozenset()
    instance: str = ""
    instances: tuple[str, ...] = ()
    sync_unless: frozenset[str] = frozenset()
    sync_only_if: frozenset[str] = frozenset()
    collective: bool = False
    feeds: tuple[str, ...] = ()
    host_results: tuple[int, ...] = ()
    no_tensors: tuple[int, ...] = ()
    moves: bool = False


@dataclass(frozen=True, slots=True)
class ModuleClass:
    """An `nn.Module` class of a library: where its call's result lives and how it is called.

    A function that makes a module (`timm.create_model`, `AutoModel.from_pretrained`) is written as
    one, too.

    result: as of a function; OPERANDS is the module's own device.
    results: as `Call.results`.
    stateful: it has parameters or buffers, so that its inputs must be where it is. A module of
        constructor arguments only (`nn.ReLU`) is not. "weight": stateful only with `weight=` or
        `pos_weight=` given (losses).
    stateful_by: flags of the constructor, on by default, that ask for its state: with all of them
        off it has none (`nn.LayerNorm(…, elementwise_affine=False)`).
    agreement: among its inputs.
    bases: classes that it inherits from, by dotted name; what it does not say, they do.
    device_parameter: the constructor's parameter that says where it is made, where that is not
        called `device` (`device_map`); without it, it is made on the default device.
    on_default_device: it is made there, whatever else its library does with modules.
    self_placing: parameters of the constructor that make it choose its device itself
        (`quantization_config`).
    device_attribute: the attribute that is the module's own device (`self.device`).
    device_is_read_only: it is a property without a setter: to assign it raises AttributeError.
    hooks: methods that its framework calls with arguments on the module's own device
        (`training_step`); in them nothing needs to be moved.
    methods: its methods, by bare name; `first` is where the module lives.
    """

    params: tuple[str, ...] = ()
    result: Result = Result.OPERANDS
    results: int = 0
    stateful: str = "always"  # "always", "never" or "weight"
    stateful_by: frozenset[str] = frozenset()
    agreement: Agreement = Agreement.STRICT
    scalar: bool = False
    bases: tuple[str, ...] = ()
    device_parameter: str = ""
    on_default_device: bool = False
    self_placing: frozenset[str] = frozenset()
    device_attribute: str = ""
    device_is_read_only: bool = False
    hooks: frozenset[str] = frozenset()
    methods: dict[str, Call] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClassInfo:
    """A class of a library that is no `nn.Module`: where its instances live and how they move.

    params: the constructor's parameters in order.
    tensors: those of them that take tensors, which must agree.
    result: where a new instance lives, as of a function.
    to: what its `.to(device)`, `.cuda()` and `.cpu()` do: "in-place" (it moves itself and returns
        itself), "new" (it returns a moved one and stays) or "" (it has none, or nobody knows).
    bases, device_attribute, device_is_read_only, hooks, methods: as of a module.
    grid: an array of them is used like one, and an element of it is one: `ax[0].plot(x)`.
    attributes: where its tensor attributes live, by name; `first` is where the instance lives. `*`
        stands for all that are not named.
    """

    params: tuple[str, ...] = ()
    tensors: frozenset[str] = frozenset()
    result: Result = Result.UNKNOWN
    to: str = ""
    bases: tuple[str, ...] = ()
    device_attribute: str = ""
    device_is_read_only: bool = False
    hooks: frozenset[str] = frozenset()
    grid: bool = False
    methods: dict[str, Call] = field(default_factory=dict)
    attributes: dict[str, Result] = field(default_factory=dict)
