"""Classes of tensors, which the project derives from `torch.Tensor`.

One with no constructor of its own is constructed as `torch.Tensor` is: `Cov(2, 2)` and
`Cov(size=(2, 2), device=d)` are the legacy constructor, which takes the host's device alone.
"""

from __future__ import annotations

from devlint.inference.conventions import holds
from devlint.inference.domain.host import External
from devlint.inference.program.declarations import ClassInfo

TENSOR = "torch.Tensor"


def is_constructed_as_tensor(info: ClassInfo) -> bool:
    """`torch.Tensor`, and nothing else that is in sight or out of it, constructs it."""
    if TENSOR not in info.library_bases or any(map(info.method, ("__new__", "__init__"))):
        return False
    outside = [base for each in info.lineage() for base in each.bases]
    return all(
        type(base) is ClassInfo
        or (type(base) is External and (base.name == TENSOR or holds("deviceless-base", base.name)))
        for base in outside
    )


def is_tensor_by_another_name(info: ClassInfo) -> bool:
    """The same, with nothing of its own that its objects would do."""
    return is_constructed_as_tensor(info) and not any(each.methods for each in info.lineage())
