"""The form in which knowledge is written: what one API call does to devices.

Generated knowledge (torch) is JSON, hand-written knowledge and a user's own is TOML; both are read
into these tables. A key is a dotted name for a function or class (`torch.nn.functional.relu`) and
a bare name for a method of Tensor.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


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
    HOST = "host"  # no tensor: a number, shape, bool, string, NumPy array
    NONE = "none"  # nothing of use
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Call:
    """One API function, or Tensor method (its `params` without the tensor itself).

    params: parameter names in order (keyword-only ones too).
    tensors: the parameters that take tensors and must agree; for a method the tensor itself always
        takes part. A parameter that takes a list of tensors counts too.
    host: the parameters that must be or may always be on the CPU (`lengths` of
        pack_padded_sequence, indices given to a CUDA tensor).
    indices: the parameters that index the first operand.
    results: how many tensors it returns (0: one value, n: a tuple of n, -1: a list or tuple of
        unknown length).
    scalar: the result is 0-dim ("always", "without-dim": when no `dim` is given, "": no).
    sync: the host waits for the device.
    in_place: it writes its first operand and returns it.
    random: it takes a `generator=`.
    """

    params: tuple[str, ...] = ()
    tensors: frozenset[str] = frozenset()
    agreement: Agreement = Agreement.POINTWISE
    result: Result = Result.OPERANDS
    host: frozenset[str] = frozenset()
    indices: frozenset[str] = frozenset()
    results: int = 0
    scalar: str = ""
    sync: bool = False
    in_place: bool = False
    random: bool = False


@dataclass(frozen=True, slots=True)
class ModuleClass:
    """An `nn.Module` class of a library: where its call's result lives and how it is called.

    result: as of a function; OPERANDS is the module's own device.
    takes_device: the constructor has a `device` parameter.
    results: as `Call.results`.
    stateful: it has parameters or buffers, so that its inputs must be where it is. A module of
        constructor arguments only (`nn.ReLU`) is not. "weight": stateful only with `weight=` or
        `pos_weight=` given (losses).
    agreement: among its inputs.
    """

    params: tuple[str, ...] = ()
    result: Result = Result.OPERANDS
    takes_device: bool = False
    results: int = 0
    stateful: str = "always"  # "always", "never" or "weight"
    agreement: Agreement = Agreement.STRICT
    scalar: bool = False
