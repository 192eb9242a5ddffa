"""What depends on the terminal: colour, widths, progress, and what its encoding can show."""

from __future__ import annotations

import os
import sys
import time
import unicodedata
from collections.abc import Callable
from typing import TextIO

import click

TAB = 4
PATIENCE = 1.0  # seconds without a progress bar
INTERVAL = 0.1  # seconds between two pictures of it

Style = Callable[[str, str], str]  # a text in a style: "bold red" and the like


def wants_color(choice: str, stream: TextIO) -> bool:
    """Whether to colour: `always`, `never`, or `auto`, which asks NO_COLOR, FORCE_COLOR, TERM and
    whether the stream is a terminal, in this order."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def styler(color: bool) -> Style:
    """A function that puts a text in a style, or leaves it."""
    if not color:
        return lambda text, style: text

    def paint(text: str, style: str) -> str:
        words = style.split()
        hue = next((word for word in words if word not in ("bold", "dim")), None)
        return click.style(text, fg=hue, bold="bold" in words or None, dim="dim" in words or None)

    return paint


def width(character: str) -> int:
    """The terminal columns that a printed character takes."""
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def printable(character: str) -> str:
    """The character as it is shown: tabs as spaces, and nothing that could steer the terminal."""
    if character == "\t":
        return " " * TAB
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0x80 <= code < 0xA0 or character in "\u2028\u2029" or 0x202A <= code <= 0x202E:
        return "\ufffd"
    if 0x2066 <= code <= 0x2069:
        return "\ufffd"
    return character


def show(text: str) -> str:
    """A text with nothing in it that could steer the terminal."""
    return "".join(map(printable, text))


def columns(text: str) -> int:
    """The terminal columns that a text takes when shown."""
    return sum(width(shown) for character in text for shown in printable(character))


def emit(text: str, stream: TextIO) -> None:
    """Write; what the stream's encoding lacks is written as an escape."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


class ProgressBar:
    """A line on a terminal that says how far a long run is. Called before each file."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.next = time.monotonic() + PATIENCE
        self.drawn = False

    def __call__(self, done: int, total: int, path: str) -> None:
        now = time.monotonic()
        if done >= total:
            self.clear()
        elif now >= self.next:
            self.next = now + INTERVAL
            self.draw(done, total, path)

    def draw(self, done: int, total: int, path: str) -> None:
        size = 24
        full = size * done // total
        line = f"[{'#' * full}{'.' * (size - full)}] {done}/{total} {show(path)}"
        import shutil  # with its archives it takes as long as all else here

        limit = shutil.get_terminal_size().columns - 1
        while columns(line) > limit:
            line = line[:-1]
        emit(f"\r\x1b[2K{line}", self.stream)
        self.drawn = True

    def clear(self) -> None:
        if self.drawn:
            emit("\r\x1b[2K", self.stream)
            self.drawn = False
