"""Accelerators by name, and the calls of a backend."""

from __future__ import annotations

from devlint.inference.domain.provenance import Site
from devlint.records import NamedTuple


class Mention(NamedTuple):
    """The code names an accelerator, a backend or a legacy type without asking whether it is there.

    `kind`: "device" (`"cuda"`, `.cuda()`), "backend" (`torch.cuda.*` that raises without CUDA),
    "legacy-type" (`torch.cuda.FloatTensor`), "load" (`torch.load` with no map_location), "pin"
    (`pin_memory=True` of a factory, which raises where no accelerator is).
    """

    site: Site
    kind: str
    text: str
    index: int | None  # type: ignore[assignment]  # the field, not what tuples have
    guarded: bool
    in_main: bool  # in a script's main part or a test
    per_rank: bool  # in code that runs once per rank
    serves_host: bool = False  # the code around is to run without an accelerator, too
    weights: bool = False  # of a load: what is loaded are a model's or an optimizer's weights
    moves: bool = False  # of a legacy type: it takes a tensor from where it may be
    to_card: bool = False  # of a legacy type: it is one of CUDA, under whatever name
    type_name: str = ""  # of a legacy type that is called or converted to: its whole name
    refused: bool = False  # of a legacy type: its `device=` is one that it refuses
    of_class: str = ""  # of a legacy type: the project's class of tensors that is constructed
    global_rank: bool = False  # the index is the rank among all nodes
    returns: bool = False  # it brings to the current card what some input's device gave
    on_purpose: str = ""  # why the code around it is for CUDA and nothing else, or runs once
    at_hand: str = ""  # a device that the code around it has, and that this is not: `q.device`
    strays: bool = False  # on purpose, and to another card than the one that the code is given
    stays_on_first: bool = False  # its code names the card of its rank, and makes none current
    follows: str = ""  # the tensor that it is for: `"cuda" if x.is_cuda else "cpu"`
    on_own_card: bool = False  # each process of the project makes its card the current one


class AbsentBackend(NamedTuple):
    """A question for a backend that is on `torch` only where its package was imported."""

    site: Site
    text: str  # `torch.npu.is_available`
    backend: str  # `npu`
    package: str  # `torch_npu`


class AcceleratorBinding(NamedTuple):
    """A name is read that has a value only where an accelerator is there."""

    site: Site
    name: str
    bound: tuple[Site, ...]  # in the same scope
    asked: Site  # the condition around the first of these
    is_global: bool  # the scope is the module


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
