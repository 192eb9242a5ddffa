"""Functions whose effect a table can't say: devices, constructors, wrappers, Python's builtins."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from devlint.inference.domain.containers import Loader, Mapping, NamedTuple, Sequence
from devlint.inference.domain.host import (
    FALSE,
    GLOBAL_RANK,
    HOST,
    NONE,
    RANK_VARIABLES,
    TRUE,
    Const,
    DeviceValue,
    External,
    Host,
)
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import CPU, CUDA, Device, Placement, Variable
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import (
    COLLATED,
    DEFAULT,
    EMPTY,
    GRAD,
    LOADED,
    MAYBE_SCALAR,
    NON_LEAF,
    PAGEABLE,
    PARAMETER,
    PINNED,
    RECORDED,
    SCALAR,
    VECTOR,
    Tensor,
)
from devlint.inference.domain.value import (
    PLACED,
    UNKNOWN,
    Unknown,
    Value,
    alternatives,
    is_untold,
    union,
)
from devlint.inference.facts import MeetingKind
from devlint.inference.models import contracts, devices, module_places
from devlint.inference.models.attribute_tests import has_attribute
from devlint.inference.models.devices import (
    LEGACY_TYPES,
    config_device,
    named_device,
    parse_device,
    place_of,
)
from devlint.inference.models.elements import COLUMNS, batch
from devlint.inference.models.libraries import made, operands_of
from devlint.inference.models.module_inputs import feed
from devlint.inference.models.moves import chosen
from devlint.inference.models.places import on_accelerator
from devlint.inference.models.unification import meet, tensors_in
from devlint.inference.program.events import (
    DeviceRevealed,
    HostWaits,
    NonLeafUsed,
    NumberTaken,
    TensorMade,
)
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.traffic import HostCopies, HostReads
from devlint.inference.program.values import (
    FunctionValue,
    Generator,
    Instance,
    Optimizer,
    Parameters,
    Partial,
    Super,
)
from devlint.inference.syntax.text import shorten
from devlint.knowledge import Call, ClassInfo, Result

# What applies the callables that it is made of one after the other.
CHAINS = frozenset(
    f"torchvision.transforms.{module}Compose" for module in ("", "transforms.", "v2.")
)


LOADERS = frozenset({"torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"})


def construct(
    frame: Frame, node: cst.Call, name: str, kind: ClassInfo, arguments: Arguments
) -> Value:
    """An object of a library's class, made by its constructor."""
    if LOADERS.intersection(frame.unit.context.knowledge.lineage(name)):
        return FUNCTIONS["torch.utils.data.DataLoader"](frame, node, arguments)

    operands = operands_of(Call(params=kind.params, tensors=kind.tensors), arguments)
    result = kind.result
    if result is Result.OPERANDS and not kind.tensors:
        result = Result.UNKNOWN
    instance = made(frame, node, name, result, operands, arguments)
    if name in CHAINS:
        links = arguments.get(0, "transforms")
        instance.items = links if type(links) is Sequence and links.items is not None else None
    return instance


Handler = Callable[[Frame, cst.Call, Arguments], Value]


def _device(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    first = arguments.get(0, "type")
    if first is None:
        first = arguments.get(0, "device")
    if first is None:
        return DeviceValue(None)
    index = arguments.get(1, "index")
    place = place_of(frame, first)
    if place is None:
        given = arguments.node(0, "type")
        place = chosen(frame, given) or _chosen_somewhere(frame, node, first)
    if type(place) is Device and type(index) is Const and isinstance(index.value, int):
        place = Device(place.type, index.value)
    elif type(place) is Device and type(index) is Tensor and index.evidence is not None:
        index.evidence.effects.as_index = True
        return DeviceValue(index.place, sure=True)  # a parameter: the caller chooses the index
    elif type(place) is Device and index is not None and type(index) is not Const:
        place = named_device(frame, shorten(node)).place  # one of several cards
    return DeviceValue(place, sure=True)


def _chosen_somewhere(frame: Frame, node: cst.Call, name: Value) -> Placement:
    """`torch.device(config["device"])`, `torch.device(preferred())`: the device that somebody chose
    out of sight, and no certain one."""
    if type(name) is Tensor and name.evidence is not None and not name.evidence.is_tensor:
        return config_device(frame, name)
    if type(name) in (Unknown, Host, External):
        return named_device(frame, shorten(node)).place
    return None


def _context(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    return devices.CONTEXT


def _reveal(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`reveal_device(value)` returns the value."""
    for value, argument in arguments.all()[:1]:
        frame.emit(DeviceRevealed(node, value, argument))
        return value
    return UNKNOWN


def _true(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    return TRUE


def _false(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    return FALSE


def _cuda_device(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    return DeviceValue(CUDA)


def _default_device(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    return DeviceValue(frame.default_device)


def _set_default_device(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    value = arguments.get(0, "device")
    if value is not None:
        frame.unit.default_device = frame.outcome.left_default = place_of(frame, value)
    return NONE


def _set_default_type(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    value = arguments.get(0, "t")
    name = value.name if type(value) is External else (value.value if type(value) is Const else "")
    if isinstance(name, str) and name.startswith("torch."):
        place = CUDA if name.startswith("torch.cuda.") else CPU
        frame.unit.default_device = frame.outcome.left_default = place
    return NONE


def _rank(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """The rank among all processes; within a group it may be the one on this node."""
    return HOST if arguments.positional or arguments.keywords else GLOBAL_RANK


def _variable(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`os.environ.get("RANK")`."""
    name = arguments.get(0, "key")
    is_rank = type(name) is Const and name.value in RANK_VARIABLES
    return GLOBAL_RANK if is_rank else UNKNOWN


def _synchronize(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    frame.kept(HostCopies).landing.clear()
    return NONE


def _generator(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    value = arguments.get(0, "device")
    place: Placement = CPU if value is None else place_of(frame, value)
    return Generator(place, frame.origin(StepKind.CREATED, node))


def _parameter(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    value = arguments.get(0, "data")
    wanted = arguments.get(1, "requires_grad")
    asked = wanted is None or (type(wanted) is Const and wanted.value is True)
    recorded = RECORDED if asked else 0
    for tensor in alternatives(value if value is not None else UNKNOWN):
        if type(tensor) is Tensor:
            origin = Provenance(StepKind.CREATED, node, frame.unit.source, None)
            traits = (tensor.traits & ~NON_LEAF) | PARAMETER | GRAD | recorded
            return Tensor(tensor.place, origin, traits, None)
    place = frame.default_device
    traits = PARAMETER | GRAD | recorded
    if value is None or type(value) is not Tensor:
        traits |= DEFAULT
    return Tensor(place, frame.origin(StepKind.CREATED, node), traits)


def _uninitialized(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """A parameter whose shape the first input decides: like any other, it moves with its module."""
    device = arguments.get(1, "device")
    place = frame.default_device if device is None else place_of(frame, device)
    traits = PARAMETER | GRAD | (DEFAULT if device is None else 0)
    return Tensor(place, frame.origin(StepKind.CREATED, node), traits)


def _buffer(make: Handler) -> Handler:
    """`nn.Buffer(t)`: registered by its assignment, as a parameter is, but it needs no gradient."""

    def handle(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
        made = make(frame, node, arguments)
        return made.with_place(made.place, made.origin, GRAD) if type(made) is Tensor else made

    return handle


def _load(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`torch.load`: where `map_location` says, else where it was saved from."""
    value = arguments.get(1, "map_location")
    place = place_of(frame, value) if value is not None else None
    origin = frame.origin(StepKind.LOADED, node, None, "loaded here")
    return Tensor(place, origin, LOADED if place == CPU else 0, Evidence())


def _typed(place: Placement, general: bool = False) -> Handler:
    """`torch.FloatTensor(…)`, `torch.cuda.FloatTensor(…)`; and, of the default type whatever that
    is, `torch.Tensor(…)`."""

    def make(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
        first = arguments.positional[0][0] if arguments.positional else None
        if type(first) is Sequence:
            for tensor in tensors_in(first)[:1]:
                if tensor.is_sure:
                    data = arguments.positional[0][1]
                    frame.emit(HostWaits(node, f"{shorten(node.func)} of tensors", tensor, data))
        device = arguments.keywords.get("device")
        if device is not None:
            return Tensor(place_of(frame, device[0]), frame.origin(StepKind.CREATED, node))
        if type(first) is Tensor and first.is_sure:  # the very tensor: its `alias`
            if place == CPU and not general:  # refuses one of another device
                frame.kept(HostReads).unshown.add(first.place)
            origin = Provenance(StepKind.COMPUTED, node, frame.unit.source, first.origin)
            return Tensor(first.place, origin, first.traits)
        origin = frame.origin(StepKind.CREATED, node)
        follows = place == CPU and (general or frame.unit.default_device is not None)
        follows = follows and not frame.unit.sets_default_device
        where = frame.unit.default_place if follows else place
        default = DEFAULT if where == CPU else 0
        if first is None and not arguments.open:
            default |= EMPTY
        sizes = first.sizes if type(first) is Host else None
        traits = default | (EMPTY if _has_no_elements(first, arguments) else 0)
        made = Tensor(where, origin, traits, None, sizes)
        frame.emit(TensorMade(node, made))
        return made

    return make


def _has_no_elements(first: Value | None, arguments: Arguments) -> bool:
    """`torch.Tensor()`, `torch.Tensor([])`, `torch.Tensor(0)`: a placeholder."""
    if first is None:
        return not arguments.keywords
    if type(first) is Sequence:
        return first.items == []
    return type(first) is Const and first.value == 0 and len(arguments.positional) == 1


def _shape_as_tensor(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """A host tensor, for the tracer; its parts are 0-dim."""
    return Tensor(CPU, frame.origin(StepKind.CREATED, node), VECTOR)


def _reshape(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`reshape_from_tensor_shape(x, shape)`: the shape's numbers are read on the host."""
    value = arguments.get(0, "x")
    if type(value) is not Tensor:
        return UNKNOWN
    origin = Provenance(StepKind.COMPUTED, node, frame.unit.source, value.origin)
    return Tensor(value.place, origin, value.traits & ~(SCALAR | VECTOR), value.evidence)


def _nested(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`torch.nested.nested_tensor(list)`: on `device=`, else where the list's first tensor is."""
    device = arguments.keywords.get("device")
    if device is not None:
        return Tensor(place_of(frame, device[0]), frame.origin(StepKind.CREATED, node))
    for value, _ in arguments.positional[:1]:
        for tensor in tensors_in(value)[:1]:
            origin = Provenance(StepKind.COMPUTED, node, frame.unit.source, tensor.origin)
            return Tensor(tensor.place, origin)
    return UNKNOWN


def _is_tensor(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    return HOST


def _copied(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`copy.deepcopy(x)`: another object, where the first one is now."""
    return union(_copy(frame, v) for v in alternatives(_same(frame, node, arguments)))


def _copy(frame: Frame, value: Value) -> Value:
    if type(value) is Mapping:
        return Mapping(dict(value.entries), value.element)
    if type(value) is Instance:
        place, origin = module_places.placed(frame, value)
        copied = module_places.replaced(value, place, origin, None)
        copied.fields = Mapping(dict(frame.fields_of(value).entries))
        copied.tensor = value.tensor
        return copied
    return value


def _replaced(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`dataclasses.replace(batch, images=images)`: another object, with some fields of its own."""
    copied = _copied(frame, node, arguments)
    if type(copied) is not Instance or arguments.open:
        return UNKNOWN
    copied.given = None
    copied.fields.entries.update({name: v for name, (v, _) in arguments.keywords.items()})
    return copied


def _traced(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`torch.jit.trace(net, x)`: it calls the module, and returns it, wrapped."""
    feed(frame, node, frame.unit.context.knowledge.functions["torch.jit.trace"], arguments)
    return _same(frame, node, arguments)


def _same(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """A wrapper that gives back what it wraps, as far as devices go: `torch.compile(m)`."""
    return arguments.positional[0][0] if arguments.positional else UNKNOWN


def _parallel(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`DataParallel(m)`, `DistributedDataParallel(m)`: the module, seen through a wrapper."""
    value = arguments.get(0, "module") or UNKNOWN
    wrapped = [module for each in alternatives(value) if (module := _as_module(each)) is not None]
    return union(map(module_places.in_parallel, wrapped))


def _as_module(value: Value) -> Instance | None:
    """What a wrapper of modules is given is one, if its class is out of sight; `net = None` of
    before is not what is wrapped."""
    if type(value) is Instance:
        return value
    if type(value) is Tensor:
        return Instance(None, "", True, value.place, value.origin)
    return Instance(None, "", True, None) if is_untold(value) else None


def _contract(name: str) -> Handler:
    """`On("cuda")`, `SameDevice("x")`."""

    def make(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
        return contracts.make(frame, node, name, [value for value, _ in arguments.all()])

    return make


def _tensor_dataset(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`TensorDataset(x, y)`: rows of each, where it is."""
    name = "torch.utils.data.TensorDataset"
    kind = frame.unit.context.knowledge.class_(name)
    assert kind is not None
    made = construct(frame, node, name, kind, arguments)
    if type(made) is Instance and not arguments.open:
        rows = Sequence([v for v, _ in arguments.positional], None, "tuple")
        made.fields.entries["tensors"] = rows
    return made


def _loader(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """DataLoaders yield host tensors, pinned with `pin_memory=True`."""
    elsewhere = _made_on_accelerator(frame, node, arguments)
    if elsewhere is not None:
        return Loader(elsewhere)
    columns = _moved_columns(frame, node, arguments)
    if columns is not None:
        return Loader(columns)
    pinned = arguments.keywords.get("pin_memory")
    held = pinned[0] if pinned is not None else None
    yielded = batch(frame, node)
    if type(held) is Const and held.value is True:
        yielded.traits |= PINNED
    elif type(held) is Const or (held is None and not arguments.open):
        yielded.traits |= PAGEABLE
    if _is_collated(arguments):
        yielded.traits |= COLLATED
    return Loader(yielded)


def _is_collated(arguments: Arguments) -> bool:
    """The loader has its own `collate_fn`, and what that makes of the rows is not in sight: a batch
    of graphs, a dict, a list of pictures."""
    collate = arguments.get(6, "collate_fn")
    if collate is None or collate is NONE:
        return False
    if type(collate) is not FunctionValue:
        return True
    summary = collate.function.unit.context.interpreter.summarize(collate.function)
    made = summary.result if summary is not None else UNKNOWN
    parts = made.items if type(made) is Sequence and made.items is not None else [made]
    return not all(type(part) is Tensor and part.is_sure for part in parts)


def _made_on_accelerator(frame: Frame, node: cst.Call, arguments: Arguments) -> Tensor | None:
    """The batch of a dataset whose `__getitem__`, or of a `collate_fn` that, moves it itself."""

    dataset, collate = arguments.get(0, "dataset"), arguments.get(6, "collate_fn")
    makers = [collate.function] if type(collate) is FunctionValue else []
    if type(dataset) is Instance and dataset.info is not None:
        function = dataset.info.method("__getitem__")
        makers += [function] if function is not None else []
    if type(dataset) is Tensor and dataset.is_sure and type(dataset.place) is Variable:
        origin = Provenance(StepKind.LOADED, node, frame.unit.source, dataset.origin)
        return Tensor(dataset.place, origin)  # rows of one tensor are where it is
    for maker in makers:
        summary = maker.unit.context.interpreter.summarize(maker)
        found = tensors_in(summary.result) if summary is not None else []
        moved = [t for t in found if type(t.place) is Variable or on_accelerator(t) > 0]
        if moved:
            origin = Provenance(StepKind.LOADED, node, frame.unit.source, moved[0].origin)
            alike = all(t.place == moved[0].place for t in found)
            return Tensor(moved[0].place if alike else None, origin, 0, Evidence())
    return None


def _moved_columns(frame: Frame, node: cst.Call, arguments: Arguments) -> Sequence | None:
    """The batch of a `TensorDataset` some of whose tensors were moved before it got them."""
    dataset = arguments.get(0, "dataset")
    columns = dataset.fields.entries.get("tensors") if type(dataset) is Instance else None
    if type(columns) is not Sequence or not columns.items or "collate_fn" in arguments.keywords:
        return None
    if not any(_was_moved(column) for column in columns.items):
        return None
    return Sequence([_column(frame, node, column) for column in columns.items], None, "list")


def _was_moved(column: Value) -> bool:
    if type(column) is not Tensor:
        return column is PLACED
    moved = column.origin is not None and column.origin.kind is StepKind.MOVED
    return (moved and column.place != CPU) or on_accelerator(column) >= 1


def _column(frame: Frame, node: cst.Call, column: Value) -> Value:
    if not _was_moved(column):
        return batch(frame, node)
    if type(column) is not Tensor:
        return column
    return Tensor(column.place, Provenance(StepKind.LOADED, node, frame.unit.source, column.origin))


def _optimizer(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    value = arguments.get(0, "params")
    module = value.module if type(value) is Parameters else None
    for tensor in tensors_in(value if value is not None else UNKNOWN):
        if tensor.traits & NON_LEAF:
            frame.emit(NonLeafUsed(tensor, "optimizer", node))
    origin = frame.origin(StepKind.CREATED, node)
    return Optimizer(module, origin)


def _vector(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`parameters_to_vector(model.parameters())`: all of them, where they are."""
    value = arguments.get(0, "parameters")
    argument = arguments.node(0, "parameters")
    if value is None or argument is None:
        return UNKNOWN
    held = frame.interpreter.element_of(frame, value, argument)
    if type(held) is not Tensor:
        return UNKNOWN
    origin = frame.origin(StepKind.COMPUTED, node, held.origin)
    return Tensor(held.place, origin, held.traits & (GRAD | RECORDED | DEFAULT) | VECTOR)


def _partial(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    if not arguments.positional:
        return UNKNOWN
    callee = arguments.positional[0][0]
    rest = [v for v, _ in arguments.positional[1:]]
    keywords = {k: v for k, (v, _) in arguments.keywords.items()}
    if type(callee) is FunctionValue and callee.given is None:
        return FunctionValue(callee.function, callee.bound, (rest, keywords))
    return Partial(callee, rest, keywords)


def _cache(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`lru_cache(f)` and `lru_cache(maxsize=n)(f)`: a module in it is hidden from its parent."""
    callee = arguments.positional[0][0] if arguments.positional else None
    if type(callee) is Instance and callee.module:
        return Sequence([callee], None, "cache", node)
    if callee is None or type(callee) in (Const, Host):
        return External("functools.cache")
    return callee


def _mapping(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    entries = {k: v for k, (v, _) in arguments.keywords.items() if k != "**"}
    result = Mapping(dict(entries))
    for value, _ in arguments.positional:
        if type(value) is Mapping:
            result.entries.update(value.entries)
            result.element = value.element
        elif type(value) is Sequence:
            inner = value.any()
            if type(inner) is Sequence and inner.items is not None and len(inner.items) == 2:
                result.element = inner.items[1]
    return result


def _named_tuple(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`namedtuple("Name", "a b")`, `NamedTuple("Name", [("a", int), ("b", int)])`."""
    fields = arguments.get(1, "field_names")
    names: list[Value] = []
    if type(fields) is Const and isinstance(fields.value, str):
        return NamedTuple(tuple(fields.value.replace(",", " ").split()))
    if type(fields) is Sequence and fields.items is not None:
        for item in fields.items:
            names += item.items[:1] if type(item) is Sequence and item.items else [item]
    texts = [v.value for v in names if type(v) is Const and isinstance(v.value, str)]
    return NamedTuple(tuple(texts)) if texts and len(texts) == len(names) else UNKNOWN


def _super(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    current: Frame | None = frame
    while current is not None and current.instance is None:
        current = current.outer
    if current is not None and current.info is not None and current.instance is not None:
        return Super(current.info, current.instance)
    return UNKNOWN


def _getattr(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`getattr(x, "name")`; of a torch module with an unknown name it stays a torch function."""
    if len(arguments.positional) < 2:
        return UNKNOWN
    base, name = arguments.positional[0][0], arguments.positional[1][0]
    if type(base) is External and base.name == "torch" and type(node.args[1].value) is cst.Name:
        name = _default_of(frame, node.args[1].value.value, name)
    if type(name) is not Const or not isinstance(name.value, str):
        return UNKNOWN
    literal = isinstance(node.args[1].value, cst.SimpleString)
    if type(base) is External and parse_device(name.value) is not None and not literal:
        return UNKNOWN  # the backend of whatever accelerator there is

    attribute = (
        cst.Attribute(node.args[0].value, cst.Name(name.value))
        if (name.value.isidentifier())
        else None
    )
    if attribute is None:
        return UNKNOWN
    unseen = (type(base) is Tensor and not base.is_sure) or (
        type(base) is Instance and base.info is None
    )
    if unseen and len(arguments.positional) > 2:
        return UNKNOWN  # `getattr(batch, "masks", None)`: it may have none, and of any type
    return frame.interpreter.attribute_of(frame, attribute, base, name.value)


def _default_of(frame: Frame, name: str, value: Value) -> Value:
    """What a parameter is where nobody says another: `getattr(torch, window)(length)`."""
    default = frame.function.defaults.get(name) if frame.function is not None else None
    return default if type(default) is Const and type(value) is not Const else value


def _reads_number(call: str) -> Handler:
    def read(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
        for value, argument in arguments.positional[:1]:
            for tensor in alternatives(value):
                if type(tensor) is Tensor:
                    frame.emit(HostWaits(node, call, tensor, argument))
            if type(value) is Host and not value.array:
                return value  # an array has one element, or it raises
            if type(value) is Const and call == "int()" and type(value.value) is int:
                return value
        return HOST

    return read


def _print(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    for value, argument in arguments.positional:
        for tensor in alternatives(value):
            if type(tensor) is Tensor:
                frame.emit(HostWaits(node, "print()", tensor, argument))
    return NONE


def _str(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    for value, argument in arguments.positional[:1]:
        for tensor in alternatives(value):
            if type(tensor) is Tensor:
                frame.emit(HostWaits(node, "str()", tensor, argument))
    return HOST


def _len(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    value = arguments.positional[0][0] if arguments.positional else UNKNOWN
    return Host(value) if type(value) is Tensor else HOST


def _listed(kind: str) -> Handler:
    def make(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
        if not arguments.positional:
            return Sequence([], None, kind, node)
        value, argument = arguments.positional[0]
        if type(value) is Sequence:
            items = None if value.items is None else list(value.items)
            held = COLUMNS if value.kind == COLUMNS else kind
            return Sequence(items, value.element, held, node)
        if type(value) in (Parameters, Loader):
            return value
        if type(value) is Host and value.sizes is not None:
            return value
        return Sequence(None, frame.interpreter.element_of(frame, value, argument), kind, node)

    return make


def _zip(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    if arguments.open:
        return _columns(frame, node, arguments)
    parts = [frame.interpreter.element_of(frame, v, n) for v, n in arguments.positional]
    return Sequence(None, Sequence(parts, None, "tuple"), "iterator")


def _columns(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`zip(*rows)`: the first, the second and so on of every row."""
    given = node.args[0].value
    if len(node.args) != 1:
        return UNKNOWN
    if isinstance(given, cst.Name):
        rows = frame.eval(given)
        row = rows.element if type(rows) is Sequence else None
        mixed = type(rows) is Sequence and rows.mixed
    else:
        row, _ = arguments.positional[0]  # one that stands for all
        mixed = False
    if type(row) is not Sequence or row.items is None:
        return Sequence(None, Sequence(None, UNKNOWN, "tuple"), COLUMNS)  # however many
    columns: list[Value] = []
    for item in row.items:
        column = Sequence(None, item, "tuple")
        column.mixed = mixed
        columns.append(column)
    return Sequence(columns, None, COLUMNS)


def _drawn(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`random.sample(rows, count)`: some of the elements."""
    if not arguments.positional:
        return UNKNOWN
    value, argument = arguments.positional[0]
    return Sequence(None, frame.interpreter.element_of(frame, value, argument), "list", node)


def _one_drawn(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`random.choice(rows)`: one of the elements."""
    if not arguments.positional:
        return UNKNOWN
    value, argument = arguments.positional[0]
    return frame.interpreter.element_of(frame, value, argument)


def _enumerate(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    if not arguments.positional:
        return UNKNOWN
    value, argument = arguments.positional[0]
    inner = frame.interpreter.element_of(frame, value, argument)
    return Sequence(None, Sequence([HOST, inner], None, "tuple"), "iterator")


def _map(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:

    if len(arguments.positional) < 2:
        return UNKNOWN
    callee = arguments.positional[0][0]
    parts = [(frame.interpreter.element_of(frame, v, n), n) for v, n in arguments.positional[1:]]
    return Sequence(
        None, frame.interpreter.call(frame, node, callee, Arguments(parts, {})), "iterator"
    )


def _through(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`sorted(xs)`, `reversed(xs)`, `tqdm(loader)`: the same elements."""
    if not arguments.positional:
        return arguments.keywords["iterable"][0] if "iterable" in arguments.keywords else UNKNOWN
    value, argument = arguments.positional[0]
    if type(value) is Sequence:
        return Sequence(None, value.any(), "iterator")
    if type(value) in (Loader, Parameters, Host):
        return value
    inner = frame.interpreter.element_of(frame, value, argument)
    return Sequence(None, inner, "iterator")


def _next(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    if not arguments.positional:
        return UNKNOWN
    value, argument = arguments.positional[0]
    inner = _yielded(frame, value, argument)
    if len(arguments.positional) > 1:
        return union((inner, arguments.positional[1][0]))
    return inner


def _iter(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    if not arguments.positional:
        return UNKNOWN
    value, argument = arguments.positional[0]
    if type(value) in (Loader, Sequence, Parameters):
        return value
    return Sequence(None, _yielded(frame, value, argument), "iterator")


def _yielded(frame: Frame, value: Value, node: cst.CSTNode) -> Value:
    """What an iterator gives. One of unknown type makes it: only a loader is known to make it on
    the host."""
    inner = frame.interpreter.element_of(frame, value, node)
    if type(value) is Tensor and not value.is_sure:
        return inner if type(inner) is Tensor and inner.traits & LOADED else UNKNOWN
    return inner


def _sum(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    if not arguments.positional:
        return HOST
    value, argument = arguments.positional[0]
    inner = frame.interpreter.element_of(frame, value, argument)
    if any(type(v) is Tensor for v in alternatives(inner)):
        return meet(frame, node, "sum", [(inner, argument)], True, MeetingKind.OPERATION)
    return HOST


def _extreme(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """Python's `max` and `min` compare tensors one by one: a sync each."""
    if len(arguments.positional) == 1:
        value, argument = arguments.positional[0]
        inner = frame.interpreter.element_of(frame, value, argument)
        frame.emit(NumberTaken(node, shorten(node.func), inner, argument))
        return inner if type(inner) is Tensor else HOST
    found = [v for v, _ in arguments.positional if type(v) is Tensor]
    if not found:
        return HOST
    numbers = any(type(v) is Const or type(v) is Host for v, _ in arguments.positional)
    first = found[0]
    for value, argument in arguments.positional:
        frame.emit(NumberTaken(node, f"{shorten(node.func)}()", value, argument))
    if numbers and not first.is_sure:
        return HOST  # beside a number it is rather one, too
    return first.with_place(first.place, first.origin, add=MAYBE_SCALAR)


def _range(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    for value, argument in arguments.positional:
        if type(value) is Tensor:
            frame.emit(HostWaits(node, "range()", value, argument))
            if value.evidence is not None and not value.is_sure:
                value.evidence.mark_number()
    return Sequence(None, HOST, "iterator")


def _absolute(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    value = arguments.positional[0][0] if arguments.positional else UNKNOWN
    return value if type(value) is Tensor else HOST


def _every(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """Python's `any` and `all` ask a tensor's elements one by one."""
    for value, argument in arguments.positional[:1]:
        frame.emit(NumberTaken(node, f"{shorten(node.func)}()", value, argument))
    return HOST


def _host(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    return HOST


def _other_backend(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """The accelerated world has CUDA; in a file that never speaks of it, what it speaks of."""
    text = frame.unit.source.text
    return FALSE if "cuda" in text or "accelerator" in text else TRUE


_BUILTINS: dict[str, Handler] = {
    "len": _len,
    "int": _reads_number("int()"),
    "float": _reads_number("float()"),
    "bool": _reads_number("bool()"),
    "complex": _reads_number("complex()"),
    "round": _reads_number("round()"),
    "print": _print,
    "list": _listed("list"),
    "tuple": _listed("tuple"),
    "set": _listed("list"),
    "dict": _mapping,
    "zip": _zip,
    "enumerate": _enumerate,
    "map": _map,
    "sorted": _through,
    "reversed": _through,
    "filter": lambda f, n, a: _through(f, n, Arguments(a.positional[1:], a.keywords)),
    "next": _next,
    "iter": _iter,
    "sum": _sum,
    "max": _extreme,
    "min": _extreme,
    "range": _range,
    "abs": _absolute,
    "super": _super,
    "getattr": _getattr,
    "isinstance": _host,
    "hasattr": has_attribute,
    "callable": _host,
    "str": _str,
    "repr": _str,
    "id": _host,
    "hash": _host,
    "type": _host,
    "open": _host,
    "any": _every,
    "all": _every,
}


def call_builtin(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """One of Python's own functions."""
    handler = _BUILTINS.get(name)
    return UNKNOWN if handler is None else handler(frame, node, arguments)


FUNCTIONS: dict[str, Handler] = {
    "devlint.reveal_device": _reveal,
    "os.environ.get": _variable,
    "os.getenv": _variable,
    "torch.device": _device,
    "torch.cuda.is_available": _true,
    "torch.accelerator.is_available": _true,
    # The code is run, neither exported nor traced.
    "torch.onnx.is_in_onnx_export": _false,
    "torch.jit.is_scripting": _false,
    "torch.jit.is_tracing": _false,
    "torch.accelerator.current_accelerator": _cuda_device,
    "torch.cuda.current_device": _cuda_device,
    "torch.cuda.device": _context,
    "torch.backends.mps.is_available": _other_backend,
    "torch.backends.mps.is_built": _other_backend,
    "torch.mps.is_available": _other_backend,
    "torch.xpu.is_available": _other_backend,
    "torch.distributed.get_rank": _rank,
    "torch.get_default_device": _default_device,
    "torch.set_default_device": _set_default_device,
    "torch.set_default_tensor_type": _set_default_type,
    "torch.cuda.synchronize": _synchronize,
    "torch.accelerator.synchronize": _synchronize,
    "torch.Generator": _generator,
    "torch.nn.Parameter": _parameter,
    "torch.nn.parameter.Parameter": _parameter,
    "torch.nn.UninitializedParameter": _uninitialized,
    "torch.nn.parameter.UninitializedParameter": _uninitialized,
    "torch.nn.UninitializedBuffer": _buffer(_uninitialized),
    "torch.nn.parameter.UninitializedBuffer": _buffer(_uninitialized),
    "torch.nn.Buffer": _buffer(_parameter),
    "torch.nn.parameter.Buffer": _buffer(_parameter),
    "torch.load": _load,
    "torch.nn.utils.parameters_to_vector": _vector,
    "torch.nn.utils.convert_parameters.parameters_to_vector": _vector,
    "torch.is_tensor": _is_tensor,
    "devlint.contracts.On": _contract("On"),
    "devlint.contracts.SameDevice": _contract("SameDevice"),
    "torch._shape_as_tensor": _shape_as_tensor,
    "torch.onnx.operators.shape_as_tensor": _shape_as_tensor,
    "torch.onnx.operators.reshape_from_tensor_shape": _reshape,
    "torch.compile": _same,
    "torch.nested.nested_tensor": _nested,
    "torch.nested.as_nested_tensor": _nested,
    "torch.jit.script": _same,
    "torch.jit.trace": _traced,
    "torch.jit.freeze": _same,
    "torch.vmap": _same,
    "torch.func.vmap": _same,
    "functorch.vmap": _same,
    "random.sample": _drawn,
    "random.choices": _drawn,
    "random.choice": _one_drawn,
    "copy.deepcopy": _copied,
    "copy.copy": _copied,
    "dataclasses.replace": _replaced,
    "typing.cast": lambda f, n, a: a.positional[1][0] if len(a.positional) > 1 else UNKNOWN,
    "torch.nn.DataParallel": _parallel,
    "torch.nn.parallel.DataParallel": _parallel,
    "torch.nn.parallel.DistributedDataParallel": _parallel,
    "torch.utils.data.TensorDataset": _tensor_dataset,
    "torch.utils.data.dataset.TensorDataset": _tensor_dataset,
    "torch.utils.data.DataLoader": _loader,
    "torch.utils.data.dataloader.DataLoader": _loader,
    "functools.partial": _partial,
    "functools.lru_cache": _cache,
    "functools.cache": _cache,
    "collections.OrderedDict": _mapping,
    "collections.defaultdict": lambda f, n, a: Mapping(),
    "collections.deque": _listed("list"),
    "collections.namedtuple": _named_tuple,
    "typing.NamedTuple": _named_tuple,
    "tqdm.tqdm": _through,
    "tqdm.auto.tqdm": _through,
    "tqdm.trange": _range,
    "tqdm.notebook.tqdm": _through,
    "itertools.chain": _through,
    "itertools.islice": _through,
    "itertools.cycle": _through,
}


for _name in (*LEGACY_TYPES, ""):
    FUNCTIONS[f"torch.{_name}Tensor"] = _typed(CPU, general=not _name)
    FUNCTIONS[f"torch.cuda.{_name}Tensor"] = _typed(CUDA)


for _name in (
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "ASGD",
    "LBFGS",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
):
    FUNCTIONS[f"torch.optim.{_name}"] = _optimizer
