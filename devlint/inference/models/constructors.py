"""Constructors of a library's classes: the object, by what the knowledge says of its class.

`nn.Linear(3, 3)` is a module on the default device, `transforms.Compose(steps)` keeps its steps.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.placement import CUDA
from devlint.inference.domain.value import Value
from devlint.inference.models.data_loaders import load_batches
from devlint.inference.models.handlers import Handler
from devlint.inference.models.library_objects import made
from devlint.inference.models.module_places import carry
from devlint.inference.models.operands import operands_of
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Instance
from devlint.knowledge import Call, ClassInfo, Result

# What applies the callables that it is made of one after the other.
CHAINS = frozenset(
    f"torchvision.transforms.{module}Compose" for module in ("", "transforms.", "v2.")
)


LOADERS = frozenset({"torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"})


def construct(
    frame: Frame, node: cst.Call, name: str, kind: ClassInfo, arguments: Arguments
) -> Value:
    """An object of a library's class, made by its constructor."""
    if LOADERS.intersection(frame.unit.context.knowledge.lineage(name)):
        return load_batches(frame, node, arguments)

    operands = operands_of(Call(params=kind.params, tensors=kind.tensors), arguments)
    result = kind.result
    if result is Result.OPERANDS and not kind.tensors:
        result = Result.UNKNOWN
    instance = made(frame, node, name, result, operands, arguments)
    if result is Result.CUDA:  # a trainer puts its model where it computes
        for value, _ in arguments.all():
            if type(value) is Instance and value.module:
                carry(frame, node, value, CUDA)
    if name in CHAINS:
        links = arguments.get(0, "transforms")
        instance.items = links if type(links) is Sequence and links.items is not None else None
    return instance


def _tensor_dataset(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`TensorDataset(x, y)`: rows of each, where it is."""
    name = "torch.utils.data.TensorDataset"
    kind = frame.unit.context.knowledge.class_(name)
    assert kind is not None
    made = construct(frame, node, name, kind, arguments)
    if type(made) is Instance and not arguments.open:
        rows = Sequence([v for v, _ in arguments.positional], None, "tuple")
        made.fields.entries["tensors"] = rows
    return made


DATASETS: dict[str, Handler] = {
    "torch.utils.data.TensorDataset": _tensor_dataset,
    "torch.utils.data.dataset.TensorDataset": _tensor_dataset,
}
