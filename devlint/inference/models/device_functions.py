"""Functions about devices: what they name, choose and ask for.

`torch.device("cuda", 1)` is a device, `torch.cuda.is_available()` is true in the accelerated world.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.host import (
    FALSE,
    GLOBAL_RANK,
    NONE,
    RANK_VARIABLES,
    TRUE,
    Const,
    DeviceValue,
    External,
    Host,
)
from devlint.inference.domain.placement import CPU, CUDA, Device, Placement
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import UNKNOWN, Unknown, Value
from devlint.inference.models import devices
from devlint.inference.models.devices import config_device, named_device, place_of
from devlint.inference.models.handlers import Handler
from devlint.inference.models.moves.targets import chosen
from devlint.inference.models.ranks import RANKS
from devlint.inference.program.events import DeviceRevealed
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.traffic import HostCopies
from devlint.inference.syntax.text import shorten


def _device(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    first = arguments.get(0, "type")
    if first is None:
        first = arguments.get(0, "device")
    if first is None:
        return DeviceValue(None)
    index = arguments.get(1, "index")
    place = place_of(frame, first)
    if place is None:
        given = arguments.node(0, "type")
        place = chosen(frame, given) or _chosen_somewhere(frame, node, first)
    if type(place) is Device and type(index) is Const and isinstance(index.value, int):
        place = Device(place.type, index.value)
    elif type(place) is Device and type(index) is Tensor and index.evidence is not None:
        index.evidence.effects.as_index = True
        return DeviceValue(index.place, sure=True)  # a parameter: the caller chooses the index
    elif type(place) is Device and index is not None and type(index) is not Const:
        numbered = place.type == "cuda"
        place = named_device(frame, shorten(node), numbered).place  # one of several cards
    return DeviceValue(place, sure=True)


def _chosen_somewhere(frame: Frame, node: cst.Call, name: Value) -> Placement:
    """`torch.device(config["device"])`, `torch.device(preferred())`: the device that somebody chose
    out of sight, and no certain one."""
    if type(name) is Tensor and name.evidence is not None and not name.evidence.is_tensor:
        return config_device(frame, name)
    if type(name) in (Unknown, Host, External):
        return named_device(frame, shorten(node)).place
    return None


def _context(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    return devices.CONTEXT


def _reveal(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`reveal_device(value)` returns the value."""
    for value, argument in arguments.all()[:1]:
        frame.emit(DeviceRevealed(node, value, argument))
        return value
    return UNKNOWN


def _true(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    return TRUE


def _false(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    return FALSE


def _cuda_device(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    return DeviceValue(CUDA)


def _card_number(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    return DeviceValue(CUDA, number=True)


def _default_device(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    return DeviceValue(frame.default_device)


def _set_default_device(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    value = arguments.get(0, "device")
    if value is not None:
        frame.unit.default_device = frame.outcome.left_default = place_of(frame, value)
    return NONE


def _set_default_type(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    value = arguments.get(0, "t")
    name = value.name if type(value) is External else (value.value if type(value) is Const else "")
    if isinstance(name, str) and name.startswith("torch."):
        place = CUDA if name.startswith("torch.cuda.") else CPU
        frame.unit.default_device = frame.outcome.left_default = place
    return NONE


def _variable(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`os.environ.get("RANK")`."""
    name = arguments.get(0, "key")
    is_rank = type(name) is Const and name.value in RANK_VARIABLES
    return GLOBAL_RANK if is_rank else UNKNOWN


def _synchronize(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    frame.kept(HostCopies).landing.clear()
    return NONE


def _other_backend(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """The accelerated world has CUDA; in a file that never speaks of it, what it speaks of."""
    text = frame.unit.source.text
    return FALSE if "cuda" in text or "accelerator" in text else TRUE


DEVICE_FUNCTIONS: dict[str, Handler] = {
    "devlint.reveal_device": _reveal,
    "os.environ.get": _variable,
    "os.getenv": _variable,
    "torch.device": _device,
    "torch.cuda.is_available": _true,
    "torch.accelerator.is_available": _true,
    # The code is run, neither exported nor traced.
    "torch.onnx.is_in_onnx_export": _false,
    "torch.jit.is_scripting": _false,
    "torch.jit.is_tracing": _false,
    "torchvision._is_tracing": _false,
    "transformers.utils.is_torch_fx_proxy": _false,  # but while torch.fx traces
    "transformers.file_utils.is_torch_fx_proxy": _false,
    "torch.accelerator.current_accelerator": _cuda_device,
    "torch.cuda.current_device": _card_number,
    "torch.accelerator.current_device_index": _card_number,
    "torch.cuda.device": _context,
    "torch.backends.mps.is_available": _other_backend,
    "torch.backends.mps.is_built": _other_backend,
    "torch.mps.is_available": _other_backend,
    "torch.xpu.is_available": _other_backend,
    **RANKS,
    "torch.get_default_device": _default_device,
    "torch.set_default_device": _set_default_device,
    "torch.set_default_tensor_type": _set_default_type,
    "torch.cuda.synchronize": _synchronize,
    "torch.accelerator.synchronize": _synchronize,
}


def is_predicate(value: Value) -> bool:
    """`torch.cuda.is_available` itself, uncalled: it is true of every machine."""
    if type(value) is not External or value.name not in DEVICE_FUNCTIONS:
        return False
    return value.name.rpartition(".")[2].startswith("is_")
