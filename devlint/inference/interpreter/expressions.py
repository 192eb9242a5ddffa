"""Expressions other than operators, subscripts and calls."""

from __future__ import annotations

from contextlib import ExitStack

import libcst as cst

from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import FALSE, GLOBAL_RANK, HOST, NONE, TRUE, Const, External
from devlint.inference.domain.path_conditions import lasting
from devlint.inference.domain.tensors import Tensor, tensor_like
from devlint.inference.domain.value import (
    UNKNOWN,
    Union,
    Value,
    alternatives,
    join,
    possible,
    union,
)
from devlint.inference.interpreter.assignments import assign
from devlint.inference.interpreter.attributes import attribute_of
from devlint.inference.interpreter.branches import enter_branch
from devlint.inference.interpreter.definitions import lambda_value
from devlint.inference.interpreter.iteration import hotness_of, loop_of
from devlint.inference.models.devices import named_device
from devlint.inference.program.events import DeviceFormatted, HostWaits, TypeNamed
from devlint.inference.program.frames import EVALUATORS, Frame
from devlint.inference.program.values import read
from devlint.inference.syntax.text import dotted

_CONSTANTS: dict[str, Value] = {"None": NONE, "True": TRUE, "False": FALSE}


# What frameworks call a process's number among those of all nodes.
_GLOBAL_RANKS = frozenset({"process_index", "global_rank"})


def _name(frame: Frame, node: cst.Name) -> Value:
    name = node.value
    value = read(frame.state.env, name)
    if value is not None:
        return possible(value, frame.state.when) if frame.state.when else value
    constant = _CONSTANTS.get(name)
    if constant is not None:
        return constant
    value = frame.lookup(name)
    return UNKNOWN if value is None else value


def _attribute(frame: Frame, node: cst.Attribute) -> Value:
    path = dotted(node)
    if path:
        held = frame.held(path)
        if held is not None:
            return possible(held, frame.state.when) if frame.state.when else held
    value = attribute_of(frame, node, frame.eval(node.value), node.attr.value)
    if node.attr.value in _GLOBAL_RANKS and (
        type(value) not in (Const, Union) or GLOBAL_RANK in alternatives(value)
    ):
        return GLOBAL_RANK
    if type(value) is External:
        frame.emit(TypeNamed(node, value))
    return value


def _string(frame: Frame, node: cst.SimpleString) -> Value:
    text = node.value
    first = text[0]
    if first in "'\"":
        quote = 3 if text[:3] in ("'''", '"""') else 1
        inner = text[quote:-quote]
        return Const(inner) if "\\" not in inner else HOST
    return HOST


def _concatenated(frame: Frame, node: cst.ConcatenatedString) -> Value:
    left, right = frame.eval(node.left), frame.eval(node.right)
    if type(left) is Const and type(right) is Const:
        return Const(str(left.value) + str(right.value))
    return HOST


def _formatted(frame: Frame, node: cst.FormattedString) -> Value:
    text: str | None = ""
    for part in node.parts:
        if isinstance(part, cst.FormattedStringText):
            text = None if text is None else text + part.value
            continue
        if not isinstance(part, cst.FormattedStringExpression):
            text = None
            continue
        value = frame.eval(part.expression)
        if type(value) is Tensor:
            frame.emit(HostWaits(part, "f-string", value, part.expression))
        if type(value) is Const and text is not None and part.format_spec is None:
            text += str(value.value)
        elif text in ("cuda:", "xpu:", "mps:"):
            frame.emit(DeviceFormatted(node, value))
            return named_device(frame, dotted(part.expression) or "index", text == "cuda:")
        else:
            text = None
    return HOST if text is None else Const(text)


def _integer(frame: Frame, node: cst.Integer) -> Value:
    try:
        return Const(int(node.value.replace("_", ""), 0))
    except ValueError:  # more digits than int() reads
        return HOST


def _host(frame: Frame, node: cst.BaseExpression) -> Value:
    return HOST


def _list(frame: Frame, node: cst.List | cst.Tuple | cst.Set) -> Value:
    kind = "tuple" if type(node) is cst.Tuple else "list"
    items: list[Value] = []
    stars: list[int] = []  # where there are as many as nobody knows
    for element in node.elements:
        value = frame.eval(element.value)
        if type(element) is cst.StarredElement:
            if type(value) is Sequence and value.items is not None:
                items.extend(value.items)
                continue
            value = frame.interpreter.element_of(frame, value, element.value)
            stars.append(len(items))
        items.append(value)
    if stars or len(items) > 64:
        found = Sequence(None, union(items) if items else None, kind, node)
        if len(stars) == 1:
            found.spread = (items, stars[0])
        return found
    return Sequence(items, None, kind, node)


def _dict(frame: Frame, node: cst.Dict) -> Value:
    result = Mapping()
    for element in node.elements:
        if isinstance(element, cst.DictElement):
            key = frame.eval(element.key)
            value = frame.eval(element.value)
            if type(key) is Const and len(result.entries) < 128:
                try:
                    result.entries[key.value] = value
                    continue
                except TypeError:
                    pass
            result.element = value if result.element is None else join(result.element, value)
        else:
            value = frame.eval(element.value)
            if type(value) is Mapping:
                result.entries.update(value.entries)
                if value.element is not None:
                    result.element = value.element
            elif type(value) is Tensor:
                result.element = tensor_like(value)
    return result


def _comprehension(frame: Frame, node: cst.BaseSimpleComp | cst.DictComp) -> Value:
    with frame.aside() as around, ExitStack() as loops:
        since = around.clock.now
        _enter(frame, node.for_in, node, loops)
        if isinstance(node, cst.DictComp):
            frame.eval(node.key)
        written = node.value if isinstance(node, cst.DictComp) else node.elt
        made = frame.eval(written)
        if type(made) is Sequence and made.node is written:
            for address in made.addresses:
                address.many = True
        # Its names are its own; where it put modules and elements outlives it.
        around.env.update({k: v for k, v in frame.state.env.items() if type(k) is not str})
    element = made.with_facts(lambda when: lasting(when, since))  # as far as it holds for all
    if isinstance(node, cst.DictComp):
        return Mapping({}, element)
    kind = "iterator" if type(node) is cst.GeneratorExp else "list"
    return Sequence(None, element, kind, node)


def _enter(frame: Frame, clause: cst.CompFor, whole: cst.CSTNode, loops: ExitStack) -> None:
    """Enter the loops of a comprehension, one in the other."""
    while True:
        iterable = frame.eval(clause.iter)
        heat = hotness_of(frame, clause, iterable)
        loop = loop_of(frame, whole, clause.iter, heat, since=frame.state.clock.now)
        loops.enter_context(frame.under(loop=loop))
        assign(
            frame,
            clause.target,
            frame.interpreter.element_of(frame, iterable, clause.iter),
            clause.iter,
        )
        for condition in clause.ifs:
            frame.eval(condition.test)
            enter_branch(frame, condition.test, True)
        if clause.inner_for_in is None:
            return
        clause = clause.inner_for_in


def _lambda(frame: Frame, node: cst.Lambda) -> Value:
    return lambda_value(frame, node)


def _named(frame: Frame, node: cst.NamedExpr) -> Value:

    value = frame.eval(node.value)
    assign(frame, node.target, value, node.value)
    return value


def _await(frame: Frame, node: cst.Await) -> Value:
    return frame.eval(node.expression)


def _yield(frame: Frame, node: cst.Yield) -> Value:
    if node.value is None:
        return UNKNOWN
    if isinstance(node.value, cst.From):
        value = frame.eval(node.value.item)
        frame.outcome.yields.append(frame.interpreter.element_of(frame, value, node.value.item))
    else:
        frame.outcome.yields.append(frame.eval(node.value))
    return UNKNOWN


EVALUATORS.update(
    {
        cst.Name: _name,
        cst.Attribute: _attribute,
        cst.SimpleString: _string,
        cst.ConcatenatedString: _concatenated,
        cst.FormattedString: _formatted,
        cst.Integer: _integer,
        cst.Float: _host,
        cst.Imaginary: _host,
        cst.Ellipsis: _host,
        cst.List: _list,
        cst.Tuple: _list,
        cst.Set: _list,
        cst.Dict: _dict,
        cst.ListComp: _comprehension,
        cst.SetComp: _comprehension,
        cst.GeneratorExp: _comprehension,
        cst.DictComp: _comprehension,
        cst.Lambda: _lambda,
        cst.NamedExpr: _named,
        cst.Await: _await,
        cst.Yield: _yield,
    }
)
