"""What a load without `map_location` brings: another machine's weights, or what the code around it
shows to be something else.

Nothing has to be said where the same run has saved what it loads, where a file holds no tensors or
those of the host, and where the host has a load of its own.

Plain values, numbers and texts, are on no device: `{"epoch": 3, "loss": loss.item()}`. Nor is the
state of a scheduler or a gradient scaler.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.collect.file_paths import LOADS, argument_of, file_name
from devlint.inference.collect.plain_states import is_of_numbers
from devlint.inference.collect.scopes import END, OWN_NAME, Scopes, scope_of
from devlint.inference.conventions import holds
from devlint.inference.program.accelerator_notes import MentionNote, Mentions
from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import called_name, code, dotted, every
from devlint.inference.syntax.words import words


def holds_weights(unit: Unit, note: MentionNote) -> bool:
    """What is loaded goes to `load_state_dict`, or is named for weights, and another run may have
    written it."""
    node, function = note.node, note.function
    assert isinstance(node, cst.Call)
    if node in unit.kept(Mentions).numbers:
        return False
    if _is_plain(unit, node, function) or _is_of_host(unit, node, function):
        return False
    if node.args and file_name(scope_of(unit, function).followed(node.args[0].value)).endswith(
        _NO_PICKLES
    ):
        return False  # `torch.load` cannot read it, from wherever
    if note.loader in unit.kept(Mentions).placing:
        return False  # whoever says where for other files knows why not for this one
    if _host_has_its_own(unit, node, function) or _is_saved_before(unit, node, function):
        return False
    scope = scope_of(unit, function)
    if scope.is_random_state(node):
        return False  # on the host, whatever it is of
    if function is None and unit.kept(Mentions).loads_state and not holds("data-file", note.text):
        return True
    if scope.has_written(node):
        return False
    if node in unit.kept(Mentions).weights or scope.is_state(node):
        return True
    if note.mapped:
        return False
    if dotted(node.func).endswith("jit.load"):
        return True  # a whole model
    path = node.args[0].value if node.args else node
    if isinstance(path, cst.BaseExpression) and holds("options-file", file_name(path)):
        return False
    said = words(path) if isinstance(path, cst.BaseExpression) else ""
    if isinstance(path, cst.Name):
        said += " " + scope.place(path, scope.index(node)).partition(OWN_NAME)[0]  # of an open file
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


_NO_PICKLES = (".safetensors", ".onnx", ".npy", ".npz", ".json")


def _has_device(info: ClassInfo) -> bool:
    """An object that has a device: what it loads should be there."""
    return any("device" in each.assigned or each.method("device") for each in info.lineage())


def of_mapped(frame: Frame, place: cst.CSTNode | None) -> None:
    """`torch.load(path, map_location=map_location)`: the parameter of a function, perhaps."""
    if frame.function is not None and place is not None and dotted(place) == _PLACE:
        frame.unit.kept(Mentions).loaders.add(frame.function)


_PLACE = "map_location"


def may_be_told(frame: Frame, load: cst.Call) -> bool:
    """`torch.load(path, **options)`, into which the code puts a `map_location` on some way."""
    if not any(each.star == "**" for each in load.args):
        return False
    around = frame.unit if frame.function is None else frame.function
    return around.contains(_PLACE)


def takes_place(function: Function) -> bool:
    return any(parameter.name == _PLACE for parameter in function.parameters)


def is_of_caller(function: Function | None, load: cst.Call) -> bool:
    """What a URL names may be the caller's own: the function takes a `map_location`; or it is
    handed the URL, and it, or its class, loads files as well: `if path.startswith("http")`."""
    if function is None:
        return False
    url = load.args[0].value if load.args else load
    is_handed = any(each.name == dotted(url) for each in function.parameters)
    around = function if function.info is None else function.info
    return takes_place(function) or (is_handed and around.contains("torch.load("))


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


def _is_saved_before(unit: Unit, load: cst.Call, function: Function | None) -> bool:
    """The same function has saved to that place before, or what it calls; or so have all that call
    it. Or what it calls has said where it saved: `path = self.train()`."""
    if "save(" not in unit.source.text or not load.args:
        return False
    scope = scope_of(unit, function)
    told = scope.followed(load.args[0].value)
    name = called_name(told) if isinstance(told, cst.Call) else ""
    saving = (other for other in unit.kept(Scopes).saving if other.name == name)
    if any(scope_of(unit, other).returns_what_it_saved for other in saving):
        return True
    place = scope.place(load.args[0].value, scope.index(load))
    if scope.saves_before(load, place):
        return True
    if function is None or not function.callers or OWN_NAME in place:
        return False
    return all(
        scope_of(unit, call.caller).saves_before(call.node, place) for call in function.callers
    )


def _is_plain(unit: Unit, load: cst.Call, function: Function | None) -> bool:
    """The same class, or file, writes what is loaded, and nothing but plain values to it."""
    if not load.args or "save(" not in unit.source.text:
        return False
    info = function.info if function is not None else None
    name = file_name(scope_of(unit, function).followed(load.args[0].value))
    if not name:
        return False
    saved = [
        _is_number(unit, value, info)
        for other, value in unit.kept(Scopes).written.get(name, ())
        if info is None or other.info is info
    ]
    return bool(saved) and all(saved)


def _is_of_host(unit: Unit, load: cst.Call, function: Function | None) -> bool:
    """Whatever comes of it goes to NumPy as it is, on every machine."""
    reads = holds("host-reading-text", unit.source.text)
    return reads and load in scope_of(unit, function).read_by_host


def _host_has_its_own(unit: Unit, load: cst.Call, function: Function | None) -> bool:
    """`if on_host: torch.load(path, map_location="cpu")`, and this is the other branch of it."""
    if not load.args or unit.source.text.count("load(") < 2:
        return False
    steps = scope_of(unit, function).by_node
    then = steps.get(load)
    if then is None:
        return False
    others = [
        other
        for test, branch in then.around
        if isinstance(test, (cst.If, cst.IfExp)) and not _tells_no_machine(test.test)
        for other in (test.body, test.orelse)
        if other is not None and other is not branch
    ]
    return any(_loads_to_host(other, code(load.args[0].value)) for other in others)


def _tells_no_machine(test: cst.BaseExpression) -> bool:
    """It asks for the rank, or what the path names: `path.startswith("https://")`."""
    return holds("rank-condition", words(test)) or any(
        isinstance(call.func, cst.Attribute) and call.func.attr.value == "startswith"
        for call in every(test, cst.Call)
    )


def _loads_to_host(node: cst.CSTNode, path: str) -> bool:
    for call in every(node, cst.Call):
        if dotted(call.func) in LOADS and call.args and code(call.args[0].value) == path:
            target = argument_of(call, 1, "map_location")
            if target is not None and holds("host-map-location", code(target)):
                return True
    return False


_PLAIN = ("int", "float", "len", "str", "bool", "round", *LOADS)


_PLAIN_METHODS = ("item", "tolist", "numel", "size")


def _is_made_on_host(unit: Unit, node: cst.Call) -> bool:
    """`torch.LongTensor(rows)`, `x.cpu()`: no other machine is needed to read it."""
    if isinstance(node.func, cst.Attribute) and node.func.attr.value == "cpu":
        return True
    made = holds("host-factory", dotted(node.func))
    by_default = not unit.contains("set_default_")
    return made and by_default and argument_of(node, END, "device") is None


def _is_number(unit: Unit, node: cst.BaseExpression, info: ClassInfo | None) -> bool:
    """A number, a text, a host tensor, a state or literal of such; or an attribute that holds
    nothing else."""
    if isinstance(node, (cst.Integer, cst.Float, cst.SimpleString, cst.FormattedString)):
        return True
    if isinstance(node, cst.UnaryOperation):
        return _is_number(unit, node.expression, info)
    if isinstance(node, (cst.Dict, cst.Tuple)):
        return bool(node.elements) and all(_is_number(unit, e.value, info) for e in node.elements)
    if isinstance(node, cst.Call):
        method = node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
        plain = dotted(node.func) in _PLAIN or method in _PLAIN_METHODS
        return plain or is_of_numbers(unit, node) or _is_made_on_host(unit, node)
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
        not isinstance(value, cst.Attribute) and _is_number(unit, value, info) for value in values
    )
