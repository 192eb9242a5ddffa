"""Transfers: moves that the code asks for, and copies that it makes in silence."""

from __future__ import annotations

import enum

import libcst as cst

from devlint.inference.call_contexts import Given
from devlint.inference.domain.placement import Placement
from devlint.inference.domain.provenance import Site
from devlint.inference.facts.operands import Loop, Operand
from devlint.records import NamedTuple


class Move(NamedTuple):
    """A move that the code asks for: `.to`, `.cuda`, `.cpu`, `type_as`, `Module.to`."""

    site: Site
    method: str  # "to", "cuda", "cpu", "type_as", "from_numpy().to" …
    subject: Operand  # before the move
    target: Placement
    of_module: bool  # Module.to: in place
    discarded: bool  # the result is thrown away
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
    in_module: bool = False  # inside a method of an nn.Module
    made_elsewhere: str = ""  # with `discarded`: who moves the subject all the same
    apart: bool = False  # other statements stand between the creation and the move
    evaluates: bool = False  # in code that evaluates: no gradients, or by its name
    either: bool = False  # with `discarded`: of a module or a tensor, as the code asks itself


class RoundTrip(NamedTuple):
    """A tensor is moved away and back, and nothing in between needs it there."""

    away: Site
    back: Site
    subject: Operand
    start: Placement
    middle: Placement


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
    given: Given | None = None  # the parameter of a plain function where the copy goes to


class Rebinding(NamedTuple):
    """`for t in ts: t = t.to(d)`: the container keeps the old tensors."""

    site: Site
    variable: str
    container: str
    used_later: bool  # the container is used after the loop
