"""Imports: what the names stand for that a file takes from others."""

from __future__ import annotations

from functools import partial

from devlint.inference.domain.host import External
from devlint.inference.domain.value import UNKNOWN, Value
from devlint.inference.program.frames import UNIMPORTED, lookup
from devlint.inference.program.units import CONTRACTS, REFUSED, Context
from devlint.inference.program.values import Imported, ProjectModule, read


def imported(context: Context, module: str, name: str | None = None) -> Value:
    """What an import binds: of the project's own, a promise that is kept when it is used."""
    has = context.has
    if name is None:
        ask = partial(module_of, context, module)
        return Imported(ask) if has(module) else ask()
    is_own = has(module) or not module or has(f"{module}.{name}")
    ask = partial(member_of, context, module, name)
    return Imported(ask) if is_own else ask()


def module_of(context: Context, name: str) -> Value:
    """What `import name` stands for."""
    unit = context.load(name)
    if unit is not None:
        return ProjectModule(unit)
    if context.has(name):
        return External(f"{REFUSED}.{name}")  # too much was imported already
    if name:
        context.knowledge.ensure(name.partition(".")[0])
    return External(name)


def member_of(context: Context, module: str, name: str) -> Value:
    """What `from module import name` stands for."""
    if not module:
        sibling = context.load(name)
        return ProjectModule(sibling) if sibling is not None else UNKNOWN
    if f"{module}.{name}" == CONTRACTS:
        return External(CONTRACTS)
    unit = context.load(module)
    if unit is not None:
        value = lookup(unit, name) if name not in UNIMPORTED else read(unit.env, name)
        if value is not None:
            return value
    submodule = context.load(f"{module}.{name}")
    if submodule is not None:
        return ProjectModule(submodule)
    if unit is not None:
        return UNKNOWN
    if context.has(module):
        return External(f"{REFUSED}.{name}")
    context.knowledge.ensure(module.partition(".")[0])
    return External(f"{module}.{name}")


def exports_of(context: Context, module: str) -> dict[str, Value]:
    """What `from module import *` binds."""
    unit = context.load(module)
    if unit is None:
        return _STARS.get(module, {})
    return {
        name: value
        for name, value in unit.env.items()
        if isinstance(name, str) and not name.startswith("_") and "." not in name
    }


_STARS: dict[str, dict[str, Value]] = {
    "torch": {name: External(f"torch.{name}") for name in ("zeros", "ones", "tensor", "cat", "nn")},
    "torch.nn": {
        name: External(f"torch.nn.{name}")
        for name in ("Module", "Linear", "Conv2d", "Parameter", "Sequential", "functional")
    },
}
