"""The two hooks of a guard on real devices: they change nothing, they only look.

``RecordFunctionMode`` notes where tensors are made and explains what PyTorch refuses;
``RecordDispatchMode`` sees the copies and the operations after which the host has waited.
"""

from __future__ import annotations

import time
from typing import Any

import torch

from runtime_guard.agreement import operators
from runtime_guard.agreement.plans import Plan, plan_of
from runtime_guard.core.placement import Placement, intern_device, placement_of, storage_of, tag
from runtime_guard.core.sites import nearest, user_site, user_stack
from runtime_guard.core.tensors import tensors_of
from runtime_guard.core.torch_internals import DispatchHook, FunctionHook, default_device_context
from runtime_guard.recording import cards, observers
from runtime_guard.recording.events import RULES, Kind, hint_at
from runtime_guard.recording.explanation import explain_operands, rule_for, with_explanation

__tracebackhide__ = True  # pytest shows the user's frames only

MIXED_TEXTS = (
    "on the same device",
    "at the same device",
    "in the same device",
    "same device type",
    "or on the same device as the indexed tensor",
    "too many CPU scalars",
    "located on a different device",
    "placed on the same device",
    "Input type (",
)
"""Parts of the sentences with which PyTorch refuses operands of several devices."""
GENERATOR_TEXT = "device type for generator but found"
HOST_READ_TEXT = "device type tensor to numpy"
UNDETACHED_TEXT = "Can't call numpy() on Tensor that requires grad"

_EXPLAINED = "_devlint_explained"
_to = torch.Tensor.to


def kind_of_error(error: BaseException) -> Kind | None:
    """Which device bug an exception of PyTorch stands for, if any."""
    text = str(error)
    if isinstance(error, TypeError) and HOST_READ_TEXT in text:
        return Kind.HOST_READ
    if not isinstance(error, RuntimeError):
        return None
    if UNDETACHED_TEXT in text:
        return Kind.UNDETACHED
    if GENERATOR_TEXT in text:
        return Kind.GENERATOR
    if any(part in text for part in MIXED_TEXTS):
        return Kind.MIXED
    return None


def explain_error(
    error: BaseException, what: str, args: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> None:
    """Record a device error of PyTorch once, and say in its text where the operands came from."""
    if getattr(error, _EXPLAINED, False):
        return
    kind = kind_of_error(error)
    if kind is None:
        return
    tensors = tensors_of((*args, *(kwargs or {}).values()))
    explanation = explain_operands(tensors, [f"argument {i}" for i in range(len(tensors))])
    rule = rule_for(tensors) if kind is Kind.MIXED else RULES[kind]
    sentence = str(error).partition("\n")[0]
    devices = [str(t.device) for t in tensors]
    observers.problem(
        kind,
        what,
        f"{sentence} {explanation} {hint_at(rule)}",
        source=devices[0] if devices else "",
        target=next((d for d in devices if d != devices[0]), "") if devices else "",
        operands=tensors,
    )
    error.args = (with_explanation(str(error), explanation, rule), *error.args[1:])
    setattr(error, _EXPLAINED, True)


def real_card() -> int | None:
    """The card of this process among the real cards, where several processes share them."""
    return cards.own_card(torch.cuda.device_count())


class RecordFunctionMode(FunctionHook):
    """Provenance of factories, and explanations of what PyTorch refuses."""

    def __init__(self) -> None:
        super().__init__()
        self.factories = frozenset(default_device_context._device_constructors())
        self.own_card = real_card()

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        try:
            reading = observers.READERS.get(func)
            if reading is not None:
                with observers.read_as(reading):
                    return func(*args)
            result = func(*args, **kwargs) if kwargs else func(*args)
        except (RuntimeError, TypeError) as error:
            explain_error(error, getattr(func, "__name__", str(func)), args, kwargs)
            raise
        if func is _to and len(args) > 1 and isinstance(args[1], bool):
            observers.problem(
                Kind.NOT_A_DEVICE, ".to", "a truth value is taken for the dtype torch.bool"
            )
        if func in observers.FROM_DATA:
            observers.reads_of_elements(func.__name__, args[0] if args else None)
        if (
            func in self.factories
            and isinstance(result, torch.Tensor)
            and placement_of(result) is None
        ):
            tag(result, Placement(intern_device(result.device), user_site()))
            cards.note_use(result.device, self.own_card)
        return result


class RecordDispatchMode(DispatchHook):  # type: ignore[no-untyped-call]
    """Transfers and syncs of real devices."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.own_card = real_card()

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        plan = plan_of(func)
        if plan is None:
            with self:
                return func(*args, **(kwargs or {}))
        if plan.sync is None and not (plan.copies or plan.indexing or plan.reads):
            try:
                return func(*args, **kwargs) if kwargs else func(*args)
            except RuntimeError as error:
                explain_error(error, plan.name, args, kwargs)
                raise
        return self._watched(plan, func, args, kwargs or {})

    def _watched(self, plan: Plan, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        started = time.perf_counter()
        result = func(*args, **kwargs)
        seconds = time.perf_counter() - started
        if plan.copies:
            pairs = [(result, args[0])] if plan.name == "_to_copy" else [(args[0], args[1])]
            non_blocking = bool(kwargs.get("non_blocking", len(args) > 2 and args[2]))
            for target, source in pairs:
                if isinstance(target, torch.Tensor):
                    cards.note_use(target.device, self.own_card)
                if isinstance(target, (list, tuple)):
                    for written, value in zip(target, source, strict=True):
                        _record_copy(plan.name, written, value, non_blocking, seconds)
                else:
                    _record_copy(plan.name, target, source, non_blocking, seconds)
            return result
        tensors = tensors_of(args)
        if plan.reads:
            read = _argument(func, plan.reads, args, kwargs)
            if isinstance(read, torch.Tensor) and operators.waits_to_read(
                plan.name, tensors[0].device, read.device
            ):
                observers.sync(plan.called, operators.READS[plan.name][1], seconds=seconds)
        if tensors and tensors[0].device.type not in ("cpu", "meta"):
            if plan.sync is not None:
                if plan.no_sync_with is not None and plan.no_sync_with(args, kwargs):
                    return result
                observers.sync(plan.called, plan.sync, seconds=seconds)
            elif any(t.dtype in (torch.bool, torch.uint8) for t in _indices(args)):
                observers.sync(
                    plan.name, "a boolean mask: its result's shape depends on the values"
                )
        return result


def _argument(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The argument ``name`` of a call of ``func``, None where it is left out."""
    for position, argument in enumerate(func._schema.arguments):
        if argument.name == name:
            return args[position] if position < len(args) else kwargs.get(name)
    return None


def _indices(args: tuple[Any, ...]) -> list[torch.Tensor]:
    return tensors_of(args[1]) if len(args) > 1 and isinstance(args[1], (list, tuple)) else []


def _record_copy(
    what: str, target: torch.Tensor, source: torch.Tensor, non_blocking: bool, seconds: float
) -> None:
    ends = intern_device(source.device), intern_device(target.device)
    if ends[0] is ends[1] or "meta" in (ends[0].type, ends[1].type):
        return
    stack = user_stack()
    to_host = ends[1].type == "cpu"
    pinned = (
        target.is_pinned() if to_host else source.is_pinned() if ends[0].type == "cpu" else False
    )
    observers.transfer(
        source, *ends, what, blocking=not non_blocking, pinned=pinned, seconds=seconds, stack=stack
    )
    if to_host and not (non_blocking and pinned):
        observers.sync(what, "a blocking copy to the host", seconds=seconds, stack=stack)
    before = placement_of(source)
    if storage_of(target) is not None and what == "_to_copy":
        site = nearest(stack) if stack else user_site()
        tag(target, Placement(ends[1], before.made if before else None, site))
