"""Operators: arithmetic, comparisons, boolean operators, in-place forms."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import (
    FALSE,
    GLOBAL_RANK,
    HOST,
    TRUE,
    Const,
    DeviceValue,
    External,
    Host,
)
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import GRAD, MASK, Tensor, tensor_like
from devlint.inference.domain.value import (
    UNKNOWN,
    Value,
    alternatives,
    cases,
    choose,
    join,
    join_branches,
    union,
)
from devlint.inference.interpreter.branches import enter_branch
from devlint.inference.interpreter.comparisons import compare, truth_of
from devlint.inference.interpreter.conditions import handles_none, truth
from devlint.inference.interpreter.narrowing import beside
from devlint.inference.models import gradients
from devlint.inference.models.elements import is_given_part
from devlint.inference.models.unification.batches import belongs_to_moved_batch
from devlint.inference.models.unification.exemptions import written
from devlint.inference.models.unification.meetings import meet
from devlint.inference.program import tests
from devlint.inference.program.events import (
    Chosen,
    Compared,
    DeviceChosen,
    DeviceCompared,
    Formatted,
    OperandChosen,
    Operated,
    Tested,
)
from devlint.inference.program.frames import EVALUATORS, Frame
from devlint.inference.program.values import Instance
from devlint.inference.syntax.loops import targets_of
from devlint.inference.syntax.text import names_in
from devlint.inference.syntax.words import asks_for_accelerator, is_cold, none_test

_SYMBOLS: dict[type[cst.CSTNode], str] = {
    cst.Add: "+",
    cst.Subtract: "-",
    cst.Multiply: "*",
    cst.Divide: "/",
    cst.FloorDivide: "//",
    cst.Modulo: "%",
    cst.Power: "**",
    cst.MatrixMultiply: "@",
    cst.BitAnd: "&",
    cst.BitOr: "|",
    cst.BitXor: "^",
    cst.LeftShift: "<<",
    cst.RightShift: ">>",
    cst.Equal: "==",
    cst.NotEqual: "!=",
    cst.LessThan: "<",
    cst.LessThanEqual: "<=",
    cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=",
}

_IN_PLACE: dict[type[cst.CSTNode], str] = {
    getattr(cst, f"{kind.__name__}Assign"): f"{symbol}="
    for kind, symbol in _SYMBOLS.items()
    if issubclass(kind, cst.BaseBinaryOp)
}


def _binary(frame: Frame, node: cst.BinaryOperation) -> Value:
    left = frame.eval(node.left)
    right = frame.eval(node.right)
    if left is GLOBAL_RANK:
        left = HOST  # a number made of it: `rank % torch.cuda.device_count()`
    symbol = _SYMBOLS[type(node.operator)]
    result = combine(frame, node, symbol, left, node.left, right, node.right)
    if symbol == "@" or (symbol == "+" and frame.control.loops):
        frame.emit(Operated(node, symbol, right, result))
    return gradients.after_operator(frame, symbol, (left, right), result)


def combine(
    frame: Frame,
    node: cst.CSTNode,
    symbol: str,
    left: Value,
    left_node: cst.CSTNode,
    right: Value,
    right_node: cst.CSTNode,
) -> Value:
    """The result of a binary operator."""
    kinds = (type(left), type(right))
    for operand in (left, right):
        if type(operand) is Tensor:
            _show_computed(frame, operand)
    if symbol == "%" and type(left) in (Const, Host) and _is_text(left_node):
        frame.emit(Formatted(node, "%", right, right_node))
        return HOST
    if Tensor in kinds:
        if kinds == (Tensor, Tensor) or symbol == "@":
            return meet(
                frame, node, symbol, [(left, left_node), (right, right_node)], symbol != "@"
            )
        other = right if kinds[0] is Tensor else left
        if type(other) is Host and other.array:
            return UNKNOWN
        if type(other) is Sequence or (type(other) is Const and isinstance(other.value, str)):
            return UNKNOWN
        return meet(frame, node, symbol, [(left, left_node), (right, right_node)])
    if External in kinds:
        number = left if kinds[0] is External else right
        if type(number) is External and number.name.startswith("math."):
            return HOST
    if Sequence in kinds:
        return _sequence_operator(symbol, left, right)
    if type(left) is Const and type(right) is Const:
        return _constant(symbol, left.value, right.value)
    if Host in kinds or Const in kinds:
        host = left if type(left) is Host else right
        if type(host) is Host and all(type(v) in (Host, Const) for v in (left, right)):
            return host
    if _are_tensors(left) and type(right) in (Host, Const):
        return choose(
            (meet(frame, node, symbol, [(v, left_node), (right, right_node)]), when)
            for v, when in cases(left)
        )
    if _are_tensors(right) and type(left) in (Host, Const):
        return choose(
            (meet(frame, node, symbol, [(left, left_node), (v, right_node)]), when)
            for v, when in cases(right)
        )
    if any(type(v) is Tensor for side in (left, right) for v in alternatives(side)):
        return meet(frame, node, symbol, [(left, left_node), (right, right_node)])
    return UNKNOWN


def _show_computed(frame: Frame, operand: Tensor) -> None:
    """What was moved before, `x.to(device)`, and is computed with, is a tensor: modules have no
    arithmetic, and numbers no device. So is a part of what a model gave, and of a batch of which
    another part was moved."""
    evidence = operand.evidence
    if evidence is None:
        return
    is_part = evidence.hints.part and evidence.hints.output
    of_batch = belongs_to_moved_batch(frame, operand) and not is_given_part(operand)
    if is_part or evidence.was_moved or of_batch:
        evidence.mark_tensor()


def _are_tensors(value: Value) -> bool:
    """One of several tensors: with a number, each stays where it is."""
    return all(type(v) is Tensor for v in alternatives(value))


def _is_text(node: cst.CSTNode) -> bool:
    return isinstance(node, (cst.SimpleString, cst.ConcatenatedString))


def _constant(symbol: str, left: object, right: object) -> Value:
    try:
        if symbol == "+" and isinstance(left, str) and isinstance(right, str):
            return Const(left + right)
        if symbol in "+-*" and type(left) is int and type(right) is int:
            return Const({"+": left + right, "-": left - right, "*": left * right}[symbol])
    except (OverflowError, KeyError):
        pass
    return HOST


def _sequence_operator(symbol: str, left: Value, right: Value) -> Value:
    if symbol == "+" and type(left) is Sequence and type(right) is Sequence:
        if left.items is not None and right.items is not None:
            return Sequence([*left.items, *right.items], None, left.kind)
        return Sequence(None, union((left.any(), right.any())), left.kind)
    for shape in (left, right):
        if symbol == "+" and type(shape) is Host and shape.sizes is not None:
            return shape  # `(n,) + x.shape[1:]`
    if symbol == "*":
        side = left if type(left) is Sequence else right
        assert type(side) is Sequence
        return Sequence(None, side.any(), side.kind)
    return left if type(left) is Sequence else UNKNOWN


def in_place(frame: Frame, node: cst.AugAssign, before: Value, value: Value) -> Value:
    """`a += b`: a tensor stays where it is, a list grows."""
    symbol = _IN_PLACE[type(node.operator)]
    if type(before) is Sequence and symbol == "+=":
        grown = before.adding(value.any() if type(value) is Sequence else tensor_like(value))
        frame.write(before, grown)
        return grown
    if type(before) is Tensor:
        operands: list[tuple[Value, cst.CSTNode]] = [(written(before), node.target)]
        operands.append((value, node.value))
        result = meet(frame, node, symbol, operands, symbol != "@=")
        if before.evidence is None and type(result) is Tensor:
            traits = before.traits | result.traits & GRAD
            return Tensor(before.place, before.origin, traits, None, before.sizes)
        return result
    if type(value) in (Host, Const) and all(
        type(v) is Tensor and v.evidence is None for v in alternatives(before)
    ):
        return before  # with a number: each stays where it is
    return combine(frame, node, symbol.rstrip("="), before, node.target, value, node.value)


def _comparison(frame: Frame, node: cst.Comparison) -> Value:
    left = frame.eval(node.left)
    left_node = node.left
    before: tuple[Value, ...] = ()
    result: Value = HOST
    for number, target in enumerate(node.comparisons):
        if number:  # `a <= t <= b` asks each comparison but the last for its truth
            frame.emit(Tested(node, result, "if"))
        right = frame.eval(target.comparator)
        operator = target.operator
        if isinstance(operator, (cst.Is, cst.IsNot)):
            handles_none(frame, left)
        frame.emit(DeviceCompared(node, operator, left, right, before))
        answer = compare(operator, left, right)
        if answer is not None:
            result = TRUE if answer else FALSE
        else:
            # `x == None` asks what `x is None` does: no tensor is compared.
            # What compares with a text is none.
            is_plain = none_test(target) is not None or _holds_text(left, right)
            symbol = None if is_plain else _SYMBOLS.get(type(operator))
            result = HOST
            if symbol is not None and any(
                type(v) is Tensor for side in (left, right) for v in alternatives(side)
            ):
                met = combine(frame, node, symbol, left, left_node, right, target.comparator)
                if _are_tensors(met):
                    result = choose((_mask(v), when) for v, when in cases(met))
        before = (*before, left) if isinstance(operator, cst.Equal) else ()
        left, left_node = right, target.comparator
    frame.emit(Compared(node))
    return result


def _holds_text(*values: Value) -> bool:
    return any(type(each) is Const and isinstance(each.value, str) for each in values)


def _mask(met: Value) -> Value:
    assert type(met) is Tensor
    return Tensor(met.place, met.origin, met.traits | MASK, met.evidence)


def _unary(frame: Frame, node: cst.UnaryOperation) -> Value:
    return _unary_of(frame, node, frame.eval(node.expression))


def _unary_of(frame: Frame, node: cst.UnaryOperation, value: Value) -> Value:
    if isinstance(node.operator, cst.Not):
        known = truth_of(value)
        return HOST if known is None else (FALSE if known else TRUE)
    if type(value) is not Tensor and _are_tensors(value):
        return choose((_unary_of(frame, node, v), when) for v, when in cases(value))
    if type(value) is Tensor:
        return Tensor(
            value.place,
            frame.origin(StepKind.COMPUTED, node, value.origin),
            gradients.kept(frame, value.traits),
            value.evidence,
        )
    if type(value) is Const and type(value.value) is int and isinstance(node.operator, cst.Minus):
        return Const(-value.value)
    if type(value) is External and value.name.startswith(("math.", "numpy.")):
        return HOST
    return value if type(value) in (Host, Const) else UNKNOWN


def _boolean(frame: Frame, node: cst.BooleanOperation) -> Value:
    frame.emit(OperandChosen(node))
    left = frame.eval(node.left)
    handles_none(frame, left)
    known = truth_of(left)
    is_and = isinstance(node.operator, cst.And)
    certain = known is not None and type(left) in (Const, DeviceValue, Instance, Sequence)
    if certain and known is not is_and:
        return left
    if_true, if_false = tests.of_test(frame, node.left)
    goes_on, stays = (if_true, if_false) if is_and else (if_false, if_true)
    with beside(frame, node, goes_on, stays):
        right = frame.eval(node.right)
    return right if certain else join_branches(left, right, (stays, goes_on))


def _conditional(frame: Frame, node: cst.IfExp) -> Value:
    frame.emit(DeviceChosen(node))
    known = truth(frame, node.test)
    asks = asks_for_accelerator(node.test)
    with frame.under(guarded=asks):
        if known is not None:
            chosen = frame.eval(node.body if known else node.orelse)
            frame.emit(Chosen(node, chosen))
            return chosen
        if_true, if_false = tests.of_test(frame, node.test)
        with frame.aside() as around:
            enter_branch(frame, node.test, True, if_true)
            with frame.under(cold=is_cold(node.test)):  # `loss.item() if step % n == 0 else None`
                left = frame.eval(node.body)
            taken = frame.state
        with frame.aside():
            enter_branch(frame, node.test, False, if_false)
            right = frame.eval(node.orelse)
            taken.keep_effects(frame.state, (if_true, if_false))
        around.env.update({k: v for k, v in taken.env.items() if type(k) is not str})
        if _is_of_element(frame, node):
            return join(left, right)
        return join_branches(left, right, (if_true, if_false))


def _is_of_element(frame: Frame, node: cst.IfExp) -> bool:
    """Whether it is for some elements of a comprehension that the test comes out true, by their
    number or key, so that which of the two values one of them has is open:
    `[t.to(device) if i != 3 else t for i, t in enumerate(batch)]`."""
    loop = frame.control.loop
    if loop is None or not isinstance(loop.node, (cst.BaseSimpleComp, cst.DictComp)):
        return False
    tested = targets_of(loop.node) & {*names_in(node.test)}
    return bool(tested) and not tested <= {*names_in(node.body), *names_in(node.orelse)}


EVALUATORS.update(
    {
        cst.BinaryOperation: _binary,
        cst.Comparison: _comparison,
        cst.UnaryOperation: _unary,
        cst.BooleanOperation: _boolean,
        cst.IfExp: _conditional,
    }
)
