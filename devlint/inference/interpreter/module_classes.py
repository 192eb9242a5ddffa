"""Module classes: which classes are `nn.Module`s, by their bases, or by what they do where a base
is out of sight."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.host import External
from devlint.inference.domain.value import Value, alternatives, is_untold
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.program.values import ClassValue
from devlint.inference.syntax.text import code, dotted, every, is_super_constructor

# Bases that are modules by their name, when their definition is out of sight.
_MODULE_ENDINGS = ("Module", "PreTrainedModel", "ModelMixin", "Metric", "Loss", "MessagePassing")


def is_module_class(unit: Unit, base: Value) -> bool:
    if type(base) is ClassValue:
        return base.info.is_module and not base.info.mixed_in
    if type(base) is not External:
        return False
    if base.name in ("torch.nn.Module", "torch.nn.modules.module.Module"):
        return True
    if unit.context.knowledge.module(base.name) is not None:
        return True
    root, _, last = base.name.rpartition(".")
    if _is_no_module(base.name) or "torch" not in unit.source.text:
        return False
    return bool(root) and last.endswith(_MODULE_ENDINGS)


def _is_no_module(base: str) -> bool:
    """By its name: of another framework, or what holds the data for a module."""
    return base.endswith("DataModule") or holds("other-framework", base)


def looks_like_module(frame: Frame, node: cst.ClassDef, bases: list[Value]) -> bool:
    """A class with a base out of sight, and a `forward` or layers of its own: Python's own `object`
    is in sight."""
    if not any(
        is_untold(base) or (type(base) is External and not base.name.startswith("builtins."))
        for base in bases
    ):
        return False
    others = ("torch.autograd", "abc")
    if any(
        type(base) is External and (base.name.startswith(others) or _is_no_module(base.name))
        for base in bases
    ):
        return False
    methods = {s.name.value: s for s in node.body.body if isinstance(s, cst.FunctionDef)}
    if "backward" in methods:
        return False
    return "forward" in methods or (
        "__init__" in methods and _makes_layers(frame, node, methods["__init__"])
    )


def _makes_layers(frame: Frame, node: cst.ClassDef, constructor: cst.FunctionDef) -> bool:
    """It calls the constructor above, and keeps layers with a state of their own in `self`, which
    it leaves where they are and to others to train: whoever owns a module and is none, an agent or
    a trainer, moves it or makes its optimizer."""
    calls_above, keeps_layers = False, False
    body = constructor.body.body
    for line in body if isinstance(constructor.body, cst.IndentedBlock) else ():
        for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            value = small.value if isinstance(small, (cst.Expr, cst.Assign)) else None
            if not isinstance(value, cst.Call):
                continue
            if isinstance(small, cst.Assign):
                kept = dotted(small.targets[0].target).startswith("self.")
                keeps_layers = keeps_layers or (kept and _is_layer(frame, value.func))
            else:
                calls_above = calls_above or is_super_constructor(value)
    return calls_above and keeps_layers and not holds("module-owner-text", code(node))


def _is_layer(frame: Frame, func: cst.BaseExpression) -> bool:
    made = frame.eval(func) if dotted(func) else None
    if type(made) is not External or not made.name.startswith("torch.nn."):
        return False
    known = frame.unit.context.knowledge.module(made.name)
    return known is not None and known.stateful == "always"


class _Bases:
    """The bases that the classes of a file have beside each one, by its name."""

    def __init__(self, unit: Unit) -> None:
        self.beside: dict[str, list[list[cst.BaseExpression]]] = {}
        for node in every(unit.tree, cst.ClassDef):
            bases = [each.value for each in node.bases if dotted(each.value)]
            for base in bases:
                others = [each for each in bases if each is not base]
                self.beside.setdefault(dotted(base), []).append(others)


def is_mixed_in(frame: Frame, name: str) -> bool:
    """All classes of the file that inherit this one are modules by another base:
    `class Net(nn.Module, WithEmbeddings)`."""
    beside = frame.unit.kept(_Bases).beside.get(name, ())
    unit = frame.unit
    return bool(beside) and all(
        any(is_module_class(unit, v) for base in others for v in alternatives(frame.eval(base)))
        for others in beside
    )
