"""Functions that run only while a module is being built."""

from __future__ import annotations

from devlint.inference.conventions import found
from devlint.inference.program.declarations import Function, functions_of
from devlint.inference.program.frames import Frame, closure_of
from devlint.inference.program.units import Unit

_BUILDING = frozenset({"__init__", "configure_model", "configure_sharded_model"})


def runs_in_constructor(frame: Frame) -> bool:
    """The function is called from constructors alone, as far as the file shows, or sets up a
    module and is called by nobody."""
    function = frame.function
    if function is None or closure_of(function) is not None:
        return False
    if function.info is not None and not function.info.is_module:
        return False
    if function.in_constructor is None:
        built = _is_of(function, _text_of_constructors(frame.unit))
        function.in_constructor = built or (function.info is not None and _sets_up(function))
    return function.in_constructor


def _sets_up(function: Function) -> bool:
    """The function registers buffers, which is done before a module moves, and no call of it is in
    sight."""
    if f".{function.name}(" in function.unit.source.text:
        return False
    return function.contains(".register_buffer(")


def _is_of(function: Function, constructors: str) -> bool:
    """All uses of the function in its file stand in this text, and some do."""
    inside = _uses(function, constructors)
    return 0 < inside == _uses(function, function.unit.kept(_Code).text)


def _uses(function: Function, text: str) -> int:
    """How often the text calls the function, or reads the property."""
    if function.info is None:
        return len(found("call-of-function", text, function.name))
    if function.is_property:
        return len(found("read-of-attribute", text, function.name))
    return text.count(f".{function.name}(")


class _Code:
    """The text of a file without the examples of its docstrings."""

    def __init__(self, unit: Unit) -> None:
        self.text = _without_examples(unit.source.text)


def _without_examples(text: str) -> str:
    """Examples of docstrings call what they like: `>>> encoder.size()`."""
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(">>>"))


def _text_of_constructors(unit: Unit) -> str:
    """The source of what runs while modules are built, once it was looked for: the `__init__` of
    modules, hooks of Lightning's that run before a module is moved, class methods that build one,
    and methods and properties that only such use."""
    if unit._constructors is not None:
        return unit._constructors
    waiting = [f for f in functions_of(unit) if f.info is not None and f.info.is_module]
    building: list[Function] = []
    text = ""
    while True:
        more = [f for f in waiting if _builds(f) or _is_of(f, text)]
        if not more:
            unit._constructors = text
            return text
        building += more
        taken = set(more)
        waiting = [f for f in waiting if f not in taken]
        text = _without_examples("\n".join(f.text for f in building))


def _builds(function: Function) -> bool:
    if function.is_class_method:
        return not function.says("moves-in-text")
    return function.name in _BUILDING
