"""Classes: their bases, methods and attributes, and what is written to these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from devlint.inference.call_contexts import Given
from devlint.inference.conventions import holds, may_hold
from devlint.inference.domain.host import External
from devlint.inference.domain.path_conditions import Predicate
from devlint.inference.domain.placement import Placement, Variable
from devlint.inference.domain.provenance import Site
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, is_untold
from devlint.inference.program.contracts import Declared
from devlint.inference.program.loops import Flag
from devlint.inference.program.values import ClassValue, Instance
from devlint.inference.syntax.filled_lists import FilledLists
from devlint.inference.syntax.text import code

if TYPE_CHECKING:
    from devlint.inference.program.frames import Frame
    from devlint.inference.program.functions import Function
    from devlint.inference.program.units import Unit


MAX_BASES = 12


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
        fields = (f for i in reversed(self.lineage()) for f in i.own_fields())
        return list(dict.fromkeys(name for name, _ in fields))

    def own_fields(self) -> Iterator[tuple[str, cst.AnnAssign]]:
        """The annotated names of the class's own body that a generated constructor takes: not
        those with `field(init=False)`."""
        for line in self.node.body.body:
            for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
                if not isinstance(small, cst.AnnAssign) or _is_made_inside(small.value):
                    continue
                if isinstance(small.target, cst.Name):
                    yield small.target.value, small

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


def _is_made_inside(default: cst.BaseExpression | None) -> bool:
    """`field(init=False)`: the constructor does not take it."""
    return isinstance(default, cst.Call) and any(
        argument.keyword is not None
        and argument.keyword.value == "init"
        and isinstance(argument.value, cst.Name)
        and argument.value.value == "False"
        for argument in default.args
    )
