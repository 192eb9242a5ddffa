"""Where modules' parameters and buffers live: one row per module that owns some."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass
class ModuleRow:
    """One module of a model with tensors of its own."""

    path: str
    kind: str
    tensors: int
    bytes: int
    devices: list[str]


@dataclass
class DeviceMap:
    """The rows of every model that was watched."""

    models: list[tuple[str, list[ModuleRow]]] = field(default_factory=list)

    def to_json(self) -> list[dict[str, Any]]:
        """As JSON data: a list of models with their rows."""
        return [{"model": name, "rows": [vars(row) for row in rows]} for name, rows in self.models]


def rows_of(model: torch.nn.Module) -> list[ModuleRow]:
    """The modules of ``model`` that own parameters or buffers, in order."""
    rows = []
    for path, module in model.named_modules():
        own = [*module.parameters(recurse=False), *module.buffers(recurse=False)]
        if own:
            rows.append(
                ModuleRow(
                    path or "(itself)",
                    type(module).__name__,
                    len(own),
                    sum(t.numel() * t.element_size() for t in own),
                    sorted({str(t.device) for t in own}),
                )
            )
    return rows


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
