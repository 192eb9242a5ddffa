"""Imports: what the names stand for that a file takes from others.

An absolute name that nothing in the project answers to means the module beside the importing file,
also where its folder is a package: scripts are run from their folder, and Python 2 meant it so.
The standard library and packages that are known to be installed come first. Of such a neighbour a
name is taken that it binds; for any other the absolute name stays what it says.
"""

from __future__ import annotations

from functools import partial

from devlint.inference.conventions import is_installed
from devlint.inference.domain.host import External
from devlint.inference.domain.value import UNKNOWN, Value
from devlint.inference.program.frames import UNIMPORTED, lookup
from devlint.inference.program.units import CONTRACTS, REFUSED, Context, Unit
from devlint.inference.program.values import Imported, ProjectModule, read


def meant(unit: Unit, module: str) -> str:
    """The module that an absolute import in a file is of: its own name, or that of a neighbour."""
    context, package = unit.context, module.partition(".")[0]
    if not package or context.has(package) or context.has(module) or is_installed(package):
        return module
    beside = unit.absolute(module, 1)
    own = unit.source.module_name
    return beside if beside not in (module, own) and context.has(beside) else module


def imported(unit: Unit, module: str, name: str | None = None, level: int = 0) -> Value:
    """What an import binds: of the project's own, a promise that is kept when it is used.

    level: of a relative import, `from ..parts import name`.
    """
    context = unit.context
    if level:
        return _imported(context, unit.absolute(module, level), name)
    found = meant(unit, module)
    if found == module or name is None:
        return _imported(context, found, name)
    return Imported(partial(_of_neighbour, context, found, module, name))


def _of_neighbour(context: Context, found: str, module: str, name: str) -> Value:
    """A name of a module beside the importing one, else of the absolute one."""
    value = _own_member(context, found, name)
    if value is None and context.load(found) is None:
        return External(f"{REFUSED}.{name}")
    return member_of(context, module, name) if value is None else value


def _imported(context: Context, module: str, name: str | None) -> Value:
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
    found = _own_member(context, module, name)
    if found is not None:
        return found
    if context.load(module) is not None:
        return UNKNOWN
    if context.has(module):
        return External(f"{REFUSED}.{name}")
    context.knowledge.ensure(module.partition(".")[0])
    return External(f"{module}.{name}")


def _own_member(context: Context, module: str, name: str) -> Value | None:
    """A name that a module of the project binds, or its own part of that name."""
    unit = context.load(module)
    if unit is not None:
        value = lookup(unit, name) if name not in UNIMPORTED else read(unit.env, name)
        if value is not None:
            return value
    submodule = context.load(f"{module}.{name}")
    return None if submodule is None else ProjectModule(submodule)


def take_all(unit: Unit, module: str, level: int) -> dict[str, Value]:
    """What `from module import *` binds, and a note of where else it may bring names from."""
    context = unit.context
    module = unit.absolute(module, level) if level else meant(unit, module)
    starred = context.load(module)
    if starred is None and module in _STARS:
        return _STARS[module]
    if context.has(module):
        if starred is not unit:
            unit.stars.append(starred)
    elif not is_installed(module.partition(".")[0]):
        unit.has_star_out_of_sight = True
    if starred is None:
        return {}
    return {
        name: value
        for name, value in starred.env.items()
        if isinstance(name, str) and not name.startswith("_") and "." not in name
    }


_STARS: dict[str, dict[str, Value]] = {
    "torch": {name: External(f"torch.{name}") for name in ("zeros", "ones", "tensor", "cat", "nn")},
    "torch.nn": {
        name: External(f"torch.nn.{name}")
        for name in ("Module", "Linear", "Conv2d", "Parameter", "Sequential", "functional")
    },
}
