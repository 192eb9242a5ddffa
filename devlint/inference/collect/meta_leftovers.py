"""Modules that are made on the meta device, and what of them never gets data.

A module on meta has shapes and no data. `to_empty` gives it memory, and `load_state_dict(state,
assign=True)` the tensors of a file; buffers that are not saved (`persistent=False`) are in no file.
Each module is followed from where it is made, as long as nothing out of sight may have filled it.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.host import Const, DeviceValue, External
from devlint.inference.domain.placement import META
from devlint.inference.domain.value import Value
from devlint.inference.facts import Leftover, MetaLeftover, Site
from devlint.inference.models.devices import written_device
from devlint.inference.program.declarations import ClassInfo
from devlint.inference.program.events import Called
from devlint.inference.program.frames import Frame, body_of
from devlint.inference.program.functions import Arguments
from devlint.inference.program.units import Unit
from devlint.inference.program.values import ClassValue, Instance
from devlint.inference.syntax.text import code, dotted, every
from devlint.records import dataclass

_DEPTH = 3  # of modules in modules
# Methods of a module that leave its tensors where they are, and as they are.
_IDLE = frozenset(
    {
        "bfloat16",
        "compile",
        "double",
        "eval",
        "float",
        "forward",
        "half",
        "requires_grad_",
        "state_dict",
        "train",
        "type",
        "zero_grad",
    }
)


@dataclass(slots=True, eq=False)
class _Story:
    """What has become of one module that was made on meta."""

    name: str
    made: Site
    with_buffers: bool  # its buffers are on meta, too
    allocated: cst.Call | None = None  # `to_empty`
    assigned: cst.Call | None = None  # `load_state_dict(…, assign=True)`
    told: bool = False  # it is known no more, or all is said


class _Seen:
    """What one file's walk noted."""

    def __init__(self, unit: Unit) -> None:
        text = unit.source.text
        self.concerned = '"meta"' in text or "'meta'" in text or "init_empty_weights" in text
        self.stories: dict[Instance, _Story] = {}
        self.found: dict[cst.CSTNode, MetaLeftover] = {}
        # Calls under `init_empty_weights()`, and whether it takes the buffers, too.
        self.empty = dict(_under_empty_weights(unit.tree)) if self.concerned else {}
        # Calls under other contexts, too, which may do more.
        self.unclear = set(_under_others(unit.tree)) if self.concerned else set()


def _under_empty_weights(tree: cst.Module) -> Iterator[tuple[cst.CSTNode, bool]]:
    for block in every(tree, cst.With):
        for item in block.items:
            call = item.item
            if isinstance(call, cst.Call) and dotted(call.func).endswith("init_empty_weights"):
                included = any(dotted(arg.value) == "True" for arg in call.args)
                yield from ((each, included) for each in every(block.body, cst.Call))


def _under_others(tree: cst.Module) -> Iterator[cst.CSTNode]:
    for block in every(tree, cst.With):
        if not all(holds("plain-context", code(item.item)) for item in block.items):
            yield from every(block.body, cst.Call)


def concerns(unit: Unit) -> bool:
    """Whether the calls in a file are looked at."""
    return unit.kept(_Seen).concerned


def of_call(frame: Frame, event: Called) -> None:
    """Follow the modules that are made on meta."""
    node, callee, arguments = event
    func = node.func
    for value, given in arguments.all():
        if type(value) is Instance and not _only_looks(callee):
            story = _story(frame, value, dotted(given))
            if story is not None:
                story.told = True  # whoever gets it may fill it
    if type(callee) is not Instance or type(func) is not cst.Attribute:
        return
    story = _story(frame, callee, dotted(func.value))
    if story is None or story.told or frame.control.caught or frame.control.expecting:
        return
    if callee.info is not None and callee.info.method(func.attr.value) is not None:
        story.told = func.attr.value != "forward"
        return
    _of_method(frame, node, func, callee, story, arguments)


def _only_looks(callee: Value) -> bool:
    """`print(model)`, `len(model)`."""
    return type(callee) is External and callee.name.startswith("builtins.")


def _story(frame: Frame, module: Instance, name: str) -> _Story | None:
    """The story of a module that was made on meta, from now on."""
    seen = frame.unit.kept(_Seen)
    story = seen.stories.get(module)
    if story is not None or module.parent is not None or not module.module:
        return story
    origin = module.origin
    if origin is None or origin.parent is not None or not isinstance(origin.node, cst.Call):
        return None
    if origin.source is not frame.unit.source or "from_pretrained" in dotted(origin.node.func):
        return None
    on_meta = module.place == META
    if not name or not (on_meta or origin.node in seen.empty) or origin.node in seen.unclear:
        return None
    with_buffers = on_meta or seen.empty.get(origin.node, False)
    story = seen.stories[module] = _Story(name, frame.site(origin.node), with_buffers)
    return story


def _of_method(
    frame: Frame,
    node: cst.Call,
    func: cst.Attribute,
    module: Instance,
    story: _Story,
    arguments: Arguments,
) -> None:
    method = func.attr.value
    if method == "to_empty":
        story.allocated = node
    elif method == "load_state_dict":
        _of_loading(frame, node, module, story, arguments)
    elif method in ("to", "cuda", "cpu"):
        _of_move(frame, node, module, story, arguments)
    elif method not in _IDLE:
        story.told = True


def _of_loading(
    frame: Frame, node: cst.Call, module: Instance, story: _Story, arguments: Arguments
) -> None:
    assign = arguments.get(2, "assign")
    if arguments.open or (assign is not None and type(assign) is not Const):
        story.told = True
    elif story.allocated is not None:
        unsaved = _unsaved(frame, module)
        if unsaved is not None:
            _note(frame, story.allocated, Leftover.EMPTY, story, unsaved)
    elif assign is not None and type(assign) is Const and assign.value is True:
        story.assigned = node
    elif story.assigned is None:
        _note(frame, node, Leftover.UNASSIGNED, story)


def _of_move(
    frame: Frame, node: cst.Call, module: Instance, story: _Story, arguments: Arguments
) -> None:
    if not _names_place(node, arguments) or story.allocated is not None:
        return
    if story.assigned is None:
        _note(frame, node, Leftover.MOVED, story)
        return
    unsaved = _unsaved(frame, module) if story.with_buffers else None
    if unsaved is not None:
        _note(frame, node, Leftover.BUFFER, story, unsaved)


def _names_place(node: cst.Call, arguments: Arguments) -> bool:
    """A device other than meta is given, or the method is one for a device."""
    if not node.args:
        return True
    value, given = arguments.get(0, "device"), arguments.node(0, "device")
    if value is None or given is None:
        return False
    if type(value) is DeviceValue:
        return value.place != META
    return written_device(value) not in (None, META)


def _note(
    frame: Frame,
    node: cst.CSTNode,
    leftover: Leftover,
    story: _Story,
    unsaved: tuple[str, Site] | None = None,
) -> None:
    story.told = True
    if _is_filled_by_name(frame, story.name):
        return
    name, site = unsaved if unsaved is not None else ("", None)
    frame.unit.kept(_Seen).found[node] = MetaLeftover(
        frame.site(node), leftover, story.name, story.made, name, site
    )


def _is_filled_by_name(frame: Frame, name: str) -> bool:
    """`model.rope.freqs = …` somewhere in the function."""
    body = frame.unit.tree if frame.function is None else frame.function.node.body
    return any(
        dotted(target.target).startswith(f"{name}.")
        for each in every(body, cst.Assign)
        for target in each.targets
    )


def _unsaved(frame: Frame, module: Instance) -> tuple[str, Site] | None:
    """A buffer of the module, or of one that it makes, that no file has."""
    if module.info is None:
        return None
    pending, known = [(module.info, 0)], {module.info}
    for info, depth in pending:
        found = _unsaved_of(info)
        if found is not None:
            return found
        for made in _classes_in(info) if depth < _DEPTH else ():
            if made not in known:
                known.add(made)
                pending.append((made, depth + 1))
    return None


def _unsaved_of(info: ClassInfo) -> tuple[str, Site] | None:
    if "meta" in info.text or "persistent" not in info.text:
        return None
    for call in every(info.node, cst.Call):
        if not dotted(call.func).endswith(".register_buffer") or len(call.args) < 2:
            continue
        kept = [a.value for a in call.args if a.keyword and a.keyword.value == "persistent"]
        kept += [a.value for a in call.args[2:3] if a.keyword is None]
        tensor, name = code(call.args[1].value), code(call.args[0].value)
        if not kept or dotted(kept[0]) != "False" or "device" in tensor or tensor == "None":
            continue
        if name[:1] in "\"'" and f"self.{name[1:-1]} = " not in info.text:
            return name[1:-1], Site(info.unit.source, call)
    return None


def _classes_in(info: ClassInfo) -> Iterator[ClassInfo]:
    """The classes of the project that its methods make."""
    frame = body_of(info.unit)
    if frame is None:
        return
    for call in every(info.node, cst.Call):
        value = frame.lookup(call.func.value) if isinstance(call.func, cst.Name) else None
        if type(value) is ClassValue and value.info.is_module:
            yield value.info


def settle(unit: Unit) -> None:
    """Make facts of what was noted."""
    unit.facts.meta_leftovers += unit.kept(_Seen).found.values()
