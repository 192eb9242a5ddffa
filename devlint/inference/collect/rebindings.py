"""`for t in ts: t = t.to(d)`: the loop's name is rebound, the container keeps the old tensors."""

from __future__ import annotations

import enum
from collections.abc import Iterator

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.tensors import LOADED, Tensor
from devlint.inference.facts import Rebinding
from devlint.inference.program.events import LoopLeft, MoveNote
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import dotted, shorten
from devlint.records import dataclass

_MOVES = frozenset({"to", "cuda", "cpu"})


_THROUGH = frozenset({"enumerate", "zip", "list", "tuple", "sorted", "reversed", "tqdm"})


_VIEWS = frozenset({"items", "values"})


class Fate(enum.Enum):
    """What the code does with a name next."""

    READ = enum.auto()
    REBOUND = enum.auto()
    NEITHER = enum.auto()


@dataclass(slots=True, eq=False)
class RebindingNote:
    """A rebinding, before it is known whether what it moves is a tensor."""

    frame: Frame
    node: cst.Assign
    variable: str
    iterated: cst.BaseExpression
    containers: list[str]
    tensors: list[Tensor]
    used_later: bool


class Rebindings:
    """The loop variables of a file that are rebound to their own move."""

    def __init__(self, unit: Unit) -> None:
        self.by_node: dict[cst.CSTNode, RebindingNote] = {}


def note(frame: Frame, event: LoopLeft) -> None:
    """Note the assignments of a loop's body that only rebind its own names to moved values."""
    loop = event.loop
    names = set(_names(loop.target))
    containers = list(_containers(loop.iter))
    if not names or not containers:
        return
    for assignment in _assignments(loop.body):
        moved = _moved(assignment, names)
        if not moved:
            continue
        tensors = _subjects(frame, set(moved.values()))
        if len(tensors) != len(moved) or any(tensor.traits & LOADED for tensor in tensors):
            continue  # a loader keeps nothing: it makes its batches anew
        if any(_fate(loop.body, name, assignment) is not Fate.NEITHER for name in moved):
            continue
        frame.unit.kept(Rebindings).by_node[assignment] = RebindingNote(
            frame,
            assignment,
            ", ".join(moved),
            loop.iter,
            containers,
            tensors,
            any(_used_after(frame, loop, container) for container in containers),
        )


def settle(unit: Unit) -> None:
    """Turn the file's notes into facts."""
    for found in unit.kept(Rebindings).by_node.values():
        telling = holds("tensor-name", " ".join([found.variable, *found.containers]))
        if telling or all(tensor.is_sure for tensor in found.tensors):
            unit.facts.rebindings.append(
                Rebinding(
                    found.frame.site(found.node),
                    found.variable,
                    shorten(found.iterated),
                    found.used_later,
                )
            )


def _names(target: cst.CSTNode) -> Iterator[str]:
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _names(element.value)


def _containers(node: cst.BaseExpression) -> Iterator[str]:
    """`batch` of `batch.items()`, `xs` and `ys` of `zip(xs, ys)`."""
    path = dotted(node)
    if path:
        yield path
    elif isinstance(node, cst.Call):
        if isinstance(node.func, cst.Attribute) and node.func.attr.value in _VIEWS:
            yield from _containers(node.func.value)
        elif dotted(node.func) in _THROUGH:
            for argument in node.args:
                if argument.keyword is None:
                    yield from _containers(argument.value)


def _assignments(suite: cst.BaseSuite) -> Iterator[cst.Assign]:
    """The plain assignments of a body, those under conditions among them."""
    for statement in suite.body:
        if isinstance(statement, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
            yield from (s for s in statement.body if isinstance(s, cst.Assign))
        elif isinstance(statement, cst.If):
            yield from _assignments(statement.body)
            if isinstance(statement.orelse, cst.Else):
                yield from _assignments(statement.orelse.body)


def _moved(assignment: cst.Assign, names: set[str]) -> dict[str, cst.Call]:
    """The names that an assignment rebinds to their own moved values, if it does nothing else."""
    if len(assignment.targets) != 1:
        return {}
    target, value = assignment.targets[0].target, assignment.value
    if isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple):
        pairs = [(t.value, v.value) for t, v in zip(target.elements, value.elements, strict=False)]
    else:
        pairs = [(target, value)]
    found: dict[str, cst.Call] = {}
    for left, right in pairs:
        if not isinstance(left, cst.Name) or left.value not in names:
            return {}
        if not isinstance(right, cst.Call) or _receiver(right) != left.value:
            return {}
        found[left.value] = right
    return found


def _receiver(call: cst.Call) -> str:
    """`t` of `t.detach().to(d)`, where the last method is a move."""
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value not in _MOVES:
        return ""
    node: cst.BaseExpression = call
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        node = node.func.value
    return node.value if isinstance(node, cst.Name) else ""


def _subjects(frame: Frame, calls: set[cst.Call]) -> list[Tensor]:
    found = {
        move.node: move.subject
        for move in frame.notes
        if type(move) is MoveNote and not move.of_module and move.node in calls
    }
    return list(found.values())


def _used_after(frame: Frame, loop: cst.For, path: str) -> bool:
    """The container is read when the loop is done: here, or by other methods of the object."""
    function = frame.function
    body = frame.unit.tree if function is None else function.node.body
    fate = _fate(body, path, loop)
    if fate is not Fate.NEITHER or function is None or function.info is None:
        return fate is Fate.READ
    if not path.startswith("self."):
        return False
    others = (m for m in function.info.methods.values() if m is not function)
    return any(_fate(m.node.body, path, None) is Fate.READ for m in others)


def _fate(root: cst.CSTNode, path: str, after: cst.CSTNode | None) -> Fate:
    """What code does with a name or path first, behind one of its nodes."""
    behind = after is None

    def visit(node: cst.CSTNode) -> Fate:
        nonlocal behind
        if node is after:
            behind = True
            return Fate.NEITHER
        if behind and isinstance(node, (cst.Name, cst.Attribute)) and dotted(node) == path:
            return Fate.READ
        if isinstance(node, cst.Assign):
            fate = visit(node.value)
            if fate is not Fate.NEITHER or not behind:
                return fate
            if any(dotted(target.target) == path for target in node.targets):
                return Fate.REBOUND
        parts = [node.value] if isinstance(node, cst.Attribute) else node.children
        if isinstance(node, cst.For):  # its iterable comes first
            parts = [node.iter, *node.children]
        for part in parts:
            fate = visit(part)
            if fate is not Fate.NEITHER:
                return fate
        return Fate.NEITHER

    return visit(root)
