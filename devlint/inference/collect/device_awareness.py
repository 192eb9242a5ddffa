"""Reasons that code gives for an accelerator, or asks by way of a name.

A flag has asked before; a comment says what the host does wrong; the host and an accelerator stand
side by side, to be compared; what a card takes is measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.program.control_dependences import ControlDependences
from devlint.inference.program.declarations import Function
from devlint.inference.program.units import Unit
from devlint.inference.syntax.control_dependence import Branches, is_passed
from devlint.inference.syntax.text import code, dotted
from devlint.inference.syntax.words import asks_for_accelerator

_FLAGS = 3  # from one flag to the one that it is made of


_TRUTHS = (cst.Comparison, cst.BooleanOperation, cst.UnaryOperation)


def is_asked_by_flag(unit: Unit, function: Function | None, node: cst.CSTNode) -> bool:
    """`on_card = device.type == "cuda"` stands before the `if on_card:` around it."""
    around = unit.kept(ControlDependences).around(function, node)
    return any(
        _tells(unit, function, name)
        for test, branch in around
        if isinstance(test, (cst.If, cst.IfExp)) and branch is test.body
        for name in _all_true(test.test)
    )


def _all_true(test: cst.BaseExpression) -> Iterator[str]:
    """The flags that are true where a condition is."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        yield from _all_true(test.left)
        yield from _all_true(test.right)
    elif dotted(test):
        yield dotted(test)


def _tells(unit: Unit, function: Function | None, name: str, depth: int = _FLAGS) -> bool:
    """Whatever the flag is made of asks for an accelerator."""
    values = list(_values(unit, function, name)) if depth else []
    return bool(values) and all(
        (isinstance(value, _TRUTHS) and asks_for_accelerator(value))
        or (isinstance(value, cst.Call) and dotted(value.func).endswith("is_available"))
        or any(_tells(unit, function, inner, depth - 1) for inner in _all_true(value))
        for value in values
    )


def _values(unit: Unit, function: Function | None, name: str) -> Iterator[cst.BaseExpression]:
    """What a name is bound to in the function, or else in the module; an attribute in the class and
    those that it inherits from."""
    if name.startswith("self."):
        info = function.info if function is not None else None
        for each in info.lineage() if info is not None else ():
            yield from (value for _, value in each.assigned.get(name[5:], ()))
        return
    places = [function, None] if function is not None else [None]
    for place in places:
        if place is not None and any(p.name == name for p in place.parameters):
            return
        bound = _seen(unit, place).bound.get(name)
        if bound:
            yield from bound
            return


def is_beside_host(unit: Unit, function: Function | None, node: cst.CSTNode) -> bool:
    """`for device in (torch.device("cpu"), torch.device("cuda"))`: both are meant; and a module
    may have a name for each of them, for those who choose."""
    seen = _seen(unit, function)
    if function is None and node in seen.values and isinstance(node, cst.Call):
        maker = dotted(node.func)
        return not seen.on_host.isdisjoint((f'{maker}("cpu")', f"{maker}('cpu')"))
    return seen.is_in_row_with_host(node)


def is_measured(unit: Unit, function: Function | None, node: cst.CSTNode) -> bool:
    """The kernels of a card are what the code is there to measure."""
    if "ProfilerActivity" not in unit.source.text and "torch.cuda." not in unit.source.text:
        return False
    then = unit.kept(ControlDependences).around(function, node)
    around: Counter[str] = Counter()
    for branches, found in _seen(unit, function).measuring.items():
        if is_passed(branches, then):
            around += found
    return around["measures"] > 0 or (around["clock"] > 0 and around["synchronizes"] > 1)


class _Seen:
    """What the questions here look for in one function, or in the module."""

    def __init__(self, walked: Mapping[cst.CSTNode, Branches]) -> None:
        self.bound: dict[str, list[cst.BaseExpression]] = {}  # by name, what is assigned to it
        self.values: set[cst.CSTNode] = set()  # of assignments
        self.on_host: set[str] = set()  # the sources of some: `torch.device("cpu")`
        self.measuring: dict[Branches, Counter[str]] = {}  # what is done under these conditions
        self._rows: dict[cst.CSTNode, cst.Tuple | cst.List] = {}  # by their elements
        self._with_host: dict[cst.CSTNode, bool] = {}  # rows, once asked for
        for node, branches in walked.items():
            if isinstance(node, cst.Assign):
                self._bind(node)
            elif isinstance(node, (cst.Tuple, cst.List)):
                self._rows.update((element.value, node) for element in node.elements)
            else:
                found = _measuring(node)
                if found:
                    self.measuring.setdefault(branches, Counter())[found] += 1

    def is_in_row_with_host(self, node: cst.CSTNode) -> bool:
        """The node is an element of a tuple or list, and so is the host."""
        row = self._rows.get(node)
        if row is not None and row not in self._with_host:
            values = [code(element.value) for element in row.elements]
            self._with_host[row] = any(holds("host-device", value) for value in values)
        return row is not None and self._with_host[row]

    def _bind(self, node: cst.Assign) -> None:
        self.values.add(node.value)
        given = node.value.args if isinstance(node.value, cst.Call) else ()
        if len(given) == 1 and isinstance(given[0].value, cst.SimpleString):
            self.on_host.add(code(node.value))
        for name in {dotted(target.target) for target in node.targets}:
            self.bound.setdefault(name, []).append(node.value)


class _SeenIn:
    """Of one file, by function."""

    def __init__(self, unit: Unit) -> None:
        self.by_function: dict[Function | None, _Seen] = {}


def _seen(unit: Unit, function: Function | None) -> _Seen:
    known = unit.kept(_SeenIn).by_function
    if function not in known:
        known[function] = _Seen(unit.kept(ControlDependences).of(function))
    return known[function]


def _measuring(node: cst.CSTNode) -> str:
    """What a node does to measure kernels: `ProfilerActivity.CUDA`,
    `torch.cuda.Event(enable_timing=True)`, a call of a clock, `torch.cuda.synchronize()`."""
    if isinstance(node, cst.Attribute):
        return "measures" if dotted(node).endswith("ProfilerActivity.CUDA") else ""
    callee = dotted(node.func) if isinstance(node, cst.Call) else ""
    if callee == "torch.cuda.Event" and "enable_timing" in code(node):
        return "measures"
    if callee == "torch.cuda.synchronize":
        return "synchronizes"
    return "clock" if callee and holds("clock-callee", callee) else ""
