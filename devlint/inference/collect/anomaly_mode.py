"""Anomaly mode: `torch.autograd.set_detect_anomaly(True)`, and `with detect_anomaly():`.

Behind each operation of `backward` it looks for NaN, and the host waits for the answer. Whoever has
it on looks for a mistake, and not for speed.
"""

from __future__ import annotations

from devlint.inference.collect.under_way import library_name
from devlint.inference.domain.host import Const
from devlint.inference.program.events import Called
from devlint.inference.program.frames import Frame

_SETS = frozenset({"torch.autograd.set_detect_anomaly", "torch.set_anomaly_enabled"})
_IS_ON = frozenset({"torch.autograd.detect_anomaly"})


def of_call(frame: Frame, event: Called) -> None:
    """Note a call that turns it on whatever is asked of the program."""
    node, callee, arguments = event
    name = library_name(callee, node).replace(".anomaly_mode.", ".")
    if name not in _SETS | _IS_ON or frame.control.cold:
        return
    mode = arguments.get(0, "mode") if name in _SETS else Const(True)
    if type(mode) is Const and mode.value is True:
        frame.unit.facts.anomaly_mode = frame.site(node)
