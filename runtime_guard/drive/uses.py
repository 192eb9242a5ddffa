"""What a function does with what it is given, read from its syntax tree.

In ``b, n, _ = x.shape`` and ``for layer in self.layers: x = layer(x)`` the value ``x`` has three
dimensions, and ``self.layers`` is gone through.  Names are dotted: ``config.hidden_size`` has uses
of its own, of which an object that stands for ``config`` is made.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch

from runtime_guard.drive.values import Text

_METHODS_OF_TENSORS = frozenset(
    {
        "backward",
        "chunk",
        "clamp",
        "clone",
        "contiguous",
        "cpu",
        "cuda",
        "data",
        "detach",
        "device",
        "dim",
        "dtype",
        "exp",
        "expand",
        "flatten",
        "float",
        "gather",
        "is_cuda",
        "is_floating_point",
        "item",
        "log",
        "log_softmax",
        "long",
        "masked_fill",
        "matmul",
        "mean",
        "narrow",
        "ndim",
        "ndimension",
        "new",
        "new_ones",
        "new_tensor",
        "new_zeros",
        "numel",
        "numpy",
        "permute",
        "repeat",
        "requires_grad",
        "requires_grad_",
        "reshape",
        "scatter_",
        "shape",
        "sigmoid",
        "size",
        "softmax",
        "squeeze",
        "sum",
        "tolist",
        "transpose",
        "type_as",
        "unfold",
        "unsqueeze",
        "view",
    }
)
_SIZED = frozenset({"zeros", "ones", "rand", "randn", "empty", "arange", "full", "eye"})
_READERS = frozenset(
    {"load", "open", "isfile", "isdir", "exists", "listdir", "makedirs", "imread", "Path"}
)
"""Functions that take a path, where they are not methods of an object: ``torch.load(path)``."""
_METHODS_OF_LISTS = frozenset({"append", "extend"})
_METHODS_OF_DICTS = frozenset({"items", "keys", "values", "get", "update"})
_WHOLE_NUMBERS = frozenset({"range", "Linear", "Embedding", "LayerNorm", "Conv1d", "Conv2d"})
_PATTERNED = frozenset({"rearrange", "reduce", "repeat", "pack", "parse_shape"})


_MADE = (
    torch.Tensor,
    torch.nn.Module,
    torch.optim.Optimizer,
    torch.optim.lr_scheduler.LRScheduler,
    torch.utils.data.DataLoader,
    str,
)
"""What can be made for who uses its attributes and no others; the first that has them all."""
_OF_LOADERS = frozenset({"pin_memory", "batch_size", "dataset", "sampler", "num_workers"})
"""What an instance of ``DataLoader`` has, and its class has not."""
_KINDS = (*_MADE[1:], Path, list, dict, set)


@dataclass
class Uses:
    """How one name is used."""

    attributes: dict[str, None] = field(default_factory=dict)
    keys: dict[str, None] = field(default_factory=dict)
    strings: dict[str, None] = field(default_factory=dict)
    """What it is compared with."""
    ranks: set[int] = field(default_factory=set)
    tensor: int = 0
    """How many signs there are that it is a tensor."""
    number: int = 0
    called: bool = False
    several: bool = False
    """Is it called with several arguments?"""
    iterated: bool = False
    parts: int = 0
    """Into how many names it is unpacked."""
    mapping: bool = False
    asked: bool = False
    """Is it called without arguments by position?"""
    path: bool = False
    """Is it opened, or looked for on the disk?"""
    ends: dict[str, None] = field(default_factory=dict)
    """What it is asked to end with."""
    tested: bool = False
    """Is it asked whether it is true?"""
    classes: dict[str, None] = field(default_factory=dict)
    """Classes that it is tested for."""
    compared: dict[str, None] = field(default_factory=dict)
    """Dotted names that it is compared with."""
    members: dict[Text, None] = field(default_factory=dict)
    """Those of them that are members of enumerations, by whom knows the module."""

    @property
    def is_flag(self) -> bool:
        """Is it asked whether it is true, and nothing else?"""
        said = self.attributes or self.keys or self.strings or self.ends
        other = said or self.ranks or self.classes
        acted = self.tensor or self.number or self.called or self.iterated or self.mapping
        acted = acted or self.asked or self.path
        return self.tested and not (other or acted or self.parts)

    @property
    def kind(self) -> type | None:
        """What has its attributes: ``Tensor``, ``Module``, ``DataLoader``, ``str`` and the like;
        ``object`` for something else, as a configuration is; None where they do not say."""
        for kind in _MADE:
            if all(_has(kind, name) for name in self.attributes):
                return kind if self.attributes else None
        known = any(_has(kind, name) for kind in _KINDS for name in self.attributes)
        return None if known else object

    def add(self, more: Uses) -> None:
        """Take over what is known of another name of the same value."""
        self.attributes.update(more.attributes)
        self.keys.update(more.keys)
        self.strings.update(more.strings)
        self.classes.update(more.classes)
        self.compared.update(more.compared)
        self.ranks |= more.ranks
        self.tensor += more.tensor
        self.number += more.number
        self.called |= more.called
        self.several |= more.several
        self.iterated |= more.iterated
        self.mapping |= more.mapping
        self.asked |= more.asked
        self.path |= more.path
        self.ends.update(more.ends)
        self.tested |= more.tested
        self.parts = max(self.parts, more.parts)


def _has(kind: type, name: str) -> bool:
    return hasattr(kind, name) or (kind is torch.utils.data.DataLoader and name in _OF_LOADERS)


def uses_in(tree: ast.AST) -> dict[str, Uses]:
    """By dotted name; of what a loop takes out of ``boxes`` as ``boxes[]``."""
    found: dict[str, Uses] = {}
    for node in ast.walk(tree):
        for name, sign in _signs(node):
            _note(found.setdefault(name, Uses()), sign)
    for alias, name in _aliases(tree):
        for path in [path for path in found if path == alias or path.startswith(f"{alias}.")]:
            found.setdefault(name + path[len(alias) :], Uses()).add(found[path])
    for node in ast.walk(tree):
        if isinstance(node, (ast.For, ast.comprehension)):
            for name, container in _taken_out(node.target, node.iter):
                if name in found and name != container:
                    found.setdefault(f"{container}[]", Uses()).add(found[name])
    return found


def _aliases(tree: ast.AST) -> list[tuple[str, str]]:
    """``h = model.hyp``, where nothing else is called ``h``: the last ones first."""
    bound = Counter(
        node.id if isinstance(node, ast.Name) else node.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.arg)
        or (isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
    )
    made = [
        (node.targets[0].id, dotted(node.value))
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    ]
    return [(alias, name) for alias, name in reversed(made) if name and bound[alias] == 1]


def _taken_out(target: ast.expr, source: ast.expr) -> Iterator[tuple[str, str]]:
    """``for i, (box, label) in enumerate(zip(boxes, labels))``: ``box`` of ``boxes``, and so on."""
    called = dotted(source.func) if isinstance(source, ast.Call) else ""
    if isinstance(source, ast.Call) and called in ("enumerate", "tqdm", "reversed") and source.args:
        if called == "enumerate":
            if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
                return
            target = target.elts[1]
        yield from _taken_out(target, source.args[0])
    elif isinstance(source, ast.Call) and called == "zip" and isinstance(target, ast.Tuple):
        for part, container in zip(target.elts, source.args, strict=False):
            yield from _taken_out(part, container)
    elif isinstance(target, ast.Name) and (name := dotted(source)):
        yield target.id, name


Sign = tuple[str, Any]


def _note(uses: Uses, sign: Sign) -> None:
    what, value = sign
    if what in ("attributes", "keys", "strings", "classes", "compared", "ends"):
        getattr(uses, what)[value] = None
    elif what == "ranks":
        uses.ranks.add(value)
    elif what == "parts":
        uses.parts = value
    elif what in ("tensor", "number"):
        setattr(uses, what, getattr(uses, what) + 1)
    else:
        setattr(uses, what, True)


def dotted(node: ast.AST) -> str:
    """``config.hidden_size`` for such an expression, else an empty text."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return base and f"{base}.{node.attr}"
    return ""


def _signs(node: ast.AST) -> Iterator[tuple[str, Sign]]:
    if isinstance(node, ast.Attribute):
        name = dotted(node.value)
        if name:
            if node.attr in _METHODS_OF_TENSORS:
                yield name, ("tensor", 1)
            elif node.attr in _METHODS_OF_LISTS:
                yield name, ("iterated", True)
            elif node.attr in _METHODS_OF_DICTS:
                yield name, ("mapping", True)
            else:
                yield name, ("attributes", node.attr)
    elif isinstance(node, ast.Subscript):
        yield from _of_subscript(node)
    elif isinstance(node, ast.Call):
        yield from _of_call(node)
    elif isinstance(node, ast.BinOp):
        yield from _of_arithmetic(node)
    elif isinstance(node, ast.Compare):
        yield from _of_comparison(node)
    elif isinstance(node, (ast.For, ast.comprehension)):
        yield from _of_loop(node.target, node.iter)
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
        yield from _of_unpacking(node.targets[0], node.value)
    elif isinstance(node, (ast.If, ast.IfExp, ast.While, ast.Assert)):
        yield from _of_test(node.test)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _of_test(value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield from _of_test(node.operand)


def _of_loop(target: ast.expr, source: ast.expr) -> Iterator[tuple[str, Sign]]:
    """``for image, label in loader``, or in ``enumerate(loader)`` and the like."""
    if isinstance(source, ast.Call) and source.args:
        called = dotted(source.func)
        if called == "enumerate":
            if isinstance(target, ast.Tuple) and len(target.elts) == 2:
                yield from _of_loop(target.elts[1], source.args[0])
        elif called.rpartition(".")[2] in ("tqdm", "reversed"):
            yield from _of_loop(target, source.args[0])
    elif name := dotted(source):
        yield name, ("iterated", True)
        if isinstance(target, ast.Tuple):
            yield f"{name}[]", ("parts", len(target.elts))


def _of_test(test: ast.expr) -> Iterator[tuple[str, Sign]]:
    if name := dotted(test):
        yield name, ("tested", True)


def _of_subscript(node: ast.Subscript) -> Iterator[tuple[str, Sign]]:
    name = dotted(node.value)
    index = node.slice
    if name and isinstance(index, ast.Constant) and isinstance(index.value, str):
        yield name, ("keys", index.value)
    if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        holder = dotted(node.value.value)
        yield from _of_index(holder, index)
    if name and isinstance(index, ast.Tuple):
        spread = any(isinstance(part, ast.Constant) and part.value is ... for part in index.elts)
        new = sum(isinstance(part, ast.Constant) and part.value is None for part in index.elts)
        yield name, ("tensor", 1)
        if not spread:
            yield name, ("ranks", len(index.elts) - new)


def _of_index(name: str, index: ast.expr) -> Iterator[tuple[str, Sign]]:
    """``x.shape[2]`` and ``x.size(-3)`` take three dimensions."""
    try:
        at = ast.literal_eval(index)
    except ValueError:
        return
    if name and isinstance(at, int):
        yield name, ("ranks", at + 1 if at >= 0 else -at)


def _of_call(node: ast.Call) -> Iterator[tuple[str, Sign]]:
    callee = dotted(node.func)
    head, _, last = callee.rpartition(".")
    if callee and (node.args or (node.keywords and not head)):
        yield callee, ("called", True)
        if len(node.args) + len(node.keywords) > 1:
            yield callee, ("several", True)
    elif callee:
        yield callee, ("asked", True)
    if last == "endswith" and head and len(node.args) == 1:
        asked = node.args[0]
        for end in asked.elts if isinstance(asked, ast.Tuple) else [asked]:
            if isinstance(end, ast.Constant) and isinstance(end.value, str):
                yield head, ("ends", end.value)
    if last == "size" and len(node.args) == 1:
        yield from _of_index(head, node.args[0])
    if last == "permute" and head and all(isinstance(a, ast.Constant) for a in node.args):
        yield head, ("ranks", len(node.args))
    if callee == "isinstance" and len(node.args) == 2 and (name := dotted(node.args[0])):
        kinds = node.args[1]
        for kind in kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]:
            yield name, ("classes", dotted(kind))
    if callee == "int":  # `int(size * fraction)`
        for part in ast.walk(node):
            if isinstance(part, (ast.Name, ast.Attribute)) and dotted(part) not in ("", "int"):
                yield dotted(part), ("number", 1)
    for at, argument in enumerate(node.args):
        name = dotted(argument)
        if not name:
            continue
        if last in _READERS and at == 0 and not head.startswith("self"):
            yield name, ("path", True)
        elif last in _WHOLE_NUMBERS:
            yield name, ("number", 1)
        elif head == "torch":
            yield name, (_kind_in_schemas(last, at), 1)
        elif head.split(".")[0] in ("torch", "F", "self") or last in _PATTERNED:
            yield name, ("tensor", 1)
    if last in _PATTERNED and len(node.args) > 1:
        name, pattern = dotted(node.args[0]), node.args[1]
        if name and isinstance(pattern, ast.Constant) and isinstance(pattern.value, str):
            axes = re.sub(r"\([^)]*\)", "g", pattern.value.partition("->")[0])
            if "..." not in axes and axes.split():
                yield name, ("ranks", len(axes.split()))


@cache
def _kind_in_schemas(function: str, at: int) -> str:
    """Does ``torch.stft(x, n_fft)`` take a tensor or a number there?  ATen's schemas say."""
    if function in _SIZED:
        return "number"
    packet = getattr(torch.ops.aten, function, None)
    found = set()
    for overload in packet.overloads() if packet is not None else ():
        arguments = getattr(packet, overload)._schema.arguments
        if at < len(arguments) and not arguments[at].kwarg_only:
            found.add(str(arguments[at].type))
    tensors = any("Tensor" in kind for kind in found)
    return "tensor" if tensors or not found else "number"


def _of_arithmetic(node: ast.BinOp) -> Iterator[tuple[str, Sign]]:
    for side in (node.left, node.right):
        name = dotted(side)
        if not name:
            continue
        if isinstance(node.op, (ast.FloorDiv, ast.Mod, ast.Pow)):
            yield name, ("number", 1)
        elif isinstance(node.op, ast.MatMult):
            yield name, ("tensor", 1)


def _of_comparison(node: ast.Compare) -> Iterator[tuple[str, Sign]]:
    if isinstance(node.left, ast.Call) and dotted(node.left.func) == "type" and node.left.args:
        for other in node.comparators:  # `type(x) == np.ndarray`
            if (name := dotted(node.left.args[0])) and dotted(other):
                yield name, ("classes", dotted(other))
    name = dotted(node.left)
    if not name:
        return
    for other in node.comparators:
        parts = other.elts if isinstance(other, (ast.Tuple, ast.List, ast.Set)) else [other]
        for part in parts:
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield name, ("strings", part.value)
            elif dotted(part):
                yield name, ("compared", dotted(part))


def _of_unpacking(target: ast.Tuple, value: ast.expr) -> Iterator[tuple[str, Sign]]:
    count = len(target.elts)
    if any(isinstance(part, ast.Starred) for part in target.elts):
        return
    if isinstance(value, ast.Call):
        value = value.func
    if isinstance(value, ast.Attribute) and value.attr in ("shape", "size"):
        if name := dotted(value.value):
            yield name, ("ranks", count)
    elif name := dotted(value):
        yield name, ("parts", count)


def assigned_attributes(tree: ast.AST) -> dict[str, set[str]]:
    """``self.dim = 2 * width`` -> ``{"dim": {"width"}}``: of what a class keeps its arguments."""
    kept: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            names = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
            for target in node.targets:
                if isinstance(target, ast.Attribute) and dotted(target.value) == "self":
                    kept.setdefault(target.attr, set()).update(names)
    return kept
