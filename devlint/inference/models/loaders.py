"""Loaders and data sets, by how they are called."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.models.index_tuples import is_index_tuple
from devlint.inference.program.functions import Arguments
from devlint.inference.syntax.text import shorten

_BRACKETED = (cst.Call, cst.Subscript, cst.List, cst.Tuple, cst.Dict)  # ends with no name


def is_indifferent(name: str) -> bool:
    """By its name a callee takes tensors of any device side by side, or moves them itself."""
    return holds("indifferent-callee", name)


def makes_batch(arguments: Arguments) -> bool:
    """A tokenizer or processor of a library is asked for a batch of its own."""
    return "return_tensors" in arguments.keywords


def is_measure(arguments: Arguments, node: cst.CSTNode) -> bool:
    """By its name an argument is a length or an index, or by its form an index, which the host may
    need."""
    if any(given is node and is_index_tuple(value) for value, given in arguments.all()):
        return True
    names = [key for key, (_, given) in arguments.keywords.items() if given is node]
    if arguments.positional and any(holds("row-owner-name", name) for name in names):
        return True
    if not isinstance(node, _BRACKETED):
        names.append(shorten(node).removesuffix(".data"))
    return any(holds("length-name", name) for name in names)
