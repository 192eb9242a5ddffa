"""Modules that an object keeps, and which of them it registers.

`self.layers = nn.ModuleList(blocks)` registers the blocks, `self.layers = blocks` does not.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.placement import Variable
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.program.declarations import ClassInfo, classes_of
from devlint.inference.program.frames import Frame
from devlint.inference.program.values import Instance
from devlint.inference.syntax.text import dotted, every


class RegisteredModules:
    """Modules that an object holds by a name of their own, as a function leaves it:
    `self.last = last` beside `self.layers = [last]`, or in a `ModuleDict` of the same object."""

    def __init__(self, frame: Frame, info: ClassInfo | None = None) -> None:
        self._frame, self._info = frame, info or frame.info
        self._found: set[Value] | None = None
        self._made: set[cst.CSTNode] = set()  # the calls that make those of methods called here

    def __contains__(self, module: Instance) -> bool:
        if self._found is None:
            self._found = set()
            for key, held in self._frame.state.env.items():
                if isinstance(key, str) and key.startswith("self."):
                    for value in alternatives(held):
                        self._found.add(value)
                        if type(value) is Instance and value.items is not None:
                            self._found.update(modules_in(value.items.any()))
            info = self._info
            kin = [] if info is None else [*info.lineage(), *_heirs(info)]
            for held in (held for each in kin for held in each.attributes.values()):
                for value in alternatives(held):
                    if type(value) is Instance and value.module and value.origin is not None:
                        self._made.add(value.origin.root.node)
        made = module.origin.root.node if module.origin is not None else None
        return module in self._found or made in self._made


def _heirs(info: ClassInfo) -> list[ClassInfo]:
    """The classes of the file that inherit from this one, and may put into its containers what
    they register themselves."""
    return [each for each in classes_of(info.unit) if each is not info and info in each.lineage()]


def holds_modules(value: Value) -> bool:
    return isinstance(value, (Sequence, Mapping)) and bool(modules_in(value.any()))


def is_own(frame: Frame, module: Instance, registered: RegisteredModules) -> bool:
    """A module with state that only the container holds: not handed in, not registered besides."""
    if module.origin is not None and module.origin.kind is StepKind.PARAMETER:
        return False
    if module in registered:
        return False
    if type(module.place) is Variable or module.parent is not None:
        return False
    made = module.origin.node if module.origin is not None else None
    if isinstance(made, cst.Call) and any(
        dotted(a.keyword) == "device" for a in made.args if a.keyword
    ):
        return False  # it was told where to be
    return has_state(frame, module)


# Bases without a parameter of their own.
_EMPTY_BASES = frozenset(
    f"torch.nn.{name}" for name in ("Module", "Sequential", "ModuleList", "ModuleDict")
)


def has_state(frame: Frame, module: Instance, depth: int = 4) -> bool:
    """Whether a module has parameters or buffers, as far as is known."""
    if module.items is not None and module.items.items is not None:
        return any(
            has_state(frame, v, depth - 1) if type(v) is Instance else True
            for v in module.items.items
        )
    if module.info is not None:
        if module.info.library_bases and not all(
            b.startswith("torch.nn.") for b in module.info.library_bases
        ):
            return True
        for base in module.info.library_bases:  # `class Block(nn.Conv2d)`
            known = frame.unit.context.knowledge.module(base)
            if known is not None and known.stateful == "always" and base not in _EMPTY_BASES:
                return True
        for info in module.info.lineage():
            for name, kind in info.registered.items():
                held = info.attributes.get(name)
                if kind != "module" or type(held) is not Instance:
                    return True
                if depth and has_state(frame, held, depth - 1):
                    return True
        return False
    if module.library:
        known = frame.unit.context.knowledge.module(module.library)
        if known is not None and known.stateful == "weight":
            return bool(module.name)  # a loss that was given one
        return known is None or known.stateful != "never"
    return True


def modules_in(value: Value, depth: int = 2) -> list[Instance]:
    """The modules in a container, nested ones too."""
    found: list[Instance] = []
    for alternative in alternatives(value):
        if type(alternative) is Instance and alternative.module:
            found.append(alternative)
        elif isinstance(alternative, (Sequence, Mapping)) and depth:
            for child in alternative.children():
                found += modules_in(child, depth - 1)
    return found


_BY_NAME = ("add_module(", "register_module(", "setattr(self", "self.__setattr__(")


def registers_by_name(info: ClassInfo) -> bool:
    """The class registers modules under computed names besides, or their parameters:
    `self.register_parameter(f"weight_{i}", layer.weight)`."""
    text = info.text
    if any(call in text for call in _BY_NAME):
        return True
    calls = every(info.node, cst.Call) if "register_parameter(" in text else []
    return any(_registers_computed(call) for call in calls)


def _registers_computed(call: cst.Call) -> bool:
    if not dotted(call.func).endswith("self.register_parameter"):
        return False
    named = [each.value for each in call.args if each.keyword and each.keyword.value == "name"]
    given = named or [each.value for each in call.args[:1]]
    return not any(isinstance(value, cst.SimpleString) for value in given)


def is_handed_on(info: ClassInfo, name: str, source: cst.CSTNode) -> bool:
    """The class hands the container that it keeps there to a constructor, which may register what
    is in it: `self.layers = nn.ModuleList(self.layer_list)`."""
    own = {source.value} if isinstance(source, cst.Name) else set()
    return info.lists.hand_on({f"self.{name}", *own})
