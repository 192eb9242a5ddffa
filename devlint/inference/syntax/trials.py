"""Trials: functions that put something through their own module to see the shape that comes out.

    def test(self):
        out = self.forward(torch.rand(1, 3, 32, 32))
        assert out.shape == (1, 10)

They are run where the module was made, unless they move it first. So is one that returns sizes of
what comes out of parts of the module, and nothing else: a constructor asks it how wide the next
layer is.

    def width(self):
        return self.body(torch.zeros(1, 3, 32, 32)).flatten(1).size(1)

One that returns what comes out, or computes with it, is no trial: `return
self.decoder(torch.randn(n, 8))` is how a model is sampled.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.syntax.text import called_name, dotted, every, parents_below

_OWN = ("self", "self.forward")
_MOVES = ("self.to", "self.cuda")
_SHAPES = frozenset({"shape", "size", "dim", "ndim", "numel", "dtype"})


def is_trial(function: cst.FunctionDef | cst.Lambda) -> bool:
    """Whether it calls its own module, which it has not moved, and looks at nothing but the shapes
    of all results; or returns sizes of what parts of it give."""
    named = [(each, dotted(each.func)) for each in every(function.body, cst.Call)]
    own = {name for _, name in named if name.startswith("self.")}
    if own and own.isdisjoint(_MOVES) and _returns_sizes(function):
        return True
    first = next((name for _, name in named if name in _OWN or name in _MOVES), "")
    if first not in _OWN:
        return False
    calls = [each for each, name in named if name in _OWN]
    around = parents_below(function)
    return all(_is_looked_at(call, function, around) for call in calls)


def _is_looked_at(
    call: cst.Call, function: cst.FunctionDef | cst.Lambda, around: dict[cst.CSTNode, cst.CSTNode]
) -> bool:
    above = around.get(call)
    if not isinstance(above, cst.Assign):
        return _is_of_shape(call, around)
    bound = {each for target in above.targets for each in every(target.target, cst.Name)}
    names = {each.value for each in bound}
    uses = [each for each in every(function.body, cst.Name) if each.value in names]
    read = [each for each in uses if each not in bound]
    return bool(read) and all(_is_of_shape(each, around) for each in read)


def _is_of_shape(value: cst.BaseExpression, around: dict[cst.CSTNode, cst.CSTNode]) -> bool:
    """It is asked for its shape, printed, or asserted of."""
    above = around.get(value)
    if isinstance(above, cst.Attribute) and above.value is value and above.attr.value in _SHAPES:
        return True
    while above is not None and not isinstance(above, cst.BaseSmallStatement):
        if isinstance(above, cst.Call) and called_name(above) == "print":
            return True
        above = around.get(above)
    return isinstance(above, cst.Assert)


def _returns_sizes(function: cst.FunctionDef | cst.Lambda) -> bool:
    """All that it leaves to others are sizes: it returns such, and keeps nothing."""
    if isinstance(function, cst.Lambda):
        return False
    bound: dict[str, list[cst.BaseExpression]] = {}
    for assign in every(function.body, cst.Assign):
        for target in assign.targets:
            if not isinstance(target.target, cst.Name):
                return False
            bound.setdefault(target.target.value, []).append(assign.value)
    returned = [each.value for each in every(function.body, cst.Return)]
    return bool(returned) and all(
        value is not None and _is_size(value, bound) for value in returned
    )


_OF_SIZES = frozenset({"int", "prod", "len", "tuple", "list"})


def _is_size(
    node: cst.BaseExpression, bound: dict[str, list[cst.BaseExpression]], depth: int = 5
) -> bool:
    """`x.size(1)`, `x.shape[1] * 2`, `int(np.prod(x.size()))`, or a name for such."""
    if depth == 0:
        return False
    if isinstance(node, cst.Subscript):
        return _is_size(node.value, bound, depth - 1)
    if isinstance(node, cst.Attribute):
        return node.attr.value in _SHAPES
    if isinstance(node, cst.BinaryOperation):
        sides = (node.left, node.right)
        return all(isinstance(e, cst.Integer) or _is_size(e, bound, depth - 1) for e in sides)
    if isinstance(node, cst.Name):
        values = bound.get(node.value, [])
        return bool(values) and all(_is_size(value, bound, depth - 1) for value in values)
    if not isinstance(node, cst.Call):
        return False
    if isinstance(node.func, cst.Attribute) and node.func.attr.value in _SHAPES:
        return True
    of_sizes = called_name(node) in _OF_SIZES and bool(node.args)
    return of_sizes and all(_is_size(each.value, bound, depth - 1) for each in node.args)
