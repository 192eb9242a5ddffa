"""Events of calls, with what is bound to the parameters."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from devlint.inference.program.records import Function
from devlint.inference.summaries.arguments import Binding


@dataclass(frozen=True, slots=True, eq=False)
class ArgumentsBound:
    """The arguments of a call are bound to the parameters of a function."""

    node: cst.CSTNode
    function: Function
    binding: Binding


@dataclass(frozen=True, slots=True, eq=False)
class CallBound:
    """A call hands its arguments to a function of the project."""

    function: Function
    binding: Binding
