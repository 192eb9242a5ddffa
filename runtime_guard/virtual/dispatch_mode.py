"""The hook that sees every ATen operation, those of composites and of backward included.

It checks operands and tags results.  It belongs to one thread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from runtime_guard.agreement.plans import PLANS, Plan, Treatment, plan_of
from runtime_guard.core.placement import CPU, TAG, Placement, placement_of, tag, tag_new
from runtime_guard.core.sites import user_site
from runtime_guard.core.tensors import tensors_of
from runtime_guard.core.torch_internals import (
    FAKE,
    current_node,
    custom_operators,
    disable_torch_function,
    forward_ad,
    function_mode_count,
    is_tracing,
)
from runtime_guard.recording import observers
from runtime_guard.virtual import moves
from runtime_guard.virtual.copies import copy_into, is_move, move_below
from runtime_guard.virtual.forward_mode import tag_operands
from runtime_guard.virtual.gradient_nodes import device_of_node, device_of_zeros
from runtime_guard.virtual.graphs import draw_on
from runtime_guard.virtual.meetings import meet
from runtime_guard.virtual.races import Watch
from runtime_guard.virtual.refusals import (
    refuse_other_storage,
    refuse_what_the_host_lacks,
    refuse_without_kernel,
    says_what_is_missing,
)
from runtime_guard.virtual.results import note_use, tag_results, wait
from runtime_guard.virtual.thread_hook import ThreadHook

__tracebackhide__ = True  # pytest shows the user's frames only

_Tensor = torch.Tensor
_Parameter = torch.nn.Parameter


class DispatchMode(ThreadHook):  # type: ignore[no-untyped-call]
    """Checks operands and tags results for one thread of a virtual machine."""

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if self.function_mode.covered or self.machine.over:
            return func(*args, **kwargs) if kwargs else func(*args)
        for kind in types:
            if kind is not _Tensor and kind is not _Parameter:
                return self._ask_wrappers(func, types, args, kwargs or {})
        known = PLANS.get(id(func))
        plan = plan_of(func) if known is None else known[1]
        if plan is None:
            return self._higher_order(func, args, kwargs or {})
        if plan.foreign:
            definition = custom_operators.get(func._schema.name)
            if definition is not None:
                return self._python_kernel(definition, func, args, kwargs or {})
        if forward_ad._current_level >= 0:
            tag_operands(args, self.function_mode.call, self._composite_placement())
        if Watch.current is not None:
            dispatch = self._dispatch_in_races
        else:
            dispatch = self._agree if plan.ordinary else self._dispatch
        try:
            if not plan.foreign and function_mode_count():
                with disable_torch_function():  # not below a handler (backward): no detours
                    return dispatch(plan, func, args, kwargs)
            return dispatch(plan, func, args, kwargs)
        except RuntimeError as error:
            if not says_what_is_missing(error):
                raise
            with disable_torch_function():
                refuse_what_the_host_lacks(func, [*args, *(kwargs or {}).values()], error)
            raise

    def _dispatch_in_races(
        self, plan: Plan, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None
    ) -> Any:
        result = self._dispatch(plan, func, args, kwargs)
        races = Watch.current
        if races is not None and not moves.moving.active:
            races.launched(func, args, kwargs or {}, result)
        return result

    def _ask_wrappers(
        self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Let tensors that wrap others answer, with both hooks on what they call."""
        if any(t.__module__.startswith("torch._sub") for t in types):
            # fake and functional tensors have no values
            return func(*args, **kwargs)
        if any(t.__module__.startswith("torch.distributed") for t in types):
            return NotImplemented  # DTensor is dispatched in C++, and hands its parts back to us
        with self.in_sight():
            for kind in types:
                result = kind.__torch_dispatch__(func, types, args, kwargs)
                if result is not NotImplemented:
                    return result
        raise TypeError(f"no implementation found for {func} on types {list(types)}")

    @contextlib.contextmanager
    def in_sight(self) -> Iterator[None]:
        """In the block Python code below PyTorch's C++ sees the virtual machine."""
        with self, self.function_mode.in_sight():
            yield

    def _higher_order(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a higher-order operator, what it calls in sight."""

        def shown(value: Any) -> Any:
            if not callable(value) or isinstance(value, torch.Tensor):
                return value

            def call(*inner: Any, **options: Any) -> Any:
                with self.in_sight():
                    return value(*inner, **options)

            return call

        return func(*map(shown, args), **{name: shown(value) for name, value in kwargs.items()})

    def _python_kernel(
        self, definition: Any, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run the kernel that ``torch.library.custom_op`` was given: PyTorch checks no operands."""
        tensors = tensors_of([*args, *kwargs.values()])
        kinds = [moves.device_of(t).type for t in tensors]
        kind = next((k for k in kinds if k != "cpu"), "cpu")
        kernels = definition._backend_fns
        kernel = kernels.get(kind, kernels.get(None))
        if kernel is None or "meta" in kinds:
            refuse_without_kernel(func, tensors)
            return func(*args, **kwargs)
        with self.in_sight():
            return kernel(*args, **kwargs)

    def _dispatch(
        self, plan: Plan, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None
    ) -> Any:
        if plan.view:
            try:
                first = getattr(args[0].untyped_storage(), TAG, None)
            except (NotImplementedError, RuntimeError):
                pass  # what is a view of a strided tensor copies a sparse one
            else:
                self.latest = first
                if first is not None and first.move is not None:
                    note_use(first, plan, args[0])
                return plan.run(*args, **kwargs) if kwargs else plan.run(*args)
        elif plan.treatment is not Treatment.SAME or (kwargs and plan.keyword_tensors):
            return self._special(plan, func, args, kwargs or {})
        elif kwargs and plan.copies and is_move(self, kwargs.get("device")):
            return move_below(self, func, args, kwargs)
        return self._agree(plan, func, args, kwargs)

    def _agree(
        self, plan: Plan, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None
    ) -> Any:
        """What most operations do: operands of one device, results beside them.

        It is here that time goes: what `placement_of` and `tag_results` do is in line.
        """
        first: Placement | None = None
        untagged = mixed = False
        tags_results = plan.tags_results
        for value in args:
            kind = type(value)
            for item in value if kind is list or kind is tuple else (value,):
                if not isinstance(item, _Tensor):
                    continue
                try:
                    found = getattr(item.untyped_storage(), TAG, None)
                except (NotImplementedError, RuntimeError):
                    found = placement_of(item)
                    tags_results = True  # what is a view of a strided tensor copies a sparse one
                if found is None:
                    untagged = True
                elif first is None:
                    first, holder = found, item
                elif found is not first and found.device is not first.device:
                    mixed = True
                elif found.move is not None:
                    note_use(found, plan, item)
        self.latest = first
        if first is None:
            return plan.run(*args, **kwargs) if kwargs else plan.run(*args)
        if first.move is not None:
            note_use(first, plan, holder)
        if mixed or (untagged and first.device is not CPU) or plan.indexing or plan.reads:
            return meet(self, plan, func, args, kwargs or {})
        result = plan.run(*args, **kwargs) if kwargs else plan.run(*args)
        if plan.sync is not None and first.device is not CPU:
            wait(self.function_mode, plan, first.device, args, kwargs)
        if tags_results and not (plan.copies and moves.moving.active):
            if plan.chooses_device:
                if result.is_meta:
                    return result
                draw_on(result, first.device)
            if type(result) is _Tensor:
                try:
                    storage = result.untyped_storage()
                except (NotImplementedError, RuntimeError):
                    tag(result, first.of_result())
                else:
                    if getattr(storage, TAG, None) is None:
                        tag_new(storage, first.result or first.of_result())
            else:
                tag_results(result, first, plan)
        return result

    def _special(self, plan: Plan, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        treatment = plan.treatment
        if treatment is Treatment.DECOMPOSE and not any(t.is_nested for t in tensors_of(args)):
            with self:
                return func._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, *args, **kwargs)
        if treatment is Treatment.FACTORY:
            for scalar in tensors_of(args) if plan.tensors else ():
                device = moves.device_of(scalar)
                if device.type != "cpu" and not self.function_mode.quiet:
                    moves.land_all(device)
                    observers.sync(plan.called, "reads one value")
            result = func(*args, **kwargs)
            placement = None if is_tracing(FAKE) else self._composite_placement()
            on_meta = isinstance(result, torch.Tensor) and result.is_meta
            if placement is not None and not on_meta:
                draw_on(result, placement.device)
                tag_results(result, placement, plan)
            return result
        if treatment is Treatment.SET:
            if plan.name == "set_":
                refuse_other_storage(args)
            return func(*args, **kwargs)
        if treatment is Treatment.HOST:
            refuse_without_kernel(func, [*args, *kwargs.values()])
            return func(*args, **kwargs)
        if treatment is Treatment.COPY:
            return copy_into(self, plan, func, args, kwargs)
        return meet(self, plan, func, args, kwargs)

    def _composite_placement(self) -> Placement | None:
        mode = self.function_mode
        if mode.call is not None:
            return mode.placement_of_call(mode.call)
        node = current_node()
        return None if node is None else self._placement_in_backward(node)

    def _placement_in_backward(self, node: Any) -> Placement | None:
        """Beside the gradient: where its node is, or, if nothing says so, the latest operation."""
        device, latest = device_of_zeros(node) or device_of_node(node), self.latest
        if device is None or (latest is not None and latest.device is device):
            return latest
        return None if device is CPU else Placement(device, user_site())
