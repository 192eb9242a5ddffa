"""The state of an object over its methods: a call of one leaves others in its attributes.

rows = Rows(torch.rand(3, 4))     # `self.table = table`
rows.move("cuda")                 # `self.table = self.table.to(device)`
rows.table                        # on cuda
"""

from __future__ import annotations

from devlint.inference.domain.heap import latest
from devlint.inference.domain.host import NONE
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import UNKNOWN, Value, alternatives, union
from devlint.inference.program.declarations import Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Summary
from devlint.inference.summaries.arguments import Binding
from devlint.inference.summaries.callee_values import substitute


def left_by(frame: Frame) -> dict[str, Value]:
    """What a method leaves in the attributes that it assigns, or those that it calls: with the
    value before, where it does so in some of its branches only."""
    function = frame.function
    if function is None or function.info is None or function.name == "__init__":
        return {}
    found = dict(frame.outcome.left)
    for name in {name for name, *_ in frame.outcome.writes}:
        path = f"self.{name}"
        ends = [env.get(path) for env in frame.outcome.exits]
        found[name] = union(UNKNOWN if v is None else latest(v) for v in ends)
    return found


def leave(frame: Frame, function: Function, summary: Summary, binding: Binding) -> None:
    """A method of an object was called: what its attributes hold now."""
    if not summary.left:
        return
    holder = binding.holder
    if holder is None:
        if binding.inside and function.info is frame.info:
            frame.outcome.left |= {name: substitute(binding, v) for name, v in summary.left.items()}
        return
    fields = frame.fields_of(holder)
    entries = {
        name: _now(fields.entries[name], substitute(binding, value))
        for name, value in summary.left.items()
        if name in fields.entries
    }
    if entries:
        frame.write(fields, fields.putting(entries))


def _now(before: Value, left: Value) -> Value:
    """The value of an attribute after the call: unknown, where it is no tensor."""
    was_tensor = type(before) is Tensor and before.is_sure
    found: list[Value] = []
    for value in alternatives(left):
        if value is UNKNOWN:
            found.append(before)  # in some branch the method leaves it as it is
        elif type(value) is Tensor and was_tensor:
            found.append(Tensor(value.place, value.origin, value.traits))
        elif type(value) is Tensor or value is NONE:
            found.append(value)
        else:
            return UNKNOWN
    return union(found)
