"""Whether code is written with accelerators in mind."""

from __future__ import annotations

from devlint.inference.conventions import holds, is_assigned
from devlint.inference.domain.placement import Variable
from devlint.inference.domain.tensors import Tensor
from devlint.inference.program.declarations import ClassInfo, Function, classes_of
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import code, dotted, plain_parameters


def notes_host(info: ClassInfo) -> bool:
    """An object, no module, that notes the host as its device, whoever makes it."""
    own = [v for ancestor in info.lineage() for _, v in ancestor.assigned.get("device", ())]
    return (
        not info.is_module
        and bool(own)
        and all(holds("host-device", code(value)) for value in own)
        and not is_assigned(info.unit.source.text, "device")
    )


def works_on_device(frame: Frame, tensor: Tensor) -> bool:
    """The function works for the model, not for the host: neither test nor script nor output.

    Who writes `.numpy()` on an input expects it on the host. That others may hand it in from
    elsewhere is shown by a method of a module or of an `autograd.Function`, by a function that has
    to do with devices or runs a model, or by code of the file that asks an input of this name for
    its device. The data of a script are where it read them, until it moves them.
    """
    unit, function = frame.unit, frame.function
    if not unit.accelerated or function is None or is_for_host(frame):
        return False
    info = function.info
    outer = function.around
    asked = type(tensor.place) is Variable and _is_asked(unit.source.text, tensor.place.name)
    if unit.is_script and not frame.in_module:
        return asked
    if frame.in_module or _minds_or_runs(function):
        return True
    if info is not None and "torch.autograd.Function" in info.library_bases:
        return True
    return outer is None and asked


def is_transform(function: Function | None) -> bool:
    """`Blur(3)(image)`, by an object in a file without modules, called with a sample: data sets do
    so, on the host, for each of their rows."""
    if function is None or function.name != "__call__" or function.info is None:
        return False
    params = function.node.params
    given = [each for each in (*params.posonly_params, *params.params) if each.default is None]
    beside = (*classes_of(function.unit), *function.info.lineage())
    if len(given) != 2 or any(each.is_module for each in beside):
        return False
    if not holds("sample-name", given[1].name.value):
        return False
    return not function.says("device-minding-text")


def computes_loss(function: Function) -> bool:
    """By its name, or that of its file."""
    return holds("loss-place", function.name) or holds("loss-place", function.unit.source.path)


def computes_metric(function: Function) -> bool:
    """By its class and the bases of that; of a plain function, by its file."""
    info = function.info
    if info is None:
        return holds("metric-place", function.unit.source.path) and not function.unit.is_script
    lineage = info.lineage()
    names = [each.name for each in lineage]
    names += [dotted(base.value) for each in lineage for base in each.node.bases]
    return any(holds("metric-class", name) for name in names)


def is_for_host(frame: Frame) -> bool:
    """The function is a test's or a script's of the host, or it shows, writes or converts."""
    unit, function = frame.unit, frame.function
    name = function.name if function is not None else ""
    if function is None or unit.is_test or unit.host_script or name in ("", "<lambda>"):
        return True
    info = function.info
    place = f"{unit.source.path}.{info.name}" if info is not None else unit.source.path
    outer = function.around
    names = name if outer is None else f"{outer.name} {name}"
    return holds("host-work-name", names) or holds("showing-place", place)


def minds_devices(function: Function, parameter: str) -> bool:
    """Whether a function is written for inputs on a device, as far as it shows itself.

    It, or its class, has to do with devices or runs a model, it computes a loss, code of the file
    asks an input of this name for its device, or it is there for others and says that it takes
    tensors, or stands beside modules.
    """
    unit = function.unit
    if computes_loss(function):
        return True
    if computes_metric(function) and declares_tensor(function, parameter):
        return True
    is_public = not function.name.startswith("_") and not unit.is_script
    if is_public and (
        declares_tensor(function, parameter) or any(c.is_module for c in classes_of(unit))
    ):
        return True
    of_class = function.info is not None and function.info.says("device-minding-text")
    return of_class or _minds_or_runs(function) or _is_asked(unit.source.text, parameter)


def _minds_or_runs(function: Function) -> bool:
    """The function has to do with devices, or runs a model."""
    return function.says("device-minding-text") or function.says("model-running-text")


def declares_tensor(function: Function, parameter: str) -> bool:
    """A parameter is annotated as a tensor."""
    params = function.node.params
    return any(
        p.name.value == parameter
        and p.annotation is not None
        and "Tensor" in code(p.annotation.annotation)
        for p in plain_parameters(params)
    )


def asks_for_device(function: Function) -> bool:
    """The function asks one of its values where it is, to bring another there."""
    return function.says("device-asking-text")


def makes_by_device(function: Function) -> bool:
    """The function makes tensors where others are."""
    return function.says("device-following-text")


def _is_asked(text: str, name: str) -> bool:
    return holds("device-question-of", text, name)
