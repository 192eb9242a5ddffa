"""Calls of library functions and classes, by the tables of devlint.knowledge."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import ARRAY, HOST, NONE, Const, DeviceValue, External, Host
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import ALWAYS
from devlint.inference.domain.placement import CPU, CUDA, Placement
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import (
    DEFAULT,
    EMPTY,
    GRAD,
    INDIRECT,
    INHERITED,
    LITERAL,
    LOADED,
    MATRIX,
    MAYBE_SCALAR,
    PARAMETER,
    PINNED,
    RECORDED,
    SCALAR,
    SHAPED,
    VECTOR,
    Tensor,
)
from devlint.inference.domain.value import (
    UNKNOWN,
    Union,
    Value,
    alternatives,
    cases,
    choose,
    under,
    union,
)
from devlint.inference.facts import MeetingKind
from devlint.inference.models import generators
from devlint.inference.models.devices import known_among, place_of
from devlint.inference.models.held_tensors import tensors_in
from devlint.inference.models.module_inputs import feed
from devlint.inference.models.module_places import carry, placed, stateful
from devlint.inference.models.moves.targets import chosen
from devlint.inference.models.sizes import show_numbers
from devlint.inference.models.unification.drafts import note
from devlint.inference.models.unification.meeting import meet
from devlint.inference.program.assumption_sites import of_value
from devlint.inference.program.events import (
    ArrayTaken,
    HostReads,
    HostWaits,
    NumberTaken,
    PlaceSettled,
    TensorMade,
)
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.predicates import NO_TENSOR
from devlint.inference.program.values import Instance, Parameters
from devlint.inference.syntax.text import called_name, dotted, names_in, shorten
from devlint.knowledge import Agreement, Call, ClassInfo, ModuleClass, Result
from devlint.knowledge.autograd import NUMPY_DELEGATES


def apply_call(
    frame: Frame,
    node: cst.Call,
    name: str,
    known: Call,
    arguments: Arguments,
    receiver: tuple[Value, cst.CSTNode] | None = None,
) -> Value:
    """What a known function makes of its arguments; `receiver`: a method's own object."""
    last = name.rpartition(".")[2]
    if known.reads_host:
        for value, argument in arguments.all():
            frame.emit(HostReads(node, shorten(node.func), value, argument))
            if name.startswith("numpy.") and last not in NUMPY_DELEGATES:
                frame.emit(ArrayTaken(node, shorten(node.func), value, argument))
        if name in ("numpy.array", "numpy.asarray") and arguments.positional:
            data = arguments.positional[0][0]
            return data if is_number(data) else ARRAY
        return ARRAY
    if known.moves:
        return _carried(frame, node, known, arguments)
    out = arguments.keywords.get("out")
    show_numbers(frame, node, known, arguments)
    operands = operands_of(known, arguments)
    if known.result is Result.LIKE and all(is_number(value) for value, _ in operands):
        operands = []  # `torch.normal(0, 1, size)`: like nothing, so on the default device
    if receiver is not None:
        operands.insert(0, receiver)
    for name_on_host in known.host:
        index = known.params.index(name_on_host)
        measured, place = arguments.get(index, name_on_host), arguments.node(index, name_on_host)
        if measured is not None and place is not None:
            frame.emit(HostReads(node, shorten(node.func), measured, place))
    if known.feeds:
        feed(frame, node, known, arguments)
    if known.collective and (not name.startswith("torch.") or _uses_nccl(frame)):
        check_collective(frame, node, shorten(node.func), operands)
    if (known.instance or known.instances) and known.agreement is Agreement.FREE:
        if known.instances:
            parts: list[Value] = [
                made(frame, node, each, known.result, operands, arguments)
                for each in known.instances
            ]
            return Sequence(parts, None, "tuple")
        return made(frame, node, known.instance, known.result, operands, arguments)
    if known.result in (Result.DEVICE, Result.LIKE) and not (
        known.result is Result.LIKE and "device" not in arguments.keywords and operands
    ):
        if out is None:
            return _factory(frame, node, last, known, arguments)
        return union(
            _filled(frame, node, v) or _factory(frame, node, last, known, arguments)
            for v in alternatives(out[0])
        )
    if last not in ("tensor", "as_tensor", "asarray"):  # these take lists and numbers as well
        # Beside a tensor a point-wise operation takes numbers as well.
        strict = known.agreement is Agreement.STRICT
        mark_operands(known, arguments, operands if strict else operands[:1])
    if known.sync and operands and syncs_for(known, arguments):
        frame.emit(HostWaits(node, last, operands[0][0], operands[0][1]))
    if known.result is Result.LIKE:
        return _like(frame, node, last, known, operands, arguments)
    if known.result is Result.CPU:
        return _on_cpu(frame, node, last, known, arguments)
    if known.result is Result.CUDA:
        origin = frame.origin(StepKind.CREATED, node)
        return Tensor(CUDA, origin)
    if out is not None:
        operands.append(out)
    pointwise = known.agreement is Agreement.POINTWISE
    if known.agreement is Agreement.FREE and out is None:
        result = _first(frame, node, operands)
    else:
        spoken = shorten(node.func)
        operands = without_zero_dim(known, arguments, operands)
        if last == "multi_head_attention_forward":  # torch passes empty tensors for unused weights
            operands = [o for o in operands if not _is_empty(o[0])]
        result = meet(
            frame,
            node,
            spoken,
            operands,
            pointwise,
            MeetingKind.OPERATION,
            indices=index_nodes(known, arguments),
        )
    if known.random and not name.startswith("torch.utils."):
        generators.check(frame, node, result, arguments)
    if known.result is Result.HOST:
        return HOST
    if known.result is Result.NONE:
        return UNKNOWN
    if known.result is Result.FIRST and operands:
        if known.in_place and type(operands[0][0]) is Tensor:
            return operands[0][0]  # itself: `self.w = nn.init.normal_(nn.Parameter(…))`
        result = _first(frame, node, operands[:1])
    if known.result is Result.UNKNOWN:
        return UNKNOWN
    if known.instance:
        return made(frame, node, known.instance, known.result, operands, arguments)
    return shape_result(frame, node, result, known, arguments)


def _uses_nccl(frame: Frame) -> bool:
    """The file names NCCL for its process groups, and no backend that takes host tensors."""
    text = frame.unit.source.text
    return holds("nccl-backend", text) and not holds("host-backend", text)


def check_collective(
    frame: Frame, node: cst.Call, name: str, values: list[tuple[Value, cst.CSTNode]]
) -> None:
    """NCCL refuses host tensors (torch.distributed, "Backends")."""
    said = "an NCCL group takes tensors of its accelerators only"
    for value, argument in values:
        for tensor in alternatives(value):
            if type(tensor) is not Tensor or tensor.traits & INDIRECT:
                continue
            if tensor.place == CPU and tensor.is_sure:
                assumed: Assumptions = ()
                if not tensor.traits & DEFAULT:
                    message = "{} was put on the host, and not for what it meets here"
                    kind_of = AssumptionKind.EXPLICIT_HOST_IS_MEANT_ELSEWHERE
                    assumed = (of_value(frame, kind_of, tensor, message),)
                group = Tensor(CUDA, frame.origin(StepKind.COMPUTED, node.func, None, said))
                kind = MeetingKind.OPERATION
                note(frame, node, kind, name, tensor, argument, group, node.func, assumed)


def is_number(value: Value) -> bool:
    """A number, whatever branch it comes from, and no tensor or array."""
    return all(
        (type(v) is Const and type(v.value) in (int, float))
        or (type(v) is Host and not v.array and not v.whole)
        for v in alternatives(value)
    )


def operands_of(known: Call, arguments: Arguments) -> list[tuple[Value, cst.CSTNode]]:
    """The arguments that are tensor operands, by the table's parameter names."""
    found: list[tuple[Value, cst.CSTNode]] = []
    params = known.params
    wanted = known.tensors | known.indices
    for index, pair in enumerate(arguments.positional):
        if index < len(params):
            if params[index] in wanted:
                found.append(pair)
        elif params and params[-1] in wanted:
            found.append(pair)  # `torch.broadcast_tensors(*tensors)`
    for key, pair in arguments.keywords.items():
        if key in wanted:
            found.append(pair)
    return found


# Parameters that take numbers as well as tensors, in operations that are strict otherwise.
_BOUNDS = ("min", "max", "value", "exponent", "repeats")


def mark_operands(
    known: Call, arguments: Arguments, operands: list[tuple[Value, cst.CSTNode]]
) -> None:
    """What an operation takes as a tensor operand is one."""
    bounds = {arguments.node(known.params.index(n), n) for n in _BOUNDS if n in known.params}
    for value, argument in operands:
        if argument in bounds:
            continue
        for tensor in tensors_in(value):
            tensor.show()


_INDEX_NAMES = frozenset({"index", "mask", "indices", "out", "ind"})


def index_nodes(known: Call, arguments: Arguments) -> tuple[cst.CSTNode, ...]:
    """The arguments that are an index, a mask or `out=`."""
    found = [pair[1] for key, pair in arguments.keywords.items() if key in _INDEX_NAMES]
    for index, pair in enumerate(arguments.positional):
        if index < len(known.params) and known.params[index] in _INDEX_NAMES:
            found.append(pair[1])
    return tuple(found)


def _is_empty(value: Value) -> bool:
    return any(t.traits & EMPTY for t in tensors_in(value))


def _filled(frame: Frame, node: cst.Call, out: Value) -> Value | None:
    """What a factory returns that fills `out`; None when it is given none."""
    if type(out) is not Tensor:
        return None if type(out) is Const and out.value is None else UNKNOWN
    return out.with_place(out.place, frame.origin(StepKind.COMPUTED, node, out.origin))


def without_zero_dim(
    known: Call, arguments: Arguments, operands: list[tuple[Value, cst.CSTNode]]
) -> list[tuple[Value, cst.CSTNode]]:
    """Leave out 0-dim CPU tensors where this operation takes them."""
    if not known.zero_dim:
        return operands
    taking = {arguments.node(known.params.index(p), p) for p in known.zero_dim if p in known.params}
    kept = []
    for value, argument in operands:
        tensors = tensors_in(value) if argument in taking else []
        if tensors and all(t.traits & SCALAR and t.place == CPU for t in tensors):
            continue
        kept.append((value, argument))
    return kept


def syncs_for(known: Call, arguments: Arguments) -> bool:
    """Whether a call that may sync does so with these arguments."""
    given = set(arguments.keywords) | set(known.params[: len(arguments.positional)])
    if known.sync_unless & given:
        return False
    if known.sync_only_if:
        values = {name: value for name, (value, _) in arguments.keywords.items()}
        values |= {p: v for p, (v, _) in zip(known.params, arguments.positional, strict=False)}
        return any(
            type(value) is Tensor
            for name in known.sync_only_if & given
            for value in alternatives(values[name])
        )
    return True


def _first(frame: Frame, node: cst.CSTNode, operands: list[tuple[Value, cst.CSTNode]]) -> Value:
    for value, _ in operands:
        if type(value) is Instance and value.module:
            return value  # `spectral_norm(layer)`
        if type(value) is Parameters:  # `clip_grad_norm_(model.parameters(), 1.0)`
            norm = _of(frame, node, value.tensor)
            return norm.with_place(norm.place, norm.origin, drop=PARAMETER | GRAD)
        ways = [(v, when) for v, when in cases(value) if type(v) is Tensor]
        if not ways:
            ways = [(tensor, ALWAYS) for tensor in tensors_in(value)[:1]]
        if ways:
            return choose((_of(frame, node, tensor), when) for tensor, when in ways)
    return UNKNOWN


def _carried(frame: Frame, node: cst.Call, known: Call, arguments: Arguments) -> Value:
    """`send_to_device(batch, device)`: its first argument, where `device` is; without one it
    stays."""
    value = arguments.get(0, known.params[0]) or UNKNOWN
    if known.result is not Result.DEVICE:
        return carry(frame, node, value, CUDA if known.result is Result.CUDA else None)
    device = arguments.get(known.params.index("device"), "device")
    if device is None or device == NONE:
        return UNKNOWN if arguments.open else value
    return carry(frame, node, value, place_of(frame, device))


def _of(frame: Frame, node: cst.CSTNode, tensor: Tensor) -> Tensor:
    """What is computed of one tensor, where that is."""
    origin = Provenance(StepKind.COMPUTED, node, frame.unit.source, tensor.origin)
    return Tensor(tensor.place, origin, tensor.traits, tensor.evidence)


def shape_result(
    frame: Frame, node: cst.CSTNode, value: Value, known: Call, arguments: Arguments
) -> Value:
    """One tensor, a tuple of them, or a 0-dim one, as the table says."""
    if type(value) is not Tensor:
        return value
    name = called_name(node) if isinstance(node, cst.Call) else dotted(node)
    found = _found_positions(name, value, arguments)
    if found is not None:
        return found
    if known.scalar == "never":
        value = _with_traits(value, value.traits & ~(SCALAR | MAYBE_SCALAR))
    elif _is_reduced(known, arguments):
        value = _with_traits(value, value.traits | SCALAR)
        if known.scalar == "without-dim":
            return value
    elif known.scalar:  # of two dimensions one may be left
        value = _with_traits(value, value.traits & ~(SCALAR | MATRIX))
    if known.results > 0:
        items: list[Value] = [value] * known.results
        for index in known.host_results:
            origin = frame.origin(StepKind.CREATED, node, None, "always returned on the CPU")
            items[index] = Tensor(CPU, origin)
        for index in known.no_tensors:
            items[index] = HOST
        return Sequence(items, None, "tuple")
    if known.results < 0:
        return Sequence(None, value, "tuple")
    return value


def _with_traits(value: Tensor, traits: int) -> Tensor:
    """The tensor with other traits."""
    return Tensor(value.place, value.origin, traits, value.evidence)


def _is_reduced(known: Call, arguments: Arguments) -> bool:
    """The call leaves no dimension, as the table and its arguments say."""
    if known.scalar == "without-dim":
        return not _has_dim(known, arguments)
    if known.scalar != "without-none":
        return known.scalar == "always"
    held = arguments.keywords.get("reduction")
    if held is None:
        return True
    return type(held[0]) is Const and held[0].value in ("mean", "sum", "batchmean")


def _found_positions(name: str, value: Tensor, arguments: Arguments) -> Value | None:
    """What `nonzero` and `where(condition)` find: rows of positions, or a tuple that has the
    positions in each dimension."""
    if name == "nonzero":
        asked = arguments.keywords.get("as_tuple")
        as_tuple = asked is not None and not (type(asked[0]) is Const and not asked[0].value)
    elif name == "where" and len(arguments.all()) == 1 and not arguments.open:
        as_tuple = True
    else:
        return None
    traits = value.traits & ~(SCALAR | MAYBE_SCALAR | SHAPED | VECTOR | MATRIX)
    found = Tensor(
        value.place, value.origin, traits | (VECTOR if as_tuple else MATRIX), value.evidence
    )
    return Sequence(None, found, "tuple") if as_tuple else found


def _has_dim(known: Call, arguments: Arguments) -> bool:
    if "dim" in arguments.keywords or "axis" in arguments.keywords or "other" in arguments.keywords:
        return True
    if "dim" in known.params:
        return len(arguments.positional) > known.params.index("dim")
    return len(arguments.positional) > 1


def _factory(frame: Frame, node: cst.Call, last: str, known: Call, arguments: Arguments) -> Value:
    device = arguments.keywords.get("device")
    given = device[0] if device is not None else None
    given_node = device[1] if device is not None else None
    if given is None and "**" in arguments.keywords:
        return _made_with(frame, node, arguments)
    if given is not None and last in ("tensor", "as_tensor", "asarray"):
        for value, _ in operands_of(known, arguments):
            for tensor in tensors_in(value):
                frame.emit(PlaceSettled(tensor))
                if tensor.evidence is not None:
                    tensor.evidence.effects.moved = True
    made = factory_result(frame, node, last, given, given_node, arguments)
    if known.result is Result.LIKE and made.origin is not None:
        likened = [t for value, _ in operands_of(known, arguments)[:1] for t in tensors_in(value)]
        made.origin.before = likened[0].place if len(likened) == 1 else None
    if type(given) is DeviceValue and given.one_of:
        several = ((made.with_place(place, made.origin), when) for place, when in given.one_of)
        return choose((under(each, when), when) for each, when in several)
    return made


def _made_with(frame: Frame, node: cst.Call, arguments: Arguments) -> Tensor:
    """`torch.zeros(3, **where)`: perhaps there is a `device=` among them."""
    origin = frame.origin(StepKind.CREATED, node, None, "made here")
    return Tensor(known_among(frame, arguments.keywords["**"][1]), origin)


def factory_result(
    frame: Frame,
    node: cst.Call,
    last: str,
    device: Value | None,
    device_node: cst.CSTNode | None,
    arguments: Arguments,
) -> Tensor:
    """A tensor made here: on `device=`, else on the default device."""
    traits = 0
    place: Placement
    if type(device) is Const and device.value is None:
        # `self.device` only starts with None: others set it. The literal asks for the default.
        device = UNKNOWN if isinstance(device_node, cst.Attribute) else None
    out = arguments.keywords.get("out")
    if device is None and out is not None and out[0] is not NONE:
        place, given_note = _place_written(out[0]), "written here"
    elif device is None:
        place = frame.default_device
        if not frame.has_default_device:
            traits |= DEFAULT
        given_note = "made here on the default device" if traits & DEFAULT else "made here"
    else:
        place = place_of(frame, device)
        if type(device) is Union and any(
            type(v) is Const and v.value is None for v in device.alternatives
        ):
            place = None if place is None or place == CPU else place
        given_note = "made here"
        if place is None and device_node is not None and type(device) is not DeviceValue:
            place = chosen(frame, device_node)
    traits |= _traits_of_data(last, arguments)
    sizes = None if last in ("tensor", "as_tensor", "asarray") else _sizes(last, arguments)
    if sizes is not None and _takes_dtype_of(frame, arguments, sizes):
        sizes.show()
    grad = arguments.keywords.get("requires_grad")
    if grad is not None and type(grad[0]) is Const and grad[0].value is True:
        traits |= GRAD | RECORDED
    pinned = arguments.keywords.get("pin_memory")
    if pinned is not None and type(pinned[0]) is Const and pinned[0].value is True:
        traits |= PINNED
    if last in _OF_NUMBERS:
        for value, argument in arguments.positional:
            frame.emit(NumberTaken(node, f"{shorten(node.func)}()", value, argument))
    origin = frame.origin(StepKind.CREATED, node, None, given_note)
    result = Tensor(place, origin, traits, None, sizes)
    frame.emit(TensorMade(node, result))
    generator = arguments.keywords.get("generator")
    if generator is not None:
        generators.compare(frame, node, result, generator[0], generator[1])
    return result


def _place_written(out: Value) -> Placement:
    """`torch.randperm(n, out=order)`: where that is, if it is a tensor at all."""
    return out.place if type(out) is Tensor else None


def _takes_dtype_of(frame: Frame, arguments: Arguments, owner: Tensor) -> bool:
    """`dtype=x.dtype`: no array has a dtype of torch, and no module a shape."""
    given = arguments.keywords.get("dtype")
    if given is None or not isinstance(given[1], cst.Attribute) or given[1].attr.value != "dtype":
        return False
    path = dotted(given[1].value)
    held = frame.lookup(path) if path else None
    return type(held) is Tensor and held.evidence is owner.evidence


def _traits_of_data(last: str, arguments: Arguments) -> int:
    """0-dim and emptiness, by what the factory is given."""
    if last == "scalar_tensor":
        return SCALAR
    first = arguments.positional[0][0] if arguments.positional else None
    if last in ("arange", "linspace", "logspace", "randperm") or last.endswith("_window"):
        return VECTOR
    if last in ("tensor", "as_tensor", "asarray"):
        data = first if first is not None else arguments.get(0, "data")
        if type(data) is Const or (type(data) is Host and not data.array and not data.whole):
            return SCALAR | LITERAL
        if type(data) is Host and not data.array:
            return VECTOR
        if type(data) is Sequence:
            if data.items == []:
                return EMPTY
            flat = data.items is not None and all(type(v) in (Const, Host) for v in data.items)
            return LITERAL | (VECTOR if flat else 0)
        if type(data) is External and data.name.startswith(("math.", "numpy.", "sys.")):
            return SCALAR | LITERAL
        return 0 if type(data) is Host or _is_plural(arguments) else MAYBE_SCALAR
    if last in ("zeros", "ones", "empty", "rand", "randn", "full"):
        if not arguments.positional and "size" not in arguments.keywords:
            return 0 if arguments.open else SCALAR
        if type(first) is Sequence and first.items == []:
            return SCALAR
        single = len(arguments.positional) == 1 or last == "full"
        if single and (
            type(first) in (Const, Host)
            or (type(first) is Sequence and first.items is not None and len(first.items) == 1)
        ):
            size = first.items[0] if type(first) is Sequence and first.items else first
            zero = type(size) is Const and size.value == 0
            shape = type(first) is Host and first.whole
            return EMPTY if zero else (0 if shape else VECTOR)
        several = len(arguments.positional) > 1 and last != "full"
        if not several:
            several = type(first) is Sequence and first.items is not None and len(first.items) > 1
        if last != "full" and any(
            type(v) is Const and v.value == 0 for v, _ in arguments.positional
        ):
            return EMPTY | (MATRIX if several else 0)
        if (
            type(first) is Sequence
            and first.items
            and any(type(v) is Const and v.value == 0 and type(v.value) is int for v in first.items)
        ):
            return EMPTY | (MATRIX if several else 0)
        return MATRIX if several else 0
    return MATRIX if last == "eye" else 0


def _is_plural(arguments: Arguments) -> bool:
    """By its name the data is a list: `weights`, `anchors`, but not `num_edits`."""
    node = arguments.node(0, "data")
    name = dotted(node).rpartition(".")[2] if node is not None else ""
    counts = name.startswith(("num_", "n_", "total_", "count_")) or holds("width-name", name)
    singular = name.endswith(("eps", "bias", "loss", "pos", "axis"))
    return name.endswith("s") and not singular and not counts


# Factories whose bounds may be tensors, which they read.
_OF_NUMBERS = frozenset({"linspace", "logspace"})


def _sizes(factory: str, arguments: Arguments) -> Tensor | None:
    """The tensor whose shape gave this one its size. What else a size is, is a number."""
    size = arguments.keywords.get("size")
    sizes: Tensor | None = None
    for value, _ in [*arguments.positional, *([size] if size is not None else [])]:
        for part in value.items or () if type(value) is Sequence else alternatives(value):
            if type(part) is Host and part.sizes is not None:
                sizes = sizes or part.sizes
            elif (
                factory in _OF_NUMBERS
                and type(part) is Tensor
                and part.evidence is not None
                and not part.is_sure
                and not part.traits & SCALAR  # `lengths.max()`: what it is of may be a tensor
            ):
                part.evidence.mark_host()
    return sizes


def _like(
    frame: Frame,
    node: cst.Call,
    last: str,
    known: Call,
    operands: list[tuple[Value, cst.CSTNode]],
    arguments: Arguments,
) -> Value:
    """`*_like`, `torch.tensor(t)`: where the first operand is."""
    if last in ("tensor", "as_tensor", "asarray"):
        return _tensor_of_data(frame, node, last, operands, arguments)
    first = operands[0][0] if operands else UNKNOWN
    if type(first) is Union:  # as many as the branches left
        sources = [v for v in first.alternatives if type(v) is Tensor]
    else:
        sources = tensors_in(first)[:1]
    if not sources:
        return Tensor(None)
    results: list[Value] = []
    for source in sources:
        origin = frame.origin(StepKind.CREATED, node, source.origin)
        made = Tensor(source.place, origin, source.traits & (DEFAULT | LOADED | EMPTY))
        if known.random:
            generators.check(frame, node, made, arguments)
        results.append(made)
    return union(results)


def _tensor_of_data(
    frame: Frame,
    node: cst.Call,
    last: str,
    operands: list[tuple[Value, cst.CSTNode]],
    arguments: Arguments,
) -> Value:
    """`torch.tensor(data)`: a tensor's own device, else the default one, a list's elements read."""
    data = operands[0][0] if operands else UNKNOWN
    if "**" in arguments.keywords:
        return _made_with(frame, node, arguments)
    if type(data) is Tensor and data.evidence is None:
        origin = Provenance(StepKind.COMPUTED, node, frame.unit.source, data.origin)
        return Tensor(data.place, origin, data.traits & (DEFAULT | LOADED | SCALAR))
    if type(data) is Tensor and data.is_sure:
        return Tensor(
            data.place, Provenance(StepKind.COMPUTED, node, frame.unit.source, data.origin)
        )
    if type(data) is Tensor and data.evidence is not None and data.evidence.hints.either:
        return Tensor(None)  # it stays where it is, or is made of a number or an array
    if type(data) is Sequence:
        for tensor in tensors_in(data)[:1]:
            if tensor.is_sure:
                frame.emit(HostWaits(node, f"torch.{last} of tensors", tensor, operands[0][1]))
    result = factory_result(frame, node, last, None, None, arguments)
    if result.origin is not None:
        if type(data) is Tensor:
            result.origin.rival = data
        result.origin.before = _place_as_tensor(frame, arguments)
    return result


def _place_as_tensor(frame: Frame, arguments: Arguments) -> Placement:
    """`if not torch.is_tensor(x): x = torch.tensor(x)`: where `x` is in the other case. Also of
    what is made of it on the way, as in `torch.from_numpy(np.array(x))`."""
    for _, given in arguments.positional[:1]:
        for name in names_in(given):
            for value in alternatives(frame.state.env.get(NO_TENSOR + name, UNKNOWN)):
                if type(value) is Tensor:
                    return value.place
    return None


def _on_cpu(frame: Frame, node: cst.Call, last: str, known: Call, arguments: Arguments) -> Value:
    note_text = "made here on the CPU"
    origin = frame.origin(StepKind.CREATED, node, None, note_text)
    if last == "from_numpy":
        if "device" in arguments.keywords:
            return Tensor(None)  # it takes none: the call raises, and nothing comes of it
        origin.before = _place_as_tensor(frame, arguments)
        data = arguments.get(0, "ndarray")
        zero_dim = data is not None and is_number(data)  # an array made of a number
        return Tensor(CPU, origin, DEFAULT | SCALAR if zero_dim else DEFAULT)
    return shape_result(frame, node, Tensor(CPU, origin, DEFAULT), known, arguments)


_STATELESS = "torch.nn.Identity"  # what a module without state is, as far as devices go


# Packages whose modules are made on the default device.
_ON_HOST = frozenset({"torch", "torchaudio", "torchvision"})


def construct_library(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """An object of a library's class: a module where it is known as one."""
    knowledge = frame.unit.context.knowledge
    module = knowledge.module(name)
    if module is not None and _is_left_without_state(module, arguments):
        name = _STATELESS
        module = knowledge.module(name)
    if module is None:
        return UNKNOWN
    place: Placement = frame.default_device
    origin = frame.origin(StepKind.CREATED, node, None, "made here")
    root = name.partition(".")[0]
    if root not in _ON_HOST and not module.device_parameter and module.stateful != "never":
        place = None  # where a library puts its modules is not in sight
    unseen = arguments.open and module.device_parameter != ""
    if unseen or not module.self_placing.isdisjoint(arguments.keywords):
        place = None
    device = _device_given(module, arguments)
    if device is not None and not (type(device) is Const and device.value is None):
        place = place_of(frame, device)
    if module.stateful == "never":
        place = None
    weighted = ""
    if module.stateful == "weight":
        place = None
        for key in ("weight", "pos_weight"):
            pair = arguments.keywords.get(key)
            value = pair[0] if pair is not None else None
            if value is None and key == "weight" and arguments.positional:
                first = arguments.positional[0][0]
                value = first if type(first) is Tensor else None
            for tensor in tensors_in(value if value is not None else UNKNOWN):
                weighted = key
                place, origin = (
                    tensor.place,
                    Provenance(StepKind.COMPUTED, node, frame.unit.source, tensor.origin),
                )
    items = None
    if name.rpartition(".")[2] in ("Sequential", "ModuleList", "ModuleDict"):
        items = _items(arguments)
    if root == "torch" and any(
        type(v) is DeviceValue for v, _ in arguments.positional if device is None
    ):
        place = None
    instance = Instance(None, name, True, place, origin, None, items, weighted)
    if items is not None:
        _place_container(frame, instance, items)
        _adopt(instance, items)
    return instance


def _is_left_without_state(module: ModuleClass, arguments: Arguments) -> bool:
    """`nn.LayerNorm(n, elementwise_affine=False)`: every flag that asks for state is off."""
    flags = [arguments.get(module.params.index(f), f) for f in module.stateful_by]
    return bool(flags) and all(type(f) is Const and f.value is False for f in flags)


def _device_given(module: ModuleClass, arguments: Arguments) -> Value | None:
    """What a constructor is told of the device."""
    for name in ("device", module.device_parameter):
        index = module.params.index(name) if name in module.params else -1
        value = arguments.get(index, name) if name else None
        if value is not None:
            return value
    return None


def _place_container(frame: Frame, instance: Instance, items: Sequence) -> None:
    """A container is where its members are, if they are together."""

    if items.items == []:
        return  # filled later
    values = items.items if items.items is not None else alternatives(items.any())
    members = [v if type(v) is Instance else None for v in values]
    places = [
        placed(frame, v)[0] if v is not None else None
        for v in members
        if v is None or stateful(frame, v)  # the others are everywhere
    ]
    together = bool(places) and all(place == places[0] for place in places)
    instance.place = places[0] if together else None


def _items(arguments: Arguments) -> Sequence:
    """The members of a container: what it is given one by one, or as a list or dict; of a list that
    a loop has filled, or not, those of any turn."""
    values = [v for v, _ in arguments.positional]
    only = values[0] if len(values) == 1 else None
    if type(only) is Sequence:
        return Sequence(None if only.items is None else list(only.items), only.element, "list")
    if only is None or type(only) is Instance:
        return Sequence(values, None, "list")
    held = [
        v.any() if type(v) is Sequence or type(v) is Mapping else v if arguments.open else UNKNOWN
        for v in alternatives(only)
        if not (type(v) is Sequence and v.items == [])
    ]
    return Sequence(None, union(held) if held else UNKNOWN, "list")


def _adopt(parent: Instance, items: Sequence) -> None:
    for value in items.items if items.items is not None else [items.element]:
        if type(value) is Instance and value.module and value.parent is None:
            value.parent = parent


def made(
    frame: Frame,
    node: cst.Call,
    name: str,
    result: Result,
    operands: list[tuple[Value, cst.CSTNode]],
    arguments: Arguments,
) -> Instance:
    """A new object, where `result` says."""
    held = _content(frame, node, result, operands, arguments)
    instance = Instance(None, name, False, held.place, held.origin)
    if _holds_tensors(frame, name):
        instance.tensor = held
    return instance


def _content(
    frame: Frame,
    node: cst.Call,
    result: Result,
    operands: list[tuple[Value, cst.CSTNode]],
    arguments: Arguments,
) -> Tensor:
    """What stands for the tensors of a new object."""
    made_here = frame.origin(StepKind.CREATED, node)
    if result is Result.CPU and frame.has_default_device:
        return Tensor(frame.default_device, made_here)  # by `torch.tensor`
    if result is Result.CPU:
        return Tensor(CPU, made_here, LOADED, Evidence())
    if result is Result.CUDA:
        return Tensor(CUDA, made_here)
    if result is Result.DEVICE:
        device = arguments.keywords.get("device")
        given, given_node = device if device is not None else (None, None)
        found = factory_result(frame, node, "", given, given_node, arguments)
        return found if type(found) is Tensor else Tensor(None)
    if result not in (Result.OPERANDS, Result.FIRST, Result.LIKE):
        return Tensor(None, made_here)
    tensors = [tensor for value, _ in operands for tensor in tensors_in(value)]
    if result is Result.FIRST:
        tensors = tensors[:1]
    if not tensors:
        plain = operands and all(type(value) in (Const, Host) for value, _ in operands)
        if plain and not frame.has_default_device:
            return Tensor(CPU, made_here, DEFAULT | SCALAR)  # of numbers
        return Tensor(None, made_here)
    first = max(tensors, key=lambda tensor: not tensor.traits & SCALAR)
    if any(t.place is not first.place and t.place != first.place for t in tensors):
        return Tensor(None, made_here)
    origin = Provenance(StepKind.COMPUTED, node, frame.unit.source, first.origin)
    traits = first.traits & (INHERITED | SCALAR)
    return Tensor(first.place, origin, traits, first.evidence)


def class_of(frame: Frame, name: str) -> list[ClassInfo]:
    """What is known of a class and of its bases, nearest first."""
    knowledge = frame.unit.context.knowledge
    found = [knowledge.class_(each) for each in knowledge.lineage(name)]
    return [each for each in found if each is not None]


def _holds_tensors(frame: Frame, name: str) -> bool:
    return any(Result.FIRST in info.attributes.values() for info in class_of(frame, name))
