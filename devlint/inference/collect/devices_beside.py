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
    is_told = function.info is None or any(
        "device" in each.assigned for each in function.info.lineage()
    )
    handed = None if is_told else _Handed(function, name)
    for moved, to, call in moves:
        if to != "self.device" or moved.startswith("self."):
            continue
        if handed is None or not handed.is_for_own_module(call):
            yield call.args[0].value


class _Handed:
    """What the calls of a function are handed, and the names that it binds, found in one walk."""

    def __init__(self, function: Function, name: str) -> None:
        body = function.node.body
        self.text, self.name = function.text, name
        self.calls: dict[cst.CSTNode, cst.Call] = {}  # by what they are handed
        self.bound: dict[cst.CSTNode, tuple[cst.Assign, str]] = {}  # calls, in what a name gets
        self.there: set[str] = set()  # names of what is made of the device that was given
        self.reads: dict[str, set[cst.CSTNode]] = {}
        for call in every(body, cst.Call):
            self.calls.update((argument.value, call) for argument in call.args)
        no_reads: set[cst.CSTNode | None] = {t.target for t in every(body, cst.AssignTarget)}
        no_reads.update(attribute.attr for attribute in every(body, cst.Attribute))
        no_reads.update(argument.keyword for argument in every(body, cst.Arg))
        for each in every(body, cst.Name):
            if each not in no_reads:
                self.reads.setdefault(each.value, set()).add(each)
        for assign in every(body, cst.Assign):
            names = [dotted(target.target) for target in assign.targets]
            if len(names) == 1:
                inner = every(assign.value, cst.Call)
                self.bound.update((call, (assign, names[0])) for call in inner)
            if uses(assign.value, name):
                self.there.update(names)

    def is_for_own_module(self, move: cst.Call) -> bool:
        """What goes to the object's own device is only handed to a module of the object, beside
        nothing of the other device, and nobody brings that module there."""
        calls = [self.calls[move]] if move in self.calls else self._calls_with(move)
        return bool(calls) and all(
            dotted(call.func).startswith("self.")
            and not any(uses(a, self.name) or dotted(a.value) in self.there for a in call.args)
            and f"{dotted(call.func)}.to({self.name}" not in self.text
            for call in calls
        )

    def _calls_with(self, move: cst.Call) -> list[cst.Call]:
        """The calls that are handed what a name holds; none if anything else is done with it."""
        if move not in self.bound:
            return []
        assign, name = self.bound[move]
        read = self.reads.get(name, set()) - set(every(assign.value, cst.Name))
        found = [self.calls[each] for each in read if each in self.calls]
        return found if len(found) == len(read) else []


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
