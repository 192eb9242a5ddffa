"""What a load without `map_location` brings: another machine's weights, or what the code around it
shows to be something else.

Nothing has to be said where the same run has saved what it loads, where a file holds no tensors or
those of the host, and where the host has a load of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from devlint.inference.collect.availability_guards import Demands
from devlint.inference.conventions import holds, without
from devlint.inference.program.accelerator_notes import MentionNote, Mentions
from devlint.inference.program.classes import ClassInfo
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Function
from devlint.inference.program.units import Unit
from devlint.inference.syntax.control_dependence import Branches, is_passed
from devlint.inference.syntax.text import code, dotted, every, parts
from devlint.inference.syntax.words import words

_SAVES = ("torch.save", "torch.jit.save")


_LOADS = ("torch.load", "torch.jit.load")


_PLAIN = ("int", "float", "len", "str", "bool", "round", *_LOADS)


_OF_HOST = ("np", "numpy", "plt", "ax", "axes")


_PLAIN_METHODS = ("item", "tolist", "numel", "size")


_SAME = ("open", "str", "fspath", "Path", "abspath")  # the place is their first argument


_END = 1 << 40  # behind everything


def holds_weights(unit: Unit, note: MentionNote) -> bool:
    """What is loaded goes to `load_state_dict`, or is named for weights, and another run may have
    written it."""
    node, function = note.node, note.function
    assert isinstance(node, cst.Call)
    if _is_plain(unit, node, function) or _is_of_host(unit, node, function):
        return False
    if _is_in_memory(unit, node) or note.loader in unit.kept(Mentions).placing:
        return False  # whoever says where for other files knows why not for this one
    if _host_has_its_own(unit, node, function) or _is_saved_before(unit, node, function):
        return False
    if function is None and unit.kept(Mentions).loads_state and not holds("data-file", note.text):
        return True
    scope = _scope(unit, function)
    if scope.has_written(node):
        return False
    if node in unit.kept(Mentions).weights or scope.is_state(node):
        return True
    if note.mapped:
        return False
    if dotted(node.func).endswith("jit.load"):
        return True  # a whole model
    path = node.args[0].value if node.args else node
    said = words(path) if isinstance(path, cst.BaseExpression) else ""
    if isinstance(path, cst.Name):
        said += " " + scope.place(path, scope.index(node)).partition(_OWN)[0]  # of an open file
    names = scope.names_of(node)
    said = " ".join((said or note.text, *names))
    if holds("data-file", said) and "model" not in said:
        return False
    if any(holds("module-name", name) for name in names):
        return True
    if holds("weights-file", said.replace("torch.load", "")) or scope.is_module(node):
        return True
    where = function.name if function is not None else ""
    if function is not None and function.info is not None:
        if _has_device(function.info):
            return True
        where += " " + function.info.name
    if holds("weights-file", where):
        return True
    return function is not None and function.contains("load_state_dict")


def _has_device(info: ClassInfo) -> bool:
    """An object that has a device: what it loads should be there."""
    return any("device" in each.assigned or each.method("device") for each in info.lineage())


# They are asked of a module, and of no tensor.
_OF_MODULES = frozenset(
    {"eval", "train", "parameters", "named_parameters", "state_dict", "load_state_dict", "modules"}
)


def of_mapped(frame: Frame, place: cst.CSTNode | None) -> None:
    """`torch.load(path, map_location=map_location)`: the parameter of a function, perhaps."""
    if frame.function is not None and place is not None and dotted(place) == _PLACE:
        frame.unit.kept(Mentions).loaders.add(frame.function)


_PLACE = "map_location"


def takes_place(function: Function) -> bool:
    return any(parameter.name == _PLACE for parameter in function.parameters)


def leaves_out_place(function: Function, call: cst.Call) -> bool:
    """A call of a function that takes a `map_location`, for which None stands in."""
    if any(arg.star or (arg.keyword and arg.keyword.value == _PLACE) for arg in call.args):
        return False
    names = [parameter.name for parameter in function.parameters]
    is_bound = function.info is not None and not function.is_static
    given = sum(arg.keyword is None for arg in call.args)
    params = function.node.params
    default = next((p.default for p in every(params, cst.Param) if p.name.value == _PLACE), None)
    stands_in = default is not None and dotted(default) == "None"
    return stands_in and given <= names.index(_PLACE) - is_bound


def is_loader(function: Function) -> bool:
    """The function gives its `map_location` to `torch.load`. To be asked for once its file was
    walked."""
    return function in function.unit.kept(Mentions).loaders


def _is_in_memory(unit: Unit, load: cst.Call) -> bool:
    """A buffer that the program began empty: it has filled it itself."""
    place = dotted(load.args[0].value) if load.args else ""
    return bool(place) and holds("buffer-begun", unit.source.text, place)


def _is_saved_before(unit: Unit, load: cst.Call, function: Function | None) -> bool:
    """The same function has saved to that place before, or what it calls; or so have all that call
    it."""
    if "save(" not in unit.source.text or not load.args:
        return False
    scope = _scope(unit, function)
    place = scope.place(load.args[0].value, scope.index(load))
    if scope.saves_before(load, place):
        return True
    if function is None or not function.callers or _OWN in place:
        return False
    return all(
        _scope(unit, call.caller).saves_before(call.node, place) for call in function.callers
    )


_OWN = "@"  # in a place: it goes by a name of the function's own


class _Scopes:
    """The scopes of a file that were asked for. To be asked for once the file was walked."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.by_function: dict[Function | None, Scope] = {}

    @cached_property
    def saving(self) -> list[Function]:
        """The functions that save something."""
        return [function for function in self.unit.functions if function.contains("save(")]

    @cached_property
    def written(self) -> dict[str, list[tuple[Function, cst.BaseExpression]]]:
        """What `torch.save` writes in functions, by the name of the file."""
        found: dict[str, list[tuple[Function, cst.BaseExpression]]] = {}
        for function in self.saving:
            if function.contains("torch.save("):
                scope = _scope(self.unit, function)
                for call in scope.by_node:
                    if not isinstance(call, cst.Call) or dotted(call.func) != "torch.save":
                        continue
                    if len(call.args) > 1:
                        name = _file_name(scope.followed(call.args[1].value))
                        found.setdefault(name, []).append((function, call.args[0].value))
        return found


def _scope(unit: Unit, function: Function | None) -> Scope:
    """One for each function, and for the module."""
    scopes = unit.kept(_Scopes).by_function
    if function not in scopes:
        scopes[function] = Scope(unit, function)
    return scopes[function]


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A node of a function, by its order in the text."""

    index: int
    node: cst.CSTNode
    around: Branches


class Scope:
    """What a function, or the module, does itself, in the order of the text."""

    def __init__(self, unit: Unit, function: Function | None) -> None:
        self.unit = unit
        self.function = function
        walked = unit.kept(Demands).walked(unit, function)
        self.steps = [_Step(i, *found) for i, found in enumerate(walked.items())]
        self.by_node = {step.node: step for step in self.steps}
        self.bound: dict[str, list[tuple[int, cst.BaseExpression | None]]] = {}
        self.unpacked: dict[str, cst.BaseExpression] = {}  # `a, b = value`
        for parameter in function.parameters if function is not None else ():
            self.bound[parameter.name] = [(-1, None)]
        for step in self.steps:
            self.unpacked.update(_unpacked(step.node))
            for name, value in _bindings(step.node):
                self.bound.setdefault(name, []).append((step.index, value))

    def index(self, node: cst.CSTNode) -> int:
        return self.by_node[node].index if node in self.by_node else _END

    def saves_before(self, node: cst.CSTNode, place: str) -> bool:
        """Whenever it comes to the node it has saved to the place, or what it calls has."""
        then = self.by_node.get(node)
        if then is None or not place:
            return False
        if any(
            step.index < then.index and is_passed(step.around, then.around)
            for step in self._saves.get(place, ())
        ):
            return True
        for other in self.unit.kept(_Scopes).saving:
            calls = [self.by_node.get(c.node) for c in other.callers if c.caller is self.function]
            called = any(
                call.index < then.index and is_passed(call.around, then.around)
                for call in calls
                if call is not None
            )
            if called and other is not self.function and _scope(self.unit, other)._leaves(place):
                return True
        return False

    def _leaves(self, place: str) -> bool:
        """The place is still written when the function returns."""
        return _OWN not in place and any(
            is_passed(step.around, ()) for step in self._saves.get(place, ())
        )

    @cached_property
    def _saves(self) -> dict[str, list[_Step]]:
        """Its calls that save, by the place that they save to."""
        found: dict[str, list[_Step]] = {}
        for step in self.steps:
            target = _saved_to(step.node)
            if target is not None:
                found.setdefault(self.place(target, step.index), []).append(step)
        return found

    def place(self, node: cst.BaseExpression, at: int) -> str:
        """Where a file or a buffer is, in words that do not depend on the names used."""
        if isinstance(node, cst.Name):
            return self._of_name(node.value, at)
        text = _template(node)
        if text:
            return text
        if isinstance(node, cst.BinaryOperation):
            operator = code(node.operator).strip()
            return f"{self.place(node.left, at)} {operator} {self.place(node.right, at)}"
        if not isinstance(node, cst.Call):
            return " ".join(code(node).split())
        given = [self.place(arg.value, at) for arg in node.args]
        name = dotted(node.func).rpartition(".")[2]
        if name in _SAME and given and isinstance(node.func, (cst.Name, cst.Attribute)):
            opened = node.func.value if isinstance(node.func, cst.Attribute) else None
            if name != "open" or opened is None or dotted(opened) in ("io", "codecs", "fs"):
                return given[0]
            return self.place(opened, at)  # `path.open("rb")`
        return f"{code(node.func)}({', '.join(given)})"

    def has_written(self, load: cst.CSTNode) -> bool:
        """The function has saved or trained something before the load: it loads what it made."""
        then = self.by_node.get(load)
        if then is None or self.function is None:
            return False
        first, loops = self._writing
        return first < then.index or any(branch[0] in loops for branch in then.around)

    @cached_property
    def _writing(self) -> tuple[int, set[cst.CSTNode]]:
        """The first of its calls, or functions, that save or train; and the loops around them."""
        if self.function is None or not holds("file-written-here", self.function.text):
            return _END, set()
        found = [
            step
            for step in self.steps
            if isinstance(step.node, (cst.Call, cst.FunctionDef))
            and holds("file-written-here", code(step.node))
        ]
        around = {branch[0] for step in found for branch in step.around}
        loops = {each for each in around if type(each) in (cst.For, cst.While)}
        return min((step.index for step in found), default=_END), loops

    def names_of(self, load: cst.CSTNode) -> list[str]:
        """The names for what is loaded, or for a part of it."""
        return self._names.get(load, [])

    @cached_property
    def _names(self) -> dict[cst.CSTNode, list[str]]:
        found: dict[cst.CSTNode, list[str]] = {}
        values = [(name, value) for name, bound in self.bound.items() for _, value in bound]
        for name, value in (*values, *self.unpacked.items()):
            if value is not None:
                found.setdefault(_beginning(value), []).append(name)
        return found

    def is_state(self, load: cst.CSTNode) -> bool:
        """`load_state_dict` gets it, or a part of it, under a name."""
        return not self._states.isdisjoint(self.names_of(load))

    @cached_property
    def _states(self) -> set[str]:
        return {
            dotted(_owner(step.node.args[0].value))
            for step in self.steps
            if isinstance(step.node, cst.Call)
            and isinstance(step.node.func, cst.Attribute)
            and step.node.func.attr.value == "load_state_dict"
            and step.node.args
        }

    def is_module(self, load: cst.CSTNode) -> bool:
        """What is loaded is used as nothing but a module can be."""
        owners, names = self._modules
        return load in owners or not names.isdisjoint(self.names_of(load))

    @cached_property
    def _modules(self) -> tuple[set[cst.CSTNode], set[str]]:
        """What is asked as only a module is: the nodes, and the names."""
        called = (step.node.func for step in self.steps if isinstance(step.node, cst.Call))
        owners: set[cst.CSTNode] = {
            func.value
            for func in called
            if isinstance(func, cst.Attribute) and func.attr.value in _OF_MODULES
        }
        return owners, {dotted(owner) for owner in owners} - {""}

    def followed(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """What a name is bound to, where that is once."""
        bound = self.bound.get(node.value, ()) if isinstance(node, cst.Name) else ()
        return bound[0][1] or node if len(bound) == 1 else node

    @cached_property
    def read_by_host(self) -> set[cst.CSTNode]:
        """What the host reads as it is, or a part or a view of which: calls that load, say."""
        read = (node for step in self.by_node for node in _read_by_host(step))
        return {whole for node in read for whole in self._wholes(node)}

    def _wholes(self, node: cst.BaseExpression) -> Iterator[cst.CSTNode]:
        """What a node is, or is an element or a view of; of no entry, beside which are others for a
        module."""
        while not isinstance(node, cst.Name):
            yield node
            if isinstance(node, cst.Subscript):
                if any(every(node.slice[0], cst.SimpleString)):
                    return
                node = node.value
            elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
                if node.func.attr.value in _MOVES:
                    return
                node = node.func.value
            else:
                return
        yield self.followed(node)
        if node.value in self.unpacked:
            yield self.unpacked[node.value]

    def is_record(self, node: cst.BaseExpression) -> bool:
        """A dictionary that the function begins empty, and gives plain values under keys."""
        made = self.followed(node)
        if not isinstance(node, cst.Name) or code(made) not in ("{}", "dict()"):
            return False
        values = self._entries.get(node.value, [])
        uses = self._uses[node.value]
        return uses == len(values) + 2 and all(map(self._is_plain, values))  # made, and saved

    @cached_property
    def _entries(self) -> dict[str, list[cst.BaseExpression]]:
        """By name, what is put there under a key."""
        found: dict[str, list[cst.BaseExpression]] = {}
        for step in self.steps:
            if isinstance(step.node, cst.Assign):
                target = step.node.targets[0].target
                if isinstance(target, cst.Subscript):
                    found.setdefault(dotted(target.value), []).append(step.node.value)
        return found

    @cached_property
    def _uses(self) -> Counter[str]:
        return Counter(node.value for node in self.by_node if isinstance(node, cst.Name))

    def _is_plain(self, node: cst.BaseExpression) -> bool:
        if self.function is not None:
            for parameter in every(self.function.node.params, cst.Param):
                if parameter.name.value == dotted(node):
                    said = parameter.annotation
                    return said is not None and holds("number-annotation", code(said.annotation))
        return _is_number(node, None)

    def _of_name(self, name: str, at: int) -> str:
        bound = [each for each in self.bound.get(name, ()) if each[0] < at]
        if bound:
            index, value = bound[-1]
            if value is None or (isinstance(value, cst.Call) and not _names_a_file(value)):
                return f"{name}{_OWN}{index}" if self.function is not None else f"{name}#{index}"
            return self.place(value, index)
        if self.function is None or name in self.bound:
            return name
        return _scope(self.unit, None)._of_name(name, _END)


def _bindings(node: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression | None]]:
    """The names that a statement binds; None for what it does not say."""
    if isinstance(node, cst.Assign):
        for target in node.targets:
            whole = isinstance(target.target, cst.Name)
            for name in every(target.target, cst.Name) if _binds(target.target) else ():
                yield name.value, node.value if whole else None
    elif isinstance(node, (cst.NamedExpr, cst.AnnAssign, cst.AugAssign)):
        if isinstance(node.target, cst.Name):
            yield node.target.value, None if isinstance(node, cst.AugAssign) else node.value
    elif isinstance(node, cst.For) and _binds(node.target):
        for name in every(node.target, cst.Name):
            yield name.value, None
    elif isinstance(node, cst.WithItem) and node.asname is not None:
        yield dotted(node.asname.name), node.item


def _owner(node: cst.BaseExpression) -> cst.BaseExpression:
    """`x` of `x["state"]`."""
    while isinstance(node, cst.Subscript):
        node = node.value
    return node


def _beginning(value: cst.CSTNode) -> cst.CSTNode:
    """What a value is a part of, or a method has made it of: `f()` of `f()["net"].eval()`."""
    while True:
        if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute):
            if dotted(value.func) in _LOADS:
                return value
            value = value.func.value
        elif isinstance(value, cst.Subscript):
            value = value.value
        else:
            return value


def _unpacked(node: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression]]:
    """The names that get the parts of a value."""
    if isinstance(node, cst.Assign) and len(node.targets) == 1:
        target = node.targets[0].target
        if isinstance(target, (cst.Tuple, cst.List)):
            yield from ((name.value, node.value) for name in every(target, cst.Name))


def _binds(target: cst.CSTNode) -> bool:
    return isinstance(target, (cst.Name, cst.Tuple, cst.List))


def _names_a_file(node: cst.Call) -> bool:
    """`os.path.join(folder, "net.pt")` is one place each time, `io.BytesIO()` is not."""
    name = dotted(node.func).rpartition(".")[2]
    return name in _SAME or any(_texts(node))


def _template(node: cst.CSTNode) -> str:
    """A string, with the values that go into it left out; empty where nothing else is in it."""
    text = ""
    if isinstance(node, cst.FormattedString):
        text = "".join(
            part.value if isinstance(part, cst.FormattedStringText) else "{}" for part in node.parts
        )
    elif isinstance(node, cst.SimpleString):
        text = str(node.evaluated_value)
    elif isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo):
        text = without("template-hole", _template(node.left), "{}") if _is_text(node.left) else ""
    elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        formats = node.func.attr.value == "format" and _is_text(node.func.value)
        text = without("template-hole", _template(node.func.value), "{}") if formats else ""
    return text if any(each.isalnum() for each in text) else ""


def _texts(node: cst.CSTNode) -> Iterator[str]:
    text = _template(node)
    if text:
        yield text
        return
    for part in parts(node):
        yield from _texts(part)


def _is_text(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.SimpleString)


def _saved_to(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The file or buffer that a call saves to."""
    if not isinstance(node, cst.Call):
        return None
    if dotted(node.func) in _SAVES:
        return _given(node, 1, "f")
    if isinstance(node.func, cst.Attribute) and node.func.attr.value == "save":
        return _given(node, 0, "f")  # of a scripted module
    return None


def _given(call: cst.Call, position: int, name: str) -> cst.BaseExpression | None:
    for index, argument in enumerate(call.args):
        if argument.keyword is not None:
            if argument.keyword.value == name:
                return argument.value
        elif index == position and not argument.star:
            return argument.value
    return None


def _is_plain(unit: Unit, load: cst.Call, function: Function | None) -> bool:
    """The same class, or file, writes what is loaded, and nothing but plain values to it."""
    if not load.args or "save(" not in unit.source.text:
        return False
    info = function.info if function is not None else None
    name = _file_name(_scope(unit, function).followed(load.args[0].value))
    if not name:
        return False
    saved = [
        _is_number(value, info) or _scope(unit, other).is_record(value)
        for other, value in unit.kept(_Scopes).written.get(name, ())
        if info is None or other.info is info
    ]
    return bool(saved) and all(saved)


def _file_name(node: cst.BaseExpression) -> str:
    """The last text in the expression of a path, or the object's attribute that holds it."""
    if dotted(node).startswith("self."):
        return dotted(node)
    return ["", *_texts(node)][-1]


def _is_number(node: cst.BaseExpression, info: ClassInfo | None) -> bool:
    """A number, a text, or a literal of such; or an attribute that never holds anything else."""
    if isinstance(node, (cst.Integer, cst.Float, cst.SimpleString, cst.FormattedString)):
        return True
    if isinstance(node, cst.UnaryOperation):
        return _is_number(node.expression, info)
    if isinstance(node, (cst.Dict, cst.Tuple)):
        return bool(node.elements) and all(_is_number(e.value, info) for e in node.elements)
    if isinstance(node, cst.Call):
        method = node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
        return dotted(node.func) in _PLAIN or method in _PLAIN_METHODS
    owner, _, name = dotted(node).partition(".")
    if owner != "self" or not name or info is None:
        return False
    values = [value for _, value in info.assigned.get(name, ())]
    values += [
        each.value
        for each in every(info.node, cst.AugAssign)
        if dotted(each.target) == dotted(node)
    ]
    return bool(values) and all(
        not isinstance(value, cst.Attribute) and _is_number(value, info) for value in values
    )


_MOVES = ("cpu", "to", "cuda", "type", "type_as")


def _is_of_host(unit: Unit, load: cst.Call, function: Function | None) -> bool:
    """Whatever comes of it goes to NumPy as it is, on every machine; or its kernels are the
    host's."""
    text = unit.source.text
    if holds("host-reading-text", text) and load in _scope(unit, function).read_by_host:
        return True
    return "quantize_dynamic" in text and _is_quantized(unit, load, function)


def _read_by_host(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """`x` of `x.numpy()` and of `plt.plot(x)`: a tensor of a card raises there."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        if node.func.attr.value == "numpy":
            yield node.func.value
        elif dotted(node.func.value) in _OF_HOST:
            yield from (arg.value for arg in node.args if not arg.star)


def _is_quantized(unit: Unit, load: cst.Call, function: Function | None) -> bool:
    """`if args.quantized: torch.load(path)`, where that is what `quantize_dynamic` made."""
    for test, branch in unit.kept(Demands).found_around(unit, function, load):
        if isinstance(test, cst.If) and "quantiz" in words(test.test):
            turned = isinstance(test.test, cst.UnaryOperation)
            return (branch is test.body) is not turned
    return False


def _host_has_its_own(unit: Unit, load: cst.Call, function: Function | None) -> bool:
    """`if on_host: torch.load(path, map_location="cpu")`, and this is the other branch of it."""
    if not load.args or unit.source.text.count("load(") < 2:
        return False
    steps = _scope(unit, function).by_node
    then = steps.get(load)
    if then is None:
        return False
    others = [
        other
        for test, branch in then.around
        if isinstance(test, (cst.If, cst.IfExp)) and not holds("rank-condition", words(test.test))
        for other in (test.body, test.orelse)
        if other is not None and other is not branch
    ]
    return any(_loads_to_host(other, code(load.args[0].value)) for other in others)


def _loads_to_host(node: cst.CSTNode, path: str) -> bool:
    for call in every(node, cst.Call):
        if dotted(call.func) in _LOADS and call.args and code(call.args[0].value) == path:
            target = _given(call, 1, "map_location")
            if target is not None and holds("host-map-location", code(target)):
                return True
    return False
