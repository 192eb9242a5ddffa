"""The two hooks of a virtual machine.

``FunctionMode`` sees every call as the program writes it: it answers ``device=``, ``.to`` and the
like, and never lets an accelerator's name reach a PyTorch that was built without it.
``DispatchMode`` sees every ATen operation, those of composites and of backward included: it checks
operands and tags results.  Both belong to one thread.
"""

from __future__ import annotations

import contextlib
import sys
import types as python_types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from runtime_guard.agreement import rules
from runtime_guard.agreement.plans import Plan, Treatment, plan_of
from runtime_guard.core.placement import (
    CPU,
    TAG,
    UNTAGGED,
    Placement,
    placement_of,
    sparse_parts,
    tag,
    tag_new,
)
from runtime_guard.core.sites import Site, user_site
from runtime_guard.core.torch_internals import (
    FAKE,
    DispatchHook,
    FunctionHook,
    custom_operators,
    disable_torch_function,
    flex_attention,
    function_mode_count,
    is_tracing,
    pop_function_mode,
    push_function_mode,
)
from runtime_guard.recording import gradients, observers
from runtime_guard.recording.events import Kind, hint_at
from runtime_guard.recording.explanation import explain_operands, rule_for, with_explanation
from runtime_guard.virtual import moves
from runtime_guard.virtual.kernels import kernel_of
from runtime_guard.virtual.machine import Machine, UnsupportedVirtually
from runtime_guard.virtual.races import Watch

__tracebackhide__ = True  # pytest shows the user's frames only

Handler = Callable[["FunctionMode", Any, tuple[Any, ...], dict[str, Any]], Any]

_PLAIN_TYPES: dict[tuple[type, ...], bool] = {(): True}
_OVERRIDE_CHECKS = frozenset(
    {"has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"}
)
_DEVICE_KEYWORDS = ("device", "generator", "pin_memory")


def _are_plain(overridden: tuple[type, ...]) -> bool:
    """Does none of these tensor types have a ``__torch_function__`` of its own?"""
    known = _PLAIN_TYPES.get(overridden)
    if known is None:
        known = _PLAIN_TYPES[overridden] = all(
            t is torch.Tensor
            or getattr(t, "__torch_function__", None) is torch._C._disabled_torch_function_impl
            for t in overridden
        )
    return known


class _LiveGlobals(dict[str, Any]):
    """A module's globals as they are now, with the override checks answering no.

    In its private functions, too: ``_unique_impl`` of torch 2.4 asks the mode about ``unique``,
    whose body is what runs.
    """

    def __init__(self, globals_: dict[str, Any]) -> None:
        super().__init__()
        self._globals = globals_
        self["__builtins__"] = globals_.get("__builtins__", __builtins__)
        for name in _OVERRIDE_CHECKS:
            if name in globals_:
                self[name] = _never

    def __missing__(self, key: str) -> Any:
        value = self._globals[key]
        if type(value) is python_types.FunctionType and key.startswith("_"):
            return _body_of(value) or value
        return value


def _never(*_: object) -> bool:
    return False


_bodies: dict[Any, Any] = {}


def _closure_of_body(func: Any) -> Any:
    """The closure of ``func``, for its body.

    ``F.max_pool2d`` and its siblings choose between two functions in their closure, each of which
    would ask the mode about the very function that is running.
    """
    if func.__globals__.get("__name__") != "torch._jit_internal":
        return func.__closure__
    contents = [cell.cell_contents for cell in func.__closure__ or ()]
    return tuple(
        python_types.CellType((_body_of(c) or c) if type(c) is python_types.FunctionType else c)
        for c in contents
    )


def _body_of(func: Any) -> Any | None:
    """A copy of a Python function of torch without its ``has_torch_function`` check.

    So its body can run with the mode active: ``F.multi_head_attention_forward``, ``repr`` or
    ``Tensor.backward`` (with it hooks, custom functions, checkpoints) see the virtual machine too.
    None for functions that have no such check.
    """
    body = _bodies.get(func, _bodies)
    if body is _bodies:
        body = None
        closure = _closure_of_body(func)
        if closure is not func.__closure__ or (
            _OVERRIDE_CHECKS.intersection(func.__code__.co_names)
            and _OVERRIDE_CHECKS.intersection(func.__globals__)
        ):
            body = python_types.FunctionType(
                func.__code__,
                _LiveGlobals(func.__globals__),
                func.__name__,
                func.__defaults__,
                closure,
            )
            body.__kwdefaults__ = func.__kwdefaults__
        _bodies[func] = body
    return body


_LAYERS = frozenset({"torch.nn.functional"})
"""Whose functions call nothing of the program's: ``Tensor.backward`` calls its hooks."""
_asks: dict[Any, bool] = {}


def _asks_about_devices(func: Any, handled: frozenset[str]) -> bool:
    """Does the body of a Python function of torch use a name that a handler answers to, itself or
    in a function that it calls?

    ``F.layer_norm`` and ``F.dropout`` do not: they pass on to C++, and nothing is lost if what they
    call is seen as operations only.
    """
    known = _asks.get(func)
    if known is None:
        _asks[func] = False  # until it is known: functions call themselves
        known = _asks[func] = (
            func.__closure__ is not None
            or any("Callable" in str(kind) for kind in func.__annotations__.values())
            or _code_asks(func.__code__, func.__globals__, handled)
        )
    return known


def _code_asks(code: Any, globals_: dict[str, Any], handled: frozenset[str]) -> bool:
    if not handled.isdisjoint(code.co_names):
        return True
    for constant in code.co_consts:
        if isinstance(constant, tuple) and not handled.isdisjoint(constant):
            return True  # the names of keywords
        if isinstance(constant, python_types.CodeType) and _code_asks(constant, globals_, handled):
            return True
    names = set(code.co_names) - _OVERRIDE_CHECKS - {"handle_torch_function"}
    called = (globals_.get(name) or getattr(torch, name, None) for name in names)
    return any(
        _asks_about_devices(function, handled)
        for function in called
        if type(function) is python_types.FunctionType
    )


def _names_of(handlers: dict[Any, Handler]) -> frozenset[str]:
    """What code calls the functions and attributes that have a handler."""
    names = set(_DEVICE_KEYWORDS)
    for function in handlers:
        name = getattr(function, "__name__", str(function))
        if name in ("__get__", "__set__"):
            described: Any = function.__self__
            getter: Any = described.fget if isinstance(described, property) else described
            name = getter.__name__
        names.add(name)
    return frozenset(names)


class FunctionMode(FunctionHook):
    """Answers the program's calls for one thread of a virtual machine."""

    def __init__(self, machine: Machine, handlers: dict[Any, Handler]) -> None:
        super().__init__()
        self.machine = machine
        self.handlers = handlers
        self.handled = _names_of(handlers)
        self.covered = 0
        """Above 0 a block inside of this one is in force."""
        self.call: tuple[Any, ...] | None = None
        """Arguments of the C++ function that is running, for the factories inside composites."""
        self.quiet = 0
        """Above 0 syncs are not recorded: they belong to one that was recorded already."""
        self.writes_number = False
        """Is ``x[i] = 5.0`` running?  C++ makes a tensor of the number where ``x`` is
        (``scalarToTensorNonNativeDeviceType`` in ``ATen/TensorIndexing.h``)."""

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if self.covered or self.machine.over:
            return func(*args, **kwargs) if kwargs else func(*args)
        if types and not _are_plain(tuple(types)) and torch._C._is_torch_function_enabled():
            return self._ask_subclasses(func, types, args, kwargs or {})
        handler = self.handlers.get(func)
        if handler is not None:
            if is_tracing(FAKE):  # its tensors have devices of their own, and no values
                return func(*args, **kwargs) if kwargs else func(*args)
            return handler(self, func, args, dict(kwargs) if kwargs else {})
        if (
            type(func) is python_types.FunctionType
            # a method that calls the C++ method of its own name comes back under its own name
            and sys._getframe(1).f_code is not func.__code__
            and _body_of(func) is not None
            and (func.__module__ not in _LAYERS or _asks_about_devices(func, self.handled))
        ):
            return self.enter(func, args, kwargs or {})
        if kwargs:
            for keyword in _DEVICE_KEYWORDS:
                if keyword in kwargs:
                    return self._with_device_keywords(func, args, dict(kwargs))
        before, self.call = self.call, (*args, *kwargs.values()) if kwargs else args
        try:
            return func(*args, **kwargs) if kwargs else func(*args)
        finally:
            self.call = before

    def _ask_subclasses(
        self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Let tensor subclasses answer first, with the mode still active for what they call."""
        with self:
            for overridden in types:
                if overridden.__torch_function__ is torch._C._disabled_torch_function_impl:
                    continue
                result = overridden.__torch_function__(func, types, args, kwargs)
                if result is not NotImplemented:
                    return result
        raise TypeError(f"no implementation found for {func!r} on types {list(types)}")

    def _with_device_keywords(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call with ``device=``, ``generator=`` or ``pin_memory=`` that no handler knows."""
        machine = self.machine
        if is_tracing(FAKE):
            return func(*args, **kwargs)
        requested = kwargs.get("device")
        target = machine.parse(requested) if requested is not None else None
        if target is not None and (machine.is_virtual(target) or isinstance(requested, int)):
            kwargs["device"] = CPU
        generator = kwargs.get("generator")
        if generator is not None:
            beside = (*args, *kwargs.values())
            check_generator(generator, target or self.device_of_call(beside), func)
        pinned = kwargs.pop("pin_memory", False)
        result = self.run(func, args, kwargs)
        if target is not None and target.type != "meta":
            for tensor in tensors_of(result):
                moves.tag_fresh(tensor, target)
        if pinned and isinstance(result, torch.Tensor):
            result = moves.pin(result)
        return result

    def enter(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a Python function of torch with this mode active in its body."""
        body = _body_of(func) if type(func) is python_types.FunctionType else None
        if body is None:
            return self.run(func, args, kwargs)
        before, self.call = self.call, None
        push_function_mode(self)  # `in_sight`, without what a context manager costs
        try:
            return body(*args, **kwargs)
        finally:
            pop_function_mode()
            self.call = before

    @contextlib.contextmanager
    def in_sight(self) -> Iterator[None]:
        """In the block Python code that C++ or a handler called sees the virtual machine."""
        before, self.call = self.call, None
        try:
            with self:
                yield
        finally:
            self.call = before

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call into C++ with the arguments noted for the factories of composites."""
        before, self.call = self.call, args
        try:
            return func(*args, **kwargs)
        finally:
            self.call = before

    @contextlib.contextmanager
    def called_with(self, args: tuple[Any, ...]) -> Iterator[None]:
        """In the block, factories in C++ allocate beside the first tensor of ``args``."""
        before, self.call = self.call, args
        try:
            yield
        finally:
            self.call = before

    def device_of_call(self, args: tuple[Any, ...] | None) -> torch.device:
        """The device that ``self.options()`` has in a composite called with ``args``."""
        placement = self.placement_of_call(args)
        return placement.device if placement is not None else CPU

    def placement_of_call(self, args: tuple[Any, ...] | None) -> Placement | None:
        """The placement of the first tensor among ``args`` that is no host scalar."""
        fallback: Placement | None = None
        for tensor in tensors_of(args) if args else ():
            placement = placement_of(tensor)
            if placement is not None and placement.device is not CPU:
                return placement
            if tensor.dim() != 0:
                return placement
            fallback = fallback or placement
        return fallback


def tensors_of(value: Any) -> list[torch.Tensor]:
    """The tensors of a value, and of the lists and tuples in it."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_of(item)]
    return []


def check_generator(generator: torch.Generator, device: torch.device, func: Any) -> None:
    """Raise what ``at::check_generator`` raises when ``generator`` is of another device type."""
    found = generator.device.type
    if found == device.type or device.type == "meta":
        return
    sentence = f"Expected a '{device.type}' device type for generator but found '{found}'"
    made: Site | None = getattr(generator, "made", None)
    origin = f"the generator: made on {generator.device} at {made}; " if made is not None else ""
    explanation = f"{origin}the result would be on {device}"
    observers.problem(
        Kind.GENERATOR,
        getattr(func, "__name__", str(func)),
        f"{sentence} {explanation}",
        source=str(generator.device),
        target=str(device),
        declared=() if made is None else (made,),
    )
    if observers.mixed_policy() == "raise":
        raise RuntimeError(with_explanation(sentence, explanation, "DEV105"))


def refuse_other_storage(args: tuple[Any, ...]) -> None:
    """``x.set_(source)``: both on one device (``checkSetStorage`` in ATen's ``Resize.h``)."""
    placement = placement_of(args[0])
    source = args[1] if len(args) > 1 else None
    if placement is None or source is None:  # PyTorch's own helpers are untagged
        return
    found = placement_of(source) if isinstance(source, _Tensor) else getattr(source, TAG, None)
    device = CPU if found is None else found.device
    if device is not placement.device:
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{placement.device}" to a storage '
            f'on different device "{device}".  This is no longer allowed; the devices must match.'
        )


def refuse_without_kernel(func: Any, operands: Any) -> None:
    """Raise what the dispatcher raises when an operand's device has no kernel of ``func``."""
    for tensor in tensors_of(operands):
        kind = moves.device_of(tensor).type
        if kind not in ("cpu", "meta"):
            raise NotImplementedError(
                f"Could not run '{func.name()}' with arguments from the '{kind.upper()}' backend. "
                "This could be because the operator doesn't exist for this backend, or was "
                "omitted during the selective/custom build process (if using custom build)."
            )


def refuse_what_the_host_lacks(func: Any, operands: Any, error: NotImplementedError) -> None:
    """Raise ``UnsupportedVirtually`` where the CPU's kernel of ``func`` is what is missing."""
    text = str(error)
    if "'CPU' backend" not in text and "not implemented for '" not in text:
        return
    device = next(
        (d for d in map(moves.device_of, tensors_of(operands)) if d.type not in ("cpu", "meta")),
        None,
    )
    if device is not None and not isinstance(error, UnsupportedVirtually):
        raise UnsupportedVirtually(
            f"{func.name()} on {device}: values are computed by the CPU, which has no such kernel "
            f"({text.partition('. ')[0]})"
        ) from None


_Tensor = torch.Tensor
_Parameter = torch.nn.Parameter


class DispatchMode(DispatchHook):
    """Checks operands and tags results for one thread of a virtual machine."""

    def __init__(self, machine: Machine, function_mode: FunctionMode) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.machine = machine
        self.function_mode = function_mode
        self.latest: Placement | None = None
        """Where the last operation ran: what backward's factories allocate beside."""

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
        plan = plan_of(func)
        if plan is None:
            return self._higher_order(func, args, kwargs or {})
        if plan.foreign:
            definition = custom_operators.get(func._schema.name)
            if definition is not None:
                return self._python_kernel(definition, func, args, kwargs or {})
        dispatch = self._dispatch if Watch.current is None else self._dispatch_in_races
        try:
            if not plan.foreign and function_mode_count():
                with disable_torch_function():  # not below a handler (backward): no detours
                    return dispatch(plan, func, args, kwargs)
            return dispatch(plan, func, args, kwargs)
        except NotImplementedError as error:
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
            return func(*args, **kwargs)  # fake and functional tensors have no values
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
        """Run a higher-order operator, what it is made of or what it calls in sight."""
        if func is flex_attention:
            with self.in_sight():
                return func.py_kernels[torch._C.DispatchKey.CompositeExplicitAutograd](
                    *args, **kwargs
                )

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
        if plan.treatment is not Treatment.SAME or (kwargs and plan.keyword_tensors):
            return self._special(plan, func, args, kwargs or {})
        if kwargs and plan.copies and self._is_move(kwargs.get("device")):
            return self._move(func, args, kwargs)
        first: Placement | None = None
        untagged = mixed = False
        tags_results = plan.tags_results
        for value in args:
            kind = type(value)
            if kind is _Tensor or kind is _Parameter or isinstance(value, _Tensor):
                try:
                    found = getattr(value.untyped_storage(), TAG, None)
                except (NotImplementedError, RuntimeError):
                    found = placement_of(value)
                    tags_results = True  # what is a view of a strided tensor copies a sparse one
                if found is None:
                    untagged = True
                elif first is None:
                    first = found
                elif found is not first and found.device is not first.device:
                    mixed = True
                else:
                    self._note_use(found, plan)
            elif kind is list or kind is tuple:
                for item in value:
                    if isinstance(item, _Tensor):
                        found = placement_of(item)
                        if found is None:
                            untagged = True
                        elif first is None:
                            first = found
                        elif found is not first and found.device is not first.device:
                            mixed = True
                        else:
                            self._note_use(found, plan)
        self.latest = first
        if first is None:
            return func(*args, **kwargs) if kwargs else func(*args)
        if first.move is not None:
            self._note_use(first, plan)
        if mixed or (untagged and first.device is not CPU) or plan.indexing or plan.reads:
            return self._meet(plan, func, args, kwargs or {})
        result = func(*args, **kwargs) if kwargs else func(*args)
        if plan.sync is not None and first.device is not CPU:
            self._sync(plan, args, kwargs)
        if tags_results and not (plan.copies and moves.moving.active):
            if plan.chooses_device and result.is_meta:
                return result
            # `_tag_results` in line for what most operations give: it is here that time goes
            if type(result) is _Tensor:
                try:
                    storage = result.untyped_storage()
                except (NotImplementedError, RuntimeError):
                    tag(result, first.of_result(user_site()))
                else:
                    if getattr(storage, TAG, None) is None:
                        tag_new(storage, first.of_result(user_site()))
            else:
                self._tag_results(result, first, plan)
        return result

    def _is_move(self, device: torch.device | None) -> bool:
        """Is ``_to_copy`` asked to go to ``device``?  C++ names the host where it means to stay."""
        if device is None or moves.moving.active:
            return False
        return moves.moving.whole or self.machine.is_virtual(device)

    def _move(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``_to_copy`` to a device, as C++ calls it: for the parts of a ``DTensor``, for one."""
        options = dict(kwargs)
        target = self.machine.parse(options.pop("device"))
        if target.type == "meta" or is_tracing(FAKE):
            return func(*args, **kwargs)
        return moves.move(
            self.machine,
            args[0],
            target,
            what=".to",
            dtype=options.get("dtype"),
            non_blocking=bool(options.get("non_blocking")),
            copy=True,
            memory_format=options.get("memory_format"),
        )

    def _note_use(self, placement: Placement, plan: Plan, *, by_host: bool = True) -> None:
        watched = placement.move
        if watched is not None:
            watched.used = True
            if watched.leaf is not None and not plan.copies:
                gradients.on_use(watched)
            # a copy back to the device waits its turn behind the one that is on its way
            if not watched.landed and by_host and not (plan.copies and moves.moving.active):
                moves.report_read(watched, plan.name)

    def _sync(self, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> None:
        if plan.no_sync_with is not None and plan.no_sync_with(args, kwargs or {}):
            return
        moves.land_all()
        if not self.function_mode.quiet and plan.sync is not None:
            observers.sync(plan.called, plan.sync)

    def _tag_results(self, result: Any, placement: Placement, plan: Plan) -> None:
        if type(result) is _Tensor:
            try:
                storage = result.untyped_storage()
            except (NotImplementedError, RuntimeError):
                tag(result, placement.of_result(user_site()))
                return
            if getattr(storage, TAG, None) is None:
                tag_new(storage, placement.of_result(user_site()))
            return
        computed: Placement | None = None
        for position, item in enumerate(result if isinstance(result, (tuple, list)) else [result]):
            if position in plan.host_results:
                continue
            for tensor in tensors_of(item):
                if placement_of(tensor) is None:
                    computed = computed or placement.of_result(user_site())
                    tag(tensor, computed)

    def _special(self, plan: Plan, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        treatment = plan.treatment
        if treatment is Treatment.DECOMPOSE and not any(t.is_nested for t in tensors_of(args)):
            with self:
                return func._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, *args, **kwargs)
        if treatment is Treatment.FACTORY:
            for scalar in tensors_of(args) if plan.tensors else ():
                if moves.device_of(scalar).type != "cpu" and not self.function_mode.quiet:
                    moves.land_all()
                    observers.sync(plan.called, "reads one value")
            result = func(*args, **kwargs)
            placement = None if is_tracing(FAKE) else self._composite_placement()
            on_meta = isinstance(result, torch.Tensor) and result.is_meta
            if placement is not None and not on_meta:
                self._tag_results(result, placement, plan)
            return result
        if treatment is Treatment.SET:
            if plan.name == "set_":
                refuse_other_storage(args)
            return func(*args, **kwargs)
        if treatment is Treatment.HOST:
            refuse_without_kernel(func, [*args, *kwargs.values()])
            return func(*args, **kwargs)
        if treatment is Treatment.COPY:
            return self._copy(plan, func, args, kwargs)
        return self._meet(plan, func, args, kwargs)

    def _composite_placement(self) -> Placement | None:
        mode = self.function_mode
        if mode.call is not None:
            return mode.placement_of_call(mode.call)
        if torch._C._current_graph_task_id() != -1:  # in backward: beside the gradient
            return self.latest
        return None

    def _copy(self, plan: Plan, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = func(*args, **kwargs)
        targets, values = args[0], args[1]
        non_blocking = kwargs.get("non_blocking", args[2] if len(args) > 2 else False)
        pairs = (
            [(targets, values)]
            if isinstance(targets, torch.Tensor)
            else list(zip(targets, values, strict=True))
        )
        for written, value in pairs:
            self._adopt_buffers([written], [value])
            target, source = moves.device_of(written), moves.device_of(value)
            if self.function_mode.writes_number and value.dim() == 0:
                source = target
            for tensor in (written, value):
                placement = placement_of(tensor)
                if placement is not None and placement.move is not None:
                    if tensor is value:
                        self._note_use(placement, plan, by_host=target is CPU)
                    else:
                        placement.move.used = True
            self.latest = placement_of(written)
            if target is not source and "meta" not in (target.type, source.type):
                buffered = target is CPU and bool(non_blocking) and moves.is_pinned(written)
                moves.record_transfer(
                    self.machine,
                    value,
                    source,
                    target,
                    plan.name,
                    # only page-locked memory is copied to behind the host's back
                    non_blocking=bool(non_blocking) and (buffered or target is not CPU),
                    pinned=buffered or moves.is_pinned(value),
                )
                if buffered and observers.observing():
                    moves.watch_buffer(written)
        return result

    def _adopt_buffers(self, written: list[torch.Tensor], read: list[torch.Tensor]) -> bool:
        """In backward: a buffer that C++ made out of our sight (the buckets of
        ``DistributedDataParallel``) lives where what is written into it does."""
        if torch._C._current_graph_task_id() == -1:
            return False
        placement = next(
            (p for p in map(placement_of, read) if p is not None and p.device is not CPU), None
        )
        adopted = [t for t in written if placement_of(t) is None and not t.is_meta]
        if placement is None or not adopted:
            return False
        for tensor in adopted:
            tag(tensor, placement)
        return True

    def _operands(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[rules.Operand], list[torch.Tensor]]:
        operands: list[rules.Operand] = []
        tensors: list[torch.Tensor] = []
        for position, argument in enumerate(func._schema.arguments):
            value: Any = args[position] if position < len(args) else kwargs.get(argument.name)
            written = argument.alias_info is not None and argument.alias_info.is_write
            listed = isinstance(value, (list, tuple))
            for index, item in enumerate(value) if listed else ((0, value),):
                if not isinstance(item, torch.Tensor):
                    continue
                operands.append(
                    rules.Operand(
                        f"{argument.name}[{index}]" if listed else argument.name,
                        moves.device_of(item),
                        item.dim(),
                        item.numel(),
                        written,
                        item.dtype is torch.bool,
                        rules.LEGACY_NAMES.get(item.dtype, str(item.dtype)),
                    )
                )
                tensors.append(item)
        return operands, tensors

    def _meet(self, plan: Plan, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The careful path: operands on several devices, ``out=``, indices."""
        operands, tensors = self._operands(func, args, kwargs)
        if not operands:
            return func(*args, **kwargs)
        for tensor in tensors:
            placement = placement_of(tensor)
            if placement is not None:
                self._note_use(placement, plan)
        if (
            plan.composite is not None
            and not plan.indexing
            and any(o.device is not operands[0].device for o in operands)
        ):
            with self:
                return func._op_dk(plan.composite, *args, **kwargs)
        written = [t for o, t in zip(operands, tensors, strict=True) if o.written]
        if written and self._adopt_buffers(
            written, [t for o, t in zip(operands, tensors, strict=True) if not o.written]
        ):
            operands, tensors = self._operands(func, args, kwargs)
        decision = rules.decide(func, operands)
        if isinstance(decision, rules.Refusal):
            self._refuse(plan, decision, operands, tensors)
            decision = next(i for i, o in enumerate(operands) if o.device.type != "cpu")
        device = operands[decision].device
        compute = func
        if plan.treatment is Treatment.OTHERWISE and device.type not in ("cpu", "meta"):
            compute = kernel_of(plan.name, func, args)
        result = compute(*args, **kwargs)
        placement = placement_of(tensors[decision])
        self.latest = placement
        if device.type != "cpu" and plan.sync is not None:
            self._sync(plan, args, kwargs)
        if plan.indexing:
            self._indices(plan, operands, tensors)
        if plan.reads:
            self._reads(plan, operands)
        if placement is not None and (
            plan.tags_results or any(t.layout is not torch.strided for t in tensors)
        ):
            self._tag_results(result, placement, plan)
        return result

    def _reads(self, plan: Plan, operands: list[rules.Operand]) -> None:
        """An argument is read by the host in C++."""
        for operand in operands:
            if (
                operand.name == plan.reads
                and rules.waits_to_read(plan.name, operands[0].device, operand.device)
                and not self.function_mode.quiet
            ):
                moves.land_all()
                observers.sync(plan.called, rules.READS[plan.name][1])

    def _indices(
        self, plan: Plan, operands: list[rules.Operand], tensors: list[torch.Tensor]
    ) -> None:
        """Indices from elsewhere are copied to the tensor's device; of a mask on an accelerator's
        tensor the count is read by the host."""
        if not observers.observing():
            return
        device = operands[0].device
        fills = rules.fills_a_mask(operands)
        for operand, tensor in zip(operands[1:], tensors[1:], strict=True):
            if not operand.name.startswith("indices"):
                continue
            if operand.device != device and operand.dim > 0:
                moves.record_transfer(
                    self.machine,
                    tensor,
                    operand.device,
                    device,
                    plan.name,
                    non_blocking=False,
                    pinned=moves.is_pinned(tensor),
                )
            counted = operand.mask and device.type != "cpu" and not fills
            if counted and not self.function_mode.quiet:
                moves.land_all()
                observers.sync(
                    plan.name, "a boolean mask: its result's shape depends on the values"
                )

    def _refuse(
        self,
        plan: Plan,
        refusal: rules.Refusal,
        operands: list[rules.Operand],
        tensors: list[torch.Tensor],
    ) -> None:
        """Record a mixed-device operation, and raise unless every guard only wants to know."""
        chosen = sorted((refusal.first, refusal.second))
        explanation = explain_operands(
            [tensors[i] for i in chosen], [operands[i].name for i in chosen]
        )
        rule = rule_for([tensors[i] for i in chosen])
        if plan.indexing and rule in ("DEV101", "DEV102"):
            rule = "DEV104"
        observers.problem(
            Kind.MIXED,
            plan.name,
            f"{refusal.message} {explanation} {hint_at(rule)}",
            source=str(operands[refusal.first].device),
            target=str(operands[refusal.second].device),
            operands=[tensors[i] for i in chosen],
        )
        policy = observers.mixed_policy()
        if policy == "raise":
            raise refusal.error(with_explanation(refusal.message, explanation, rule))
        if policy == "warn":
            warnings.warn(
                with_explanation(refusal.message, explanation, rule),
                observers.DevicePolicyWarning,
                stacklevel=2,
            )


__all__ = [
    "CPU",
    "UNTAGGED",
    "DispatchMode",
    "FunctionMode",
    "check_generator",
    "placement_of",
    "sparse_parts",
    "tensors_of",
]
