"""Devices that an object is asked for and does not have: `self.device` of a plain `nn.Module`.

A module has parameters, each with a device, and no device of its own. The law: a method reads an
attribute that is a device, by its name or by what it is given to, and neither the class, nor its
bases and subclasses, nor code that has such an object gives it one. Silent where a base is out of
sight, unless it is one of torch's that has none, and where the class may be half of another: with
methods that others are to write, in no use by itself, or asking its objects for more that nothing
gives them.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

import libcst as cst

from devlint.inference.conventions import holds, is_assigned
from devlint.inference.domain.host import External
from devlint.inference.domain.tensors import Tensor
from devlint.inference.facts import MissingDevice, Site
from devlint.inference.program.declarations import ClassInfo, Function, classes_of
from devlint.inference.program.units import Unit
from devlint.inference.syntax.given_attributes import (
    AttributeRead,
    GivenAttributes,
    attribute_reads,
    given_attributes,
)
from devlint.inference.syntax.text import dotted, every

# Classes without such an attribute; of torch.nn they are all layers.
_PLAIN = frozenset({"builtins.object", "abc.ABC", "torch.autograd.Function", "typing.Generic"})
_LIKE_MODULE = ("torch.nn.modules.", "torch.utils.data.", "torch.optim.")
_OTHER_THAN_MODULES = ("Parameter", "Buffer", "Parallel", "Loader", "DataPipe")


class _Classes:
    """What is looked for once for all classes of a file."""

    def __init__(self, unit: Unit) -> None:
        self.called = {dotted(call.func) for call in every(unit.tree, cst.Call)}
        # Each class of the file that stands on another, directly or not, by the other.
        self.heirs: dict[ClassInfo, list[ClassInfo]] = {}
        for info in classes_of(unit):
            for base in info.lineage():
                self.heirs.setdefault(base, []).append(info)
        self._given: dict[ClassInfo, GivenAttributes] = {}

    def given(self, info: ClassInfo) -> GivenAttributes:
        """What the body of a class gives its objects."""
        found = self._given.get(info)
        if found is None:
            found = self._given[info] = given_attributes(info.node)
        return found


def settle(unit: Unit) -> None:
    """Say of each class which device its methods read and its objects do not have."""
    if not unit.contains("device"):
        return
    for info in classes_of(unit):
        unit.facts.missing_devices += _of_class(unit, info)


def _of_class(unit: Unit, info: ClassInfo) -> Iterator[MissingDevice]:
    reads: dict[str, list[tuple[Function, AttributeRead]]] = {}
    for method in info.methods.values():
        if (
            method.is_static
            or method.is_class_method
            or not isinstance(method.node, cst.FunctionDef)
        ):
            continue
        for read in attribute_reads(method.node):
            if read.as_device or holds("device-name", read.name):
                reads.setdefault(read.name, []).append((method, read))
    if not reads or not _is_whole(unit, info):
        return
    family = _family(unit, info)
    if family is None:
        return
    classes = unit.kept(_Classes)
    if not info.is_module and _is_half(unit, info, family, classes, reads):
        return
    for name, found in reads.items():
        if any(classes.given(each).gives(name) for each in family):
            continue
        if _is_given_elsewhere(unit, info, name):
            continue
        method, first = found[0]
        yield MissingDevice(
            Site(unit.source, first.node),
            info.name,
            name,
            tuple(Site(unit.source, read.node) for _, read in found[1:]),
            at_hand=_tensor_at_hand(method),
            is_module=info.is_module,
            has_parameters=info.is_module and any(each.parts for each in info.lineage()),
        )


def _is_whole(unit: Unit, info: ClassInfo) -> bool:
    """The class is made as it is, and nothing about it is left to others."""
    if info.node.decorators or info.node.keywords or info.mixed_in:
        return False
    names = {name for each in info.lineage() for name in each.methods}
    methods = [method for name in names if (method := info.method(name)) is not None]
    if any(method.is_abstract for method in methods):
        return False
    if info.is_module:
        return "forward" in names
    importer = unit.context.importer
    if importer is not None and importer.is_named_elsewhere(info.name, unit.source.path):
        return True
    return info.name in unit.kept(_Classes).called


def _is_half(
    unit: Unit, info: ClassInfo, family: list[ClassInfo], classes: _Classes, devices: Container[str]
) -> bool:
    """Its methods ask their object for something else that nothing in sight gives: the class is
    completed by one that it is combined with, which may give a device, too."""
    outer = (base for each in family for base in each.bases if type(base) is External)
    if any(base.name not in _PLAIN for base in outer):
        return False  # those give more than is known here
    for method in info.methods.values():
        params = method.node.params
        first = (*params.posonly_params, *params.params)[:1]
        if method.is_static or method.is_class_method or not first:
            continue
        for read in every(method.node.body, cst.Attribute):
            name, owner = read.attr.value, read.value
            if isinstance(owner, cst.Call) and dotted(owner.func) == "super":
                bases = (each for each in info.lineage() if each is not info)
                if not hasattr(object, name) and not any(name in each.methods for each in bases):
                    return True
            elif isinstance(owner, cst.Name) and owner.value == first[0].name.value:
                if name in devices or hasattr(object, name):
                    continue
                if any(classes.given(each).gives(name) for each in family):
                    continue
                if not is_assigned(unit.source.text, name):
                    return True
    return False


def _family(unit: Unit, info: ClassInfo) -> list[ClassInfo] | None:
    """The class, its bases, its subclasses in the file and theirs; None where one is out of
    sight."""
    heirs = unit.kept(_Classes).heirs[info]
    family = list(dict.fromkeys(each for heir in heirs for each in heir.lineage()))
    return family if all(map(_is_in_sight, family)) else None


def _is_in_sight(info: ClassInfo) -> bool:
    return all(
        type(base) is ClassInfo or (type(base) is External and _has_none(base.name))
        for base in info.bases
    )


def _has_none(base: str) -> bool:
    """A class out of sight is known to give no device."""
    if base in _PLAIN:
        return True
    name = base.rpartition(".")[2]
    of_torch = base == f"torch.nn.{name}" or base.startswith(_LIKE_MODULE)
    return of_torch and not any(other in name for other in _OTHER_THAN_MODULES)


def _is_given_elsewhere(unit: Unit, info: ClassInfo, name: str) -> bool:
    """Code that has such an object may give it one: `model.device = device`."""
    if is_assigned(unit.source.text, name):
        return True
    importer = unit.context.importer
    return importer is not None and importer.gives_elsewhere(
        f"{info.name}.{name}", unit.source.path
    )


def _tensor_at_hand(method: Function) -> str:
    """The first input of a method that is shown to be a tensor."""
    for parameter in method.parameters[1:]:
        value = parameter.value
        if type(value) is Tensor and (value.evidence is None or value.evidence.is_tensor):
            return parameter.name
    return ""
