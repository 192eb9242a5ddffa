"""Contracts against values: one that is known to live elsewhere breaks its contract.

`weights: Annotated[Tensor, On("cuda")] = torch.ones(3)` is a meeting of the kind CONTRACT, as it is
where such a value is handed in or returned.
"""

from __future__ import annotations

from collections.abc import Mapping as ReadOnly

import libcst as cst

from devlint.contracts import SameDevice
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.placement import Device, Variable, VariableKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import MeetingKind
from devlint.inference.interpreter.contract_places import place_of, trusted
from devlint.inference.interpreter.contracts import of_class
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.module_places import placed
from devlint.inference.models.unification.contradictions import clash
from devlint.inference.models.unification.drafts import note
from devlint.inference.models.unification.pending_meetings import add_pending
from devlint.inference.program.assumption_sites import at, guess, of_value
from devlint.inference.program.contracts import Declared, Signature
from devlint.inference.program.declarations import ClassInfo
from devlint.inference.program.frames import Frame
from devlint.inference.program.values import Instance
from devlint.inference.syntax.text import shorten


def check_returns(frame: Frame, signature: Signature) -> None:
    """What a function returns, against its contract."""
    declared = signature.result
    if declared is None or frame.function is None:
        return
    said = f"the result of `{frame.function.name}`"
    for node, returned in frame.outcome.returns:
        expression = node.value if isinstance(node, cst.Return) else None
        check(frame, node, said, returned, expression or node, declared)


def fixed(declared: ReadOnly[str, Declared], name: str) -> Declared | None:
    """The contract that names a device, of this parameter or of one that it goes with."""
    asked: set[str] = set()
    while name in declared and name not in asked:
        asked.add(name)
        requirement = declared[name].requirement
        if not isinstance(requirement, SameDevice):
            return declared[name]
        name = requirement.names[0]
    return None


def as_tensors(frame: Frame, value: Value) -> Value:
    """A module stands for its parameters, a device for a tensor that is there."""
    if type(value) is Instance and value.module:
        place, origin = placed(frame, value)
        return Tensor(place, origin)
    place = getattr(value, "place", None)
    return Tensor(place) if place is not None and type(value) is not Tensor else value


def hold(
    frame: Frame,
    node: cst.CSTNode,
    said: str,
    value: Value,
    expression: cst.CSTNode,
    declared: Declared,
) -> Value:
    """A value that is assigned to what has a contract: checked, then as it is declared."""
    check(frame, node, said, value, expression, declared)
    return trusted(frame, value, declared)


def check(
    frame: Frame,
    node: cst.CSTNode,
    said: str,
    value: Value,
    expression: cst.CSTNode,
    declared: Declared,
) -> None:
    """Note the tensors of a value that are elsewhere than its contract says."""
    if declared.parts:
        items = value.items if type(value) is Sequence else None
        if items is not None and len(items) == len(declared.parts):
            for number, (item, part) in enumerate(zip(items, declared.parts, strict=True)):
                if part is not None:
                    inner = _element(expression, number)
                    check(frame, node, f"part {number} of {said}", item, inner, part)
        return
    place = place_of(frame, declared.requirement)
    if place is None:
        return
    expected = Tensor(place, declared.origin())
    for alternative in alternatives(value):
        if type(alternative) is Instance and not alternative.module:
            continue
        for tensor in tensors_in(as_tensors(frame, alternative)):
            alone = alternative is value
            compare(frame, node, said, tensor, expression, expected, node, alone)


def _element(node: cst.CSTNode, number: int) -> cst.CSTNode:
    if isinstance(node, (cst.Tuple, cst.List)) and number < len(node.elements):
        return node.elements[number].value
    return node


def compare(
    frame: Frame,
    node: cst.CSTNode,
    said: str,
    tensor: Tensor,
    expression: cst.CSTNode,
    expected: Tensor,
    expected_node: cst.CSTNode,
    alone: bool = True,
) -> None:
    found = broken(frame, tensor, expected)
    if found is None:
        if is_open(tensor) or is_open(expected):
            add_pending(frame, node, MeetingKind.CONTRACT, said, tensor, expected, pointwise=False)
        return
    guessed = guess(frame, tensor)
    assumed = [*found] if guessed is None else [*found, guessed]
    if not alone:
        message = f"`{shorten(expression)}` is as this one of its branches leaves it"
        assumed.append(at(frame, AssumptionKind.BRANCH_TAKEN, expression, message))
    tensor.show()
    expected.show()
    sides = (tensor, expression), (expected, expected_node)
    note(frame, node, MeetingKind.CONTRACT, said, *sides, tuple(assumed))


def is_open(tensor: Tensor) -> bool:
    """Where it is depends on the caller of this function."""
    return type(tensor.place) is Variable and tensor.place.parameter


def broken(frame: Frame, value: Tensor, contract: Tensor) -> Assumptions | None:
    """The assumptions under which a value breaks a contract, as in `meetings.contradiction`."""
    actual, expected = value.place, contract.place
    if actual is None or expected is None or actual is expected:
        return None
    if isinstance(actual, Device) and isinstance(expected, Device):
        if actual.type == expected.type and expected.index is None:
            return None
        return clash(frame, value, contract)
    if isinstance(actual, Device):
        return None if actual.type != "cpu" else ()  # wherever the other one is put
    if isinstance(expected, Device) and expected.type == "cpu":
        if actual.kind not in (VariableKind.MODULE, VariableKind.DEVICE):
            return None
        message = "{} is on an accelerator"
        return (of_value(frame, AssumptionKind.CONTRACT_OF_HOST_IS_BROKEN, value, message),)
    return None


def check_fields(
    frame: Frame,
    node: cst.CSTNode,
    info: ClassInfo,
    fields: ReadOnly[str, tuple[Value, cst.CSTNode]],
) -> None:
    """What a dataclass or a named tuple is made of."""
    for name, (value, expression) in fields.items():
        declared = of_class(info, name)
        if declared is None:
            continue
        said = f"`{info.name}.{name}`"
        if not isinstance(declared.requirement, SameDevice):
            check(frame, node, said, value, expression, declared)
            continue
        for other in declared.requirement.names:
            known = fixed(info.declared, other)
            if known is not None:
                check(frame, node, said, value, expression, known)
            elif other in fields:
                anchor, anchor_node = fields[other]
                for tensor in tensors_in(value):
                    for each in tensors_in(anchor):
                        compare(frame, node, said, tensor, expression, each, anchor_node)
