"""Classes: their attributes through all methods, their bases, and the device variable of `self`.

Attributes are inferred on demand: reading `self.mask` in `forward` first infers the methods that
assign it. Inside an `nn.Module` all registered parameters, buffers and submodules live at one
rigid variable, δ(self): whoever writes the class does not choose it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import libcst as cst

from devlint.findings import Confidence
from devlint.inference import contracts, feeding
from devlint.inference.attribute_moves import is_mover
from devlint.inference.conditions import parse_device
from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import Const, DeviceValue, External
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import ALWAYS, Predicate
from devlint.inference.domain.placement import CPU, Device, Placement, Variable
from devlint.inference.domain.provenance import Provenance, Site, StepKind
from devlint.inference.domain.tensors import (
    DEFAULT,
    EMPTY,
    GRAD,
    KEPT,
    LOADED,
    MAYBE_SCALAR,
    NON_LEAF,
    PARAMETER,
    RECORDED,
    SCALAR,
    Tensor,
)
from devlint.inference.domain.value import (
    UNKNOWN,
    Union,
    Value,
    alternatives,
    choose,
    is_untold,
    join_branches,
    under,
    union,
)
from devlint.inference.facts import MeetingKind, PlainAttribute
from devlint.inference.feeds import Given
from devlint.inference.frame import Flag, Frame
from devlint.inference.nonleaves import use_non_leaf
from devlint.inference.telling import operand
from devlint.inference.text import code, dotted, names_in, parts
from devlint.inference.values import ClassValue, Instance

if TYPE_CHECKING:
    from devlint.inference.functions import Function
    from devlint.inference.unit import Unit

MAX_BASES = 12
_OF_MODULES = frozenset({"to", "cuda", "xpu", "npu"})  # the moves of a module as a whole
_TELLS_OF_PARTS = ("parameters", "named_parameters", "modules", "named_modules", "state_dict")
_SAYS_HOW = ("_apply", "to", "cuda")  # by one of these a class says how it is moved
_ASIDE = re.compile(r"\bsuper\([^()]*\)|#[^\n]*")  # and what comments say
_OWN_CALL = re.compile(r"\bself\.(\w+)\(")
_GOES_OVER_ALL = re.compile(r"__dict__|[(,=]\s*self\s*[,)]")  # `vars(self)`, `getattr(self, name)`
IN_TURN = ": setattr"  # behind the name of a method that moves attributes in a loop


# A test whether a tensor has elements.
_ASKED = (
    r"(\blen\({0}\)|{0}\.(numel|nelement)\(\)|{0}\.(size\(0\)|shape\[0\])) *(==|!=|>|<) *[01]\b"
    r"|\b(if|not|and|or) (len\({0}\)|{0}\.(numel|nelement)\(\)) *(:|and|or|else)"
)


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
    together: dict[frozenset[cst.BaseSuite], Predicate] = field(default_factory=dict)
    used: dict[str, Site] = field(default_factory=dict)
    self_value: Instance = field(init=False)
    reading: set[str] = field(default_factory=set)
    cache: dict[str, Value] = field(default_factory=dict)
    declared: dict[str, contracts.Declared] = field(default_factory=dict)  # attributes' contracts
    handed: list[tuple[str, str, str]] = field(default_factory=list)  # `self.helper("name")`
    moved: dict[str, set[str]] = field(default_factory=dict)  # attributes, by which methods
    constructed: set[cst.CSTNode] = field(default_factory=set)  # assignments in the constructor
    remade: set[str] = field(default_factory=set)  # attributes that others put on the host
    movers: dict[str, frozenset[str]] = field(default_factory=dict)  # by attribute, once asked for
    places_itself: bool = False  # its constructor moves parts of it
    stands_on: Placement = None  # where its own method moved it as a whole
    running: list[Frame] = field(default_factory=list)  # its methods that are being inferred
    written: str = ""  # `text`, once asked for

    def __post_init__(self) -> None:
        self.self_value = Instance(self, "", self.is_module, self.variable)

    @property
    def text(self) -> str:
        """Its source."""
        if not self.written:
            self.written = code(self.node)
        return self.written

    # ------------------------------------------------------------- lineage

    def lineage(self) -> list[ClassInfo]:
        """The class and its bases of the project, nearest first."""
        found: list[ClassInfo] = [self]
        for info in found:
            if len(found) > MAX_BASES:
                break
            for base in info.bases:
                if type(base) is ClassValue and base.info not in found:
                    found.append(base.info)
        return found

    def method(self, name: str) -> Function | None:
        """A method, inherited ones included."""
        for info in self.lineage():
            found = info.methods.get(name)
            if found is not None:
                return found
        return None

    def declared_fields(self) -> list[str]:
        """The annotated names of the class body, in the order of a dataclass's constructor."""
        found: dict[str, None] = {}
        for info in reversed(self.lineage()):
            for statement in info.node.body.body:
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
            for info in self.lineage()
            for base in info.bases
        )

    def moves_along(self, name: str) -> bool:
        """The class says itself how it is moved, and may move a plain attribute by that: the
        method names it, calls another that does, or hands its object on."""
        found = [m for m in map(self.method, _SAYS_HOW) if m is not None]
        for method in found:  # grows on the way
            text = _ASIDE.sub("", code(method.node.body))
            if re.search(rf"\b{name}\b", text) or _GOES_OVER_ALL.search(text):
                return True
            called = [self.method(each) for each in _OWN_CALL.findall(text)]
            if None in called:
                return True  # a method out of sight
            found += [m for m in called if m is not None and m not in found]
        return False

    # ------------------------------------------------------------- attributes

    def attribute(self, name: str) -> Value | None:
        """What `self.name` holds, by all methods that assign it; None when nothing says."""
        declared = contracts.of_class(self, name)
        if declared is not None:
            return contracts.attribute(self, declared, self._assigned(name))
        return self._assigned(name)

    def _assigned(self, name: str) -> Value | None:
        held = self._assigned_inside(name)
        if (
            held is not None
            and _is_device(held)
            and _is_assigned_outside(self.unit.source.text, name)
        ):
            return DeviceValue(None)  # the constructor's is what it starts with
        return held

    @property
    def keeps_to_host(self) -> bool:
        """An object, no module, that notes the host as its device, whoever makes it."""
        own = [v for info in self.lineage() for _, v in info.assigned.get("device", ())]
        return (
            not self.is_module
            and bool(own)
            and all(holds("host-device", code(value)) for value in own)
            and not _is_assigned_outside(self.unit.source.text, "device")
        )

    def _assigned_inside(self, name: str) -> Value | None:
        if name in self.reading:
            held_so_far = self.attributes.get(name)
            return None if held_so_far is None else self._where_read(name, held_so_far)
        self.reading.add(name)
        try:
            from devlint.inference.functions import summarize

            found: Value | None = None
            for info in self.lineage():
                for method in info.writers.get(name, ()):
                    function = info.methods.get(method)
                    if (
                        function is not None
                        and function.summary is None
                        and not info._is_being_made(method)
                    ):
                        summarize(function)
                held = info.attributes.get(name)
                if held is None:
                    held = info._written_so_far(name)
                if held is None:
                    held = info.members.get(name)
                if held is not None:
                    found = held if found is None else join_branches(found, held)
                    if info is self:
                        break
            return None if found is None else self._where_read(name, found)
        finally:
            self.reading.discard(name)

    def _is_being_made(self, reader: str) -> bool:
        """Its constructor runs: what other methods leave is not there yet."""
        return reader != "__init__" and any(
            frame.function is not None and frame.function.name == "__init__"
            for frame in self.running
        )

    def _where_read(self, name: str, found: Value) -> Value:
        """What an attribute holds by the time that others read what the constructor left."""
        if not self._is_moved_later(name):
            return found
        return union(self._once_moved(v) for v in alternatives(found))

    def _is_moved_later(self, name: str) -> bool:
        """Some other method than the one that reads the attribute moves it."""
        if any(name in info.remade for info in self.lineage()):
            return False
        movers = {method for info in self.lineage() for method in info.moved.get(name, ())}
        reader = self.running[-1].function if self.running else None
        return bool(movers) and (reader is None or reader.name not in movers)

    def on_demand(self, frame: Frame, name: str, found: Value, node: cst.Attribute) -> Value:
        """What an attribute holds that a method of the object moves, if somebody calls it: it may
        be in either place, where the code around `node` does not call that method. Of a module
        these are the parts that do not follow it then."""
        movers = self._movers(name)
        function = frame.function
        if not movers or (function is not None and function.name in movers):
            return found
        around = frame.unit.source.text if function is None else function.text
        called = rf"(\b{re.escape(code(node.value))}|\))\.({'|'.join(sorted(movers))})\("
        if re.search(called, around):
            return found
        return union(
            _somewhere(v) if not self.is_module or self._follows(v) else v
            for v in alternatives(found)
        )

    def _follows(self, value: Value) -> bool:
        """A parameter, buffer or submodule."""
        return isinstance(value, (Tensor, Instance)) and value.place is self.variable

    def _movers(self, name: str) -> frozenset[str]:
        """The methods that move an attribute by itself, and that no other method calls."""
        found = self.movers.get(name)
        if found is None:
            moved = [m for info in self.lineage() for m in info.moved.get(name, ())]
            movers = {m.removesuffix(IN_TURN) for m in moved}
            if self.is_module:
                movers -= _OF_MODULES
            found = frozenset(m for m in movers if is_mover(m) and not self._calls(m))
            self.movers[name] = found
        return found

    def _calls(self, method: str) -> bool:
        called = re.compile(rf"\bself\.{method}\(")
        return any(called.search(info.text) for info in self.lineage())

    def _is_anew(self, value: Value) -> bool:
        """On the host, and not computed of what the constructor left there."""
        if type(value) is not Tensor or value.place != CPU:
            return False
        steps = value.origin.chain() if value.origin is not None else ()
        return not any(step.node in self.constructed for step in steps)

    def _once_moved(self, value: Value) -> Value:
        """What the constructor left on the host, when it has been moved: somewhere."""
        if type(value) is Mapping or type(value) is Sequence:
            return UNKNOWN
        if not isinstance(value, (Tensor, Instance)):
            return value
        step = value.origin
        if value.place != CPU or step is None or not self._constructs(step):
            return value
        if isinstance(value, Tensor):
            traits = value.traits & (SCALAR | GRAD)
            return Tensor(None, step, traits, value.evidence)
        from devlint.inference.modules import replaced

        return replaced(value, None, step, value.parent)

    def _constructs(self, step: Provenance) -> bool:
        return step.kind is StepKind.ATTRIBUTE and any(
            step.node in info.constructed for info in self.lineage()
        )

    def _written_so_far(self, name: str) -> Value | None:
        """What a method that is still being inferred, and called the one that reads, has
        registered under a name: the constructor calls `self.reset()`, which reads `self.weight`."""
        for frame in self.running:
            written = frame.env.get(f"self.{name}")
            if written is None:
                continue
            found: list[Value] = []
            for value in alternatives(written):
                if type(value) is Instance and value.module:
                    found.append(self.submodule(value))
                elif type(value) is Tensor and value.traits & PARAMETER:
                    made = value.origin.node if value.origin is not None else self.node
                    found.append(self.registered_tensor(frame, made, value.traits))
                elif type(value) is not Const:
                    return None
            if found:
                return union(found)
        return None

    def held_where(self, name: str, found: Value, flags: list[Flag]) -> Value:
        """What `self.name` holds where conditions came out as they did when it was assigned."""
        written = self.branches.get(name, ())
        opposite = {(path, not outcome) for path, outcome in flags}
        fitting = [each.value for each in written if not each.flags & opposite]
        return union(fitting) if fitting and len(fitting) < len(written) else found

    def told_apart(self, name: str, found: Value) -> Value:
        """The alternatives of an attribute, each with the fact which suite left it there: where
        others are always assigned beside it, what one suite left never meets another's."""
        if type(found) is not Union or found is not self.attributes.get(name):
            return found
        suites = self._sets(name)
        if len(suites) < 2 or not any(self._sets(n) == suites for n in self.assigned if n != name):
            return found
        choice = self.together.setdefault(suites, Predicate())
        by_source: dict[cst.CSTNode, cst.BaseSuite] = {v: suite for suite, v in self.assigned[name]}
        left = []
        for each in self.branches.get(name, ()):
            suite = by_source.get(each.source)
            when = ((choice, True, suite),) if suite in suites else ALWAYS
            left.append((under(each.value, when), when))
        return choose(left)

    def _stands_in(self, name: str, value: Tensor, source: cst.CSTNode) -> bool:
        """An attribute begins with nothing, and is given its content later: a tensor without
        elements where the class asks for that, or one of memory that nobody has written to."""
        if value.traits & EMPTY:
            return self._awaits(name)
        is_unwritten = isinstance(source, cst.Call) and dotted(source.func) == "torch.empty"
        return is_unwritten and len(self._sets(name)) > 1

    def _awaits(self, name: str) -> bool:
        """The class gives an attribute its content later, and asks whether that has been: of the
        attribute itself, or of one that always gets its own with it."""
        suites = self._sets(name)
        if len(suites) < 2:
            return False
        names = "|".join(n for n in self.assigned if n == name or self._sets(n) == suites)
        return bool(re.search(_ASKED.format(rf"self\.({names})\b"), self.text))

    def _sets(self, name: str) -> frozenset[cst.BaseSuite]:
        """The suites that give an attribute a value of its own, not computed of the one before."""
        found = self.sets.get(name)
        if found is None:
            own = re.compile(rf"\bself\.{name}\b")
            assigned = self.assigned.get(name, ())
            found = frozenset(suite for suite, value in assigned if not own.search(code(value)))
            self.sets[name] = found
        return found

    def unknown_attribute(self, name: str) -> Value:
        """An attribute of a module that nothing in sight assigns: perhaps a tensor of its own."""
        if any(name in info.writers for info in self.lineage()):
            return UNKNOWN  # by a method that is being inferred
        held = self.cache.get(name)
        if held is None:
            held = Tensor(self.variable, None, 0, Evidence()) if self.is_module else UNKNOWN
            self.cache[name] = held
        return held

    def write(
        self, frame: Frame, name: str, value: Value, node: cst.CSTNode, source: cst.CSTNode
    ) -> None:
        """`self.name = value` in one of the methods: what survives counts when it is done."""
        if type(value) is Tensor:
            value = under(value, frame.when)
        frame.writes.append((name, value, node, source, frozenset(frame.branches)))

    def write_data(
        self,
        frame: Frame,
        holder: Tensor,
        value: Value,
        node: cst.Attribute,
        source: cst.CSTNode,
    ) -> None:
        """`self.weight.data = value`: the parameter lives where the value does."""
        owner = node.value
        if frame.constructing or not (isinstance(owner, cst.Attribute) and self.is_module):
            return
        name = owner.attr.value
        if holder.traits & PARAMETER and type(value) is Tensor and value.traits & DEFAULT:
            self._note(
                name + ".data",
                AttributeNote(node, source, name, value, False, _method(frame), "parameter"),
            )

    def settle_writes(self, frame: Frame) -> None:
        """What a method leaves in the attributes that it assigns."""
        for name, value, node, source, flags in frame.writes:
            left = [env[f"self.{name}"] for env in frame.exits if f"self.{name}" in env]
            if left and not any(_survives(value, final) for final in left):
                continue
            kept = self._write(frame, name, value, node, source)
            self.branches.setdefault(name, []).append(Written(kept, flags, source))

    def _write(
        self, frame: Frame, name: str, value: Value, node: cst.CSTNode, source: cst.CSTNode
    ) -> Value:
        from devlint.inference.modules import baked

        value = baked(frame, value)
        declared = contracts.of_class(self, name)
        if declared is not None:
            value = contracts.hold(frame, node, f"`self.{name}`", value, source, declared)
            old = self.attributes.get(name)
            self.attributes[name] = value if old is None else join_branches(old, value)
            return value
        if _method(frame) == "__init__" or frame.constructing:
            self.constructed.add(node)
        elif any(self._is_anew(v) for v in alternatives(value)):
            self.remade.add(name)
        values = alternatives(value)
        if any(type(v) is Instance and v.module for v in values):
            # A module, or several, by a setting: which of them it is here is not in sight.
            values = tuple(UNKNOWN if _holds_modules(v) else v for v in values)
        kept = union(self._kept(frame, name, v, node, source) for v in values)
        held = self.attributes.get(name)
        self.attributes[name] = kept if held is None else join_branches(held, kept)
        return kept

    def _kept(
        self, frame: Frame, name: str, value: Value, node: cst.CSTNode, source: cst.CSTNode
    ) -> Value:
        if type(value) is Tensor and self._stands_in(name, value, source):
            return Tensor(None, value.origin)  # it has its content where it is used
        if not self.is_module:
            return self._kept_by_object(frame, value, node)
        if type(value) is Tensor:
            return self._kept_tensor(frame, name, value, node, source)
        if type(value) is Instance and value.module:
            self.registered.setdefault(name, "module")
            self._note_place(value.place)
            return self.submodule(value)
        if isinstance(value, (Sequence, Mapping)) and frame.function is not None:
            inner = value.any()
            hidden = type(value) is Sequence and value.kind == "cache"
            modules = _modules_in(inner)
            own = [m for m in modules if hidden or _is_own(frame, m)]
            if (
                modules
                and not hidden
                and (_registers_by_name(self) or _is_handed_on(self, name, source))
            ):
                return UNKNOWN  # they move by names of their own
            if own and type(inner) is not Tensor:
                stand_in = Tensor(CPU, frame.origin(StepKind.CREATED, source), 0)
                for module in own:
                    module.place = None  # nobody moves it: that is said once, here
                self._note(
                    name, AttributeNote(node, source, name, stand_in, True, _method(frame), "")
                )
            elif any(_is_registered(frame, module) for module in modules):
                return UNKNOWN  # they move by names of their own
            elif not own:
                return self._kept_container(frame, name, value, node, source)
        return value

    def _kept_container(
        self, frame: Frame, name: str, value: Value, node: cst.CSTNode, source: cst.CSTNode
    ) -> Value:
        """A list or dict of tensors: nothing in it moves with the module."""
        if type(value) is not Sequence:
            return value
        parts = value.items if value.items is not None else [value.any()]
        found = [
            v
            for v in parts
            if type(v) is Tensor
            and v.evidence is None
            and v.traits & DEFAULT
            and not v.traits & PARAMETER
        ]
        if not found or len(found) < len(parts):
            return value
        if all(_is_placeholder(v) for v in found) and _refilled(self, name):
            return Sequence(None, Tensor(None), value.kind)
        if self.moves_along(name):
            inner = self.registered_tensor(frame, node, 0)
            return Sequence(None, inner, value.kind)
        self._note(name, AttributeNote(node, source, name, found[0], False, _method(frame), ""))
        origin = frame.origin(
            StepKind.ATTRIBUTE, node, found[0].origin, "kept here as a plain attribute"
        )
        kept: list[Value] = [Tensor(v.place, origin, v.traits | KEPT) for v in found]
        if value.items is None:
            return Sequence(None, kept[0], value.kind)
        return Sequence(kept, None, value.kind)

    def _moves_attribute(self, node: cst.CSTNode) -> bool:
        """Some method of the class moves the module that it keeps there."""
        path = re.escape(dotted(node))
        return bool(path) and bool(re.search(rf"\b{path}\.(to|cuda|xpu|npu)\(", self.text))

    def _kept_by_object(self, frame: Frame, value: Value, node: cst.CSTNode) -> Value:
        if type(value) is Instance and value.module and type(value.place) is Device:
            from devlint.inference.modules import replaced

            if self.has_base_out_of_sight:
                return replaced(value, None, None, value.parent)  # it may be what moves them
            if value.place == CPU and self._moves_attribute(node):
                return replaced(value, None, value.origin, value.parent)
            step = frame.origin(StepKind.ATTRIBUTE, node, value.origin, "kept here")
            return replaced(value, value.place, step, value.parent)
        if isinstance(value, (Sequence, Mapping)) and _modules_in(value.any()):
            return self._kept_modules(frame, value, node)
        if type(value) is Tensor and type(value.place) is not Variable:
            place = value.place
            if value.traits & PARAMETER and self.has_base_out_of_sight:
                place = None  # a module after all: it moves with the object
            return Tensor(
                place,
                frame.origin(StepKind.ATTRIBUTE, node, value.origin, "kept here"),
                value.traits,
                value.evidence,
            )
        return value

    def _kept_modules(
        self, frame: Frame, value: Sequence | Mapping, node: cst.CSTNode
    ) -> Sequence | Mapping:
        """A list or dict of modules that an object keeps: each as if it kept that alone."""

        def kept(part: Value) -> Value:
            return union(
                self._kept_by_object(frame, v, node) if type(v) is Instance and v.module else v
                for v in alternatives(part)
            )

        element = None if value.element is None else kept(value.element)
        if isinstance(value, Mapping):
            return Mapping({k: kept(v) for k, v in value.entries.items()}, element)
        items = None if value.items is None else [kept(v) for v in value.items]
        return Sequence(items, element, value.kind, value.node, value.names)

    def _kept_tensor(
        self, frame: Frame, name: str, value: Tensor, node: cst.CSTNode, source: cst.CSTNode
    ) -> Value:
        if value.traits & NON_LEAF:
            use_non_leaf(frame, value, "attribute", node)
        if (
            value.traits & PARAMETER
            and value.origin is not None
            and (
                value.origin.kind is StepKind.CREATED
                or (value.origin.kind is StepKind.REGISTERED and value.traits & GRAD)
            )
        ):
            self.registered[name] = "parameter"
            self._note_place(value.place)
            if value.place is None and not value.traits & DEFAULT:
                self.places_itself = True  # of what the constructor was given, which is somewhere
            return self.registered_tensor(frame, node, value.traits)
        if value.evidence is not None and not value.evidence.is_tensor:
            return value
        if _is_copy(frame, value) and value.place in {i.variable for i in self.lineage()}:
            # Made before anybody could move the module, it stays where the module was built.
            value = value.with_place(CPU, value.origin, add=DEFAULT)
        self._note_place(value.place)
        if value.place is None or type(value.place) is Variable:
            return value
        if self.moves_along(name):  # by an `_apply` or `to` of its own, or one that it inherits
            return self.registered_tensor(frame, node, value.traits)
        overwrites = self.registered.get(name, "")
        if overwrites == "module":
            overwrites = ""
        if overwrites == "buffer" or overwrites == "parameter":
            if (
                not frame.constructing
                and not frame.runs_in_constructor
                and value.traits & DEFAULT
                and not value.traits & SCALAR
                and not (value.traits & MAYBE_SCALAR and self._is_scalar(name))
                and not _packs_on_host(frame)
            ):
                self._note(
                    name + "*",
                    AttributeNote(node, source, name, value, False, _method(frame), overwrites),
                )
            if overwrites == "buffer":
                return self.registered_tensor(frame, node, value.traits)
        if not value.traits & LOADED:
            given = feeding.by_default(frame) if value.traits & DEFAULT else None
            self._note(
                name,
                AttributeNote(node, source, name, value, False, _method(frame), overwrites, given),
            )
        origin = frame.origin(
            StepKind.ATTRIBUTE, node, value.origin, "kept here as a plain attribute"
        )
        return Tensor(value.place, origin, value.traits | KEPT, value.evidence)

    def _is_scalar(self, name: str) -> bool:
        """What was registered by this name is 0-dim: a flag, a counter."""
        held = self.attributes.get(name, UNKNOWN)
        return any(type(v) is Tensor and v.traits & SCALAR for v in alternatives(held))

    def registered_tensor(self, frame: Frame, node: cst.CSTNode, traits: int) -> Tensor:
        """A parameter or buffer: it lives where the module lives."""
        origin = frame.origin(StepKind.REGISTERED, node)
        kept = GRAD | SCALAR if frame.unit.freezes else GRAD | SCALAR | RECORDED
        return Tensor(self.variable, origin, (traits & kept) | PARAMETER)

    def register(self, frame: Frame, name: str, kind: str, value: Value, node: cst.CSTNode) -> None:
        """`register_buffer`, `register_parameter`, `add_module`."""
        self.registered[name] = kind
        self.notes.pop(name, None)
        if type(value) is Const and value.value is None:
            held: Value = value
        elif kind == "module":
            held = self.submodule(value) if type(value) is Instance else value
        else:
            traits = GRAD if kind == "parameter" else 0
            if type(value) is Tensor:
                traits |= value.traits & SCALAR
            if not (type(value) is Tensor and value.traits & DEFAULT):
                self.places_itself = True
            held = self.registered_tensor(frame, node, traits)
        old = self.attributes.get(name)
        self.attributes[name] = held if old is None else join_branches(old, held)
        self.branches.setdefault(name, []).append(Written(held, frozenset(frame.branches), node))

    def _note_place(self, place: Placement) -> None:
        """A part that is elsewhere than on the default device: the class places itself. Of a part
        without state nothing is known, and nothing needs to be."""
        if place is not None and place != CPU and place is not self.variable:
            self.places_itself = True

    def submodule(self, value: Instance) -> Instance:
        """A module kept as an attribute: it follows `self`."""
        fixed = type(value.place) is Device and value.place.index is not None
        kept = Instance(
            value.info,
            value.library,
            True,
            value.place if fixed else self.variable,
            value.origin,
            None,
            value.items,
            value.name,
        )
        kept.fields = value.fields
        return kept

    def _note(self, name: str, note: AttributeNote) -> None:
        self.notes.setdefault(name, note)

    def settle(self, frame: Frame) -> None:
        """Turn what methods keep into facts, once all methods are inferred."""
        self._note_filled_lists(frame)
        for note in self.notes.values():
            overwritten = note.overwrites != ""
            if not overwritten and self.registered.get(note.name) == "buffer":
                continue
            if note.of_modules and _registers_by_name(self):
                continue
            held = operand(frame, note.tensor, note.source_node)
            self.unit.facts.plain_attributes.append(
                PlainAttribute(
                    site=frame.site(note.node),
                    class_name=self.name,
                    attribute=note.name,
                    operand=held,
                    of_modules=note.of_modules,
                    overwrites=note.overwrites,
                    used_at=self._meeting_of(note),
                    excused=self.moves_along(note.name)
                    or self._moved_elsewhere(note.name)
                    or (note.of_modules and self._looks_after(note.name))
                    or (held.placement is not None and held.placement == self.stands_on)
                    or _by_switch(self.unit, note.tensor)
                    or self.unit.exports_on_host
                    or (self.unit.is_test and not note.of_modules),
                    method=note.method,
                    given=note.given,
                )
            )

    def _note_filled_lists(self, frame: Frame) -> None:
        """Modules appended to a plain list that an attribute holds."""
        if not self.is_module:
            return
        for name, held in self.attributes.items():
            for value in alternatives(held):
                if type(value) is not Sequence or value.node is None or name in self.notes:
                    continue
                if _is_handed_on(self, name, value.node):
                    continue
                if any(_is_own(frame, m) for m in _modules_in(value.any())):
                    stand_in = Tensor(CPU, frame.origin(StepKind.CREATED, value.node), 0)
                    self._note(
                        name,
                        AttributeNote(value.node, value.node, name, stand_in, True, "__init__", ""),
                    )

    def _meeting_of(self, note: AttributeNote) -> Site | None:
        """Where the attribute met a value on another device."""
        for meeting in self.unit.facts.meetings:
            if meeting.confidence is Confidence.POSSIBLE and (
                note.tensor.traits & MAYBE_SCALAR or meeting.kind is MeetingKind.RETURN
            ):
                continue  # a 0-dim one meets every device; one that is only returned meets none
            for step in meeting.left.steps:
                if step.site.node is note.node:
                    return meeting.site
        return None

    def _looks_after(self, name: str) -> bool:
        """The class tells of the modules in a container itself, in its own `named_parameters` or
        `state_dict`; or moves what it takes out: `self.layers[i].to(x.device)`."""
        telling = [m for m in map(self.method, _TELLS_OF_PARTS) if m is not None]
        return any(re.search(rf"\b{name}\b", m.text) for m in telling) or bool(
            re.search(rf"\bself\.{name}\[[^\]\n]*\](\.\w+)*\.(to|cuda)\(", self.text)
        )

    def _moved_elsewhere(self, name: str) -> bool:
        """Some method reads the attribute only to move it, or puts a moved one in its place."""
        held = self.attributes.get(name)
        for value in alternatives(held if held is not None else UNKNOWN):
            if type(value) is Tensor and (
                (type(value.place) is Variable and not value.traits & PARAMETER)
                or (value.origin is not None and (value.origin.kind is StepKind.MOVED))
            ):
                return True
        return any(move.subject.name == f"self.{name}" for move in self.unit.facts.moves)


def _packs_on_host(frame: Frame) -> bool:
    """A method that hands tensors to NumPy as they are, and takes arrays back: the module is on the
    host while it runs, or the first of them raises."""
    text = frame.function.text if frame.function is not None else ""
    return "from_numpy(" in text and holds("numpy-without-cpu", text)


def _by_switch(unit: Unit, tensor: Tensor) -> bool:
    """A function of the project put it on the current accelerator, behind a switch: the same that
    moves the modules."""
    for step in tensor.origin.chain() if tensor.origin is not None else ():
        made_in = unit.context.units.get(step.source.path)
        noted = made_in.mentions.notes.get(step.node) if made_in is not None else None
        if noted is not None:
            is_helper = noted.function is not None and noted.function.info is None
            return is_helper and noted.guarded and noted.index is None
    return False


@lru_cache(maxsize=16)  # of the files at hand; asked at each read of such an attribute
def _is_assigned_outside(text: str, name: str) -> bool:
    """Somebody in a file gives an object that is no configuration such an attribute."""
    found = re.findall(rf"([\w)\]]+)\.{name} *=(?!=)", text)
    return any(owner != "self" and not holds("configuration-owner", owner) for owner in found)


def _is_device(value: Value) -> bool:
    """One device that is written down: `torch.device("cpu")`, `"cpu"`."""
    if type(value) is DeviceValue:
        return type(value.place) is Device
    return type(value) is Const and isinstance(value.value, str) and bool(parse_device(value.value))


def _somewhere(value: Value) -> Value:
    """A value that is moved or not, as others chose."""
    if type(value) is Tensor:
        return Tensor(None, value.origin, value.traits & (SCALAR | GRAD), value.evidence)
    if type(value) is Mapping or type(value) is Sequence:
        return UNKNOWN
    if type(value) is Instance and value.module:
        from devlint.inference.modules import replaced

        return replaced(value, None, value.origin, value.parent)
    return value


def _is_placeholder(tensor: Tensor) -> bool:
    """One element or none, by its factory's only argument: `torch.zeros(1)`."""
    made = tensor.origin.root.node if tensor.origin is not None else None
    if not isinstance(made, cst.Call) or len(made.args) != 1:
        return False
    size = made.args[0].value
    return isinstance(size, cst.Integer) and size.value in ("0", "1")


def _refilled(info: ClassInfo, name: str) -> bool:
    """The class puts other elements into a list, or hands it to somebody who may."""
    held = re.escape(f"self.{name}")
    return bool(re.search(rf"{held}\[[^\n]*\] *=[^=]|[(=,] *{held} *[,)]", info.text))


def _is_registered(frame: Frame, module: Instance) -> bool:
    """`self.last = last` beside `self.layers = [last]`, or in a `ModuleDict` of the same object."""
    return any(
        value is module
        or (
            type(value) is Instance
            and value.items is not None
            and module in _modules_in(value.items.any())
        )
        for key, held in frame.env.items()
        if isinstance(key, str) and key.startswith("self.")
        for value in alternatives(held)
    )


def _holds_modules(value: Value) -> bool:
    return isinstance(value, (Sequence, Mapping)) and bool(_modules_in(value.any()))


def _is_own(frame: Frame, module: Instance) -> bool:
    """A module with state that only the container holds: not handed in, not registered besides."""
    if module.origin is not None and module.origin.kind is StepKind.PARAMETER:
        return False
    if _is_registered(frame, module):
        return False
    if type(module.place) is Variable or module.parent is not None:
        return False
    made = module.origin.node if module.origin is not None else None
    if isinstance(made, cst.Call) and any(
        dotted(a.keyword) == "device" for a in made.args if a.keyword
    ):
        return False  # it was told where to be
    return has_state(frame, module)


# Bases without a parameter of their own.
_EMPTY_BASES = frozenset(
    f"torch.nn.{name}" for name in ("Module", "Sequential", "ModuleList", "ModuleDict")
)


def has_state(frame: Frame, module: Instance, depth: int = 4) -> bool:
    """Whether a module has parameters or buffers, as far as is known."""
    if module.items is not None and module.items.items is not None:
        return any(
            has_state(frame, v, depth - 1) if type(v) is Instance else True
            for v in module.items.items
        )
    if module.info is not None:
        if module.info.library_bases and not all(
            b.startswith("torch.nn.") for b in module.info.library_bases
        ):
            return True
        for base in module.info.library_bases:  # `class Block(nn.Conv2d)`
            known = frame.unit.context.knowledge.module(base)
            if known is not None and known.stateful == "always" and base not in _EMPTY_BASES:
                return True
        for info in module.info.lineage():
            for name, kind in info.registered.items():
                held = info.attributes.get(name)
                if kind != "module" or type(held) is not Instance:
                    return True
                if depth and has_state(frame, held, depth - 1):
                    return True
        return False
    if module.library:
        known = frame.unit.context.knowledge.module(module.library)
        if known is not None and known.stateful == "weight":
            return bool(module.name)  # a loss that was given one
        return known is None or known.stateful != "never"
    return True


def _modules_in(value: Value, depth: int = 2) -> list[Instance]:
    """The modules in a container, nested ones too."""
    found: list[Instance] = []
    for alternative in alternatives(value):
        if type(alternative) is Instance and alternative.module:
            found.append(alternative)
        elif type(alternative) is Sequence and depth:
            for item in alternative.items or [alternative.any()]:
                found += _modules_in(item, depth - 1)
    return found


def _survives(value: Value, final: Value) -> bool:
    """Whether what was assigned may still be there at the end."""
    if final is value:
        return True
    if type(value) is Sequence:
        return any(type(v) is Sequence for v in alternatives(final))
    if type(value) is Mapping:
        # one that was put together from others holds their entries
        return any(
            type(v) is Mapping and value.entries.keys() <= v.entries.keys()
            for v in alternatives(final)
        )
    if type(value) is Tensor:
        found = [v.origin for v in alternatives(final) if type(v) is Tensor]
        return any(o is value.origin or (o and o.is_same(value.origin)) for o in found)
    return True


def _is_copy(frame: Frame, value: Tensor) -> bool:
    """What a constructor computes from a parameter or buffer is a tensor of its own."""
    if frame.function is None or frame.function.name != "__init__" or value.origin is None:
        return False
    return value.origin.kind is StepKind.COMPUTED and value.origin.root.kind is StepKind.REGISTERED


def _method(frame: Frame) -> str:
    return frame.function.name if frame.function is not None else ""


def _registers_by_name(info: ClassInfo) -> bool:
    """The class registers modules under computed names besides."""
    text = info.text
    return "add_module(" in text or "register_module(" in text or "setattr(self" in text


def _is_handed_on(info: ClassInfo, name: str, source: cst.CSTNode) -> bool:
    """The class hands the container that it keeps there to a constructor, which may register what
    is in it: `self.layers = nn.ModuleList(self.layer_list)`."""
    held = {f"self.{name}"} | ({source.value} if isinstance(source, cst.Name) else set())
    held |= _filled_alike(info, held)
    inside: list[cst.CSTNode] = [info.node.body]
    for node in inside:  # grows on the way
        if (
            isinstance(node, cst.Call)
            and _is_constructor(dotted(node.func))
            and any(held & set(names_in(arg.value)) for arg in node.args)
        ):
            return True
        inside += parts(node)
    return False


def _filled_alike(info: ClassInfo, held: set[str]) -> set[str]:
    """Other lists that get whatever is in one of these: `for x in xs: ys.append(x)`, or
    `xs.append(x)` beside `ys.append(x)`."""
    found: set[str] = set()
    inside: list[cst.CSTNode] = [info.node.body]
    for node in inside:  # grows on the way
        inside += parts(node)
        if not isinstance(node, (cst.For, cst.FunctionDef)):
            continue
        appended = list(_appended(node.body))
        elements = {element for filled, element in appended if filled in held}
        if isinstance(node, cst.For) and held & set(names_in(node.iter)):
            elements |= set(names_in(node.target))
        found |= {filled for filled, element in appended if element in elements}
    return found


def _appended(suite: cst.BaseSuite) -> Iterator[tuple[str, str]]:
    """`("xs", "x")` for each `xs.append(x)` that stands in the suite itself."""
    for line in suite.body:
        for statement in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            call = statement.value if isinstance(statement, cst.Expr) else None
            if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
                continue
            element = call.args[0].value if call.args else None
            if call.func.attr.value == "append" and isinstance(element, cst.Name):
                yield dotted(call.func.value), element.value


def _is_constructor(callee: str) -> bool:
    return callee.rpartition(".")[2].lstrip("_")[:1].isupper()
