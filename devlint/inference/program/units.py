"""Units, the files being inferred, and the context that all of them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import libcst as cst

from devlint.contracts import is_contract_comment
from devlint.inference.domain.placement import CPU, Placement, Variable
from devlint.inference.facts import DroppedArgument, Facts, MistakenDevice
from devlint.inference.program.file_text import FileText
from devlint.inference.program.loops import Environment
from devlint.inference.program.predicates import Test
from devlint.inference.program.sources import Importer, Parsed
from devlint.knowledge import Knowledge

CONTRACTS = "devlint.contracts"  # known by itself, in devlint's own project, too

# The root of names that the project has, and whose file was not loaded: nothing is known of them.
REFUSED = "<refused>"


STATEMENT_BUDGET = 60_000


T = TypeVar("T")


class Context:
    """One run: what is shared by all files."""

    def __init__(
        self, knowledge: Knowledge, importer: Importer | None, run: Callable[[Unit], None]
    ) -> None:
        self.knowledge = knowledge
        self.importer = importer
        self._run = run  # walks the body of a file, once
        self.units: dict[str, Unit] = {}
        self.depth = 0
        self.none_handled: set[Variable] = set()  # device parameters that may be None
        self.budget = STATEMENT_BUDGET
        self.interrupt: Callable[[], None] | None = None  # told at each statement; may raise
        self._kept: dict[Any, Any] = {}

    def kept(self, kind: Callable[[], T]) -> T:
        """The notes of one kind that are kept of this run, made when they are first asked for."""
        notes: T | None = self._kept.get(kind)
        if notes is None:
            notes = self._kept[kind] = kind()
        return notes

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
        self._run(unit)
        return unit


class Unit(FileText):
    """One file: its globals, the facts about it, and what is noted of it on the way."""

    def __init__(self, context: Context, parsed: Parsed) -> None:
        super().__init__(parsed, context.importer)
        self.context = context
        self.env: Environment = {}
        self.facts = Facts(parsed)
        self.default_device: Placement = None
        self.dropped: dict[cst.CSTNode, DroppedArgument] = {}
        self.mistaken: dict[cst.CSTNode, MistakenDevice] = {}
        # The names that such a call's result is bound to, each with its function.
        self.dropped_into: dict[cst.CSTNode, list[tuple[cst.CSTNode, str]]] = {}
        # Those whose callee chooses an accelerator itself where it is told no device.
        self.dropped_choosing: set[cst.CSTNode] = set()
        self._kept: dict[Any, Any] = {}
        self.tests: dict[cst.CSTNode, Test] = {}  # what each condition says, once it was asked
        self.moved_calls: set[cst.CSTNode] = set()  # calls whose result is moved at once
        self._finished = False
        self.moved_objects: set[str] = set()  # things of unknown type, moved in place
        self.has_contract_comments = is_contract_comment(parsed.text)
        self.contract_comments: set[cst.Comment] = set()  # those that were read
        self.unread_contracts: dict[cst.CSTNode, str] = {}
        # The files that it takes all names from; None for one that was not loaded.
        self.stars: list[Unit | None] = []
        self.has_star_out_of_sight = False  # it takes all names from what the project has not

    def kept(self, kind: Callable[[Unit], T]) -> T:
        """The notes of one kind that are kept of this file, made when they are first asked for."""
        notes: T | None = self._kept.get(kind)
        if notes is None:
            notes = self._kept[kind] = kind(self)
        return notes

    @property
    def default_place(self) -> Placement:
        """Where a factory without `device=` makes its tensor; None if others chose that."""
        if self.default_device is not None and not self.set_up_chooses_default:
            return self.default_device
        return None if self.default_is_set_elsewhere else CPU
