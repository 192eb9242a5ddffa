"""How much a factory makes, as its arguments show: a few numbers, or a whole block of them.

    torch.zeros(1)                   # one number
    torch.arange(x.size(0))          # one for each row of a batch
    torch.randn(x.shape)             # as many as a tensor has

Of a few numbers nothing but the wait costs anything: filling them on the host, and their bytes on
the bus, are nothing. A block is filled on the host, and copied.
"""

from __future__ import annotations

import math

import libcst as cst

from devlint.inference.facts import Facts
from devlint.inference.syntax.text import called_name, dotted, every
from devlint_rules.helpers.rewrites import argument
from devlint_rules.helpers.scopes import function_around, values_of

_VECTORS = frozenset({"arange", "range", "linspace", "logspace"})
_ENDS = ("start", "end", "step", "steps")
_SHAPED = frozenset({"zeros", "ones", "empty", "rand", "randn"})  # all arguments are sizes
_LISTED = frozenset({"full", "randint"})  # one argument is the list of them
_OF_DATA = frozenset({"tensor", "as_tensor", "scalar_tensor", "Tensor", "FloatTensor"})
_MANY = 16  # numbers that are written out
_SMALL = 1024  # numbers of a size that is written out


def makes_few(facts: Facts, made: cst.CSTNode) -> bool:
    """A call makes one number, or a number for each row, as far as its arguments show."""
    if not isinstance(made, cst.Call):
        return False
    name = called_name(made)
    if name in _VECTORS:
        ends = [a for a in made.args if a.keyword is None or a.keyword.value in _ENDS]
        return bool(ends) and all(_is_number(facts, made, end.value) for end in ends)
    if name in _OF_DATA:
        return bool(made.args) and _count(made.args[0].value) <= _MANY
    sizes = _sizes(made) if name in _SHAPED | _LISTED else None
    if sizes is None or not all(_is_number(facts, made, size) for size in sizes):
        return False
    written = [int(size.value) for size in sizes if isinstance(size, cst.Integer)]
    if len(written) == len(sizes):
        return math.prod(written) <= _SMALL
    return sum(not _is_one(size) for size in sizes) < 2


def _sizes(made: cst.Call) -> list[cst.BaseExpression] | None:
    """The sizes that a factory is given, one for each dimension; None where none stand there."""
    named = argument(made, "size")
    given = [arg for arg in made.args if arg.keyword is None]
    if named is not None:
        given = [named]
    elif called_name(made) in _LISTED:
        given = [arg for arg in given if isinstance(arg.value, (cst.Tuple, cst.List))]
    if not given or any(arg.star for arg in given):
        return None
    if len(given) > 1 or not isinstance(given[0].value, (cst.Tuple, cst.List)):
        return [arg.value for arg in given]
    elements = given[0].value.elements
    is_open = any(isinstance(element, cst.StarredElement) for element in elements)
    return None if is_open else [element.value for element in elements]


def _is_one(size: cst.BaseExpression) -> bool:
    return isinstance(size, cst.Integer) and size.evaluated_value == 1


def _is_number(facts: Facts, made: cst.CSTNode, size: cst.BaseExpression) -> bool:
    """One size, and no list of them: `8`, `len(rows)`, `x.size(0)`, or a name for such."""
    if isinstance(size, cst.BinaryOperation):
        return _is_number(facts, made, size.left) and _is_number(facts, made, size.right)
    if isinstance(size, cst.Name):
        return is_count(facts, made, size.value)
    return _is_size(size)


def is_count(facts: Facts, node: cst.CSTNode, name: str) -> bool:
    """All that a function, or else the file, binds a name to counts something: `n = x.size(0)`."""
    function = function_around(facts, node)
    bound = _bound(function, name) if function is not None else []
    if not bound:
        bound = [value for line in facts.source.tree.body for value in _bound(line, name)]
    return bool(bound) and all(map(_is_size, bound))


def _is_size(size: cst.BaseExpression) -> bool:
    if isinstance(size, cst.Call):
        name = called_name(size)
        return name == "len" or (name == "size" and bool(size.args))
    if isinstance(size, cst.Subscript):
        parts = [part.slice for part in size.slice]
        return len(parts) == 1 and isinstance(parts[0], cst.Index)
    return isinstance(size, (cst.BaseNumber, cst.UnaryOperation))


def _bound(scope: cst.CSTNode, name: str) -> list[cst.BaseExpression]:
    """What is bound to a name: of `b, t = x.shape` a size, whichever."""
    parts = (
        _part_of(each.value)
        for each in every(scope, cst.Assign)
        for target in each.targets
        if isinstance(target.target, cst.Tuple)
        and any(dotted(element.value) == name for element in target.target.elements)
    )
    return [*values_of(scope, name), *parts]


def _part_of(value: cst.BaseExpression) -> cst.BaseExpression:
    """What a name gets where the value is taken apart: a number, if that is a shape."""
    shape = isinstance(value, cst.Attribute) and value.attr.value == "shape"
    sizes = isinstance(value, cst.Call) and called_name(value) == "size" and not value.args
    return cst.Integer("2") if shape or sizes else value


def _count(data: cst.BaseExpression) -> int:
    """How many numbers are written out there; too many where others stand there as well."""
    if isinstance(data, (cst.List, cst.Tuple)):
        return sum(_count(element.value) for element in data.elements)
    return 1 if isinstance(data, (cst.BaseNumber, cst.UnaryOperation)) else _MANY + 1
