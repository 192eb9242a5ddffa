"""Attributes of a class that only its constructor sets."""

from __future__ import annotations

import libcst as cst

from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import dotted


def kept_attribute(frame: Frame, node: cst.CSTNode) -> str:
    """`window` of `self.window`, which nobody sets but the constructor."""
    owner, _, name = dotted(node).partition(".")
    if owner != "self" or frame.info is None or not name:
        return ""
    makers = [info.methods.get("__init__") for info in frame.info.lineage()]
    bodies = {id(maker.node.body) for maker in makers if maker is not None}
    suites = [suite for info in frame.info.lineage() for suite, _ in info.assigned.get(name, ())]
    return name if suites and all(id(suite) in bodies for suite in suites) else ""
