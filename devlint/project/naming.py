"""The files in whose text a name stands, for each name that some file of a project defines."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

# Searched for in a text behind a line end: `^` would be tried at each character of it.
_DEFINED = re.compile(rb"\n[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)")
# All but the characters of words becomes blanks. To split at these takes half as long as to look
# for words.
_BETWEEN_WORDS = bytes(
    code if code == ord("_") or (code < 128 and chr(code).isalnum()) else ord(" ")
    for code in range(256)
)


class Naming:
    """Who names what: one look through all texts answers for all names that are defined there."""

    def __init__(self, texts: Mapping[Path, bytes]) -> None:
        self._texts = texts

    def files(self, name: bytes) -> Sequence[Path] | None:
        """The files where a name stands as a word, in the order of the texts; None for one that no
        file defines, of which nothing is known."""
        return self._files.get(name)

    @cached_property
    def _files(self) -> Mapping[bytes, Sequence[Path]]:
        code = (text for file, text in self._texts.items() if file.suffix == ".py")
        defined = {name for text in code for name in _DEFINED.findall(b"\n" + text)}
        found: defaultdict[bytes, list[Path]] = defaultdict(list)
        for file, text in self._texts.items():
            for name in defined.intersection(text.translate(_BETWEEN_WORDS).split()):
                found[name].append(file)
        return found
