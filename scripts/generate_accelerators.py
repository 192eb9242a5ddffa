"""Generate devlint/knowledge/accelerators.json: what each release of torch has in
`torch.accelerator`, and which functions of `torch.cuda` it stands in for.

    python scripts/generate_accelerators.py             the installed release, others as they are
    python scripts/generate_accelerators.py PACKAGE …   other releases, too: `torch` folders, wheels
    python scripts/generate_accelerators.py --check     exit 1 if the file is not what is written

The names of a release are read from its source, which is not run. Whether both functions behave
alike where there is no accelerator is asked of the installed torch, on a machine without one.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import pathlib
import re
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "devlint" / "knowledge" / "accelerators.json"

# By the name in `torch.cuda`. Those of one name are found by the script.
RENAMED = {
    "current_device": "current_device_index",
    "device": "device_index",
    "mem_get_info": "get_memory_info",
    "set_device": "set_device_index",
}
# Of one name, and not the same.
DIFFERENT = {
    "is_available": "true for an accelerator that is no CUDA device, which what follows may demand",
    "get_device_capability": "a dictionary of dtypes, not two numbers",
    "current_stream": "a torch.Stream, without what torch.cuda.Stream adds",
    "set_stream": "takes a torch.Stream",
}
# The release from which on every accelerator of PyTorch itself has what is in a module: before it
# the functions on memory fail an assertion on MPS (pytorch#186430).
COMPLETE = {"memory": "2.13"}
ARGUMENTS: Mapping[str, tuple[object, ...]] = {"set_device": (0,), "device": (0,)}

Read = Callable[[str], str]


def names_of(read: Read, files: Iterable[str], package: str) -> list[str]:
    """`__all__` of a package of torch, and its modules."""
    found = set()
    for statement in ast.parse(read(f"{package}/__init__.py")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            found |= set(ast.literal_eval(statement.value))
    modules = (re.fullmatch(rf"{package}/([a-z]\w*)\.py", file) for file in files)
    return sorted(found | {match.group(1) for match in modules if match is not None})


def release_of(read: Read) -> str:
    """`2.9` of the version of a torch."""
    found = re.search(r"^__version__ = '(\d+\.\d+)", read("version.py"), re.MULTILINE)
    assert found is not None
    return found.group(1)


def reader_of(package: pathlib.Path) -> tuple[Read, list[str]]:
    """How to read the files of a torch, and their names."""
    if package.is_dir():
        folder = package

        def read(name: str) -> str:
            return (folder / name).read_text(encoding="utf-8")

        return read, [file.relative_to(folder).as_posix() for file in folder.glob("*/*.py")]
    archive = zipfile.ZipFile(package)
    names = (name.removeprefix("torch/") for name in archive.namelist())
    return lambda name: archive.read(f"torch/{name}").decode(), list(names)


def is_alike(cuda: str, other: str) -> bool:
    """Where there is no accelerator, both raise, or both give the same."""
    arguments = ARGUMENTS.get(cuda, ())
    return _outcome(torch.cuda, cuda, arguments) == _outcome(torch.accelerator, other, arguments)


def complete(name: str) -> str:
    """The release from which on every accelerator has a function; "" where all had it at once."""
    module = getattr(torch.accelerator, name).__module__.rpartition(".")[2]
    return COMPLETE.get(module, "")


def _outcome(module: Any, name: str, arguments: tuple[object, ...]) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = getattr(module, name)(*arguments)
            if hasattr(made, "__enter__"):
                with made:
                    pass
                return "entered"
            return made
        except Exception:
            return "raises"


def generate(packages: Iterable[pathlib.Path], known: Mapping[str, list[str]]) -> str:
    """The text of accelerators.json."""
    assert not torch.accelerator.is_available(), "to be run where there is no accelerator"
    releases = dict(known)
    installed = pathlib.Path(torch.__file__).parent
    for package in (*packages, installed):
        read, files = reader_of(package)
        releases[release_of(read)] = names_of(read, files, "accelerator")
    read, files = reader_of(installed)
    newest = releases[release_of(read)]
    cuda = set(names_of(read, files, "cuda"))
    by_name = {name: name for name in sorted(cuda & set(newest)) if hasattr(torch.cuda, name)}
    functions = {
        name: other
        for name, other in sorted({**by_name, **RENAMED}.items())
        if callable(getattr(torch.accelerator, other)) and name not in DIFFERENT
    }
    document = {
        "measured": release_of(read),
        "releases": {
            release: releases[release]
            for release in sorted(releases, key=lambda r: [int(part) for part in r.split(".")])
        },
        "stands_for": {
            name: {"name": other, "alike": is_alike(name, other), "complete": complete(other)}
            for name, other in functions.items()
        },
    }
    return json.dumps(document, indent=1) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    written = TABLE.read_text() if TABLE.exists() else ""
    known: Mapping[str, list[str]] = {}
    with contextlib.suppress(ValueError):
        known = json.loads(written)["releases"]
    text = generate(options.packages, known)
    if options.check:
        return int(text != written)
    TABLE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
