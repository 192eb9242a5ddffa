"""Legacy tensor types, and the same in today's words."""

from __future__ import annotations

import libcst as cst

from devlint_rules.helpers.rewrites import text_of

_DTYPES = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}


def meaning(node: cst.CSTNode, name: str = "") -> tuple[str, str] | None:
    """Device and dtype of a legacy type: `torch.cuda.FloatTensor`, or its name as a string.

    name: its whole name, where the code may have another one for it.
    """
    if not name and isinstance(node, cst.SimpleString):
        value = node.evaluated_value
        name = value if isinstance(value, str) else ""
    return kind_of(name or text_of(node))


def kind_of(name: str) -> tuple[str, str] | None:
    """Device and dtype of the legacy type of this whole name."""
    prefix, _, kind = name.rpartition(".")
    devices = {"torch": "cpu", "torch.cuda": "cuda"}
    if kind not in _DTYPES or prefix not in devices:
        return None
    return devices[prefix], f"torch.{_DTYPES[kind]}"


def of_sizes(call: cst.Call, name: str = "") -> str | None:
    """`torch.empty(2, n, dtype=…)` for `torch.FloatTensor(2, n)`: several arguments are sizes. None
    for another call. `name`: as above."""
    found = meaning(call.func, name)
    if found is None or len(call.args) < 2 or any(arg.star or arg.keyword for arg in call.args):
        return None
    sizes = ", ".join(text_of(arg.value) for arg in call.args)
    where = ', device="cuda"' if found[0] == "cuda" else ""
    return f"torch.empty({sizes}, dtype={found[1]}{where})"
