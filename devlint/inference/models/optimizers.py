"""Optimizers and the modules whose parameters they hold: which is moved too late.

A module is known by the name it goes by in the function, and by the value that the name held when
the optimizer took its parameters: a name that was bound anew is another module.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import External
from devlint.inference.domain.placement import CPU, CUDA, Placement, Variable, VariableKind
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import GRAD, PARAMETER, Tensor
from devlint.inference.domain.value import UNKNOWN, Value, alternatives
from devlint.inference.facts import LateMove
from devlint.inference.models.devices import is_dtype, place_of
from devlint.inference.models.module_places import placed
from devlint.inference.program.control_dependences import ControlDependences
from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.units import REFUSED, Unit
from devlint.inference.program.values import ClassValue, Instance
from devlint.inference.syntax.control_dependence import are_alternatives
from devlint.inference.syntax.text import called_name, dotted, every, parts

_PARAMETERS = frozenset({"parameters", "named_parameters"})


_WRAPPERS = (cst.List, cst.Tuple, cst.Dict, cst.DictElement, cst.Element, cst.Arg)


_COMPREHENSIONS = (cst.ListComp, cst.GeneratorExp, cst.CompFor)


_BASE = "torch.optim."


_GROUPS = "groups of an optimizer"


class Built:
    """An optimizer that holds a module's parameters."""

    __slots__ = ("follows", "loaded", "module", "name", "node", "path")

    def __init__(
        self,
        node: cst.Call,
        path: str,
        module: Value | None,
        follows: bool = False,
        name: str = "",
    ) -> None:
        self.node = node
        self.path = path
        self.module = module
        self.loaded = False  # it was given a saved state
        self.name = name  # that it is bound to where it is built: `self.optimizer`
        self.follows = follows  # in each step its state goes to where the parameters are


class BuiltOptimizers:
    """The optimizers of a file, by the function that builds them."""

    def __init__(self, unit: Unit) -> None:
        self.by_function: dict[Function | None, list[Built]] = {}


def groups(frame: Frame, info: ClassInfo, name: str) -> Value | None:
    """`self.param_groups` of an optimizer: its parameters are where their module is."""
    if name != "param_groups" or not any(b.startswith(_BASE) for b in info.library_bases):
        return None
    held: Value | None = frame.unit.env.get(_GROUPS)
    if held is None:
        place = Variable("self.param_groups", VariableKind.MODULE)
        origin = Provenance(StepKind.REGISTERED, info.node.name, frame.unit.source)
        parameters = Sequence(None, Tensor(place, origin, PARAMETER | GRAD))
        held = Sequence(None, Mapping({"params": parameters}, UNKNOWN))
        frame.unit.env[_GROUPS] = held
    return held


def built(frame: Frame, node: cst.Call) -> None:
    """Remember a call that builds an optimizer on `module.parameters()`."""
    name = called_name(node)
    if not node.args or not holds("optimizer-name", name):
        return
    for argument in node.args[:2]:
        for path in _modules_in(argument.value) or _modules_of_name(frame, argument.value):
            follows = _places_its_state(frame, node)
            held = Built(node, path, _held(frame, path), follows, _bound_to(frame, node))
            frame.unit.kept(BuiltOptimizers).by_function.setdefault(frame.function, []).append(held)


def _bound_to(frame: Frame, node: cst.Call) -> str:
    statement = frame.current
    if isinstance(statement, cst.Assign) and statement.value is node:
        return dotted(statement.targets[0].target)
    return ""


def _places_its_state(frame: Frame, node: cst.Call) -> bool:
    """The optimizer's class, one of the project, says in `step`
    `state["average"] = state["average"].type_as(gradient)`; or it is one that was not read."""
    made = frame.eval(node.func)
    if type(made) is External:
        return made.name.startswith(REFUSED)
    step = made.info.method("step") if type(made) is ClassValue else None
    return step is not None and holds("state-follows", step.text)


def _modules_in(node: cst.CSTNode, depth: int = 6) -> list[str]:
    """`model` of each `model.parameters()` in an expression."""
    if depth == 0:
        return []
    if isinstance(node, cst.Call):
        if isinstance(node.func, cst.Attribute) and node.func.attr.value in _PARAMETERS:
            path = dotted(node.func.value)
            return [path] if path else []
        inner = [node.func.value] if isinstance(node.func, cst.Attribute) else []
        inner += [argument.value for argument in node.args]
        return [p for each in inner for p in _modules_in(each, depth - 1)]
    if isinstance(node, _WRAPPERS):
        return [p for child in node.children for p in _modules_in(child, depth - 1)]
    if isinstance(node, _COMPREHENSIONS):
        return _modules_in(node.iter if isinstance(node, cst.CompFor) else node.for_in, depth - 1)
    return []


def _modules_of_name(frame: Frame, node: cst.CSTNode) -> list[str]:
    """`model` of `parameters`, where the function says `parameters = model.parameters()`, or fills
    a list in a loop over these."""
    if not isinstance(node, cst.Name):
        return []
    found: list[str] = []
    function = frame.function
    waiting: list[cst.CSTNode] = [frame.unit.tree if function is None else function.node.body]
    while waiting:
        statement = waiting.pop()
        if isinstance(statement, cst.Assign):
            if any(dotted(target.target) == node.value for target in statement.targets):
                found += _modules_in(statement.value)
        elif isinstance(statement, cst.For):
            found += _modules_in(statement.iter) if _fills(statement.body, node.value) else []
        elif isinstance(statement, (cst.BaseStatement, cst.BaseSuite, cst.Module, cst.Else)):
            waiting += parts(statement)
    return found


def _fills(suite: cst.BaseSuite, name: str) -> bool:
    """`rows += [row]`, `rows.append(row)`."""
    if any(dotted(each.target) == name for each in every(suite, cst.AugAssign)):
        return True
    return any(dotted(call.func) == f"{name}.append" for call in every(suite, cst.Call))


def _same(before: Value | None, now: Value | None) -> bool:
    """A name holds what it held, or may hold it, or one of several that it may have held."""
    if before is None or now is None or before is now:
        return before is now
    held = alternatives(before)
    return any(value is each for value in alternatives(now) for each in held)


def _held(frame: Frame, path: str) -> Value | None:
    held = frame.state.env.get(path)
    if held is not None:
        return held
    if "." not in path:
        return frame.lookup(path)
    return None


def loaded(frame: Frame, node: cst.Call) -> None:
    """`optimizer.load_state_dict(…)`: the state goes to where the parameters are now."""
    assert isinstance(node.func, cst.Attribute)
    path = dotted(node.func.value)
    waiting = frame.unit.kept(BuiltOptimizers).by_function.get(frame.function, ())
    own = [held for held in waiting if path and held.name == path]
    for held in own or (waiting if holds("optimizer-name", path) else ()):
        held.loaded = not held.follows


def moved(frame: Frame, node: cst.Call, arguments: Arguments) -> None:
    """Note a module's move to an accelerator after an optimizer took its parameters."""
    waiting = frame.unit.kept(BuiltOptimizers).by_function.get(frame.function)
    if not waiting or not isinstance(node.func, cst.Attribute):
        return
    path = dotted(node.func.value)
    for held in waiting:
        if held.path != path or not _same(held.module, _held(frame, path)):
            continue
        target = target_of_move(frame, node, arguments)
        if target is None or target == CPU or _is_there(frame, held.module, target):
            continue
        if any(late.move.node is node for late in frame.unit.facts.late_moves):
            continue
        if frame.control.conditional and _is_built_instead(frame, held.node, node):
            continue
        frame.unit.facts.late_moves.append(
            LateMove(frame.site(held.node), frame.site(node), path, held.loaded)
        )


def _is_built_instead(frame: Frame, built: cst.Call, move: cst.Call) -> bool:
    """The optimizer is built in another branch than the one that moves the module."""
    around = frame.unit.kept(ControlDependences).of(frame.function)
    return are_alternatives(around.get(built, ()), around.get(move, ()))


def target_of_move(frame: Frame, node: cst.Call, arguments: Arguments) -> Placement:
    """Where a move brings its module, as far as that is known."""
    value = arguments.get(0, "device")
    if value is None:
        assert isinstance(node.func, cst.Attribute)
        return CUDA if node.func.attr.value == "cuda" else None
    if is_dtype(value):
        return None
    place = place_of(frame, value)
    if place is not None:
        return place
    given = dotted(arguments.node(0, "device") or node)
    return CUDA if holds("device-like-name", given) else None


def _is_there(frame: Frame, module: Value | None, target: Placement) -> bool:

    if type(module) is Instance:
        return placed(frame, module)[0] == target
    return type(module) is Tensor and module.place == target
