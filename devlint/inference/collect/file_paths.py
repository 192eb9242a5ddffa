"""Files that code reads and writes: the calls that do, and the words for where a file is.

`torch.save(state, f"{folder}/net.pt")` saves to a file called `{}/net.pt`, whatever
`folder` is.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.conventions import without
from devlint.inference.syntax.text import dotted, parts

_SAVES = ("torch.save", "torch.jit.save")


LOADS = ("torch.load", "torch.jit.load")


SAME_PLACE = ("open", "str", "fspath", "Path", "abspath")  # the place is their first argument


def names_a_file(node: cst.Call) -> bool:
    """`os.path.join(folder, "net.pt")` is one place each time, `io.BytesIO()` is not."""
    name = dotted(node.func).rpartition(".")[2]
    return name in SAME_PLACE or any(_texts(node))


def template(node: cst.CSTNode) -> str:
    """A string, with the values that go into it left out; empty where nothing else is in it."""
    text = ""
    if isinstance(node, cst.FormattedString):
        text = "".join(
            part.value if isinstance(part, cst.FormattedStringText) else "{}" for part in node.parts
        )
    elif isinstance(node, cst.SimpleString):
        text = str(node.evaluated_value)
    elif isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo):
        text = without("template-hole", template(node.left), "{}") if _is_text(node.left) else ""
    elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        formats = node.func.attr.value == "format" and _is_text(node.func.value)
        text = without("template-hole", template(node.func.value), "{}") if formats else ""
    return text if any(each.isalnum() for each in text) else ""


def _texts(node: cst.CSTNode) -> Iterator[str]:
    text = template(node)
    if text:
        yield text
        return
    for part in parts(node):
        yield from _texts(part)


def _is_text(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.SimpleString)


def saved_to(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The file or buffer that a call saves to."""
    if not isinstance(node, cst.Call):
        return None
    if dotted(node.func) in _SAVES:
        return argument_of(node, 1, "f")
    if isinstance(node.func, cst.Attribute) and node.func.attr.value == "save":
        return argument_of(node, 0, "f")  # of a scripted module
    return None


def argument_of(call: cst.Call, position: int, name: str) -> cst.BaseExpression | None:
    for index, argument in enumerate(call.args):
        if argument.keyword is not None:
            if argument.keyword.value == name:
                return argument.value
        elif index == position and not argument.star:
            return argument.value
    return None


def file_name(node: cst.BaseExpression) -> str:
    """The last text in the expression of a path, or else the last constant in it, or the object's
    attribute that holds the path."""
    if dotted(node).startswith("self."):
        return dotted(node)
    return ["", *_constants(node), *_texts(node)][-1]


def _constants(node: cst.CSTNode) -> Iterator[str]:
    """`os.path.join(folder, names.STATE_FILE)`: what a constant says, it says each time."""
    name = dotted(node)
    if name.rpartition(".")[2].isupper():
        yield name
        return
    for part in parts(node):
        yield from _constants(part)
