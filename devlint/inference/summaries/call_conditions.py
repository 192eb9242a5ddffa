"""Conditions of a callee on its parameters, as a call's arguments decide them."""

from __future__ import annotations

from collections.abc import Hashable

import libcst as cst

from devlint.inference.domain import path_conditions
from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import Const, Host
from devlint.inference.domain.path_conditions import Literal, PathCondition, Predicate
from devlint.inference.domain.tensors import (
    Tensor,
)
from devlint.inference.domain.value import (
    Value,
)
from devlint.inference.interpreter.comparisons import truth_of
from devlint.inference.program import shape_tests, tests
from devlint.inference.summaries.arguments import Binding
from devlint.inference.syntax.text import plain_parameters

_TENSORS = frozenset({"torch.Tensor", "Tensor"})
_ARRAYS = frozenset({"np.ndarray", "numpy.ndarray", "ndarray"})


# Python's own classes, of which no tensor and no array is one.
_PLAIN = frozenset({"bool", "dict", "float", "int", "list", "set", "str", "tuple"})


def chosen(binding: Binding, when: PathCondition) -> PathCondition:
    """Facts of the callee: they hold for this call alone."""
    for choice, _, _ in when:
        if choice not in binding.choices:
            seen = tests.seen_from(binding.frame, choice, binding.function, _expressions(binding))
            binding.choices[choice] = seen
    return tuple((binding.choices[choice], is_so, value) for choice, is_so, value in when)


def own_facts(binding: Binding, when: PathCondition) -> PathCondition:
    """Facts of a method on its own object, where that is the caller's own as well."""
    if not binding.inside:
        return path_conditions.ALWAYS
    return chosen(binding, tuple(fact for fact in when if tests.is_on_own_object(fact[0])))


def facts_of(binding: Binding, when: PathCondition) -> PathCondition:
    """What this call's arguments say of the callee's choices on a parameter alone."""
    found = (_by_shape(binding, fact) or _by_argument(binding, fact[0]) for fact in when)
    return tuple(fact for fact in found if fact is not None)


def _by_argument(binding: Binding, choice: Predicate) -> Literal | None:
    """What an argument itself says: its kind, its truth, or that it is not None."""
    if choice.born:
        return None
    subject, asks_truth = choice.subject, False
    if isinstance(subject, tuple) and subject[0] == "bool":
        subject, asks_truth = subject[1], True
    answer = _is_instance(binding, subject) if asks_truth else None
    actual = _known(binding, subject) if answer is None else None
    if asks_truth and actual is not None:
        answer = truth_of(actual)
    if answer is not None:
        return choice, answer, path_conditions.TRUE
    if asks_truth or actual is None:
        return None
    if type(actual) is Const:
        return choice, True, repr(actual.value)
    return (choice, False, "None") if type(actual) is Tensor and actual.is_sure else None


def _by_shape(binding: Binding, fact: Literal) -> Literal | None:
    """What the shape of a tensor that is handed in says: `mask.size(1) != 0` of
    `torch.ones((0, 0))`."""
    path = shape_tests.asked_tensor(fact[0].subject) if not fact[0].born else ""
    actual = _known(binding, path) if path else None
    if type(actual) is not Tensor or not actual.is_sure:
        return None
    return shape_tests.literal(fact, actual)


def _is_instance(binding: Binding, subject: Hashable) -> bool | None:
    """`isinstance(x, np.ndarray)`, `isinstance(x, (int, float))`, of what this call hands
    in."""
    if not (isinstance(subject, tuple) and len(subject) == 4 and subject[0] is cst.Call):
        return None
    _, func, name, kind = subject
    if func != "isinstance" or name not in binding.given:
        return None
    kinds = kind[1:] if isinstance(kind, tuple) and kind and kind[0] is cst.Tuple else (kind,)
    answers = [_is_of(binding.given[name][0], each) for each in kinds]
    if True in answers:
        return True
    return None if None in answers else False


def _known(binding: Binding, subject: Hashable) -> Value | None:
    """A parameter, one of a tuple that is handed in, or what the object of a method holds by
    the call that made it."""
    if isinstance(subject, tuple) and len(subject) == 3 and subject[0] is cst.Subscript:
        held, index = _known(binding, subject[1]), subject[2]
        if type(held) is not Sequence or held.kind != "tuple" or held.items is None:
            return None
        known = isinstance(index, str) and index.isdigit() and int(index) < len(held.items)
        return held.items[int(index)] if known else None
    if not isinstance(subject, str):
        return None
    if subject in binding.given:
        return binding.given[subject][0]
    owner, _, name = subject.partition(".")
    parameters = binding.function.parameters
    if binding.holder is None or not parameters or owner != parameters[0].name:
        return None
    return binding.frame.fields_of(binding.holder).entries.get(name)


def _expressions(binding: Binding) -> dict[str, cst.BaseExpression]:
    """What the caller wrote for each parameter, and for the object of a method."""
    params = binding.function.node.params
    found = {p.name.value: p.default for p in plain_parameters(params) if p.default is not None}
    for name, (_, node) in binding.given.items():
        if isinstance(node, cst.BaseExpression) and node is not binding.node:
            found[name] = node
    parameters = binding.function.parameters
    if binding.function.info is not None and parameters and isinstance(binding.node, cst.Call):
        func = binding.node.func
        found.setdefault(
            parameters[0].name, func.value if isinstance(func, cst.Attribute) else func
        )
    return found


def _is_of(value: Value, kind: Hashable) -> bool | None:
    """Whether a value is an instance of a class, by the name that the test gives it; None where
    the value or the class may be anything."""
    if kind not in _TENSORS and kind not in _ARRAYS and kind not in _PLAIN:
        return None
    if type(value) is Tensor and value.is_sure:
        return kind in _TENSORS
    if type(value) is Host and value.array:
        return kind in _ARRAYS
    return None
