"""Per operator overload, computed once from its schema: how the dispatch mode has to treat it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import torch

from runtime_guard.agreement import operators, rules


class Treatment(IntEnum):
    """The paths through the dispatch mode."""

    SAME = 0
    """Operands must agree; results live where they do."""
    FACTORY = 1
    """No tensor goes in: the caller of the composite decides where the result lives."""
    COPY = 2
    """A transfer into an existing tensor."""
    DECOMPOSE = 3
    """A composite that reached us whole (inference mode): look at its parts."""
    SET = 4
    """The result has the given storage's device, not its operands'."""
    OTHERWISE = 6
    """Operands must agree; an accelerator has a kernel that the host has not."""
    HOST = 5
    """An accelerator's tensor is refused: there is no kernel for it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is known of one overload before it is called."""

    treatment: Treatment
    run: Callable[..., Any]
    """Calls it, without the detour of Python that the overload itself is."""
    name: str
    called: str
    """What a user calls the operation."""
    sync: str | None
    """Why the host waits for the device in it, or None."""
    no_sync_with: Callable[[Sequence[Any], Mapping[str, Any]], bool] | None
    """Whether its arguments spare the host the waiting."""
    reads: str | None
    """The argument that it reads by ``item()``, and waits for if that is on an accelerator."""
    tensors: bool
    """May any argument be a tensor?"""
    keyword_tensors: bool
    """May a keyword argument be a tensor (``out=`` and few others)?"""
    tags_results: bool
    """False when every result aliases an argument, hence shares its tag."""
    view: bool
    """Is its result a view of its only tensor, of a strided one at least?"""
    ordinary: bool
    """Have its operands to agree, as most have to, with nothing else about it to ask?"""
    indexing: bool
    copies: bool
    """Can the operation be a transfer?"""
    chooses_device: bool
    """Has it a ``device`` argument?"""
    composite: Any
    """The dispatch key of the composite kernel it runs on every device, or None.  Such an operation
    has no rule of its own: what its operands may be is a matter of the operations in it."""
    foreign: bool
    """Is it another package's, whose kernels may be in Python?"""
    host_results: frozenset[int]
    """Positions of results that are on the host whatever the operands are."""


KERNELS_IN_CPP = frozenset({"aten", "prim", "prims", "profiler", "torchvision", "torchaudio"})
"""Namespaces of operators without kernels in Python."""
SCALAR_FACTORIES = frozenset({"linspace", "logspace"})
"""Factories whose tensor arguments are read by ``item()``."""
HOST_RESULTS = {
    "_pack_padded_sequence": frozenset({1}),
}


def _has_kernel(func: Any, key: Any) -> bool:
    """Has PyTorch a C++ kernel of ``func`` for ``key``?  (Not: a Python decomposition.)"""
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key))


def _is_composite(func: Any) -> bool:
    """Is it made of other operations on the host?  (``silu_backward`` is, but elsewhere.)"""
    keys = torch._C.DispatchKey
    return _has_kernel(func, keys.CompositeImplicitAutograd) and not _has_kernel(func, keys.CPU)


def _composite_key(func: Any) -> Any:
    keys = torch._C.DispatchKey
    if _has_kernel(func, keys.CPU):
        return None
    for key in (
        keys.CompositeExplicitAutograd,
        keys.CompositeExplicitAutogradNonFunctional,
    ):
        if _has_kernel(func, key):
            return key
    return None


def _is_view(schema: Any, tensors: list[Any]) -> bool:
    """``view``, ``transpose``, ``detach``: no more than another look at the tensor given first."""
    if len(tensors) != 1 or not schema.arguments or str(schema.arguments[0].type) != "Tensor":
        return False
    shared = [tensors[0].alias_info, *(result.alias_info for result in schema.returns)]
    return len(shared) > 1 and all(info is not None and not info.is_write for info in shared)


COLLECTIVES = frozenset({"c10d", "_c10d_functional"})
"""The namespaces of what the ranks of a group do together."""


def make_plan(func: Any) -> Plan:
    """The plan of the overload ``func`` (a ``torch._ops.OpOverload``)."""
    schema = func._schema
    name = operators.base_name(func)
    tensors = [a for a in schema.arguments if "Tensor" in str(a.type)]
    returns_tensor = any("Tensor" in str(r.type) for r in schema.returns)
    fresh = any(r.alias_info is None and "Tensor" in str(r.type) for r in schema.returns)
    namespace = schema.name.partition("::")[0]
    read = operators.READS[name][0] if namespace == "aten" and name in operators.READS else None
    if name in ("set_", "set_data"):
        treatment = Treatment.SET
    elif name in operators.HOST_KERNELS:
        treatment = Treatment.HOST
    elif name in ("copy_", "_foreach_copy_"):
        treatment = Treatment.COPY
    elif namespace in COLLECTIVES or (namespace == "aten" and name in operators.OTHERWISE):
        treatment = Treatment.OTHERWISE
    elif namespace == "aten" and _is_composite(func):
        treatment = Treatment.DECOMPOSE
    elif returns_tensor and (not tensors or name in SCALAR_FACTORIES):
        treatment = Treatment.FACTORY
    else:
        treatment = Treatment.SAME
    sync = operators.SYNCS.get(name) if namespace == "aten" else None
    indexing = name in operators.INDEXING or any(name == op for op, _ in rules.HOST_ONLY)
    plain = treatment is Treatment.SAME and not (sync or indexing or read)
    view = namespace == "aten" and plain and _is_view(schema, tensors)
    keyword_tensors = any(a.kwarg_only for a in tensors)
    copies = namespace == "aten" and name in ("copy_", "_to_copy", "_foreach_copy_")
    return Plan(
        treatment=treatment,
        run=func._op if type(func) is torch._ops.OpOverload else func,
        name=name,
        called=operators.CALLED.get(name, name),
        sync=sync,
        no_sync_with=operators.NO_SYNC_WITH.get(name),
        reads=next((a.name for a in tensors if a.name == read), None),
        tensors=bool(tensors),
        keyword_tensors=keyword_tensors,
        tags_results=fresh,
        view=view,
        ordinary=treatment is Treatment.SAME and not (view or keyword_tensors or copies),
        indexing=indexing,
        copies=copies,
        chooses_device=any(a.name == "device" for a in schema.arguments),
        composite=_composite_key(func) if name in operators.COMPOSITES else None,
        foreign=namespace not in KERNELS_IN_CPP,
        host_results=HOST_RESULTS.get(name, frozenset()),
    )


PLANS: dict[int, tuple[Any, Plan | None]] = {}
"""Those made so far, each with its overload, by the identity of that: to hash one is a call of
Python."""


def plan_of(func: Any) -> Plan | None:
    """The plan of an overload; None for higher-order operators, whose bodies are seen operation by
    operation."""
    entry = PLANS.get(id(func))
    if entry is None:
        plan = make_plan(func) if isinstance(func, torch._ops.OpOverload) else None
        entry = PLANS[id(func)] = (func, plan)
    return entry[1]
