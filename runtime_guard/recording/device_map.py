"""Where modules' parameters and buffers live: a row per module that owns some."""

from __future__ import annotations

import weakref
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from runtime_guard.recording.observers import describe_tensor


@dataclass
class TensorEntry:
    """One parameter or buffer of a module."""

    name: str
    kind: str
    """``parameter`` or ``buffer``."""
    shape: str
    """``float32[64, 10]``."""
    device: str


@dataclass
class ModuleRow:
    """One module of a model with tensors of its own."""

    path: str
    kind: str
    tensors: int
    bytes: int
    devices: list[str]
    state: list[TensorEntry] = field(default_factory=list)


@dataclass
class DeviceMap:
    """The rows of every model that was watched."""

    models: list[tuple[str, list[ModuleRow]]] = field(default_factory=list)

    def to_json(self) -> list[dict[str, Any]]:
        """As JSON data: a list of models with their rows."""
        return [
            {"model": name, "rows": [asdict(row) for row in rows]} for name, rows in self.models
        ]


def rows_of(model: torch.nn.Module) -> list[ModuleRow]:
    """The modules of ``model`` that own parameters or buffers, in order."""
    rows = []
    for path, module in model.named_modules():
        named = [
            *((name, "parameter", p) for name, p in module.named_parameters(recurse=False)),
            *((name, "buffer", b) for name, b in module.named_buffers(recurse=False)),
        ]
        if named:
            own = [tensor for *_, tensor in named]
            rows.append(
                ModuleRow(
                    path or "(itself)",
                    type(module).__name__,
                    len(own),
                    sum(0 if is_lazy(t) else t.numel() * t.element_size() for t in own),
                    sorted({str(t.device) for t in own}),
                    [TensorEntry(name, kind, _shape(t), str(t.device)) for name, kind, t in named],
                )
            )
    return rows


def _shape(tensor: torch.Tensor) -> str:
    """A lazy module's parameter has none before the first call."""
    return "not known yet" if is_lazy(tensor) else describe_tensor(tensor)


class ModelWatcher:
    """Remembers the models that were moved, weakly."""

    MAX_MODELS = 100

    def __init__(self) -> None:
        self._models: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()
        self._final: dict[int, tuple[str, list[ModuleRow]]] = {}

    def moved(self, model: torch.nn.Module) -> None:
        """A model was moved as a whole; remember it and where it is now."""
        if len(self._final) < self.MAX_MODELS:
            self._models.add(model)
            self._final[id(model)] = (type(model).__name__, rows_of(model))

    def freeze(self) -> None:
        """Look once more at the models that are still alive, while the devices are still there."""
        for model in list(self._models):
            self._final[id(model)] = (type(model).__name__, rows_of(model))
        self._models.clear()

    def device_map(self) -> DeviceMap:
        """Where the models were at the end, or when they were last moved."""
        return DeviceMap(list(self._final.values()))
