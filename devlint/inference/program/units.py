"""Units, the files being inferred, and the context that all of them share."""

from __future__ import annotations

import builtins
from collections import abc
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import libcst as cst

from devlint.contracts import is_contract_comment
from devlint.inference.conventions import found, holds, without
from devlint.inference.domain.host import NONE, External
from devlint.inference.domain.placement import CPU, Placement, Variable
from devlint.inference.domain.provenance import Source
from devlint.inference.domain.value import UNKNOWN, Value
from devlint.inference.facts import DroppedArgument, Facts, MistakenDevice
from devlint.inference.program.loops import Environment
from devlint.inference.program.predicates import Test
from devlint.inference.program.values import Imported, Instance, ProjectModule, read
from devlint.inference.syntax.moved_globals import MOVES, moved_globals
from devlint.inference.syntax.text import dotted, every
from devlint.knowledge import Knowledge

if TYPE_CHECKING:
    from devlint.inference.program.classes import ClassInfo
    from devlint.inference.program.frames import Frame
    from devlint.inference.program.functions import Arguments, Function, Summary
    from devlint.inference.program.values import FunctionValue


def freezes(text: str) -> bool:
    """Whether a file's text freezes parameters, or turns gradients off in other ways."""
    return holds("freezing-text", text)


# The root of names that the project has, and whose file was not loaded: nothing is known of them.
REFUSED = "<refused>"


CONTRACTS = "devlint.contracts"  # known by itself, in devlint's own project, too


STATEMENT_BUDGET = 60_000


# Names that are known without an import: `reveal_device` as type checkers have `reveal_type`.
_UNIMPORTED = {name: f"builtins.{name}" for name in dir(builtins)} | {
    "reveal_device": "devlint.reveal_device"
}


def _is_script(text: str, tree: cst.Module) -> bool:
    """The file runs itself, or trains without a class for others to use."""
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

    def programs_choose_default_device(self, path: str) -> bool:
        """Whether every program that runs a file makes tensors elsewhere by default."""

    def is_named_elsewhere(self, name: str, path: str) -> bool:
        """Whether another file of the project names what a file defines."""

    def moves_data(self) -> bool:
        """Whether a data set of the project moves what it holds."""

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
        self._contained: dict[str, bool] = {}
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

    def contains(self, written: str) -> bool:
        """This stands in the text."""
        found = self._contained.get(written)
        if found is None:
            found = self._contained[written] = written in self.source.text
        return found

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
        if type(value) is Instance and value.module and name in self.moved_in_functions:
            value.others_move_it = True
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
