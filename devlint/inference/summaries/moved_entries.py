"""Entries of what a caller hands in, which a function moves where they are.

def to_card(batch):
    for key in batch:
        batch[key] = batch[key].cuda()

to_card(batch)
net(batch["x"])                   # on cuda
"""

from __future__ import annotations

from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.models import objects
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Parameter, Summary
from devlint.inference.program.outcomes import MovedEntry
from devlint.inference.program.values import Instance
from devlint.inference.summaries.arguments import Binding
from devlint.inference.summaries.callee_values import substitute
from devlint.inference.syntax.text import dotted


def leave(frame: Frame, summary: Summary, binding: Binding) -> None:
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
