"""Functions that nothing in sight uses, in files that are run or that the project does use, or only
such a one; and what no call hands to a private function.

A file whose other definitions are named elsewhere is no library for strangers only, nor is one that
runs itself: what is named neither there nor in the file itself is left over, and so it is in any
file of an application. Of other files that nobody names nothing is known: each may be what a
package offers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property

import libcst as cst

from devlint.inference.conventions import holds, without
from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import LEAVES, called_name, code, dotted, parts

_BETWEEN_WORDS = {code: " " for code in range(128) if not f"_{chr(code)}".isidentifier()}


def left_over(function: Function) -> str:
    """The function's name, or that of its class, if nothing in sight names it while the file runs,
    or the project names others of it, or if only such functions do; else "". What is decorated is
    registered somewhere, what overrides a method of a library is called by that."""
    info = function.outermost.info
    usage = function.unit.kept(_Usage)
    of_library = info is not None and bool(info.library_bases) and not usage.is_of_application
    names = _names_to_call(function)[: 1 if of_library else None]
    unnamed = usage.unnamed_of(names)
    if unnamed and (usage.is_used_besides(names) or usage.is_of_application):
        return unnamed
    return usage.unreached_of(names)


def uncalled(function: Function) -> str:
    """The same, for what fails there, if code out of sight may not call it. It may choose a class
    that the project does not; of an application it calls nothing. A method of a module is only
    called by who names it, unless `nn.Module` has it, too."""
    names = _names_to_call(function)
    usage, importer = function.unit.kept(_Usage), function.unit.context.importer
    unused = usage.unnamed_of(names) or usage.unreached_of(names)
    if not unused or (importer is not None and importer.is_application()):
        return unused
    is_own = unused == function.outermost.name
    return unused if is_own and usage.is_used_besides([unused]) else ""


def _names_to_call(function: Function) -> list[str]:
    """What has to be named by whoever calls a function: its class, and itself. None, where it may
    be called without that."""
    outer = function.outermost
    info = outer.info
    if outer.unit.context.importer is None or not isinstance(outer.node, cst.FunctionDef):
        return []
    node = outer.node if info is None else info.node
    decorators = (*node.decorators, *outer.node.decorators)
    if any(map(_registers, decorators)) or node not in outer.unit.kept(_Usage).defined:
        return []
    own = info is not None and not _is_called_by_ancestors(info, outer.name)
    return [node.name.value, outer.name] if own else [node.name.value]


def _registers(decorator: cst.Decorator) -> bool:
    """It may hand what it decorates to somebody: those of Python and of torch's modes do not."""
    node = decorator.decorator
    name = dotted(node.func if isinstance(node, cst.Call) else node)
    return not holds("plain-decorator", name)


def note(frame: Frame) -> None:
    """The function, of which something is noted, is called by nobody in sight, if that is so."""
    if frame.function is not None:
        note_function(frame.function)


def note_function(function: Function) -> None:
    """The same, of a function."""
    name = "" if function.unit.is_test else uncalled(function)
    if name:
        importer, facts = function.unit.context.importer, function.unit.facts
        facts.uncalled[function.node] = name
        facts.is_installed = importer is not None and not importer.is_application()


# What `torch.nn.Module` calls of what inherits from it.
_CALLED_BY_MODULE = frozenset(
    {"forward", "train", "eval", "to", "cuda", "cpu", "apply", "state_dict", "load_state_dict"}
    | {"parameters", "named_parameters", "buffers", "named_buffers", "children", "modules"}
    | {"named_children", "named_modules", "extra_repr", "get_extra_state", "set_extra_state"}
    | {"add_module", "register_buffer", "register_parameter", "zero_grad", "requires_grad_"}
    | {"_apply", "_get_name", "_load_from_state_dict", "_save_to_state_dict", "_named_members"}
)


def _is_called_by_ancestors(info: ClassInfo, name: str) -> bool:
    """Python, or a class that this one inherits from, may call its method of this name."""
    others = [each for each in info.lineage() if each is not info]
    if name.startswith("__") or any(name in each.methods for each in others):
        return True
    bases = {base for base in info.library_bases if base != "builtins.object"}
    return bool(bases) and (bases != {"torch.nn.Module"} or name in _CALLED_BY_MODULE)


class _Usage:
    """What a file and the others of its project name of what it defines."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        kinds = (cst.FunctionDef, cst.ClassDef)
        self.defined = {node: node.name.value for node in unit.tree.body if isinstance(node, kinds)}
        self._within: dict[str, int] = {}  # how often a name stands where it is defined

    def is_unnamed(self, name: str) -> bool:
        """Neither its own file names it, but inside of its own definition, `super(Net, self)`, nor
        another."""
        return self._words[name] == self._own(name) and not self._is_named_elsewhere(name)

    def _own(self, name: str) -> int:
        """How often a name stands where it is defined."""
        if self._words[name] == 1:
            return 1
        if name not in self._within:
            defining = self._definitions.get(name, ())
            self._within[name] = sum(_times_named(node, name) for node in defining) or 1
        return self._within[name]

    @cached_property
    def _definitions(self) -> Mapping[str, list[cst.FunctionDef | cst.ClassDef]]:
        """Those at the top of the file, and the methods of its classes, by name."""
        within = (node.body.body for node in self.defined if isinstance(node, cst.ClassDef))
        methods = (each for body in within for each in body if isinstance(each, cst.FunctionDef))
        found: defaultdict[str, list[cst.FunctionDef | cst.ClassDef]] = defaultdict(list)
        for node in (*self.defined, *methods):
            found[node.name.value].append(node)
        return found

    def is_reached(self, name: str) -> bool:
        """Something that may run uses it, however far away."""
        importer = self.unit.context.importer
        return importer is None or importer.reaches(name, self.unit.source.path)

    def unnamed_of(self, names: Iterable[str]) -> str:
        """The first of some names that nothing in sight names; "" without one."""
        return next((name for name in names if self.is_unnamed(name)), "")

    def unreached_of(self, names: Iterable[str]) -> str:
        """The first of some names that only what nothing uses names; "" without one."""
        return next((name for name in names if not self.is_reached(name)), "")

    def is_used_besides(self, names: Iterable[str]) -> bool:
        """The file runs itself, or the project names others of it than these."""
        return self.is_run or not self.elsewhere <= {*names}

    @cached_property
    def is_of_application(self) -> bool:
        """The project is run where it is, and none of its code takes out of the file what nothing
        names: what nobody names there nobody uses."""
        importer = self.unit.context.importer
        return (
            importer is not None
            and importer.is_application()
            and not importer.looks_names_up(self.unit.source.path)
        )

    @cached_property
    def is_run(self) -> bool:
        """The file runs itself, by names that stand in it."""
        runs = holds("runs-itself", self.unit.source.text)
        return runs and not {"globals", "Fire"} & self._words.keys()

    @cached_property
    def elsewhere(self) -> set[str]:
        """The functions and classes of the file that another file names."""
        return {name for name in self.defined.values() if self._is_named_elsewhere(name)}

    @cached_property
    def _words(self) -> Counter[str]:
        """How often each word stands in the file, but for comments."""
        return Counter(_words(self.unit.source.text))

    def _is_named_elsewhere(self, name: str) -> bool:
        importer = self.unit.context.importer
        assert importer is not None
        return importer.is_named_elsewhere(name, self.unit.source.path)


# By name: LibCST has the second since 1.8.
_COMPOSED = {getattr(cst, name, None) for name in ("FormattedString", "TemplatedString")}


def _times_named(node: cst.CSTNode, name: str) -> int:
    """How often a name stands in a definition, but for comments. Its text is written only where
    what follows a `#` in a string may pass for one."""
    count = 0
    inside = [node]
    for each in inside:  # grows on the way
        kind = type(each)
        if kind is cst.Name:
            count += each.value == name  # type: ignore[attr-defined]
        elif kind is cst.SimpleString or kind in _COMPOSED:  # not all parts of these are nodes
            text = each.value if kind is cst.SimpleString else code(each)  # type: ignore[attr-defined]
            if "#" in text and without("comment", text) != text:
                return _words(code(node)).count(name)
            count += _words(text).count(name) if name in text else 0
        elif kind not in LEAVES:
            inside += parts(each)
    return count


def _words(text: str) -> list[str]:
    return without("comment", text).translate(_BETWEEN_WORDS).split()


def left_at_default(function: Function, parameter: str) -> bool:
    """No call hands a private function this parameter: all that may call it stands in the file, and
    the project names it nowhere else."""
    name, unit = function.name, function.unit
    if not name.startswith("_") or name.endswith("__"):
        return False
    importer = unit.context.importer
    calls = unit.kept(_Calls).all_of(name) if importer is not None else []
    if not calls or any(_hands_in(call, function, parameter) for call in calls):
        return False
    return importer is not None and not importer.is_named_elsewhere(name, unit.source.path)


def hands_in(function: Function, parameter: str) -> bool:
    """Some call in the file, of what is named like the function, hands it this parameter by
    position, whatever that is."""
    calls = function.unit.kept(_Calls).called(function.name)
    place = function.positional.index(parameter) if parameter in function.positional else -1
    return place >= 0 and any(
        sum(arg.keyword is None for arg in call.args) > place
        or any(arg.star == "*" for arg in call.args)
        for call in calls
    )


class _Calls:
    """The calls of a file, by the name of what they call; all is counted in one walk."""

    def __init__(self, unit: Unit) -> None:
        self._by_name: defaultdict[str, list[cst.Call]] = defaultdict(list)
        names: list[str] = []
        defined: list[str] = []
        waiting: list[cst.CSTNode] = [unit.tree]
        while waiting:  # not by `every`: it would give each node to a generator first
            node = waiting.pop()
            kind = type(node)
            if kind is cst.Name:
                names.append(node.value)  # type: ignore[attr-defined]
            elif kind not in LEAVES:
                if kind is cst.Call:
                    self._by_name[called_name(node)].append(node)  # type: ignore[arg-type]
                elif kind is cst.FunctionDef:
                    defined.append(node.name.value)  # type: ignore[attr-defined]
                waiting += parts(node)
        self._names, self._defined = Counter(names), Counter(defined)

    def called(self, name: str) -> list[cst.Call]:
        """The calls of whatever has this name."""
        return self._by_name[name]

    def all_of(self, name: str) -> list[cst.Call]:
        """The calls of what has this name; none if it is read otherwise: who calls it is open."""
        calls = self._by_name[name]
        return calls if self._names[name] == len(calls) + self._defined[name] else []


def _hands_in(call: cst.Call, function: Function, parameter: str) -> bool:
    if any(arg.star for arg in call.args):
        return True
    if any(arg.keyword is not None and arg.keyword.value == parameter for arg in call.args):
        return True
    before = sum(arg.keyword is None for arg in call.args)
    return parameter in function.positional[:before]
