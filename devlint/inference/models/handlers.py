"""Handlers: functions that stand for one known function, and give its result.

A handler is told the frame, the call and its arguments.
"""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from devlint.inference.domain.value import Value
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments

Handler = Callable[[Frame, cst.Call, Arguments], Value]
