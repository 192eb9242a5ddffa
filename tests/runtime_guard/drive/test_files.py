"""A file that is missing is of the kind that its name says."""

from __future__ import annotations

import json
import os
import struct
import wave
import zlib
from pathlib import Path

import pytest
import torch

from runtime_guard.drive.files import missing_file


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_image_is_a_picture_in_colours() -> None:
    missing_file("data/cat.jpg")
    data = Path("data/cat.jpg").read_bytes()
    width, height, depth, colours = struct.unpack(">IIBB", data[16:26])
    at = data.index(b"IDAT")
    (size,) = struct.unpack(">I", data[at - 4 : at])
    rows = zlib.decompress(data[at + 4 : at + 4 + size])
    assert (width, height, depth, colours) == (32, 32, 8, 2)
    assert len(rows) == 32 * (1 + 3 * 32)


def test_a_folder_holds_an_image() -> None:
    missing_file("data/test/")
    assert os.listdir("data/test") == ["0.png"]


def test_settings_are_an_empty_mapping_and_words_are_words() -> None:
    for name in ("a.json", "a.yaml", "a.txt", "a.csv", "a.wav"):
        missing_file(name)
    assert json.loads(Path("a.json").read_text()) == {}
    assert Path("a.yaml").read_text() == "{}\n"
    assert len(Path("a.txt").read_text().split()) == 6
    assert Path("a.csv").read_text().startswith("a,b\n")
    with wave.open("a.wav") as sound:
        assert sound.getframerate() == 16_000


@pytest.mark.parametrize("name", ["best.pt", "model", "weights.bin"])
def test_all_else_is_a_checkpoint(name: str) -> None:
    missing_file(name)
    assert torch.load(name, map_location="cpu").keys() == {"weight"}


def test_what_is_there_or_not_below_the_folder_is_left_alone(folder: Path) -> None:
    Path("a.txt").write_text("mine")
    missing_file("a.txt")
    missing_file("../b.txt")
    missing_file(str(folder / "c.txt"))
    assert Path("a.txt").read_text() == "mine"
    assert not (folder.parent / "b.txt").exists() and not Path("c.txt").exists()
