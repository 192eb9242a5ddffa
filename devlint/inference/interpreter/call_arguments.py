"""Arguments of a call, evaluated: by position and by keyword, those of `*xs` and `**kw` spread."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.tensors import tensor_like
from devlint.inference.domain.value import Value
from devlint.inference.models import objects
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Instance


def evaluate_arguments(frame: Frame, node: cst.Call) -> Arguments:
    """The arguments of a call; `*xs` of known length is spread."""
    positional: list[tuple[Value, cst.CSTNode]] = []
    keywords: dict[str, tuple[Value, cst.CSTNode]] = {}
    is_open = False
    spreads: list[int] = []
    if not node.args:
        return Arguments([], {})
    with frame.under(consumer=node):
        for argument in node.args:
            value = frame.eval(argument.value)
            if argument.keyword is not None:
                keywords[argument.keyword.value] = (value, argument.value)
            elif argument.star == "":
                positional.append((value, argument.value))
            elif argument.star == "*":
                if type(value) is Sequence and value.items is not None:
                    positional.extend((item, argument.value) for item in value.items)
                else:
                    is_open = True
                    spreads.append(len(positional))
                    positional.append(
                        (frame.interpreter.element_of(frame, value, argument.value), argument.value)
                    )
            elif type(value) is Mapping and value.element is None:
                for key, item in value.entries.items():
                    if isinstance(key, str):
                        keywords.setdefault(key, (item, argument.value))
            else:
                is_open = True
                inner = value.any() if type(value) is Mapping else tensor_like(value)
                if type(value) is Instance:
                    inner = objects.elements(frame, argument.value, value)
                keywords["**"] = (inner, argument.value)
    return Arguments(positional, keywords, is_open, spreads[0] if len(spreads) == 1 else None)
