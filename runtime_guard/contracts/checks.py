"""A value held against what is declared of it, and what is said of one that breaks it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from devlint.contracts import On, Requirement, SameDevice
from runtime_guard.contracts.declarations import MAX_DEPTH, Declared, Signature
from runtime_guard.core.sites import Site
from runtime_guard.recording import observers
from runtime_guard.recording.events import Kind
from runtime_guard.recording.explanation import explain_operands, with_explanation
from runtime_guard.recording.observers import DevicePolicyWarning

__tracebackhide__ = True  # pytest shows the user's frames only


class BrokenContract(RuntimeError):
    """A value is on another device than its annotation or comment declares."""


BrokenContract.__module__ = "runtime_guard.contracts"  # where users find it


def _tensors(value: object, depth: int = MAX_DEPTH) -> Iterator[torch.Tensor]:
    """The tensors in a value; a module stands for its parameters and buffers."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, torch.nn.Module):
        yield from value.parameters()
        yield from value.buffers()
    elif depth and isinstance(value, Mapping):
        for item in value.values():
            yield from _tensors(item, depth - 1)
    elif depth and isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from _tensors(item, depth - 1)


def check(
    said: str, value: object, declared: Declared, arguments: Mapping[str, Any], site: Site
) -> None:
    if declared.parts:
        if isinstance(value, tuple) and len(value) == len(declared.parts):
            for number, (item, part) in enumerate(zip(value, declared.parts, strict=True)):
                if part is not None:
                    check(f"part {number} of {said}", item, part, arguments, site)
        return
    requirement = declared.requirement
    for tensor in _tensors(value):
        device = tensor.device
        if device.type == "meta":
            continue  # it is nowhere yet
        if isinstance(requirement, On):
            if not requirement.accepts(device.type, device.index):
                wanted = f"on {requirement.device}"
                _object(said, tensor, device, wanted, requirement.device, [], requirement, site)
                return
        elif isinstance(requirement, SameDevice):
            for name in requirement.names:
                other = _device_of(arguments.get(name))
                if other is not None and other != device and other.type != "meta":
                    wanted = f"on the same device as `{name}`, which is on {other}"
                    others = list(_tensors(arguments[name]))[:1]
                    _object(said, tensor, device, wanted, str(other), others, requirement, site)
                    return


def _device_of(value: object) -> torch.device | None:
    """Where a tensor, the first of several, a module or a device is."""
    if isinstance(value, torch.device):
        return value if value.type == "cpu" or value.index is not None else None
    return next((tensor.device for tensor in _tensors(value)), None)


def _object(
    said: str,
    tensor: torch.Tensor,
    device: torch.device,
    wanted: str,
    target: str,
    others: list[torch.Tensor],
    requirement: Requirement,
    site: Site,
) -> None:
    sentence = f"Expected {said} to be {wanted}, but found it on {device}!"
    operands = [tensor, *others]
    explanation = explain_operands(operands, [said.split("`")[1] if "`" in said else said, "other"])
    explanation += f"; declared {requirement} at {site}"
    observers.problem(
        Kind.CONTRACT,
        said,
        sentence,
        source=str(device),
        target=target,
        operands=operands,
        declared=(site,),
    )
    policy = observers.contract_policy()
    if policy == "raise":
        raise BrokenContract(with_explanation(sentence, explanation))
    if policy == "warn":
        warnings.warn(f"{sentence} {explanation}", DevicePolicyWarning, stacklevel=4)


def check_arguments(signature: Signature, arguments: Mapping[str, Any]) -> None:
    for name, declared in signature.parameters.items():
        if name in arguments:
            said = f"parameter `{name}` of `{signature.name}`"
            check(said, arguments[name], declared, arguments, signature.site)


def check_result(signature: Signature, result: object, arguments: Mapping[str, Any]) -> None:
    if signature.result is not None:
        said = f"the result of `{signature.name}`"
        check(said, result, signature.result, arguments, signature.site)
