"""Conditions in the accelerated world: which are true there.

On a machine without an accelerator device bugs do not exist, so only the other world is walked:
`torch.cuda.is_available()`, `args.cuda` and `use_gpu` are true, `no_cuda` is false.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import found, holds
from devlint.inference.domain.host import NONE, Const, DeviceValue
from devlint.inference.domain.placement import CPU, Variable
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import UNKNOWN, Value, alternatives
from devlint.inference.interpreter import first_iteration
from devlint.inference.interpreter.comparisons import truth_of
from devlint.inference.interpreter.narrowing import beside
from devlint.inference.program import tests
from devlint.inference.program.declarations import ClassInfo
from devlint.inference.program.events import Tested
from devlint.inference.program.frames import Frame
from devlint.inference.program.values import Instance
from devlint.inference.syntax.text import code, dotted


def truth(frame: Frame, node: cst.BaseExpression) -> bool | None:
    """Whether a condition holds in the accelerated world; None when that is open."""
    if type(node) is cst.UnaryOperation and isinstance(node.operator, cst.Not):
        inner = truth(frame, node.expression)
        return None if inner is None else not inner
    if type(node) is cst.BooleanOperation:
        return _boolean(frame, node)
    if type(node) is cst.Comparison:
        return _comparison(frame, node)
    value = frame.eval(node)
    handles_none(frame, value)
    frame.emit(Tested(node, value, "if"))
    if type(node) is cst.Name:
        _given_or_not(frame, node.value, value)
    if type(node) is cst.Name or type(node) is cst.Attribute:
        named = _by_name(frame, node, value)
        if named is not None:
            return named
    if type(value) is Const and _begins_so(frame, node):
        return None
    known = truth_of(value)
    return _by_answer(frame, node) if known is None and type(node) is cst.Call else known


def _by_answer(frame: Frame, node: cst.Call) -> bool | None:
    """`self.uses_gpu()`, which gives `self.use_gpu`, or `len(self.gpus) > 0`."""
    asked = tests.in_full(frame, node)
    if isinstance(asked, cst.Comparison):
        return _counts_accelerators(asked)
    return _by_name(frame, asked, UNKNOWN) if isinstance(asked, cst.Attribute) else None


def _given_or_not(frame: Frame, name: str, value: Value) -> None:
    """`if rates:` of a parameter that may be left out: it is no tensor, unless it is declared one,
    since a tensor of several elements has no truth."""
    parameters = frame.function.parameters if frame.function is not None else ()
    own = next((p for p in parameters if p.name == name), None)
    if own is None or type(own.default) is not Const or own.default.value is not None:
        return
    for each in alternatives(value):
        if type(each) is Tensor and each.evidence is not None and not each.evidence.is_declared:
            each.evidence.mark_host()
            each.evidence.effects.tested = True


def _compared_with_number(frame: Frame, node: cst.Comparison) -> None:
    """`if keep_rate == 1.0:` of a parameter: a number, or one element, rather than a tensor."""
    others = [each.comparator for each in node.comparisons]
    if type(node.left) is not cst.Name or not isinstance(others[0], (cst.Integer, cst.Float)):
        return
    for each in alternatives(frame.eval(node.left)):
        if type(each) is Tensor and each.evidence is not None and each.origin is not None:
            is_parameter = each.origin.kind is StepKind.PARAMETER
            each.evidence.hints.number = each.evidence.hints.number or is_parameter


def _begins_so(frame: Frame, node: cst.BaseExpression) -> bool:
    """`self.flag`, which only the constructor sets: the object begins so, and whoever has it may
    set it; but for one of a project in which nothing does. The same of an object that is handed in.
    """
    if not isinstance(node, cst.Attribute) or node.attr.value.startswith("_"):
        return False
    function, owner = frame.function, frame.eval(node.value)
    if function is None or type(owner) is not Instance or dotted(node) in frame.state.env:
        return False
    is_own = owner is frame.instance
    if is_own and (function.name == "__init__" or frame.constructing):
        return False
    if not is_own and not _is_handed_in(owner):
        return False
    info = function.info if is_own else owner.info
    return info is None or not _is_constant(info, node.attr.value)


def _is_handed_in(owner: Instance) -> bool:
    return owner.origin is not None and owner.origin.kind is StepKind.PARAMETER


def _is_constant(info: ClassInfo, name: str) -> bool:
    """An attribute gets a value once in its file, and no other file of the project names it, though
    some use the class: whoever has a library's object may set it."""
    text, importer = info.unit.source.text, info.unit.context.importer
    if importer is None or "setattr(" in text or "__dict__" in text:
        return False
    if len(found("name-assigned", text, name)) != 1:
        return False
    path = info.unit.source.path
    return importer.is_named_elsewhere(info.name, path) and not importer.is_named_elsewhere(
        name, path
    )


def handles_none(frame: Frame, value: Value) -> None:
    """The function asks whether its device parameter was given: None has a meaning of its own."""
    if type(value) is DeviceValue and type(value.place) is Variable and value.place.parameter:
        frame.unit.context.none_handled.add(value.place)


def _by_name(frame: Frame, node: cst.Name | cst.Attribute, value: Value) -> bool | None:
    if type(value) is Const and value.value is not None and type(value.value) is not bool:
        return None
    if type(value) is Instance:
        return None
    name = node.attr.value if isinstance(node, cst.Attribute) else node.value
    if name == "is_cuda" and isinstance(node, cst.Attribute):
        asked = alternatives(frame.eval(node.value))
        if any(type(v) is Tensor and v.place == CPU for v in asked):
            return None  # it says itself where it is
    # A global is a switch, as it stands at first: whoever runs the program turns it, often from
    # another file.
    is_switch = value is not NONE and _is_global(frame, name)
    if type(value) is Const and isinstance(node, cst.Name) and not is_switch:
        return None  # the code says itself what it is
    if holds("host-flag", name):
        return False
    if holds("accelerator-flag", name) or holds("accelerator-count", name):
        return True
    return None


def asks_for_host(name: str, value: Value) -> bool:
    """A call says `use_gpu=False` itself, or `no_cuda=True`: it is not of the accelerated world."""
    if type(value) is not Const or type(value.value) is not bool:
        return False
    return holds("host-flag" if value.value else "accelerator-flag", name)


def _is_global(frame: Frame, name: str) -> bool:
    around: Frame | None = frame
    while around is not None and around.function is not None:
        if name in around.state.env:
            return False
        around = around.outer
    return True


def _boolean(frame: Frame, node: cst.BooleanOperation) -> bool | None:
    left = truth(frame, node.left)
    is_and = isinstance(node.operator, cst.And)
    if left is not None and left is not is_and:
        return left
    with beside(frame, node):
        right = truth(frame, node.right)
    if left is is_and:
        return right
    if right is not None and right is not is_and:
        return right
    return None


def _counts_accelerators(node: cst.Comparison) -> bool | None:
    """`gpus > 0`, `gpu_id >= 0`, `len(gpu_ids) > 0`: there is one in the accelerated world."""
    if len(node.comparisons) != 1:
        return None
    subject = node.left
    if isinstance(subject, cst.Call):
        called = dotted(subject.func)
        if called == "len" and subject.args:
            subject = subject.args[0].value
        else:
            subject = subject.func
    if not holds("accelerator-count", dotted(subject).rpartition(".")[2]):
        return None
    target = node.comparisons[0]
    bound = code(target.comparator).replace(" ", "")
    operator = type(target.operator)
    if (operator, bound) in (
        (cst.GreaterThan, "0"),
        (cst.GreaterThanEqual, "0"),
        (cst.GreaterThanEqual, "1"),
        (cst.NotEqual, "0"),
        (cst.NotEqual, "-1"),
        (cst.GreaterThan, "-1"),
    ):
        return True
    if (operator, bound) in ((cst.Equal, "0"), (cst.Equal, "-1"), (cst.LessThan, "0")):
        return False
    return None


def _comparison(frame: Frame, node: cst.Comparison) -> bool | None:
    known = _counts_accelerators(node)
    if known is not None:
        return known
    value = frame.eval(node)
    _compared_with_number(frame, node)
    turn = first_iteration.first(frame, node) if frame.control.loops else None
    if turn is not None:
        return turn
    if type(value) is Const:
        begins_so = _begins_so(frame, node.left) and type(frame.eval(node.left)) is Const
        return None if begins_so else bool(value.value)
    frame.emit(Tested(node, value, "if"))
    return None
