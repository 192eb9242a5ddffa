"""Annotations: what they say of a value that somebody out of sight hands in.

    def loss(rows: list[tuple[Tensor, int]], mask: Tensor | None): ...

`rows` is a list, the first of each row is a tensor and the second a number. What an annotation
leaves open is an untyped value, as a parameter without one is.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import ARRAY, DTYPE, HOST, External
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.placement import Placement, Variable
from devlint.inference.domain.provenance import Provenance
from devlint.inference.domain.tensors import INDIRECT, SHAPED, Tensor
from devlint.inference.domain.value import Value, union
from devlint.inference.interpreter import contracts
from devlint.inference.program.frames import Frame
from devlint.inference.program.values import ClassValue, Instance, ProjectModule, read
from devlint.inference.syntax.text import code, dotted
from devlint.records import dataclass

_ARRAY_TYPES = frozenset(
    {"np.ndarray", "numpy.ndarray", "ndarray", "npt.NDArray", "NDArray", "numpy.typing.NDArray"}
)
_HOST_TYPES = _ARRAY_TYPES | frozenset(
    {"int", "float", "bool", "str", "bytes", "complex", "Path", "pathlib.Path", "dtype"}
    | {"torch.dtype", "torch.Size", "Number", "slice"}
)
_TENSOR_TYPES = frozenset(
    {"Tensor", "torch.Tensor", "FloatTensor", "LongTensor", "BoolTensor", "IntTensor"}
    | {"torch.FloatTensor", "torch.LongTensor", "torch.BoolTensor", "torch.IntTensor"}
    | {"torch.DoubleTensor", "torch.HalfTensor", "torch.ByteTensor", "torch.ShortTensor"}
    | {"torch.nn.Parameter", "torch.nn.parameter.Parameter", "nn.Parameter", "OptTensor", "Adj"}
)
_MODULE_TYPES = frozenset({"nn.Module", "torch.nn.Module", "Module"})
# What is known by its full name, however the file calls it: `th.Tensor`
_FULL_NAMES = _TENSOR_TYPES | _HOST_TYPES | _MODULE_TYPES | {"torch.device"}

_TRANSPARENT = frozenset({"Optional", "Final", "Annotated"})  # the type is what comes first
# Of libraries whose annotations say shapes, too: `Float[Tensor, "batch n"]`, the type comes first,
# and `TensorType["batch", "n"]`, a tensor.
_SHAPED_TYPES, _SHAPED_TENSOR = "jaxtyping.", "torchtyping.TensorType"
_WRAPPERS = _TRANSPARENT | {"Union"}
_TUPLES = frozenset({"Tuple", "tuple"})
_LISTS = (
    frozenset({"List", "list", "Sequence", "MutableSequence", "Iterable", "Iterator"})
    | frozenset({"Collection", "Generator"})
    | _TUPLES
)
_DICTS = frozenset({"Dict", "dict", "Mapping"})
_MAPPINGS = _DICTS | {"MutableMapping"}

_MAX_NESTING = 6


@dataclass(frozen=True, slots=True)
class Given:
    """What is handed in: the variable of its device, where its tensors are, and whence it comes."""

    variable: Variable
    place: Placement
    origin: Provenance

    def untyped(self) -> Tensor:
        """A value of which nothing is declared."""
        return Tensor(self.place, self.origin, 0, Evidence())


def names_in(frame: Frame, node: cst.BaseExpression, depth: int = _MAX_NESTING) -> list[str]:
    """The names in an annotation, outermost first, those of `typing` without the module; what a
    type is annotated with is none."""
    if depth == 0:
        return []
    library_name = _library_name(frame, _head(node))
    if library_name == _SHAPED_TENSOR:
        return ["Tensor"]
    path = library_name if library_name in _FULL_NAMES else _plain_name(frame, node)
    if path:
        alias = contracts.alias_of(frame, node)
        return [path] if alias is None else names_in(alias.frame, alias.node, depth - 1)
    if isinstance(node, cst.SimpleString):
        text = node.value.strip("'\"")
        if "[" in text or "|" in text:
            quoted = contracts.quoted_type(frame, node)
            if quoted is not None:
                return names_in(frame, quoted, depth - 1)
        return "".join(c if c.isalnum() or c in "._" else " " for c in text).split()
    found: list[str] = []
    if isinstance(node, cst.Subscript):
        parts = _parts(node)
        if _says_shape(frame, node):
            return [name for part in parts[:1] for name in names_in(frame, part, depth - 1)]
        found += names_in(frame, node.value, depth - 1)
        for part in parts[:1] if found[-1:] == ["Annotated"] else parts:
            found += names_in(frame, part, depth - 1)
    elif isinstance(node, cst.BinaryOperation):
        found += names_in(frame, node.left, depth - 1)
        found += names_in(frame, node.right, depth - 1)
    elif isinstance(node, (cst.Tuple, cst.List)):
        for item in node.elements:
            found += names_in(frame, item.value, depth - 1)
    return found


def _plain_name(frame: Frame, node: cst.BaseExpression) -> str:
    """`Optional` of `t.Optional`, where `t` is `typing`; of others all that is written."""
    path = dotted(node)
    module, _, name = (_library_name(frame, node) or path).rpartition(".")
    return name if module in ("typing", "typing_extensions", "collections.abc") else path


def _says_shape(frame: Frame, node: cst.Subscript) -> bool:
    return _library_name(frame, node.value).startswith(_SHAPED_TYPES)


def _library_name(frame: Frame, node: cst.BaseExpression) -> str:
    """The full name of a type of a library."""
    first, _, rest = dotted(node).partition(".")
    value = frame.lookup(first) if first else None
    if type(value) is not External:
        return ""
    return f"{value.name}.{rest}" if rest else value.name


def _parts(node: cst.Subscript) -> list[cst.BaseExpression]:
    """What stands in the brackets: `str` and `Tensor` in `dict[str, Tensor]`."""
    return [each.slice.value for each in node.slice if isinstance(each.slice, cst.Index)]


def says_host(frame: Frame, annotation: cst.Annotation | None) -> bool:
    """An annotation that admits no tensor: `int`, `Optional[str]`, `np.ndarray`."""
    heads = [] if annotation is None else _heads(frame, annotation.annotation)
    return bool(heads) and all(a in _HOST_TYPES for a in heads)


def says_tensor(frame: Frame, annotation: cst.Annotation | None) -> bool:
    """An annotation that admits tensors alone: `Tensor`, `Optional[Float[Tensor, "n"]]`."""
    heads = [] if annotation is None else _heads(frame, annotation.annotation)
    return bool(heads) and all(a in _TENSOR_TYPES for a in heads)


def _heads(frame: Frame, node: cst.BaseExpression) -> list[str]:
    """The names in an annotation, without those that only say that there may be none."""
    return [each for each in names_in(frame, node) if each not in _WRAPPERS and each != "None"]


def declared_value(
    frame: Frame, annotation: cst.BaseExpression, given: Given, depth: int = _MAX_NESTING
) -> Value | None:
    """The value of this type that stands for what others may hand in; None: it says nothing."""
    if depth == 0:
        return None
    frame, node = _without_wrappers(frame, annotation)
    choices = _choices(frame, node)
    if len(choices) > 1 and any(_plain_name(frame, _head(each)) in _LISTS for each in choices):
        values = [_of_choice(frame, each, given, depth - 1) for each in choices]
        known = [each for each in values if each is not None]
        return union(known) if len(known) == len(values) else None
    container = _container(frame, node, given, depth)
    if container is not None:
        return container
    return _of_names(frame, _heads(frame, node), given)


def _without_wrappers(
    frame: Frame, node: cst.BaseExpression, depth: int = _MAX_NESTING
) -> tuple[Frame, cst.BaseExpression]:
    """A type behind its other names, its quotes, and `Optional`, with the frame to read it in."""
    if depth == 0:
        return frame, node
    alias = contracts.alias_of(frame, node)
    if alias is not None:
        return _without_wrappers(alias.frame, alias.node, depth - 1)
    inner: cst.BaseExpression | None = None
    if isinstance(node, cst.SimpleString):
        inner = contracts.quoted_type(frame, node)
    elif isinstance(node, cst.Subscript) and _is_transparent(frame, node):
        inner = next(iter(_parts(node)), None)
    elif (choices := _choices(frame, node)) and choices != [node]:
        inner = choices[0] if len(choices) == 1 else None
    return (frame, node) if inner is None else _without_wrappers(frame, inner, depth - 1)


def _is_transparent(frame: Frame, node: cst.Subscript) -> bool:
    return _plain_name(frame, node.value) in _TRANSPARENT or _says_shape(frame, node)


def _choices(frame: Frame, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The types of which a value has one: `Tensor` and `list` in `Tensor | list | None`."""
    if isinstance(node, cst.BinaryOperation):
        found = [*_choices(frame, node.left), *_choices(frame, node.right)]
    elif isinstance(node, cst.Subscript) and _plain_name(frame, node.value) == "Union":
        found = [choice for each in _parts(node) for choice in _choices(frame, each)]
    else:
        return [node]
    return [each for each in found if dotted(each) != "None"]


def _head(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.value if isinstance(node, cst.Subscript) else node


def _of_choice(frame: Frame, node: cst.BaseExpression, given: Given, depth: int) -> Value | None:
    if _plain_name(frame, node) in _LISTS:
        return Sequence(None, given.untyped(), "list")
    return declared_value(frame, node, given, depth)


def _container(
    frame: Frame, node: cst.BaseExpression, given: Given, depth: int
) -> Sequence | Mapping | None:
    """A sequence or a mapping, if the annotation says what some part of it is."""
    if not isinstance(node, cst.Subscript):
        return None
    name, parts = _plain_name(frame, node.value), _parts(node)
    if name in _MAPPINGS and len(parts) == 2:
        held = declared_value(frame, parts[1], given, depth - 1)
        return None if held is None else Mapping({}, held)
    if name not in _LISTS or not parts:
        return None
    is_row = name in _TUPLES and not any(isinstance(each, cst.Ellipsis) for each in parts)
    if not is_row or len({code(each) for each in parts}) == 1:
        element = declared_value(frame, parts[0], given, depth - 1)
        return None if element is None else Sequence(None, element, "list")
    values = [declared_value(frame, each, given, depth - 1) for each in parts]
    if all(each is None for each in values):
        return None
    items = [given.untyped() if each is None else each for each in values]
    return Sequence(items, None, "tuple")


def _of_names(frame: Frame, heads: list[str], given: Given) -> Value | None:
    if not heads:
        return None
    place, origin = given.place, given.origin
    if heads[0] in _LISTS:
        on_host = not _HOST_TYPES.isdisjoint(heads) and set(heads) <= _HOST_TYPES | _LISTS
        return Sequence(None, HOST, "list") if on_host else given.untyped()
    tensors = [a for a in heads if a in _TENSOR_TYPES]
    if tensors and len(tensors) == len(heads):
        return Tensor(place, origin, SHAPED, Evidence(True))
    if tensors:
        evidence = Evidence()
        evidence.hints.either = True
        return Tensor(place, origin, SHAPED, evidence)
    if all(a.endswith("dtype") for a in heads):
        return DTYPE
    if heads[0] in _ARRAY_TYPES:
        return ARRAY  # what follows is the type of its elements
    if all(a in _HOST_TYPES for a in heads):
        return union((HOST, ARRAY)) if _ARRAY_TYPES & set(heads) else HOST
    if heads[0] in _DICTS:  # its entries need not be together
        return Tensor(place, origin, INDIRECT, Evidence())
    if set(heads) <= _HOST_TYPES | _LISTS:
        return union((HOST, Sequence(None, HOST, "list")))  # a number, or one for each dimension
    if len(heads) == 1:
        known = _named(frame, heads[0])
        if type(known) is ClassValue:
            info = known.info
            return Instance(info, module=info.is_module, place=given.variable, origin=origin)
        if heads[0] in _MODULE_TYPES:
            return Instance(None, "", True, given.variable, origin)
        if type(known) is External and known.name in frame.unit.context.knowledge.modules:
            return _library_module(known.name, given)
        if type(known) is External and "." not in heads[0] and _is_object_of_torch(known.name):
            evidence = Evidence()
            evidence.mark_host()
            return Tensor(place, origin, 0, evidence)
    return None


def _named(frame: Frame, path: str) -> Value | None:
    """What a dotted name in an annotation stands for: a class, of a file or of a library."""
    first, *rest = path.split(".")
    value = frame.lookup(first)
    for name in rest:
        if type(value) is External:
            value = External(f"{value.name}.{name}")
        elif type(value) is ProjectModule:
            frame.interpreter.run(value.unit)
            value = read(value.unit.env, name)
        else:
            return None
    return value


def _library_module(name: str, given: Given) -> Value | None:
    """A module of a library. What a container holds is out of sight: one that is called like its
    members is any module, and of the others nothing is known."""
    kind = name.rpartition(".")[2]
    if kind in ("ModuleList", "ModuleDict", "ParameterList", "ParameterDict"):
        return None
    library = "" if kind == "Sequential" else name
    return Instance(None, library, True, given.variable, given.origin)


def _is_object_of_torch(name: str) -> bool:
    """`torch.distributions.Normal`: no tensor, though it may hold some."""
    last = name.rpartition(".")[2]
    return (
        name.startswith("torch.")
        and last[:1].isupper()
        and not last.endswith(("Tensor", "Parameter", "Buffer"))
    )
