"""`DataLoader`: its batches come from the host, unless the rows are elsewhere.

Those of `DataLoader(TensorDataset(x.cuda(), y.cuda()))` are on the card, as `x` and `y` are.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Loader, Sequence
from devlint.inference.domain.host import NONE, Const
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import CPU, Variable
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import COLLATED, PAGEABLE, PINNED, Tensor
from devlint.inference.domain.value import PLACED, UNKNOWN, Value
from devlint.inference.models.elements import HostRows, batch
from devlint.inference.models.handlers import Handler
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.places import on_accelerator
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import FunctionValue, Instance


def load_batches(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """DataLoaders yield host tensors, pinned with `pin_memory=True`."""
    elsewhere = _made_on_accelerator(frame, node, arguments)
    if elsewhere is not None:
        return Loader(elsewhere)
    columns = _moved_columns(frame, node, arguments)
    if columns is not None:
        return Loader(columns)
    if _has_rows_of_host(arguments):
        frame.unit.context.kept(HostRows).loaders.add(node)
    pinned = arguments.keywords.get("pin_memory")
    held = pinned[0] if pinned is not None else None
    yielded = batch(frame, node)
    if type(held) is Const and held.value is True:
        yielded.traits |= PINNED
    elif type(held) is Const or (held is None and not arguments.open):
        yielded.traits |= PAGEABLE
    if _is_collated(frame, arguments):
        yielded.traits |= COLLATED
    return Loader(yielded)


def _has_rows_of_host(arguments: Arguments) -> bool:
    """A data set of the project moves nothing, and was given nothing from elsewhere."""
    dataset = arguments.get(0, "dataset")
    info = dataset.info if type(dataset) is Instance else None
    if info is None or info.method("__getitem__") is None or "collate_fn" in arguments.keywords:
        return False
    lineage = info.lineage()
    if any(holds("any-move-in-text", each.text) for each in lineage):
        return False
    is_bare = all(base.rpartition(".")[2] == "Dataset" for base in info.library_bases)
    given = dataset.given.values() if type(dataset) is Instance and dataset.given else ()
    held = [tensor for tensor in given if tensor.evidence is None or tensor.evidence.is_tensor]
    return is_bare and all(tensor.place == CPU for tensor in held)


def _is_collated(frame: Frame, arguments: Arguments) -> bool:
    """The loader has its own `collate_fn`, and what that makes of the rows is not in sight: a batch
    of graphs, a dict, a list of pictures."""
    collate = arguments.get(6, "collate_fn")
    if collate is None or collate is NONE:
        return False
    if type(collate) is not FunctionValue:
        return True
    summary = frame.interpreter.summarize(collate.function)
    made = summary.result if summary is not None else UNKNOWN
    parts = made.items if type(made) is Sequence and made.items is not None else [made]
    return not all(type(part) is Tensor and part.is_sure for part in parts)


def _made_on_accelerator(frame: Frame, node: cst.Call, arguments: Arguments) -> Tensor | None:
    """The batch of a dataset whose `__getitem__`, or of a `collate_fn` that, moves it itself."""

    dataset, collate = arguments.get(0, "dataset"), arguments.get(6, "collate_fn")
    makers = [collate.function] if type(collate) is FunctionValue else []
    if type(dataset) is Instance and dataset.info is not None:
        function = dataset.info.method("__getitem__")
        makers += [function] if function is not None else []
    if type(dataset) is Tensor and dataset.is_sure and type(dataset.place) is Variable:
        origin = Provenance(StepKind.LOADED, node, frame.unit.source, dataset.origin)
        return Tensor(dataset.place, origin)  # rows of one tensor are where it is
    for maker in makers:
        summary = frame.interpreter.summarize(maker)
        found = tensors_in(summary.result) if summary is not None else []
        moved = [t for t in found if type(t.place) is Variable or on_accelerator(t) > 0]
        if moved:
            origin = Provenance(StepKind.LOADED, node, frame.unit.source, moved[0].origin)
            alike = all(t.place == moved[0].place for t in found)
            return Tensor(moved[0].place if alike else None, origin, 0, Evidence())
    return None


def _moved_columns(frame: Frame, node: cst.Call, arguments: Arguments) -> Sequence | None:
    """The batch of a `TensorDataset` some of whose tensors were moved before it got them."""
    dataset = arguments.get(0, "dataset")
    columns = dataset.fields.entries.get("tensors") if type(dataset) is Instance else None
    if type(columns) is not Sequence or not columns.items or "collate_fn" in arguments.keywords:
        return None
    if not any(_was_moved(column) for column in columns.items):
        return None
    return Sequence([_column(frame, node, column) for column in columns.items], None, "list")


def _was_moved(column: Value) -> bool:
    if type(column) is not Tensor:
        return column is PLACED
    moved = column.origin is not None and column.origin.kind is StepKind.MOVED
    return (moved and column.place != CPU) or on_accelerator(column) >= 1


def _column(frame: Frame, node: cst.Call, column: Value) -> Value:
    if not _was_moved(column):
        return batch(frame, node)
    if type(column) is not Tensor:
        return column
    return Tensor(column.place, Provenance(StepKind.LOADED, node, frame.unit.source, column.origin))


DATA_LOADERS: dict[str, Handler] = {
    "torch.utils.data.DataLoader": load_batches,
    "torch.utils.data.dataloader.DataLoader": load_batches,
}
