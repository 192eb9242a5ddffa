"""The calls that a file makes of its own functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache

import libcst as cst

from devlint.inference.facts import Facts


def calls_of(facts: Facts, function: cst.CSTNode) -> Sequence[cst.CSTNode]:
    """The calls of a function in its own file."""
    return _calls(facts).get(function, ())


@lru_cache(maxsize=1)  # the file under check
def _calls(facts: Facts) -> Mapping[cst.CSTNode, Sequence[cst.CSTNode]]:
    """The calls in a file of its own functions, by these."""
    found: defaultdict[cst.CSTNode, list[cst.CSTNode]] = defaultdict(list)
    for call, called in facts.callees.items():
        found[called].append(call)
    return found
