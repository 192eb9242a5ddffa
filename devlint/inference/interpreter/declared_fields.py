"""Fields that a class declares and its generated constructor fills: those of a dataclass, or of a
model of pydantic.

@dataclass
class Batch:
    images: Tensor

    def to(self, device):
        self.images.to(device)     # a tensor, wherever the caller has it
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.host import NONE, Const, External
from devlint.inference.domain.placement import Variable, VariableKind
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, alternatives, union
from devlint.inference.interpreter.annotations import Given, declared_value
from devlint.inference.program.declarations import ClassInfo
from devlint.inference.program.frames import Frame, interpreter_of

_GENERATORS = frozenset(
    {"dataclasses.dataclass", "attr.s", "attr.attrs", "attr.dataclass", "attr.define"}
    | {"attrs.define", "attrs.frozen", "attrs.mutable", "attr.frozen", "attr.mutable"}
)
_GENERATING_BASES = frozenset(
    {"pydantic.BaseModel", "pydantic.BaseSettings", "pydantic_settings.BaseSettings"}
    | {"sqlmodel.SQLModel", "typing.NamedTuple"}
)


def handed_in(info: ClassInfo) -> frozenset[str]:
    """The fields that whoever makes an object may give another value than the class says:
    `device: str = "cuda"`."""
    if info.handed_in is None:
        frame = Frame(info.unit, interpreter_of(info.unit), info=info)
        is_generated = any(_is_generated(frame, ancestor) for ancestor in info.lineage())
        info.handed_in = frozenset(info.declared_fields() if is_generated else ())
    return info.handed_in


def fields_of_class(info: ClassInfo) -> dict[str, Value]:
    """The tensors that a class declares and is made of, by name, as its methods find them."""
    if info.declared_tensors is None:
        info.declared_tensors = {}
        frame = Frame(info.unit, interpreter_of(info.unit), info=info)
        for ancestor in reversed(info.lineage()):
            if _is_generated(frame, ancestor):
                info.declared_tensors |= _declared(frame, ancestor)
    return info.declared_tensors


def _declared(frame: Frame, info: ClassInfo) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, declaration in info.own_fields():
        held = None if name in info.declared else _tensor(frame, info, name, declaration)
        if held is not None:
            found[name] = held
    return found


def _is_generated(frame: Frame, info: ClassInfo) -> bool:
    """A decorator, or a base, makes the constructor of the declared fields."""
    if info.is_module or "__init__" in info.methods:
        return False
    if any(type(base) is External and base.name in _GENERATING_BASES for base in info.bases):
        return True
    for each in info.node.decorators:
        decorator = each.decorator
        found = frame.eval(decorator.func if isinstance(decorator, cst.Call) else decorator)
        if type(found) is External and found.name in _GENERATORS:
            return True
    return False


def _tensor(frame: Frame, info: ClassInfo, name: str, declared: cst.AnnAssign) -> Value | None:
    variable = Variable(f"self.{name}", VariableKind.INPUT, True)
    note = f"`{name}` is handed in by whoever makes a `{info.name}`"
    origin = Provenance(StepKind.PARAMETER, declared, info.unit.source, None, note)
    given = Given(variable, None if frame.constructing else variable, origin)
    held = declared_value(frame, declared.annotation.annotation, given)
    if type(held) is not Tensor or not held.is_sure:
        return None
    default = frame.eval(declared.value) if declared.value is not None else None
    is_left_out = type(default) is Const and default.value is None
    return union((held, NONE)) if is_left_out else held


def given_to(info: ClassInfo, fields: dict[str, Value]) -> dict[Variable, Tensor]:
    """Where an object has its declared tensors, by what it is made of."""
    found: dict[Variable, Tensor] = {}
    for name, held in fields_of_class(info).items():
        for tensor in alternatives(held):
            if type(tensor) is Tensor and type(tensor.place) is Variable and name in fields:
                given = [v for v in alternatives(fields[name]) if type(v) is Tensor]
                found[tensor.place] = given[0] if len(given) == 1 else Tensor(None)
    return found
