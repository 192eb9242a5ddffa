"""Device contracts: declarations that are trusted where they stand, and checked where they bind.

A contract is an annotation (`Annotated[Tensor, On("cuda")]`, perhaps under another name) or a
comment (`# devlint: device[x=cuda]`); see devlint.contracts. A parameter, a result, an attribute
or a variable that has one lives where it says; a value that is known to live elsewhere is a
meeting of the kind CONTRACT where it is handed in, returned or assigned.
"""

from __future__ import annotations

from collections.abc import Mapping as ReadOnly
from dataclasses import dataclass, field

import libcst as cst

from devlint.contracts import (
    ACCELERATOR,
    RETURN,
    SELF,
    ContractError,
    On,
    Requirement,
    SameDevice,
    is_contract_comment,
    parse_comment,
)
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import External
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import CUDA, Device, Placement, Variable, VariableKind
from devlint.inference.domain.provenance import Site
from devlint.inference.domain.tensors import DEFAULT, INDIRECT, LOADED, MAYBE_SCALAR, Tensor
from devlint.inference.domain.value import UNKNOWN, Union, Value, alternatives, is_untold, union
from devlint.inference.facts import MeetingKind, UnreadContract
from devlint.inference.models import unification
from devlint.inference.models.contracts import make, unread
from devlint.inference.models.module_places import placed, replaced
from devlint.inference.program.assumption_sites import at, guess, of_value
from devlint.inference.program.classes import ClassInfo
from devlint.inference.program.contracts import Declared, Signature
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Function, Parameter
from devlint.inference.program.type_expressions import TypeExpression
from devlint.inference.program.units import Unit
from devlint.inference.program.values import Contract, Instance, ProjectModule
from devlint.inference.syntax.text import dotted, shorten

MAX_NESTING = 6


ANNOTATED = frozenset({"typing.Annotated", "typing_extensions.Annotated"})


_TYPES = ("typing.", "typing_extensions.", "collections.abc.", "builtins.")


_TUPLES = frozenset({"typing.Tuple", "builtins.tuple"})


def of_annotation(
    frame: Frame, node: cst.BaseExpression, depth: int = MAX_NESTING
) -> Declared | None:
    """The contract in an annotation, behind aliases and in quotes, too.

    One inside a container or `Optional` is said of every tensor in the value, one inside a tuple
    of the part in its place.
    """
    if depth == 0:
        return None
    kind = type(node)
    if kind is cst.Name or kind is cst.Attribute:
        alias = alias_of(frame, node)
        return None if alias is None else of_annotation(alias.frame, alias.node, depth - 1)
    if isinstance(node, cst.SimpleString):
        quoted = quoted_type(frame, node)
        found = None if quoted is None else of_annotation(frame, quoted, depth - 1)
        if found is None or found.source is not frame.unit.source:
            return found
        return _moved(found, node)  # what was parsed by itself has no place in the file
    if isinstance(node, cst.BinaryOperation):
        left = of_annotation(frame, node.left, depth - 1)
        return left if left is not None else of_annotation(frame, node.right, depth - 1)
    if not isinstance(node, cst.Subscript):
        return None
    head = frame.eval(node.value)
    inner = [e.slice.value for e in node.slice if isinstance(e.slice, cst.Index)]
    if type(head) is External and head.name in ANNOTATED:
        for metadata in inner[1:]:
            value = frame.eval(metadata)
            if type(value) is Contract:
                return Declared(value.requirement, metadata, frame.unit.source)
        inner = inner[:1]
    found_in = [of_annotation(frame, each, depth - 1) for each in inner]
    if type(head) is External and head.name in _TUPLES and any(found_in):
        if len(inner) == 2 and isinstance(inner[1], cst.Ellipsis):
            return found_in[0]
        return Declared(None, node, frame.unit.source, tuple(found_in))
    return next((each for each in found_in if each is not None), None)


def alias_of(frame: Frame, node: cst.BaseExpression) -> TypeExpression | None:
    """The type that a name in an annotation stands for, where that is not a class."""
    path = dotted(node)
    value = frame.lookup(path.partition(".")[0]) if path else None
    if type(value) is ProjectModule:
        value = frame.eval(node)
    return value if type(value) is TypeExpression else None


def quoted_type(frame: Frame, node: cst.SimpleString) -> cst.BaseExpression | None:
    """The type in a string, if it may hold a contract."""
    text = node.evaluated_value
    if not isinstance(text, str):
        return None
    if text.isidentifier():
        return cst.Name(text)
    try:
        return cst.parse_expression(text)
    except cst.ParserSyntaxError:
        return None


def _moved(declared: Declared, node: cst.CSTNode) -> Declared:
    parts = tuple(None if part is None else _moved(part, node) for part in declared.parts)
    return Declared(declared.requirement, node, declared.source, parts)


def subscripted(frame: Frame, node: cst.Subscript, base: External) -> Value:
    """A subscripted type, which is kept for the annotations that name it."""
    if base.name == "devlint.contracts.SameDevice":
        names = [e.slice.value for e in node.slice if isinstance(e.slice, cst.Index)]
        return make(frame, node, "SameDevice", [frame.eval(name) for name in names])
    if base.name.startswith(_TYPES):
        of_annotation(frame, node)  # a contract in it that can't be read is reported here
        return TypeExpression(node, frame)
    return base


def _of_comment(frame: Frame, comment: cst.Comment) -> dict[str, Declared]:
    unit = frame.unit
    unit.contract_comments.add(comment)
    try:
        found = parse_comment(comment.value)
    except ContractError as error:
        unread(unit, comment, f"this contract is not understood: {error}")
        return {}
    return {name: Declared(each, comment, unit.source) for name, each in found.items()}


def of_line(frame: Frame, node: cst.SimpleStatementLine) -> Declared | None:
    """The contract in the comment behind an assignment."""
    comment = node.trailing_whitespace.comment
    if comment is None or not is_contract_comment(comment.value):
        return None
    found = _of_comment(frame, comment)
    if not any(isinstance(small, (cst.Assign, cst.AnnAssign)) for small in node.body):
        unread(frame.unit, comment, "this contract is of nothing: no `def` and no assignment here")
        return None
    for name in found:
        if name:
            unread(frame.unit, comment, f"nothing is called `{name}` here: write `device[cuda]`")
    return found.get("")


class _Comments(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: list[cst.Comment] = []

    def visit_Comment(self, node: cst.Comment) -> None:
        if is_contract_comment(node.value):
            self.found.append(node)


def _comments_in(node: cst.CSTNode) -> list[cst.Comment]:
    visitor = _Comments()
    node.visit(visitor)
    return visitor.found


def settle(unit: Unit) -> None:
    """Say what is wrong with the contracts of a file, comments in strange places too."""
    if unit.has_contract_comments:
        for comment in _comments_in(unit.tree):
            if comment not in unit.contract_comments:
                unread(unit, comment, "this contract is of nothing: no `def` or assignment here")
    for node, message in unit.unread_contracts.items():
        unit.facts.unread_contracts.append(UnreadContract(Site(unit.source, node), message))


def signature_of(function: Function) -> Signature:
    """The contracts of a function, read once."""
    if function.signature is None:
        function.signature = Signature()
        frame = function.outer if function.outer is not None else function.unit.frame
        if isinstance(function.node, cst.FunctionDef) and frame is not None:
            _read_signature(frame, function.node, function.signature)
    return function.signature


def _read_signature(frame: Frame, node: cst.FunctionDef, signature: Signature) -> None:
    params = _named(node)
    for name, param in params.items():
        if param.annotation is not None:
            declared = of_annotation(frame, param.annotation.annotation)
            if declared is not None:
                signature.parameters[name] = declared
    if node.returns is not None:
        signature.result = of_annotation(frame, node.returns.annotation)
    if frame.unit.has_contract_comments:
        for name, param in params.items():
            for comment in _comments_in(param):
                _add_comment(frame, comment, signature, params, name)
        for comment in _header_comments(node):
            _add_comment(frame, comment, signature, params, "")
    for declared in [*signature.parameters.values(), signature.result]:
        _check_names(frame, declared, params)


def _named(node: cst.FunctionDef) -> dict[str, cst.Param]:
    params = node.params
    listed = [*params.posonly_params, *params.params, *params.kwonly_params]
    return {param.name.value: param for param in listed}


def _header_comments(node: cst.FunctionDef) -> list[cst.Comment]:
    body = node.body
    last = body.header if isinstance(body, cst.IndentedBlock) else None
    found = [] if last is None or last.comment is None else [last.comment]
    before = node.whitespace_before_params
    if isinstance(before, cst.ParenthesizedWhitespace) and before.first_line.comment is not None:
        found.append(before.first_line.comment)
    return [comment for comment in found if is_contract_comment(comment.value)]


def _add_comment(
    frame: Frame,
    comment: cst.Comment,
    signature: Signature,
    params: ReadOnly[str, cst.Param],
    own: str,
) -> None:
    """`own`: the parameter on whose line the comment stands."""
    for name, declared in _of_comment(frame, comment).items():
        spoken = name or own
        if spoken == RETURN:
            signature.result = declared
        elif spoken in params:
            signature.parameters[spoken] = declared
        elif spoken:
            unread(frame.unit, comment, f"there is no parameter `{spoken}`")
        else:
            unread(frame.unit, comment, "it names no parameter: write `device[x=cuda]`")


def _check_names(frame: Frame, declared: Declared | None, params: ReadOnly[str, cst.Param]) -> None:
    if declared is None:
        return
    for part in declared.parts:
        _check_names(frame, part, params)
    if isinstance(declared.requirement, SameDevice) and declared.source is frame.unit.source:
        for name in declared.requirement.names:
            if name not in params and name != SELF:
                unread(frame.unit, declared.node, f"there is no parameter `{name}`")


@dataclass(slots=True, eq=False)
class _ParameterPlaces:
    """Where the parameters of a function live, for contracts that speak of them."""

    by_name: dict[str, Placement] = field(default_factory=dict)


def apply(frame: Frame, signature: Signature, parameters: list[Parameter]) -> None:
    """Trust the contracts of the parameters of the function that begins here."""
    known = {parameter.name: parameter for parameter in parameters}
    frame.kept(_ParameterPlaces).by_name = {
        name: _place_of_parameter(frame, signature, known, name, frozenset()) for name in known
    }
    for name, declared in signature.parameters.items():
        parameter = known.get(name)
        if parameter is not None:
            parameter.value = trusted(frame, parameter.value, declared)
            frame.state.env[name] = parameter.value


def _place_of_parameter(
    frame: Frame,
    signature: Signature,
    known: ReadOnly[str, Parameter],
    name: str,
    asked: frozenset[str],
) -> Placement:
    """Where a parameter lives; those that are declared together share a place."""
    if name == SELF and frame.info is not None:
        return frame.info.variable
    parameter, declared = known.get(name), signature.parameters.get(name)
    if parameter is None:
        return None
    requirement = declared.requirement if declared is not None else None
    if isinstance(requirement, On):
        return device_of(requirement)
    if isinstance(requirement, SameDevice):
        for other in requirement.names:
            if other not in asked:
                place = _place_of_parameter(frame, signature, known, other, asked | {name})
                if place is not None:
                    return place
    return parameter.variable


def device_of(requirement: On) -> Device:
    """The device that a contract names; in the accelerated world the accelerator is CUDA."""
    if requirement.device == ACCELERATOR:
        return CUDA
    return Device(requirement.type, None if requirement.type == "cpu" else requirement.index)


def _place(frame: Frame, requirement: Requirement | None) -> Placement:
    """The place that a contract speaks of, in the function that declares it."""
    if isinstance(requirement, On):
        return device_of(requirement)
    if isinstance(requirement, SameDevice):
        for name in requirement.names:
            if name == SELF and frame.info is not None:
                return frame.info.variable
            place = frame.kept(_ParameterPlaces).by_name.get(name)
            if place is not None:
                return place
    return None


def trusted(frame: Frame, value: Value, declared: Declared) -> Value:
    """The value, where its declaration says that it is."""
    if declared.parts:
        items = value.items if type(value) is Sequence else None
        if items is None or len(items) != len(declared.parts):
            items = [UNKNOWN] * len(declared.parts)
        both = zip(items, declared.parts, strict=True)
        parts = [v if part is None else trusted(frame, v, part) for v, part in both]
        return Sequence(parts, None, "tuple")
    place = _place(frame, declared.requirement)
    return value if place is None else _put(value, place, declared)


def _put(value: Value, place: Placement, declared: Declared, depth: int = 4) -> Value:
    if type(value) is Tensor:
        evidence = None if value.evidence is None else Evidence(True)
        traits = value.traits & ~(DEFAULT | LOADED | INDIRECT | MAYBE_SCALAR)
        return Tensor(place, declared.origin(), traits, evidence, value.sizes)
    if type(value) is Instance and value.module:
        return replaced(value, place, declared.origin(), value.parent)
    if depth and type(value) is Sequence:
        items = value.items
        if items is not None:
            put = [_put(v, place, declared, depth - 1) for v in items]
            return Sequence(put, None, value.kind, value.node, value.names)
        inner = value.element if value.element is not None else UNKNOWN
        return Sequence(None, _put(inner, place, declared, depth - 1), value.kind, value.node)
    if depth and type(value) is Mapping:
        entries = {k: _put(v, place, declared, depth - 1) for k, v in value.entries.items()}
        inner = value.element if value.element is not None else UNKNOWN
        return Mapping(entries, _put(inner, place, declared, depth - 1))
    if type(value) is Union:
        return union(_put(v, place, declared, depth) for v in value.alternatives)
    if is_untold(value):
        return Tensor(place, declared.origin(), 0, Evidence(True))
    return value


def check_returns(frame: Frame, signature: Signature) -> None:
    """What a function returns, against its contract."""
    declared = signature.result
    if declared is None or frame.function is None:
        return
    said = f"the result of `{frame.function.name}`"
    for node, returned in frame.outcome.returns:
        expression = node.value if isinstance(node, cst.Return) else None
        check(frame, node, said, returned, expression or node, declared)


def result_of(frame: Frame, signature: Signature, value: Value) -> Value:
    """What a function returns, where its contract says that it is."""
    declared = signature.result
    if declared is None:
        return value
    if not frame.outcome.returns and not frame.outcome.yields:
        value = UNKNOWN  # a stub, or a method that its subclasses define
    return trusted(frame, value, declared)


def promised(signature: Signature) -> Value | None:
    """What a call gives whose callee is being inferred: its contract's word, if that says."""
    declared = signature.result
    if declared is None or not isinstance(declared.requirement, On):
        return None
    return _put(UNKNOWN, device_of(declared.requirement), declared)


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
    place = _place(frame, declared.requirement)
    if place is None:
        return
    expected = Tensor(place, declared.origin())
    for alternative in alternatives(value):
        if type(alternative) is Instance and not alternative.module:
            continue
        for tensor in unification.tensors_in(as_tensors(frame, alternative)):
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
            unification.add_pending(
                frame, node, MeetingKind.CONTRACT, said, tensor, expected, pointwise=False
            )
        return
    guessed = guess(frame, tensor)
    assumed = [*found] if guessed is None else [*found, guessed]
    if not alone:
        message = f"`{shorten(expression)}` is as this one of its branches leaves it"
        assumed.append(at(frame, AssumptionKind.BRANCH_TAKEN, expression, message))
    tensor.show()
    expected.show()
    unification.note(
        frame,
        node,
        MeetingKind.CONTRACT,
        said,
        tensor,
        expression,
        expected,
        expected_node,
        tuple(assumed),
    )


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
        return unification.clash(frame, value, contract)
    if isinstance(actual, Device):
        return None if actual.type != "cpu" else ()  # wherever the other one is put
    if isinstance(expected, Device) and expected.type == "cpu":
        if actual.kind not in (VariableKind.MODULE, VariableKind.DEVICE):
            return None
        message = "{} is on an accelerator"
        return (of_value(frame, AssumptionKind.CONTRACT_OF_HOST_IS_BROKEN, value, message),)
    return None


def of_class(info: ClassInfo, name: str) -> Declared | None:
    """The contract of an attribute, inherited ones included."""
    for each in info.lineage():
        if name in each.declared:
            return each.declared[name]
    return None


def attribute(info: ClassInfo, declared: Declared, found: Value | None) -> Value:
    """What `self.name` holds when it has a contract."""
    frame = Frame(info.unit, None, None, info)
    return trusted(frame, UNKNOWN if found is None else found, declared)


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
                for tensor in unification.tensors_in(value):
                    for each in unification.tensors_in(anchor):
                        compare(frame, node, said, tensor, expression, each, anchor_node)
