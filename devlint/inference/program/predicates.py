"""Predicates on names and texts: what a test in the code asks, as literals of path conditions."""

from __future__ import annotations

from collections.abc import Hashable

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.path_conditions import TRUE, Literal, Predicate
from devlint.inference.syntax.text import dotted


def asks_for_type(fact: Literal) -> str:
    """What a fact says is no tensor, or one of several types: `xs` of `isinstance(xs, list)`, and
    of `isinstance(xs, torch.Tensor)` where that is false."""
    asked, kinds = _type_test(fact[0])
    return "" if fact[1] and kinds == ("torch.Tensor",) else asked


# Types that are no tensor, and hold none.
_OF_HOST = frozenset({"np.ndarray", "numpy.ndarray", "ndarray", "int", "float", "bool", "str"})


def is_no_tensor(fact: Literal) -> str:
    """What a fact says neither is nor holds a tensor: `x` where `isinstance(x, np.ndarray)` is
    true, or `isinstance(x, torch.Tensor)` false."""
    asked, kinds = _type_test(fact[0])
    if fact[1]:
        return asked if _OF_HOST.issuperset(kinds) else ""
    return asked if any(kind in ("torch.Tensor", "Tensor") for kind in kinds) else ""


def _type_test(choice: Predicate) -> tuple[str, tuple[Hashable, ...]]:
    """What is asked for its type, and the types: `x` and both of `isinstance(x, (A, B))`."""
    text = choice.subject[1] if isinstance(choice.subject, tuple) else None
    if not (isinstance(text, tuple) and len(text) > 3 and text[0] is cst.Call):
        return "", ()
    func, asked, kind = text[1:4]
    if not (isinstance(func, str) and func.endswith("isinstance") and isinstance(asked, str)):
        return "", ()
    is_several = isinstance(kind, tuple) and kind[0] in (cst.Tuple, cst.List, cst.Set)
    return asked, kind[1:] if is_several else (kind,)


def is_falsy(fact: Literal) -> str:
    """What a fact says is empty, or missing: `xs` behind `if not xs:`, `if xs is None:`."""
    choice, is_so, value = fact
    subject = choice.subject
    if isinstance(subject, str):
        return subject if is_so and value == "None" else ""
    if not isinstance(subject, tuple) or subject[0] != "bool" or is_so:
        return ""
    return subject[1] if isinstance(subject[1], str) else ""


# As it is written: what it is on, whether it is so, the value, and the names that it reads.
Written = tuple[Hashable, bool, Hashable, tuple[str, ...]]


Test = tuple[list[Written], list[Written]]


MAX_OPERANDS = 16  # of `and` and `or` in a condition that is known again


_LITERALS = (cst.SimpleString, cst.Integer, cst.Float)


_CONTRARY: dict[type[cst.BaseCompOp], tuple[str, bool]] = {
    cst.Is: ("is", True),
    cst.IsNot: ("is", False),
    cst.Equal: ("is", True),
    cst.NotEqual: ("is", False),
    cst.In: ("in", True),
    cst.NotIn: ("in", False),
    cst.LessThan: ("<", True),
    cst.GreaterThanEqual: ("<", False),
    cst.GreaterThan: (">", True),
    cst.LessThanEqual: (">", False),
}


def written_choice(node: cst.BaseExpression) -> Test:
    if type(node) is cst.UnaryOperation and isinstance(node.operator, cst.Not):
        if_true, if_false = written_choice(node.expression)
        return if_false, if_true
    if type(node) is cst.Comparison and len(node.comparisons) == 1:
        return _compared(node, node.comparisons[0])
    paths: list[str] = []
    text = None if is_long(node) else normalized(node, paths)
    subject: Hashable = node if text is None else text
    names = tuple(paths)
    if_true = [(("bool", subject) if text is not None else node, True, TRUE, names)]
    if_false = [(if_true[0][0], False, TRUE, names)]
    if type(node) is cst.BooleanOperation:
        left, right = written_choice(node.left), written_choice(node.right)
        if isinstance(node.operator, cst.And):
            if_true += left[0] + right[0]
        else:
            if_false += left[1] + right[1]
    elif isinstance(text, str):  # a name
        if_true += [(subject, False, "None", names), (("filled", text), True, TRUE, names)]
        if_false.append((("filled", text), False, TRUE, names))
    return if_true, if_false


def is_long(node: cst.CSTNode) -> bool:
    """A condition of so many operands that nobody asks the same again. In `a and b and …` each
    `and` has all operands before it: to write them down for each takes the square of the time."""
    operands = 0
    waiting = [node]
    while waiting and operands <= MAX_OPERANDS:
        inner = waiting.pop()
        if isinstance(inner, cst.BooleanOperation):
            waiting += (inner.left, inner.right)
        else:
            operands += 1
    return operands > MAX_OPERANDS


def _compared(node: cst.Comparison, target: cst.ComparisonTarget) -> Test:
    paths: list[str] = []
    left, right = normalized(node.left, paths), normalized(target.comparator, paths)
    kind = _CONTRARY.get(type(target.operator))
    if left is None or right is None or kind is None:
        return [(node, True, TRUE, ())], [(node, False, TRUE, ())]
    names = tuple(paths)
    symbol, is_so = kind
    if symbol == "is" and _is_literal(target.comparator):
        # Of one subject: `mode == "a"` is contrary to `mode == "b"`, too.
        if_so: list[Written] = [(left, True, right, names)]
        if_not: list[Written] = [(left, False, right, names)]
        if right == "None":
            if_so.append((("bool", left), False, TRUE, names))
    else:
        subject = (symbol, left, right)
        if_so, if_not = [(subject, True, TRUE, names)], [(subject, False, TRUE, names)]
    asked = asked_type(node)
    if asked is not None:
        of_type = ("bool", (cst.Call, "isinstance", normalized(asked[0], []), asked[1] or right))
        if_so.append((of_type, True, TRUE, names))
        if_not.append((of_type, False, TRUE, names))
    filled = _asks_whether_filled(symbol, left, right)
    if filled is not None:
        if_so.append((("filled", filled[0]), filled[1], TRUE, names))
        if_not.append((("filled", filled[0]), not filled[1], TRUE, names))
    return (if_so, if_not) if is_so else (if_not, if_so)


def asked_type(node: cst.Comparison) -> tuple[cst.BaseExpression, str] | None:
    """`x` of `type(x) is A`, and of `type(x).__name__ == "A"`, which names the type as well."""
    left, name = node.left, ""
    if isinstance(left, cst.Attribute) and left.attr.value == "__name__":
        right = node.comparisons[0].comparator
        name = str(right.evaluated_value) if isinstance(right, cst.SimpleString) else ""
        left = left.value if name else left
    is_asked = isinstance(left, cst.Call) and dotted(left.func) == "type" and len(left.args) == 1
    return (left.args[0].value, name) if isinstance(left, cst.Call) and is_asked else None


def _asks_whether_filled(
    symbol: str, left: Hashable, right: Hashable
) -> tuple[Hashable, bool] | None:
    """`len(rows) == 0` asks what `not rows` does: of what, and whether it is filled where that is
    so."""
    if not (isinstance(left, tuple) and left[:2] == (cst.Call, "len") and len(left) == 3):
        return None
    filled = {("is", "0"): False, ("<", "1"): False, (">", "0"): True}.get((symbol, str(right)))
    return None if filled is None else (left[2], filled)


def _is_literal(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.Name):
        return node.value in ("None", "True", "False")
    return isinstance(node, _LITERALS)


def normalized(node: cst.CSTNode, paths: list[str]) -> Hashable:
    """The structure of an expression, and the names in it; None if it need not give the same when
    it is evaluated again."""
    kind = type(node)
    if kind is cst.Name or kind is cst.Attribute:
        path = dotted(node)
        if not path:
            assert isinstance(node, cst.Attribute)
            inner = normalized(node.value, paths)
            return None if inner is None else (inner, node.attr.value)
        end = path.find(".")
        while end >= 0:
            paths.append(path[:end])
            end = path.find(".", end + 1)
        paths.append(path)
        return path
    if isinstance(node, _LITERALS):
        return repr(node.raw_value) if isinstance(node, cst.SimpleString) else node.value
    parts: list[cst.CSTNode] = []
    mark: Hashable = kind
    if isinstance(node, cst.Call):
        if not holds("steady-callee", dotted(node.func) or _method(node.func)):
            return None
        name = dotted(node.func).rpartition(".")[2]
        if name == "is_tensor" and len(node.args) == 1:  # as `isinstance(x, torch.Tensor)` is
            inner = normalized(node.args[0].value, paths)
            return None if inner is None else (kind, "isinstance", inner, "torch.Tensor")
        parts = [node.func, *(argument.value for argument in node.args)]
    elif isinstance(node, cst.Comparison):
        mark = tuple(type(target.operator) for target in node.comparisons)
        parts = [node.left, *(target.comparator for target in node.comparisons)]
    elif isinstance(node, (cst.BooleanOperation, cst.BinaryOperation)):
        mark, parts = type(node.operator), [node.left, node.right]
    elif isinstance(node, cst.UnaryOperation):
        mark, parts = type(node.operator), [node.expression]
    elif isinstance(node, (cst.Tuple, cst.List, cst.Set)):
        parts = [element.value for element in node.elements]
    elif isinstance(node, cst.Subscript):
        parts = [node.value]
        for element in node.slice:
            if not isinstance(element.slice, cst.Index):
                return None
            parts.append(element.slice.value)
    else:
        return None
    found = [normalized(part, paths) for part in parts]
    return None if None in found else (mark, *found)


def _method(node: cst.BaseExpression) -> str:
    return node.attr.value if isinstance(node, cst.Attribute) else ""


# In an environment before a path: what the path holds where it holds a tensor.
NO_TENSOR = "no tensor: "
