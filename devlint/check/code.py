"""What code runs: devlint, packs of rules, LibCST and Python, told apart without loading them."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator

from devlint.check.answers import Remembered
from devlint.project.source import SourceError
from devlint.version import __version__

_SUFFIXES = (".py", ".toml", ".json")


def versions(remembered: Remembered) -> list[str]:
    """Of devlint, Python and LibCST."""
    return [__version__, sys.version, _version_of_libcst(remembered)]


def package(name: str, remembered: Remembered) -> str:
    """The digest of all files of a package."""
    origin = _origin(name)
    if origin is None:
        return name
    found = hashlib.blake2b(digest_size=16)
    for path in _files(origin):
        found.update(f"{path}\0{_content(path, remembered)}\0".encode(errors="backslashreplace"))
    return found.hexdigest()


def _version_of_libcst(remembered: Remembered) -> str:
    """To import LibCST for its version would take longer than all else of a second check."""
    origin = _origin("libcst") or ""
    return f"{origin} {_content(os.path.join(os.path.dirname(origin), '_version.py'), remembered)}"


def _origin(name: str) -> str | None:
    """The file of a module that is in no package, whether it is loaded or not."""
    module = sys.modules.get(name)
    if module is not None:
        return getattr(module, "__file__", None)
    for finder in sys.meta_path:
        find_spec = getattr(finder, "find_spec", None)
        spec = None if find_spec is None else find_spec(name, None)
        if spec is not None:
            return spec.origin if spec.has_location else None
    return None


def _files(module: str) -> Iterator[str]:
    if os.path.basename(module) != "__init__.py":
        yield module
        return
    waiting = [os.path.dirname(module)]
    while waiting:
        try:
            entries = sorted(os.scandir(waiting.pop()), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.name.endswith(_SUFFIXES):
                yield entry.path
            elif entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)


def _content(file: str, remembered: Remembered) -> str:
    try:
        return remembered.of(file)[0]
    except SourceError as error:
        return error.message
