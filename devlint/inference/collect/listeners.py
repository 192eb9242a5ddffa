"""Who listens to which event: one place that tells each collector what happens in the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from devlint.inference.collect import (
    accelerator_calls,
    autocasts,
    availability_guards,
    call_contexts,
    card_wide_calls,
    contradictions,
    data_copies,
    default_devices,
    dispatched_models,
    dropped_devices,
    forbidden_waits,
    hard_coded_accelerators,
    ignored_devices,
    invalid_devices,
    kept_graphs,
    kernel_launches,
    legacy_types,
    meta_leftovers,
    module_homes,
    named_cards,
    nonleaves,
    notes,
    places,
    plain_attributes,
    rebindings,
    stream_races,
    syncs,
    timings,
    undetached_reads,
    unplaced_factories,
)
from devlint.inference.program.events import (
    AddedUp,
    ArgumentGiven,
    ArrayTaken,
    Asserted,
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
    DeviceRevealed,
    Formatted,
    FunctionCalled,
    FunctionLeft,
    FunctionReturns,
    HandedOver,
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
from devlint.inference.summaries.arguments import ArgumentsBound, CallBound

E = TypeVar("E")
_LISTENERS: dict[type, Callable[[Frame, Any], None]] = {}


def _listens(
    kind: type[E],
) -> Callable[[Callable[[Frame, E], None]], Callable[[Frame, E], None]]:
    def register(listener: Callable[[Frame, E], None]) -> Callable[[Frame, E], None]:
        _LISTENERS[kind] = listener
        return listener

    return register


def on(frame: Frame, event: object) -> None:
    """Hand an event to those who listen to its kind."""
    _LISTENERS[type(event)](frame, event)


@_listens(HostWaits)
def _host_waits(frame: Frame, event: HostWaits) -> None:
    timings.waits(frame, event.node, event.value)
    stream_races.waits(frame, event.node, event.value)
    forbidden_waits.waits(
        frame, event.node, event.call, event.value, event.value_node, event.inside
    )
    syncs.sync(frame, event.node, event.call, event.value, event.value_node, event.inside)


@_listens(Tested)
def _tested(frame: Frame, event: Tested) -> None:
    timings.waits(frame, event.node, event.value)
    stream_races.waits(frame, event.node, event.value)
    forbidden_waits.waits(frame, event.node, event.keyword, event.value, event.node)
    syncs.test_of(frame, event.node, event.value, event.keyword)


@_listens(Formatted)
def _formatted(frame: Frame, event: Formatted) -> None:
    timings.waits(frame, event.node, event.value)
    stream_races.waits(frame, event.node, event.value)
    forbidden_waits.waits(frame, event.node, event.call, event.value, event.value_node)
    syncs.formatted(frame, event.node, event.call, event.value, event.value_node)


@_listens(NumberTaken)
def _number_taken(frame: Frame, event: NumberTaken) -> None:
    timings.waits(frame, event.node, event.value)
    stream_races.waits(frame, event.node, event.value)
    forbidden_waits.waits(frame, event.node, event.call, event.value, event.value_node)
    syncs.of_number(frame, event)


@_listens(HostReads)
def _host_reads(frame: Frame, event: HostReads) -> None:
    timings.waits(frame, event.node, event.value)
    stream_races.waits(frame, event.node, event.value)
    forbidden_waits.waits(frame, event.node, event.sink, event.value, event.value_node)
    syncs.read_by_host(frame, event.node, event.sink, event.value, event.value_node)


@_listens(HostNeeds)
def _host_needs(frame: Frame, event: HostNeeds) -> None:
    syncs.host_needs(frame, event.tensor)


@_listens(TensorRead)
def _tensor_read(frame: Frame, event: TensorRead) -> None:
    syncs.late_read(frame, event.node, event.tensor, event.value_node)


@_listens(TensorMade)
def _tensor_made(frame: Frame, event: TensorMade) -> None:
    unplaced_factories.made(frame, event.node, event.tensor)
    default_devices.made(frame, event.node, event.tensor)


@_listens(PlaceSettled)
def _place_settled(frame: Frame, event: PlaceSettled) -> None:
    unplaced_factories.settled(frame, event.tensor)


@_listens(ItemWritten)
def _item_written(frame: Frame, event: ItemWritten) -> None:
    unplaced_factories.filled(frame, event.tensor, event.part)


@_listens(TensorReturned)
def _tensor_returned(frame: Frame, event: TensorReturned) -> None:
    unplaced_factories.used(frame, event.tensor)


@_listens(Called)
def _called(frame: Frame, event: Called) -> None:
    hard_coded_accelerators.of_call(frame, event.node, event.callee, event.arguments)
    accelerator_calls.of_call(frame, event.node, event.callee, event.arguments)
    data_copies.of_call(frame, event.node, event.callee, event.arguments)
    autocasts.of_call(frame, event.node, event.callee, event.arguments)
    default_devices.of_call(frame, event.node, event.callee, event.arguments)
    dispatched_models.of_call(frame, event.node, event.callee, event.arguments)
    kernel_launches.of_call(frame, event.node, event.arguments)
    meta_leftovers.of_call(frame, event.node, event.callee, event.arguments)
    timings.of_call(frame, event.node, event.callee, event.arguments)
    kept_graphs.of_call(frame, event.node, event.callee, event.arguments)
    card_wide_calls.of_call(frame, event.node, event.callee)
    stream_races.of_call(frame, event.node, event.callee, event.arguments)
    forbidden_waits.of_call(frame, event.node, event.callee, event.arguments)


@_listens(CreatedThenMoved)
def _created_then_moved(frame: Frame, event: CreatedThenMoved) -> None:
    data_copies.of_move(frame, event)


@_listens(Operated)
def _operated(frame: Frame, event: Operated) -> None:
    if event.symbol == "@":
        timings.of_product(frame, event.node, event.result)
    else:
        kept_graphs.of_addition(frame, event.node, event.right)


@_listens(AddedUp)
def _added_up(frame: Frame, event: AddedUp) -> None:
    kept_graphs.of_sum(frame, event.node, event.value)


@_listens(TypeNamed)
def _type_named(frame: Frame, event: TypeNamed) -> None:
    legacy_types.of_type_name(frame, event.node, event.value)
    accelerator_calls.of_name(frame, event.node, event.value)


@_listens(DeviceFormatted)
def _device_formatted(frame: Frame, event: DeviceFormatted) -> None:
    named_cards.of_name(frame, event.node, event.index)


@_listens(DeviceRevealed)
def _device_revealed(frame: Frame, event: DeviceRevealed) -> None:
    places.reveal(frame, event.node, event.value, event.value_node)


@_listens(Compared)
def _compared(frame: Frame, event: Compared) -> None:
    named_cards.of_comparison(frame, event.node)


@_listens(Chosen)
def _chosen(frame: Frame, event: Chosen) -> None:
    named_cards.of_choice(frame, event.node, event.chosen)


@_listens(DefaultEvaluated)
def _default_evaluated(frame: Frame, event: DefaultEvaluated) -> None:
    named_cards.of_default(frame, event.node)


@_listens(Asserted)
def _asserted(frame: Frame, event: Asserted) -> None:
    availability_guards.of_assertion(frame, event.node)


@_listens(Branched)
def _branched(frame: Frame, event: Branched) -> None:
    availability_guards.of_condition(frame, event.node, event.known)


@_listens(FunctionCalled)
def _function_called(frame: Frame, event: FunctionCalled) -> None:
    availability_guards.of_call(frame, event.node, event.function)
    hard_coded_accelerators.of_function(frame, event.node, event.function)


@_listens(LoopLeft)
def _loop_left(frame: Frame, event: LoopLeft) -> None:
    rebindings.note(frame, event.loop)


@_listens(ArrayTaken)
def _array_taken(frame: Frame, event: ArrayTaken) -> None:
    undetached_reads.read(frame, event.node, event.sink, event.value, event.value_node)


@_listens(MethodRead)
def _method_read(frame: Frame, event: MethodRead) -> None:
    undetached_reads.read_of(frame, event.node, event.value)


@_listens(ArgumentsBound)
def _arguments_bound(frame: Frame, event: ArgumentsBound) -> None:
    ignored_devices.of_call(frame, event.node, event.function, event.binding)
    module_homes.note_call(frame, event.node, event.function)


@_listens(DefaultTaken)
def _default_taken(frame: Frame, event: DefaultTaken) -> None:
    dropped_devices.of_default(frame, event.node, event.function, event.parameter, event.summary)


@_listens(ArgumentGiven)
def _argument_given(frame: Frame, event: ArgumentGiven) -> None:
    invalid_devices.of_argument(frame, event.node, event.value, event.given, event.function)


@_listens(DeviceCompared)
def _device_compared(frame: Frame, event: DeviceCompared) -> None:
    invalid_devices.of_comparison(frame, event)


@_listens(OperandChosen)
def _operand_chosen(frame: Frame, event: OperandChosen) -> None:
    invalid_devices.of_index(frame, event.node)


@_listens(DeviceChosen)
def _device_chosen(frame: Frame, event: DeviceChosen) -> None:
    invalid_devices.of_choice(frame, event.node)


@_listens(NonLeafUsed)
def _non_leaf_used(frame: Frame, event: NonLeafUsed) -> None:
    nonleaves.use_non_leaf(frame, event.tensor, event.use, event.node)


@_listens(CallBound)
def _call_bound(frame: Frame, event: CallBound) -> None:
    call_contexts.note(frame, event.function, event.binding)


@_listens(KeptMeets)
def _kept_meets(frame: Frame, event: KeptMeets) -> None:
    plain_attributes.meets(frame, event.tensor, event.node)


@_listens(PartMade)
def _part_made(frame: Frame, event: PartMade) -> None:
    call_contexts.note_part(frame, event.info)


@_listens(ModuleMade)
def _module_made(frame: Frame, event: ModuleMade) -> None:
    module_homes.note_made(frame, event.node, event.info)


@_listens(UnknownCalled)
def _unknown_called(frame: Frame, event: UnknownCalled) -> None:
    call_contexts.note_unknown(frame, event.node, event.arguments)


@_listens(HandedOver)
def _handed_over(frame: Frame, event: HandedOver) -> None:
    call_contexts.note_handed_over(frame, event.name, event.arguments)


@_listens(FunctionReturns)
def _function_returns(frame: Frame, event: FunctionReturns) -> None:
    dropped_devices.of_unused(frame, event.function, event.result)
    dropped_devices.of_replaced(frame, event.function)
    ignored_devices.of_function(frame, event.function)
    invalid_devices.of_function(frame, event.function)


@_listens(PlacesSettled)
def _places_settled(frame: Frame, _: PlacesSettled) -> None:
    unplaced_factories.settle(frame)


@_listens(FunctionLeft)
def _function_left(frame: Frame, _: FunctionLeft) -> None:
    contradictions.settle(frame)
    notes.settle(frame)
    undetached_reads.leave(frame)
    timings.leave(frame)
    kept_graphs.leave(frame)
    stream_races.leave(frame)
    forbidden_waits.leave(frame)
