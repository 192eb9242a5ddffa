#!/usr/bin/env python3
"""Write agreement/device_checks.py: which CUDA kernels PyTorch wraps in a device check.

From `native_functions.yaml`, which the torchgen package of an installed torch brings along: a
function with a CUDA kernel is checked unless it says `device_check: NoCheck`
(`RegisterDispatchKey.gen_device_check` in torchgen). Needs torch and PyYAML.
"""

from __future__ import annotations

import pathlib
import textwrap
from typing import Any

import torch
import torchgen
import yaml

TARGET = pathlib.Path(__file__).resolve().parent.parent / "runtime_guard/agreement/device_checks.py"
_YAML = pathlib.Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml"

_MODULE = '''\
"""Around which CUDA kernels PyTorch generates a check that all tensors are on one device.

Written by scripts/generate_device_checks.py; do not edit.  Left out are functions that can have but
one tensor.  The two sets differ in how the check names the kernel in its message.
"""

TORCH = "{version}"
"""The release of PyTorch whose ``native_functions.yaml`` this is."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


STRUCTURED = _names(
    """
{structured}
    """
)
UNSTRUCTURED = _names(
    """
{unstructured}
    """
)
'''


def checked_functions() -> tuple[list[str], list[str]]:
    """The checked functions with structured kernels, and the others: `name.overload`, sorted."""
    functions: dict[str, dict[str, Any]] = {
        function["func"].partition("(")[0]: function
        for function in yaml.safe_load(_YAML.read_text(encoding="utf-8"))
    }
    structured, unstructured = [], []
    for name, function in functions.items():
        if (
            function.get("device_check") == "NoCheck"
            or not _has_cuda_kernel(function, functions)
            or not _may_have_two_tensors(function["func"])
        ):
            continue
        delegated = function.get("structured") or function.get("structured_delegate")
        (structured if delegated else unstructured).append(name)
    return sorted(structured), sorted(unstructured)


def _has_cuda_kernel(function: dict[str, Any], functions: dict[str, dict[str, Any]]) -> bool:
    delegate = function.get("structured_delegate")
    if delegate is not None:
        return _has_cuda_kernel(functions[delegate], functions)
    backends = ",".join(function.get("dispatch") or {})
    return "CUDA" in [backend.strip() for backend in backends.split(",")]


def _may_have_two_tensors(schema: str) -> bool:
    arguments = schema.partition(" -> ")[0]
    return arguments.count("Tensor") > 1 or "Tensor[" in arguments or "Tensor(a!)[" in arguments


def main() -> None:
    def wrapped(names: list[str]) -> str:
        return textwrap.fill(
            " ".join(names), 100, initial_indent="    ", subsequent_indent="    ",
            break_on_hyphens=False, break_long_words=False,
        )  # fmt: skip

    structured, unstructured = checked_functions()
    TARGET.write_text(
        _MODULE.format(
            version=torch.__version__.partition("+")[0],
            structured=wrapped(structured),
            unstructured=wrapped(unstructured),
        ),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
