"""Lives of plain objects: where a module that one holds may be when a method begins.

The constructor runs first. From then on whoever has the object calls its public methods in any
order, and may move what it holds:

    class Voice:
        def __init__(self):
            self.net = nn.Linear(80, 256)

        def to(self, device):
            self.net.to(device)

        def wave(self, mel):
            return self.net(torch.tensor(mel))      # on the host, where `to` was called before

What a module is called with has to fit each of these places. Straight after the constructor the
module is where that left it: for a public method to find it there, no method that moves the module
may be meant to come first, by its name or since it trains the module. Nor may code in sight call
such a method, or move the module from outside. A class whose methods bring it home again, and one
that tests are written in, of which each has an object of its own, says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.domain.placement import (
    CUDA,
    Device,
    Placement,
    Variable,
    VariableKind,
    may_be_accelerator,
)
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.value import Value
from devlint.inference.models.devices import parse_device
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.module_inputs import check_inputs
from devlint.inference.models.module_places import stateful, was_placed
from devlint.inference.program.assumption_sites import at
from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments, Parameter
from devlint.inference.program.units import Unit
from devlint.inference.program.values import Instance
from devlint.inference.syntax.attribute_moves import is_mover
from devlint.inference.syntax.object_lives import (
    MethodLife,
    OutsideUses,
    life_of,
    place_given,
)
from devlint.inference.syntax.text import code, dotted, shorten

K = AssumptionKind

_TESTS = ("setUp", "setup_method", "setUpClass", "setup_class", "asyncSetUp")


class _Lives:
    """What the methods of the classes of one file do, each looked at once, and the code around."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.methods: dict[Function, MethodLife] = {}
        self.uses: OutsideUses | None = None
        self.places: dict[cst.Call, Placement] = {}
        self.attributes: dict[tuple[ClassInfo, str], _Life] = {}

    def of(self, function: Function) -> MethodLife:
        """What a method does with its object."""
        life = self.methods.get(function)
        if life is None:
            life = self.methods[function] = life_of(function.node)
        return life

    def of_attribute(self, info: ClassInfo, name: str) -> _Life:
        """What becomes of an attribute."""
        life = self.attributes.get((info, name))
        if life is None:
            life = self.attributes[info, name] = _Life(info, name)
        return life

    @property
    def outside(self) -> OutsideUses:
        """What the code of the file does to objects that it makes."""
        if self.uses is None:
            self.uses = OutsideUses(self.unit.tree)
        return self.uses


def is_moved_outside(info: ClassInfo, node: cst.CSTNode) -> bool:
    """Code of the file that makes an object of the class moves what this holds under the attribute
    that is assigned here."""
    return next(_moves_outside(info, dotted(node).removeprefix("self.")), None) is not None


def _moves_outside(info: ClassInfo, name: str) -> Iterator[cst.Call]:
    unit = info.unit
    if name and any(unit.contains(f".{name}.{move}(") for move in ("to", "cuda", "xpu", "npu")):
        yield from unit.kept(_Lives).outside.moves(info.name, name)


def check_held(frame: Frame, node: cst.Call, module: Instance, arguments: Arguments) -> None:
    """`self.net(x)`: the input fits wherever the module may be when the method begins."""
    path = dotted(node.func).removesuffix(".forward")
    info, left = frame.info, module.left
    if info is None or left is None or frame.function is None or frame.unit.is_test:
        return
    name = path.removeprefix("self.")
    if "." in name or name == path or was_placed(frame, module) or not stateful(frame, module):
        return
    if any(info.method(each) is not None for each in _TESTS):
        return
    life = info.unit.kept(_Lives).of_attribute(info, name)
    if life.is_brought_home or life.reaches(frame.function, life.movers):
        return
    given = _wanted(frame, module, arguments)
    for call, method in life.moves():
        place = _place_of(info, call)
        step = Provenance(StepKind.MOVED, call, info.unit.source, left.origin, "moved here")
        who = f"`{method}` moves" if method else "the code around moves"
        message = f"{who} `self.{name}` before this method is called"
        known = [(v, n) for v, n in given if all(type(t.place) is Device for t in tensors_in(v))]
        taken = (at(frame, K.MODULE_IS_MOVED, call, message),)
        check_inputs(frame, node, node.func, place, step, Arguments(known, {}), taken=taken)
        break
    if life.may_be_fresh(frame.function):
        moved = [(v, n) for v, n in given if all(_is_chosen(t.place) for t in tensors_in(v))]
        message = f"`{frame.function.name}` is called before `{min(life.movers)}`"
        taken = (at(frame, K.OBJECT_IS_AS_SEEN, node, message),)
        where = Arguments(moved, {})
        check_inputs(frame, node, node.func, left.place, left.origin, where, taken=taken)


class _Life:
    """What becomes of one attribute of the objects of a class."""

    def __init__(self, info: ClassInfo, name: str) -> None:
        self.info, self.name = info, name
        self.known = info.unit.kept(_Lives)
        self.methods = {m: info.method(m) for each in info.lineage() for m in each.methods}
        anew = {method for each in info.lineage() for method in each.moved.get(name, ())}
        moving = {method: life.moves[name] for method, life in self._lives() if name in life.moves}
        self.movers = frozenset((moving.keys() | anew) - {"__init__"})
        # What a method assigns anew the attribute holds beside what the constructor left.
        self.in_place = {m: call for m, call in moving.items() if m in self.movers - anew}
        self.reached: dict[str, frozenset[str]] = {}
        self.is_brought_home = any(name in life.brings_home for _, life in self._lives())

    def _lives(self) -> Iterator[tuple[str, MethodLife]]:
        for method, function in self.methods.items():
            if function is not None:
                yield method, self.known.of(function)

    def moves(self) -> Iterator[tuple[cst.Call, str]]:
        """What moves the module in place, each with the method that does, or from outside."""
        for method, call in self.in_place.items():
            yield call, method
        for call in _moves_outside(self.info, self.name):
            yield call, ""

    def reaches(self, function: Function, targets: frozenset[str]) -> bool:
        """A method is one of these, or comes to one by calls of its object's methods."""
        return not targets.isdisjoint(self._reached(function.name))

    def _reached(self, method: str) -> frozenset[str]:
        """The methods that a method comes to, itself among them."""
        known = self.reached.get(method)
        if known is not None:
            return known
        found = {method}
        waiting = [method]
        while waiting:
            function = self.methods.get(waiting.pop())
            names = self.known.of(function).names if function is not None else frozenset()
            new = (names & self.methods.keys()) - found
            found |= new
            waiting += new
        self.reached[method] = frozenset(found)
        return self.reached[method]

    def may_be_fresh(self, reader: Function) -> bool:
        """A method may find the module where the constructor left it: it is public, or some public
        method comes to it; none that moves the module is meant to be called first; and nobody else
        moves it."""
        info = self.info
        if not self.movers or self.movers & self._reached("__init__"):
            return False
        if any(True for _ in _moves_outside(info, self.name)) or self._is_named_elsewhere():
            return False
        outside = self.known.outside
        if info.name in outside.bases or any(
            True for mover in self.movers for _ in outside.calls(info.name, mover)
        ):
            return False
        if not all(self._is_one_of_many(mover) for mover in self.movers):
            return False
        if any(reader.name in self._reached(mover) for mover in self.movers):
            return False
        begun = {m for m in self.methods if not m.startswith("_") or m == "__call__"}
        reached = (self._reached(m) for m in sorted(begun - self.movers))
        return any(reader.name in found and not found & self.movers for found in reached)

    def _is_named_elsewhere(self) -> bool:
        """Other files of the project make such an object, and may call what moves the module."""
        importer, path = self.info.unit.context.importer, self.info.unit.source.path
        if importer is None or not importer.is_named_elsewhere(self.info.name, path):
            return False
        return any(importer.is_named_elsewhere(each, path) for each in self.movers)

    def _is_one_of_many(self, mover: str) -> bool:
        """A method moves the module and uses it in one go: none that prepares the object, or gives
        it what it has to have learned."""
        function = self.methods.get(mover)
        if function is None or is_mover(mover) or self.name not in self.known.of(function).called:
            return False
        return not holds("training-text", code(function.node))


def _is_chosen(place: Placement) -> bool:
    """On an accelerator, or where somebody chose by a device."""
    if type(place) is Variable:
        return place.kind is VariableKind.DEVICE
    return may_be_accelerator(place)


def _place_of(info: ClassInfo, call: cst.Call) -> Placement:
    """Where a move brings its module, as far as that is written."""
    lives = info.unit.kept(_Lives)
    found = lives.places.get(call)
    if found is None:
        found = lives.places[call] = _target(call)
    return found


def _target(call: cst.Call) -> Placement:
    given = place_given(call)
    func = call.func
    if isinstance(func, cst.Attribute) and func.attr.value != "to":
        return CUDA if func.attr.value == "cuda" else Device(func.attr.value)
    node = given
    if isinstance(node, cst.Call) and len(node.args) == 1:
        node = node.args[0].value
    device = parse_device(node.raw_value) if isinstance(node, cst.SimpleString) else None
    name = shorten(given) if given is not None else "device"
    return device if device is not None else Variable(name, VariableKind.DEVICE)


def _wanted(
    frame: Frame, module: Instance, arguments: Arguments
) -> list[tuple[Value, cst.CSTNode]]:
    """The inputs that a module brings together with what it has."""
    if module.info is None:
        known = frame.unit.context.knowledge.module(module.library) if module.library else None
        is_known = known is not None or module.items is not None
        return arguments.all() if is_known else []
    forward = module.info.method("forward")
    summary = frame.interpreter.summarize(forward) if forward is not None else None
    if summary is None:
        return []
    own = {each.variable for each in module.info.lineage()}
    met = {
        place
        for pending in summary.pendings
        if own & {pending.left.place, pending.right.place}
        for place in (pending.left.place, pending.right.place)
    }
    found = [
        (arguments.get(index, each.name), arguments.node(index, each.name))
        for index, each in enumerate(summary.parameters[1:])
        if _is_met(each, met)
    ]
    return [(value, node) for value, node in found if value is not None and node is not None]


def _is_met(parameter: Parameter, places: set[Placement]) -> bool:
    return parameter.variable is not None and parameter.variable in places
