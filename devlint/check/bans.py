"""Uses of what a knowledge file bans (DEV003).

A name counts by what was imported under it in its scope: `import a.b as c`, `from a import b as c`,
`from . import b`. A method counts by its name, on whatever it is called.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import libcst as cst

from devlint.findings import Confidence, Severity
from devlint.inference.facts import Site
from devlint.inference.syntax.text import dotted
from devlint.knowledge import Ban, Bans
from devlint.project.source import ParsedFile
from devlint.rule import Claim


def claims_of_bans(parsed: ParsedFile, bans: Bans) -> Iterator[Claim]:
    """A claim for each use of what is banned, in the order of the file."""
    words = bans.words()
    if not words or not _mentions(parsed, words):
        return
    uses = _Uses(parsed, bans)
    parsed.tree.visit(uses)
    for node, name, ban in uses.found:
        yield Claim(
            Site(parsed, node),
            Severity.WARNING,
            Confidence.CERTAIN,
            f"`{name}` is banned: {ban.reason}",
            advice=f"`{ban.key}` stands in {ban.file}",
        )


def _mentions(parsed: ParsedFile, words: Collection[str]) -> bool:
    names = {parsed.module_name.partition(".")[0], *re.findall(r"\w+", parsed.text)}
    return not names.isdisjoint(words)


class _Uses(cst.CSTVisitor):
    """Walks the expressions of a file, outermost first; an attribute is one name, not several."""

    def __init__(self, parsed: ParsedFile, bans: Bans) -> None:
        super().__init__()
        # libcst.metadata takes longer to import than most files to check
        from libcst.metadata import MetadataWrapper, QualifiedNameProvider

        self.parsed = parsed
        self.bans = bans
        self.found: list[tuple[cst.CSTNode, str, Ban]] = []
        wrapper = MetadataWrapper(parsed.tree, unsafe_skip_copy=True)
        self.names = wrapper.resolve(QualifiedNameProvider)

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def visit_Call(self, node: cst.Call) -> bool:
        func = node.func
        if isinstance(func, cst.Attribute) and not any(self._imported(func)):
            ban = self.bans.of_method(func.attr.value)
            if ban is not None:
                self.found.append((node, f".{func.attr.value}()", ban))
        return True

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        return not self._use(node)

    def visit_Name(self, node: cst.Name) -> None:
        self._use(node)

    def _use(self, node: cst.Attribute | cst.Name) -> bool:
        for name in self._imported(node):
            ban = self.bans.of_name(name)
            if ban is not None:
                self.found.append((node, name, ban))
                return True
        return False

    def _imported(self, node: cst.CSTNode) -> Iterator[str]:
        """The full names of what a dotted name may be, as far as it was imported."""
        if not dotted(node):
            return
        names = self.names.get(node, ())
        for each in names() if callable(names) else names:
            if each.source.name == "IMPORT":
                yield _absolute(each.name, self.parsed)


def _absolute(name: str, parsed: ParsedFile) -> str:
    """The name with the package in the place of leading dots."""
    bare = name.lstrip(".")
    up = len(name) - len(bare)
    if not up:
        return name
    package = parsed.module_name.split(".")
    package = package[: len(package) - up + parsed.is_package]
    return ".".join([*package, bare])
