"""Who listens to which event: one place that tells each collector what happens in the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from devlint.inference.collect import (
    accelerator_calls,
    anomaly_mode,
    autocasts,
    availability_guards,
    call_contexts,
    called_properties,
    card_wide_calls,
    compared_parameters,
    contradictions,
    data_copies,
    default_devices,
    device_comparisons,
    device_texts,
    dispatched_models,
    dropped_devices,
    forbidden_waits,
    hard_coded_accelerators,
    ignored_devices,
    invalid_cards,
    invalid_devices,
    kept_device_names,
    kept_graphs,
    kernel_launches,
    legacy_types,
    meta_leftovers,
    module_homes,
    moves_of_either,
    named_cards,
    nonleaves,
    notes,
    overwritten_devices,
    pinned_memory,
    places,
    plain_attributes,
    read_only_devices,
    rebindings,
    stream_races,
    syncs,
    tensor_classes,
    timings,
    undetached_reads,
    unplaced_factories,
    unread_devices,
)
from devlint.inference.domain.host import External
from devlint.inference.program import roles
from devlint.inference.program.events import (
    AddedUp,
    ArgumentGiven,
    ArrayTaken,
    Asserted,
    AttributeSet,
    Branched,
    Called,
    Chosen,
    Compared,
    CreatedThenMoved,
    DefaultEvaluated,
    DefaultTaken,
    DeviceChosen,
    DeviceCompared,
    DeviceFormatted,
    DeviceNameKept,
    DeviceRevealed,
    EnvironmentSet,
    Formatted,
    FunctionCalled,
    FunctionLeft,
    FunctionReturns,
    HandedOver,
    HostDemanded,
    HostNeeds,
    HostReads,
    HostWaits,
    ItemWritten,
    KeptMeets,
    LoopLeft,
    MethodRead,
    ModuleMade,
    NonLeafUsed,
    NumberTaken,
    OperandChosen,
    Operated,
    PartMade,
    PlaceSettled,
    PlacesSettled,
    TensorMade,
    TensorRead,
    TensorReturned,
    Tested,
    TypeNamed,
    UnknownCalled,
)
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.summaries.arguments import ArgumentsBound, CallBound

E = TypeVar("E")
_LISTENERS: dict[type, tuple[Callable[[Frame, Any], None], ...]] = {}


def on(frame: Frame, event: object) -> None:
    """Hand an event to those who listen to its kind."""
    for listener in _LISTENERS[type(event)]:
        listener(frame, event)


def _tell(kind: type[E], *listeners: Callable[[Frame, E], None]) -> None:
    _LISTENERS[kind] = listeners


def _operated(frame: Frame, event: Operated) -> None:
    if event.symbol == "@":
        timings.of_product(frame, event.node, event.result)
    else:
        kept_graphs.of_addition(frame, event.node, event.right)


# Those who listen to calls, each with those files that concern it: most look for something that
# few files have. The first look at calls of libraries only.
_LIBRARY_CALLS: tuple[tuple[Callable[[Frame, Called], None], Callable[[Unit], bool]], ...] = (
    (accelerator_calls.of_call, accelerator_calls.concerns),
    (data_copies.of_call, lambda unit: True),
    (default_devices.of_call, default_devices.concerns),
    (card_wide_calls.of_call, lambda unit: True),
    (anomaly_mode.of_call, lambda unit: True),
    (forbidden_waits.of_call, forbidden_waits.concerns),
)
_CALLS: tuple[tuple[Callable[[Frame, Called], None], Callable[[Unit], bool]], ...] = (
    (hard_coded_accelerators.of_call, lambda unit: True),
    (autocasts.of_call, autocasts.concerns),
    (dispatched_models.of_call, dispatched_models.concerns),
    (kernel_launches.of_call, kernel_launches.concerns),
    (meta_leftovers.of_call, meta_leftovers.concerns),
    (invalid_cards.of_call, invalid_cards.concerns),
    (moves_of_either.of_call, moves_of_either.concerns),
    (pinned_memory.of_call, pinned_memory.concerns),
    (tensor_classes.of_call, tensor_classes.concerns),
    (timings.of_call, timings.concerns),
    (kept_graphs.of_call, lambda unit: True),
    (stream_races.of_call, stream_races.concerns),
)


class _OfCalls:
    """Who listens to the calls of one file."""

    def __init__(self, unit: Unit) -> None:
        self.of_own = tuple(listen for listen, concerns in _CALLS if concerns(unit))
        library = tuple(listen for listen, concerns in _LIBRARY_CALLS if concerns(unit))
        self.of_libraries = self.of_own + library


def _called(frame: Frame, event: Called) -> None:
    listening = frame.unit.kept(_OfCalls)
    is_of_library = type(event.callee) is External
    for listener in listening.of_libraries if is_of_library else listening.of_own:
        listener(frame, event)


def _places_settled(frame: Frame, _: PlacesSettled) -> None:
    unplaced_factories.settle(frame)


def _function_left(frame: Frame, _: FunctionLeft) -> None:
    contradictions.settle(frame)
    notes.settle(frame)
    undetached_reads.leave(frame)
    timings.leave(frame)
    kept_graphs.leave(frame)
    stream_races.leave(frame)
    forbidden_waits.leave(frame)


# What the host does with values.
_tell(HostWaits, timings.waits, stream_races.waits, forbidden_waits.waits, syncs.sync)
_tell(
    Tested,
    timings.waits,
    stream_races.waits,
    forbidden_waits.waits,
    syncs.test_of,
    invalid_devices.of_test,
)
_tell(Formatted, timings.waits, stream_races.waits, forbidden_waits.waits, syncs.formatted)
_tell(NumberTaken, timings.waits, stream_races.waits, forbidden_waits.waits, syncs.of_number)
_tell(HostReads, timings.waits, stream_races.waits, forbidden_waits.waits, syncs.read_by_host)
_tell(HostDemanded, syncs.read_by_host)
_tell(HostNeeds, syncs.host_needs)
_tell(TensorRead, syncs.late_read)
_tell(ArrayTaken, undetached_reads.read)
_tell(MethodRead, undetached_reads.read_of)

# Tensors and modules, made and computed with.
_tell(TensorMade, unplaced_factories.made, unread_devices.made, default_devices.made)
_tell(PlaceSettled, unplaced_factories.settled)
_tell(ItemWritten, unplaced_factories.filled)
_tell(TensorReturned, unplaced_factories.used)
_tell(PlacesSettled, _places_settled)
_tell(CreatedThenMoved, data_copies.of_move)
_tell(Operated, _operated)
_tell(AddedUp, kept_graphs.of_sum)
_tell(AttributeSet, read_only_devices.of_assignment)
_tell(NonLeafUsed, nonleaves.use_non_leaf)
_tell(KeptMeets, plain_attributes.meets)
_tell(PartMade, call_contexts.note_part)
_tell(ModuleMade, module_homes.note_made, roles.note_made)
_tell(LoopLeft, rebindings.note)

# Calls.
_tell(Called, _called)
_tell(FunctionCalled, availability_guards.of_call, hard_coded_accelerators.of_function)
_tell(ArgumentsBound, ignored_devices.of_call, module_homes.note_call)
_tell(CallBound, call_contexts.note, compared_parameters.note)
_tell(UnknownCalled, call_contexts.note_unknown)
_tell(HandedOver, call_contexts.note_handed_over)
_tell(DefaultTaken, dropped_devices.of_default, unread_devices.of_default)
_tell(
    ArgumentGiven,
    invalid_devices.of_argument,
    invalid_cards.of_argument,
    named_cards.of_argument,
)
_tell(EnvironmentSet, invalid_cards.of_environment)
_tell(
    FunctionReturns,
    unread_devices.of_function,
    dropped_devices.of_replaced,
    ignored_devices.of_function,
    overwritten_devices.of_function,
    invalid_devices.of_function,
    called_properties.of_function,
)
_tell(FunctionLeft, _function_left)

# Devices by name, and questions for them.
_tell(TypeNamed, legacy_types.of_type_name, accelerator_calls.of_name)
_tell(DeviceFormatted, named_cards.of_name)
_tell(DeviceNameKept, kept_device_names.of_assignment)
_tell(DeviceRevealed, places.reveal)
_tell(Compared, named_cards.of_comparison)
_tell(Chosen, named_cards.of_choice)
_tell(DefaultEvaluated, named_cards.of_default)
_tell(Asserted, availability_guards.of_assertion)
_tell(Branched, availability_guards.of_condition)
_tell(DeviceCompared, device_comparisons.of_comparison, device_texts.of_comparison)
_tell(OperandChosen, invalid_devices.of_index)
_tell(DeviceChosen, invalid_devices.of_choice)
