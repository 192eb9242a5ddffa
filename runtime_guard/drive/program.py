"""The text of a call: what is tried, and what the witness says.

From ``Entry("Net", "forward")`` and the values chosen so far come the lines

    receiver = pkg.net.Net(dim=8).to(card)
    receiver(x=torch.rand(2, 8, device=card))

and the slots that they have, each with its value, for what is to be tried otherwise.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from runtime_guard.drive.arguments import MODULE, Slot, candidates, element_of, slots_of
from runtime_guard.drive.examples import Call, Example, examples_of
from runtime_guard.drive.plan import Entry
from runtime_guard.drive.scenario import Data
from runtime_guard.drive.values import (
    Address,
    Instance,
    Omitted,
    Options,
    Record,
    Several,
    Table,
    Tensor,
    Text,
    Value,
)

Choices = Mapping[Address, Value]
WIDTH = 88
MAX_DEPTH = 5
FILE = "file"
"""Begins the address of a file that is made; its path follows."""
GROUP = "group"
"""Begins the address of the process group, which is made where it is asked for."""


class NotMade(ValueError):
    """No call can be written; the message says of what."""


@dataclass
class Program:
    """Lines of Python that need ``torch``, ``card`` and the modules; and their slots."""

    lines: list[str] = field(default_factory=list)
    modules: dict[str, None] = field(default_factory=dict)
    slots: dict[Address, tuple[Slot, Value]] = field(default_factory=dict)
    calls: int = 1
    data: Data = "card"
    made: dict[Address, type] = field(default_factory=dict)
    """The classes that are called, by the address of what they make."""
    around: dict[Address, Value] = field(default_factory=dict)
    """What is not handed in: the files that are read, and the process group."""
    helpers: dict[str, None] = field(default_factory=dict)
    """Names of ``objects`` that the lines need."""

    @property
    def text(self) -> str:
        lines: list[str] = []
        for name in self.modules:
            alias = _alias(name)
            if alias != name:
                lines.append(f'{alias} = import_module("{name}")')
            elif name.startswith("torch."):  # `import` would make `torch` a name of a function's
                lines.append(f'import_module("{name}")')
            else:
                lines.append(f"import {name}")
        if any("import_module(" in line for line in lines):
            lines.insert(0, "from importlib import import_module")
        if self.files:
            lines.append("from runtime_guard.drive.files import missing_file")
            lines += (f"missing_file({path!r})" for path in self.files)
        grouped = (GROUP,) in self.around
        helpers = [*self.helpers, *(["process_group"] if grouped else [])]
        if helpers:
            lines.append(f"from runtime_guard.drive.objects import {', '.join(sorted(helpers))}")
        if grouped:
            lines.append("process_group()")
        return "\n".join([*lines, *self.lines]) + "\n"

    @property
    def files(self) -> tuple[str, ...]:
        """What is read, and is not there."""
        return tuple(address[1] for address in self.around if address[0] == FILE)

    def reference(self, module: str, name: str) -> str:
        """How ``name`` of ``module`` is written, which is imported."""
        self.modules[module] = None
        return f"{_alias(module)}.{name}"


def _alias(module: str) -> str:
    """``pkg.auroc``; ``pkg_auroc`` where ``pkg`` has a function of that name, which hides it."""
    first, *rest = module.split(".")
    found: Any = sys.modules.get(first)
    for part in rest:
        found = getattr(found, part, None)
    if found is None or found is sys.modules.get(module):
        return module
    return module.replace(".", "_")


def write(
    module: types.ModuleType, entry: Entry, choices: Choices, calls: int = 1, data: Data = "card"
) -> Program:
    """The program that goes in by ``entry``, ``calls`` times.  Raises ``NotMade``."""
    around = {address: value for address, value in choices.items() if address[0] in (FILE, GROUP)}
    program = Program(calls=calls, data=data, around=around)
    program.modules[module.__name__] = None
    if not entry.function:
        return program
    if not entry.owner:
        function = _find(module, entry.function)
        called = program.reference(module.__name__, entry.function)
        _call(program, called, function, ("arg",), choices)
        if data == "host until moved" and program.lines[-1].startswith("result = "):
            program.lines += _MOVED
        return program
    owner = _find(module, entry.owner)
    if not inspect.isclass(owner):
        raise NotMade(f"{entry.owner} is no class at run time")
    owner = _concrete(owner, entry.function)
    _method(program, owner, entry.function, choices)
    return program


_MOVED = (
    "if isinstance(result, torch.nn.Module):",
    "    result.to(card)",
)
"""What a function builds goes to the card, as what a class makes does."""


def _find(holder: Any, path: str) -> Any:
    for name in path.split("."):
        holder = getattr(holder, name, None)
        if holder is None:
            raise NotMade(f"the module has no {path} when it is imported")
    return holder


def _concrete(owner: type, method: str) -> type:
    """``owner``, or a subclass of its module that can be made."""
    if not inspect.isabstract(owner):
        return owner
    for other in vars(inspect.getmodule(owner) or owner).values():
        if (
            inspect.isclass(other)
            and issubclass(other, owner)
            and not inspect.isabstract(other)
            and getattr(other, method, None) is getattr(owner, method, None)
        ):
            return other
    missing = ", ".join(sorted(getattr(owner, "__abstractmethods__", ())))
    raise NotMade(f"{owner.__name__} is abstract ({missing}), and no class here fills it in")


def _method(program: Program, owner: type, name: str, choices: Choices) -> None:
    where = program.reference(owner.__module__, owner.__qualname__)
    plain = inspect.getattr_static(owner, name, None)
    if plain is None:
        raise NotMade(f"{owner.__name__} has no {name} at run time")
    if issubclass(owner, torch.autograd.Function) and name == "forward":
        _call(program, f"{where}.apply", plain.__func__, ("arg",), choices, skip=1)
        return
    if isinstance(plain, (staticmethod, classmethod)):
        _call(program, f"{where}.{name}", getattr(owner, name), ("arg",), choices)
        return
    receiver = _instance(program, owner, ("self",), choices, 0)
    program.lines.append(f"receiver = {receiver}")
    if name == "__init__":
        return
    if issubclass(owner, torch.optim.Optimizer):
        program.lines += _GRADIENTS
    elif issubclass(owner, torch.nn.Module):
        _training(program, plain, choices)
    if isinstance(plain, property) or not callable(plain):
        program.lines.append(f"receiver.{name}")
        return
    called = "receiver" if _is_forward(owner, name) else f"receiver.{name}"
    own = called == "receiver" and owner.__call__ is not torch.nn.Module.__call__
    _call(program, called, plain, ("arg",), choices, skip=1, by_position=own)


_GRADIENTS = (
    'for parameter in (p for group in receiver.param_groups for p in group["params"]):',
    "    parameter.grad = torch.rand_like(parameter)",
)
"""An optimizer does nothing to what has none."""


def _training(program: Program, method: Any, choices: Choices) -> None:
    """A module is in training until it is told otherwise."""
    code = getattr(inspect.unwrap(method), "__code__", None)
    slot = Slot(
        ("receiver", "training"),
        "training",
        optional=True,
        default=True,
        path="self.training",
        code=(code.co_filename, code.co_firstlineno) if code is not None else None,
    )
    value = choices.get(slot.address, Omitted())
    program.slots[slot.address] = slot, value
    if value == Text("False"):
        program.lines.append("receiver.eval()")


def _is_forward(owner: type, name: str) -> bool:
    return name == "forward" and issubclass(owner, torch.nn.Module)


def _call(
    program: Program,
    called: str,
    function: Any,
    prefix: Address,
    choices: Choices,
    skip: int = 0,
    by_position: bool = False,
) -> None:
    arguments = _arguments(program, function, prefix, choices, 0, skip, by_position)
    inner = inspect.unwrap(function)
    text = _layout(called, arguments, len("result = "))
    if inspect.isgeneratorfunction(inner):
        program.lines.append(f"for _ in zip(range(4), {text}):\n    pass")
    elif inspect.iscoroutinefunction(inner):
        program.lines.append(f"import asyncio\nasyncio.run({text})")
    elif program.calls > 1:
        inside = f"result = {text}".replace("\n", "\n    ")
        program.lines.append(f"for _ in range({program.calls}):\n    {inside}")
    else:
        program.lines.append(f"result = {text}")


def _arguments(
    program: Program,
    function: Any,
    prefix: Address,
    choices: Choices,
    depth: int,
    skip: int = 0,
    by_position: bool = False,
) -> list[str]:
    """``by_position``: as many as can be, for a ``__call__`` that names them otherwise."""
    try:
        slots = slots_of(function, prefix)[skip:]
    except (ValueError, TypeError) as error:
        raise NotMade(f"{getattr(function, '__name__', function)}: {error}") from None
    written: list[tuple[Slot, str]] = []
    leading: set[Address] = set()
    for slot in slots:
        text = _text(program, slot, choices, depth)
        if text is not None:
            written.append((slot, text))
        by_position = by_position and text is not None
        if by_position:
            leading.add(slot.address)
    spread = any(slot.kind is inspect.Parameter.VAR_POSITIONAL for slot, _ in written)
    arguments = []
    for slot, text in written:
        unnamed = slot.kind in (slot.kind.POSITIONAL_ONLY, slot.kind.VAR_POSITIONAL)
        first = spread or slot.address in leading
        if unnamed or (first and slot.kind is slot.kind.POSITIONAL_OR_KEYWORD):
            arguments.append(text)
        else:
            arguments.append(f"{slot.name}={text}")
    return arguments


def _text(program: Program, slot: Slot, choices: Choices, depth: int) -> str | None:
    """The expression for ``slot``; None where it is left out."""
    if depth > MAX_DEPTH:
        raise NotMade(f"`{slot.name}` would take objects within objects within objects")
    value = choices.get(slot.address)
    if value is None:
        value = candidates(slot)[0]
    program.slots[slot.address] = slot, value
    if isinstance(value, Omitted):
        return None
    if isinstance(value, (Text, Tensor)):
        return _where(program, slot, value)
    if isinstance(value, Instance):
        try:
            made: Any = _find(importlib.import_module(value.module), value.name)
        except ImportError as error:
            raise NotMade(f"`{slot.name}` is of {value.module}: {error}") from None
        return _instance(program, made, slot.address, choices, depth + 1)
    if isinstance(value, Several):
        name = slot.name.removesuffix("s") if slot.name.endswith("s") else ""
        part = slot.part("[]", name, element_of(slot.annotation))
        text = _text(program, part, choices, depth + 1)
        inside = ", ".join([text or "None"] * value.count)
        return f"({inside},)" if value.as_tuple else f"[{inside}]"
    if isinstance(value, Record):
        parts = {name: slot.part(f".{name}", name) for name in value.attributes}
        opening, between = "types.SimpleNamespace(", "="
        if value.module:
            program.helpers["module_with"] = None
            opening = f"module_with({_where(program, slot, MODULE)}, "
    else:
        assert isinstance(value, Table)
        parts = {key: slot.part(key, key, element_of(slot.annotation)) for key in value.keys}
        opening, between = "dict(", "="
        if not all(key.isidentifier() for key in value.keys):
            texts = {key: _text(program, part, choices, depth + 1) for key, part in parts.items()}
            return "{" + ", ".join(f"{key!r}: {text}" for key, text in texts.items()) + "}"
    if opening.startswith("types"):
        program.modules["types"] = None
    written = [
        f"{name}{between}{_text(program, part, choices, depth + 1) or 'None'}"
        for name, part in parts.items()
    ]
    return opening + ", ".join(written) + ")"


def _where(program: Program, slot: Slot, value: Text | Tensor) -> str:
    """The expression for a tensor or a module, on the card or the host as the scenario says."""
    waits = program.data == "host until moved" and _in_module(program, slot.address)
    if isinstance(value, Tensor):
        return value.made("") if waits or program.data == "host" else value.source
    text = value.on_host if waits else value.source
    if program.data == "host":
        text = text.replace(", device=card", "")
    for module in value.modules:
        program.modules[module] = None
        text = text.replace(f"{module}.", f"{_alias(module)}.")
    return text


_PUT = ".to(card)"


def _in_module(program: Program, address: Address) -> bool:
    """Is it handed to a module's constructor, or part of what is?"""
    return any(
        outer != address and address[: len(outer)] == outer and issubclass(made, torch.nn.Module)
        for outer, made in program.made.items()
    )


def _instance(program: Program, made: type, address: Address, choices: Choices, depth: int) -> str:
    if inspect.isabstract(made):
        made = _concrete(made, "__init__")
    program.made[address] = made
    arguments = _arguments(program, made, address, choices, depth)
    called = program.reference(made.__module__, made.__qualname__)
    text = _layout(called, arguments, len("receiver = "))
    waits = program.data == "host until moved" and _in_module(program, address)
    return text + _PUT if issubclass(made, torch.nn.Module) and not waits else text


def choices_of(program: Program, example: Example) -> dict[Address, Value]:
    """The values of ``example``, by the slots of ``program``, which makes the same call."""
    return {
        **_of_call(program, ("self",), example.made),
        **_of_call(program, ("arg",), example.called),
    }


def _of_call(program: Program, prefix: Address, call: Call | None) -> dict[Address, Value]:
    if call is None:
        return {}
    depth = len(prefix) + 1
    slots = [a for a in program.slots if len(a) == depth and a[: len(prefix)] == prefix]
    by_name = {address[-1]: address for address in slots}
    given = [pair for pair in zip(slots, call.positional, strict=False) if pair[1]]
    given += ((by_name[name], value) for name, value in call.named if name in by_name)
    chosen: dict[Address, Value] = {}
    for address, value in given:
        if isinstance(value, Options):
            uses = program.slots[address][0].uses
            known = [name for name, _ in value.known]
            chosen[address] = Record(tuple(uses.attributes or known))
            chosen.update(((*address, f".{name}"), part) for name, part in value.known)
        elif value is not None:
            chosen[address] = value
    return chosen


def choices_of_parts(program: Program, root: str) -> dict[Address, Value]:
    """For the objects that are made for arguments: as the project makes such ones."""
    chosen: dict[Address, Value] = {}
    for address, made in program.made.items():
        if address == ("self",):
            continue
        file = inspect.getsourcefile(made)
        if file is None or not os.path.realpath(file).startswith(os.path.realpath(root) + os.sep):
            continue
        entry = Entry(made.__qualname__, "__init__")
        for example in examples_of(file, root, entry)[:1]:
            chosen.update(_of_call(program, address, example.made))
    return chosen


def _layout(called: str, arguments: list[str], before: int) -> str:
    """The call on one line, or with a line for each argument."""
    text = f"{called}({', '.join(arguments)})"
    if len(text) + before <= WIDTH or not arguments:
        return text
    lines = [line for argument in arguments for line in f"{argument},".split("\n")]
    return f"{called}(\n" + "".join(f"    {line}\n" for line in lines) + ")"
