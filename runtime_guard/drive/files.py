"""Files that a call reads, each of the kind that its name says: an image, a table, a folder.

Where the name says nothing else it is a checkpoint that was saved on a card:
``torch.load("best.pt")`` takes what it reads to the device that it was saved on, and fails on a
machine that has no such device.  Such a file is written here without a card.
It was saved on the first one, or, where the machine has a single card, on a second.
"""

from __future__ import annotations

import io
import os
import struct
import wave
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

_ON_HOST = b"X\x03\x00\x00\x00cpu"
_ON_CARD = b"X\x06\x00\x00\x00cuda:"
"""A storage's place in the pickled form that PyTorch wrote before 1.6, and still reads."""
_SIDE = 32
"""Of an image, in pixels."""


def missing_file(path: str) -> None:
    """Write what ``path`` names, below the current folder; a file that is there stays.

    What ends in a separator is a folder with an image in it.
    """
    file = Path(path)
    if file.is_absolute() or ".." in file.parts or file.exists():
        return
    if path.endswith(("/", os.sep)):
        return missing_file(os.path.join(path, "0.png"))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(_CONTENTS.get(file.suffix.lower(), _checkpoint)())


def _checkpoint() -> bytes:
    saved = io.BytesIO()
    weights = {"weight": torch.zeros(1, device="cpu")}
    torch.save(weights, saved, _use_new_zipfile_serialization=False)
    card = b"1" if torch.cuda.device_count() == 1 else b"0"
    return saved.getvalue().replace(_ON_HOST, _ON_CARD + card)


def _image() -> bytes:
    """A PNG in colours, by whatever suffix: readers look at what is in it."""
    head = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + bytes(range(3 * _SIDE)) for _ in range(_SIDE)))
    parts = (b"IHDR", head), (b"IDAT", rows), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )


def _sound() -> bytes:
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(bytes(2 * 16_000))
    return made.getvalue()


def _empty_mapping() -> bytes:
    return b"{}\n"


def _words() -> bytes:
    return b"the cat sat\non the mat\n"


def _table() -> bytes:
    return b"a,b\n1,2\n3,4\n"


_CONTENTS: Mapping[str, Callable[[], bytes]] = {
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".bmp"), _image),
    **dict.fromkeys((".json", ".yaml", ".yml"), _empty_mapping),
    **dict.fromkeys((".txt", ".md"), _words),
    ".csv": _table,
    ".wav": _sound,
}
