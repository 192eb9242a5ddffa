"""Units, the files being inferred, and the context that all of them share."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import libcst as cst

from devlint.contracts import is_contract_comment
from devlint.inference.conventions import found
from devlint.inference.domain.host import NONE, External
from devlint.inference.domain.placement import CPU, Placement, Variable
from devlint.inference.domain.value import UNKNOWN, Value, alternatives
from devlint.inference.facts import DroppedArgument, Facts, MistakenDevice
from devlint.inference.program.file_text import FileText
from devlint.inference.program.loops import Environment
from devlint.inference.program.predicates import Test
from devlint.inference.program.sources import Importer, Parsed
from devlint.inference.program.values import Imported, Instance, ProjectModule, read
from devlint.inference.syntax.moved_globals import MOVES, moved_globals
from devlint.inference.syntax.text import dotted, every
from devlint.knowledge import Knowledge

if TYPE_CHECKING:
    from devlint.inference.program.classes import ClassInfo
    from devlint.inference.program.frames import Frame
    from devlint.inference.program.functions import Arguments, Function, Summary
    from devlint.inference.program.values import FunctionValue


# The root of names that the project has, and whose file was not loaded: nothing is known of them.
REFUSED = "<refused>"


CONTRACTS = "devlint.contracts"  # known by itself, in devlint's own project, too


STATEMENT_BUDGET = 60_000


# Names that are known without an import: `reveal_device` as type checkers have `reveal_type`.
_UNIMPORTED = {name: f"builtins.{name}" for name in dir(builtins)} | {
    "reveal_device": "devlint.reveal_device"
}


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


class Unit(FileText):
    """One file: its globals, functions and classes, and the facts about it."""

    def __init__(self, context: Context, parsed: Parsed) -> None:
        super().__init__(parsed, context.importer)
        self.context = context
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

    @property
    def default_place(self) -> Placement:
        """Where a factory without `device=` makes its tensor; None if others chose that."""
        if self.default_device is not None:
            return self.default_device
        return None if self.default_is_set_elsewhere else CPU

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

    @cached_property
    def moved_in_functions(self) -> set[str]:
        """The globals that some function moves where they are."""
        if not any(map(self.contains, MOVES)):
            return set()
        return {
            name
            for function in self.functions
            if function.outer is None and isinstance(function.node, cst.FunctionDef)
            for name in moved_globals(function.node, self.globals)
        }

    @property
    def globals(self) -> Environment:
        """What the module's names hold, so far if its body is being run: a branch of it has an
        environment of its own."""
        return self.env if self.frame is None else self.frame.state.env

    def lookup(self, name: str) -> Value | None:
        """A global, or what needs no import."""
        value = read(self.globals, name)
        if value is None and self.globals is not self.env:
            value = read(self.env, name)
        for each in alternatives(value) if value is not None else ():
            if type(each) is Instance and each.module and name in self.moved_in_functions:
                each.others_move_it = True
        if value is not None:
            return UNKNOWN if value is NONE and name in self.rebound else value
        path = _UNIMPORTED.get(name)
        return None if path is None else External(path)

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
