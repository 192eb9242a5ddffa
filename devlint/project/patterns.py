"""Path patterns in the language of `.gitignore`, which `exclude` and `overrides` use too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from devlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line: what it matches, and whether it takes back what earlier ones matched.

    regex: None for a plain name, which is compared: to compile all those that are excluded by
        default takes longer than the rest of a check that was done before.
    """

    name: str
    regex: re.Pattern[str] | None
    negated: bool
    only_directories: bool

    def matches(self, path: str) -> bool:
        """Whether it is meant, whatever its kind."""
        if self.regex is None:
            return path == self.name or path.endswith(f"/{self.name}")
        return self.regex.fullmatch(path) is not None


@dataclass(frozen=True, slots=True)
class Patterns:
    """The lines of one file or option, for paths relative to `base` (`""` is the root itself)."""

    patterns: tuple[Pattern, ...]
    base: str = ""

    def verdict(self, path: str, is_directory: bool) -> bool | None:
        """Whether the last pattern that matches says so; None if none matches.

        path: relative to the root, `/`-separated. Its parents are not looked at.
        """
        if self.base:
            if not path.startswith(self.base + "/"):
                return None
            path = path[len(self.base) + 1 :]
        for pattern in reversed(self.patterns):
            if (is_directory or not pattern.only_directories) and pattern.matches(path):
                return not pattern.negated
        return None

    def covers(self, path: str) -> bool:
        """Whether the patterns match the file at `path` or a directory that it is in."""
        parts = path.split("/")
        for depth in range(1, len(parts)):
            if self.verdict("/".join(parts[:depth]), is_directory=True):
                return True
        return self.verdict(path, is_directory=False) is True


def compile_patterns(lines: Iterable[str], base: str = "") -> Patterns:
    """Patterns from lines; blank lines and comments are skipped, as is a line that is no pattern.

    A pattern with no slash but at its end matches at every depth, any other one from the base on;
    `*` and `?` match within a name, `**` across directories.
    """
    compiled = (_compile(line) for line in lines)
    return Patterns(tuple(pattern for pattern in compiled if pattern is not None), base)


def excluded(path: str, is_directory: bool, stack: Sequence[Patterns]) -> bool:
    """The verdict of the innermost patterns that have one; the stack is outermost first."""
    for patterns in reversed(stack):
        verdict = patterns.verdict(path, is_directory)
        if verdict is not None:
            return verdict
    return False


def _compile(line: str) -> Pattern | None:
    line = line.rstrip("\r\n")
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    if negated:
        line = line[1:]
    only_directories = line.endswith("/")
    line = line.rstrip("/")
    anchored = "/" in line
    line = line.removeprefix("./").lstrip("/")
    if not line:
        return None
    if not anchored and not _SPECIAL.search(line):
        return Pattern(line, None, negated, only_directories)
    try:
        regex = re.compile(("" if anchored else "(?:.*/)?") + _translate(line), re.DOTALL)
    except re.error:
        return None
    return Pattern(line, regex, negated, only_directories)


_SPECIAL = re.compile(r"[*?\[\\]")
_TOKEN = re.compile(
    r"(?P<everything>\A\*\*\Z)|(?P<leading>\A(?:\*\*/)+)|(?P<between>/(?:\*\*/)+)"
    r"|(?P<trailing>/\*\*\Z)|(?P<star>\*+)|(?P<one>\?)"
    r"|(?P<set>\[(?P<not>[!^])?(?P<members>\]?[^\]/]*)\])|\\(?P<escaped>.)",
    re.DOTALL,
)
_REGEX = {
    "everything": ".*",
    "leading": "(?:.*/)?",
    "between": "/(?:.*/)?",
    "trailing": "/.*",
    "star": "[^/]*",
    "one": "[^/]",
}


def _translate(glob: str) -> str:
    regex = []
    end = 0
    for token in _TOKEN.finditer(glob):
        regex.append(re.escape(glob[end : token.start()]))
        end = token.end()
        if token["set"]:
            members = token["members"].replace("\\", "\\\\").replace("[", "\\[")
            members = members.replace("]", "\\]", 1)
            regex.append(f"(?!/)[{'^' if token['not'] else ''}{members}]")
        elif token["escaped"]:
            regex.append(re.escape(token["escaped"]))
        else:
            regex.append(_REGEX[token.lastgroup or ""])
    regex.append(re.escape(glob[end:]))
    return "".join(regex)
