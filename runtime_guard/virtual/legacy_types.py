"""``torch.cuda.FloatTensor``, ``torch.FloatTensor`` and their family on a virtual machine.

A legacy type is a device type and a dtype.  PyTorch's own CPU types would claim virtual tensors in
``isinstance``, and its CUDA types refuse to be called without CUDA; both get a stand-in.
"""

from __future__ import annotations

from typing import Any

import torch

from runtime_guard.core.placement import CPU
from runtime_guard.core.torch_internals import disable_torch_function
from runtime_guard.virtual import moves
from runtime_guard.virtual.machine import Machine

LEGACY_DTYPES = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "ByteTensor": torch.uint8,
    "CharTensor": torch.int8,
    "ShortTensor": torch.int16,
    "IntTensor": torch.int32,
    "LongTensor": torch.int64,
    "BoolTensor": torch.bool,
}


def legacy_type(wanted: Any) -> tuple[str, torch.dtype]:
    """``torch.cuda.FloatTensor`` or its name -> ``("cuda", torch.float32)``.

    Raises ``ValueError("invalid type")`` for other names, as PyTorch does.
    """
    name = wanted if isinstance(wanted, str) else f"{wanted.__module__}.{wanted.__name__}"
    name = name.removeprefix("builtins.")
    parts = name.removeprefix("torch.").split(".")
    leaf = parts[-1]
    dtype = torch.get_default_dtype() if leaf == "Tensor" else LEGACY_DTYPES.get(leaf)
    if dtype is None:
        raise ValueError(f"invalid type: '{name}'")
    return (parts[0] if len(parts) > 1 else "cpu"), dtype


class LegacyTypeMeta(type):
    """Classes that are called and tested like legacy tensor types, and have no instances."""

    machine: Machine
    kind: str
    dtype: torch.dtype
    real: Any

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        """``FloatTensor``; to PyTorch's C++ it is ``torch.FloatTensor``, as ever."""
        name: str = type.__dict__["__name__"].__get__(cls)
        return name.rpartition(".")[2]

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, torch.Tensor)
            and instance.dtype is cls.dtype
            and instance.device.type == cls.kind
        )

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.real

    def __hash__(cls) -> int:
        return hash(cls.real)

    def __call__(cls, *args: Any, **kwargs: Any) -> torch.Tensor:
        requested = kwargs.pop("device", None)
        target = CPU if cls.kind == "cpu" else cls.machine.canonical(torch.device(cls.kind))
        if requested is not None:
            parsed = cls.machine.parse(requested)
            if parsed.type != cls.kind:
                raise RuntimeError(
                    f"legacy constructor expects device type: {cls.kind} but device type: "
                    f"{parsed.type} was passed"
                )
            target = parsed
        if args and isinstance(args[0], torch.Tensor) and args[0].device.type != target.type:
            raise TypeError(
                f"expected TensorOptions(dtype={cls.dtype}, device={cls.kind}) (got "
                f"TensorOptions(dtype={args[0].dtype}, device={args[0].device}))"
            )
        with disable_torch_function():
            result: torch.Tensor = cls.real(*args, **kwargs)
            moves.tag_fresh(result, target)
        return result

    @property
    def is_cuda(cls) -> bool:
        """Is it a type of CUDA tensors?"""
        return cls.kind == "cuda"


class LegacySparseTypeMeta(LegacyTypeMeta):
    """``torch.cuda.sparse.FloatTensor(indices, values, size)``, or its shape alone."""

    def __instancecheck__(cls, instance: object) -> bool:
        return super().__instancecheck__(instance) and (
            getattr(instance, "layout", None) is torch.sparse_coo
        )

    def __call__(cls, *args: Any, **kwargs: Any) -> torch.Tensor:
        if all(isinstance(number, int) for number in args):
            args = (args or (0,),)  # the shape of what is to be filled
        kwargs.setdefault("device", cls.kind)
        return torch.sparse_coo_tensor(*args, dtype=cls.dtype, **kwargs)


def legacy_sparse_types(machine: Machine, kind: str) -> dict[str, Any]:
    """Stand-ins for the legacy types of ``torch.cuda.sparse``."""
    types: dict[str, Any] = {}
    for name, dtype in LEGACY_DTYPES.items():
        cls = LegacySparseTypeMeta(
            f"torch.{kind}.sparse.{name}", (), {"__module__": f"torch.{kind}.sparse"}
        )
        cls.machine, cls.kind, cls.dtype, cls.real = machine, kind, dtype, None
        types[name] = cls
    return types


def legacy_types(machine: Machine, kind: str, cpu_types: dict[str, Any]) -> dict[str, Any]:
    """Stand-ins for the legacy types of ``kind`` (``"cpu"``: those directly in ``torch``)."""
    prefix = "torch" if kind == "cpu" else f"torch.{kind}"
    types: dict[str, Any] = {}
    for name, dtype in LEGACY_DTYPES.items():
        cls = LegacyTypeMeta(f"{prefix}.{name}", (), {"__module__": prefix, "__qualname__": name})
        cls.machine, cls.kind, cls.dtype = machine, kind, dtype
        cls.real = cpu_types[name]
        types[name] = cls
    return types
