"""Lives of objects: which methods of a class call which others, what they move in place of what
the object holds, and what code outside of the class does to an object that it makes.

    class Voice:
        def __init__(self):
            self.net = Net()

        def to(self, device):
            self.net.to(device)        # moves `net`

    voice = Voice()
    voice.net.cuda()                   # moves `net` of a `Voice` from outside
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.syntax.constructions import made_by
from devlint.inference.syntax.text import code, dotted, parts
from devlint.records import dataclass

_ACCELERATING = frozenset({"cuda", "xpu", "npu"})


def place_given(call: cst.Call) -> cst.BaseExpression | None:
    """What a move names as its target: `device` of `net.to(device)`, `net.to(device=device)`."""
    for argument in call.args:
        if argument.keyword is None or argument.keyword.value == "device":
            return argument.value
    return None


def leaves_host(call: cst.Call) -> bool:
    """`net.cuda()`, `net.to(device)`: neither to the host, nor to another dtype."""
    func = call.func
    if not isinstance(func, cst.Attribute):
        return False
    if func.attr.value in _ACCELERATING:
        return True
    given = place_given(call) if func.attr.value == "to" else None
    return given is not None and not names_host(given) and holds("to-device-text", code(call))


def names_host(node: cst.BaseExpression) -> bool:
    """`"cpu"`, `torch.device("cpu")`."""
    if isinstance(node, cst.Call) and len(node.args) == 1:
        node = node.args[0].value
    return isinstance(node, cst.SimpleString) and node.raw_value == "cpu"


def _goes_home(call: cst.Call) -> bool:
    """`net.cpu()`, `net.to("cpu")`."""
    func = call.func
    if not isinstance(func, cst.Attribute):
        return False
    given = place_given(call)
    to_host = func.attr.value == "to" and given is not None and names_host(given)
    return to_host or func.attr.value == "cpu"


@dataclass(frozen=True, slots=True, eq=False)
class MethodLife:
    """What one method does with its object."""

    names: frozenset[str]  # of the attributes and methods that it mentions
    called: frozenset[str]  # those that it calls: `self.net(x)`, `self.run()`
    moves: Mapping[str, cst.Call]  # by attribute, what brings it to a device in place
    brings_home: frozenset[str]  # attributes that it moves to the host


def life_of(method: cst.CSTNode) -> MethodLife:
    """What a method, or a function in it, does with `self`."""
    names: set[str] = set()
    called: set[str] = set()
    moves: dict[str, cst.Call] = {}
    home: set[str] = set()
    waiting: list[cst.CSTNode] = [method]
    while waiting:
        node = waiting.pop()
        if isinstance(node, cst.Attribute) and dotted(node.value) == "self":
            names.add(node.attr.value)
        elif isinstance(node, cst.Call):
            name = _own(node.func)
            if name:
                called.add(name)
            held = _own(node.func.value) if isinstance(node.func, cst.Attribute) else ""
            if held and leaves_host(node):
                moves.setdefault(held, node)
            elif held and _goes_home(node):
                home.add(held)
        waiting += parts(node)
    return MethodLife(frozenset(names), frozenset(called), moves, frozenset(home))


def _own(node: cst.CSTNode) -> str:
    """`net` of `self.net`, and of `self.net.forward`."""
    owner, _, name = dotted(node).removesuffix(".forward").partition(".")
    return name if owner == "self" and "." not in name else ""


_Scope = cst.FunctionDef | cst.ClassDef | None  # None: the file's own statements


class OutsideUses:
    """What the code of a file does to the objects that it makes under a name of its own.

    Names are those of one function, or of the file; `self.voice` is one for all of a class."""

    def __init__(self, tree: cst.Module) -> None:
        self.bases: set[str] = set()  # the names of which classes inherit
        self._made: dict[tuple[_Scope, str], set[str]] = {}
        self._moves: dict[str, list[tuple[cst.Call, str, _Scope]]] = {}  # by the attribute
        self._calls: dict[str, list[tuple[cst.Call, str, _Scope]]] = {}  # by what is called
        for node, function, around in _scoped(tree):
            if isinstance(node, cst.ClassDef):
                self.bases.update(dotted(base.value) for base in node.bases)
            elif isinstance(node, cst.Assign):
                for target in node.targets:
                    path = dotted(target.target)
                    if path:
                        scope = _scope_of(path, function, around)
                        self._made.setdefault((scope, path), set()).add(made_by(node.value))
            elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
                path = dotted(node.func.value)
                if path and path != "self":
                    called = node, path, _scope_of(path, function, around)
                    self._calls.setdefault(node.func.attr.value, []).append(called)
                    if leaves_host(node):
                        owner, _, held = path.rpartition(".")
                        self._moves.setdefault(held, []).append((node, owner, called[2]))

    def moves(self, name: str, attribute: str) -> Iterator[cst.Call]:
        """The moves of this attribute of an object of the class of this name."""
        for call, owner, scope in self._moves.get(attribute, ()):
            if self._is_made(owner, scope, name):
                yield call

    def calls(self, name: str, method: str) -> Iterator[cst.Call]:
        """The calls of this method of an object of the class of this name."""
        for call, path, scope in self._calls.get(method, ()):
            if self._is_made(path, scope, name):
                yield call

    def _is_made(self, path: str, scope: _Scope, name: str) -> bool:
        made = self._made.get((scope, path)) or self._made.get((None, path), set())
        return made == {name}


def _scope_of(path: str, function: cst.FunctionDef | None, around: cst.ClassDef | None) -> _Scope:
    return around if path.startswith("self.") and around is not None else function


def _scoped(
    tree: cst.Module,
) -> Iterator[tuple[cst.CSTNode, cst.FunctionDef | None, cst.ClassDef | None]]:
    """All nodes, each with the innermost function and class that it is in."""
    waiting: list[tuple[cst.CSTNode, cst.FunctionDef | None, cst.ClassDef | None]] = [
        (tree, None, None)
    ]
    while waiting:
        node, function, around = waiting.pop()
        yield node, function, around
        inner = node if isinstance(node, cst.FunctionDef) else function
        within = node if isinstance(node, cst.ClassDef) else around
        waiting += [(part, inner, within) for part in parts(node)]
