"""Shape tests: what a comparison says of the dimensions and elements of a tensor.

if mask.size(1) != 0:        # never of torch.ones((0, 0, 0)), a placeholder
if len(weight.shape) == 1:   # never of torch.tensor(0.5), which has no dimensions
"""

from __future__ import annotations

from collections.abc import Hashable

import libcst as cst

from devlint.inference.domain.path_conditions import Literal
from devlint.inference.domain.tensors import EMPTY, SCALAR, VECTOR, Tensor
from devlint.inference.program.predicates import Written

_DIMENSIONS = ("dim", "ndim", "ndimension")
_ELEMENTS = ("numel", "nelement", "size")


def asked_tensor(subject: Hashable) -> str:
    """The path of the tensor whose shape a comparison is about; empty if it is about none."""
    found = _question(subject)
    return found[0] if found is not None else ""


def answer(subject: Hashable, tensor: Tensor) -> tuple[Hashable, ...] | None:
    """How the comparison of a literal's subject comes out for such a tensor: whether it is so, for
    `<` and `>`, or the number that stands on its left; None where that is open."""
    found = _question(subject)
    number = _number(tensor, found[1]) if found is not None else None
    if number is None:
        return None
    if isinstance(subject, tuple) and subject[0] in ("<", ">"):
        bound = int(subject[2])
        return (number < bound if subject[0] == "<" else number > bound,)
    return (True, str(number))


def contradicts(written: Written, tensor: Tensor) -> bool:
    """A condition as it is written never comes out so for such a tensor."""
    subject, is_so, value, _ = written
    found = answer(subject, tensor)
    if found is None:
        return False
    if len(found) == 1:
        return found[0] is not is_so
    return (found[1] == value) is not is_so


def literal(fact: Literal, tensor: Tensor) -> Literal | None:
    """The literal that such a tensor makes true, on what another one asks."""
    choice, _, value = fact
    found = answer(choice.subject, tensor)
    if found is None:
        return None
    if len(found) == 1:
        return choice, bool(found[0]), value
    return choice, True, found[1]


def _question(subject: Hashable) -> tuple[str, str] | None:
    """The tensor that is asked, and whether for its dimensions or for its elements."""
    if isinstance(subject, tuple) and len(subject) == 3 and subject[0] in ("<", ">"):
        if not (isinstance(subject[2], str) and subject[2].isdigit()):
            return None
        subject = subject[1]
    if isinstance(subject, str):
        path, _, name = subject.rpartition(".")
        return (path, "dimensions") if path and name == "ndim" else None
    if not isinstance(subject, tuple) or not all(isinstance(part, str) for part in subject[1:]):
        return None
    mark, *parts = subject
    if mark is cst.Subscript and len(parts) == 2:
        path, _, name = str(parts[0]).rpartition(".")
        return (path, "elements") if path and name == "shape" else None
    if mark is not cst.Call or not parts:
        return None
    if parts[0] == "len" and len(parts) == 2:
        path, _, name = parts[1].rpartition(".")
        return (path, "dimensions") if path and name == "shape" else (parts[1], "elements")
    path, _, name = parts[0].rpartition(".")
    if path and name in _DIMENSIONS and len(parts) == 1:
        return path, "dimensions"
    return (path, "elements") if path and name in _ELEMENTS else None


def _number(tensor: Tensor, about: str) -> int | None:
    if about == "elements":
        return 0 if tensor.traits & EMPTY else None
    if tensor.traits & SCALAR:
        return 0
    return 1 if tensor.traits & VECTOR else None
