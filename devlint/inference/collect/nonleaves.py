"""Non-leaf tensors that are used as if they were the parameters they came from."""

from __future__ import annotations

from devlint.inference.program.events import NonLeafNote, NonLeafUsed
from devlint.inference.program.frames import Frame


def use_non_leaf(frame: Frame, event: NonLeafUsed) -> None:
    """Say of the move that made a tensor a non-leaf how the tensor is used."""
    tensor, use, node = event
    if tensor.origin is None:
        return
    nodes = {step.node for step in tensor.origin.chain()}
    for noted in frame.notes:
        if type(noted) is NonLeafNote and noted.node in nodes:
            noted.use, noted.use_node = use, node
