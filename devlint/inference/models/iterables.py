"""Functions on iterables and containers: the same elements, in another shape.

`zip(xs, ys)` gives pairs of their elements, `next(iter(loader))` a batch.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Loader, Mapping, NamedTuple, Sequence
from devlint.inference.domain.host import HOST, Const, Host
from devlint.inference.domain.tensors import LOADED, Tensor
from devlint.inference.domain.value import UNKNOWN, Value, union
from devlint.inference.models.elements import COLUMNS
from devlint.inference.models.handlers import Handler
from devlint.inference.program.events import HostWaits
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Parameters


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
    given = Arguments(parts, {}, callee=node.args[0].value)
    return Sequence(None, frame.interpreter.call(frame, node, callee, given), "iterator")


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


def _range(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    for value, argument in arguments.positional:
        if type(value) is Tensor:
            frame.emit(HostWaits(node, "range()", value, argument))
            if value.evidence is not None and not value.is_sure:
                value.evidence.mark_number()
    return Sequence(None, HOST, "iterator")


ITERABLES: dict[str, Handler] = {
    "random.sample": _drawn,
    "random.choices": _drawn,
    "random.choice": _one_drawn,
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


PYTHON_ITERABLES: dict[str, Handler] = {
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
    "range": _range,
}
