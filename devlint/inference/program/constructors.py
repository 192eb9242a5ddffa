"""Functions that run only while a module is being built: its constructor, what only that calls, and
what sets the module up once and refuses to do so again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from devlint.inference.conventions import found
from devlint.inference.domain.placement import Variable, VariableKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.program.declarations import ClassInfo, Function, functions_of
from devlint.inference.program.frames import Frame, closure_of
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import code, dotted, every, last_statement
from devlint.records import NamedTuple

_BUILDING = frozenset({"__init__", "configure_model", "configure_sharded_model"})


def runs_in_constructor(frame: Frame) -> bool:
    """The function is called from constructors alone, as far as the file shows, or sets up a
    module and is called by nobody."""
    function = frame.function
    if function is None or closure_of(function) is not None:
        return False
    if function.info is not None and not function.info.is_module:
        return False
    known = frame.unit.kept(_Constructors)
    known.update()
    answer = known.answers.get(function)
    if answer is None:
        built = function in known.building and not _builds(function)
        built = built or _is_of(function, known.text)
        answer = built or (
            function.info is not None and (_sets_up(function) or _refuses_twice(function))
        )
        known.answers[function] = answer
    return answer


def is_called_by_constructor(info: ClassInfo, name: str) -> bool:
    """The constructor calls the method, or one that does."""
    called, waiting = set[str](), ["__init__"]
    while waiting:
        method = info.method(waiting.pop())
        calls = every(method.node.body, cst.Call) if method is not None else ()
        names = (dotted(call.func).rpartition(".") for call in calls)
        new = {name for owner, _, name in names if owner == "self"} - called
        called |= new
        waiting += new
    return name in called


def is_set_by_constructor(info: ClassInfo, attribute: str) -> bool:
    """Every object has the attribute once it is made: the constructor sets it, whatever it is
    given, or calls a method that does; and nothing deletes it."""
    if f"del self.{attribute}" in info.unit.source.text or "delattr(" in info.unit.source.text:
        return False
    waiting = ["__init__"]
    for name in waiting:  # grows on the way
        method = info.method(name)
        for small in _unconditional(method) if method is not None else ():
            for target in small.targets if isinstance(small, cst.Assign) else ():
                if dotted(target.target) == f"self.{attribute}":
                    return True
            called = _called_of_self(small)
            if called and called not in waiting:
                waiting.append(called)
    return False


def _called_of_self(statement: cst.BaseSmallStatement) -> str:
    """`build` of `self.build(3)`."""
    call = statement.value if isinstance(statement, cst.Expr) else None
    path = dotted(call.func) if isinstance(call, cst.Call) else ""
    return path.removeprefix("self.") if path.startswith("self.") else ""


def _unconditional(method: Function) -> Iterator[cst.BaseSmallStatement]:
    """The statements of a method that stand in no block."""
    suite = method.node.body
    for line in suite.body if isinstance(suite, cst.IndentedBlock) else ():
        if isinstance(line, cst.SimpleStatementLine):
            yield from line.body


def is_chosen_from(info: ClassInfo, attribute: str) -> bool:
    """A container that only what builds the module mentions, which takes an element out of it: what
    is chosen is kept elsewhere, and nobody needs the rest.

    `self.nets = {"small": Small(), "large": Large()}`, and then `self.net = self.nets[size]`
    """
    path = f"self.{attribute}"
    methods = [m for each in info.lineage() for m in each.methods.values()]
    mentioning = [m for m in methods if path in m.unit.kept(_OwnPaths).of(m).mentioned]
    for method in mentioning:
        known = method.unit.kept(_Constructors)
        known.update()
        if method not in known.building:
            return False
    return any(path in m.unit.kept(_OwnPaths).of(m).taken_from for m in mentioning)


class _Paths(NamedTuple):
    """The attributes of its object that a method mentions, and of which it takes an element."""

    mentioned: frozenset[str]
    taken_from: frozenset[str]


class _OwnPaths:
    def __init__(self, unit: Unit) -> None:
        self._known: dict[Function, _Paths] = {}

    def of(self, method: Function) -> _Paths:
        found = self._known.get(method)
        if found is None:
            stored = {target.target for target in every(method.node, cst.AssignTarget)}
            read = (node for node in every(method.node, cst.Subscript) if node not in stored)
            asked = (dotted(call.func) for call in every(method.node, cst.Call))
            owners = (name.rpartition(".") for name in asked)
            taken = {owner for owner, _, name in owners if name in ("get", "pop")}
            taken.update(dotted(node.value) for node in read)
            mentioned = frozenset(map(dotted, every(method.node, cst.Attribute)))
            found = self._known[method] = _Paths(mentioned, frozenset(taken))
        return found


def is_being_made(frame: Frame, tensor: Tensor) -> bool:
    """It is a module's own, and the module is still being made, on the host: it moves later."""
    place = tensor.place
    is_own = type(place) is Variable and place.kind is VariableKind.MODULE
    return is_own and (frame.constructing or runs_in_constructor(frame))


def _sets_up(function: Function) -> bool:
    """The function registers buffers, which is done before a module moves, and no call of it is in
    sight."""
    if f".{function.name}(" in function.unit.source.text:
        return False
    return function.contains(".register_buffer(")


def _refuses_twice(function: Function) -> bool:
    """The method begins with a refusal to run again, and its class never calls it: whoever makes
    the module calls it next, as a second part of the constructor.

    `assert self.method is None`, and then `self.method = method`
    """
    body = function.node.body
    if is_handed_data(function) or f"self.{function.name}(" in function.unit.source.text:
        return False
    assigned: set[str] = set()
    refused: set[str] = set()
    for line in body.body if isinstance(body, cst.IndentedBlock) else ():
        if isinstance(line, cst.If) and isinstance(last_statement(line.body), cst.Raise):
            refused.add(_given_path(line.test, refusing=True))
        for statement in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(statement, cst.Assert) and not assigned:
                refused.add(_given_path(statement.test, refusing=False))
            elif isinstance(statement, cst.Assign):
                assigned.update(dotted(target.target) for target in statement.targets)
    return any(path.startswith("self.") for path in refused & assigned)


def _given_path(test: cst.BaseExpression, refusing: bool) -> str:
    """`self.method` of `self.method is None`, or where that refuses, of `self.method is not None`;
    "" of any other test."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return ""
    asked = test.comparisons[0]
    wanted = cst.IsNot if refusing else cst.Is
    is_of_none = isinstance(asked.operator, wanted) and dotted(asked.comparator) == "None"
    return dotted(test.left) if is_of_none else ""


def is_handed_data(function: Function) -> bool:
    """The method gets what may be tensors: it runs once there are some."""
    params = function.node.params
    given = [*params.posonly_params, *params.params][1:]
    return any(
        each.default is None
        if each.annotation is None
        else "Tensor" in code(each.annotation.annotation)
        for each in given
    )


def _is_of(function: Function, constructors: str, others: Iterable[Function] = ()) -> bool:
    """All uses of the function in its file stand in this text, and some do; but for those of its
    overrides, among the others, which hand on to it: `super().reset()`. A call of a module names
    no `forward`: what names one is another object's, as `self.boxes.forward()`."""
    if function.name == "forward":
        return False
    inside = _uses(function, constructors)
    if not inside:
        return False
    overrides = (each.text for each in others if each.name == function.name)
    handing_on = [f"{owner}.{function.name}(" for owner in ("super()", ", self)")]
    own = sum(text.count(call) for text in overrides for call in handing_on)
    return inside + own == _uses(function, function.unit.kept(_Code).text)


def _uses(function: Function, text: str) -> int:
    """How often the text calls the function, or reads the property."""
    if function.info is None:
        return len(found("call-of-function", text, function.name))
    if function.is_property:
        return len(found("read-of-attribute", text, function.name))
    return text.count(f".{function.name}(")


class _Code:
    """The text of a file without the examples of its docstrings."""

    def __init__(self, unit: Unit) -> None:
        self.text = _without_examples(unit.source.text)


def _without_examples(text: str) -> str:
    """Examples of docstrings call what they like: `>>> encoder.size()`."""
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(">>>"))


class _Constructors:
    """The source of what runs while the modules of a file are built: their `__init__`, hooks of
    Lightning's that run before a module is moved, class methods that build one, and methods and
    properties that only such use; and which functions stand there, once that was asked.

    A file may ask while its body is being run: what it declares later is read then.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.text = ""
        self.building: set[Function] = set()
        self.answers: dict[Function, bool] = {}
        self._declared = -1

    def update(self) -> None:
        declared = len(functions_of(self.unit))
        if declared == self._declared:
            return
        self._declared = declared
        self.answers.clear()
        self.text = ""
        waiting = [f for f in functions_of(self.unit) if f.info is not None and f.info.is_module]
        building: list[Function] = []
        self.building.clear()
        while more := [f for f in waiting if _builds(f) or _is_of(f, self.text, waiting)]:
            building += more
            self.building.update(more)
            waiting = [f for f in waiting if f not in self.building]
            self.text = _without_examples("\n".join(f.text for f in building))


def _builds(function: Function) -> bool:
    if function.is_class_method:
        return not function.says("moves-in-text")
    return function.name in _BUILDING
