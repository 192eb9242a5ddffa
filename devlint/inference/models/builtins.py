"""Functions whose effect a table can't say, by the paths that they are imported from.

`torch.device`, `torch.load` and `functools.partial` are among them; each has its handler.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import NON_LEAF
from devlint.inference.domain.value import UNKNOWN, Value
from devlint.inference.models import contracts
from devlint.inference.models.constructors import DATASETS
from devlint.inference.models.data_loaders import DATA_LOADERS
from devlint.inference.models.device_functions import DEVICE_FUNCTIONS
from devlint.inference.models.handlers import Handler
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.iterables import ITERABLES
from devlint.inference.models.tensor_constructors import TENSOR_CONSTRUCTORS
from devlint.inference.models.wrappers import WRAPPERS
from devlint.inference.program.events import NonLeafUsed
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Optimizer, Parameters


def _contract(name: str) -> Handler:
    """`On("cuda")`, `SameDevice("x")`."""

    def make(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
        return contracts.make(frame, node, name, [value for value, _ in arguments.all()])

    return make


def _optimizer(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    value = arguments.get(0, "params")
    module = value.module if type(value) is Parameters else None
    for tensor in tensors_in(value if value is not None else UNKNOWN):
        if tensor.traits & NON_LEAF:
            frame.emit(NonLeafUsed(tensor, "optimizer", node))
    origin = frame.origin(StepKind.CREATED, node)
    return Optimizer(module, origin)


FUNCTIONS: dict[str, Handler] = {
    **DEVICE_FUNCTIONS,
    **TENSOR_CONSTRUCTORS,
    **DATA_LOADERS,
    **DATASETS,
    **WRAPPERS,
    **ITERABLES,
    "devlint.contracts.On": _contract("On"),
    "devlint.contracts.SameDevice": _contract("SameDevice"),
}


for _name in (
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "ASGD",
    "LBFGS",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
):
    FUNCTIONS[f"torch.optim.{_name}"] = _optimizer
