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
    (re.compile(r"(torch\.)?(utils\.)?(data\.)?data_?loader\b", re.I), torch.utils.data.DataLoader),
    (re.compile(r"(torch\.)?(optim\.)?optimizer\b", re.I), torch.optim.Optimizer),
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


_ENTRY = re.compile(
    r"^\s*(?:[-*]\s*|:param\s+)?[`*]*(\w+(?:,\s*\w+)*)[`*]*\s*(\([^()]*\))?\s*:(?!:)(?=\s|$)", re.M
)
_SHAPES = (
    re.compile(r"shape[^\n\[(]{0,20}[\[(]+([^\])\n]+)[\])]", re.I),
    re.compile(r"Tensor\[([^\]\n]+)\]"),
    re.compile(r":math:`[\[(]([^\])\n]+)[\])]`"),
    re.compile(r"\b((?:[A-Z]|\d+)(?:x(?:[A-Z]|\d+))+)\b"),
)
_SIZES = {
    **dict.fromkeys(("b", "bs", "bsz", "batch", "batch_size"), 2),
    **dict.fromkeys(("c", "ch", "channel", "channels"), 3),
    **dict.fromkeys(("h", "w", "height", "width"), 32),
}
"""What letters for sizes mostly stand for; the others are 8."""


def shapes_in(*texts: str | None) -> dict[str, tuple[int, ...]]:
    """By parameter: ``boxes: corners with shape (N, 4)`` -> ``(8, 4)``."""
    found: dict[str, tuple[int, ...]] = {}
    for text in texts:
        entries = list(_ENTRY.finditer(text or ""))
        ends = [entry.start() for entry in entries[1:]] + [len(text or "")]
        for entry, end in zip(entries, ends, strict=False):
            shape = shape_said((text or "")[entry.start() : end].partition("\n\n")[0])
            for name in re.findall(r"\w+", entry[1]) if shape else ():
                found.setdefault(name, shape)
    return found


def shape_said(text: str) -> tuple[int, ...]:
    """``a tensor of shape [B, 3, H, W]`` -> ``(2, 3, 32, 32)``; empty where it names none."""
    for pattern in _SHAPES:
        for match in pattern.finditer(text):
            parts = re.split(r"[,x]" if "," not in match[1] else ",", match[1])
            words = [part.strip(" `'\"$\\").lower() for part in parts]
            sizes = [word for word in words if word not in ("*", "...", "")]
            if 0 < len(sizes) <= 5 and all(map(_is_size, sizes)):
                return tuple(int(s) if s.isdigit() else _SIZES.get(s, 8) for s in sizes)
    return ()


def _is_size(word: str) -> bool:
    return (word.isdigit() and 0 < int(word) <= 512) or word.isidentifier()
