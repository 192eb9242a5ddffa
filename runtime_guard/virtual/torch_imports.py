"""Parts of torch imported while a virtual machine is in force are imported without it.

``torch._dynamo`` (which optimizers import on first use) builds tables of torch's functions and
types; made of stand-ins they would be wrong, and would outlive the block.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any


class TorchImports(MetaPathFinder):
    """Imports ``torch.*`` inside ``suspended()``, in which torch is as it was before the block."""

    def __init__(self, suspended: Callable[[], AbstractContextManager[None]]) -> None:
        self._suspended = suspended

    def install(self) -> None:
        """Be asked first."""
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Be asked no longer."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Import a part of torch now, and hand over the finished module; None for all others."""
        if not fullname.startswith("torch."):
            return None
        with self._suspended():
            module = importlib.import_module(fullname)
        spec = module.__spec__
        if spec is None:
            return None
        finished = ModuleSpec(fullname, _Finished(module), origin=spec.origin)
        # the import system prefers the spec of a module that appeared while it was looking
        module.__spec__ = finished
        return finished


class _Finished(Loader):
    """A loader whose module has been executed already."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec

    def get_code(self, fullname: str) -> CodeType | None:
        """What ``python -m`` runs: ``python -m torch.distributed.run``."""
        loader: Any = self._spec.loader if self._spec is not None else None
        code: CodeType | None = loader.get_code(fullname)
        return code
