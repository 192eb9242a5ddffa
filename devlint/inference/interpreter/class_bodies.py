"""Reading a class: its bases, its methods, and which of them assign or register an attribute."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.placement import Variable, VariableKind
from devlint.inference.domain.tensors import KEPT, Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.interpreter import contracts
from devlint.inference.interpreter.definitions import declare_function
from devlint.inference.interpreter.module_classes import (
    is_mixed_in,
    is_module_class,
    looks_like_module,
)
from devlint.inference.program.declarations import ClassInfo, classes_of
from devlint.inference.program.frames import Frame
from devlint.inference.program.values import ClassValue
from devlint.inference.syntax.attribute_moves import moved_attribute
from devlint.inference.syntax.text import code, dotted, every


def build_class(frame: Frame, node: cst.ClassDef) -> ClassInfo:
    """A class definition: bases and class body are evaluated now, methods later."""
    named = [frame.eval(argument.value) for argument in node.bases if argument.star == ""]
    bases = [base for each in named for base in alternatives(each)]  # `try: … except ImportError:`
    unit = frame.unit
    concerned = "torch" in unit.source.text
    is_module = any(is_module_class(unit, base) for base in bases) or (
        concerned and looks_like_module(frame, node, bases)
    )
    mixed_in = concerned and not is_module and is_mixed_in(frame, node.name.value)
    info = ClassInfo(
        name=node.name.value,
        node=node,
        unit=unit,
        bases=[base.info if type(base) is ClassValue else base for base in bases],
        is_module=is_module or mixed_in,
        variable=Variable(
            "self", VariableKind.MODULE if is_module or mixed_in else VariableKind.FLEXIBLE
        ),
        mixed_in=mixed_in,
    )
    classes_of(unit).append(info)
    body = Frame(unit, frame.interpreter, frame.function, frame, info)

    for statement in node.body.body:
        if isinstance(statement, cst.FunctionDef):
            method = declare_function(frame, statement, info)
            function = method.function
            name = statement.name.value
            if name in info.methods and any(d.endswith(".setter") for d in function.decorators):
                info.methods[f"{name}.setter"] = function
                _scan(info, frame, f"{name}.setter", statement.body)
                continue
            info.methods[name] = function
            body.state.env[name] = method
            _scan(info, frame, name, statement.body)
        else:
            if isinstance(statement, cst.SimpleStatementLine):
                _declare(info, frame, statement)
            body.execute(statement)
    for name, callee, attribute in info.handed:
        helper = info.method(callee)
        if helper is not None and helper.registers is not None:
            _writer(info, attribute, name)
    for name, value in body.state.env.items():
        if isinstance(name, str) and name not in info.methods:
            info.members[name] = _class_member(info, value)
    return info


def _class_member(info: ClassInfo, value: Value) -> Value:
    if info.is_module and type(value) is Tensor and type(value.place) is not Variable:
        return Tensor(value.place, value.origin, value.traits | KEPT, value.evidence)
    return value


_SIMPLE = (cst.SimpleStatementLine, cst.SimpleStatementSuite)


def _declare(info: ClassInfo, frame: Frame, line: cst.SimpleStatementLine) -> None:
    """The contracts of attributes: in the class body, and of `self.name` in its methods."""
    for small in line.body:
        if isinstance(small, cst.AnnAssign):
            declared = contracts.of_annotation(frame, small.annotation.annotation)
            target = small.target
        elif isinstance(small, cst.Assign):
            declared, target = None, small.targets[0].target
        else:
            continue
        if frame.unit.has_contract_comments:
            declared = contracts.of_line(frame, line) or declared
        name = dotted(target).removeprefix("self.")
        if declared is not None and name and "." not in name:
            info.declared.setdefault(name, declared)


def _scan(info: ClassInfo, frame: Frame, method: str, suite: cst.BaseSuite) -> None:
    """Which attributes of `self` a method assigns, by its statements alone."""
    for statement in suite.body:
        if isinstance(statement, _SIMPLE):
            if isinstance(statement, cst.SimpleStatementLine):
                _declare_own(info, frame, statement)
            for small in statement.body:
                if isinstance(small, cst.Assign):
                    for target in small.targets:
                        _scan_target(info, method, target.target)
                        _scan_assignment(info, suite, target.target, small.value)
                        moved = moved_attribute(target.target, small.value)
                        if moved:
                            info.moved.setdefault(moved, set()).add(method)
                elif isinstance(small, (cst.AnnAssign, cst.AugAssign)):
                    _scan_target(info, method, small.target)
                    if isinstance(small, cst.AnnAssign) and small.value is not None:
                        _scan_assignment(info, suite, small.target, small.value)
                elif isinstance(small, cst.Expr):
                    _scan_registration(info, method, small.value)
            continue
        if isinstance(statement, cst.FunctionDef):
            _scan_inner(info, f"{method}.{statement.name.value}", statement)
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
            continue
        if isinstance(statement, cst.With):
            for item in statement.items:
                if item.asname is not None:
                    _scan_target(info, method, item.asname.name)
        for part in _suites(statement):
            _scan(info, frame, method, part)


def _scan_inner(info: ClassInfo, name: str, function: cst.FunctionDef) -> None:
    """A function in a method, as a hook, assigns attributes of the method's object whenever it is
    called: what the constructor leaves there is what they begin with."""
    first = next(iter(function.params.params), None)
    if first is not None and first.name.value == "self":
        return  # its own
    for each in every(function.body, cst.AssignTarget):
        owner, _, attribute = dotted(each.target).partition(".")
        if owner == "self" and attribute and "." not in attribute:
            info.moved.setdefault(attribute, set()).add(name)


def _declare_own(info: ClassInfo, frame: Frame, line: cst.SimpleStatementLine) -> None:
    """`self.table: Annotated[Tensor, On("cpu")] = …`."""
    first = line.body[0] if line.body else None
    if isinstance(first, cst.AnnAssign):
        target: cst.CSTNode = first.target
    elif isinstance(first, cst.Assign) and frame.unit.has_contract_comments:
        target = first.targets[0].target
    else:
        return
    if isinstance(target, cst.Attribute) and dotted(target.value) == "self":
        _declare(info, frame, line)


def _suites(statement: cst.CSTNode) -> list[cst.BaseSuite]:
    found: list[cst.BaseSuite] = []
    for name in ("body", "orelse", "finalbody"):
        part = getattr(statement, name, None)
        if isinstance(part, cst.BaseSuite):
            found.append(part)
        elif isinstance(part, cst.If):
            found += _suites(part)
        elif part is not None and hasattr(part, "body"):
            found.append(part.body)
    found += [handler.body for handler in getattr(statement, "handlers", ())]
    found += [case.body for case in getattr(statement, "cases", ())]
    return found


def _scan_target(info: ClassInfo, method: str, target: cst.CSTNode) -> None:
    if isinstance(target, cst.Attribute):
        if isinstance(target.value, cst.Name) and target.value.value == "self":
            _writer(info, target.attr.value, method)
        elif target.attr.value == "data" and dotted(target.value)[5:] in info.writers:
            _scan_target(info, method, target.value)  # as if it were assigned
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            _scan_target(info, method, element.value)
    elif isinstance(target, cst.Subscript):
        _scan_target(info, method, target.value)


def _scan_assignment(
    info: ClassInfo, suite: cst.BaseSuite, target: cst.BaseExpression, value: cst.BaseExpression
) -> None:
    if isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            _scan_assignment(info, suite, element.value, value)
    elif isinstance(target, cst.Attribute) and dotted(target.value) == "self":
        info.assigned.setdefault(target.attr.value, []).append((suite, value))


def _scan_registration(info: ClassInfo, method: str, node: cst.CSTNode) -> None:
    if not (isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.args):
        return
    called = node.func.attr.value
    first = node.args[0].value
    name = first.evaluated_value if isinstance(first, cst.SimpleString) else None
    if called in ("register_buffer", "register_parameter", "add_module", "add_state"):
        if isinstance(name, str):
            _writer(info, name, method)
        elif isinstance(first, cst.Name) and called != "add_state":
            info.methods[method].registers = (called, first.value)
    elif isinstance(name, str) and code(node.func.value) == "self":
        info.handed.append((method, called, name))


def _writer(info: ClassInfo, name: str, method: str) -> None:
    writers = info.writers.setdefault(name, [])
    if method not in writers:
        writers.insert(0 if method == "__init__" else len(writers), method)


def declare_class(frame: Frame, node: cst.ClassDef) -> ClassValue:

    return ClassValue(build_class(frame, node))
