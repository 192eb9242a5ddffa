"""Where the number of a card is declared: as an integer, or as nothing.

An option of the command line, a parameter, a declared field, or what the constructor of an object
is given. A name for one of these is as good.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import libcst as cst

from devlint.inference.syntax.card_numbers import CardNumber
from devlint.inference.syntax.optional_numbers import (
    OptionalNumber,
    Options,
    fields_of,
    of_declaration,
    options_of,
)
from devlint.inference.syntax.text import code, dotted, every, plain_parameters

_BOUNDS = (cst.GreaterThan, cst.GreaterThanEqual, cst.LessThan, cst.LessThanEqual)
_FUNCTIONS = (cst.FunctionDef, cst.Lambda)

Parents = Mapping[cst.CSTNode, cst.CSTNode]


def scope_of(
    node: cst.CSTNode, parents: Parents, kinds: tuple[type[cst.CSTNode], ...] = _FUNCTIONS
) -> cst.CSTNode | None:
    """The function around a node; or the nearest of other kinds."""
    while node in parents:
        node = parents[node]
        if isinstance(node, kinds):
            return node
    return None


class Declarations:
    """Of one file, each worked out when it is first asked for."""

    def __init__(self, tree: cst.Module, parents: Parents) -> None:
        self.tree = tree
        self.parents = parents
        self._assigned: dict[cst.CSTNode, dict[str, list[cst.BaseExpression]]] = {}

    def of(self, number: CardNumber) -> OptionalNumber | None:
        """Where a number of a card is declared as one, or as nothing."""
        path = dotted(number.subject)
        owner, _, name = path.rpartition(".")
        if owner == "self":
            info = scope_of(number.node, self.parents, (cst.ClassDef,))
            if not isinstance(info, cst.ClassDef):
                return None
            return self._of_attribute(info, name, number.is_number)
        if owner:
            return self._of_option(owner, name)
        around = scope_of(number.node, self.parents) or self.tree
        given, values = _of_parameter(around, name, number.is_number), self.values(around, name)
        if given is not None:
            return given if not values else None
        owner, _, name = dotted(values[0]).rpartition(".") if len(values) == 1 else ("", "", "")
        return self._of_option(owner, name) if owner not in ("", "self") else None

    @cached_property
    def options(self) -> Options:
        """Of the command line."""
        return options_of(self.tree)

    @cached_property
    def counts(self) -> frozenset[str]:
        """What says how many: `gpus`, of `range(gpus)` and `gpus > 1`."""
        calls = (call for call in every(self.tree, cst.Call) if dotted(call.func) == "range")
        counted = {dotted(argument.value) for call in calls for argument in call.args}
        compared = {
            dotted(each.left)
            for each in every(self.tree, cst.Comparison)
            if isinstance(each.comparisons[0].operator, _BOUNDS)
            and code(each.comparisons[0].comparator) not in ("0", "-1")
        }
        return frozenset(counted | compared)

    def values(self, within: cst.CSTNode, path: str) -> list[cst.BaseExpression]:
        """What is assigned to a path in a part of the file."""
        found = self._assigned.get(within)
        if found is None:
            found = self._assigned[within] = {}
            for assign in every(within, cst.Assign):
                for target in assign.targets:
                    found.setdefault(dotted(target.target), []).append(assign.value)
        return found.get(path, [])

    def _of_option(self, owner: str, name: str) -> OptionalNumber | None:
        """`args.gpu`, of which the file declares the option, and which it makes nothing else."""
        declared = self.options.get(name)
        if declared is None:
            return None
        return declared if all(map(_is_such, self.values(self.tree, f"{owner}.{name}"))) else None

    def _of_attribute(
        self, info: cst.ClassDef, name: str, is_number: bool
    ) -> OptionalNumber | None:
        """`self.gpu`, a declared field, or what the constructor is given."""
        values, field = self.values(info, f"self.{name}"), fields_of(info).get(name)
        if field is not None and not values:
            return of_declaration(field, field.annotation, field.value, is_number)
        built = next((f for f in every(info, cst.FunctionDef) if f.name.value == "__init__"), None)
        if built is None or len(values) != 1:
            return None
        return _of_parameter(built, dotted(values[0]), is_number)


def _of_parameter(around: cst.CSTNode, name: str, is_number: bool) -> OptionalNumber | None:
    if not isinstance(around, (cst.FunctionDef, cst.Lambda)):
        return None
    for each in plain_parameters(around.params):
        if each.name.value == name:
            return of_declaration(each, each.annotation, each.default, is_number)
    return None


def _is_such(value: cst.BaseExpression) -> bool:
    """Nothing, or a number by its form: `None`, `-1`, `int(text)`, `gpu`."""
    return (
        bool(dotted(value))
        or code(value) == "-1"
        or (isinstance(value, cst.Call) and dotted(value.func) == "int")
    )
