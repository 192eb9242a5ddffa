"""Events of calls, with what is bound to the parameters."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from devlint.inference.program.declarations import Function
from devlint.inference.summaries.arguments import Binding


class ArgumentsBound(NamedTuple):
    """The arguments of a call are bound to the parameters of a function."""

    node: cst.CSTNode
    function: Function
    binding: Binding


class CallBound(NamedTuple):
    """A call hands its arguments to a function of the project."""

    function: Function
    binding: Binding
