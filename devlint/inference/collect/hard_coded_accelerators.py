"""Where the code names an accelerator, a backend or a legacy type, and whether it asks first.

Calls are noted while functions are walked, since only then names are resolved and conditions are
known; `settle` makes facts of the notes when the file is done, since only then it is known what
joins a process group, which functions workers run, and what serves the host, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from devlint.inference.collect import (
    availability_guards,
    cuda_on_purpose,
    device_awareness,
    dropped_devices,
    invalid_devices,
    loads,
)
from devlint.inference.collect.availability_guards import Demands
from devlint.inference.collect.workers import Workers
from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import GLOBAL_RANK, Const, DeviceValue, External, Host
from devlint.inference.domain.placement import CPU, Device, Placement, Variable, VariableKind
from devlint.inference.domain.provenance import Site, StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import Mention
from devlint.inference.interpreter.submodules import has_state
from devlint.inference.models import optimizers
from devlint.inference.models.devices import place_of
from devlint.inference.models.unification.authority import mended_place
from devlint.inference.program.accelerator_notes import (
    MentionNote,
    Mentions,
    functions,
    named_for_accelerators,
)
from devlint.inference.program.declarations import Function, functions_of
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.units import Unit
from devlint.inference.program.usage import left_over
from devlint.inference.program.values import FunctionValue, Instance, Super
from devlint.inference.syntax.text import code, dotted, parts, shorten
from devlint.inference.syntax.words import words

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


_SETS_UP_TESTS = ("setUp", "setUpClass", "setup_method", "setup_class")


def of_call(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> None:
    """Note what a call mentions. `callee` is the receiver of a method, else what is called."""
    mentions = frame.unit.kept(Mentions)
    if frame.unit.dropped:
        dropped_devices.of_arguments(frame, node)
    if type(callee) is FunctionValue:
        dropped_devices.of_recursion(frame, node, callee)
    func = node.func
    name = func.attr.value if type(func) is cst.Attribute else ""
    invalid_devices.of_call(frame, node, callee, name, arguments)
    if "device_ids" in arguments.keywords:
        _of_cards(frame, node, *arguments.keywords["device_ids"])
    if not mentions.at_all:
        return
    if name in availability_guards.STREAMS:
        availability_guards.of_use(frame, node)
    if mentions.notes:
        _of_option(mentions, name, callee, arguments)
    if type(callee) is External and callee.name == "builtins.isinstance":
        for _, argument in arguments.all():
            mentions.notes.pop(argument, None)
    elif type(callee) is External:
        full_name = f"{callee.name}.{name}" if name else callee.name
        availability_guards.of_library(frame, node, full_name, arguments)
        _of_library(frame, node, full_name, arguments)
    elif name == "load_state_dict":
        mentions.weights.update(n for _, n in arguments.all())
        optimizers.loaded(frame, node)
    elif name in ("cuda", "to", "type"):
        if type(callee) is Instance and callee.module and not _has_state(frame, callee):
            pass  # nothing is moved: it raises nowhere
        elif name == "cuda":
            _of_cuda(frame, node, callee, arguments)
        elif name == "to":
            _of_to(frame, node, arguments)
        else:
            _of_type(frame, node, callee, arguments)
    elif type(callee) is Tensor and "device" in arguments.keywords:
        _of_device(frame, node, arguments.keywords["device"])
    if name in ("to", "cuda"):
        optimizers.moved(frame, node, arguments)
    elif name != "load_state_dict":
        optimizers.built(frame, node)
    frame.unit.kept(Workers).of_call(frame, node, callee, name, arguments)


def _has_state(frame: Frame, module: Instance) -> bool:
    if module.info is not None:
        return True  # it may register more than is in sight, under computed names

    return has_state(frame, module)


def _of_cards(frame: Frame, node: cst.Call, value: Value, given: cst.CSTNode) -> None:
    """`device_ids=[rank]`."""
    if type(value) is Sequence and any(_is_global_rank(v) for v in value.items or ()):
        _note(frame, node, "device", global_rank=True)


def of_function(frame: Frame, node: cst.CSTNode, function: Function) -> None:
    """A function of the project loads to where it is told, or to where the tensors were."""
    if not isinstance(node, cst.Call) or not loads.takes_place(function):
        return
    if loads.leaves_out_place(function, node):
        _note(frame, node, "load", loader=function)
    else:
        frame.unit.kept(Mentions).placing.add(function)


# They load what is published; `map_location` is their third parameter.
_URL_LOADS = ("torch.hub.load_state_dict_from_url", "torch.utils.model_zoo.load_url")


def _of_library(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> None:
    if not name.startswith("torch."):
        return
    if name == "torch.device":
        _of_torch_device(frame, node, arguments)
    elif name in ("torch.load", "torch.jit.load"):
        if arguments.get(1, "map_location") is None and not arguments.open:
            _note(frame, node, "load", mapped="mmap" in arguments.keywords)
        else:
            loads.of_mapped(frame, arguments.node(1, "map_location"))
            value, given = arguments.get(1, "map_location"), arguments.node(1, "map_location")
            if value is not None and given is not None:
                _of_device(frame, node, (value, given))
    elif name in _URL_LOADS:
        parameters = frame.function.parameters if frame.function is not None else ()
        asked = any(each.name == "map_location" for each in parameters)
        if asked and arguments.get(2, "map_location") is None and not arguments.open:
            _note(frame, node, "load")  # what is published is on the host, if nobody asks
    elif name == "torch.set_default_tensor_type":
        _note(frame, node, "legacy-type")
    elif name == "torch.set_default_device":
        _of_device(frame, node, arguments.positional[0] if arguments.positional else None)
    elif holds("legacy-tensor-type", name) and type(node.func) is cst.Attribute:
        _of_constructor(frame, node, name, arguments)
    elif name.startswith("torch.cuda.") and name[11:] in _RAISING:
        given = arguments.node(0, "device")
        if name == "torch.cuda.device" and invalid_devices.asked_for_its_card(given) is not None:
            pass  # -1 for a tensor of the host, and nothing happens
        elif name == "torch.cuda.set_device" and _is_global_rank(arguments.get(0, "device")):
            _note(frame, node, "device", global_rank=True)
        else:
            _note(frame, node, "backend", bare=name == "torch.cuda.current_device")
            if name == "torch.cuda.Stream":
                availability_guards.of_stream(frame, node)
    elif "device" in arguments.keywords:
        _of_device(frame, node, arguments.keywords["device"])


def _of_cuda(frame: Frame, node: cst.Call, receiver: Value, arguments: Arguments) -> None:
    """`x.cuda()`, `x.cuda(0)`; what a variable holds somebody chose."""
    if type(receiver) is Super or (
        type(receiver) is Instance and receiver.info is not None and receiver.info.method("cuda")
    ):
        return
    given = arguments.get(0, "device")
    if given is None:
        if not arguments.open:
            _note(frame, node, "device", bare=True, returns=_came_down(receiver))
        return
    if _is_global_rank(given):
        _note(frame, node, "device", global_rank=True)
    elif isinstance(arguments.node(0, "device"), (cst.Integer, cst.SimpleString)):
        _note(frame, node, "device", _index(given))
    elif isinstance(arguments.node(0, "device"), cst.Attribute) and _is_given(given):
        _note(frame, node, "device")  # `x.cuda(y.device)` refuses the host


def _is_given(device: Value) -> bool:
    """The device is an input's, or the module's: whatever the caller has chosen."""
    place = device.place if type(device) is DeviceValue else None
    return type(place) is Variable and place.kind in (VariableKind.INPUT, VariableKind.MODULE)


def _came_down(value: Value) -> bool:
    """The value was brought to the host from where an input or a module is."""
    if type(value) is not Tensor or value.origin is None or value.place != CPU:
        return False
    for step in value.origin.chain():
        if step.kind is StepKind.MOVED:
            before = step.before
            return type(before) is Variable and before.kind in (
                VariableKind.INPUT,
                VariableKind.MODULE,
            )
    return False


def _of_to(frame: Frame, node: cst.Call, arguments: Arguments) -> None:
    pair = arguments.keywords.get("device")
    if pair is None and arguments.positional:
        pair = arguments.positional[0]
    _of_device(frame, node, pair)


def _of_device(frame: Frame, node: cst.Call, pair: tuple[Value, cst.CSTNode] | None) -> None:
    """A device argument that is a literal: `"cuda"`, `"cuda:0"`."""
    if pair is None:
        return
    value, given = pair
    if _is_global_rank(value):
        _note(frame, node, "device", global_rank=True)
        return
    if isinstance(given, cst.SimpleString) and type(value) is Const:
        place = place_of(frame, value)
        if type(place) is Device and place.type == "cuda":
            _note(frame, node, "device", place.index, bare=place.index is None)


def _of_torch_device(frame: Frame, node: cst.Call, arguments: Arguments) -> None:
    if not arguments.positional or not isinstance(arguments.positional[0][1], cst.SimpleString):
        return
    place = place_of(frame, arguments.positional[0][0])
    if type(place) is not Device or place.type != "cuda":
        return
    index = arguments.get(1, "index")
    if index is None:
        _note(frame, node, "device", place.index, bare=place.index is None)
    elif _is_global_rank(index):
        _note(frame, node, "device", global_rank=True)
    elif isinstance(arguments.node(1, "index"), cst.Integer):
        _note(frame, node, "device", _index(index))


def _of_type(frame: Frame, node: cst.Call, receiver: Value, arguments: Arguments) -> None:
    """`x.type(torch.FloatTensor)`: a dtype and a device in one."""
    value, given = arguments.get(0, "dtype"), arguments.node(0, "dtype")
    if value is None:
        return
    subject = receiver if type(receiver) is Tensor else None
    name = value.name if type(value) is External else _text(value)
    if holds("legacy-tensor-type", name):
        frame.unit.kept(Mentions).converts = True
        _note(frame, node, "legacy-type", moves=_moves(subject, name), subject=subject)
    elif subject is not None and _is_type_of(given):
        assert isinstance(given, cst.Call) and isinstance(given.func, cst.Attribute)
        other = frame.eval(given.func.value)
        place = mended_place(subject)
        moves = type(other) is Tensor and None not in (other.place, place) and place != other.place
        _note(frame, node, "legacy-type", moves=moves, subject=subject)


def _is_type_of(node: cst.CSTNode | None) -> bool:
    """`y.type()` as the argument of `x.type`."""
    return (
        isinstance(node, cst.Call)
        and not node.args
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value == "type"
    )


def _moves(subject: Tensor | None, name: str) -> bool:
    """The type takes the tensor away from where it may be."""
    place = None if subject is None else mended_place(subject)
    to_cuda = name.startswith("torch.cuda.")
    if type(place) is Variable:
        return place.kind is not VariableKind.FLEXIBLE
    return isinstance(place, Device) and place.is_accelerator is not to_cuda


def _of_constructor(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> None:
    """`torch.LongTensor([…], device=d)` refuses every device but its own."""
    device = arguments.keywords.get("device")
    refused = False
    if device is not None and ".cuda." not in name:
        refused = not frame.unit.feeds_host and _may_be_accelerator(place_of(frame, device[0]))
    if refused or name != "torch.Tensor":
        _note(frame, node, "legacy-type", refused=refused)


def _may_be_accelerator(place: Placement) -> bool:
    if type(place) is Variable:
        return place.rigid
    return type(place) is Device and place.is_accelerator


def of_type_name(frame: Frame, node: cst.Attribute, value: Value) -> None:
    """`torch.cuda.FloatTensor` as a value: a type that is kept for later."""
    name = value.name if type(value) is External else ""
    if name.startswith("torch.cuda.") and holds("legacy-tensor-type", name):
        _note(frame, node, "legacy-type")


def of_comparison(frame: Frame, node: cst.Comparison) -> None:
    """`x.device == torch.device("cuda")` asks, it demands nothing."""
    notes = frame.unit.kept(Mentions).notes
    if notes:
        for operand in (node.left, *(target.comparator for target in node.comparisons)):
            notes.pop(operand, None)
            if isinstance(operand, cst.Attribute):
                notes.pop(operand.value, None)


def _is_current_card(node: cst.BaseExpression) -> str:
    """What takes the current card: "device" for `"cuda"` and `torch.device("cuda")`, "legacy-type"
    for `torch.cuda.FloatTensor`; else ""."""
    text = code(node).replace("'", '"')
    if text in ('"cuda"', 'torch.device("cuda")'):
        return "device"
    return "legacy-type" if holds("legacy-tensor-type", text) and ".cuda." in text else ""


def _of_follower(frame: Frame, node: cst.IfExp) -> None:
    """`torch.device("cuda") if x.is_cuda else torch.device("cpu")`: where `x` is, on one card."""
    test = node.test
    if not isinstance(test, cst.Attribute) or test.attr.value != "is_cuda" or not dotted(test):
        return
    kind = _is_current_card(node.body)
    if kind and not _is_current_card(node.orelse):
        frame.unit.kept(Mentions).notes.pop(node.body, None)
        _note(frame, node, kind, bare=True, follows=dotted(test.value))


def of_choice(frame: Frame, node: cst.IfExp, chosen: Value) -> None:
    """`rank if torch.cuda.is_available() else "cpu"`: the number is a card's."""
    _of_follower(frame, node)
    other = node.orelse.evaluated_value if isinstance(node.orelse, cst.SimpleString) else None
    if chosen is GLOBAL_RANK and other == "cpu":
        _note(frame, node, "device", global_rank=True)


def of_name(frame: Frame, node: cst.FormattedString, index: Value) -> None:
    """`f"cuda:{rank}"`."""
    if len(node.parts) == 2 and _is_global_rank(index):
        _note(frame, node, "device", global_rank=True)


def of_default(frame: Frame, node: cst.BaseExpression) -> None:
    """A parameter's default is configuration."""
    frame.unit.kept(Mentions).notes.pop(node, None)


def _of_option(mentions: Mentions, name: str, callee: Value, arguments: Arguments) -> None:
    """So is an option's: `options.get("device", torch.device("cuda"))`."""
    place = 1 if name in ("get", "pop", "setdefault") else -1
    if type(callee) is External and callee.name == "builtins.getattr":
        place = 2
    given = arguments.node(place, "default")
    if isinstance(given, cst.Call) and dotted(given.func).endswith("device"):
        mentions.notes.pop(given, None)


def _note(
    frame: Frame,
    node: cst.CSTNode,
    kind: str,
    index: int | None = None,
    *,
    bare: bool = False,
    moves: bool = False,
    refused: bool = False,
    global_rank: bool = False,
    returns: bool = False,
    mapped: bool = False,
    subject: Tensor | None = None,
    loader: Function | None = None,
    follows: str = "",
) -> None:
    mentions = frame.unit.kept(Mentions)
    if isinstance(node, cst.Call):
        for argument in node.args:  # `.to(torch.device("cuda"))`: one mention
            inner = mentions.notes.pop(argument.value, None)
            if inner is not None and inner.kind != kind and kind != "legacy-type":
                mentions.notes[argument.value] = inner
    around = frame.control
    guarded = around.guarded or around.caught or availability_guards.is_asked(frame, node)
    guarded = guarded or (around.retold and kind != "load")  # it says itself what is missing
    mentions.notes[node] = MentionNote(
        node,
        kind,
        shorten(node),
        index,
        guarded,
        frame.function,
        frame.in_module,
        bare,
        moves,
        refused,
        global_rank,
        returns,
        mapped,
        subject,
        loader=loader,
        follows=follows,
    )


def _text(value: Value) -> str:
    return value.value if type(value) is Const and isinstance(value.value, str) else ""


def _index(value: Value) -> int | None:
    if type(value) is Const and type(value.value) is int:
        return value.value
    text = _text(value).rpartition(":")[2]
    return int(text) if text.isdigit() else None


def _is_global_rank(value: Value | None) -> bool:
    """The number of a card is the rank among all processes, on one way to here at least."""
    if value is None:
        return False
    found = alternatives(value)
    if GLOBAL_RANK not in found:
        return False
    return all(type(v) is Const or (type(v) is Host and not v.array) for v in found)


def settle(unit: Unit) -> None:
    """Turn the file's notes into facts."""
    mentions = unit.kept(Mentions)
    if mentions.notes:
        text = unit.source.text
        is_script = mentions.is_script
        serves_host = holds("host-serving-text", text)
        group = holds("group-joining-text", text) and ("gloo" not in text or "nccl" in text)
        sets_device = holds("current-device-text", text)
        for note in mentions.notes.values():
            if note.loader is not None and not loads.is_loader(note.loader):
                continue
            in_main = note.function is None or is_script
            per_rank = note.kind == "device" and (
                (group and _runs_per_rank(note, is_script))
                # what goes through a process group is there once per rank
                or (note.index is not None and not note.guarded and _communicates(note.function))
            )
            per_rank = per_rank and not _has_own_cards(note.function)
            per_rank = per_rank and not _is_alone(note.function)
            meant = mentions.meant or named_for_accelerators(note.function)
            guarded = (
                note.guarded or meant or availability_guards.is_met(unit, note.function, note.node)
            )
            guarded = guarded or _has_reason(unit, note)
            if per_rank and not note.global_rank:
                of_one = _under_rank_test(note)
                own_card = note.bare or of_one  # the current one; or the first, for the first rank
                guarded = guarded or (sets_device and own_card)
                per_rank = not of_one and not (note.bare and sets_device)
            elif note.kind == "backend" and (
                group or availability_guards.is_for_nccl(unit, note.function, note.node)
            ):
                guarded = True
            elif note.kind == "load" and group and _runs_per_rank(note, is_script):
                # every rank puts its copy on the card that was saved from, however many there are
                guarded = _under_rank_test(note)
            elif note.global_rank:
                guarded = meant
            elif note.bare and _communicates(note.function):
                guarded = True
            if note.function is not None and is_script and not guarded:
                unused = left_over(note.function)  # a library's are for others
                if unused:
                    unit.facts.left_over[note.function.node] = unused
            on_purpose = "" if guarded else cuda_on_purpose.reason(unit, note)
            at_hand = "" if guarded else cuda_on_purpose.device_at_hand(unit, note)
            unit.facts.mentions.append(
                Mention(
                    site=Site(unit.source, note.node),
                    kind=note.kind,
                    text=note.text,
                    index=note.index,
                    guarded=guarded,
                    in_main=in_main,
                    per_rank=per_rank or note.global_rank,
                    serves_host=_offers_host(note, mentions)
                    if note.kind == "backend"
                    else serves_host or _is_asked_elsewhere(note, mentions),
                    near_input=note.in_module or _has_tensor(note.function),
                    weights=note.kind == "load" and loads.holds_weights(unit, note),
                    moves=note.moves
                    and not note.joins_host
                    and (note.subject is None or note.subject.is_sure),
                    refused=note.refused,
                    global_rank=note.global_rank,
                    returns=note.returns and note.guarded and not (meant or in_main),
                    on_purpose=on_purpose,
                    at_hand=at_hand,
                    strays=cuda_on_purpose.strays(note, on_purpose, at_hand),
                    stays_on_first=per_rank and note.bare and _knows_its_card(unit, note),
                    follows=note.follows,
                )
            )
    unit.kept(Workers).settle(unit)


def _is_asked_elsewhere(note: MentionNote, mentions: Mentions) -> bool:
    """The same class moves something else only where a condition asks for the card: where that does
    not hold, this move fails."""
    info = note.function.info if note.function is not None else None
    return info is not None and any(
        other.kind == "device"
        and other.guarded
        and other.function is not None
        and other.function.info is info
        for other in mentions.notes.values()
    )


def _has_reason(unit: Unit, note: MentionNote) -> bool:
    """What is around it says why it is for an accelerator, or asks by way of a flag."""
    if note.kind not in ("device", "backend"):
        return False
    at = (unit, note.function, note.node)
    if device_awareness.is_asked_by_flag(*at):
        return True
    if note.kind == "device":
        return device_awareness.is_beside_host(*at) or device_awareness.is_measured(*at)
    with_tensors = unit.kept(Mentions).with_devices
    return note.function in with_tensors and device_awareness.is_measured(*at)


def _offers_host(note: MentionNote, mentions: Mentions) -> bool:
    """The code around a backend's call is given its device, or the call its object's, which its
    constructor is given; or its file offers the host; and it has not taken CUDA's itself."""
    around = functions(note.function)
    if _asks_about_object(note, around):
        around += [f.info.methods["__init__"] for f in around if f.info is not None]
    if _asks_about_card(note) or any(
        holds("cuda-device-text", function.text) for function in around
    ):
        return False
    given = (name for function in around for name in cuda_on_purpose.parameters_of(function))
    if any(holds("device-name", each) for each in given):
        return True
    if note.node in mentions.unit.kept(Demands).classes.values():
        return False  # an object with a stream is for CUDA
    return holds("host-offering-text", mentions.text)


def _asks_about_object(note: MentionNote, around: list[Function]) -> bool:
    """`torch.cuda.reset_peak_memory_stats(self.device)`, of an object with a constructor."""
    made = all(f.info is None or "__init__" in f.info.methods for f in around)
    given = note.node.args if isinstance(note.node, cst.Call) else ()
    own = (dotted(argument.value).rpartition(".") for argument in given)
    return made and any(owner == "self" and holds("device-name", name) for owner, _, name in own)


def _asks_about_card(note: MentionNote) -> bool:
    """What a card can do is asked, inside a function, where it is known to be one of CUDA's."""
    return note.function is not None and "get_device_capability" in note.text


def _has_own_cards(function: Function | None) -> bool:
    """A worker that is given its cards: `@ray.remote(num_gpus=1)`. It sees no other ones."""
    for inner in functions(function) if function is not None else ():
        owners = [inner.node, *([inner.info.node] if inner.info is not None else [])]
        for decorator in (d for owner in owners for d in getattr(owner, "decorators", ())):
            if "num_gpus" in code(decorator):
                return True
    return False


def _is_alone(function: Function | None) -> bool:
    """The function says that its process group has one process, or the set-up of its tests does."""
    around = functions(function)
    for inner in tuple(around):
        if inner.info is not None:
            methods = (inner.info.method(name) for name in _SETS_UP_TESTS)
            around += [method for method in methods if method is not None]
    return any(
        isinstance(each.node, cst.FunctionDef) and holds("one-process-text", each.text)
        for each in around
    )


def _runs_per_rank(note: MentionNote, is_script: bool) -> bool:
    """The function joins a process group itself, is handed its rank, or belongs to a script that
    joins one."""
    if note.function is None:
        return is_script
    for function in functions(note.function):
        params = function.node.params
        if any(holds("rank-name", p.name.value) for p in (*params.params, *params.kwonly_params)):
            return True
        if not holds("group-joining-text", function.unit.source.text):
            continue
        if isinstance(function.node, cst.FunctionDef) and holds(
            "group-joining-text", function.text
        ):
            return True
    return is_script


def _knows_its_card(unit: Unit, note: MentionNote) -> bool:
    """The code that joins the process group names the card of its rank, for the model's wrapper or
    from the environment, and makes it the current one nowhere."""
    text = unit.source.text
    if holds("current-device-text", text) or not holds("own-card-text", text):
        return False
    joins = [f for f in functions(note.function) if holds("group-joining-text", f.text)]
    return bool(joins) or (note.function is None and holds("group-joining-text", text))


def _communicates(function: Function | None) -> bool:
    """The function sends tensors through a process group, as only NCCL needs them on a card."""
    return (
        function is not None
        and holds("collective-text", function.unit.source.text)
        and any(
            isinstance(inner.node, cst.FunctionDef) and holds("collective-text", inner.text)
            for inner in functions(function)
        )
    )


def _under_rank_test(note: MentionNote) -> bool:
    """`if rank == 0:` around it, or around all calls of its function: one rank only."""
    function = note.function
    if function is None:
        return False
    ranks = function.unit.kept(_UnderRankTests)
    if note.node in ranks.nodes_of(function):
        return True
    return ranks.all_calls_of(function)


class _UnderRankTests:
    """What stands under a test of the rank in one file, by function."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._nodes: dict[Function, set[cst.CSTNode]] = {}
        self._all_calls: dict[Function, bool] = {}
        # By the last name of what is called: each function that does, and whether all calls there
        # stand under such a test.
        self._callers: dict[str, dict[Function, bool]] | None = None

    def nodes_of(self, function: Function) -> set[cst.CSTNode]:
        """All nodes of a function that do."""
        if function not in self._nodes:
            found = _under(function.node)
            self._nodes[function] = {node for node, under in found if under}
        return self._nodes[function]

    def all_calls_of(self, function: Function) -> bool:
        """A function is called in its file, and each time under a test."""
        known = self._all_calls.get(function)
        if known is None:
            found = [
                under
                for caller, under in self._calls_of(function.name).items()
                if caller is not function and f"{function.name}(" in caller.text
            ]
            known = self._all_calls[function] = bool(found) and all(found)
        return known

    def _calls_of(self, name: str) -> Mapping[Function, bool]:
        if self._callers is None:
            self._callers = {}
            for function in functions_of(self.unit):
                for node, under in _under(function.node):
                    callee = dotted(node.func) if isinstance(node, cst.Call) else ""
                    if callee:
                        callers = self._callers.setdefault(callee.rpartition(".")[2], {})
                        callers[function] = callers.get(function, True) and under
        return self._callers.get(name, {})


def _under(node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, bool]]:
    """All nodes in a node: for each, whether a test of the rank is around it."""
    waiting = [(node, False)]
    while waiting:
        node, under = waiting.pop()
        yield node, under
        tests = isinstance(node, (cst.If, cst.IfExp)) and holds("rank-condition", words(node.test))
        waiting += [(part, under or tests) for part in parts(node)]


def _has_tensor(function: Function | None) -> bool:
    """A parameter is a tensor, or a module: there is a device to go by."""
    for inner in functions(function):
        for parameter in inner.summary.parameters if inner.summary is not None else ():
            for value in alternatives(parameter.value):
                if (type(value) is Tensor and value.is_sure) or (
                    type(value) is Instance and value.module
                ):
                    return True
    return False
