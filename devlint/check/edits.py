"""The fix of a claim: replacements of nodes become edits of the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from devlint.findings import Edit, Fix
from devlint.inference.syntax.text import code
from devlint.positions import Layout
from devlint.project.source import ParsedFile, lines_of
from devlint.rule import Claim


def fix_of(claim: Claim, parsed: ParsedFile, layouts: Mapping[ParsedFile, Layout]) -> Fix | None:
    """All edits of a claim's fix; None if one has no place in the file, or loses a comment."""
    if _loses_a_comment(claim):
        return None
    edits = []
    for replacement in claim.fix:
        if replacement.site.source is not parsed:
            return None
        span = layouts[parsed].spans.get(replacement.site.node)
        if span is None:
            return None
        location = span.location(parsed.path)
        text = replacement.text
        if "\n" in text:
            written = lines_of(parsed.text)[location.line - 1 : location.end_line]
            text = indented(text, code(replacement.site.node), written)
        edits.append(Edit(location, text))
    return Fix(claim.applicability, tuple(edits)) if edits else None


def _loses_a_comment(claim: Claim) -> bool:
    """A comment inside of what is replaced is nowhere in the new text."""
    text = "\n".join(replacement.text for replacement in claim.fix)
    return any(
        comment.value not in text
        for replacement in claim.fix
        if "#" in code(replacement.site.node)
        for comment in _comments(replacement.site.node)
    )


def _comments(node: cst.CSTNode) -> Iterator[cst.Comment]:
    if isinstance(node, cst.Comment):
        yield node
    for child in node.children:
        yield from _comments(child)


def indented(text: str, printed: str, written: list[str]) -> str:
    """`text` with the indentation that its further lines have in the file.

    LibCST prints a node of several lines (`printed`) without the indentation of the block that it
    is in; `written` are its lines in the file.  Lines that are not the node's stay as they are.
    """
    lost = {}
    for bare, whole in zip(printed.split("\n")[1:], written[1:], strict=False):
        indent = whole[: len(whole) - len(whole.lstrip())]
        own = bare[: len(bare) - len(bare.lstrip())]
        if bare.strip() and len(indent) > len(own):
            lost[bare] = indent[: len(indent) - len(own)]
    first, *others = text.split("\n")
    for number, line in enumerate(others):
        origin = next((b for b in lost if line.startswith(b) or b.startswith(line)), None)
        if origin is not None and line.strip():
            others[number] = lost[origin] + line
    return "\n".join((first, *others))
