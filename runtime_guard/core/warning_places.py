"""Warnings keep the place that they have without our hooks between a program and torch."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch.overrides

from runtime_guard.core.patches import Patches
from runtime_guard.core.sites import is_users

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_ASKING = torch.overrides.__file__
_real: Any = warnings


def _as_without_us(frame: FrameType | None) -> Iterator[tuple[int, FrameType]]:
    """The frames from ``frame`` on, each with its depth, but for those that hooks bring along.

    These are our own, ``handle_torch_function`` that called them, and the first call of the
    function that they call a second time.
    """
    depth, kept, behind_us = 0, None, False
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_OURS):
            behind_us = True
        elif behind_us and file == _ASKING:
            pass
        elif behind_us and kept is not None and frame.f_code is kept:
            behind_us = False
        else:
            behind_us = False
            kept = frame.f_code
            yield depth, frame
        depth, frame = depth + 1, frame.f_back


def keep_places(patches: Patches) -> None:
    """``warnings.warn`` counts no frames of ours; a warning from C++ is not at a line of ours."""
    warn, show = _real.warn, _real._showwarnmsg

    @functools.wraps(warn)
    def warn_there(
        message: Any, category: Any = None, stacklevel: int = 1, *args: Any, **options: Any
    ) -> None:
        calling = sys._getframe(1)
        frames = list(_as_without_us(calling))
        if calling.f_code.co_filename.startswith(_OURS):  # our own: at the user's line
            users = [entry for entry in frames if is_users(entry[1].f_code.co_filename)]
            frames, stacklevel = users or frames, 1
        if stacklevel <= len(frames):
            stacklevel = frames[stacklevel - 1][0] + 1
        warn(message, category, stacklevel + 1, *args, **options)

    def show_there(message: Any) -> None:
        if message.filename.startswith(_OURS):
            calling = next(
                (f for _, f in _as_without_us(sys._getframe(1)) if f.f_globals is not vars(_real)),
                None,
            )
            if calling is not None:
                message = warnings.WarningMessage(
                    message.message,
                    message.category,
                    calling.f_code.co_filename,
                    calling.f_lineno,
                    message.file,
                    None,
                    message.source,
                )
        show(message)

    patches.set(_real, "warn", warn_there)
    patches.set(_real, "_showwarnmsg", show_there)
