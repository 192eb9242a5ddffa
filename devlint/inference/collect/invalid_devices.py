"""What stands where a device belongs, and is none.

A flag (`x.cuda(use_gpu)`), the context manager `torch.cuda.device(i)`, and a string that a
`torch.device` is compared with: the two are never equal. And what is no device there: `"cuda"`
where a card is to be chosen, `"gpu"` in a comparison, an argument that a move does not take, the
index of the first card where it stands for none, none where it stands for the first card, a choice
that reads as another one than it is, and a question that is not asked.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.call_contexts import Given
from devlint.inference.collect.compared_parameters import compared
from devlint.inference.conventions import found, holds
from devlint.inference.domain.containers import Sequence
from devlint.inference.domain.host import ASSUMED, NONE, Const, DeviceValue, External, text_of
from devlint.inference.domain.placement import CPU, CUDA, Device
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import Mistake, MistakenDevice
from devlint.inference.models.device_functions import is_predicate
from devlint.inference.models.devices import CONTEXT, place_of, written_device
from devlint.inference.program.accelerator_notes import Mentions
from devlint.inference.program.declarations import Function
from devlint.inference.program.events import (
    ArgumentGiven,
    ComparisonNote,
    DeviceChosen,
    DeviceCompared,
    FunctionReturns,
    OperandChosen,
    Tested,
)
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Instance
from devlint.inference.syntax.text import code, dotted, every, shorten
from devlint.inference.syntax.words import none_test, words


def of_call(frame: Frame, node: cst.Call, callee: Value, name: str, arguments: Arguments) -> None:
    """A call of the library that is given a device: `.to(d)`, `.cuda(d)`, `device=d`."""
    if name == "set_device" and type(callee) is External and callee.name == "torch.cuda":
        value, given = arguments.get(0, "device"), arguments.node(0, "device")
        if value is not None and given is not None and _lacks_index(value):
            _note(frame, node, Mistake.NO_INDEX, shorten(given), shorten(node.func))
        return
    if name in ("cuda", "cpu") and type(callee) is Instance and _is_plain_module(callee):
        allowed = {"device"} if name == "cuda" else set()
        wrong = sorted(arguments.keywords.keys() - allowed)
        if wrong:
            _note(frame, node, Mistake.KEYWORD, wrong[0], shorten(node.func))
            return
    pair = arguments.keywords.get("device")
    if pair is None and name == "cuda" and arguments.positional:
        pair = arguments.positional[0]
    elif pair is None and name == "to" and arguments.positional:
        value, given = arguments.positional[0]  # here a flag is a dtype: `bool`
        pair = None if type(value) is Const else (value, given)
    if pair is None or not (name == "cuda" or _is_of_torch(callee)):
        return
    mistake = _mistake(*pair)
    if mistake is Mistake.CONTEXT and type(callee) is External and callee.name == "torch.cuda":
        mistake = Mistake.OLD_CONTEXT
    if mistake is not None:
        _note(frame, node, mistake, shorten(pair[1]), shorten(node.func))
    elif _is_index_of_any(frame, *pair):
        _note(frame, node, Mistake.MINUS_ONE, shorten(pair[1]), shorten(node.func), inferred=True)


def of_argument(frame: Frame, event: ArgumentGiven) -> None:
    """A function of the project is given a device."""
    node, value, given, function = event
    if given is node:
        return  # its own default
    mistake = _mistake(value, given)
    if mistake is not None:
        _note(frame, node, mistake, shorten(given), function.name, inferred=True)


def of_test(frame: Frame, event: Tested) -> None:
    """`if torch.cuda.is_available:`: a function is asked whether it is one."""
    if is_predicate(event.value):
        _note(frame, event.node, Mistake.UNCALLED, shorten(event.node), "")


def of_comparison(frame: Frame, event: DeviceCompared) -> None:
    """A device and a text: `x.device == y.device == "cuda"`, `x.device in ("cpu", "mps")`."""
    node, operator, left, right = event.node, event.operator, event.left, event.right
    if isinstance(operator, (cst.In, cst.NotIn)) and _is_device(right):
        if text_of(left):
            _note(frame, node, Mistake.NO_TEXT, shorten(node), "")
        return
    if isinstance(operator, (cst.Equal, cst.NotEqual)):
        if any(_is_gpu(a) and _names_cuda(b) for a, b in ((left, right), (right, left))):
            _note(frame, node, Mistake.NO_SUCH_TYPE, shorten(node), "", inferred=True)
            return
        device, other = (left, right) if _may_be_device(left) else (right, left)
        named = written_device(other) is not None
        text = type(other) is Const and type(other.value) is str
    elif isinstance(operator, (cst.In, cst.NotIn)) and type(right) is Sequence and right.items:
        device, named = left, all(written_device(item) is not None for item in right.items)
        text = named
    else:
        return
    if not text or not _may_be_device(device):
        return
    never = isinstance(operator, (cst.Equal, cst.In))
    mistake = Mistake.NEVER_EQUAL if never else Mistake.ALWAYS_UNEQUAL
    if _is_text_elsewhere(frame, node):
        return
    # of what is equal to one another, one `torch.device` is enough
    if any(map(_is_device, (device, *event.before))):
        _note(frame, node, mistake, shorten(node), "")
    elif named:
        frame.notes.append(ComparisonNote(node, mistake))


def _is_text_elsewhere(frame: Frame, comparison: cst.CSTNode) -> bool:
    """`self.device == "cpu"`, where some method of the class puts a text there: on the way that is
    taken without an accelerator, say."""
    assigned = frame.info.assigned if frame.info is not None else {}
    paths = (dotted(each) for each in every(comparison, cst.Attribute))
    names = (path.removeprefix("self.") for path in paths)
    values = (value for name in names for _, value in assigned.get(name, ()))
    return any(isinstance(value, cst.SimpleString) for value in values)


def _is_device(value: Value) -> bool:
    """A `torch.device`, whichever of several it is, and no text."""
    return all(type(each) is DeviceValue and each.sure for each in alternatives(value))


def _may_be_device(value: Value) -> bool:
    """A `torch.device`, or what is one by its name."""
    return type(value) is DeviceValue or _is_device(value)


# Methods that others have as well as tensors: modules, lists, dicts, arrays, strings.
_SHARED = frozenset(
    {"to", "cuda", "cpu", "xpu", "type", "float", "double", "half", "bfloat16", "apply_", "numpy"}
    | {"size", "item", "index", "copy", "get", "sort", "split", "share_memory_", "requires_grad_"}
)


def settle_comparison(frame: Frame, note: ComparisonNote) -> None:
    """The function calls a method of tensors on what it asks for its device: a `torch.device`. Or
    it declares that it is handed one."""
    function, known = frame.function, frame.unit.context.knowledge.methods
    if function is None or not isinstance(note.node, cst.Comparison):
        return
    sides = (note.node.left, *(target.comparator for target in note.node.comparisons))
    if any(_is_declared(function, dotted(side)) for side in sides):
        _note(frame, note.node, note.mistake, shorten(note.node), "", inferred=True)
    for given in (compared(function, dotted(side)) for side in sides):
        if given is not None and note.node not in frame.unit.mistaken:
            _note(frame, note.node, note.mistake, shorten(note.node), "", given=given)
    for owner, _, name in (dotted(side).rpartition(".") for side in sides):
        # `x.device`: what is called `device` alone may be a string
        called = (
            found("called-method-of", function.text, owner) if owner and name == "device" else ()
        )
        if any(method in known and method not in _SHARED for method in called):
            _note(frame, note.node, note.mistake, shorten(note.node), "")


def _is_declared(function: Function, name: str) -> bool:
    """A parameter that is annotated `torch.device`, and for which no text stands in."""
    params = function.node.params
    given = (*params.posonly_params, *params.params, *params.kwonly_params)
    types = [p.annotation for p in given if p.name.value == name]
    declared = any(each is not None and code(each.annotation) == "torch.device" for each in types)
    return declared and not text_of(function.defaults.get(name, NONE))


def of_choice(frame: Frame, event: DeviceChosen) -> None:
    """`device or "cuda" if cuda.is_available() else "cpu"`: the `or` is half of the choice."""
    node = event.node
    either = node.body
    if (
        isinstance(either, cst.BooleanOperation)
        and isinstance(either.operator, cst.Or)
        and not either.lpar
        and isinstance(either.left, (cst.Name, cst.Attribute))
        and "is_available" in words(node.test)
        and _accelerator(frame, either.right)
        and place_of(frame, frame.eval(node.orelse)) == CPU
    ):
        _note(frame, node, Mistake.PRECEDENCE, shorten(either.left), shorten(either))


def of_index(frame: Frame, event: OperandChosen) -> None:
    """`device.index or -1`: the first card's index is as false as none."""
    node = event.node
    index = node.left
    if not (
        isinstance(node.operator, cst.Or)
        and isinstance(index, cst.Attribute)
        and index.attr.value == "index"
    ):
        return
    other, owner = frame.eval(node.right), frame.eval(index.value)
    is_number = type(other) is Const and type(other.value) is int and other.value != 0
    if is_number and (type(owner) is DeviceValue or holds("device-name", dotted(index.value))):
        _note(frame, node, Mistake.FIRST_CARD, shorten(index), code(node.right))


def of_function(frame: Frame, event: FunctionReturns) -> None:
    """Where a function takes the first card for a device without an index, which is the current
    one: `device.index or 0`, `torch.device("cuda", index or 0)`."""
    function = event.function
    if not function.unit.contains("None"):
        return
    if function.contains(" or 0"):
        for either in every(function.node, cst.BooleanOperation):
            if isinstance(either.operator, cst.Or) and _is_zero(either.right):
                _of_no_index(frame, either, either.left)
        for call in every(function.node, cst.Call):
            if dotted(call.func).endswith("device") and len(call.args) == 2:
                _of_no_number(frame, call.args[1].value)
    if function.contains(".index is "):
        choices: list[cst.If | cst.IfExp] = list(every(function.node, cst.IfExp))
        for choice in [*choices, *every(function.node, cst.If)]:
            index = _asked_for_none(choice)
            if index is not None:
                _of_no_index(frame, choice, index)


def _of_no_index(frame: Frame, node: cst.CSTNode, index: cst.BaseExpression) -> None:
    """`index` is that of a device which somebody chose: the device of a tensor always has one."""
    if not isinstance(index, cst.Attribute) or index.attr.value != "index":
        return
    owner = frame.eval(index.value) if dotted(index.value) else None
    sure = type(owner) is DeviceValue and owner.sure and owner.place != CPU
    if type(owner) is DeviceValue and (owner.of is not None or owner.place == CPU):
        return
    if sure or holds("device-name", dotted(index.value)):
        shown = node.test if isinstance(node, cst.If) else node
        _note(frame, shown, Mistake.NO_CARD, shorten(shown), dotted(index.value), not sure)


def _of_no_number(frame: Frame, number: cst.BaseExpression) -> None:
    """`device or 0` where the card's number is asked for."""
    if not isinstance(number, cst.BooleanOperation) or not isinstance(number.operator, cst.Or):
        return
    name = dotted(number.left)
    if name and _is_zero(number.right) and "." not in name and holds("device-name", name):
        _note(frame, number, Mistake.NO_CARD, shorten(number), name, inferred=True)


def _asked_for_none(choice: cst.If | cst.IfExp) -> cst.BaseExpression | None:
    """`d.index` of `0 if d.index is None else d.index`, and of `if d.index is None: return 0`."""
    test = choice.test
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return None
    is_none = none_test(test.comparisons[0])
    if is_none is None:
        return None
    taken: cst.BaseExpression | None
    if isinstance(choice, cst.IfExp):
        taken = choice.body if is_none else choice.orelse
    else:
        line = choice.body.body[0] if len(choice.body.body) == 1 else None
        only = line.body[0] if isinstance(line, cst.SimpleStatementLine) else line
        taken = only.value if is_none and isinstance(only, cst.Return) else None
    return test.left if taken is not None and _is_zero(taken) else None


def _is_zero(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Integer) and node.evaluated_value == 0


def _accelerator(frame: Frame, node: cst.BaseExpression) -> bool:
    place = place_of(frame, frame.eval(node))
    return type(place) is Device and place.is_accelerator


def _lacks_index(value: Value) -> bool:
    """`"cuda"` or `torch.device("cuda")`: the current card, and no certain one."""
    if type(value) is Const:
        return bool(value.value == "cuda")
    return type(value) is DeviceValue and value.sure and value.of is None and value.place == CUDA


def asked_for_its_card(node: cst.CSTNode | None) -> cst.BaseExpression | None:
    """`x` of `x.get_device()`."""
    if not isinstance(node, cst.Call) or node.args or not isinstance(node.func, cst.Attribute):
        return None
    return node.func.value if node.func.attr.value == "get_device" else None


def _is_index_of_any(frame: Frame, value: Value, given: cst.CSTNode) -> bool:
    """`x.get_device()` of a tensor that may be on the host, where nothing asks."""
    subject = asked_for_its_card(given)
    return (
        subject is not None
        and type(frame.eval(subject)) is Tensor  # not a method of one's own
        and type(value) is DeviceValue
        and type(value.place) is not Device
        and not frame.control.guarded
        and not frame.control.caught
        and not frame.unit.kept(Mentions).meant
        and not frame.unit.kept(Mentions).named(frame.function)
    )


def _is_plain_module(value: Instance) -> bool:
    """A module whose moves are those of `nn.Module`."""
    return value.module and (
        value.info is None or not any(value.info.method(name) for name in ("cuda", "cpu"))
    )


def _is_gpu(value: Value) -> bool:
    return text_of(value).lower() == "gpu"


def _names_cuda(value: Value) -> bool:
    place = written_device(value)
    return place is not None and place.type == "cuda"


def _is_of_torch(callee: Value) -> bool:
    if type(callee) is External:
        return callee.name.startswith("torch.") or callee.name == "torch"
    return any(
        type(v) is Tensor or (type(v) is Instance and v.module) for v in alternatives(callee)
    )


def _mistake(value: Value, given: cst.CSTNode) -> Mistake | None:
    if value is CONTEXT:
        return Mistake.CONTEXT
    flag = type(value) is Const and type(value.value) is bool and value is not ASSUMED
    return Mistake.FLAG if flag and isinstance(given, cst.Name) else None


def _note(
    frame: Frame,
    node: cst.CSTNode,
    mistake: Mistake,
    text: str,
    callee: str,
    inferred: bool = False,
    given: Given | None = None,
) -> None:
    fact = MistakenDevice(frame.site(node), mistake, text, callee, inferred, given)
    frame.unit.mistaken[node] = fact
