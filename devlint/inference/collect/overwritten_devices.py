"""Devices that a function takes, and replaces by its own choice before it reads them.

    def evaluate(path, device="cpu"):
        device = "cuda" if torch.cuda.is_available() else "cpu"     # whatever was asked for
        return torch.load(path, map_location=device)

The law: the first statement of a function that mentions its device binds it anew on every branch,
to a device that is written there or goes by what the machine has. Where the parameter is read on
the way, by a condition or a value, it has a say; and a signature may be asked for by others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from devlint.inference.collect.devices_beside import uses
from devlint.inference.collect.unread_devices import is_demanded
from devlint.inference.facts import DroppedArgument, Neglect
from devlint.inference.models.devices import written_device
from devlint.inference.program.events import FunctionReturns
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import dotted, shorten


def of_function(frame: Frame, event: FunctionReturns) -> None:
    """Note the first assignment that replaces each such device."""
    function = event.function
    if not isinstance(function.node, cst.FunctionDef) or frame.unit.is_test:
        return
    body = function.node.body
    if not isinstance(body, cst.IndentedBlock):
        return
    for parameter in function.parameters:
        name = parameter.name
        if not parameter.is_device or not function.contains(f"{name} = "):
            continue
        choice = list(_replaced(body.body, name))
        if not choice or is_demanded(frame.unit, function, name):
            continue
        if all(_is_own(frame, assign.value) for assign in choice):
            at = choice[0]
            frame.unit.dropped[at] = DroppedArgument(
                frame.site(at),
                function.name,
                name,
                shorten(at.value),
                None,
                neglect=Neglect.OVERWRITTEN,
            )


def _replaced(statements: Sequence[cst.BaseStatement], name: str) -> Iterator[cst.Assign]:
    """The assignments of which one comes first on every way through some statements; none if there
    is a way on which the name is read before, or keeps what it has."""
    for statement in statements:
        if not uses(statement, name):
            continue
        if isinstance(statement, cst.If):
            found = [list(_replaced(branch, name)) for branch in _branches(statement)]
            if all(found) and not uses(statement.test, name):
                for assigns in found:
                    yield from assigns
        elif isinstance(statement, cst.SimpleStatementLine):
            first = statement.body[0]
            if (
                isinstance(first, cst.Assign)
                and [dotted(target.target) for target in first.targets] == [name]
                and not uses(first.value, name)
            ):
                yield first
        return


def _branches(statement: cst.If) -> Iterator[Sequence[cst.BaseStatement]]:
    """What is run if the condition holds, and if not: nothing, perhaps."""
    other = statement.orelse
    for body in (statement.body, other.body if isinstance(other, cst.Else) else None):
        if isinstance(other, cst.If) and body is None:
            yield (other,)
        else:
            yield body.body if isinstance(body, cst.IndentedBlock) else ()


def _is_own(frame: Frame, value: cst.BaseExpression) -> bool:
    """`"cuda"`, `torch.device("cpu")`, `"cuda" if torch.cuda.is_available() else "cpu"`."""
    if isinstance(value, cst.IfExp):
        return _is_own(frame, value.body) and _is_own(frame, value.orelse)
    if isinstance(value, cst.Call) and dotted(value.func).endswith("torch.device"):
        return bool(value.args) and _is_own(frame, value.args[0].value)
    return isinstance(value, cst.SimpleString) and written_device(frame.eval(value)) is not None
