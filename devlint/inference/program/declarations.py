"""Declarations: the functions and classes of a file, and what is known of them.

A class has methods, and a method has a class, which is why they stand in one module. The values
that refer to them are in `values`, and the frames that they run in are in `frames`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import cached_property

import libcst as cst

from devlint.inference.conventions import holds, may_hold
from devlint.inference.domain.host import External
from devlint.inference.domain.path_conditions import Predicate
from devlint.inference.domain.placement import Placement, Variable
from devlint.inference.domain.provenance import Site
from devlint.inference.domain.value import Value, is_untold
from devlint.inference.program.attribute_notes import AttributeNote, Written
from devlint.inference.program.contracts import Declared, Signature
from devlint.inference.program.functions import Arguments, Parameter, Summary
from devlint.inference.program.loops import LoopState
from devlint.inference.program.units import Unit
from devlint.inference.syntax.control_dependence import unconditional
from devlint.inference.syntax.filled_lists import FilledLists
from devlint.inference.syntax.names import Names
from devlint.inference.syntax.text import code, dotted, every
from devlint.inference.syntax.trials import is_trial
from devlint.records import NamedTuple, dataclass

MAX_BASES = 12


@dataclass(eq=False)
class Function:
    """A function of the project, inferred when it is first called or when its file is done."""

    node: cst.FunctionDef | cst.Lambda
    unit: Unit
    around: Function | None = None  # that it is defined in
    info: ClassInfo | None = None
    guarded: bool = False  # it is defined where a condition on availability or on a device holds
    defaults: dict[str, Value] = field(default_factory=dict)
    decorators: tuple[str, ...] = ()
    summary: Summary | None = None
    running: bool = False
    name: str = "<lambda>"
    registers: tuple[str, str] | None = None  # `register_buffer`, by the name in this parameter
    moves_object: bool = False  # on some way it moves its module, or a part of that
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
        around = self.around
        if around is None or self.decorators or not isinstance(self.node, cst.FunctionDef):
            return False
        uses, calls = around.outermost.names.counts(around.node, self.name)
        return uses - 1 == calls  # the one is its definition

    @cached_property
    def outermost(self) -> Function:
        """The function that holds it and is held by no other."""
        return self if self.around is None else self.around.outermost

    @cached_property
    def unconditional(self) -> frozenset[cst.CSTNode]:
        """What of it every call of it comes to."""
        return unconditional(self.node.body)

    @cached_property
    def names(self) -> Names:
        """Where it uses each name."""
        return Names(self.node)

    @cached_property
    def calls(self) -> tuple[str, ...]:
        """What its body calls, by dotted names; "" for what has none."""
        return tuple(dotted(call.func) for call in every(self.node.body, cst.Call))

    @cached_property
    def callees(self) -> frozenset[str]:
        """The last names of what it calls, in its decorators and defaults, too."""
        called = (dotted(call.func) for call in every(self.node, cst.Call))
        return frozenset(name.rpartition(".")[2] for name in called)

    @cached_property
    def text(self) -> str:
        """Its source."""
        return code(self.node)

    def says(self, convention: str, name: str = "") -> bool:
        """A convention holds of its source, which is written only where the file's may have it."""
        whole = self.unit.source.text
        may = type(self.node) is cst.Lambda or may_hold(convention, whole, name)
        return may and holds(convention, self.text, name)

    @cached_property
    def docstring(self) -> str:
        """What it says of itself."""
        node = self.node
        return (node.get_docstring() or "") if isinstance(node, cst.FunctionDef) else ""

    def contains(self, written: str) -> bool:
        """This stands in its source, which is written only where the file's has it."""
        return self.unit.contains(written) and written in self.text

    @cached_property
    def exports(self) -> bool:
        """The function exports a module, which is mostly done on the host, or is for that alone."""
        return self.contains("onnx.export(") or holds("export-function", self.name)

    @cached_property
    def is_trial(self) -> bool:
        """The method looks at nothing but the shape of what its own module gives."""
        return self.info is not None and self.info.is_module and is_trial(self.node)

    @cached_property
    def key(self) -> str:
        """What tells it from all others of the project."""
        around = f"{self.unit.source.path}::" if self.around is None else f"{self.around.key}."
        of_class = f"{self.info.name}." if self.info is not None else ""
        return f"{around}{of_class}{self.name}"

    @cached_property
    def positional(self) -> list[str]:
        """The parameters that a call gives by position, without the object of a method."""
        params = self.node.params
        names = [p.name.value for p in (*params.posonly_params, *params.params)]
        return names[1:] if self.info is not None and not self.is_static else names

    def takes(self, arguments: Arguments) -> bool:
        """Python lets a call with these arguments in: each has a parameter, and each parameter
        without a default has an argument."""
        params = self.node.params
        count, names = len(arguments.positional), arguments.keywords.keys()
        if arguments.open:
            return True
        if count > len(self.positional) and not isinstance(params.star_arg, cst.Param):
            return False
        keyword_only = {p.name.value: p.default is None for p in params.kwonly_params}
        known = {*self.positional, *keyword_only}
        if params.star_kwarg is None and not names <= known:
            return False
        listed = {p.name.value: p.default is None for p in (*params.posonly_params, *params.params)}
        needed = [n for n in self.positional[count:] if listed[n]]
        needed += [n for n, is_needed in keyword_only.items() if is_needed]
        return all(name in names for name in needed)

    @cached_property
    def is_abstract(self) -> bool:
        """A method whose body only stands for those of subclasses: it is declared so, or does
        nothing but say that it is to be overridden."""
        if self.info is None or not isinstance(self.node, cst.FunctionDef):
            return False
        if any(d.rpartition(".")[2].startswith("abstract") for d in self.decorators):
            return True
        lines = [line for line in self.node.body.body if not _is_docstring(line)]
        if len(lines) != 1 or isinstance(lines[0], cst.BaseCompoundStatement):
            return not lines
        return holds("abstract-body", code(lines[0]))

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


class CallSite(NamedTuple):
    """One call of a function in its own file."""

    caller: Function | None
    node: cst.CSTNode
    loop: LoopState | None
    cold: bool
    without_gradients: bool = False  # under `torch.no_grad()`


@dataclass(slots=True, eq=False)
class ClassInfo:
    """A class of the project."""

    name: str
    node: cst.ClassDef
    unit: Unit
    bases: list[ClassInfo | Value]  # of the project, and others
    is_module: bool
    variable: Variable
    mixed_in: bool = False  # a plain class, and a module only where modules inherit it
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
    suites: list[tuple[str, cst.BaseSuite]] = field(default_factory=list)  # of `assigned`, once
    sets: dict[str, frozenset[cst.BaseSuite]] = field(default_factory=dict)  # once asked for
    alike: dict[frozenset[cst.BaseSuite], list[str]] = field(default_factory=dict)  # from `sets`
    together: dict[frozenset[cst.BaseSuite], Predicate] = field(default_factory=dict)
    states: dict[str, Predicate] = field(default_factory=dict)  # which value an attribute has
    # Where what an assignment left is computed with.
    used: dict[cst.CSTNode, Site] = field(default_factory=dict)
    reading: set[str] = field(default_factory=set)
    cache: dict[str, Value] = field(default_factory=dict)
    declared: dict[str, Declared] = field(default_factory=dict)  # attributes' contracts
    handed: list[tuple[str, str, str]] = field(default_factory=list)  # `self.helper("name")`
    moved: dict[str, set[str]] = field(default_factory=dict)  # attributes, by which methods
    constructed: set[cst.CSTNode] = field(default_factory=set)  # assignments in the constructor
    remade: set[str] = field(default_factory=set)  # attributes that others put on the host
    movers: dict[str, frozenset[str]] = field(default_factory=dict)  # by attribute, once asked for
    rebound: dict[str, bool] = field(default_factory=dict)  # from outside, once asked for
    places_itself: bool = False  # its constructor moves parts of it
    makers: list[CallSite] = field(default_factory=list)  # in its own file, if it is a module
    stands_on: Placement = None  # where its own method moved it as a whole
    # Its constructor's `self.to(device)`: where to, and the attributes that are assigned later.
    moved_whole: tuple[Placement, frozenset[str]] | None = None
    parts: dict[str, Placement] = field(default_factory=dict)  # with state, by their attributes
    stateless: set[str] = field(default_factory=set)  # attributes that hold modules without any
    # By the parameters that were given no state: its modules hold some.
    stateful: set[tuple[str, ...]] = field(default_factory=set)
    written: str = ""  # `text`, once asked for
    filled: FilledLists | None = None  # `lists`, once asked for
    declared_tensors: dict[str, Value] | None = None  # the fields of a dataclass, once asked for
    handed_in: frozenset[str] | None = None  # the fields a constructor takes, once asked for

    def note_part(self, name: str, place: Placement) -> None:
        """Where an attribute's module or parameter is made; None once there are two places."""
        self.parts[name] = place if self.parts.get(name, place) == place else None

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

    def contains(self, written: str) -> bool:
        """This stands in its source, which is written only where the file's has it."""
        return self.unit.contains(written) and written in self.text

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
                if type(base) is ClassInfo and base not in found:
                    found.append(base)
        return found

    def registration(self, name: str) -> str:
        """As what a name is registered, by this class or by one that it inherits from."""
        found = (each.registered[name] for each in self.lineage() if name in each.registered)
        of_library = any(name in _BUFFERS.get(base, ()) for base in self.library_bases)
        return next(found, "buffer" if of_library else "")

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
        outside = (b for i in self.lineage() for b in i.bases if type(b) is not ClassInfo)
        return any(
            is_untold(base) or (type(base) is External and not holds("deviceless-base", base.name))
            for base in outside
            if isinstance(base, Value)
        )


# What classes of torch register themselves (torch/nn/modules/loss.py): who assigns it anew puts
# another tensor into the buffer.
_BUFFERS = {
    "torch.nn.modules.loss._WeightedLoss": ("weight",),
    "torch.nn.CrossEntropyLoss": ("weight",),
    "torch.nn.NLLLoss": ("weight",),
    "torch.nn.BCELoss": ("weight",),
    "torch.nn.BCEWithLogitsLoss": ("weight", "pos_weight"),
    "torch.nn.MultiMarginLoss": ("weight",),
    "torch.nn.MultiLabelSoftMarginLoss": ("weight",),
}


def _is_made_inside(default: cst.BaseExpression | None) -> bool:
    """`field(init=False)`: the constructor does not take it."""
    return isinstance(default, cst.Call) and any(
        argument.keyword is not None
        and argument.keyword.value == "init"
        and isinstance(argument.value, cst.Name)
        and argument.value.value == "False"
        for argument in default.args
    )


class Declarations:
    """All that a file declares, wherever that stands in it."""

    def __init__(self, unit: Unit) -> None:
        self.functions: list[Function] = []
        self.classes: list[ClassInfo] = []


def functions_of(unit: Unit) -> list[Function]:
    """The functions of a file that were declared so far: those in others once these are walked."""
    return unit.kept(Declarations).functions


def classes_of(unit: Unit) -> list[ClassInfo]:
    """The classes of a file."""
    return unit.kept(Declarations).classes


class Owners:
    """The functions of a run by the variables of their parameters' devices."""

    def __init__(self) -> None:
        self.functions: dict[Variable, Function] = {}
