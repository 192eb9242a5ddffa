"""What torch's own registry says about its functions: operator schemas, tags and signatures.

Everything here becomes entries of devlint/knowledge/torch.json, as plain dicts of the fields of
`devlint.knowledge.model`; fields that keep their default are left out.
"""

from __future__ import annotations

import importlib
import inspect
import pathlib
import re
import typing
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.overrides import get_testing_overrides

Entry = dict[str, Any]

# A namespace, and how the names of its operators begin.
NAMESPACES = {
    "torch": "",
    "torch.nn.functional": "",
    "torch.linalg": "linalg_",
    "torch.fft": "fft_",
    "torch.special": "special_",
    "torch.sparse": "_sparse_",
    "torch.nested": "_nested_",
    "torch.nn.init": "",
    "torch.nn.utils.rnn": "",
    "torch.signal.windows": "",
}

# Python-level arguments that every factory has and a schema spells otherwise or not at all.
_NOT_PARAMETERS = {"layout", "pin_memory"}
# Parameters whose schema says `int` for what Python spells as a constant or a string.
_NOT_NUMBERS = {"dtype", "layout", "memory_format", "reduction", "device", "out_dtype"}


class Argument(typing.NamedTuple):
    """One parameter of one overload."""

    name: str
    is_tensor: bool
    keyword_only: bool
    is_number: bool


def native_functions() -> dict[str, str]:
    """PyTorch's own list of its operators: `add.Tensor`, and the entry as it is written there."""
    import torchgen

    path = pathlib.Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml"
    blocks = re.split(r"^- func: ", path.read_text(), flags=re.MULTILINE)[1:]
    return {block.partition("(")[0]: block for block in blocks}


def schemas() -> dict[str, list[Any]]:
    """The overloads of each `aten` operator that take or give tensors, by bare name."""
    found: dict[str, list[Any]] = {}
    eager = native_functions().keys()
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        if namespace != "aten" or "Dimname" in str(schema) or "hacked_twin" in str(schema):
            continue
        full = f"{name}.{schema.overload_name}" if schema.overload_name else name
        if full not in eager and f"{name}_" not in eager:
            continue  # TorchScript's own, on lists and numbers
        if any(_is_tensor(argument.type) for argument in [*schema.arguments, *schema.returns]):
            found.setdefault(name, []).append(schema)
    for overloads in found.values():
        overloads.sort(key=lambda schema: (len(schema.arguments), str(schema)))
    return found


def _is_tensor(kind: object) -> bool:
    return str(kind) in ("Tensor", "Optional[Tensor]", "List[Tensor]", "List[Optional[Tensor]]")


def _is_number(name: str, kind: object) -> bool:
    """A number or several: a size, a dimension, a bound."""
    plain = re.sub(r"(?:Optional|List)\[(.*?)\]+$", r"\1", str(kind))
    return plain in ("int", "float", "number") and name not in _NOT_NUMBERS


def _tags(schemas: list[Any]) -> set[str]:
    """The names of the tags of the overloads."""
    names = set()
    for schema in schemas:
        packet = getattr(torch.ops.aten, schema.name.partition("::")[2])
        overload = getattr(packet, schema.overload_name or "default", None)
        names.update(tag.name for tag in getattr(overload, "tags", ()))
    return names


def merged_parameters(overloads: list[list[Argument]]) -> tuple[list[str], set[str], set[str]]:
    """One order of parameters for all overloads; which take tensors, and which take numbers only.

    A position that is a tensor in one overload and not in another (`max(input, dim)`,
    `max(input, other)`) is a tensor parameter by every name it has.
    """
    positions: list[list[Argument]] = []
    keyword_only: list[Argument] = []
    for overload in overloads:
        positional = [argument for argument in overload if not argument.keyword_only]
        keyword_only += [argument for argument in overload if argument.keyword_only]
        for index, argument in enumerate(positional):
            if index == len(positions):
                positions.append([])
            positions[index].append(argument)
    names: list[str] = []
    later: list[str] = []
    tensors: set[str] = set()
    for position in positions:
        distinct = list(dict.fromkeys(argument.name for argument in position))
        distinct.sort(key=lambda name: name != "dim")
        first = next((name for name in distinct if name not in names), None)
        if first is None:
            continue
        names.append(first)
        later += distinct
        if any(argument.is_tensor for argument in position):
            tensors.add(first)
            tensors.update(argument.name for argument in position if argument.is_tensor)
    later += [argument.name for argument in keyword_only]
    tensors.update(argument.name for argument in keyword_only if argument.is_tensor)
    names += [name for name in dict.fromkeys(later) if name not in names]
    others = {a.name for part in (*positions, keyword_only) for a in part if not a.is_number}
    others |= {
        a.name
        for part in positions
        if not all(o.is_number or o.name == "dtype" for o in part)
        for a in part
    }
    return names, tensors, set(names) - others


def from_schemas(overloads: list[Any], *, is_method: bool) -> Entry | None:
    """The entry of an operator, from its schemas. None when they are of no use here."""
    plain = [schema for schema in overloads if not any(a.is_out for a in schema.arguments)]
    if is_method:
        plain = [
            schema for schema in plain if schema.arguments and schema.arguments[0].name == "self"
        ]
    if not plain:
        return None
    rename = {} if is_method else {"self": "input"}
    arguments = [
        [
            Argument(
                rename.get(a.name, a.name),
                _is_tensor(a.type),
                a.kwarg_only,
                # `add_(2, x)` of old is called with what goes by keyword today
                _is_number(a.name, a.type) and not a.kwarg_only,
            )
            for a in schema.arguments[1 if is_method else 0 :]
        ]
        for schema in plain
    ]
    params, tensors, numbers = merged_parameters(arguments)
    params = [name for name in params if name not in _NOT_PARAMETERS]
    if len(plain) < len(overloads) and any(a.is_out for s in overloads for a in s.arguments):
        params.append("out")
    entry: Entry = {"params": params, "tensors": sorted(tensors)}
    entry["numbers"] = sorted(numbers.intersection(params))

    tags = _tags(plain)
    takes_tensor = is_method or bool(tensors)
    returned = [schema.returns for schema in plain]
    most = max(returned, key=len)
    own = plain[0].arguments[0] if plain[0].arguments else None
    writes = bool(own is not None and own.alias_info is not None and own.alias_info.is_write)
    if not most:
        entry["result"] = "none"
    elif not any(_is_tensor(value.type) for value in most):
        entry["result"] = "host"
    elif "device" in params:
        entry["result"] = "like" if takes_tensor else "device"
    elif takes_tensor and any(value.alias_info is not None for value in most):
        entry["result"] = "first"
    elif not takes_tensor:
        entry["result"] = "device"
    if any(str(value.type) == "List[Tensor]" for value in most):
        entry["results"] = -1
    elif len(most) > 1:
        entry["results"] = len(most)
    if writes and plain[0].name.endswith("_"):
        entry["in_place"] = True
    if tags & {"data_dependent_output", "dynamic_output_shape"}:
        entry["sync"] = True
    if "generator" in params:
        entry["random"] = True
    count = len(tensors) + is_method
    several = count > 1 or any(
        "List" in str(a.type) for s in plain for a in s.arguments if _is_tensor(a.type)
    )
    if several and "pointwise" not in tags:
        entry["agreement"] = "strict"
    elif not several:
        entry["agreement"] = "free"
    if "reduction" in tags and entry.get("result") in (None, "first"):
        dims = [any(a.name == "dim" for a in schema.arguments) for schema in plain]
        if any(dims):
            entry["scalar"] = "without-dim"
    return entry


def from_signature(signature: inspect.Signature) -> Entry | None:
    """The entry of a Python function, from its annotations. None when no tensor is in them."""
    params: list[str] = []
    tensors: set[str] = set()
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        params.append(parameter.name)
        if parameter.name == "out":
            continue
        if "Tensor" in _annotation(parameter.annotation):
            tensors.add(parameter.name)
    result = _annotation(signature.return_annotation)
    if not tensors and not ("Tensor" in result and "device" in params):
        return None
    entry: Entry = {"params": params, "tensors": sorted(tensors)}
    several = len(tensors) > 1 or any(
        re.search(r"(ist|uple|Sequence)\[[^]]*Tensor", _annotation(p.annotation))
        for p in signature.parameters.values()
        if p.name in tensors
    )
    if several:
        entry["agreement"] = "strict"
    else:
        entry["agreement"] = "free"
    if result in ("None", "NoneType"):
        entry["result"] = "none"
    elif result in ("bool", "int", "float", "str"):
        entry["result"] = "host"
    elif "device" in params:
        entry["result"] = "like" if tensors else "device"
    elif not tensors:
        entry["result"] = "device"
    plain = re.sub(r"typing\.|torch\.", "", result)
    if re.fullmatch(r"(tuple|Tuple)\[Tensor(, Tensor)+\]", plain):
        entry["results"] = plain.count("Tensor")
    elif re.match(r"(list|List|tuple|Tuple)\[", plain):
        entry["results"] = -1
    if "generator" in params:
        entry["random"] = True
    if "reduction" in params and len(tensors) > 1:
        entry["scalar"] = "without-none"
    return entry


def _annotation(annotation: object) -> str:
    if annotation is inspect.Signature.empty:
        return ""
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return annotation.__name__
    return str(annotation)


def functions() -> Iterator[tuple[str, Entry]]:
    """Every function of the NAMESPACES that takes or makes tensors: its dotted name, its entry."""
    known = schemas()
    overridable = get_testing_overrides()
    for namespace, prefix in NAMESPACES.items():
        module = importlib.import_module(namespace)
        for name in sorted(dir(module)):
            function = getattr(module, name)
            if name.startswith("_") or not callable(function) or isinstance(function, type):
                continue
            entry = None
            if inspect.isbuiltin(function):
                overloads = known.get(prefix + name) or known.get(name)
                entry = from_schemas(overloads, is_method=False) if overloads else None
            elif getattr(function, "__module__", "").startswith("torch"):
                entry = _from_python(function, overridable)
            if entry is not None:
                yield f"{namespace}.{name}", entry


def _from_python(
    function: Callable[..., Any], overridable: dict[Callable[..., Any], Callable[..., Any]]
) -> Entry | None:
    signature = _signature(function)
    if signature is None:
        return None
    entry = from_signature(signature)
    if entry is None:  # no annotations: PyTorch's own tests name the parameters, or the function
        loose = _signature(overridable.get(function, function))
        names = list(loose.parameters) if loose else []
        tensors = [n for n in names if n in ("input", "tensor", "tensors", "A", "B", "other")]
        if tensors:
            entry = {"params": names, "tensors": sorted(tensors)}
            entry["agreement"] = "strict" if len(tensors) > 1 else "free"
    return entry


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    if list(signature.parameters) == ["args", "kwargs"]:  # torch._jit_internal.boolean_dispatch
        for cell in getattr(function, "__closure__", None) or ():
            inner = cell.cell_contents
            if inspect.isfunction(inner) and "input" in inspect.signature(inner).parameters:
                return inspect.signature(inner)
    return signature


def methods() -> Iterator[tuple[str, Entry]]:
    """Every method of Tensor that a schema describes: its bare name, its entry."""
    known = schemas()
    for name in sorted(dir(torch.Tensor)):
        if not callable(getattr(torch.Tensor, name)) or name not in known:
            continue
        if name.startswith("_") and not name.startswith("__"):
            continue
        entry = from_schemas(known[name], is_method=True)
        if entry is not None:
            yield name, entry


def attributes() -> Iterator[tuple[str, str]]:
    """Every attribute of Tensor that is no method: its name, and where it lives."""
    tensors = {"H", "T", "mH", "mT", "data", "grad", "imag", "real"}
    for name in sorted(dir(torch.Tensor)):
        if not name.startswith("_") and not callable(getattr(torch.Tensor, name)):
            yield name, "first" if name in tensors else "host"


def modules() -> Iterator[tuple[str, Entry | str]]:
    """Every public class of torch.nn: its dotted name, its entry; an alias for its own module."""
    state = module_state()
    for name in sorted(dir(torch.nn)):
        cls = getattr(torch.nn, name)
        if not (isinstance(cls, type) and issubclass(cls, torch.nn.Module)):
            continue
        entry: Entry = {"params": constructor_parameters(cls)}
        if cls in state:
            entry["stateful"] = state[cls]
        if "reduction" in entry["params"]:
            entry["scalar"] = True
        public = f"torch.nn.{name}"
        yield public, entry
        if cls.__module__ != "torch.nn":
            yield f"{cls.__module__}.{cls.__name__}", public


def module_state() -> dict[type, str]:
    """Which modules have parameters or buffers: those of PyTorch's module database, built as it
    builds them. "weight" are those that have some only when they are given a weight."""
    from torch.testing._internal.common_modules import module_db

    state: dict[type, str] = {}
    for info in module_db:
        inputs = info.module_inputs_func(
            info, device="cpu", dtype=torch.float32, requires_grad=False, training=True
        )
        found: dict[bool, bool] = {}  # given a weight -> has state
        for sample in inputs:
            constructor = sample.constructor_input
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                module = info.module_cls(*constructor.args, **constructor.kwargs)
            given = any(isinstance(v, torch.Tensor) for v in constructor.kwargs.values())
            found[given] = found.get(given, False) or bool(module.state_dict())
        plain, weighted = found.get(False, False), found.get(True, False)
        state[info.module_cls] = "always" if plain else "weight" if weighted else "never"
    return state


def classes() -> Iterator[tuple[str, Entry | str]]:
    """Distributions and optimizers: a distribution lives where its parameters do; an alias for
    one's own module."""
    for name in sorted(dir(torch.distributions)):
        cls = getattr(torch.distributions, name)
        if isinstance(cls, type) and issubclass(cls, torch.distributions.Distribution):
            params = constructor_parameters(cls)
            entry: Entry = {"params": params, "result": "operands"}
            entry["tensors"] = sorted(set(params) - {"validate_args", "num_samples"})
            if cls is not torch.distributions.Distribution:
                entry["bases"] = ["torch.distributions.Distribution"]
            yield f"torch.distributions.{name}", entry
            yield f"{cls.__module__}.{cls.__name__}", f"torch.distributions.{name}"
    for name in sorted(dir(torch.optim)):
        cls = getattr(torch.optim, name)
        if isinstance(cls, type) and issubclass(cls, torch.optim.Optimizer):
            entry = {"params": constructor_parameters(cls), "result": "operands"}
            entry["tensors"] = ["params"]
            if cls is not torch.optim.Optimizer:
                entry["bases"] = ["torch.optim.Optimizer"]
            yield f"torch.optim.{name}", entry


def constructor_parameters(cls: type) -> list[str]:
    """The names of a constructor's parameters, without `self` and without star-arguments."""
    return parameters(cls.__init__)[1:]  # type: ignore[misc]


def parameters(function: Callable[..., Any]) -> list[str]:
    """The names of a function's parameters without star-arguments; none for a built-in."""
    signature = _signature(function)
    return [
        parameter.name
        for parameter in (signature.parameters.values() if signature else ())
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
