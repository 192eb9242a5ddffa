"""Absent backends: `torch.npu.is_available()` where nothing has brought `torch.npu`.

Backends that are not PyTorch's own hang themselves on `torch` when their package is imported.
Without it the very question whether they are there raises an AttributeError. The question mostly
stands behind another one (`if torch.cuda.is_available(): … elif torch.npu.is_available():`), so it
is looked for in the text: where an accelerator is, nothing comes to it.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.domain.provenance import Site
from devlint.inference.facts import AbsentBackend
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import code, dotted, every

# By the name on `torch`: the package that puts it there.
PACKAGES = {
    "npu": "torch_npu",
    "mlu": "torch_mlu",
    "hpu": "habana_frameworks.torch",
    "musa": "torch_musa",
    "gcu": "torch_gcu",
    "sdaa": "torch_sdaa",
}


def settle(unit: Unit) -> None:
    """Note the questions for a backend that the file neither imports nor asks `torch` for."""
    text = unit.source.text
    for backend, package in PACKAGES.items():
        asked = f"torch.{backend}.is_available"
        if asked not in text or package.partition(".")[0] in text:
            continue
        guarded = set(_guarded(unit.tree, backend))
        unit.facts.absent_backends += [
            AbsentBackend(Site(unit.source, call), asked, backend, package)
            for call in every(unit.tree, cst.Call)
            if dotted(call.func) == asked and call not in guarded
        ]


def _guarded(tree: cst.Module, backend: str) -> Iterator[cst.Call]:
    """The calls that the code comes to only where the backend is, or that may fail: behind
    `hasattr(torch, "npu") and …`, under `if device.type == "npu":`, in a `try`."""
    for operation in every(tree, cst.BooleanOperation):
        if backend in code(operation.left):
            yield from every(operation.right, cst.Call)
    conditions: list[cst.If | cst.IfExp] = [*every(tree, cst.If), *every(tree, cst.IfExp)]
    for condition in conditions:
        test = code(condition.test)
        if backend in test and f"torch.{backend}.is_available" not in test:
            yield from every(condition.body, cst.Call)
    for attempt in every(tree, cst.Try):
        yield from every(attempt.body, cst.Call)
