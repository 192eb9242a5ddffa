"""What iterating over a value yields, and how hot a loop over it is."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Loader, Mapping, Sequence
from devlint.inference.domain.host import HOST, Const, Host
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import LOADED, Tensor
from devlint.inference.domain.value import PLACED, UNKNOWN, Union, Value, choose
from devlint.inference.facts import Hotness
from devlint.inference.models import library_objects
from devlint.inference.models.elements import (
    COLUMNS,
    batch,
    names_loader,
    taken,
    without_a_dimension,
)
from devlint.inference.models.modules import member, parameter_in
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.loops import LoopState
from devlint.inference.program.values import FunctionValue, Instance, Parameters
from devlint.inference.syntax.text import code, dotted, every, last_statement, passed_through
from devlint.inference.syntax.words import words

# Methods that only a training loop calls.
TRAINING = frozenset({"backward", "step", "zero_grad", "manual_backward"})


def note_training(frame: Frame, func: cst.Attribute) -> None:
    """`loss.backward()`, `optimizer.step()`: the loops around it train."""
    if func.attr.value in ("step", "zero_grad") and not holds(
        "stepping-object", dotted(func.value)
    ):
        return
    if frame.control.loops:
        loop = frame.control.loops[-1]
        loop.trains = loop.feeds_device = True
        loop.goes_back |= func.attr.value.endswith("backward")
    elif frame.function is not None:
        name = func.attr.value.removeprefix("manual_")
        if name == "backward" or not _is_bound_here(frame, func.value):
            frame.function.trains.add(name)


def _is_bound_here(frame: Frame, node: cst.BaseExpression) -> bool:
    """A name that the function binds itself: an optimizer of its own takes steps of its own."""
    assert frame.function is not None
    name = dotted(node).partition(".")[0]
    targets = every(frame.function.node, cst.AssignTarget)
    return any(dotted(each.target) == name for each in targets)


def element_of(frame: Frame, value: Value, node: cst.CSTNode) -> Value:
    """One element of an iterable."""
    if type(value) is Sequence:
        # One after the other, columns are no alternatives: what they hold need not be together.
        return UNKNOWN if value.kind == COLUMNS and value.items is not None else value.any()
    if type(value) is Tensor:
        if value.evidence is None:
            origin = Provenance(StepKind.COMPUTED, node, frame.unit.source, value.origin)
            return Tensor(value.place, origin, without_a_dimension(value))
        loaded = value.traits & LOADED
        if not loaded and not value.evidence.is_tensor and names_loader(frame, node):
            yielded = batch(frame, node)
            yielded.evidence = Evidence(parents=(value.evidence,))  # a caller may know better
            return yielded
        return taken(value)
    if type(value) is Loader:
        return value.batch
    if type(value) is Host and value.whole:
        return Host(value.sizes)  # `rows, columns = x.shape`
    if type(value) in (Host, Const, Mapping):
        return HOST
    if type(value) is Parameters:
        return value.tensor
    if type(value) is Instance and value.items is not None:
        return member(value, value.items.any())
    if type(value) is Instance and value.module and value.info is None:
        return parameter_in(frame, node, value)
    if type(value) is Instance and value.info is not None:
        return _yielded(frame, value, node)
    if type(value) is Instance and library_objects.is_grid(frame, value):
        return value
    if type(value) is Union:
        if {type(v) for v in value.alternatives} >= {Loader, Instance}:
            # A loader that one branch wraps in another: whether that moves is open.
            return Tensor(None, None, 0, Evidence())
        return choose(frame.each(value, lambda v: element_of(frame, v, node)))
    if value is PLACED:
        return PLACED
    if names_loader(frame, node):
        return batch(frame, node)
    return UNKNOWN


def _yielded(frame: Frame, value: Instance, node: cst.CSTNode) -> Value:
    """What an object of a project class yields, by its own `__iter__`."""

    assert value.info is not None
    function = value.info.method("__iter__")
    if function is not None:
        made = frame.interpreter.call_function(
            frame, node, FunctionValue(function, value), Arguments([], {})
        )
        return element_of(frame, made, node) if type(made) is Sequence else UNKNOWN
    if any(base.endswith("DataLoader") for base in value.info.library_bases):
        return batch(frame, node)
    return UNKNOWN


def replaced_elements(loop: cst.For | cst.While) -> cst.Subscript | None:
    """`xs[i]` of `for i, x in enumerate(xs): xs[i] = f(x)`, assigned in each turn."""
    if not isinstance(loop, cst.For):
        return None
    if not isinstance(loop.iter, cst.Call):
        return _replaced_by_key(loop, dotted(loop.iter), loop.target)
    if not loop.iter.args:
        return _replaced_entries(loop, loop.iter)
    called, over = dotted(loop.iter.func), loop.iter.args[0].value
    counter: cst.BaseExpression = loop.target
    if called == "enumerate" and isinstance(counter, cst.Tuple):
        counter = counter.elements[0].value
    elif called == "range" and isinstance(over, cst.Call) and dotted(over.func) == "len":
        over = over.args[0].value
    else:
        return None
    if len(loop.iter.args) > 1 or not isinstance(counter, cst.Name):
        return None
    if not isinstance(over, (cst.Name, cst.Attribute, cst.Subscript)):
        return None
    return _assigned_in(loop, f"{code(over)}[{counter.value}]")


def _replaced_entries(loop: cst.For, over: cst.Call) -> cst.Subscript | None:
    """`batch[k]` of `for k, v in batch.items(): batch[k] = v.to(device)`."""
    called, _, method = dotted(over.func).rpartition(".")
    key: cst.BaseExpression = loop.target
    if method == "items" and isinstance(key, cst.Tuple):
        key = key.elements[0].value
    elif method != "keys":
        return None
    return _replaced_by_key(loop, called, key)


def _replaced_by_key(loop: cst.For, over: str, key: cst.BaseExpression) -> cst.Subscript | None:
    """`batch[k]` of `for k in batch: batch[k] = batch[k].to(device)`."""
    if not over or not isinstance(key, cst.Name):
        return None
    return _assigned_in(loop, f"{over}[{key.value}]")


def _assigned_in(loop: cst.For, replaced: str) -> cst.Subscript | None:
    """The target with this text of an assignment that each turn makes, or each with a tensor."""
    simple = (cst.SimpleStatementLine, cst.SimpleStatementSuite)
    lines = [loop.body, *loop.body.body]
    for line in loop.body.body:
        if isinstance(line, cst.If) and line.orelse is None and _asks_for_tensor(line.test):
            lines += [line.body, *line.body.body]
    for line in lines:
        for statement in line.body if isinstance(line, simple) else ():
            target = statement.targets[0].target if isinstance(statement, cst.Assign) else None
            if isinstance(target, cst.Subscript) and code(target) == replaced:
                return target
    return None


def _asks_for_tensor(test: cst.BaseExpression) -> bool:
    """`torch.is_tensor(x)`, `isinstance(x, torch.Tensor)`."""
    if not isinstance(test, cst.Call):
        return False
    called = dotted(test.func)
    if called == "isinstance" and len(test.args) == 2:
        return dotted(test.args[1].value) in ("torch.Tensor", "Tensor")
    return called in ("torch.is_tensor", "is_tensor")


def _entries_of(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """`table` of `table.items()`: its name says how many there are, that of the method does not."""
    if isinstance(node, cst.Call) and not node.args and isinstance(node.func, cst.Attribute):
        return node.func.value if node.func.attr.value in ("items", "keys", "values") else None
    return None


def _is_distinct(node: cst.BaseExpression) -> bool:
    """`x.unique()`, `set(x)`: few of many, and to find them the host has waited already."""
    name = node.func if isinstance(node, cst.Call) else None
    if isinstance(name, cst.Attribute):
        return name.attr.value in ("unique", "unique_consecutive")
    return isinstance(name, cst.Name) and name.value == "set"


def _gone_through(frame: Frame, over: cst.BaseExpression) -> list[Value]:
    """What is held by the names that a loop goes through all the same."""
    paths = filter(None, map(dotted, passed_through(over)))
    return [held for held in map(frame.lookup, paths) if held is not None]


def _leaves_at_once(node: cst.For | cst.While) -> bool:
    """`for batch in loader: …; break`: there is no second turn."""
    leaves = isinstance(last_statement(node.body), (cst.Break, cst.Return, cst.Raise))
    return leaves and not any(True for _ in every(node.body, cst.Continue))


def loop_of(
    frame: Frame, node: cst.CSTNode, over: cst.CSTNode | None, hotness: Hotness, since: int = 0
) -> LoopState:
    """The state of a loop that begins here, inside those that are around."""
    outer, depth = frame.control.loop, len(frame.control.loops) + 1
    loop = LoopState(node, over, hotness, depth, outer=outer, since=since)
    if not frame.unit.contains(".grad"):
        loop.of_gradients = False  # without a look at its body
    return loop


def hotness_of(frame: Frame, node: cst.For | cst.While | cst.CompFor, iterable: Value) -> Hotness:
    """How often the body runs for each unit of work, by what it iterates over."""
    if not isinstance(node, cst.CompFor) and _leaves_at_once(node):
        return Hotness.COLD
    if isinstance(node, cst.While):
        return Hotness.HOT

    target = words(node.target)
    over = words(_entries_of(node.iter) or node.iter)
    if (
        type(iterable) is Loader
        or names_loader(frame, node.iter)
        or holds("batch-variable", target)
    ):
        return Hotness.HOT
    if holds("epoch-variable", target) or (
        holds("epoch-variable", over) and not holds("step-loop", target)
    ):
        return Hotness.EPOCHS
    if _is_distinct(node.iter):
        return Hotness.COLD
    if any(type(v) is Tensor and v.is_sure for v in (iterable, *_gone_through(frame, node.iter))):
        return Hotness.HOT
    if (
        holds("short-loop", target)
        or holds("short-loop", over)
        or isinstance(node.iter, (cst.List, cst.Tuple))
    ):
        return Hotness.COLD
    if holds("step-loop", target) or holds("step-loop", over) or over.startswith("range"):
        return Hotness.HOT
    return Hotness.COLD
