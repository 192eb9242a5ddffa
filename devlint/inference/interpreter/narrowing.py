"""Narrowing: what a condition says of names where it came out true, or false.

    if isinstance(x, torch.Tensor):
        x.sum()

In the branch `x` is a tensor, whatever else it may be elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import libcst as cst

from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import HOST, NONE, Const, DeviceValue, External, without_none
from devlint.inference.domain.path_conditions import ALWAYS, PathCondition
from devlint.inference.domain.placement import CPU, Device, Placement
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import PARAMETER, Tensor, on_side
from devlint.inference.domain.value import UNKNOWN, Value, alternatives, is_untold, union
from devlint.inference.interpreter import first_iteration
from devlint.inference.models.devices import place_of
from devlint.inference.program import shape_tests, tests
from devlint.inference.program.frames import Frame
from devlint.inference.program.predicates import NO_TENSOR, asked_type, is_long, written_choice
from devlint.inference.program.shape_tests import contradicts
from devlint.inference.program.values import ClassValue, Instance
from devlint.inference.syntax.text import dotted, every
from devlint.inference.syntax.words import asks_for_accelerator, is_cold, none_test

_NUMBERS = frozenset({"int", "float", "bool", "complex", "str", "numbers.Number", "numbers.Real"})

# Of none of these is a tensor, though one can be iterated over. They may hold tensors.
_HOLDERS = frozenset({"list", "tuple", "set", "dict", "range"}) | {
    f"{module}.{name}"
    for module in ("typing", "collections.abc", "collections")
    for name in ("Sequence", "List", "Tuple", "Mapping", "Dict")
}


TENSORS = frozenset({"torch.Tensor", "torch.FloatTensor", "torch.LongTensor"})
PARAMETERS = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter"})

_NAMED: dict[str, Value] = {
    "Tensor": External("torch.Tensor"),
    "ndarray": External("numpy.ndarray"),
}


@contextmanager
def beside(
    frame: Frame,
    node: cst.BooleanOperation,
    when: PathCondition = ALWAYS,
    otherwise: PathCondition = ALWAYS,
) -> Iterator[None]:
    """The right side of `a and b` runs where `a` is true, that of `a or b` where it is false, of
    which `when` is known, and `otherwise` of where it does not run. That of `a and b` is guarded
    where `a` asks for an accelerator, `is_available() and synchronize()`, and cold where it seldom
    holds, `step % n == 0 and loss.item()`."""
    is_and = isinstance(node.operator, cst.And)
    cold = is_and and is_cold(node.left)
    asks = is_and and asks_for_accelerator(node.left)
    with frame.under(cold=cold, guarded=asks), frame.aside() as around:
        tests.enter(frame, when)
        if is_long(node):
            yield
            around.env = frame.state.env
            return
        narrow(frame, node.left, is_and, is_branch=False)
        yield
        around.keep_effects(frame.state, (otherwise, when))
        for bound in every(node.right, cst.NamedExpr):
            name = dotted(bound.target)
            if name in frame.state.env:
                around.env[name] = frame.state.env[name]


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
    asked = asked_type(node)
    if asked is not None:
        _narrow_by_type(frame, *asked, target, outcome)
        return
    asks_none = none_test(target)
    if asks_none is None and isinstance(operator, (cst.Equal, cst.NotEqual)):
        is_equal = isinstance(operator, cst.Equal) is outcome
        if is_equal:
            _narrow_to_one_device(frame, left, target.comparator)
        _narrow_by_device(frame, left, target.comparator, is_equal)
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


def _narrow_by_type(
    frame: Frame, node: cst.BaseExpression, name: str, target: cst.ComparisonTarget, outcome: bool
) -> None:
    """`type(x) is torch.Tensor`, `type(x) in (list, tuple)` says what `isinstance` says, and so
    does a `name` of the type."""
    operator = target.operator
    if isinstance(operator, (cst.NotEqual, cst.IsNot, cst.NotIn)):
        outcome = not outcome
    elif not isinstance(operator, (cst.Equal, cst.Is, cst.In)):
        return
    kinds = [_NAMED.get(name, UNKNOWN)] if name else classes(frame, target.comparator)
    path = dotted(node)
    if not path:
        return
    if outcome:
        _narrow_to_instance(frame, node, path, kinds)
    elif _has_tensor(kinds):
        _hold_no_tensor(frame, node, path)


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
    differ from branch to branch, of two such the second. So they are where `a.type() == b.type()`:
    `torch.cuda.FloatTensor` is of a device, too."""
    owners = [(_owner_of_device(frame, side), side) for side in (right, left)]
    places = [_one_place(frame, *owner) for owner in owners]
    if owners[0][0] is None and owners[1][0] is None:
        return
    given = places[0] if places[0] is not None else places[1]
    for (path, side), place in zip(owners, places, strict=True):
        if path is None or (place is not None and place is given):
            continue
        asked = _asked_for_device(side)
        assert asked is not None
        value = frame.eval(asked)
        if any(type(v) is Tensor for v in alternatives(value)):
            frame.state.hold(
                path, union(_there(frame, v, given, side) for v in alternatives(value))
            )


def _narrow_by_device(
    frame: Frame, node: cst.BaseExpression, named: cst.BaseExpression, is_equal: bool
) -> None:
    """Where `x.device.type == "cpu"`, `x` is the one of its alternatives that is on the host;
    elsewhere it is another one."""
    is_type = isinstance(node, cst.Attribute) and node.attr.value == "type"
    asked = _asked_for_device(node.value if is_type else node)  # type: ignore[attr-defined]
    path = dotted(asked) if asked is not None else ""
    place = place_of(frame, frame.eval(named)) if path else None
    if asked is None or not path or type(place) is not Device:
        return
    value = frame.eval(asked)
    narrowed = on_side(value, host=(place == CPU) is is_equal)
    if narrowed is not value:
        frame.state.hold(path, narrowed)


def _there(frame: Frame, value: Value, place: Placement, node: cst.CSTNode) -> Value:
    if type(value) is not Tensor:
        return value
    return value.with_place(place, frame.origin(StepKind.BRANCH, node, value.origin))


def _asked_for_device(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """`a` of `a.device`, `a.is_cuda`, `a.type()`, and of `a.data.device`."""
    if isinstance(node, cst.Call) and not node.args and isinstance(node.func, cst.Attribute):
        asked = node.func.value if node.func.attr.value == "type" else None
    elif isinstance(node, cst.Attribute) and node.attr.value in ("device", "is_cuda"):
        asked = node.value
    else:
        return None
    if isinstance(asked, cst.Attribute) and asked.attr.value == "data":
        return asked.value
    return asked


def _owner_of_device(frame: Frame, node: cst.BaseExpression) -> str | None:
    """The name of what is asked for its device, where that is or may be a tensor."""
    asked = _asked_for_device(node)
    path = dotted(asked) if asked is not None else ""
    return path if path and path != "self" else None


def _one_place(frame: Frame, path: str | None, node: cst.BaseExpression) -> Placement:
    """Where a device, or the tensor that it is asked of, is in all branches."""
    if path is None:
        value = frame.eval(node)
        return value.place if type(value) is DeviceValue else None
    asked = _asked_for_device(node)
    assert asked is not None
    found = {v.place for v in alternatives(frame.eval(asked)) if type(v) is Tensor}
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
        kinds = classes(frame, node.args[1].value) if len(node.args) > 1 else []
    _narrow_to_instance(frame, node.args[0].value, path, kinds)


def _narrow_to_one_of(frame: Frame, node: cst.BooleanOperation, outcome: bool) -> None:
    """`isinstance(x, A) or isinstance(x, B)` says what `isinstance(x, (A, B))` says."""
    asked = list(_instance_tests(node, outcome))
    paths = {dotted(test.args[0].value) if test is not None else "" for test in asked}
    path = next(iter(paths))
    if len(paths) > 1 or not path:
        return
    known = [test for test in asked if test is not None]
    kinds = [kind for test in known for kind in classes(frame, test.args[1].value)]
    _narrow_to_instance(frame, known[0].args[0].value, path, kinds)


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
    if any(is_module_class(frame, kind) for kind in kinds):
        for asked in alternatives(frame.eval(node)):
            if type(asked) is Tensor and asked.evidence is not None:
                asked.evidence.effects.foreign = True  # whoever asks does not expect a tensor
    names = {k.name.removeprefix("builtins.") for k in kinds if type(k) is External}
    if not names:
        return
    value = frame.eval(node)
    if names <= TENSORS | PARAMETERS:
        tensors = [v for v in alternatives(value) if type(v) is Tensor]
        if tensors:
            # Those known to be tensors account for the test: it says nothing of the others.
            tensors = [t for t in tensors if t.is_sure] or tensors
            for tensor in tensors:
                tensor.show()
            frame.state.hold(path, union(tensors))
        else:
            traits = PARAMETER if names <= PARAMETERS else 0
            frame.state.hold(path, Tensor(None, None, traits))  # somewhere: the test knows better
    elif "torch.Tensor" not in names:
        rest = [v for v in alternatives(value) if not (type(v) is Tensor and v.evidence is None)]
        held = [v for v in alternatives(value) if type(v) is Sequence or type(v) is Mapping]
        if names <= _NUMBERS and len(names) == len(kinds) and type(value) is not Const:
            frame.state.hold(path, HOST)
        elif names <= _HOLDERS and 0 < len(held) < len(alternatives(value)):
            frame.state.hold(path, union(held))  # the containers account for the test
        elif len(rest) < len(alternatives(value)):
            frame.state.hold(path, union(rest))
        elif "numpy.ndarray" in names or all(n.startswith("numpy.") for n in names):
            frame.state.hold(path, UNKNOWN)
            frame.state.env[NO_TENSOR + path] = value
        elif names <= _NUMBERS | _HOLDERS and len(names) == len(kinds) and type(value) is Tensor:
            frame.state.env[NO_TENSOR + path] = value  # it may hold some, where it would be itself


def is_module_class(frame: Frame, kind: Value) -> bool:
    if type(kind) is ClassValue:
        return kind.info.is_module
    known = frame.unit.context.knowledge.modules
    return type(kind) is External and known.get(kind.name) is not None


def _narrow_to_object(frame: Frame, node: cst.BaseExpression, path: str, kind: ClassValue) -> None:
    """What may be anything is an object of the class, with the attributes that its methods set; and
    of several modules, as of those in a list, it is one of that class."""
    value = frame.eval(node)
    if type(value) is Tensor and value.evidence is not None and not kind.info.is_module:
        frame.state.hold(path, Instance(kind.info, origin=value.origin))
    several = alternatives(value)
    if len(several) > 1 and all(type(v) is Instance and v.module for v in several):
        fitting = [v for v in several if _may_be_of(v, kind)]
        if 0 < len(fitting) < len(several):
            frame.state.hold(path, union(fitting))


def _may_be_of(value: Value, kind: ClassValue) -> bool:
    """An object of the class, or of a class that nothing shows to be another."""
    if type(value) is not Instance or value.info is None:
        return type(value) is Instance and not value.library
    lineage = value.info.lineage()
    bases = (base for each in lineage for base in each.bases)
    return kind.info in lineage or any(isinstance(b, Value) and is_untold(b) for b in bases)


def _narrow_no_tensor(frame: Frame, node: cst.Call, callee: str) -> None:
    """The branch where `isinstance(x, torch.Tensor)` is false, or `hasattr(x, "detach")`."""
    if callee not in ("isinstance", "torch.is_tensor", "hasattr") or not node.args:
        return
    path = dotted(node.args[0].value)
    asked = node.args[1].value if len(node.args) > 1 else None
    if callee == "hasattr":
        name = frame.eval(asked) if asked is not None else UNKNOWN
        methods = frame.unit.context.knowledge.methods
        excludes = type(name) is Const and name.value in methods and path != "self"
    else:
        excludes = callee == "torch.is_tensor"
        excludes = excludes or (asked is not None and _has_tensor(classes(frame, asked)))
    if path and excludes:
        _hold_no_tensor(frame, node.args[0].value, path)


def _has_tensor(kinds: list[Value]) -> bool:
    return any(type(k) is External and k.name == "torch.Tensor" for k in kinds)


def _hold_no_tensor(frame: Frame, node: cst.BaseExpression, path: str) -> None:
    """What is at a path is no tensor."""
    value = frame.eval(node)
    rest = [v for v in alternatives(value) if type(v) is not Tensor]
    frame.state.hold(path, union(rest) if rest else UNKNOWN)
    frame.state.env[NO_TENSOR + path] = value


def classes(frame: Frame, node: cst.BaseExpression) -> list[Value]:
    value = frame.eval(node)
    if type(value) is Sequence and value.items is not None:
        return list(value.items)
    if type(value) is not External and isinstance(node, cst.Name) and is_untold(value):
        return [External(node.value)]
    return [value]
