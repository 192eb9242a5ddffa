"""Numbers of cards: what an expression takes for the number of an accelerator.

torch.device(f"cuda:{v}")        model.cuda(v)
torch.device("cuda", v)          torch.cuda.set_device(v)
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.syntax.text import dotted, every, literal_of
from devlint.records import NamedTuple

_PREFIX = "cuda:"
_TAKING = frozenset({"cuda", "to", "set_device"})  # methods and functions


class CardNumber(NamedTuple):
    """`node` takes `subject` for the number of a card."""

    node: cst.BaseExpression
    subject: cst.BaseExpression
    is_number: bool  # no text, nor a device, could stand there
    selects: bool = False  # the current card, and moves nothing


def card_numbers(tree: cst.CSTNode) -> Iterator[CardNumber]:
    """All below a node whose subject is a name."""
    for call in every(tree, cst.Call):
        yield from _readable(_of_call(call))
    for text in every(tree, cst.FormattedString):
        yield from _readable(_of_formatted(text))
    for operation in every(tree, cst.BinaryOperation):
        yield from _readable(_of_operation(operation))


def _readable(found: CardNumber | None) -> Iterator[CardNumber]:
    if found is not None and dotted(found.subject):
        yield found


def _of_call(node: cst.Call) -> CardNumber | None:
    args = node.args
    if not args or args[0].star or not isinstance(node.func, (cst.Attribute, cst.Name)):
        return None
    first, func = args[0].value, node.func
    name = func.attr.value if isinstance(func, cst.Attribute) else func.value
    if name == "format" and isinstance(func, cst.Attribute):
        return (
            CardNumber(node, first, False) if literal_of(func.value) == f"{_PREFIX}{{}}" else None
        )
    if name == "device":
        if len(args) == 2:
            return CardNumber(node, args[1].value, True) if literal_of(first) == "cuda" else None
        selects = dotted(func).endswith("cuda.device")
        return CardNumber(node, first, False, selects) if len(args) == 1 else None
    if name in _TAKING and isinstance(func, cst.Attribute):
        return CardNumber(node, first, False, selects=name == "set_device")
    return None


def _of_formatted(node: cst.FormattedString) -> CardNumber | None:
    if len(node.parts) != 2:
        return None
    text, value = node.parts
    if not isinstance(text, cst.FormattedStringText) or text.value != _PREFIX:
        return None
    if not isinstance(value, cst.FormattedStringExpression):
        return None
    return CardNumber(node, value.expression, False)


def _of_operation(node: cst.BinaryOperation) -> CardNumber | None:
    text, right = literal_of(node.left), node.right
    if isinstance(node.operator, cst.Add) and text == _PREFIX:
        if isinstance(right, cst.Call) and dotted(right.func) == "str" and len(right.args) == 1:
            return CardNumber(node, right.args[0].value, True)
        return CardNumber(node, right, False)
    if isinstance(node.operator, cst.Modulo) and text in (f"{_PREFIX}%d", f"{_PREFIX}%s"):
        if isinstance(right, cst.Tuple) and len(right.elements) == 1:
            right = right.elements[0].value
        return CardNumber(node, right, text.endswith("d"))
    return None
