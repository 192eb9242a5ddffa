"""One source file: its bytes, decoded as Python decodes them."""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import re
import stat
import tokenize
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from devlint.findings import FileError
from devlint.records import dataclass

if TYPE_CHECKING:
    import libcst as cst

_NEWLINE = re.compile(r"\r\n?|\n")


class SourceError(Exception):
    """A file that cannot be read, decoded or parsed. Line and column start at 1.

    excerpt: the text of the line, where there is a text. cell: of a notebook, that the line is of.
    """

    def __init__(
        self, message: str, line: int = 1, column: int = 1, excerpt: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.excerpt = excerpt
        self.cell = 0

    def at(self, path: str) -> FileError:
        """The error as reports list it."""
        return FileError(path, self.line, self.column, self.message, cell=self.cell)


class OtherLanguage(SourceError):
    """A notebook whose kernel does not run Python: nothing to check."""


@dataclass(slots=True, eq=False)
class ParsedFile:
    """A file of the project and its tree.

    path: relative to the project root, `/`-separated; absolute for a file outside of it.
    module_name: dotted; `pkg` for `pkg/__init__.py`, whose is_package is true.
    text: without the byte order mark, with its line ends as they are on disk; where magics stand,
        white space. written: the same with the magics.
    file: where it is on disk; None for standard input.
    memo: for what the inference wants to keep about the file; it goes when the tree goes.
    """

    path: str
    module_name: str
    is_package: bool
    text: str
    tree: cst.Module
    file: Path | None = None
    written: str = ""
    memo: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decoded:
    """The text of a file, and how it was encoded. The text has no byte order mark."""

    text: str
    encoding: str
    bom: bool

    def encode(self, text: str) -> bytes:
        """Bytes of an edited text, in the encoding and with the mark of the original."""
        return (codecs.BOM_UTF8 if self.bom else b"") + text.encode(self.encoding)


def line_starts(text: str) -> list[int]:
    r"""The offset at which each line starts. Lines end in `\n`, `\r\n` or `\r`, as in Python."""
    return [0, *(match.end() for match in _NEWLINE.finditer(text))]


def split_lines(text: str) -> list[str]:
    """The lines of a text without their ends (`str.splitlines` splits at form feeds too)."""
    return _NEWLINE.split(text)


@lru_cache(maxsize=4)
def lines_of(parsed_text: str) -> list[str]:
    """`split_lines`, remembered for the file at hand."""
    return split_lines(parsed_text)


def read(file: Path) -> bytes:
    """The bytes of a regular file: a pipe or a device may never end. Raises SourceError."""
    try:
        kind = os.stat(file).st_mode
        if stat.S_ISDIR(kind):
            raise SourceError("is a directory, not a file")
        if not stat.S_ISREG(kind):
            raise SourceError("is not a regular file")
        return file.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise SourceError(f"cannot be read: {reason}") from None


def digest(data: bytes) -> bytes:
    """Tells contents apart."""
    return hashlib.blake2b(data, digest_size=16).digest()


def decode(data: bytes) -> Decoded:
    """The text of a file by PEP 263: byte order mark, coding line, else UTF-8.

    Raises SourceError, at the first byte that does not fit.
    """
    bom = data.startswith(codecs.BOM_UTF8)
    encoding = _encoding(data)
    return Decoded(_text(data[len(codecs.BOM_UTF8) :] if bom else data, encoding), encoding, bom)


def decode_utf8(data: bytes) -> Decoded:
    """The text of a file that has no coding line. Raises SourceError."""
    bom = data.startswith(codecs.BOM_UTF8)
    return Decoded(_text(data[len(codecs.BOM_UTF8) :] if bom else data, "utf-8"), "utf-8", bom)


def _encoding(data: bytes) -> str:
    """The encoding that a file's first lines say, UTF-8 if they say nothing."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        reason = str(error.msg)
        if reason.startswith("encoding problem"):
            message = "its coding line contradicts its byte order mark, which says utf-8"
            raise SourceError(message) from None
        if reason.startswith("unknown encoding"):
            raise SourceError(f"cannot be decoded: {reason}") from None
        return "utf-8"  # the first lines are not UTF-8 and say nothing else: that has its place
    return "utf-8" if encoding == "utf-8-sig" else encoding


def _text(data: bytes, encoding: str) -> str:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        before = split_lines(data[: error.start].decode(encoding, errors="replace"))
        raise SourceError(
            f"is not valid {encoding}: byte 0x{data[error.start]:02x} ({error.reason})"
            + ("; a coding line may name another encoding" if encoding == "utf-8" else ""),
            len(before),
            len(before[-1]) + 1,
        ) from None
    except UnicodeError as error:
        raise SourceError(f"is not valid {encoding}: {error}") from None
    except LookupError:
        raise SourceError(f"cannot be decoded: {encoding!r} is no text encoding") from None
    nul = text.find("\0")
    if nul >= 0:
        before = split_lines(text[:nul])
        raise SourceError("contains a NUL character", len(before), len(before[-1]) + 1)
    return text
