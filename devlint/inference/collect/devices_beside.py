"""Two devices in one method: some values go to the one that it was given, others to `self.device`.

    def encode(self, rows, device):
        mask = torch.ones(len(rows)).to(device)
        return self.net(torch.tensor(rows).to(self.device), mask)

Nothing is left out where the class says nothing of its `device`, so that it is where the modules
are that its base keeps, and what goes there is only for one of these.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.program.declarations import Function
from devlint.inference.syntax.text import code, dotted, every, parts


def beside(function: Function, name: str) -> Iterator[cst.BaseExpression]:
    """Inputs go to `self.device`, where others of the function go to the device that was given."""
    if not function.contains("self.device") or function.name == "__init__":
        return
    body = function.node.body
    moves = [
        (dotted(call.func.value), dotted(call.args[0].value), call)
        for call in every(body, cst.Call)
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "to" and call.args
    ]
    placed = any(to == name for _, to, _ in moves) or any(
        argument.keyword is not None
        and argument.keyword.value == "device"
        and dotted(argument.value) == name
        for argument in every(body, cst.Arg)
    )
    if not placed or _is_related(body, name):
        return
    for moved, to, call in moves:
        if to != "self.device" or moved.startswith("self."):
            continue
        if not _is_for_own_module(function, name, call):
            yield call.args[0].value


def _is_for_own_module(function: Function, name: str, move: cst.Call) -> bool:
    """What goes to the object's own device is only handed to a module of the object, beside nothing
    of the other device, and nobody brings that module there."""
    info = function.info
    if info is None or any("device" in each.assigned for each in info.lineage()):
        return False
    body = function.node.body
    handed = [call for call in every(body, cst.Call) if _takes(call, move)]
    for assign in every(body, cst.Assign):
        if any(move is call for call in every(assign.value, cst.Call)) and not handed:
            bound = [dotted(target.target) for target in assign.targets]
            handed = _all_calls_with(body, assign, bound)
    there = {
        dotted(target.target)
        for assign in every(body, cst.Assign)
        if uses(assign.value, name)
        for target in assign.targets
    }
    return bool(handed) and all(
        dotted(call.func).startswith("self.")
        and not any(uses(each, name) or dotted(each.value) in there for each in call.args)
        and f"{dotted(call.func)}.to({name}" not in function.text
        for call in handed
    )


def _takes(call: cst.Call, value: cst.CSTNode) -> bool:
    return any(argument.value is value for argument in call.args)


def _all_calls_with(body: cst.CSTNode, made: cst.Assign, names: list[str]) -> list[cst.Call]:
    """The calls that are handed what these names hold; none if anything else is done with it."""
    if len(names) != 1:
        return []
    own = set(every(made, cst.Name))
    read = {use for use in uses(body, names[0]) if use not in own} - {
        target for each in every(body, cst.AssignTarget) for target in uses(each, names[0])
    }
    found = [
        (call, argument.value)
        for call in every(body, cst.Call)
        for argument in call.args
        if argument.value in read
    ]
    return [call for call, _ in found] if len(found) == len(read) else []


def _is_related(body: cst.CSTNode, name: str) -> bool:
    """Some line makes the one of the other, or compares them. What is only taken where no device
    was given relates nothing: `device = device or self.device`."""
    pairs: list[tuple[cst.CSTNode, cst.CSTNode]] = []
    filled_in: set[cst.CSTNode] = set()
    for test in every(body, cst.If):
        if _asks_whether_given(test.test, name):
            filled_in.update(every(test.body, cst.SimpleStatementLine))
        else:
            pairs += [(test.test, test.test), (test.body, test.test)]
    pairs += [
        (line, line)
        for line in every(body, cst.SimpleStatementLine)
        if line not in filled_in and not _fills_in(line, name)
    ]
    return any(
        holds("mention", code(where), "self.device") and uses(test, name) for where, test in pairs
    )


def _asks_whether_given(test: cst.BaseExpression, name: str) -> bool:
    """`device is None`, `not device`."""
    return code(test) in (f"{name} is None", f"not {name}")


def _fills_in(line: cst.SimpleStatementLine, name: str) -> bool:
    """`device = device or …`, `device = … if device is None else device`."""
    return any(
        isinstance(each, cst.Assign)
        and [dotted(target.target) for target in each.targets] == [name]
        and bool(others(each.value, name))
        for each in line.body
    )


def others(value: cst.BaseExpression, name: str) -> list[cst.BaseExpression]:
    """What is taken where the device is None."""
    if isinstance(value, cst.Call) and dotted(value.func) == "torch.device" and value.args:
        return others(value.args[0].value, name)
    if isinstance(value, cst.BooleanOperation) and isinstance(value.operator, cst.Or):
        return [value.right] if dotted(value.left) == name else []
    if not isinstance(value, cst.IfExp):
        return []
    if not uses(value.test, name):  # `device or "cuda" if available else "cpu"`
        return others(value.body, name)
    branches = [value.body, value.orelse]
    taken = [branch for branch in branches if not uses(branch, name)]
    return taken if len(taken) == 1 else []


def uses(node: cst.CSTNode, name: str) -> list[cst.Name]:
    """Where a variable is read: no keyword, and no attribute of that name."""
    if isinstance(node, cst.Name):
        return [node] if node.value == name else []
    inner = (node.value,) if isinstance(node, (cst.Attribute, cst.Arg)) else parts(node)
    return [use for part in inner for use in uses(part, name)]
