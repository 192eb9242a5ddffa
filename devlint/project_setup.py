"""Setting up: what a project looks like, and the configuration and hook that fit it."""

from __future__ import annotations

import re
from pathlib import Path

from devlint.project.discovery import discover
from devlint.project.source import SourceError, read
from devlint.records import dataclass

HOOKS = ".pre-commit-config.yaml"
FOREIGN = {"third_party", "third-party", "thirdparty", "vendor", "vendored", "external"}
TESTS = {"tests", "test"}
_TORCH = re.compile(rb"^\s*(?:import|from)\s+torch\b", re.MULTILINE)
_REPOSITORY = re.compile(r"^(?P<indent> *)- +repo:", re.MULTILINE)
_TOP_LEVEL = re.compile(r"^(?P<key>[A-Za-z_]+):", re.MULTILINE)
_HOOK = """\
- repo: local
  hooks:
    - id: devlint
      name: devlint
      entry: devlint check --force-exclude
      language: system
      types_or: [python, jupyter]
      require_serial: true
"""


@dataclass(frozen=True, slots=True)
class Layout:
    """files: how many Python files there are; with_torch: how many of them import torch.
    folders: top folders that have such files, "." for the root itself.
    foreign: folders with the code of others. has_tests: whether there are tests.
    """

    files: int
    with_torch: int
    folders: tuple[str, ...]
    foreign: tuple[str, ...]
    has_tests: bool


def look_at(root: Path) -> Layout:
    files = discover([root], root).files
    tops: set[str] = set()
    foreign: set[str] = set()
    with_torch = 0
    has_tests = False
    for file in files:
        parts = file.relative_to(root).parts
        own = next((n for n, part in enumerate(parts[:-1]) if part in FOREIGN), None)
        if own is not None:
            foreign.add("/".join(parts[: own + 1]))
            continue
        has_tests = has_tests or parts[0] in TESTS
        try:
            if _TORCH.search(read(file)) is None:
                continue
        except SourceError:
            continue
        with_torch += 1
        tops.add(parts[0] if len(parts) > 1 else ".")
    return Layout(len(files), with_torch, tuple(sorted(tops)), tuple(sorted(foreign)), has_tests)


def configuration_text(layout: Layout, *, is_table: bool) -> str:
    """TOML for the project: as a table of pyproject.toml, or as a file of its own."""
    lines = ["[tool.devlint]"] if is_table else []
    if layout.folders and "." not in layout.folders:
        lines.append(f"paths = {_array(layout.folders)}")
    if layout.foreign:
        lines.append(f"extend-exclude = {_array(layout.foreign)}")
    lines += ['min-confidence = "likely"', 'fail-on = "warning"']
    if layout.has_tests:
        table = "tool.devlint.overrides" if is_table else "overrides"
        tests = 'paths = ["tests/**", "test/**"]'
        lines += ["", f"[[{table}]]", tests, 'ignore = ["DEV3"]  # performance']
    return "\n".join(lines) + "\n"


def _array(words: tuple[str, ...]) -> str:
    return "[" + ", ".join('"' + _escaped(word) + '"' for word in words) + "]"


def _escaped(word: str) -> str:
    word = word.replace("\\", "\\\\").replace('"', '\\"')
    return "".join(c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}" for c in word)


def with_hook(before: str) -> tuple[str | None, str]:
    """The file of pre-commit with our hook, and what was added; None where `repos` is not the last
    of its keys, so that only a person sees where the hook belongs."""
    if not before.strip():
        return f"repos:\n{_HOOK}", f"repos:\n{_HOOK}"
    keys = [match["key"] for match in _TOP_LEVEL.finditer(before)]
    entries = list(_REPOSITORY.finditer(before))
    if not keys or keys[-1] != "repos" or not entries:
        return None, _HOOK
    indent = entries[-1]["indent"]
    added = "".join(f"{indent}{line}\n" for line in _HOOK.splitlines())
    newline = "" if before.endswith("\n") else "\n"
    return before + newline + added, added
