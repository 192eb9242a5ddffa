"""Frames: one function, or one file's body, on the walk, and what its names hold."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar

import libcst as cst

from devlint.inference.domain import heap
from devlint.inference.domain.containers import Address, Container, Loader, Mapping, Sequence
from devlint.inference.domain.host import NONE, External
from devlint.inference.domain.path_conditions import MAX_AROUND, PathCondition, both, lasting
from devlint.inference.domain.placement import CPU, Placement
from devlint.inference.domain.provenance import Provenance, Site, StepKind
from devlint.inference.domain.value import (
    UNKNOWN,
    Union,
    Value,
    alternatives,
    cases,
    join,
    join_branches,
    possible,
)
from devlint.inference.program.contracts import Declared
from devlint.inference.program.control import ControlContext
from devlint.inference.program.declarations import ClassInfo, Function, functions_of
from devlint.inference.program.functions import Arguments, Summary
from devlint.inference.program.loops import Environment, LoopState
from devlint.inference.program.outcomes import Outcome
from devlint.inference.program.state import State
from devlint.inference.program.units import REFUSED, Unit
from devlint.inference.program.values import FunctionValue, Instance, read
from devlint.inference.syntax.moved_globals import MOVES, moved_globals
from devlint.records import dataclass

_HOLDERS = frozenset({Sequence, Mapping, Union, Loader})


EVALUATORS: dict[type[cst.CSTNode], Callable[[Frame, Any], Value]] = {}


EXECUTORS: dict[type[cst.CSTNode], Callable[[Frame, Any], bool]] = {}


T = TypeVar("T")


class BudgetExceeded(Exception):
    """A function is too large or too tangled to be inferred within its budget."""


MAX_REBINDINGS = 8  # one right after the other


@dataclass(frozen=True, slots=True, eq=False)
class Assigned:
    """What a statement assigned to a name. `before`: the one right before it, to whatever name."""

    name: str
    value: cst.BaseExpression
    before: Assigned | None = None
    length: int = 1

    def then(self, name: str, value: cst.BaseExpression) -> Assigned:
        if self.length == MAX_REBINDINGS:
            return Assigned(name, value)
        return Assigned(name, value, self, self.length + 1)


_AS_AROUND = nullcontext()


class _Under(AbstractContextManager[None]):
    """In the block a frame has another control context."""

    __slots__ = ("around", "frame", "inside")

    def __init__(self, frame: Frame, inside: ControlContext) -> None:
        self.frame = frame
        self.inside = inside

    def __enter__(self) -> None:
        self.around = self.frame.control
        self.frame.control = self.inside

    def __exit__(self, *_: object) -> None:
        self.frame.control = self.around


class _Aside(AbstractContextManager[State]):
    """In the block a frame has names, a heap and a path of its own."""

    __slots__ = ("around", "frame")

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.around = frame.state

    def __enter__(self) -> State:
        self.frame.state = self.around.aside()
        return self.around

    def __exit__(self, *_: object) -> None:
        self.frame.state = self.around


class Frame:
    """One function (or module body) being inferred."""

    __slots__ = (
        "_kept",
        "constructing",
        "control",
        "current",
        "fresh",
        "function",
        "global_names",
        "info",
        "instance",
        "interpreter",
        "nonlocal_names",
        "notes",
        "outcome",
        "outer",
        "state",
        "statement",
        "steps",
        "unit",
    )

    def __init__(
        self,
        unit: Unit,
        interpreter: Interpreter,
        function: Function | None = None,
        outer: Frame | None = None,
        info: ClassInfo | None = None,
        env: Environment | None = None,
    ) -> None:
        self.unit = unit
        self.interpreter = interpreter  # the recursion, for what is asked of a value here
        self.function = function
        self.outer = outer
        self.info = info
        self.instance: Instance | None = None
        self.state = State({} if env is None else env)
        self.control = ControlContext()
        self.outcome = Outcome()
        self._kept: dict[Any, Any] = {}
        self.current: cst.CSTNode | None = None  # the statement being run
        self.fresh: Assigned | None = None  # what the last assignment bound
        self.constructing = False  # inside __init__ or what only it calls
        self.notes: list[Any] = []  # what becomes facts when the function is done
        self.global_names: set[str] = set()
        self.nonlocal_names: set[str] = set()
        self.statement: cst.CSTNode | None = None  # the expression whose result is thrown away
        self.steps = 0

    def kept(self, kind: Callable[[], T]) -> T:
        """The notes of one kind that are kept of this walk, made when they are first asked for."""
        try:
            notes: T = self._kept[kind]
        except KeyError:
            notes = self._kept[kind] = kind()
        return notes

    # ----------------------------------------------------------------- evaluation

    def eval(self, node: cst.CSTNode) -> Value:
        """The abstract value of an expression."""
        evaluate = EVALUATORS.get(type(node))
        if evaluate is None:
            return UNKNOWN
        value = evaluate(self, node)
        return self.snapshot(value) if type(value) in _HOLDERS else value

    def execute(self, node: cst.CSTNode) -> bool:
        """Run a statement; False when control does not fall through it."""
        self.steps += 1
        context = self.unit.context
        if self.steps > context.budget:
            raise BudgetExceeded
        if context.interrupt is not None:
            context.interrupt()
        if type(node) is not cst.SimpleStatementLine:
            self.current = node
        run = EXECUTORS.get(type(node))
        return True if run is None else run(self, node)

    def emit(self, event: object) -> None:
        """Say that something happened here."""
        self.interpreter.on(self, event)

    # ----------------------------------------------------------------- control

    def under(
        self,
        *,
        loop: LoopState | None = None,
        consumer: cst.Call | None = None,
        default_devices: tuple[Placement, ...] = (),
        contract: Declared | None = None,
        conditional: bool = False,
        guarded: bool = False,
        cold: bool = False,
        evaluating: bool = False,
        caught: bool = False,
        retold: bool = False,
        expecting: bool = False,
        guarding: bool = False,
        chained: bool = False,
        choosing: bool = False,
        settling: bool = False,
        receiver: Value | None = None,
    ) -> AbstractContextManager[None]:
        """A block that is walked with more around it: `with frame.under(cold=True): …`."""
        if not (
            (loop or conditional or consumer or default_devices or contract or receiver)
            or (guarded or cold or evaluating or caught or retold)
            or (expecting or guarding or chained or choosing or settling)
        ):
            return _AS_AROUND
        around = self.control
        return _Under(
            self,
            ControlContext(
                around.loops if loop is None else (*around.loops, loop),
                around.consumers if consumer is None else (*around.consumers, consumer),
                (*around.default_devices, *default_devices),
                around.contract if contract is None else contract,
                around.conditional or conditional,
                around.guarded or guarded,
                around.cold or cold,
                around.evaluating or evaluating,
                around.caught or caught,
                around.retold or retold,
                around.expecting or expecting,
                around.guarding or guarding,
                around.chained or chained,
                around.choosing or choosing,
                around.settling or settling,
                around.receiver if receiver is None else receiver,
            ),
        )

    def aside(self) -> AbstractContextManager[State]:
        """A part of an expression, whose names and tests are its own: `with frame.aside() as
        around: …`, where `around` is the state that the frame goes back to."""
        return _Aside(self)

    # ----------------------------------------------------------------- heap

    def find(self, address: Address) -> Value | None:
        """The content of a container now, if it is another than it was made with."""
        frame: Frame | None = self
        while frame is not None:
            found = frame.state.env.get(address)
            if found is not None:
                return found
            frame = frame.outer
        return globals_of(self.unit).get(address) or address.left

    def snapshot(self, value: Value) -> Value:
        """The value with the contents that containers have now."""
        return heap.current(value, self.find)

    def write(self, container: Container, content: Container) -> None:
        """From here on a container holds this."""
        self.state.env.update(heap.written(container, content, self.find))

    def fields_of(self, holder: Instance) -> Mapping:
        """The attributes of an object as they are now, by name."""
        fields = heap.current(holder.fields, self.find, 0)
        assert type(fields) is Mapping
        return fields

    def leave(self, env: Environment) -> None:
        """The function is done: others may find what it wrote to containers that they share."""
        around: list[Environment] = [globals_of(self.unit)]
        frame = self.outer
        while frame is not None:
            around.append(frame.state.env)
            frame = frame.outer
        for address, content in env.items():
            if type(address) is not Address:
                continue
            heap.leave(address, content)
            for shared in around:
                held = shared.get(address)
                if held is not None and shared is not env:
                    shared[address] = join(held, content)

    # ----------------------------------------------------------------- names

    def lookup(self, name: str) -> Value | None:
        """What a name holds here, or None if it is not bound."""
        frame: Frame | None = self
        while frame is not None:
            value = read(frame.state.env, name)
            if value is not None:
                return value
            frame = frame.outer
        return lookup(self.unit, name)

    def held(self, path: str) -> Value | None:
        """What a path, `self.table`, was found or made to hold: here, or in the method around that
        has the object. What a constructor defines runs when the object is complete, and may have
        been moved."""
        value = self.state.env.get(path)
        if value is not None or self.outer is None or not path.startswith("self."):
            return value
        frame: Frame | None = self
        while frame is not None and value is None and "self" not in frame.state.env:
            frame = frame.outer
            if frame is not None and not frame.constructing:
                value = frame.state.env.get(path)
        return value

    def bind(self, name: str, value: Value) -> None:
        """Assign to a name."""
        if self.global_names and name in self.global_names:
            shared = globals_of(self.unit)
            old = shared.get(name)
            shared[name] = value if old is None else join_branches(old, value)
        if self.nonlocal_names and name in self.nonlocal_names and self.outer is not None:
            old = self.outer.state.env.get(name)
            self.outer.state.env[name] = value if old is None else join_branches(old, value)
        self.state.bind(name, value)
        self.touch(name)

    def touch(self, name: str) -> None:
        """What a name holds is another now, or was changed in place."""
        self.state.forget_tests(name)
        for loop in self.control.loops:
            loop.assigned.add(name)

    def each(
        self, values: Value, evaluate: Callable[[Value], Value]
    ) -> list[tuple[Value, PathCondition]]:
        """What becomes of each alternative where that is the one, and what holds there."""
        state = self.state
        around = state.when
        found: list[tuple[Value, PathCondition]] = []
        for value, when in cases(values):
            state.when = both(around, when, MAX_AROUND)
            found.append((evaluate(value), when))
        state.when = around
        return found

    def stored(self, value: Value) -> Value:
        """A value as a container keeps it that is filled here: with the facts that hold for all
        that is put there."""
        value = possible(value, self.state.when)
        loop = self.control.loop
        since = self.state.clock.now if loop is None else loop.since
        return value.with_facts(lambda when: lasting(both(when, self.state.when), since))

    # ----------------------------------------------------------------- history

    def origin(
        self, kind: StepKind, node: cst.CSTNode, parent: Provenance | None = None, note: str = ""
    ) -> Provenance:
        return Provenance(kind, node, self.unit.source, parent, note)

    def site(self, node: cst.CSTNode) -> Site:
        return Site(self.unit.source, node)

    @property
    def default_device(self) -> Placement:
        """Where a factory without `device=` makes its tensor."""
        frame: Frame | None = self
        while frame is not None:
            if frame.control.default_devices:
                return frame.control.default_devices[-1]
            frame = frame.outer
        return self.unit.default_place

    @property
    def has_default_device(self) -> bool:
        """Whether the code chose the default device itself."""
        return self.default_device is not CPU

    @property
    def is_forward(self) -> bool:
        """The frame is the `forward` of an nn.Module."""
        function = self.function
        if function is None or function.info is None:
            return False
        return function.name == "forward" and function.info.is_module

    @property
    def in_module(self) -> bool:
        """Inside a method of an nn.Module (or a function nested in one)."""
        frame: Frame | None = self
        while frame is not None:
            if frame.info is not None:
                return frame.info.is_module
            frame = frame.outer
        return False


class Interpreter(Protocol):
    """The recursion, as those see it who stand below it."""

    def run(self, unit: Unit) -> None:
        """Walk the body of a file, once."""

    def summarize(self, function: Function) -> Summary | None:
        """The summary of a function; None while it is being inferred, or where it is too deep."""

    def call(self, frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> Value:
        """The result of calling any value."""

    def call_function(
        self,
        frame: Frame,
        node: cst.CSTNode,
        callee: FunctionValue,
        arguments: Arguments,
        as_module: bool = False,
    ) -> Value | None:
        """The result of calling a function of the project; None where it has no summary yet."""

    def element_of(self, frame: Frame, value: Value, node: cst.CSTNode) -> Value:
        """An element that an iteration over a value takes."""

    def attribute_of(self, frame: Frame, node: cst.Attribute, base: Value, name: str) -> Value:
        """An attribute of a value."""

    def on(self, frame: Frame, event: object) -> None:
        """Tell those who listen that something happened."""


class _Frames:
    """The frames of a file that others than their own functions read."""

    def __init__(self, unit: Unit) -> None:
        self.body: Frame | None = None
        self.around: dict[Function, Frame] = {}
        self.running: dict[ClassInfo, list[Frame]] = {}


def begin(unit: Unit, interpreter: Interpreter) -> Frame:
    """The frame of the file's own statements, which are about to be walked."""
    frame = unit.kept(_Frames).body = Frame(unit, interpreter, env=unit.env)
    return frame


def body_of(unit: Unit) -> Frame | None:
    """The frame of a file's own statements, once it is walked."""
    return unit.kept(_Frames).body


def interpreter_of(unit: Unit) -> Interpreter:
    """The recursion that walks a file."""
    body = body_of(unit)
    assert body is not None
    return body.interpreter


def enclose(function: Function, frame: Frame) -> None:
    """A function reads the names of the frame that it is defined in."""
    function.unit.kept(_Frames).around[function] = frame


def closure_of(function: Function) -> Frame | None:
    """The frame that a function is defined in, if that is another function's."""
    return function.unit.kept(_Frames).around.get(function)


def running_methods(info: ClassInfo) -> list[Frame]:
    """The methods of a class that are being inferred, the innermost last."""
    return info.unit.kept(_Frames).running.setdefault(info, [])


# ----------------------------------------------------------------- globals

# Names that are known without an import: `reveal_device` as type checkers have `reveal_type`.
UNIMPORTED = {name: f"builtins.{name}" for name in dir(builtins)} | {
    "reveal_device": "devlint.reveal_device"
}

# What such a name is short for wherever it is written: a star import out of sight brought it.
WELL_KNOWN = {
    "torch": "torch",
    "nn": "torch.nn",
    "F": "torch.nn.functional",
    "Variable": "torch.autograd.Variable",
    "np": "numpy",
}


def globals_of(unit: Unit) -> Environment:
    """What the names of a file hold, so far if its body is being run: a branch of it has an
    environment of its own."""
    body = body_of(unit)
    return unit.env if body is None else body.state.env


def lookup(unit: Unit, name: str) -> Value | None:
    """A global, or what needs no import."""
    shared = globals_of(unit)
    value = read(shared, name)
    if value is None and shared is not unit.env:
        value = read(unit.env, name)
    for each in alternatives(value) if value is not None else ():
        if type(each) is Instance and each.module and name in unit.kept(_MovedGlobals).names:
            each.others_move_it = True
    if value is not None:
        return UNKNOWN if value is NONE and name in unit.rebound else value
    path = UNIMPORTED.get(name)
    if path is not None:
        return External(path)
    return None if name.startswith("_") else _of_stars(unit, name)


def _of_stars(unit: Unit, name: str) -> Value | None:
    """A name that a star import brings: of a file that was still being run when it was imported,
    because it imports this one in turn, the names are known only later."""
    seen = {id(unit)}
    waiting = list(unit.stars)
    is_open = unit.has_star_out_of_sight
    for each in waiting:  # grows on the way
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        value = read(globals_of(each), name)
        if value is not None:
            unit.env[name] = value
            return value
        waiting += each.stars
        is_open = is_open or each.has_star_out_of_sight
    if name in WELL_KNOWN and (is_open or None in waiting):
        unit.context.knowledge.ensure(WELL_KNOWN[name].partition(".")[0])
        return External(WELL_KNOWN[name])
    return External(f"{REFUSED}.{name}") if None in waiting else None


class _MovedGlobals:
    """The globals of a file that some function moves where they are."""

    def __init__(self, unit: Unit) -> None:
        self.names = {
            name
            for function in (functions_of(unit) if any(map(unit.contains, MOVES)) else ())
            if function.around is None and isinstance(function.node, cst.FunctionDef)
            for name in moved_globals(function.node, globals_of(unit))
        }
