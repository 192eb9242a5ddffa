"""Files, classes, functions and frames: the records of the program that is being inferred.

They refer to each other, and so stand in one module; behaviour stands above them.
"""

from __future__ import annotations

import builtins
from collections import abc
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

import libcst as cst

from devlint.contracts import Requirement, is_contract_comment
from devlint.inference.call_contexts import Given
from devlint.inference.conventions import found, holds, may_hold, without
from devlint.inference.domain import heap
from devlint.inference.domain.assumptions import Assumptions
from devlint.inference.domain.containers import Address, Container, Loader, Mapping, Sequence
from devlint.inference.domain.host import NONE, External
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import (
    ALWAYS,
    MAX_AROUND,
    PathCondition,
    Predicate,
    Sides,
    both,
    lasting,
)
from devlint.inference.domain.placement import CPU, Placement, Variable, is_accelerated, same_place
from devlint.inference.domain.provenance import Provenance, Site, Source, StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import (
    MAX_ALTERNATIVES,
    MAX_MODULES,
    TOP,
    UNKNOWN,
    Union,
    Value,
    cases,
    covers,
    is_untold,
    join,
    join_branches,
    merge,
    possible,
)
from devlint.inference.facts import DroppedArgument, Facts, MeetingKind, MistakenDevice
from devlint.inference.program.loops import Environment, Flag, LoopState
from devlint.inference.program.predicates import Test
from devlint.inference.syntax.filled_lists import FilledLists
from devlint.inference.syntax.names import Names
from devlint.inference.syntax.text import code, dotted, every
from devlint.knowledge import Knowledge

MAX_BASES = 12


_HOLDERS = frozenset({Sequence, Mapping, Union, Loader})


@dataclass(slots=True, eq=False)
class AttributeNote:
    """A plain tensor or a container of modules that a method of a module keeps."""

    node: cst.CSTNode
    source_node: cst.CSTNode
    name: str
    tensor: Tensor
    of_modules: bool
    method: str
    overwrites: str
    given: Given | None = None
    was_given: bool = False  # the constructor was handed it


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """What an assignment to an attribute left, and the conditions around it."""

    value: Value
    flags: frozenset[Flag]
    source: cst.CSTNode


@dataclass(slots=True, eq=False)
class ClassInfo:
    """A class of the project."""

    name: str
    node: cst.ClassDef
    unit: Unit
    bases: list[Value]
    is_module: bool
    variable: Variable
    methods: dict[str, Function] = field(default_factory=dict)
    members: dict[str, Value] = field(default_factory=dict)  # the class body's own names
    writers: dict[str, list[str]] = field(default_factory=dict)
    attributes: dict[str, Value] = field(default_factory=dict)
    registered: dict[str, str] = field(default_factory=dict)
    notes: dict[str, AttributeNote] = field(default_factory=dict)
    # What each assignment left, and the conditions around it.
    branches: dict[str, list[Written]] = field(default_factory=dict)
    # The assignments to each attribute: the suite of the method that has it, and the value.
    assigned: dict[str, list[tuple[cst.BaseSuite, cst.BaseExpression]]] = field(
        default_factory=dict
    )
    sets: dict[str, frozenset[cst.BaseSuite]] = field(default_factory=dict)  # once asked for
    alike: dict[frozenset[cst.BaseSuite], list[str]] = field(default_factory=dict)  # from `sets`
    together: dict[frozenset[cst.BaseSuite], Predicate] = field(default_factory=dict)
    # Where what an assignment left is computed with.
    used: dict[cst.CSTNode, Site] = field(default_factory=dict)
    self_value: Instance = field(init=False)
    reading: set[str] = field(default_factory=set)
    cache: dict[str, Value] = field(default_factory=dict)
    declared: dict[str, Declared] = field(default_factory=dict)  # attributes' contracts
    handed: list[tuple[str, str, str]] = field(default_factory=list)  # `self.helper("name")`
    moved: dict[str, set[str]] = field(default_factory=dict)  # attributes, by which methods
    constructed: set[cst.CSTNode] = field(default_factory=set)  # assignments in the constructor
    remade: set[str] = field(default_factory=set)  # attributes that others put on the host
    movers: dict[str, frozenset[str]] = field(default_factory=dict)  # by attribute, once asked for
    places_itself: bool = False  # its constructor moves parts of it
    stands_on: Placement = None  # where its own method moved it as a whole
    running: list[Frame] = field(default_factory=list)  # its methods that are being inferred
    written: str = ""  # `text`, once asked for
    filled: FilledLists | None = None  # `lists`, once asked for
    declared_tensors: dict[str, Value] | None = None  # the fields of a dataclass, once asked for

    def __post_init__(self) -> None:
        self.self_value = Instance(self, "", self.is_module, self.variable)

    @property
    def text(self) -> str:
        """Its source."""
        if not self.written:
            self.written = code(self.node)
        return self.written

    def says(self, convention: str, name: str = "") -> bool:
        """A convention holds of its source, which is written only where the file's may have it."""
        whole = self.unit.source.text
        return may_hold(convention, whole, name) and holds(convention, self.text, name)

    @property
    def lists(self) -> FilledLists:
        """The lists that its methods fill."""
        if self.filled is None:
            self.filled = FilledLists(self.node.body)
        return self.filled

    # ------------------------------------------------------------- lineage

    def lineage(self) -> list[ClassInfo]:
        """The class and its bases of the project, nearest first."""
        found: list[ClassInfo] = [self]
        for ancestor in found:
            if len(found) > MAX_BASES:
                break
            for base in ancestor.bases:
                if type(base) is ClassValue and base.info not in found:
                    found.append(base.info)
        return found

    def method(self, name: str) -> Function | None:
        """A method, inherited ones included."""
        for ancestor in self.lineage():
            found = ancestor.methods.get(name)
            if found is not None:
                return found
        return None

    def declared_fields(self) -> list[str]:
        """The annotated names of the class body, in the order of a dataclass's constructor."""
        found: dict[str, None] = {}
        for ancestor in reversed(self.lineage()):
            for statement in ancestor.node.body.body:
                if not isinstance(statement, cst.SimpleStatementLine):
                    continue
                for small in statement.body:
                    if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
                        found[small.target.value] = None
        return list(found)

    @property
    def library_bases(self) -> list[str]:
        """The dotted names of the bases outside the project."""
        return [b.name for i in self.lineage() for b in i.bases if type(b) is External]

    @property
    def has_base_out_of_sight(self) -> bool:
        """A base is neither the project's nor one of Python's own."""
        return any(
            is_untold(base) or (type(base) is External and not holds("deviceless-base", base.name))
            for ancestor in self.lineage()
            for base in ancestor.bases
        )


@dataclass(frozen=True, slots=True)
class Declared:
    """What a declaration says of a value, or of the parts of a tuple."""

    requirement: Requirement | None
    node: cst.CSTNode
    source: Source
    parts: tuple[Declared | None, ...] = ()

    @property
    def text(self) -> str:
        return f"declared `{self.requirement}` here"

    def origin(self, parent: Provenance | None = None) -> Provenance:
        return Provenance(StepKind.DECLARED, self.node, self.source, parent, self.text)


@dataclass(slots=True)
class Signature:
    """The contracts of a function: of its parameters by name, and of its result."""

    parameters: dict[str, Declared] = field(default_factory=dict)
    result: Declared | None = None

    def __bool__(self) -> bool:
        return bool(self.parameters) or self.result is not None


EVALUATORS: dict[type[cst.CSTNode], Callable[[Frame, Any], Value]] = {}


EXECUTORS: dict[type[cst.CSTNode], Callable[[Frame, Any], bool]] = {}


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


@dataclass(slots=True, eq=False)
class MeetingDraft:
    """A contradiction, before the rest of the function has had its say on what is a tensor."""

    node: cst.CSTNode
    kind: MeetingKind
    operation: str
    left: Tensor
    left_node: cst.CSTNode
    right: Tensor
    right_node: cst.CSTNode
    assumptions: Assumptions
    inside: Site | None
    caught: bool


@dataclass(slots=True, eq=False)
class Pending:
    """Two operands that agree only if the caller makes them: checked at each call."""

    node: cst.CSTNode
    kind: MeetingKind
    operation: str
    left: Tensor
    right: Tensor
    pointwise: bool
    when: PathCondition = ALWAYS
    called: Evidence | None = None  # `right` is a parameter that is called like a module
    assumptions: Assumptions = ()  # what it rests on, whoever calls


def read(env: Environment, name: str) -> Value | None:
    """What a name holds in this environment; what was imported is looked for now."""
    value = env.get(name)
    if type(value) is Imported:
        value = value.resolve()
        if value is not None:
            env[name] = value
    return value


class Frame:
    """One function (or module body) being inferred."""

    __slots__ = (
        "batch_moves",
        "bound",
        "branches",
        "brought",
        "caught",
        "chain",
        "choices",
        "choosing",
        "cold",
        "constructing",
        "consumers",
        "contract",
        "current",
        "default_devices",
        "drafts",
        "env",
        "evaluating",
        "exits",
        "expected",
        "expecting",
        "flags",
        "fresh",
        "function",
        "global_names",
        "goes_back",
        "guarding",
        "guards",
        "host_inputs",
        "info",
        "instance",
        "left",
        "left_default",
        "loops",
        "needed",
        "nonlocal_names",
        "notes",
        "now",
        "optimizers",
        "orphans",
        "outer",
        "owners",
        "parts",
        "paths",
        "pendings",
        "places",
        "read_by_host",
        "reads",
        "retold",
        "returns",
        "settling",
        "statement",
        "steps",
        "undecided",
        "unit",
        "unsynchronized",
        "went_back",
        "when",
        "writes",
        "yields",
    )

    def __init__(
        self,
        unit: Unit,
        function: Function | None = None,
        outer: Frame | None = None,
        info: ClassInfo | None = None,
        env: Environment | None = None,
    ) -> None:
        self.unit = unit
        self.function = function
        self.outer = outer
        self.info = info
        self.instance: Instance | None = None
        self.env: Environment = {} if env is None else env
        self.loops: list[LoopState] = []
        self.returns: list[tuple[cst.CSTNode, Value]] = []
        self.yields: list[Value] = []
        self.default_devices: list[Placement] = []
        self.left_default: Placement = None  # the default device, where this function sets it
        self.branches: list[Flag] = []  # open conditions on one name, around here
        self.when: PathCondition = ALWAYS  # how the tests came out that lead here
        self.choices: dict[Any, Predicate] = {}  # by what they are on, see choices.py
        self.flags: dict[str, None] = {}  # names that are set to True or False, in order
        self.now = 0  # the clock: it goes on where a name is bound
        self.bound: dict[str, int] = {}  # when each name was bound last
        self.caught = 0  # depth of `try … except RuntimeError`
        self.retold = 0  # depth of such that raise another error instead
        self.choosing = 0  # depth of calls that go another way for a value on the host
        self.chain = 0  # depth in an `if … elif …` chain
        self.orphans: dict[cst.CSTNode, Any] = {}  # by their factory call, see orphans.py
        self.exits: list[Environment] = []  # the environments at each return
        # `self.name = value`, and the conditions around it
        self.writes: list[tuple[str, Value, cst.CSTNode, cst.CSTNode, frozenset[Flag]]] = []
        self.expecting = 0  # depth of `with pytest.raises(…)`
        self.guards = 0  # depth of conditions on availability or on a device
        self.cold = 0  # depth of conditions that make a loop's body cold
        self.evaluating = 0  # depth of `torch.no_grad()` and of branches for evaluation
        self.needed: set[cst.CSTNode] = set()  # moves to the host of which the host made use
        self.read_by_host: set[Placement] = set()  # inputs that the host reads as they are
        self.host_inputs: set[Placement] = set()  # those of which nothing shows that it may not
        self.guarding = False  # in a test whose branch only raises or warns
        self.consumers: list[cst.Call] = []  # the calls whose arguments are being evaluated
        self.current: cst.CSTNode | None = None  # the statement being run
        self.fresh: Assigned | None = None  # what the last assignment bound
        self.settling = 0  # depth of first passes over loops
        self.constructing = False  # inside __init__ or what only it calls
        self.drafts: dict[Any, MeetingDraft] = {}
        self.pendings: dict[Any, Pending] = {}
        self.notes: list[Any] = []  # what becomes facts when the function is done
        # The places of what the function moves to a device, and where it moves that.
        self.brought: dict[Variable, set[Placement]] = {}
        self.undecided: list[MeetingDraft] = []  # of places that may be one or two
        self.left: dict[str, Value] = {}  # by methods of its own object that it calls
        # Where parts of batches were moved, by what the batches came from.
        self.batch_moves: dict[cst.CSTNode, list[Placement]] = {}
        self.unsynchronized: set[cst.CSTNode] = set()  # non-blocking copies to the host
        # Of gradients.py: reads of what may be recorded, calls whose results may be, and what a
        # backward pass goes through, if there is one.
        self.reads: dict[cst.CSTNode, ReadNote] = {}
        self.expected: set[cst.CSTNode] = set()
        self.goes_back = False
        self.went_back: set[cst.CSTNode] = set()
        self.owners: set[str] = set()  # names of which `hold` keeps parts
        self.parts: dict[str, set[str]] = {}  # paths that were bound or held, by their owners
        self.paths: dict[Any, Value] = {}  # derived values by (evidence, attribute)
        self.global_names: set[str] = set()
        self.nonlocal_names: set[str] = set()
        self.statement: cst.CSTNode | None = None  # the expression whose result is thrown away
        self.optimizers: list[tuple[Instance, cst.CSTNode]] = []  # built on a module's parameters
        self.steps = 0
        self.contract: Declared | None = None  # of the assignment being run, by its comment
        self.places: dict[str, Placement] = {}  # of the parameters, where contracts speak of them

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

    @property
    def interpreter(self) -> Interpreter:
        """The recursion, for what a value of this frame asks of it."""
        return self.unit.context.interpreter

    def emit(self, event: object) -> None:
        """Say that something happened here."""
        self.unit.context.interpreter.on(self, event)

    # ----------------------------------------------------------------- heap

    def find(self, address: Address) -> Value | None:
        """The content of a container now, if it is another than it was made with."""
        frame: Frame | None = self
        while frame is not None:
            found = frame.env.get(address)
            if found is not None:
                return found
            frame = frame.outer
        return self.unit.globals.get(address) or address.left

    def snapshot(self, value: Value) -> Value:
        """The value with the contents that containers have now."""
        return heap.current(value, self.find)

    def write(self, container: Container, content: Container) -> None:
        """From here on a container holds this."""
        self.env.update(heap.written(container, content, self.find))

    def fields_of(self, holder: Instance) -> Mapping:
        """The attributes of an object as they are now, by name."""
        fields = heap.current(holder.fields, self.find, 0)
        assert type(fields) is Mapping
        return fields

    def leave(self, env: Environment) -> None:
        """The function is done: others may find what it wrote to containers that they share."""
        around: list[Environment] = [self.unit.globals]
        frame = self.outer
        while frame is not None:
            around.append(frame.env)
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
            value = read(frame.env, name)
            if value is not None:
                return value
            frame = frame.outer
        return self.unit.lookup(name)

    def bind(self, name: str, value: Value) -> None:
        """Assign to a name."""
        if self.global_names and name in self.global_names:
            old = self.unit.globals.get(name)
            self.unit.globals[name] = value if old is None else join_branches(old, value)
        if self.nonlocal_names and name in self.nonlocal_names and self.outer is not None:
            old = self.outer.env.get(name)
            self.outer.env[name] = value if old is None else join_branches(old, value)
        if name in self.owners or "." in name:
            for key in self.parts.get(name, ()):
                self.env.pop(key, None)
        self.env[name] = value
        if "." in name:
            self.note_part(name)
        self.touch(name)

    def touch(self, name: str) -> None:
        """What a name holds is another now, or was changed in place."""
        self.forget_tests(name)
        for loop in self.loops:
            loop.assigned.add(name)

    def forget_tests(self, name: str) -> None:
        """A test on what a name holds may come out otherwise from here on."""
        self.now += 1
        self.bound[name] = self.now

    def hold(self, path: str, value: Value) -> None:
        """Keep what `x`, `x.part` or `x["part"]` holds, a part until its owner is bound anew."""
        self.env[path] = value
        owner, dot, _ = path.replace("[", ".").partition(".")
        if owner and dot:
            self.owners.add(owner)
            self.note_part(path)

    def note_part(self, path: str) -> None:
        """Remember of what a path is a part: `x.part` and `x` of `x.part["key"]`."""
        for end, letter in enumerate(path):
            if letter in ".[":
                self.parts.setdefault(path[:end], set()).add(path)
        index = path[path.rfind("[") + 1 : -1] if path.endswith("]") else ""
        if index.isidentifier():  # `x[key]` is another entry where `key` is bound anew
            self.parts.setdefault(index, set()).add(path)
            self.owners.add(index)

    def each(
        self, values: Value, evaluate: Callable[[Value], Value]
    ) -> list[tuple[Value, PathCondition]]:
        """What becomes of each alternative where that is the one, and what holds there."""
        around = self.when
        found: list[tuple[Value, PathCondition]] = []
        for value, when in cases(values):
            self.when = both(around, when, MAX_AROUND)
            found.append((evaluate(value), when))
        self.when = around
        return found

    def kept(self, value: Value) -> Value:
        """A value as a container keeps it that is filled here: with the facts that hold for all
        that is put there."""
        value = possible(value, self.when)
        since = self.loops[-1].since if self.loops else self.now
        return value.with_facts(lambda when: lasting(both(when, self.when), since))

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
            if frame.default_devices:
                return frame.default_devices[-1]
            frame = frame.outer
        return self.unit.default_place

    @property
    def has_default_device(self) -> bool:
        """Whether the code chose the default device itself."""
        return self.default_device is not CPU

    @property
    def loop(self) -> LoopState | None:
        return self.loops[-1] if self.loops else None

    @property
    def is_forward(self) -> bool:
        """This is the `forward` of an nn.Module."""
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


class Arguments:
    """The arguments of one call, evaluated."""

    __slots__ = ("keywords", "open", "positional")

    def __init__(
        self,
        positional: list[tuple[Value, cst.CSTNode]],
        keywords: dict[str, tuple[Value, cst.CSTNode]],
        is_open: bool = False,
    ) -> None:
        self.positional = positional
        self.keywords = keywords
        self.open = is_open  # `*args` or `**kwargs` of unknown content may give more

    def get(self, index: int, name: str) -> Value | None:
        """The argument at a position or by a keyword."""
        if name in self.keywords:
            return self.keywords[name][0]
        if 0 <= index < len(self.positional):
            return self.positional[index][0]
        return None

    def node(self, index: int, name: str) -> cst.CSTNode | None:
        if name in self.keywords:
            return self.keywords[name][1]
        if 0 <= index < len(self.positional):
            return self.positional[index][1]
        return None

    def all(self) -> list[tuple[Value, cst.CSTNode]]:
        return [*self.positional, *self.keywords.values()]


@dataclass(slots=True, eq=False)
class Summary:
    """What a function does, in terms of its parameters' devices."""

    parameters: list[Parameter]
    result: Value
    pendings: list[Pending] = field(default_factory=list)
    syncs: list[Site] = field(default_factory=list)
    fresh: tuple[Instance, ...] = ()  # modules in the result: others with each call
    left_default: Placement = None  # the default device, where the function sets it
    # What a method leaves in the attributes of its object; of some only in some of its branches.
    left: dict[str, Value] = field(default_factory=dict)


@dataclass(eq=False)
class Function:
    """A function of the project, inferred when it is first called or when its file is done."""

    node: cst.FunctionDef | cst.Lambda
    unit: Unit
    outer: Frame | None = None
    info: ClassInfo | None = None
    defaults: dict[str, Value] = field(default_factory=dict)
    decorators: tuple[str, ...] = ()
    summary: Summary | None = None
    running: bool = False
    in_constructor: bool | None = None  # called from constructors alone, once that was asked
    name: str = "<lambda>"
    registers: tuple[str, str] | None = None  # `register_buffer`, by the name in this parameter
    callers: list[CallSite] = field(default_factory=list)  # in its own file
    parameters: list[Parameter] = field(default_factory=list)  # once it is being inferred
    signature: Signature | None = None  # its contracts, once they were read
    stored: dict[str, Value] = field(default_factory=dict)  # in `ctx`, see autograd.py

    @cached_property
    def is_local(self) -> bool:
        """Defined in another function, which calls it and does nothing else with it."""
        around = self.outer.function if self.outer is not None else None
        if around is None or self.decorators or not isinstance(self.node, cst.FunctionDef):
            return False
        uses, calls = around.outermost.names.counts(around.node, self.name)
        return uses - 1 == calls  # the one is its definition

    @cached_property
    def outermost(self) -> Function:
        """The function that holds it and is held by no other."""
        around = self.outer.function if self.outer is not None else None
        return self if around is None else around.outermost

    @cached_property
    def names(self) -> Names:
        """Where it uses each name."""
        return Names(self.node)

    @cached_property
    def text(self) -> str:
        """Its source."""
        return code(self.node)

    def says(self, convention: str, name: str = "") -> bool:
        """A convention holds of its source, which is written only where the file's may have it."""
        whole = self.unit.source.text
        return may_hold(convention, whole, name) and holds(convention, self.text, name)

    @cached_property
    def exports(self) -> bool:
        """It exports a module, which is mostly done on the host."""
        written = "onnx.export("
        return written in self.unit.source.text and written in self.text

    @cached_property
    def key(self) -> str:
        """What tells it from all others of the project."""
        of_class = f"{self.info.name}." if self.info is not None else ""
        return f"{self.unit.source.path}::{of_class}{self.name}"

    @cached_property
    def positional(self) -> list[str]:
        """The parameters that a call gives by position, without the object of a method."""
        params = self.node.params
        names = [p.name.value for p in (*params.posonly_params, *params.params)]
        return names[1:] if self.info is not None and not self.is_static else names

    @cached_property
    def is_abstract(self) -> bool:
        """A method whose body only stands for those of subclasses: it is declared so, or does
        nothing but say that it is to be overridden."""
        if self.info is None or not isinstance(self.node, cst.FunctionDef):
            return False
        if any(d.rpartition(".")[2].startswith("abstract") for d in self.decorators):
            return True
        lines = [line for line in self.node.body.body if not _is_docstring(line)]
        return not lines or (len(lines) == 1 and holds("abstract-body", code(lines[0])))

    @property
    def is_static(self) -> bool:
        return "staticmethod" in self.decorators

    @property
    def is_class_method(self) -> bool:
        return "classmethod" in self.decorators

    @property
    def is_property(self) -> bool:
        return any(
            d in ("property", "cached_property", "functools.cached_property", "lazy_property")
            for d in self.decorators
        )


def _is_docstring(line: cst.CSTNode) -> bool:
    first = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
    return isinstance(first, cst.Expr) and isinstance(
        first.value, (cst.SimpleString, cst.ConcatenatedString)
    )


@dataclass(slots=True, eq=False)
class ReadNote:
    """The host reads what may be recorded, where gradients are on."""

    node: cst.CSTNode
    sink: str
    tensor: Tensor
    tensor_node: cst.CSTNode
    caught: bool
    in_one_branch: bool = False  # what another branch leaves there is not recorded


def freezes(text: str) -> bool:
    """Whether a file's text freezes parameters, or turns gradients off in other ways."""
    return holds("freezing-text", text)


@dataclass(slots=True, eq=False)
class Parameter:
    """A parameter: its device variable, its value inside, its default for the caller."""

    name: str
    variable: Variable | None
    value: Value
    default: Value | None
    keyword_only: bool
    is_device: bool = False


@dataclass(frozen=True, slots=True)
class CallSite:
    """One call of a function in its own file."""

    caller: Function | None
    node: cst.CSTNode
    loop: LoopState | None
    cold: bool
    without_gradients: bool = False  # under `torch.no_grad()`


# The root of names that the project has, and whose file was not loaded: nothing is known of them.
REFUSED = "<refused>"


CONTRACTS = "devlint.contracts"  # known by itself, in devlint's own project, too


STATEMENT_BUDGET = 60_000


# Names that are known without an import: `reveal_device` as type checkers have `reveal_type`.
_UNIMPORTED = {name: f"builtins.{name}" for name in dir(builtins)} | {
    "reveal_device": "devlint.reveal_device"
}


def _is_script(text: str, tree: cst.Module) -> bool:
    """It runs itself, or trains without a class for others to use."""
    return holds("script-text", text) or (
        ".backward(" in text and not any(type(each) is cst.ClassDef for each in tree.body)
    )


def _imports(text: str, name: str) -> bool:
    """One of a text's imports names such a module."""
    return bool(name) and holds("import-of", text, name)


class Parsed(Source, Protocol):
    """A file as the inference needs it."""

    module_name: str
    is_package: bool
    text: str
    tree: cst.Module


class Importer(Protocol):
    """Finds the files of the project by module name."""

    def load(self, dotted: str) -> Parsed | None:
        """The file of a module of the project, else None."""

    def find(self, dotted: str) -> object | None:
        """What stands for such a module, if the project has one; nothing is loaded."""

    def needs_cuda(self, path: str) -> bool:
        """Whether nothing but CUDA runs a file: the project builds what it needs for it."""

    def settings(self, path: str) -> abc.Mapping[str, str]:
        """What may choose a default device for a file's program: their texts by name."""


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


class Context:
    """One run: what is shared by all files."""

    def __init__(
        self, knowledge: Knowledge, importer: Importer | None, interpreter: Interpreter
    ) -> None:
        self.knowledge = knowledge
        self.interpreter = interpreter
        self.importer = importer
        self.units: dict[str, Unit] = {}
        self.depth = 0
        self.none_handled: set[Variable] = set()  # device parameters that may be None
        self.owners: dict[Variable, Function] = {}  # of which each is a parameter's device
        self.budget = STATEMENT_BUDGET
        self.interrupt: Callable[[], None] | None = None  # told at each statement; may raise

    def unit_of(self, parsed: Parsed) -> Unit:
        """The unit of a parsed file; one that was loaded for another file is used again."""
        unit = self.units.get(parsed.path)
        if unit is None or unit.source is not parsed:
            unit = Unit(self, parsed)
            self.units[parsed.path] = unit
        return unit

    def has(self, dotted: str) -> bool:
        """Whether the project has a module by this name, loaded or not."""
        if self.importer is None or not dotted or dotted == CONTRACTS:
            return False
        return self.importer.find(dotted) is not None

    def load(self, dotted: str) -> Unit | None:
        """The unit of a module of the project, its body run."""
        if self.importer is None or not dotted or dotted == CONTRACTS:
            return None
        parsed = self.importer.load(dotted)
        if parsed is None:
            return None
        unit = self.units.get(parsed.path)
        if unit is None:
            unit = self.unit_of(parsed)
        self.interpreter.run(unit)
        return unit


T = TypeVar("T")


class Unit:
    """One file: its globals, functions and classes, and the facts about it."""

    def __init__(self, context: Context, parsed: Parsed) -> None:
        self.context = context
        self.source = parsed
        self.tree = parsed.tree
        self.env: Environment = {}
        self.facts = Facts(parsed)
        self.functions: list[Function] = []
        self.classes: list[ClassInfo] = []
        self.default_device: Placement = None
        self.frame: Frame | None = None
        self.dropped: dict[cst.CSTNode, DroppedArgument] = {}
        # Waits for the current card, by the device parameter that they pass by; and whether calls
        # name a card there.
        self.waits: dict[cst.CSTNode, tuple[Function, str]] = {}
        self.cards: dict[tuple[Function, str], dict[cst.CSTNode, bool]] = {}
        self.mistaken: dict[cst.CSTNode, MistakenDevice] = {}
        # The names that such a call's result is bound to, each with its function.
        self.dropped_into: dict[cst.CSTNode, list[tuple[cst.CSTNode, str]]] = {}
        # Those whose callee chooses an accelerator itself where it is told no device.
        self.dropped_choosing: set[cst.CSTNode] = set()
        self._rebound: set[str] | None = None
        self._kept: dict[Any, Any] = {}
        self.tests: dict[cst.CSTNode, Test] = {}  # what each condition says, once it was asked
        self.moved_calls: set[cst.CSTNode] = set()  # calls whose result is moved at once
        self.odd_returns: list[tuple[Function, set[cst.CSTNode]]] = []
        self._finished = False
        self._constructors: str | None = None
        self.moved_objects: set[str] = set()  # things of unknown type, moved in place
        self.has_contract_comments = is_contract_comment(parsed.text)
        self.contract_comments: set[cst.Comment] = set()  # those that were read
        self.unread_contracts: dict[cst.CSTNode, str] = {}
        self.owned: list[tuple[str, int, Function, bool]] = []  # facts by the function they are in

    def kept(self, kind: Callable[[Unit], T]) -> T:
        """The notes of one kind that are kept of this file, made when they are first asked for."""
        notes: T | None = self._kept.get(kind)
        if notes is None:
            notes = self._kept[kind] = kind(self)
        return notes

    # ------------------------------------------------------------- what the text says as a whole

    @cached_property
    def accelerated(self) -> bool:
        """The file names devices or moves."""
        return holds("accelerated-text", self.source.text)

    @cached_property
    def is_foreign(self) -> bool:
        """The file is about another framework's tensors: neither it nor a file of the project that
        it imports imports torch."""
        text = self.source.text
        if not holds("other-framework-import", text) or holds("torch-import", text):
            return False
        names = {a.evaluated_name for i in every(self.tree, cst.Import) for a in i.names} | {
            self.absolute(
                dotted(each.module) if each.module is not None else "", len(each.relative)
            )
            for each in every(self.tree, cst.ImportFrom)
        }
        importer = self.context.importer
        found = [importer.load(name) for name in sorted(names) if name] if importer else []
        return not any(holds("torch-import", parsed.text) for parsed in found if parsed is not None)

    @cached_property
    def moves_batches(self) -> bool:
        """A framework is used whose loaders move their batches."""
        return holds("batch-moving-text", self.source.text)

    @cached_property
    def makers(self) -> dict[str, set[str]]:
        """By name, the classes of which the file makes what it binds: `loader = Stream(3)`."""
        makers: dict[str, set[str]] = {}
        for each in every(self.tree, cst.Assign):
            name = dotted(each.targets[0].target).removeprefix("self.")
            maker = dotted(each.value.func) if isinstance(each.value, cst.Call) else ""
            maker = maker.rpartition(".")[2]
            if name and maker[:1].isupper():
                makers.setdefault(name, set()).add(maker)
        return makers

    @cached_property
    def keeps_to_host(self) -> bool:
        """No switch of the program is on: whoever imports the file has it use the CPU, or it is a
        test that asks for no accelerator."""
        asks_for_none = self.is_test and not self.accelerated
        return asks_for_none or holds("host-switch", self.source.text)

    @cached_property
    def restores_default(self) -> bool:
        """The file goes back to a default tensor type of CUDA, which it had before: whoever set
        that is out of sight."""
        return holds("default-restoring-text", self.source.text)

    @cached_property
    def sets_default_device(self) -> bool:
        """By `torch.set_default_device`, which does not reach `torch.Tensor([…])` and its like."""
        text = self.source.text
        return "set_default_device(" in text and "set_default_tensor_type(" not in text

    @property
    def default_place(self) -> Placement:
        """Where a factory without `device=` makes its tensor; None if others chose that."""
        if self.default_device is not None:
            return self.default_device
        return None if self.restores_default or self.default_is_set_elsewhere else CPU

    @cached_property
    def default_is_set_elsewhere(self) -> bool:
        """A file that imports this one, a setting that it imports, or a fixture that its tests
        run under, makes tensors on another device by default."""
        importer = self.context.importer
        found = importer.settings(self.source.path) if importer is not None else {}
        own = self.source.module_name.rpartition(".")[2]
        fixtures = [found.get("conftest", ""), self.source.text] if self.is_test else []
        return any(holds("default-setting-fixture", text) for text in fixtures) or any(
            _imports(text, own)
            or (holds("default-setting-import", text) and _imports(self.source.text, name))
            for name, text in found.items()
        )

    @cached_property
    def freezes(self) -> bool:
        """Somewhere in the file parameters are frozen, or gradients turned off by a call."""
        return freezes(self.source.text)

    @cached_property
    def host_script(self) -> bool:
        """A script that never leaves the host, or that says so."""
        text = self.source.text
        if self.exports_on_host:
            return True
        if not self.is_script:
            return False
        if not self.accelerated:
            return True
        rest = without("pinned-text", text)
        return (
            rest != text
            and not holds("other-device-text", rest)
            and not holds("device-option-text", text)
        )

    @cached_property
    def exports_on_host(self) -> bool:
        """A script that exports a model, or by its path a file of models that are only made to be
        exported; and nothing in it is put on a device."""
        text = self.source.text
        exports = holds("export-path", self.source.path)
        exports = exports or (self.is_script and "onnx.export(" in text)
        return exports and not holds("placing-text", text)

    @cached_property
    def is_script(self) -> bool:
        return self.source.path.endswith(".ipynb") or _is_script(self.source.text, self.tree)

    @cached_property
    def feeds_host(self) -> bool:
        """By its path, the file prepares data."""
        return holds("data-path", self.source.path)

    @cached_property
    def is_test(self) -> bool:
        return holds("test-path", self.purpose)

    @cached_property
    def purpose(self) -> str:
        """Its path, as far as that tells what it is for: a program with a command line that is
        called `test.py` tries a model, and tests no code."""
        folder, slash, name = self.source.path.rpartition("/")
        text = self.source.text
        tries = holds("test-path", name) and holds("command-line-text", text)
        if tries and self.is_script and not holds("test-framework-text", text):
            name = name.replace("test", "try")
        return f"{folder}{slash}{name}"

    # ------------------------------------------------------------- running

    def collates(self, name: str) -> bool:
        """Whether a function is some loader's `collate_fn`, or is called by such alone."""
        return name in self._collating

    @cached_property
    def _collating(self) -> set[str]:
        if "collate_fn" not in self.source.text:
            return set()
        given = {
            dotted(each.value.func if isinstance(each.value, cst.Call) else each.value)
            for each in every(self.tree, cst.Arg)
            if each.keyword is not None and each.keyword.value == "collate_fn"
        }
        collating = {name.rpartition(".")[2] for name in given}
        known = {f.name: f for f in self.functions}
        waiting = [known[name] for name in collating if name in known]
        for function in waiting:  # grows by those that they call
            text = function.text
            for callee in set(found("any-call", text)) & known.keys() - collating:
                inside = len(found("call-of-any", text, callee))
                if inside == len(found("call-of-any", self.source.text, callee)):
                    collating.add(callee)
                    waiting.append(known[callee])
        return collating

    # ------------------------------------------------------------- names

    @property
    def rebound(self) -> set[str]:
        """The globals that some function rebinds: None until then."""
        if self._rebound is None:
            statements = every(self.tree, cst.Global) if "global " in self.source.text else ()
            self._rebound = {each.name.value for one in statements for each in one.names}
        return self._rebound

    @property
    def globals(self) -> Environment:
        """What the module's names hold, so far if its body is being run: a branch of it has an
        environment of its own."""
        return self.env if self.frame is None else self.frame.env

    def lookup(self, name: str) -> Value | None:
        """A global, or what needs no import."""
        value = read(self.globals, name)
        if value is None and self.globals is not self.env:
            value = read(self.env, name)
        if value is not None:
            return UNKNOWN if value is NONE and name in self.rebound else value
        path = _UNIMPORTED.get(name)
        return None if path is None else External(path)

    def absolute(self, base: str, level: int) -> str:
        """The absolute name of a relative import; "" for one that leaves the project."""
        if level == 0:
            return base
        parts = self.source.module_name.split(".") if self.source.module_name else []
        if not self.source.is_package:
            parts = parts[:-1]
        up = level - 1
        if up > len(parts):
            return ""
        parts = parts[: len(parts) - up]
        return ".".join([*parts, base] if base else parts)

    def imported(self, module: str, name: str | None = None) -> Value:
        """What an import binds: of the project's own, a promise that is kept when it is used."""
        has = self.context.has
        if has(module) or (name is not None and (not module or has(f"{module}.{name}"))):
            return Imported(self, module, name)
        return self.module(module) if name is None else self.member(module, name)

    def module(self, name: str) -> Value:
        """What `import name` stands for."""
        unit = self.context.load(name)
        if unit is not None:
            return ProjectModule(unit)
        if self.context.has(name):
            return External(f"{REFUSED}.{name}")  # too much was imported already
        if name:
            self.context.knowledge.ensure(name.partition(".")[0])
        return External(name)

    def member(self, module: str, name: str) -> Value:
        """What `from module import name` stands for."""
        if not module:
            sibling = self.context.load(name)
            return ProjectModule(sibling) if sibling is not None else UNKNOWN
        if f"{module}.{name}" == CONTRACTS:
            return External(CONTRACTS)
        unit = self.context.load(module)
        if unit is not None:
            value = unit.lookup(name) if name not in _UNIMPORTED else read(unit.env, name)
            if value is not None:
                return value
            submodule = self.context.load(f"{module}.{name}")
            return ProjectModule(submodule) if submodule is not None else UNKNOWN
        submodule = self.context.load(f"{module}.{name}")
        if submodule is not None:
            return ProjectModule(submodule)
        if self.context.has(module):
            return External(f"{REFUSED}.{name}")
        self.context.knowledge.ensure(module.partition(".")[0])
        return External(f"{module}.{name}")

    def exports(self, module: str) -> dict[str, Value]:
        """What `from module import *` binds."""
        unit = self.context.load(module)
        if unit is None:
            return _STARS.get(module, {})
        return {
            name: value
            for name, value in unit.env.items()
            if isinstance(name, str) and not name.startswith("_") and "." not in name
        }


_STARS: dict[str, dict[str, Value]] = {
    "torch": {name: External(f"torch.{name}") for name in ("zeros", "ones", "tensor", "cat", "nn")},
    "torch.nn": {
        name: External(f"torch.nn.{name}")
        for name in ("Module", "Linear", "Conv2d", "Parameter", "Sequential", "functional")
    },
}


class ProjectModule(Value):
    """A Python module of the project."""

    __slots__ = ("unit",)

    def __init__(self, unit: Unit) -> None:
        self.unit = unit

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is ProjectModule
        return self if self.unit is other.unit else None

    def content(self, depth: int) -> Hashable:
        return ProjectModule, id(self.unit)


class Imported(Value):
    """What an import binds, before anything asks for it: most of what a file imports is never used
    by the functions that are walked, and to load it all is to load the project for each file."""

    __slots__ = ("_asked", "_value", "module", "name", "unit")

    def __init__(self, unit: Unit, module: str, name: str | None) -> None:
        self.unit = unit
        self.module = module
        self.name = name  # of what `from module import name` takes; None for `import module`
        self._asked = False
        self._value: Value | None = None

    def resolve(self) -> Value | None:
        """What it stands for; None, as if not bound yet, while that is being found out: a cycle of
        imports, or a package that imports its own part under the part's name."""
        if not self._asked:
            self._asked = True
            if self.name is None:
                self._value = self.unit.module(self.module)
            else:
                self._value = self.unit.member(self.module, self.name)
        return self._value

    def resolved(self) -> Value:
        value = self.resolve()
        return UNKNOWN if value is None else value.resolved()


class FunctionValue(Value):
    """A function of the project, perhaps bound to an object, perhaps with arguments given."""

    __slots__ = ("bound", "function", "given")

    def __init__(
        self,
        function: Function,
        bound: Value | None = None,
        given: tuple[list[Value], dict[str, Value]] | None = None,
    ) -> None:
        self.function = function
        self.bound = bound
        self.given = given

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is FunctionValue
        return self if self._content == other._content else None

    @property
    def _content(self) -> tuple[int, ...]:
        return id(self.function), id(self.bound), id(self.given)

    def content(self, depth: int) -> Hashable:
        return FunctionValue, self._content

    def covers(self, other: Value, depth: int) -> bool:
        assert type(other) is FunctionValue
        return self.function.node is other.function.node


class ClassValue(Value):
    """A class of the project."""

    __slots__ = ("info",)

    def __init__(self, info: ClassInfo) -> None:
        self.info = info

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is ClassValue
        return self if self.info is other.info else None

    def content(self, depth: int) -> Hashable:
        return ClassValue, id(self.info)


class Instance(Value):
    """An object of a project class, or an `nn.Module` of a library or of an unknown class.

    For a module, `place` is where it was put first; later moves are kept in the environment under
    the object itself, so that branches stay apart. A submodule follows its `parent`.
    """

    __slots__ = (
        "_items",
        "fields",
        "given",
        "info",
        "library",
        "module",
        "moves",
        "name",
        "origin",
        "parent",
        "place",
        "tensor",
        "twins",
    )

    def __init__(
        self,
        info: ClassInfo | None = None,
        library: str = "",
        module: bool = False,
        place: Placement = None,
        origin: Provenance | None = None,
        parent: Instance | None = None,
        items: Sequence | None = None,
        name: str = "",
    ) -> None:
        self.info = info
        self.library = library
        self.module = module
        self.place = place
        self.origin = origin
        self.parent = parent
        self._items = items
        self.name = name
        self.moves = 0  # after the first, within one function
        self.fields = Mapping()  # what its attributes hold, by name
        self.given: dict[Variable, Tensor] | None = None  # by the constructor's call
        self.tensor: Tensor | None = None  # what stands for those that a library's object holds
        # Others of its class for which it stands, too, where one of several is meant.
        self.twins: list[Instance] = []

    def __repr__(self) -> str:
        return f"Instance({self.info.name if self.info else self.library}, {self.place})"

    @property
    def items(self) -> Sequence | None:
        """Its members, if it is a container of modules."""
        items = self._items
        if items is not None and items.addresses and type(items.addresses[0].left) is Sequence:
            return items.addresses[0].left
        return items

    @items.setter
    def items(self, items: Sequence | None) -> None:
        self._items = items

    def take_in(self, member: Value) -> None:
        """A container is given one more member, whoever sees it under whatever name."""
        assert self.items is not None
        self.items.addresses[0].left = self.items.adding(member)

    @property
    def room(self) -> int:
        return MAX_MODULES if self.module else MAX_ALTERNATIVES

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        """Two objects of a class of the project in one place are one, and so are two of a library's
        whose tensors are one. Of two modules it is the first, which stands for both."""
        assert type(other) is Instance
        if self.library != other.library or self.info is not other.info:
            return None
        if self.info is None:
            return self._merge_held(other)
        if self.module is not other.module or self.place != other.place:
            return None
        return self if self.module else _merge_objects(self, other, sides)

    def _merge_held(self, other: Instance) -> Instance | None:
        if self.tensor is None or other.tensor is None:
            return None
        tensor = self.tensor.merge(other.tensor, None)
        if tensor is None or tensor is self.tensor:
            return None if tensor is None else self
        merged = Instance(None, self.library, self.module, tensor.place, tensor.origin)
        merged.tensor = tensor
        return merged

    def content(self, depth: int) -> Hashable:
        if self.info is None and self.tensor is not None:
            return Instance, self.library, self.tensor.content(depth)
        if self.info is None:
            return Instance, id(self)
        what = Instance, id(self.info), self.library, self.module, self.place
        if self.module or not depth:
            return what
        given = {} if self.given is None else self.given
        return (
            *what,
            self.fields.content(depth),
            frozenset((variable, tensor.place) for variable, tensor in given.items()),
        )

    def covers(self, other: Value, depth: int) -> bool:
        assert type(other) is Instance
        if self.library != other.library or self.info is not other.info:
            return False
        if self.info is None and self.tensor is not None and other.tensor is not None:
            return self.tensor.covers(other.tensor, depth)  # the object is where that is
        return self.place == other.place and self.module is other.module

    def stand_for(self, other: Value) -> None:
        has_room = len(self.twins) < MAX_MODULES
        if isinstance(other, Instance) and other not in self.twins and has_room:
            self.twins.append(other)


class Placed(Value):
    """In an environment under a module object: where the module is now."""

    __slots__ = ("origin", "place")

    def __init__(self, place: Placement, origin: Provenance | None) -> None:
        self.place = place
        self.origin = origin

    def merge(self, other: Value, sides: Sides | None) -> Value:
        assert type(other) is Placed
        return self if self.place == other.place else Placed(None, None)

    def outweighs(self, other: Value, sides: Sides) -> Value | None:
        """A module that only one branch moved to an accelerator is there: the accelerated world."""
        assert type(other) is Placed
        return self if is_accelerated(self.place) and not is_accelerated(other.place) else None

    def content(self, depth: int) -> Hashable:
        return Placed, self.place


class Optimizer(Value):
    """An optimizer over the parameters of `module`, built at `origin`."""

    __slots__ = ("module", "origin")

    def __init__(self, module: Instance | None, origin: Provenance) -> None:
        self.module = module
        self.origin = origin

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is Optimizer
        same = self.module is other.module and self.origin.node is other.origin.node
        return self if same else None

    def content(self, depth: int) -> Hashable:
        return Optimizer, id(self.module), id(self.origin.node)


class Parameters(Value):
    """`module.parameters()`, or a list made from it."""

    __slots__ = ("module", "tensor")

    def __init__(self, module: Instance | None, tensor: Tensor) -> None:
        self.module = module
        self.tensor = tensor

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is Parameters
        tensor = self.tensor.merge(other.tensor, sides)
        if self.module is not other.module or tensor is None:
            return None
        return self if tensor is self.tensor else Parameters(self.module, tensor)

    def content(self, depth: int) -> Hashable:
        return Parameters, id(self.module), self.tensor.content(depth)


class Method(Value):
    """A method of a value, not called yet: `x.to`, `torch.add` bound by getattr."""

    __slots__ = ("name", "receiver")

    def __init__(self, receiver: Value, name: str) -> None:
        self.receiver = receiver
        self.name = name

    def resolved(self) -> Value:
        """Itself; a method of one of too many values is one of too many."""
        return TOP if self.receiver is TOP else self

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is Method
        if self.name != other.name:
            return None
        receiver = merge(self.receiver, other.receiver, sides)
        return None if receiver is None else Method(receiver, self.name).resolved()

    def content(self, depth: int) -> Hashable:
        return Method, self.name, self.receiver.content(depth - 1) if depth else None


class Partial(Value):
    """`functools.partial(f, …)` of anything that is no project function."""

    __slots__ = ("args", "callee", "keywords")

    def __init__(self, callee: Value, args: list[Value], keywords: dict[str, Value]) -> None:
        self.callee = callee
        self.args = args
        self.keywords = keywords

    def covers(self, other: Value, depth: int) -> bool:
        assert type(other) is Partial
        return covers(self.callee, other.callee, depth - 1)


class Generator(Value):
    """A `torch.Generator`."""

    __slots__ = ("origin", "place")

    def __init__(self, place: Placement, origin: Provenance | None) -> None:
        self.place = place
        self.origin = origin

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is Generator
        return self if self.place == other.place else None

    def content(self, depth: int) -> Hashable:
        return Generator, self.place


class Super(Value):
    """`super()` inside a class."""

    __slots__ = ("info", "instance")

    def __init__(self, info: ClassInfo, instance: Value) -> None:
        self.info = info
        self.instance = instance

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is Super
        same = self.info is other.info and self.instance is other.instance
        return self if same else None

    def content(self, depth: int) -> Hashable:
        return Super, id(self.info), id(self.instance)


class TypeExpression(Value):
    """A type that a name stands for, to be read as an annotation: `Cuda = Annotated[Tensor, …]`."""

    __slots__ = ("frame", "node")

    def __init__(self, node: cst.BaseExpression, frame: Frame) -> None:
        self.node = node
        self.frame = frame

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is TypeExpression
        return self if self.node is other.node and self.frame is other.frame else None

    def content(self, depth: int) -> Hashable:
        return TypeExpression, id(self.node), id(self.frame)


class Contract(Value):
    """`On("cuda")` or `SameDevice("x")` of devlint.contracts."""

    __slots__ = ("requirement",)

    def __init__(self, requirement: Requirement) -> None:
        self.requirement = requirement

    def merge(self, other: Value, sides: Sides | None) -> Value | None:
        assert type(other) is Contract
        return self if self.requirement == other.requirement else None

    def content(self, depth: int) -> Hashable:
        return Contract, repr(self.requirement)


def _merge_objects(a: Instance, b: Instance, sides: Sides | None) -> Instance:
    """One object for two of a class: what they were made with, and hold, may differ."""
    if a.given is b.given and a.fields is b.fields:
        return a
    fields = a.fields if a.fields is b.fields else a.fields.merge(b.fields, sides)
    given = _merge_given(a.given or {}, b.given or {})
    if given == a.given and _is_same(fields, a.fields):
        return a
    merged = Instance(a.info, a.library, False, a.place, a.origin, a.parent, a.items, a.name)
    merged.fields, merged.given, merged.tensor = fields, given, a.tensor
    return merged


def _is_same(a: Mapping, b: Mapping) -> bool:
    """The same entries at the same addresses."""
    return (
        a.addresses == b.addresses
        and a.entries.keys() == b.entries.keys()
        and all(b.entries[name] is held for name, held in a.entries.items())
    )


def _merge_given(
    a: dict[Variable, Tensor], b: dict[Variable, Tensor]
) -> dict[Variable, Tensor] | None:
    """Where two objects' constructors were given the same, and otherwise unknown."""
    merged = {}
    for variable in a | b:
        mine, other = a.get(variable), b.get(variable)
        agree = mine is not None and other is not None and same_place(mine.place, other.place)
        merged[variable] = mine if mine is not None and agree else Tensor(None)
    return merged or None
