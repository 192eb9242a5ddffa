"""What stands where a device belongs, and is none.

A flag (`x.cuda(use_gpu)`) and the context manager `torch.cuda.device(i)`. And what is no device
there: `"cuda"` where a card is to be chosen, an argument that a move does not take, the index of
the first card where it stands for none, none where it stands for the first card, a choice that
reads as another one than it is, and a question that is not asked.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.call_contexts import Given
from devlint.inference.conventions import holds
from devlint.inference.domain.host import ASSUMED, Const, DeviceValue, External
from devlint.inference.domain.placement import CPU, CUDA, Device
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.facts import Mistake, MistakenDevice
from devlint.inference.models.device_functions import is_predicate
from devlint.inference.models.devices import CONTEXT, place_of
from devlint.inference.models.places import last_move
from devlint.inference.program.accelerator_notes import Mentions
from devlint.inference.program.declarations import Function
from devlint.inference.program.events import (
    ArgumentGiven,
    DeviceChosen,
    FunctionReturns,
    OperandChosen,
    Tested,
)
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.program.values import Instance
from devlint.inference.syntax.text import called_name, code, dotted, every, shorten
from devlint.inference.syntax.words import none_test, words


def of_call(frame: Frame, node: cst.Call, callee: Value, name: str, arguments: Arguments) -> None:
    """A call of the library that is given a device: `.to(d)`, `.cuda(d)`, `device=d`."""
    if name == "set_device" and type(callee) is External and callee.name == "torch.cuda":
        value, given = arguments.get(0, "device"), arguments.node(0, "device")
        if value is not None and given is not None and _lacks_index(value):
            note_mistake(frame, node, Mistake.NO_INDEX, shorten(given), shorten(node.func))
        return
    if name in ("cuda", "cpu") and type(callee) is Instance and _is_plain_module(callee):
        allowed = {"device"} if name == "cuda" else set()
        wrong = sorted(arguments.keywords.keys() - allowed)
        if wrong:
            note_mistake(frame, node, Mistake.KEYWORD, wrong[0], shorten(node.func))
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
        note_mistake(frame, node, mistake, shorten(pair[1]), shorten(node.func))
    elif _is_index_of_any(frame, *pair):
        asked = shorten(pair[1])
        note_mistake(frame, node, Mistake.MINUS_ONE, asked, shorten(node.func), inferred=True)


def of_argument(frame: Frame, event: ArgumentGiven) -> None:
    """A function of the project is given a device."""
    node, value, given, function, _ = event
    if given is node:
        return  # its own default
    mistake = _mistake(value, given)
    if mistake is Mistake.FLAG and not _goes_by(function, event.parameter):
        return  # `relax_device`, `check_device`: a flag of that name
    if mistake is not None:
        note_mistake(frame, node, mistake, shorten(given), function.name, inferred=True)


def _goes_by(function: Function, parameter: str) -> bool:
    """A function puts something where its parameter says, or hands it to a call as the device."""
    for call in every(function.node, cst.Call):
        is_move = called_name(call) in ("to", "cuda", "device")
        for argument in call.args:
            keyword = argument.keyword.value if argument.keyword is not None else ""
            if dotted(argument.value) == parameter and (is_move or keyword == "device"):
                return True
    return False


def of_test(frame: Frame, event: Tested) -> None:
    """`if torch.cuda.is_available:`: a function is asked whether it is one."""
    if is_predicate(event.value):
        note_mistake(frame, event.node, Mistake.UNCALLED, shorten(event.node), "")


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
        note_mistake(frame, node, Mistake.PRECEDENCE, shorten(either.left), shorten(either))


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
        note_mistake(frame, node, Mistake.FIRST_CARD, shorten(index), code(node.right))


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
        note_mistake(frame, shown, Mistake.NO_CARD, shorten(shown), dotted(index.value), not sure)


def _of_no_number(frame: Frame, number: cst.BaseExpression) -> None:
    """`device or 0` where the card's number is asked for."""
    if not isinstance(number, cst.BooleanOperation) or not isinstance(number.operator, cst.Or):
        return
    name = dotted(number.left)
    if name and _is_zero(number.right) and "." not in name and holds("device-name", name):
        note_mistake(frame, number, Mistake.NO_CARD, shorten(number), name, inferred=True)


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
    asked = None if subject is None else frame.eval(subject)
    return (
        type(asked) is Tensor  # not a method of one's own
        and not _is_on_some_card(asked)
        and type(value) is DeviceValue
        and type(value.place) is not Device
        and not frame.control.guarded
        and not frame.control.caught
        and not frame.unit.kept(Mentions).meant
        and not frame.unit.kept(Mentions).named(frame.function)
    )


def _is_on_some_card(tensor: Tensor) -> bool:
    """`x.cuda(device)` gave it, whichever card that is."""
    move = last_move(tensor)
    return move is not None and isinstance(move.node, cst.Call) and called_name(move.node) == "cuda"


def _is_plain_module(value: Instance) -> bool:
    """A module whose moves are those of `nn.Module`."""
    return value.module and (
        value.info is None or not any(value.info.method(name) for name in ("cuda", "cpu"))
    )


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


def note_mistake(
    frame: Frame,
    node: cst.CSTNode,
    mistake: Mistake,
    text: str,
    callee: str,
    inferred: bool = False,
    given: Given | None = None,
) -> None:
    """Keep what is wrong at a place; what is said of it last holds."""
    fact = MistakenDevice(frame.site(node), mistake, text, callee, inferred, given)
    frame.unit.mistaken[node] = fact
