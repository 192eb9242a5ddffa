"""What is asked of the text of a device, or of a tensor's type, and is never there.

    pad = 8 if "gpu" in str(device) else None       # PyTorch calls it "cuda"
    return "cuda" in str(type(self.weight.data))    # <class 'torch.Tensor'>, wherever it is

The law: the text of a `torch.device` begins with its type, and no type is called "gpu"; and the
type of a tensor is `torch.Tensor` on every device. What is called `device` alone may be the user's
own text; what `str` is asked of, or has a `.type`, is none.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.collect.invalid_devices import note_mistake
from devlint.inference.conventions import holds
from devlint.inference.domain.host import Const, DeviceValue, text_of
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import alternatives
from devlint.inference.facts import Mistake
from devlint.inference.program.events import DeviceCompared
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import dotted, shorten


def of_comparison(frame: Frame, event: DeviceCompared) -> None:
    """`"gpu" in str(device)`, `"gpu" in device.type`, `"cuda" in str(type(x))`."""
    node = event.node
    if not isinstance(event.operator, (cst.In, cst.NotIn)) or not isinstance(node, cst.Comparison):
        return
    asked = text_of(event.left).lower()
    if asked not in ("gpu", "cuda", "torch.cuda") or len(node.comparisons) != 1:
        return
    text = node.comparisons[0].comparator
    if asked == "gpu":
        _of_device(frame, node, text)
    else:
        typed = _asked_in(_asked_in(text, "str", "repr"), "type")
        if typed is not None and _is_tensor(frame, typed):
            note_mistake(frame, node, Mistake.NO_TYPE, shorten(node), shorten(typed))


def _of_device(frame: Frame, node: cst.Comparison, text: cst.BaseExpression) -> None:
    device = _asked_in(text, "str", "repr")
    if device is None and isinstance(text, cst.Attribute) and text.attr.value == "type":
        device = text.value
    if device is None:
        return
    found = alternatives(frame.eval(device))
    is_sure = all(type(each) is DeviceValue and each.sure for each in found)
    if any(type(each) is Const for each in found):
        return
    if is_sure or holds("device-name", dotted(device)):
        note_mistake(frame, node, Mistake.NO_SUCH_TYPE, shorten(node), "", inferred=not is_sure)


def _asked_in(node: cst.CSTNode | None, *functions: str) -> cst.BaseExpression | None:
    """`x` of `str(x)`, where `str` is one of these."""
    if not isinstance(node, cst.Call) or len(node.args) != 1 or node.args[0].keyword is not None:
        return None
    return node.args[0].value if dotted(node.func) in functions else None


def _is_tensor(frame: Frame, node: cst.BaseExpression) -> bool:
    values = alternatives(frame.eval(node))
    return all(type(v) is Tensor and (v.evidence is None or v.evidence.is_tensor) for v in values)
