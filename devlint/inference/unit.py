"""A file being inferred, and the run that it is part of."""

from __future__ import annotations

import builtins
import re
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import libcst as cst

from devlint.contracts import is_contract_comment
from devlint.inference import (
    asked,
    contracts,
    drafts,
    dropped,
    gradients,
    mentions,
    notes,
    rebindings,
    returns,
    steps,
)
from devlint.inference.choices import Test
from devlint.inference.conventions import holds
from devlint.inference.domain.host import NONE, External
from devlint.inference.domain.placement import CPU, Placement, Variable
from devlint.inference.domain.provenance import Source
from devlint.inference.domain.value import UNKNOWN, Value
from devlint.inference.facts import DroppedArgument, Facts, MistakenDevice
from devlint.inference.frame import BudgetExceeded, Environment, Frame, read
from devlint.inference.functions import Function, summarize
from devlint.inference.values import Imported, ProjectModule

if TYPE_CHECKING:
    from devlint.inference.classes import ClassInfo
    from devlint.inference.loads import Scope
    from devlint.inference.optimizers import Built
    from devlint.knowledge import Knowledge

# The root of names that the project has, and whose file was not loaded: nothing is known of them.
REFUSED = "<refused>"
CONTRACTS = "devlint.contracts"  # known by itself, in devlint's own project, too
STATEMENT_BUDGET = 60_000
_BUILTINS = frozenset(dir(builtins))
# What keeps a run on the CPU, in a file that has no other device.
_PINNED = re.compile(
    r"\bCPU\w*\(\)|\baccelerator *= *[\"']cpu[\"']|\bdevice *= *(torch\.device\()?[\"']cpu[\"']"
    r"|\b(no|disable)_?(cuda|gpu) *= *True|\b(use_?)(cuda|gpu) *= *False"
)
_MADE = re.compile(r"(?m)^\s*(?:self\.)?(\w+) = (?:\w+\.)*([A-Z]\w*)\(")
_IMPORTED = re.compile(r"^[ \t]*(?:from +(\.*)([\w.]*) +import\b|import +([\w.]+))", re.M)
_BUILDING = frozenset({"__init__", "configure_model", "configure_sharded_model"})
_COLLATE = re.compile(r"\bcollate_fn *= *(?:\w+\.)*(\w+)")
_GLOBAL = re.compile(r"^[ \t]+global +([\w, ]+)", re.M)


def _is_script(text: str) -> bool:
    """It runs itself, or trains without a class for others to use."""
    return holds("script-text", text) or (
        ".backward(" in text and not re.search(r"^class ", text, re.M)
    )


def _imports(text: str, name: str) -> bool:
    """One of a text's imports names such a module."""
    return bool(name) and bool(re.search(rf"^[ \t]*(?:from|import)\b.*\b{name}\b", text, re.M))


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

    def settings(self, path: str) -> Mapping[str, str]:
        """What may choose a default device for a file's program: their texts by name."""


class Context:
    """One run: what is shared by all files."""

    def __init__(self, knowledge: Knowledge, importer: Importer | None) -> None:
        self.knowledge = knowledge
        self.importer = importer
        self.units: dict[str, Unit] = {}
        self.depth = 0
        self.none_handled: set[Variable] = set()  # device parameters that may be None
        self.owners: dict[Variable, Function] = {}  # of which each is a parameter's device
        self.budget = STATEMENT_BUDGET

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
        unit.run()
        return unit


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
        self.rebindings: dict[cst.CSTNode, rebindings.RebindingNote] = {}
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
        self.scopes: dict[Function | None, Scope] = {}  # once they were asked for
        self._rebound: set[str] | None = None
        self.mentions = mentions.Mentions(parsed.text, parsed.path)
        self.tests: dict[cst.CSTNode, Test] = {}  # what each condition says, once it was asked
        self.optimizers: dict[Function | None, list[Built]] = {}
        self.undetached: list[gradients.Undetached] = []  # reads, see gradients.py
        self.moved_calls: set[cst.CSTNode] = set()  # calls whose result is moved at once
        self.odd_returns: list[tuple[Function, set[cst.CSTNode]]] = []
        self._finished = False
        self._constructors: str | None = None
        self.moved_objects: set[str] = set()  # things of unknown type, moved in place
        self.has_contract_comments = is_contract_comment(parsed.text)
        self.contract_comments: set[cst.Comment] = set()  # those that were read
        self.unread_contracts: dict[cst.CSTNode, str] = {}
        self.owned: list[tuple[str, int, Function, bool]] = []  # facts by the function they are in

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
        names = {
            name or self.absolute(base, len(dots)) for dots, base, name in _IMPORTED.findall(text)
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
        found: dict[str, set[str]] = {}
        for name, maker in _MADE.findall(self.source.text):
            found.setdefault(name, set()).add(maker)
        return found

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
        return gradients.freezes(self.source.text)

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
        rest, pins = _PINNED.subn("", text)
        return (
            pins > 0
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
        return _is_script(self.source.text)

    @cached_property
    def feeds_host(self) -> bool:
        """By its path, the file prepares data."""
        return holds("data-path", self.source.path)

    @cached_property
    def is_test(self) -> bool:
        return holds("test-path", self.source.path)

    # ------------------------------------------------------------- running

    def run(self) -> None:
        """Walk the module's body, once."""
        if self.frame is not None:
            return
        frame = Frame(self, env=self.env)
        self.frame = frame
        from devlint.inference.statements import run_all

        try:
            run_all(frame, self.tree.body)
        except BudgetExceeded:
            self.facts.budgets_hit.append(f"{self.source.path}: its body is too large")
        # Branches replace the environment; functions read the one that is left.
        if frame.env is not self.env:
            self.env.update(frame.env)
            frame.env = self.env

    def finish(self) -> Facts:
        """Infer all that is left and settle the facts."""
        if self.is_foreign:
            return self.facts  # torch's rules say nothing of it
        self.run()
        if self._finished:
            return self.facts
        self._finished = True
        self.facts.accelerated = self.accelerated
        assert self.frame is not None
        index = 0
        while index < len(self.functions):  # inferring a function declares those nested in it
            summarize(self.functions[index])
            index += 1
        drafts.settle(self.frame)
        notes.settle(self.frame)
        for info in self.classes:
            info.settle(self.frame)
        returns.settle(self)
        steps.settle(self)
        mentions.settle(self)
        rebindings.settle(self)
        asked.settle(self)
        dropped.settle(self)
        gradients.leave(self.frame)
        gradients.settle(self)
        contracts.settle(self)
        self.facts.mistaken_devices += self.mistaken.values()
        return self.facts

    def only_constructors_call(self, name: str, is_method: bool) -> bool:
        """Whether every call by this name in the file stands in the `__init__` of a module, in a
        hook of Lightning's that runs before the module is moved, or in a class method that builds
        one."""
        if self._constructors is None:
            self._constructors = self._text_of_constructors()
        if not is_method:
            call = re.compile(rf"(?<!def )(?<![\w.]){name}\(")
            inside = len(call.findall(self._constructors))
            return inside > 0 and inside == len(call.findall(self.source.text))
        inside = self._constructors.count(f".{name}(")
        return inside > 0 and inside == self.source.text.count(f".{name}(")

    def _text_of_constructors(self) -> str:
        """What runs while modules are built: constructors, and methods that only such call."""
        waiting = [f for f in self.functions if f.info is not None and f.info.is_module]
        found: list[Function] = []
        text = ""
        while True:
            more = [
                f
                for f in waiting
                if f.name in _BUILDING
                or (f.is_class_method and not holds("plain-move-in-text", f.text))
                or 0 < text.count(f".{f.name}(") == self.source.text.count(f".{f.name}(")
            ]
            if not more:
                return text
            found += more
            waiting = [f for f in waiting if f not in more]
            text = "\n".join(f.text for f in found)

    def collates(self, name: str) -> bool:
        """Whether a function is some loader's `collate_fn`, or is called by such alone."""
        return name in self._collating

    @cached_property
    def _collating(self) -> set[str]:
        found: set[str] = set(_COLLATE.findall(self.source.text))
        known = {f.name: f for f in self.functions} if found else {}
        waiting = [known[name] for name in found if name in known]
        for function in waiting:  # grows by those that they call
            text = function.text
            for callee in set(re.findall(r"(\w+)\(", text)) & known.keys() - found:
                call = re.compile(rf"(?<!def )\b{callee}\(")
                if len(call.findall(text)) == len(call.findall(self.source.text)):
                    found.add(callee)
                    waiting.append(known[callee])
        return found

    # ------------------------------------------------------------- names

    @property
    def rebound(self) -> set[str]:
        """The globals that some function rebinds: None until then."""
        if self._rebound is None:
            found = _GLOBAL.findall(self.source.text)
            self._rebound = {name.strip() for names in found for name in names.split(",")}
        return self._rebound

    @property
    def globals(self) -> Environment:
        """What the module's names hold, so far if its body is being run: a branch of it has an
        environment of its own."""
        return self.env if self.frame is None else self.frame.env

    def lookup(self, name: str) -> Value | None:
        """A global, or a builtin by its own name."""
        value = read(self.globals, name)
        if value is None and self.globals is not self.env:
            value = read(self.env, name)
        if value is not None:
            return UNKNOWN if value is NONE and name in self.rebound else value
        if name in _BUILTINS:
            return External(f"builtins.{name}")
        return None

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
            value = unit.lookup(name) if name not in _BUILTINS else read(unit.env, name)
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
