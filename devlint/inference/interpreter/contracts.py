"""Device contracts as they are declared, read from annotations and comments.

A contract is an annotation (`Annotated[Tensor, On("cuda")]`, perhaps under another name) or a
comment (`# devlint: device[x=cuda]`); see devlint.contracts.
"""

from __future__ import annotations

from collections.abc import Mapping as ReadOnly

import libcst as cst

from devlint.contracts import (
    RETURN,
    SELF,
    ContractError,
    SameDevice,
    is_contract_comment,
    parse_comment,
)
from devlint.inference.domain.host import External
from devlint.inference.domain.provenance import Site
from devlint.inference.domain.value import Value
from devlint.inference.facts import UnreadContract
from devlint.inference.models.contracts import make, unread
from devlint.inference.program.contracts import Declared, Signature
from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.frames import Frame, body_of, closure_of
from devlint.inference.program.type_expressions import TypeExpression
from devlint.inference.program.units import Unit
from devlint.inference.program.values import Contract, ProjectModule
from devlint.inference.syntax.text import dotted, plain_parameters

MAX_NESTING = 6


ANNOTATED = frozenset({"typing.Annotated", "typing_extensions.Annotated"})


_TYPES = ("typing.", "typing_extensions.", "collections.abc.", "builtins.", "jaxtyping.")


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


def comments_in(node: cst.CSTNode) -> list[cst.Comment]:
    visitor = _Comments()
    node.visit(visitor)
    return visitor.found


def settle(unit: Unit) -> None:
    """Say what is wrong with the contracts of a file, comments in strange places too."""
    if unit.has_contract_comments:
        for comment in comments_in(unit.tree):
            if comment not in unit.contract_comments:
                unread(unit, comment, "this contract is of nothing: no `def` or assignment here")
    for node, message in unit.unread_contracts.items():
        unit.facts.unread_contracts.append(UnreadContract(Site(unit.source, node), message))


def signature_of(function: Function) -> Signature:
    """The contracts of a function, read once."""
    if function.signature is None:
        function.signature = Signature()
        frame = closure_of(function) or body_of(function.unit)
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
            for comment in comments_in(param):
                _add_comment(frame, comment, signature, params, name)
        for comment in _header_comments(node):
            _add_comment(frame, comment, signature, params, "")
    for declared in [*signature.parameters.values(), signature.result]:
        _check_names(frame, declared, params)


def _named(node: cst.FunctionDef) -> dict[str, cst.Param]:
    return {param.name.value: param for param in plain_parameters(node.params)}


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


def of_class(info: ClassInfo, name: str) -> Declared | None:
    """The contract of an attribute, inherited ones included."""
    for each in info.lineage():
        if name in each.declared:
            return each.declared[name]
    return None
