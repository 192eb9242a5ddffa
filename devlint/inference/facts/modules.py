"""Modules and optimizers: what they keep, and what is moved apart from them."""

from __future__ import annotations

import enum

from devlint.inference.call_contexts import Given
from devlint.inference.domain.provenance import Site
from devlint.inference.facts.operands import Operand
from devlint.records import NamedTuple


class KeptGraph(NamedTuple):
    """A loop adds up or appends what autograd recorded, and keeps the graph of each turn."""

    site: Site  # the value
    name: str
    into: str  # what keeps it
    loop: Site
    backward: Site | None  # the pass that the loop runs through it; None: none, it evaluates
    sure: bool = True  # gradients are on there


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
    only_compared: bool = False  # a registered name of which the class asks how it compares
    in_container: bool = False  # in a plain list
    is_trained: bool = False  # it requires grad
    is_computed: bool = False  # of others, as the mean of a parameter is
    one_of_several: bool = False  # that another attribute may hold, from which it was taken
    in_host_script: bool = False  # the class is of a script alone, which names no accelerator
    switch: str = ""  # of the object: it is made and used only where that is on
    is_late: bool = False  # no constructor of its class calls the method that assigns it


class MissingDevice(NamedTuple):
    """A method reads a device of its object, `self.device`, which has none under this name."""

    site: Site  # the first place that reads it
    class_name: str
    attribute: str
    others: tuple[Site, ...]  # that read it, too
    at_hand: str = ""  # an input of the method that is a tensor
    is_module: bool = False
    has_parameters: bool = False  # it makes modules or parameters


class LateMove(NamedTuple):
    """An optimizer was built on parameters of a module that is moved afterwards."""

    optimizer: Site
    move: Site
    module: str
    loaded: bool = False  # a saved state was loaded into the optimizer in between


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
