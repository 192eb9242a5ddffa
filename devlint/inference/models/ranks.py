"""Ranks: the number of a process among those of all nodes, as torch and its wrappers give it.

A wrapper's `get_rank` asks `torch.distributed` where a process group is, and `get_dist_info` gives
the number of processes beside it. Cards are counted on each node: see `GLOBAL_RANK`.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import GLOBAL_RANK, HOST
from devlint.inference.domain.value import Value
from devlint.inference.models.handlers import Handler
from devlint.inference.program.control_dependences import branches_around
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.syntax.text import called_name, every


def _rank(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """The rank among all processes; within a group it may be the one on this node, and so it is
    where a condition has compared it with the number of cards."""
    is_local = bool(arguments.positional or arguments.keywords) or _is_below_count(frame, node)
    return HOST if is_local else GLOBAL_RANK


def _rank_and_count(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    return Sequence([_rank(frame, node, arguments), HOST], kind="tuple")


def _is_below_count(frame: Frame, node: cst.Call) -> bool:
    """`if get_rank() < torch.cuda.device_count():` is around the call."""
    if "device_count" not in frame.unit.source.text:
        return False
    around = branches_around(frame, node)
    tests = (test.test for test, _ in around if isinstance(test, (cst.If, cst.IfExp, cst.While)))
    for comparison in (c for test in tests for c in every(test, cst.Comparison)):
        names = {called_name(call) for call in every(comparison, cst.Call)}
        if {"device_count", called_name(node)} <= names:
            return True
    return False


_OWNERS = ("torch.distributed", "deepspeed.comm", "ignite.distributed", "detectron2.utils.comm")


_WITH_COUNT = ("mmengine.dist", "mmcv.runner", "basicsr.utils.dist_util")


RANKS: dict[str, Handler] = {
    **{f"{owner}.get_rank": _rank for owner in (*_OWNERS, *_WITH_COUNT)},
    **{f"{owner}.get_dist_info": _rank_and_count for owner in _WITH_COUNT},
}
