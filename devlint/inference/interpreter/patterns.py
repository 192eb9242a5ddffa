"""Patterns of `match`: the names that they bind to parts of the subject.

`case [x, *rest]` binds `x` to its first element.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.tensors import tensor_like
from devlint.inference.domain.value import UNKNOWN, Value
from devlint.inference.program.frames import Frame


def bind_pattern(frame: Frame, pattern: cst.MatchPattern, subject: Value) -> None:
    """Bind the names of a pattern to parts of its subject."""
    if isinstance(pattern, cst.MatchAs):
        if pattern.pattern is not None:
            bind_pattern(frame, pattern.pattern, subject)
        if pattern.name is not None:
            frame.bind(pattern.name.value, subject)
    elif isinstance(pattern, (cst.MatchList, cst.MatchTuple)):
        part = frame.interpreter.element_of(frame, subject, pattern)
        items = subject.items if type(subject) is Sequence else None
        known = items is not None and len(items) == len(pattern.patterns)
        for index, item in enumerate(pattern.patterns):
            if isinstance(item, cst.MatchSequenceElement):
                bind_pattern(frame, item.value, items[index] if items and known else part)
            elif isinstance(item, cst.MatchStar) and item.name is not None:
                frame.bind(item.name.value, Sequence(None, part))
    elif isinstance(pattern, cst.MatchOr):
        for option in pattern.patterns:
            bind_pattern(frame, option.pattern, subject)
    elif isinstance(pattern, cst.MatchMapping):
        for entry in pattern.elements:
            bind_pattern(frame, entry.pattern, tensor_like(subject))
    elif isinstance(pattern, cst.MatchClass):
        for element in pattern.patterns:
            bind_pattern(frame, element.value, UNKNOWN)
        for keyword in pattern.kwds:
            bind_pattern(frame, keyword.pattern, UNKNOWN)
