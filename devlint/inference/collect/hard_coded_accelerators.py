"""Where the code names an accelerator, a backend or a legacy type, and whether it asks first.

Calls are noted while functions are walked, since only then names are resolved and conditions are
known; `settle` makes facts of the notes when the file is done, since only then it is known what
joins a process group, which functions workers run, and what serves the host, too.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.collect import (
    availability_guards,
    cuda_on_purpose,
    device_awareness,
    dropped_devices,
    host_offers,
    invalid_devices,
    legacy_types,
    loads,
    named_cards,
    plain_states,
    rank_code,
)
from devlint.inference.collect.mentions import note
from devlint.inference.collect.workers import Workers
from devlint.inference.conventions import holds
from devlint.inference.domain.host import External
from devlint.inference.domain.provenance import Site
from devlint.inference.domain.tensors import Tensor
from devlint.inference.facts import Mention
from devlint.inference.interpreter.submodules import has_state
from devlint.inference.models import kept_optimizers, optimizers
from devlint.inference.program.accelerator_notes import (
    MentionNote,
    Mentions,
    named_for_accelerators,
)
from devlint.inference.program.events import Called, FunctionCalled
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.units import Unit
from devlint.inference.program.usage import left_over
from devlint.inference.program.values import FunctionValue, Instance

# Functions of torch.cuda that raise where CUDA is missing: each was called on a build without it.
_RAISING = frozenset(
    {"current_device", "get_device_name", "get_device_properties", "get_device_capability"}
    | {"set_device", "memory_summary", "reset_peak_memory_stats", "reset_max_memory_allocated"}
    | {"reset_max_memory_cached", "reset_accumulated_memory_stats", "memory_snapshot"}
    | {"mem_get_info", "Stream", "Event", "ExternalStream", "current_stream", "default_stream"}
    | {"synchronize", "ipc_collect", "initial_seed", "get_rng_state", "init", "CUDAGraph"}
    | {"can_device_access_peer", "set_per_process_memory_fraction", "current_blas_handle"}
    | {"get_sync_debug_mode", "set_sync_debug_mode", "cudart", "utilization", "device"}
)
# The function raises, "device type could not be determined", where the class `DataParallel` merely
# calls the module: `torch/nn/parallel/data_parallel.py` of PyTorch.
_SPREADING = frozenset(
    {"torch.nn.parallel.data_parallel", "torch.nn.parallel.data_parallel.data_parallel"}
)


def of_call(frame: Frame, event: Called) -> None:
    """Note what a call mentions. `callee` is the receiver of a method, else what is called."""
    node, callee, arguments = event
    mentions = frame.unit.kept(Mentions)
    if frame.unit.dropped:
        dropped_devices.of_arguments(frame, node)
    if type(callee) is FunctionValue:
        dropped_devices.of_recursion(frame, node, callee)
    func = node.func
    name = func.attr.value if type(func) is cst.Attribute else ""
    invalid_devices.of_call(frame, node, callee, name, arguments)
    if "device_ids" in arguments.keywords:
        named_cards.of_cards(frame, node, *arguments.keywords["device_ids"])
    if not mentions.at_all:
        return
    if name in availability_guards.STREAMS:
        availability_guards.of_use(frame, node)
    if mentions.notes:
        named_cards.of_option(mentions, name, callee, arguments)
    if type(callee) is External and callee.name == "builtins.isinstance":
        for _, argument in arguments.all():
            mentions.notes.pop(argument, None)
    elif type(callee) is External and name != "load_state_dict":
        full_name = f"{callee.name}.{name}" if name else callee.name
        availability_guards.of_library(frame, node, full_name, arguments)
        _of_library(frame, node, full_name, arguments)
    elif name == "load_state_dict":
        plain = plain_states.is_of_numbers(frame.unit, node)
        given = mentions.numbers if plain else mentions.weights
        given.update(n for _, n in arguments.all())
        optimizers.loaded(frame, node)
    elif name in ("cuda", "to", "type"):
        if type(callee) is Instance and callee.module and not _has_state(frame, callee):
            pass  # nothing is moved: it raises nowhere
        elif name == "cuda":
            named_cards.of_cuda(frame, node, callee, arguments)
        elif name == "to":
            named_cards.of_to(frame, node, arguments)
        else:
            legacy_types.of_conversion(frame, node, callee, arguments)
    elif type(callee) is Tensor and "device" in arguments.keywords:
        named_cards.of_device(frame, node, arguments.keywords["device"])
    if name in ("to", "cuda"):
        optimizers.moved(frame, node, arguments)
        kept_optimizers.moved_later(frame, node, arguments)
    elif name != "load_state_dict":
        optimizers.built(frame, node)
    frame.unit.kept(Workers).of_call(frame, node, callee, name, arguments)


def _has_state(frame: Frame, module: Instance) -> bool:
    if module.info is not None:
        return True  # it may register more than is in sight, under computed names

    return has_state(frame, module)


def of_function(frame: Frame, event: FunctionCalled) -> None:
    """A function of the project loads to where it is told, or to where the tensors were."""
    node, function = event
    if not isinstance(node, cst.Call) or not loads.takes_place(function):
        return
    if loads.leaves_out_place(function, node):
        note(frame, node, "load").loader = function
    else:
        frame.unit.kept(Mentions).placing.add(function)


# They load what is published; `map_location` is their third parameter.
_URL_LOADS = ("torch.hub.load_state_dict_from_url", "torch.utils.model_zoo.load_url")


def _of_library(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> None:
    if not name.startswith("torch."):
        return
    if name == "torch.device":
        named_cards.of_torch_device(frame, node, arguments)
    elif name in ("torch.load", "torch.jit.load"):
        is_told = arguments.get(1, "map_location") is not None or arguments.open
        if not (is_told or loads.may_be_told(frame, node)):
            note(frame, node, "load").mapped = "mmap" in arguments.keywords
        else:
            loads.of_mapped(frame, arguments.node(1, "map_location"))
            value, given = arguments.get(1, "map_location"), arguments.node(1, "map_location")
            if value is not None and given is not None:
                named_cards.of_device(frame, node, (value, given))
    elif name in _URL_LOADS:
        is_open = arguments.get(2, "map_location") is None and not arguments.open
        if is_open and loads.is_of_caller(frame.function, node):
            note(frame, node, "load")  # what is published is on the host, if nobody asks
    elif name == "torch.set_default_tensor_type":
        note(frame, node, "legacy-type")
    elif name == "torch.set_default_device":
        named_cards.of_device(
            frame, node, arguments.positional[0] if arguments.positional else None
        )
    elif holds("legacy-tensor-type", name):
        legacy_types.of_call(frame, node, name, arguments)
    elif name in _SPREADING:
        note(frame, node, "backend")
    elif name.startswith("torch.cuda.") and name[11:] in _RAISING:
        given = arguments.node(0, "device")
        if name == "torch.cuda.device" and invalid_devices.asked_for_its_card(given) is not None:
            pass  # -1 for a tensor of the host, and nothing happens
        elif name == "torch.cuda.set_device" and named_cards.is_global_rank(
            arguments.get(0, "device")
        ):
            note(frame, node, "device").global_rank = True
        else:
            note(frame, node, "backend", bare=name == "torch.cuda.current_device")
            if name in ("torch.cuda.Stream", "torch.cuda.current_stream"):
                availability_guards.of_stream(frame, node)
    elif "device" in arguments.keywords:
        named_cards.of_device(frame, node, arguments.keywords["device"])


def settle(unit: Unit) -> None:
    """Turn the file's notes into facts."""
    for noted in unit.kept(Mentions).notes.values():
        if noted.loader is None or loads.is_loader(noted.loader):
            unit.facts.mentions.append(_mention(unit, noted))
    unit.kept(Workers).settle(unit)


def _mention(unit: Unit, noted: MentionNote) -> Mention:
    mentions, kind, function = unit.kept(Mentions), noted.kind, noted.function
    meant = mentions.meant or named_for_accelerators(function)
    per_rank = rank_code.is_of_each_rank(unit, noted)
    guarded = _is_guarded(unit, noted, meant, per_rank)
    if per_rank and not noted.global_rank:
        current = noted.bare and rank_code.sets_card(unit)
        per_rank = not current and not rank_code.under_rank_test(noted)
    if function is not None and not guarded and _is_for_itself(unit):
        unused = left_over(function)
        if unused:
            unit.facts.left_over[function.node] = unused
    on_purpose = "" if guarded else cuda_on_purpose.reason(unit, noted)
    at_hand = "" if guarded else cuda_on_purpose.device_at_hand(unit, noted)
    in_main = function is None or mentions.is_script
    strays = cuda_on_purpose.strays(noted, on_purpose, at_hand)
    asks = noted.returns or noted.follows or strays or noted.global_rank
    return Mention(
        site=Site(unit.source, noted.node),
        kind=kind,
        text=noted.text,
        index=noted.index,
        guarded=guarded,
        in_main=in_main,
        per_rank=per_rank or noted.global_rank,
        serves_host=not guarded and host_offers.serves_host(unit, noted),
        weights=kind == "load" and loads.holds_weights(unit, noted),
        moves=noted.moves
        and not noted.joins_host
        and (noted.subject is None or noted.subject.is_sure),
        to_card=noted.to_card,
        type_name=noted.type_name,
        refused=noted.refused,
        of_class=noted.of_class,
        global_rank=noted.global_rank,
        returns=noted.returns and noted.guarded and not (meant or in_main),
        on_purpose=on_purpose,
        at_hand=at_hand,
        strays=strays,
        stays_on_first=per_rank and noted.bare and rank_code.knows_its_card(unit, noted),
        follows=noted.follows,
        on_own_card=bool(asks or per_rank) and _is_on_own_card(unit, noted),
    )


def _is_on_own_card(unit: Unit, noted: MentionNote) -> bool:
    """The project says elsewhere which card each of its processes has."""
    importer = unit.context.importer
    says_it = noted.text.startswith("torch.cuda.set_device")
    return not says_it and importer is not None and importer.chooses_card()


def _is_for_itself(unit: Unit) -> bool:
    """What nothing in sight calls is left over: a library's functions are for others."""
    importer = unit.context.importer
    return unit.kept(Mentions).is_script or (importer is not None and importer.is_application())


def _is_guarded(unit: Unit, noted: MentionNote, meant: bool, per_rank: bool) -> bool:
    """The accelerator is there, or it is the card of this process."""
    at = (unit, noted.function, noted.node)
    group = rank_code.joins_group(unit)
    if per_rank and not noted.global_rank:
        # the current one; or the first, for the first rank
        own_card = noted.bare or rank_code.under_rank_test(noted)
        if own_card and rank_code.sets_card(unit):
            return True
    elif noted.calls_backend:
        if group or availability_guards.is_for_nccl(*at):
            return True
    elif noted.kind == "load" and group and rank_code.runs_per_rank(unit, noted):
        # every rank puts its copy on the card that was saved from, however many there are
        return rank_code.under_rank_test(noted)
    elif noted.global_rank:
        return meant
    elif noted.bare and rank_code.communicates(noted.function):
        return True
    asked = noted.guarded or meant or availability_guards.is_met(*at)
    return asked or _has_reason(unit, noted)


def _has_reason(unit: Unit, noted: MentionNote) -> bool:
    """What is around it says why it is for an accelerator, or asks by way of a flag."""
    if noted.kind != "device" and not noted.calls_backend:
        return False
    at = (unit, noted.function, noted.node)
    if device_awareness.is_asked_by_flag(*at):
        return True
    if noted.kind == "device":
        return device_awareness.is_beside_host(*at) or device_awareness.is_measured(*at)
    with_tensors = unit.kept(Mentions).with_devices
    return noted.function in with_tensors and device_awareness.is_measured(*at)
