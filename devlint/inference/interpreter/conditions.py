"""Conditions in the accelerated world: which are true there, and what a branch knows of its names.

On a machine without an accelerator device bugs do not exist, so only the other world is walked:
`torch.cuda.is_available()`, `args.cuda` and `use_gpu` are true, `no_cuda` is false.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import HOST, NONE, Const, DeviceValue, External, without_none
from devlint.inference.domain.path_conditions import ALWAYS, PathCondition, both, either
from devlint.inference.domain.placement import CPU, Device, Placement, Variable, VariableKind
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import (
    UNKNOWN,
    Union,
    Value,
    alternatives,
    is_untold,
    possible,
    union,
)
from devlint.inference.interpreter import first_iteration
from devlint.inference.models.devices import parse_device
from devlint.inference.program import shape_tests, tests
from devlint.inference.program.events import Tested
from devlint.inference.program.frames import Frame
from devlint.inference.program.predicates import NO_TENSOR, is_long, written_choice
from devlint.inference.program.shape_tests import contradicts
from devlint.inference.program.values import ClassValue, Instance
from devlint.inference.syntax.text import code, dotted, every
from devlint.inference.syntax.words import is_cold, none_test

_NUMBERS = frozenset({"int", "float", "bool", "complex", "str", "numbers.Number", "numbers.Real"})


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
    return truth_of(value)


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


def _begins_so(frame: Frame, node: cst.BaseExpression) -> bool:
    """`self.flag`, which only the constructor sets: the object begins so, and whoever has it may
    set it."""
    if not isinstance(node, cst.Attribute) or node.attr.value.startswith("_"):
        return False
    function = frame.function
    if function is None or function.name == "__init__" or frame.constructing:
        return False
    return frame.eval(node.value) is frame.instance and dotted(node) not in frame.state.env


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


def truth_of(value: Value) -> bool | None:
    """The truth of a value, where every alternative agrees."""
    if type(value) is Const:
        return bool(value.value)
    if type(value) in (DeviceValue, Instance):
        return True
    if type(value) is Sequence and value.items is not None and value.kind == "tuple":
        return bool(value.items)
    return None


def _boolean(frame: Frame, node: cst.BooleanOperation) -> bool | None:
    left = truth(frame, node.left)
    is_and = isinstance(node.operator, cst.And)
    if left is not None and left is not is_and:
        return left
    cold = is_and and is_cold(node.left)  # `step % n == 0 and loss.item() > limit`
    with frame.under(cold=cold), beside(frame, node):
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
    turn = first_iteration.first(frame, node) if frame.control.loops else None
    if turn is not None:
        return turn
    if type(value) is Const:
        begins_so = _begins_so(frame, node.left) and type(frame.eval(node.left)) is Const
        return None if begins_so else bool(value.value)
    frame.emit(Tested(node, value, "if"))
    return None


def compare(operator: cst.BaseCompOp, left: Value, right: Value) -> bool | None:
    """A comparison of two values whose answer the accelerated world knows, else None."""
    is_identity = isinstance(operator, (cst.Is, cst.IsNot))
    if is_identity or (right is NONE and isinstance(operator, (cst.Equal, cst.NotEqual))):
        answer = _is_none(left, right)
        asks = isinstance(operator, (cst.Is, cst.Equal))
        return answer if answer is None or asks else not answer
    by_index = _has_index(operator, left, right)
    if by_index is not None:
        return by_index
    equal = isinstance(operator, cst.Equal)
    if equal or isinstance(operator, cst.NotEqual):
        answer = _equal(left, right)
        return answer if answer is None or equal else not answer
    if isinstance(operator, (cst.In, cst.NotIn)) and type(left) is Const:
        return _contains(operator, left, right)
    return None


# Comparisons that tell the index of an accelerator from -1, which stands for the host.
_INDEX_TESTS: dict[tuple[type[cst.BaseCompOp], int], bool] = {
    (cst.GreaterThan, -1): True,
    (cst.GreaterThanEqual, 0): True,
    (cst.NotEqual, -1): True,
    (cst.LessThan, 0): False,
    (cst.LessThanEqual, -1): False,
    (cst.Equal, -1): False,
}


def _has_index(operator: cst.BaseCompOp, left: Value, right: Value) -> bool | None:
    """`device > -1`, `x.get_device() >= 0`: true for what is on an accelerator."""
    if type(left) is not DeviceValue or type(right) is not Const or type(right.value) is not int:
        return None
    answer = _INDEX_TESTS.get((type(operator), right.value))
    if answer is None or left.place is None:
        return None
    if type(left.place) is Device and not left.place.is_accelerator:
        return not answer
    return answer


def _is_none(left: Value, right: Value) -> bool | None:
    if type(right) is not Const or right.value is not None:
        return None
    if type(left) is Const:
        return left.value is None
    if type(left) in (DeviceValue, Instance, Sequence, External):
        return False
    if type(left) is Tensor and left.evidence is None:
        return False
    return None


def _equal(left: Value, right: Value) -> bool | None:
    if type(left) is Const and type(right) is Const:
        try:
            return bool(left.value == right.value)
        except Exception:  # constants of odd types
            return None
    a, b = _device_of(left), _device_of(right)
    if a is None or b is None:
        return None
    if a is b:
        return True
    if type(a) is Device and type(b) is Device:
        if a.type != b.type:
            return False
        return True if a.index == b.index else None
    known, other = (a, b) if type(a) is Device else (b, a)
    if (
        type(known) is Device
        and type(other) is Variable
        and other.kind is not VariableKind.FLEXIBLE
    ):
        if known.type in _OTHERS:
            return False  # in the accelerated world, which has CUDA
        if known.type == "cuda" and known.index is None:
            return True
    return None


_OTHERS = frozenset({"cpu", "meta", "mps", "xpu", "npu", "hpu", "mlu", "musa", "xla"})


def _device_of(value: Value) -> Placement:
    if type(value) is DeviceValue:
        return value.place
    if type(value) is Const and isinstance(value.value, str):
        return parse_device(value.value)
    return None


def _contains(operator: cst.BaseCompOp, left: Const, right: Value) -> bool | None:
    if type(right) is DeviceValue and isinstance(left.value, str):
        found = _equal(DeviceValue(right.place), left)
        return found if found is None or isinstance(operator, cst.In) else not found
    return None


@contextmanager
def beside(frame: Frame, node: cst.BooleanOperation) -> Iterator[None]:
    """The right side of `a and b` runs where `a` is true, that of `a or b` where it is false."""
    if is_long(node):
        yield
        return
    before = frame.state.env
    frame.state.env = dict(before)
    narrow(frame, node.left, isinstance(node.operator, cst.And), is_branch=False)
    try:
        yield
    finally:
        inside, frame.state.env = frame.state.env, before
        for bound in every(node.right, cst.NamedExpr):
            name = dotted(bound.target)
            if name in inside:
                before[name] = inside[name]


def narrow(frame: Frame, node: cst.BaseExpression, outcome: bool, is_branch: bool = True) -> None:
    """Bind what a condition says of names where it came out as `outcome`, in a branch or in the
    rest of a condition."""
    if frame.control.loops and is_branch:
        first_iteration.narrow(frame, node, outcome)
    if type(node) is cst.UnaryOperation and isinstance(node.operator, cst.Not):
        narrow(frame, node.expression, not outcome, is_branch)
    elif type(node) is cst.BooleanOperation:
        if isinstance(node.operator, cst.And) is outcome:
            narrow(frame, node.left, outcome, is_branch)
            narrow(frame, node.right, outcome, is_branch)
        else:
            _narrow_to_one_of(frame, node, outcome)
    elif type(node) is cst.Comparison:
        _narrow_comparison(frame, node, outcome)
    elif type(node) is cst.Name or type(node) is cst.Attribute:
        path = dotted(node)
        value = frame.eval(node) if path else UNKNOWN
        if path and outcome and not is_untold(value):
            narrowed = without_none(value)
            if narrowed is not value:
                frame.state.hold(path, narrowed)
    elif type(node) is cst.Call:
        _narrow_call(frame, node, outcome)


def _narrow_comparison(frame: Frame, node: cst.Comparison, outcome: bool) -> None:
    if len(node.comparisons) != 1:
        return
    target = node.comparisons[0]
    operator = target.operator
    left = node.left
    if isinstance(target.comparator, cst.Integer):
        _narrow_by_shape(frame, node, outcome)
    asks_none = none_test(target)
    if asks_none is None and isinstance(operator, (cst.Equal, cst.NotEqual)):
        if isinstance(operator, cst.Equal) is outcome:
            _narrow_to_one_device(frame, left, target.comparator)
        return
    if isinstance(left, cst.NamedExpr):
        left = left.target
    path = dotted(left)
    if not path:
        return
    if asks_none is not None:
        value = frame.eval(left)
        if asks_none is outcome:
            frame.state.hold(path, NONE)
        else:
            narrowed = without_none(value)
            if narrowed is not value or type(value) is Const:
                frame.state.hold(path, narrowed if type(value) is not Const else UNKNOWN)


def _narrow_by_shape(frame: Frame, node: cst.Comparison, outcome: bool) -> None:
    """Where `x.numel() > 0`, `x` is no placeholder; where `x.dim() == 1`, it is no number."""
    for written in written_choice(node)[not outcome]:
        path = shape_tests.asked_tensor(written[0])
        asked = _part(node.left, path) if path else None
        if asked is None:
            continue
        values = alternatives(frame.eval(asked))
        left = [v for v in values if type(v) is not Tensor or not contradicts(written, v)]
        if len(left) < len(values):
            frame.state.hold(path, union(left) if left else UNKNOWN)


def _part(node: cst.BaseExpression, path: str) -> cst.BaseExpression | None:
    """`x` of `len(x.shape)` or `x.size(0)`, by its path."""
    for each in (*every(node, cst.Attribute), *every(node, cst.Name)):
        if dotted(each) == path:
            return each
    return None


def _narrow_to_one_device(
    frame: Frame, left: cst.BaseExpression, right: cst.BaseExpression
) -> None:
    """Where `a.device == b.device`, the two are where one of them is: the one whose place does not
    differ from branch to branch, of two such the second."""
    owners = [(_owner_of_device(frame, side), side) for side in (right, left)]
    places = [_one_place(frame, *owner) for owner in owners]
    if owners[0][0] is None and owners[1][0] is None:
        return
    given = places[0] if places[0] is not None else places[1]
    for (path, side), place in zip(owners, places, strict=True):
        if path is None or (place is not None and place is given):
            continue
        assert isinstance(side, cst.Attribute)
        value = frame.eval(side.value)
        if any(type(v) is Tensor for v in alternatives(value)):
            frame.state.hold(
                path, union(_there(frame, v, given, side) for v in alternatives(value))
            )


def _there(frame: Frame, value: Value, place: Placement, node: cst.CSTNode) -> Value:
    if type(value) is not Tensor:
        return value
    return value.with_place(place, frame.origin(StepKind.BRANCH, node, value.origin))


def _owner_of_device(frame: Frame, node: cst.BaseExpression) -> str | None:
    """`a` of `a.device`, `a.is_cuda`, where that is or may be a tensor."""
    if not isinstance(node, cst.Attribute) or node.attr.value not in ("device", "is_cuda"):
        return None
    path = dotted(node.value)
    return path if path and path != "self" else None


def _one_place(frame: Frame, path: str | None, node: cst.BaseExpression) -> Placement:
    """Where a device, or the tensor that it is asked of, is in all branches."""
    if path is None:
        value = frame.eval(node)
        return value.place if type(value) is DeviceValue else None
    assert isinstance(node, cst.Attribute)
    found = {v.place for v in alternatives(frame.eval(node.value)) if type(v) is Tensor}
    return found.pop() if len(found) == 1 else None


def _narrow_call(frame: Frame, node: cst.Call, outcome: bool) -> None:
    """`isinstance(x, torch.Tensor)`, `torch.is_tensor(x)`, `np.isscalar(x)`."""
    callee = dotted(node.func)
    if not outcome:
        _narrow_no_tensor(frame, node, callee)
        return
    if callee not in ("isinstance", "torch.is_tensor", "np.isscalar") or not node.args:
        return
    path = dotted(node.args[0].value)
    if not path:
        return
    if callee == "np.isscalar":
        frame.state.hold(path, HOST)  # a 0-dim tensor is none
        return
    kinds: list[Value] = [External("torch.Tensor")]
    if callee != "torch.is_tensor":
        kinds = _classes(frame, node.args[1].value) if len(node.args) > 1 else []
    _narrow_to_instance(frame, node.args[0].value, path, kinds)


def _narrow_to_one_of(frame: Frame, node: cst.BooleanOperation, outcome: bool) -> None:
    """`isinstance(x, A) or isinstance(x, B)` says what `isinstance(x, (A, B))` says."""
    asked = list(_instance_tests(node, outcome))
    paths = {dotted(test.args[0].value) if test is not None else "" for test in asked}
    path = next(iter(paths))
    if len(paths) > 1 or not path:
        return
    tests = [test for test in asked if test is not None]
    kinds = [kind for test in tests for kind in _classes(frame, test.args[1].value)]
    _narrow_to_instance(frame, tests[0].args[0].value, path, kinds)


def _instance_tests(node: cst.BaseExpression, outcome: bool) -> Iterator[cst.Call | None]:
    """The questions of which one was answered with yes where a condition came out so; None for
    one that is not about a class."""
    if type(node) is cst.UnaryOperation and isinstance(node.operator, cst.Not):
        yield from _instance_tests(node.expression, not outcome)
    elif type(node) is cst.BooleanOperation and isinstance(node.operator, cst.Or) is outcome:
        yield from _instance_tests(node.left, outcome)
        yield from _instance_tests(node.right, outcome)
    elif outcome and isinstance(node, cst.Call) and dotted(node.func) == "isinstance":
        yield node if len(node.args) == 2 else None
    else:
        yield None


def _narrow_to_instance(
    frame: Frame, node: cst.BaseExpression, path: str, kinds: list[Value]
) -> None:
    """The value at a path is of one of these classes."""
    if len(kinds) == 1 and type(kinds[0]) is ClassValue:
        _narrow_to_object(frame, node, path, kinds[0])
    if any(_is_module_class(frame, kind) for kind in kinds):
        for asked in alternatives(frame.eval(node)):
            if type(asked) is Tensor and asked.evidence is not None:
                asked.evidence.effects.foreign = True  # whoever asks does not expect a tensor
    names = {k.name.removeprefix("builtins.") for k in kinds if type(k) is External}
    if not names:
        return
    value = frame.eval(node)
    if names <= {"torch.Tensor", "torch.FloatTensor", "torch.LongTensor"}:
        tensors = [v for v in alternatives(value) if type(v) is Tensor]
        if tensors:
            # Those known to be tensors account for the test: it says nothing of the others.
            tensors = [t for t in tensors if t.is_sure] or tensors
            for tensor in tensors:
                tensor.show()
            frame.state.hold(path, union(tensors))
        else:
            frame.state.hold(path, Tensor(None))  # somewhere: the test knows better
    elif "torch.Tensor" not in names:
        rest = [v for v in alternatives(value) if not (type(v) is Tensor and v.evidence is None)]
        if names <= _NUMBERS and len(names) == len(kinds) and type(value) is not Const:
            frame.state.hold(path, HOST)
        elif len(rest) < len(alternatives(value)):
            frame.state.hold(path, union(rest))
        elif "numpy.ndarray" in names or all(n.startswith("numpy.") for n in names):
            frame.state.hold(path, UNKNOWN)
            frame.state.env[NO_TENSOR + path] = value


def _is_module_class(frame: Frame, kind: Value) -> bool:
    if type(kind) is ClassValue:
        return kind.info.is_module
    known = frame.unit.context.knowledge.modules
    return type(kind) is External and known.get(kind.name) is not None


def _narrow_to_object(frame: Frame, node: cst.BaseExpression, path: str, kind: ClassValue) -> None:
    """What may be anything is an object of the class, with the attributes that its methods set."""
    value = frame.eval(node)
    if type(value) is Tensor and value.evidence is not None and not kind.info.is_module:
        frame.state.hold(path, Instance(kind.info, origin=value.origin))


def _narrow_no_tensor(frame: Frame, node: cst.Call, callee: str) -> None:
    """The branch where `isinstance(x, torch.Tensor)` is false."""
    if callee not in ("isinstance", "torch.is_tensor") or not node.args:
        return
    path = dotted(node.args[0].value)
    kinds = _classes(frame, node.args[1].value) if len(node.args) > 1 else []
    only_tensor = callee == "torch.is_tensor" or any(
        type(k) is External and k.name == "torch.Tensor" for k in kinds
    )
    if path and only_tensor:
        value = frame.eval(node.args[0].value)
        rest = [v for v in alternatives(value) if type(v) is not Tensor]
        frame.state.hold(path, union(rest) if rest else UNKNOWN)
        frame.state.env[NO_TENSOR + path] = value


def _classes(frame: Frame, node: cst.BaseExpression) -> list[Value]:
    value = frame.eval(node)
    if type(value) is Sequence and value.items is not None:
        return list(value.items)
    if type(value) is not External and isinstance(node, cst.Name) and is_untold(value):
        return [External(node.value)]
    return [value]


def flag(node: cst.BaseExpression, outcome: bool) -> tuple[str, bool] | None:
    """A condition on one name, and how it came out; the constructor's `spin` is `self.spin`."""
    if type(node) is cst.UnaryOperation and isinstance(node.operator, cst.Not):
        return flag(node.expression, not outcome)
    if type(node) is cst.Comparison and len(node.comparisons) == 1:
        target = node.comparisons[0]
        right = target.comparator
        if not dotted(node.left) or not isinstance(
            right, (cst.Name, cst.SimpleString, cst.Integer)
        ):
            return None
        subject = dotted(node.left).removeprefix("self.")
        negated = isinstance(target.operator, (cst.IsNot, cst.NotEqual))
        if negated or isinstance(target.operator, (cst.Is, cst.Equal)):
            return f"{subject} == {right.value}", outcome is not negated
        return None
    path = dotted(node).removeprefix("self.")
    return (path, outcome) if path else None


def enter_branch(
    frame: Frame, node: cst.BaseExpression, outcome: bool, when: PathCondition | None = None
) -> None:
    """Go on where a condition came out as `outcome`. `when`: what that says, if it was asked."""
    if when is None:
        when = tests.of_test(frame, node)[not outcome]
    tests.enter(frame, _implied(frame, node, outcome))
    tests.enter(frame, when)
    for name in frame.state.flags:
        tests.enter(frame, _settled(frame, name))
    narrow(frame, node, outcome)


def _settled(frame: Frame, name: str) -> PathCondition:
    """What a flag is here that earlier branches set: behind `if as_list: as_array = False`, of
    `as_array` where `as_list` is true."""
    value = frame.state.env.get(name)
    if type(value) is not Union:
        return ALWAYS
    held = possible(value, frame.state.when)
    outcome = truth_of(held) if held is not value else None
    return ALWAYS if outcome is None else tests.of_name(frame, name, outcome)


def _implied(frame: Frame, node: cst.BaseExpression, outcome: bool) -> PathCondition:
    """What holds besides, by the branches that gave the test's subject such a value: behind
    `if x is None: mode = "none"`, of `x` where `mode == "none"`."""
    if type(node) is cst.UnaryOperation and isinstance(node.operator, cst.Not):
        return _implied(frame, node.expression, not outcome)
    if type(node) is cst.BooleanOperation:
        if isinstance(node.operator, cst.And) is not outcome:
            return ALWAYS
        left = _implied(frame, node.left, outcome)
        return both(left, _implied(frame, node.right, outcome))
    subject, test = node, truth_of
    if type(node) is cst.Comparison and len(node.comparisons) == 1:
        target, subject = node.comparisons[0], node.left
        if not isinstance(target.comparator, (cst.Name, cst.SimpleString, cst.Integer)):
            return ALWAYS
        right = frame.eval(target.comparator)
        test = functools.partial(_compared, target.operator, right)
    if not dotted(subject):
        return ALWAYS
    value = frame.state.env.get(dotted(subject))
    if type(value) is not Union:
        return ALWAYS
    pairs = zip(value.alternatives, value.whens, strict=True)
    fitting = [when for v, when in pairs if test(v) is not (not outcome)]
    return functools.reduce(either, fitting) if fitting else ALWAYS


def _compared(operator: cst.BaseCompOp, right: Value, left: Value) -> bool | None:
    return compare(operator, left, right)
