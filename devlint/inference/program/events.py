"""Events: what happens in the program while it is interpreted.

The interpreter and the models emit them (`frame.emit`), collectors listen.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.assumptions import Assumptions
from devlint.inference.domain.placement import Placement
from devlint.inference.domain.provenance import Site
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value
from devlint.inference.facts import Mistake
from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.functions import Arguments, Parameter, Summary
from devlint.inference.program.loops import LoopState
from devlint.inference.program.values import Instance
from devlint.records import NamedTuple, dataclass


@dataclass(slots=True, eq=False)
class MoveNote:
    node: cst.CSTNode
    method: str
    subject: Tensor
    subject_node: cst.CSTNode
    target: Placement
    target_node: cst.CSTNode | None
    of_module: bool
    discarded: bool
    non_blocking: bool
    loop: LoopState | None
    creation: cst.CSTNode | None
    guarded: bool
    cold: bool = False
    to_tensor: bool = False
    apart: bool = False
    handed: bool = False  # straight to what is called like a model, as one of its inputs
    result: Tensor | None = None  # what it leaves: a tensor, if that is used as one
    evaluates: bool = False  # in a branch, or a context, without gradients
    either: bool = False  # of a module or a tensor, as the code asks itself


@dataclass(slots=True, eq=False)
class SyncNote:
    node: cst.CSTNode
    call: str
    tensor: Tensor
    tensor_node: cst.CSTNode
    loop: LoopState | None
    cold: bool
    guards_error: bool = False
    evaluates: bool = False
    for_logging: bool = False
    needed: bool = False
    inside: Site | None = None
    perhaps: bool = False
    is_operand: bool = False


@dataclass(slots=True, eq=False)
class HostReadNote:
    node: cst.CSTNode
    sink: str
    tensor: Tensor
    tensor_node: cst.CSTNode
    assumptions: Assumptions
    caught: bool
    waits: bool = False  # for a call that shows it to be on a device
    of_list: bool = False


@dataclass(slots=True, eq=False)
class RoundTripNote:
    away: cst.CSTNode
    back: cst.CSTNode
    subject: Tensor
    subject_node: cst.CSTNode
    start: Placement
    middle: Placement


@dataclass(slots=True, eq=False)
class LateReadNote:
    copy: cst.CSTNode
    read: cst.CSTNode
    tensor: Tensor
    tensor_node: cst.CSTNode


@dataclass(slots=True, eq=False)
class NonLeafNote:
    node: cst.CSTNode
    tensor: Tensor
    tensor_node: cst.CSTNode
    use: str = ""
    use_node: cst.CSTNode | None = None


@dataclass(slots=True, eq=False)
class ComparisonNote:
    """The device of what may be a tensor is compared with a string, or with an accelerator of a
    `kind` without an index, which is a mistake if it is."""

    node: cst.CSTNode
    mistake: Mistake
    kind: str = ""
    tensor: Tensor | None = None  # with an accelerator: what has the device


@dataclass(slots=True, eq=False)
class ElementNote:
    node: cst.CSTNode
    tensor: Tensor
    tensor_node: cst.CSTNode
    writes: bool
    loop: LoopState
    single: bool = False


@dataclass(slots=True, eq=False)
class HiddenCopyNote:
    node: cst.CSTNode
    what: str
    tensor: Tensor
    tensor_node: cst.CSTNode
    base: Tensor
    base_node: cst.CSTNode
    loop: LoopState | None
    cold: bool = False


class HostWaits(NamedTuple):
    """The host waits for `value` at `call`, here or `inside` a callee."""

    node: cst.CSTNode
    call: str
    value: Value
    value_node: cst.CSTNode
    inside: Site | None = None


class CreatedThenMoved(NamedTuple):
    """What `factory` made on the default device is moved to `target`."""

    node: cst.CSTNode
    factory: cst.CSTNode
    target: Placement
    target_node: cst.CSTNode | None


class Tested(NamedTuple):
    """A value is asked for its truth by `if`, `while`, `assert` or an operator."""

    node: cst.CSTNode
    value: Value
    keyword: str


class Formatted(NamedTuple):
    """A value becomes part of a text."""

    node: cst.CSTNode
    call: str
    value: Value
    value_node: cst.CSTNode


class NumberTaken(NamedTuple):
    """Python takes a number out of a value. `is_operand`: only to compute with it."""

    node: cst.CSTNode
    call: str
    value: Value
    value_node: cst.CSTNode
    is_operand: bool = False


class HostReads(NamedTuple):
    """NumPy, PIL or another library of the host gets a value."""

    node: cst.CSTNode
    call: str
    value: Value
    value_node: cst.CSTNode


class HostDemanded(NamedTuple):
    """A legacy constructor gets a value, and refuses it if that is a tensor from elsewhere."""

    node: cst.CSTNode
    call: str  # its whole name: `torch.LongTensor`
    value: Value
    value_node: cst.CSTNode


# The host works with a value: if that is on a device, it waits.
HostUse = HostWaits | Tested | Formatted | NumberTaken | HostReads


class HostNeeds(NamedTuple):
    """The host works on with a tensor that was brought to it."""

    tensor: Tensor


class EnvironmentSet(NamedTuple):
    """`os.environ["NAME"] = value`."""

    node: cst.Subscript
    value: Value
    source: cst.CSTNode


class ItemWritten(NamedTuple):
    """`tensor[i] = part`, of a tensor on the host."""

    tensor: Tensor
    part: Tensor


class TensorRead(NamedTuple):
    """A tensor is read that may still be on its way to the host."""

    node: cst.CSTNode
    tensor: Tensor
    value_node: cst.CSTNode


class Operated(NamedTuple):
    """`left + right` in a loop, or `left @ right`."""

    node: cst.BinaryOperation
    symbol: str
    right: Value
    result: Value


class AttributeSet(NamedTuple):
    """`holder.name = value`, of an object of a class in sight or of a library."""

    target: cst.Attribute
    holder: Instance
    value: Value


class AddedUp(NamedTuple):
    """`total += value`."""

    node: cst.AugAssign
    value: Value


class TensorMade(NamedTuple):
    """A factory made a tensor."""

    node: cst.Call
    tensor: Tensor


class PlaceSettled(NamedTuple):
    """Something in sight decides where a tensor is to be, or what a name holds: one of several
    that branches left under it."""

    tensor: Tensor
    name: str = ""


class TensorReturned(NamedTuple):
    """A function returns a tensor, alone or in a container beside what is in other places."""

    tensor: Tensor
    beside: frozenset[Placement]


class Called(NamedTuple):
    """Anything is called."""

    node: cst.Call
    callee: Value
    arguments: Arguments


class DeviceRevealed(NamedTuple):
    """The code asks where a value is: `reveal_device(value)`."""

    node: cst.Call
    value: Value
    value_node: cst.CSTNode


class TypeNamed(NamedTuple):
    """An attribute names a type of tensors."""

    node: cst.Attribute
    value: Value


class DeviceFormatted(NamedTuple):
    """A device is named by a formatted string."""

    node: cst.FormattedString
    index: Value  # type: ignore[assignment]  # the field, not what tuples have


class DeviceNameKept(NamedTuple):
    """A name or an attribute is bound to a literal string: `self.device = "cuda"`."""

    node: cst.SimpleString
    target: cst.BaseExpression


class Compared(NamedTuple):
    """Two values are compared."""

    node: cst.Comparison


class Chosen(NamedTuple):
    """A conditional expression chose a value."""

    node: cst.IfExp
    chosen: Value


class DefaultEvaluated(NamedTuple):
    """The default of a parameter was evaluated."""

    node: cst.BaseExpression


class Asserted(NamedTuple):
    """An `assert` was passed."""

    node: cst.Assert


class Branched(NamedTuple):
    """An `if` came out as `known`, or may go either way."""

    node: cst.If
    known: bool | None


class FunctionCalled(NamedTuple):
    """A function of the project is called."""

    node: cst.CSTNode
    function: Function


class LoopLeft(NamedTuple):
    """A `for` loop was walked."""

    loop: cst.For


class ArrayTaken(NamedTuple):
    """NumPy gets what autograd may record."""

    node: cst.CSTNode
    sink: str
    value: Value
    value_node: cst.CSTNode


class MethodRead(NamedTuple):
    """A method of a value is called that may take its array."""

    node: cst.CSTNode
    value: Value


class DefaultTaken(NamedTuple):
    """A call leaves a parameter to its default."""

    node: cst.CSTNode
    function: Function
    parameter: Parameter
    summary: Summary


class ArgumentGiven(NamedTuple):
    """A call gives an argument for a device."""

    node: cst.CSTNode
    value: Value
    given: cst.CSTNode
    function: Function
    parameter: str


class DeviceCompared(NamedTuple):
    """Two values are compared, one of them perhaps a device.

    `before`: what the left one is compared with in its turn: `a` of `a == b == "cuda"`.
    """

    node: cst.CSTNode
    operator: cst.BaseCompOp
    left: Value
    right: Value
    before: tuple[Value, ...] = ()


class OperandChosen(NamedTuple):
    """`and` or `or` chose an operand."""

    node: cst.BooleanOperation


class DeviceChosen(NamedTuple):
    """A conditional expression is evaluated, perhaps one of devices."""

    node: cst.IfExp


class NonLeafUsed(NamedTuple):
    """A tensor that is no leaf is used as a parameter."""

    tensor: Tensor
    use: str
    node: cst.CSTNode


class KeptMeets(NamedTuple):
    """A plain attribute of a module is computed with, beside what may be anywhere."""

    tensor: Tensor
    node: cst.CSTNode


class PartMade(NamedTuple):
    """A module of a class is made as a part of another."""

    info: ClassInfo


class ModuleMade(NamedTuple):
    """A module of a class of the project is made."""

    node: cst.Call
    info: ClassInfo


class UnknownCalled(NamedTuple):
    """A callee out of sight gets arguments."""

    node: cst.Call
    arguments: Arguments


class HandedOver(NamedTuple):
    """A function is handed over with arguments, to be called elsewhere."""

    name: str
    arguments: Arguments


class FunctionReturns(NamedTuple):
    """The body of a function was walked, and gave `result`."""

    function: Function
    result: Value


class PlacesSettled:
    """All that decides where a function's tensors are to be has happened."""


class FunctionLeft:
    """A function is done: what was noted of it becomes facts."""
