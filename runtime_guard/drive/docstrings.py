"""Types that a docstring gives, for parameters without an annotation.

    Args:
        size (int): how many to draw              # Google's form
        boxes: (tensor) predictions, Shape: [num_priors, 4]
        scores : Tensor                           # NumPy's form
        :param mask: which to keep
        :type mask: torch.Tensor

``size`` is an ``int`` here, ``boxes``, ``scores`` and ``mask`` are tensors.
"""

from __future__ import annotations

import re
import types
from typing import Any

import torch

_FORMS = (
    re.compile(r"^\s*(?:[-*]\s*)?[`*]*(\w+)[`*]*\s*:?\s*\(([^()]*)\)", re.M),
    re.compile(r"^\s*(\w+)\s+:\s*([\w.\[\], |]+)$", re.M),
    re.compile(r":type\s+(\w+):\s*(.+)$", re.M),
)
_TENSOR = re.compile(r"(torch\.)?((float|long|int|bool|byte)?tensor|variable)s?\b", re.I)
_PLAIN: tuple[tuple[re.Pattern[str], Any], ...] = (
    (re.compile(r"bool(ean)?\b", re.I), bool),
    (re.compile(r"(int|integer)\b", re.I), int),
    (re.compile(r"(float|number|double)\b", re.I), float),
    (re.compile(r"(str|string)\b", re.I), str),
    (re.compile(r"(torch\.)?device\b", re.I), torch.device),
    (re.compile(r"(nn\.|torch\.nn\.)?module\b", re.I), torch.nn.Module),
)
_SEQUENCE = re.compile(r"(list|tuple|sequence|iterable)s?(\s+of\s+|\s*\[|\b)\s*(.*)", re.I)


def types_in(*texts: str | None) -> dict[str, Any]:
    """By parameter; the first docstring that speaks of one decides."""
    found: dict[str, Any] = {}
    for text in texts:
        for form in _FORMS:
            for name, said in form.findall(text or ""):
                kind = type_of(said)
                if kind is not None:
                    found.setdefault(name, kind)
    return found


def type_of(said: str) -> Any:
    """``int, optional`` -> ``int``, ``list[tensor]`` -> ``list[Tensor]``; None for the rest."""
    said = re.sub(r"^[`:~]*(obj|class)?[`:~]*", "", said.strip())
    if match := _SEQUENCE.match(said):
        inner = type_of(match[3])
        return list if inner is None else types.GenericAlias(list, (inner,))
    if _TENSOR.match(said):
        return torch.Tensor
    return next((kind for pattern, kind in _PLAIN if pattern.match(said)), None)
