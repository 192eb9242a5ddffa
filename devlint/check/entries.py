"""The folder of the cache: entries by name, each written at once, and no more of them than fit.

What is wrong with an entry, or with writing one, costs time only: a digest of its name and bytes
comes first in it, so that one that was damaged, or stands in the place of another, is none.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import zlib
from pathlib import Path

MOST_BYTES = 128 << 20  # of all entries together, on disk
MOST_OF_ONE = 256 << 20  # of one entry, unpacked
SUFFIX = ".json.z"
TAG = """\
Signature: 8a477f597d28d172789f06886806bc55
# This folder is a cache of devlint's; it may be deleted at any time.
"""
_SEAL = 16  # bytes of the digest that an entry begins with
_AGE = 24 * 3600  # seconds after which an entry that is used counts as new


class Entries:
    """The entries in a folder. They are JSON: nothing that is read can make anything but data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.usable = not os.path.islink(folder)

    def load(self, name: str) -> object:
        """The data of an entry; None where there is none, or a broken one."""
        if not self.usable:
            return None
        try:
            with open(self._file(name), "rb") as stream:
                packed = _unsealed(name, stream.read())
            if packed is None:
                return None
            unpacker = zlib.decompressobj()
            data = unpacker.decompress(packed, MOST_OF_ONE)
            return json.loads(data) if unpacker.eof else None
        except (OSError, ValueError, zlib.error, RecursionError):
            return None

    def save(self, name: str, data: object) -> None:
        """Put an entry in its place at once: another check reads the old one, or the new one."""
        if not self.usable:
            return
        import tempfile  # not for a check that keeps nothing

        packed = sealed(name, zlib.compress(json.dumps(data).encode(), 1))
        try:
            self._prepare()
            handle, temporary = tempfile.mkstemp(dir=self.folder, suffix=".tmp")
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(packed)
                os.replace(temporary, self._file(name))
            except BaseException:
                os.unlink(temporary)
                raise
        except OSError:
            self.usable = False  # read-only, or full: it won't be better for the next one

    def touch(self, name: str) -> None:
        """Have an entry count as used."""
        file = self._file(name)
        try:
            if os.stat(file).st_mtime < time.time() - _AGE:
                os.utime(file)
        except OSError:
            pass  # it is dropped a little earlier

    def evict(self) -> None:
        """Drop what was not used for longest, and what a check that was ended left behind."""
        if not self.usable:
            return
        try:
            entries = [(entry.stat(), entry.path) for entry in os.scandir(self.folder)]
            total = 0
            for status, path in sorted(entries, key=lambda each: -each[0].st_mtime):
                if path.endswith(SUFFIX):
                    total += status.st_size
                is_left = path.endswith(".tmp") and status.st_mtime < time.time() - _AGE
                if is_left or (path.endswith(SUFFIX) and total > MOST_BYTES):
                    os.unlink(path)
        except OSError:
            return  # another check is at it

    def _file(self, name: str) -> str:
        return f"{self.folder}{os.sep}{name}{SUFFIX}"

    def _prepare(self) -> None:
        if not self.folder.is_dir():
            self.folder.mkdir(parents=True)
            for name, text in (("CACHEDIR.TAG", TAG), (".gitignore", "*\n")):
                with open(self.folder / name, "x", encoding="utf-8") as stream:
                    stream.write(text)


def sealed(name: str, packed: bytes) -> bytes:
    """The bytes of the entry of this name. Whoever can write to the folder can make them, too."""
    return _seal(name, packed) + packed


def _unsealed(name: str, data: bytes) -> bytes | None:
    """What was sealed under this name; None, if these are other bytes, or of another entry."""
    packed = data[_SEAL:]
    return packed if data[:_SEAL] == _seal(name, packed) else None


def _seal(name: str, packed: bytes) -> bytes:
    return hashlib.blake2b(packed, digest_size=_SEAL, key=name.encode()[:64]).digest()
