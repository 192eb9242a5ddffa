"""Files that a call reads: a checkpoint that was saved on a card.

``torch.load("best.pt")`` takes what it reads to the device that it was saved on, and fails on a
machine that has no such device.  Such a file is written here without a card.  It was saved on the
first one, or, where the machine has a single card, on a second.
"""

from __future__ import annotations

import io
from pathlib import Path

import torch

_ON_HOST = b"X\x03\x00\x00\x00cpu"
_ON_CARD = b"X\x06\x00\x00\x00cuda:"
"""A storage's place in the pickled form that PyTorch wrote before 1.6, and still reads."""


def saved_on_card(path: str) -> None:
    """Write a checkpoint to ``path``, below the current folder; a file that is there stays."""
    file = Path(path)
    if file.is_absolute() or ".." in file.parts or file.exists():
        return
    saved = io.BytesIO()
    weights = {"weight": torch.zeros(1, device="cpu")}
    torch.save(weights, saved, _use_new_zipfile_serialization=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    card = b"1" if torch.cuda.device_count() == 1 else b"0"
    file.write_bytes(saved.getvalue().replace(_ON_HOST, _ON_CARD + card))
