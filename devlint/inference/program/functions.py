"""Functions: their signatures, parameters, callers and summaries, and the arguments of a call."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from devlint.inference.conventions import holds, may_hold
from devlint.inference.domain.placement import Placement, Variable
from devlint.inference.domain.provenance import Site
from devlint.inference.domain.value import Value
from devlint.inference.program.contracts import Signature
from devlint.inference.program.loops import LoopState
from devlint.inference.program.meetings import Pending
from devlint.inference.program.outcomes import MovedEntry
from devlint.inference.syntax.names import Names
from devlint.inference.syntax.text import code

if TYPE_CHECKING:
    from devlint.inference.program.classes import ClassInfo
    from devlint.inference.program.frames import Frame
    from devlint.inference.program.units import Unit
    from devlint.inference.program.values import Instance


class Arguments:
    """The arguments of one call, evaluated."""

    __slots__ = ("keywords", "open", "positional", "spread")

    def __init__(
        self,
        positional: list[tuple[Value, cst.CSTNode]],
        keywords: dict[str, tuple[Value, cst.CSTNode]],
        is_open: bool = False,
        spread: int | None = None,
    ) -> None:
        self.positional = positional
        self.keywords = keywords
        self.open = is_open  # `*args` or `**kwargs` of unknown content may give more
        self.spread = spread  # the position of the one `*args` of unknown length

    def fitted(self, required: int) -> list[tuple[Value, cst.CSTNode]]:
        """The positional arguments of a call that gives as many as there have to be: what stands
        behind `*xs` of unknown length comes last, `locations(*x.shape[-2:], stride)`."""
        missing = required - len(self.positional)
        if self.spread is None or missing <= 0:
            return self.positional
        before, rest = self.positional[: self.spread], self.positional[self.spread :]
        return [*before, *rest[:1] * missing, *rest]

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
    moved_entries: list[MovedEntry] = field(default_factory=list)  # of its arguments, in place


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
    trains: set[str] = field(default_factory=set)  # of "backward" and "step", outside of its loops
    # By what it returns: the factories that make all of it on the default device, if they do.
    makes: dict[cst.BaseExpression, tuple[cst.CSTNode, ...]] = field(default_factory=dict)

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
        may = type(self.node) is cst.Lambda or may_hold(convention, whole, name)
        return may and holds(convention, self.text, name)

    def contains(self, written: str) -> bool:
        """This stands in its source, which is written only where the file's has it."""
        return self.unit.contains(written) and written in self.text

    @cached_property
    def exports(self) -> bool:
        """The function exports a module, which is mostly done on the host."""
        return self.contains("onnx.export(")

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
class Parameter:
    """A parameter: its device variable, its value inside, its default for the caller."""

    name: str
    variable: Variable | None
    value: Value
    default: Value | None
    keyword_only: bool
    is_device: bool = False


class CallSite(NamedTuple):
    """One call of a function in its own file."""

    caller: Function | None
    node: cst.CSTNode
    loop: LoopState | None
    cold: bool
    without_gradients: bool = False  # under `torch.no_grad()`
