"""Trials: functions that put something through their own module to see the shape that comes out.

    def test(self):
        out = self.forward(torch.rand(1, 3, 32, 32))
        assert out.shape == (1, 10)

They are run where the module was made, unless they move it first. One that returns what comes out,
or computes with it, is no trial: `return self.decoder(torch.randn(n, 8))` is how a model is
sampled.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.syntax.text import called_name, dotted, every, parents_below

_OWN = ("self", "self.forward")
_MOVES = ("self.to", "self.cuda")
_SHAPES = frozenset({"shape", "size", "dim", "ndim", "numel", "dtype"})


def is_trial(function: cst.FunctionDef | cst.Lambda) -> bool:
    """Whether it calls its own module, which it has not moved, and looks at nothing but the shapes
    of all results."""
    named = [(each, dotted(each.func)) for each in every(function.body, cst.Call)]
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
