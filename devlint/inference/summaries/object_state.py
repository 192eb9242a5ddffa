"""The state of an object over its methods: a call of one leaves others in its attributes.

rows = Rows(torch.rand(3, 4))     # `self.table = table`
rows.move("cuda")                 # `self.table = self.table.to(device)`
rows.table                        # on cuda

Entries of arguments that a call moves are left in them in the same way.
"""

from __future__ import annotations

from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.heap import latest
from devlint.inference.domain.host import NONE
from devlint.inference.domain.placement import CPU
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import UNKNOWN, Value, alternatives, is_untold, join, union
from devlint.inference.models import objects
from devlint.inference.models.moves.objects import MOVERS
from devlint.inference.program.declarations import Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Parameter, Summary
from devlint.inference.program.outcomes import MovedEntry
from devlint.inference.program.values import Instance, Placed
from devlint.inference.summaries.arguments import Binding
from devlint.inference.summaries.callee_values import substitute
from devlint.inference.syntax.text import dotted


def left_by(frame: Frame) -> dict[str, Value]:
    """What a method leaves in the attributes that it assigns, or those that it calls: with the
    value before, where it does so in some of its branches only."""
    function = frame.function
    if function is None or function.info is None or function.name == "__init__":
        return {}
    found = dict(frame.outcome.left)
    own = {name for name, *_ in frame.outcome.writes}
    for name in own | found.keys():
        ends = [env.get(f"self.{name}") for env in frame.outcome.exits]
        if name in own or None not in ends:
            found[name] = union(UNKNOWN if v is None else latest(v) for v in ends)
    return found


def leave(frame: Frame, function: Function, summary: Summary, binding: Binding) -> None:
    """A method of an object was called: where the object is, and what its attributes hold now."""
    holder = binding.holder
    if function.moves_object and function.name not in MOVERS:
        if holder is None and frame.function is not None:
            frame.function.moves_object = True
        elif holder is not None and holder.module:
            frame.state.env[holder] = Placed(None, None)
    if not summary.left:
        return
    of_base = holder is not None and holder is frame.instance
    if holder is None or of_base:
        lineage = frame.info.lineage() if frame.info is not None else ()
        if (binding.inside or of_base) and function.info in lineage:
            frame.outcome.left |= {name: substitute(binding, v) for name, v in summary.left.items()}
            for name, value in summary.left.items():
                _leave_own(frame, name, value, summary.kept.get(name, UNKNOWN), binding)
        return
    fields = frame.fields_of(holder)
    for name in summary.left.keys() & fields.entries.keys():
        held = fields.entries[name]
        is_module = type(held) is Instance and held.module
        if is_module and _is_moved(summary.left[name]):  # in place: the caller has the same one
            frame.state.env[held] = Placed(None, None)
    entries = {
        name: _now(fields.entries[name], substitute(binding, value))
        for name, value in summary.left.items()
        if name in fields.entries
    }
    for name, value in summary.left.items():
        of_method = summary.kept.get(name, UNKNOWN) if value is UNKNOWN else value
        left = substitute(binding, of_method)
        if name not in entries and _is_rebound(left):
            entries[name] = left if _is_told(left) and not holder.module else UNKNOWN
    if entries:
        frame.write(fields, fields.putting(entries))


def _is_rebound(left: Value) -> bool:
    """A method put a tensor of its caller's, one of a device, or what nothing is known of into an
    attribute: what the constructor left is no longer there.

    scale = Scale()             # `self.register_buffer("top", torch.ones(1))`
    scale.fit(rows)             # `self.top = rows.amax(0)`
    scale.top                   # where `rows` is, unless the module was moved since
    """
    values = [value for value in alternatives(left) if value is not UNKNOWN]
    return not values or any(type(v) is Tensor and v.place != CPU for v in values)


def _is_told(left: Value) -> bool:
    """A method leaves tensors in any case, and where they are is known."""
    return all(type(v) is Tensor and v.is_sure and v.place for v in alternatives(left))


def _leave_own(frame: Frame, name: str, left: Value, kept: Value, binding: Binding) -> None:
    """A method of the same object was called: from here on an attribute is as that leaves it,
    whatever other methods do, and no more what was assigned before.

    self.rows = torch.zeros(3)
    self.place()                # `self.rows = self.rows.cuda()`
    self.rows                   # on cuda
    """
    path = f"self.{name}"
    before = frame.state.env.get(path)
    is_kept = all(type(v) is Tensor and v.is_sure for v in alternatives(kept))
    is_left = not any(is_untold(v) for v in alternatives(left))
    if is_kept and is_left:
        frame.outcome.kept[name] = kept
        frame.bind(path, substitute(binding, kept))
    elif before is not None:
        frame.bind(path, join(before, substitute(binding, kept)) if is_kept else UNKNOWN)
    else:
        frame.touch(path)


def _is_moved(left: Value) -> bool:
    """`self.net = self.net.cuda()`, in some branch at least."""
    origins = (v.origin for v in alternatives(left) if type(v) is Tensor)
    return any(origin is not None and origin.kind is StepKind.MOVED for origin in origins)


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


def leave_entries(frame: Frame, summary: Summary, binding: Binding) -> None:
    """A function was called that moves entries of its arguments: what these hold now."""
    for entry in summary.moved_entries:
        for parameter in summary.parameters:
            if _is_entry_of(entry, parameter) and parameter.name in binding.given:
                actual, node = binding.given[parameter.name]
                moved = substitute(binding, entry.moved)
                if type(moved) is Tensor:
                    _put(frame, actual, dotted(node), entry.key, moved)


def _is_entry_of(entry: MovedEntry, parameter: Parameter) -> bool:
    return any(
        type(v) is Tensor and v.evidence is entry.holder for v in alternatives(parameter.value)
    )


def _put(frame: Frame, actual: Value, path: str, key: object, moved: Tensor) -> None:
    """One of the entries of a container holds this, or all do."""
    for holder in alternatives(actual):
        if type(holder) is Mapping:
            written = Mapping({}, moved) if key is None else holder.putting({key: moved})
            frame.write(holder, written)
        elif type(holder) is Sequence and holder.kind == "list":
            frame.write(holder, Sequence(None, moved, holder.kind))
        elif not path:
            continue
        elif type(holder) is Instance and holder.tensor is not None and key is None:
            frame.bind(path, objects.holding(holder, moved))
        elif type(holder) is Tensor and not holder.is_sure and key is None:
            frame.bind(path, Tensor(moved.place, moved.origin, moved.traits, holder.evidence))
        elif type(holder) is Tensor and not holder.is_sure:
            frame.state.hold(f"{path}[{key!r}]", moved)
            frame.state.hold(f"{path}[{_in_double_quotes(key)}]", moved)


def _in_double_quotes(key: object) -> str:
    return f'"{key}"' if isinstance(key, str) else repr(key)
