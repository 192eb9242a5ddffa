"""Functions that run only while a module is being built."""

from __future__ import annotations

from devlint.inference.conventions import found, holds
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Function
from devlint.inference.program.units import Unit


def _sets_up(function: Function) -> bool:
    """The function registers buffers, which is done before a module moves, and no call of it is in
    sight."""
    text = function.unit.source.text
    return ".register_buffer(" in function.text and f".{function.name}(" not in text


def runs_in_constructor(frame: Frame) -> bool:
    """The function is called from constructors alone, as far as the file shows, or sets up a
    module and is called by nobody."""
    function = frame.function
    if function is None or function.outer is not None:
        return False
    is_method = function.info is not None
    if function.info is not None and not function.info.is_module:
        return False
    if function.in_constructor is None:
        asked = only_constructors_call(frame.unit, function.name, is_method)
        function.in_constructor = asked or (is_method and _sets_up(function))
    return function.in_constructor


_BUILDING = frozenset({"__init__", "configure_model", "configure_sharded_model"})


def only_constructors_call(unit: Unit, name: str, is_method: bool) -> bool:
    """Whether every call by this name in the file stands in the `__init__` of a module, in a
    hook of Lightning's that runs before the module is moved, or in a class method that builds
    one."""
    if unit._constructors is None:
        unit._constructors = _text_of_constructors(unit)
    if not is_method:
        inside = len(found("call-of-function", unit._constructors, name))
        return inside > 0 and inside == len(found("call-of-function", unit.source.text, name))
    inside = unit._constructors.count(f".{name}(")
    return inside > 0 and inside == unit.kept(_Code).text.count(f".{name}(")


class _Code:
    """The text of a file without the examples of its docstrings."""

    def __init__(self, unit: Unit) -> None:
        self.text = _without_examples(unit.source.text)


def _without_examples(text: str) -> str:
    """Examples of docstrings call what they like: `>>> encoder.size()`."""
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(">>>"))


def _text_of_constructors(unit: Unit) -> str:
    """What runs while modules are built: constructors, and methods that only such call."""
    waiting = [f for f in unit.functions if f.info is not None and f.info.is_module]
    found: list[Function] = []
    text = ""
    while True:
        more = [
            f
            for f in waiting
            if f.name in _BUILDING
            or (f.is_class_method and not holds("moves-in-text", f.text))
            or 0 < text.count(f".{f.name}(") == unit.kept(_Code).text.count(f".{f.name}(")
        ]
        if not more:
            return text
        found += more
        taken = set(more)
        waiting = [f for f in waiting if f not in taken]
        text = _without_examples("\n".join(f.text for f in found))
