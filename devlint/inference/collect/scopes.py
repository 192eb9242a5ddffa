"""Scopes: what a function, or the module, does itself, in the order of the text.

    torch.save(state, path)
    state = torch.load(path)

The scope of these lines has saved itself what it loads.

Statements bind names to values or to parts of them: `net, epoch = torch.load(path)` binds two names
to parts of what was loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from devlint.inference.collect.file_paths import (
    LOADS,
    SAME_PLACE,
    file_name,
    names_a_file,
    saved_to,
    template,
)
from devlint.inference.conventions import holds
from devlint.inference.program.control_dependences import ControlDependences
from devlint.inference.program.declarations import Function, functions_of
from devlint.inference.program.units import Unit
from devlint.inference.syntax.control_dependence import Branches, is_passed
from devlint.inference.syntax.text import called_name, code, dotted, every, owner_of
from devlint.records import dataclass

_OF_RANDOM_STATES = ("set_rng_state", "set_rng_state_all")
_OF_HOST = ("np", "numpy", "plt", "ax", "axes")


END = 1 << 40  # behind everything


# They are asked of a module, and of no tensor.
_OF_MODULES = frozenset(
    {"eval", "train", "parameters", "named_parameters", "state_dict", "load_state_dict", "modules"}
)


OWN_NAME = "@"  # in a place: it goes by a name of the function's own


class Scopes:
    """The scopes of a file that were asked for. To be asked for once the file was walked."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.by_function: dict[Function | None, Scope] = {}

    @cached_property
    def saving(self) -> list[Function]:
        """The functions that save something."""
        return [function for function in functions_of(self.unit) if function.contains("save(")]

    @cached_property
    def written(self) -> dict[str, list[tuple[Function, cst.BaseExpression]]]:
        """What `torch.save` writes in functions, by the name of the file."""
        found: dict[str, list[tuple[Function, cst.BaseExpression]]] = {}
        for function in self.saving:
            if function.contains("torch.save("):
                scope = scope_of(self.unit, function)
                for call in scope.by_node:
                    if not isinstance(call, cst.Call) or dotted(call.func) != "torch.save":
                        continue
                    if len(call.args) > 1:
                        name = file_name(scope.followed(call.args[1].value))
                        found.setdefault(name, []).append((function, call.args[0].value))
        return found


def scope_of(unit: Unit, function: Function | None) -> Scope:
    """One for each function, and for the module."""
    scopes = unit.kept(Scopes).by_function
    if function not in scopes:
        scopes[function] = Scope(unit, function)
    return scopes[function]


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A node of a function, by its order in the text."""

    index: int
    node: cst.CSTNode
    around: Branches


class Scope:
    """What a function, or the module, does itself, in the order of the text."""

    def __init__(self, unit: Unit, function: Function | None) -> None:
        self.unit = unit
        self.function = function
        walked = unit.kept(ControlDependences).of(function)
        self.steps = [_Step(i, *found) for i, found in enumerate(walked.items())]
        self.by_node = {step.node: step for step in self.steps}
        self.bound: dict[str, list[tuple[int, cst.BaseExpression | None]]] = {}
        self.unpacked: dict[str, cst.BaseExpression] = {}  # `a, b = value`
        for parameter in function.parameters if function is not None else ():
            self.bound[parameter.name] = [(-1, None)]
        for step in self.steps:
            self.unpacked.update(unpacked(step.node))
            for name, value in bindings(step.node):
                self.bound.setdefault(name, []).append((step.index, value))

    def index(self, node: cst.CSTNode) -> int:
        return self.by_node[node].index if node in self.by_node else END

    def saves_before(self, node: cst.CSTNode, place: str) -> bool:
        """Whenever it comes to the node it has saved to the place, or what it calls has."""
        then = self.by_node.get(node)
        if then is None or not place:
            return False
        if any(
            step.index < then.index and is_passed(step.around, then.around)
            for step in self._saves.get(place, ())
        ):
            return True
        for other in self.unit.kept(Scopes).saving:
            calls = [self.by_node.get(c.node) for c in other.callers if c.caller is self.function]
            called = any(
                call.index < then.index and is_passed(call.around, then.around)
                for call in calls
                if call is not None
            )
            if called and other is not self.function and scope_of(self.unit, other)._leaves(place):
                return True
        return False

    def _leaves(self, place: str) -> bool:
        """The place is still written when the function returns."""
        return OWN_NAME not in place and any(
            is_passed(step.around, ()) for step in self._saves.get(place, ())
        )

    @cached_property
    def returns_what_it_saved(self) -> bool:
        """It returns a name under which it has saved something: `return path`."""
        saved = {saved_to(step.node) for step in self.steps} - {None}
        names = {dotted(each) for each in saved if each is not None} - {""}
        returned = (step.node.value for step in self.steps if isinstance(step.node, cst.Return))
        return any(value is not None and dotted(value) in names for value in returned)

    @cached_property
    def _saves(self) -> dict[str, list[_Step]]:
        """Its calls that save, by the place that they save to."""
        found: dict[str, list[_Step]] = {}
        for step in self.steps:
            target = saved_to(step.node)
            if target is not None:
                found.setdefault(self.place(target, step.index), []).append(step)
        return found

    def place(self, node: cst.BaseExpression, at: int) -> str:
        """Where a file or a buffer is, in words that do not depend on the names used."""
        if isinstance(node, cst.Name):
            return self._of_name(node.value, at)
        text = template(node)
        if text:
            return text
        if isinstance(node, cst.BinaryOperation):
            operator = code(node.operator).strip()
            return f"{self.place(node.left, at)} {operator} {self.place(node.right, at)}"
        if not isinstance(node, cst.Call):
            return " ".join(code(node).split())
        given = [self.place(arg.value, at) for arg in node.args]
        name = dotted(node.func).rpartition(".")[2]
        if name in SAME_PLACE and given and isinstance(node.func, (cst.Name, cst.Attribute)):
            opened = node.func.value if isinstance(node.func, cst.Attribute) else None
            if name != "open" or opened is None or dotted(opened) in ("io", "codecs", "fs"):
                return given[0]
            return self.place(opened, at)  # `path.open("rb")`
        return f"{code(node.func)}({', '.join(given)})"

    def has_written(self, load: cst.CSTNode) -> bool:
        """The function has saved or trained something before the load: it loads what it made."""
        then = self.by_node.get(load)
        if then is None or self.function is None:
            return False
        first, loops = self._writing
        return first < then.index or any(branch[0] in loops for branch in then.around)

    @cached_property
    def _writing(self) -> tuple[int, set[cst.CSTNode]]:
        """The first of its calls, or functions, that save or train; and the loops around them."""
        if self.function is None or not holds("file-written-here", self.function.text):
            return END, set()
        found = [
            step
            for step in self.steps
            if isinstance(step.node, (cst.Call, cst.FunctionDef))
            and holds("file-written-here", code(step.node))
        ]
        around = {branch[0] for step in found for branch in step.around}
        loops = {each for each in around if type(each) in (cst.For, cst.While)}
        return min((step.index for step in found), default=END), loops

    def names_of(self, load: cst.CSTNode) -> list[str]:
        """The names for what is loaded, or for a part of it."""
        return self._names.get(load, [])

    @cached_property
    def _names(self) -> dict[cst.CSTNode, list[str]]:
        found: dict[cst.CSTNode, list[str]] = {}
        values = [(name, value) for name, bound in self.bound.items() for _, value in bound]
        for name, value in (*values, *self.unpacked.items()):
            if value is not None:
                found.setdefault(beginning(value), []).append(name)
        return found

    def is_random_state(self, load: cst.CSTNode) -> bool:
        """A generator of random numbers gets it, or a part of it: such a state is on the host."""
        given, names = self._random_states
        return load in given or not names.isdisjoint(self.names_of(load))

    @cached_property
    def _random_states(self) -> tuple[set[cst.CSTNode], set[str]]:
        """What generators of random numbers get: the nodes, and the names."""
        calls = (step.node for step in self.steps if isinstance(step.node, cst.Call))
        setting = (call for call in calls if called_name(call) in _OF_RANDOM_STATES)
        given = [each.value for call in setting for each in call.args]
        names = {dotted(owner_of(each)) for each in given}
        return {beginning(each) for each in given}, names - {""}

    def is_state(self, load: cst.CSTNode) -> bool:
        """`load_state_dict` gets it, or a part of it, under a name."""
        return not self._states.isdisjoint(self.names_of(load))

    @cached_property
    def _states(self) -> set[str]:
        return {
            dotted(owner_of(step.node.args[0].value))
            for step in self.steps
            if isinstance(step.node, cst.Call)
            and isinstance(step.node.func, cst.Attribute)
            and step.node.func.attr.value == "load_state_dict"
            and step.node.args
        }

    def is_module(self, load: cst.CSTNode) -> bool:
        """What is loaded is used as nothing but a module can be."""
        owners, names = self._modules
        return load in owners or not names.isdisjoint(self.names_of(load))

    @cached_property
    def _modules(self) -> tuple[set[cst.CSTNode], set[str]]:
        """What is asked as only a module is: the nodes, and the names."""
        called = (step.node.func for step in self.steps if isinstance(step.node, cst.Call))
        owners: set[cst.CSTNode] = {
            func.value
            for func in called
            if isinstance(func, cst.Attribute) and func.attr.value in _OF_MODULES
        }
        return owners, {dotted(owner) for owner in owners} - {""}

    def followed(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """What a name is bound to, where that is once."""
        bound = self.bound.get(node.value, ()) if isinstance(node, cst.Name) else ()
        return bound[0][1] or node if len(bound) == 1 else node

    @cached_property
    def read_by_host(self) -> set[cst.CSTNode]:
        """What the host reads as it is, or a part or a view of which: calls that load, say."""
        read = (node for step in self.by_node for node in _read_by_host(step))
        return {whole for node in read for whole in self._wholes(node)}

    def _wholes(self, node: cst.BaseExpression) -> Iterator[cst.CSTNode]:
        """What a node is, or is an element or a view of; of no entry, beside which are others for a
        module."""
        while not isinstance(node, cst.Name):
            yield node
            if isinstance(node, cst.Subscript):
                if any(every(node.slice[0], cst.SimpleString)):
                    return
                node = node.value
            elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
                if node.func.attr.value in _MOVES:
                    return
                node = node.func.value
            else:
                return
        yield self.followed(node)
        if node.value in self.unpacked:
            yield self.unpacked[node.value]

    def _of_name(self, name: str, at: int) -> str:
        bound = [each for each in self.bound.get(name, ()) if each[0] < at]
        if bound:
            index, value = bound[-1]
            if value is None or (isinstance(value, cst.Call) and not names_a_file(value)):
                return (
                    f"{name}{OWN_NAME}{index}" if self.function is not None else f"{name}#{index}"
                )
            return self.place(value, index)
        if self.function is None or name in self.bound:
            return name
        return scope_of(self.unit, None)._of_name(name, END)


_MOVES = ("cpu", "to", "cuda", "type", "type_as")


def _read_by_host(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """`x` of `x.numpy()`, of `plt.plot(x)` and of `torch.from_numpy(x)`: a tensor of a card raises
    there."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        if node.func.attr.value == "numpy":
            yield node.func.value
        elif node.func.attr.value == "from_numpy" or dotted(node.func.value) in _OF_HOST:
            yield from (arg.value for arg in node.args if not arg.star)


def bindings(node: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression | None]]:
    """The names that a statement binds; None for what it does not say."""
    if isinstance(node, cst.Assign):
        for target in node.targets:
            whole = isinstance(target.target, cst.Name)
            for name in every(target.target, cst.Name) if _binds(target.target) else ():
                yield name.value, node.value if whole else None
    elif isinstance(node, (cst.NamedExpr, cst.AnnAssign, cst.AugAssign)):
        if isinstance(node.target, cst.Name):
            yield node.target.value, None if isinstance(node, cst.AugAssign) else node.value
    elif isinstance(node, cst.For) and _binds(node.target):
        for name in every(node.target, cst.Name):
            yield name.value, None
    elif isinstance(node, cst.WithItem) and node.asname is not None:
        yield dotted(node.asname.name), node.item


def beginning(value: cst.CSTNode) -> cst.CSTNode:
    """What a value is a part of, or a method has made it of: `f()` of `f()["net"].eval()`."""
    while True:
        if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute):
            if dotted(value.func) in LOADS:
                return value
            value = value.func.value
        elif isinstance(value, cst.Subscript):
            value = value.value
        else:
            return value


def unpacked(node: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression]]:
    """The names that get the parts of a value."""
    if isinstance(node, cst.Assign) and len(node.targets) == 1:
        target = node.targets[0].target
        if isinstance(target, (cst.Tuple, cst.List)):
            yield from ((name.value, node.value) for name in every(target, cst.Name))


def _binds(target: cst.CSTNode) -> bool:
    return isinstance(target, (cst.Name, cst.Tuple, cst.List))
