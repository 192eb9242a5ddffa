"""Where an accelerator is known to be there, or nothing runs without one.

Code asks and leaves where there is none: a function, for what follows in it and for what only it
calls; a constructor, for the methods of its objects; a set-up, for its file. And what works with
streams, with kernels of CUDA's or with NCCL is for CUDA alone.
"""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.placement import Device
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value
from devlint.inference.program.control_dependences import ControlDependences, branches_around
from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.events import Asserted, Branched, FunctionCalled
from devlint.inference.program.frames import Frame, interpreter_of
from devlint.inference.program.functions import Arguments
from devlint.inference.program.units import Unit
from devlint.inference.syntax.control_dependence import Branches, is_passed
from devlint.inference.syntax.endings import fails, leaves
from devlint.inference.syntax.text import code, dotted, last_statement
from devlint.inference.syntax.words import asks_for_accelerator, words

CALLERS = 3  # from call to caller, in search of one that asks


STREAMS = ("wait_stream", "record_stream")


# By function: the conditions around what is there, each once.
Places = dict[Function | None, dict[Branches, None]]


class Demands:
    """What one file's walk found."""

    def __init__(self, unit: Unit) -> None:
        self.asked: Places = {}  # they leave where there is none
        self.uses: Places = {}  # of what is for CUDA alone
        self.collectives: Places = {}  # on tensors of a card
        self.required: set[Function | None] = set()  # they fail without CUDA, in any case
        self.choose: set[Function | None] = set()  # they choose a card, in any case
        self.classes: dict[ClassInfo, cst.CSTNode] = {}  # objects that only CUDA has, from where on
        # Once the file was walked:
        self.callers: dict[tuple[Function | None, int], bool] = {}  # whether they ask

    @cached_property
    def set_up(self) -> bool:
        """Other code of the file runs behind what fails without CUDA. To be asked for once the file
        was walked."""
        return any(map(_sets_up, self.required))


def of_condition(frame: Frame, event: Branched) -> None:
    """A condition on an accelerator, one of whose branches leaves: the rest is guarded."""
    node, known = event
    orelse = node.orelse.body if isinstance(node.orelse, cst.Else) else None
    bodies = [body for body in (node.body, orelse) if body is not None]
    left = [body for body in bodies if leaves(last_statement(body))]
    if left in ([], [node.body]) and _is_there(node.test):
        return  # `if torch.backends.mps.is_available(): raise`: it goes on where none is
    if left or (known is False and "is_available" in words(node.test)):
        lacking = node.body if isinstance(node.test, cst.UnaryOperation) else orelse
        by_failing = lacking is not None and fails(last_statement(lacking))
        _asks(
            frame,
            node,
            node.test,
            by_failing and holds("availability-call", code(node.test).removeprefix("not ")),
        )


def _is_there(test: cst.BaseExpression) -> bool:
    """Where a condition holds, such an accelerator is there."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return _is_there(test.left) or _is_there(test.right)
    return isinstance(test, cst.Call) and dotted(test.func).endswith(".is_available")


def of_assertion(frame: Frame, event: Asserted) -> None:
    """`assert torch.cuda.is_available()`."""
    node = event.node
    if asks_for_accelerator(node.test):
        said = code(node.test)
        _asks(frame, node, node.test, " or " not in said and holds("availability-call", said))


def _asks(frame: Frame, node: cst.CSTNode, test: cst.CSTNode, by_failing: bool) -> None:
    demands, function = frame.unit.kept(Demands), frame.function
    around: Branches = ()  # a question about a device is the whole function's: it knows of others
    if "is_available" in words(test):
        around = _beside_the_host(branches_around(frame, node), node)
    demands.asked.setdefault(function, {})[around] = None
    if by_failing and is_passed(around, ()):
        demands.required.add(function)
        _of_class(demands, function, node)


def of_call(frame: Frame, event: FunctionCalled) -> None:
    """A function that fails without CUDA is called, or one that chooses a card: what follows runs
    with it. The choice is reported in its own file, and so with it what follows there."""
    node, function = event
    of_callee = function.unit.kept(Demands)
    fails = function in of_callee.required
    if not fails and function not in of_callee.choose:
        return
    demands, caller = frame.unit.kept(Demands), frame.function
    around = _but_once(branches_around(frame, node))
    if is_passed(around, ()):
        (demands.required if fails else demands.choose).add(caller)
    if not fails and function.unit is frame.unit:
        return
    demands.asked.setdefault(caller, {})[around] = None
    if is_passed(around, ()):
        _of_class(demands, caller, node)


def _but_once(around: Branches) -> Branches:
    """Without `if not dist.is_initialized():`, which is so for the first of several."""
    return tuple(
        (test, branch)
        for test, branch in around
        if not (isinstance(test, cst.If) and "is_initialized" in words(test.test))
    )


def _beside_the_host(around: Branches, node: cst.CSTNode) -> Branches:
    """`if on_cpu: … elif not torch.cuda.is_available(): raise`: one question."""
    while around and around[-1][1] is node and isinstance(around[-1][0], cst.If):
        if not asks_for_accelerator(around[-1][0].test):
            break
        node, around = around[-1][0], around[:-1]
    return around


def _of_class(demands: Demands, function: Function | None, node: cst.CSTNode) -> None:
    if function is not None and function.info is not None and function.name == "__init__":
        demands.classes.setdefault(function.info, node)


def of_stream(frame: Frame, node: cst.CSTNode) -> None:
    """`torch.cuda.Stream()`: what follows it runs with CUDA."""
    demands = frame.unit.kept(Demands)
    if is_passed(_note(frame, node, demands.asked), ()):
        _of_class(demands, frame.function, node)


def of_use(frame: Frame, node: cst.CSTNode) -> None:
    """`stream.wait_stream(other)`: what is around it, before and behind, is for CUDA."""
    _note(frame, node, frame.unit.kept(Demands).uses)


def _note(frame: Frame, node: cst.CSTNode, kept: Places) -> Branches:
    """Keep the conditions around a node, which it gives back."""
    around = branches_around(frame, node)
    kept.setdefault(frame.function, {})[around] = None
    return around


def of_library(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> None:
    """A kernel that there is for CUDA only, or a collective on tensors of a card, for NCCL."""
    demands = frame.unit.kept(Demands)
    if holds("cuda-kernel", name):
        of_use(frame, node)
    elif name == "torch.cuda.set_device":
        if is_passed(branches_around(frame, node), ()):
            demands.choose.add(frame.function)
    elif holds("collective-callee", name) and any(_is_on_card(v) for v, _ in arguments.all()):
        _note(frame, node, demands.collectives)


def _is_on_card(value: Value) -> bool:
    place = value.place if type(value) is Tensor else None
    return type(place) is Device and place.type == "cuda"


def is_asked(frame: Frame, node: cst.CSTNode) -> bool:
    """Somebody has asked before: the function, one that it is nested in, or the module."""
    demands = frame.unit.kept(Demands)
    if not demands.asked:
        return False
    current: Frame | None = frame
    at: cst.CSTNode | None = node
    while current is not None:
        if _asks_at(frame.unit, current.function, at):
            return True
        at = current.function.node if current.function is not None else None
        current = current.outer
    return any(is_passed(around, ()) for around in demands.asked.get(None, ()))


def is_met(unit: Unit, function: Function | None, node: cst.CSTNode) -> bool:
    """An accelerator is there wherever this runs: callers have asked, or the code is for CUDA
    alone."""
    demands = unit.kept(Demands)
    if _is_beside(unit, demands.uses, function, node):
        return True
    if demands.set_up or _of_such_a_class(function, node):
        return True
    return bool(demands.asked) and _callers_ask(unit, function, CALLERS)


def is_for_nccl(unit: Unit, function: Function | None, node: cst.CSTNode) -> bool:
    """Tensors of a card go through a process group in the same branch."""
    return _is_beside(unit, unit.kept(Demands).collectives, function, node)


def _is_beside(
    unit: Unit,
    uses: Places,
    function: Function | None,
    node: cst.CSTNode,
) -> bool:
    """One of these calls is in the same branch, or one around it."""
    found = uses.get(function, ())
    return bool(found) and any(
        is_passed(use, unit.kept(ControlDependences).around(function, node)) for use in found
    )


def _sets_up(function: Function | None) -> bool:
    """Other code of the file runs behind it: the script's own, or a set-up."""
    if function is None:
        return True
    if function.info is not None or function.around is not None:
        return False
    is_run = any(call.caller is None for call in function.callers)
    return is_run or holds("set-up-function", function.name)


def _of_such_a_class(function: Function | None, node: cst.CSTNode) -> bool:
    """The function runs on objects that their constructor, or a base's, does not make without
    CUDA."""

    while function is not None:
        for info in function.info.lineage() if function.info is not None else ():
            built = info.methods.get("__init__")
            if built is not None:
                interpreter_of(built.unit).summarize(
                    built
                )  # a base's, which may not have been asked for yet
            known = info.unit.kept(Demands).classes
            if info in known:
                return known[info] is not node
        function = function.around
    return False


def _callers_ask(unit: Unit, function: Function | None, depth: int) -> bool:
    """All calls in the file come from where it is known that an accelerator is there."""
    if function is None or not depth or not function.callers:
        return False
    known = unit.kept(Demands).callers
    ask = known.get((function, depth))
    if ask is None:
        ask = known[function, depth] = all(
            _asks_at(unit, call.caller, call.node) or _callers_ask(unit, call.caller, depth - 1)
            for call in function.callers
        )
    return ask


def _asks_at(unit: Unit, function: Function | None, node: cst.CSTNode | None) -> bool:
    demands = unit.kept(Demands)
    asked = demands.asked.get(function, ())
    return bool(asked) and any(
        is_passed(around, unit.kept(ControlDependences).around(function, node)) for around in asked
    )
