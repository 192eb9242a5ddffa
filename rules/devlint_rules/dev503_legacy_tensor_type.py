"""DEV503: legacy tensor types, which name a device and a dtype in one."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.facts import Facts, Mention
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers.assumptions import (
    NO_OTHER_MACHINE,
    assume,
    runs_elsewhere,
    runs_without_cuda,
)
from devlint_rules.helpers.causes import apart
from devlint_rules.helpers.legacy_types import meaning, of_sizes
from devlint_rules.helpers.mentions import twins
from devlint_rules.helpers.operand_device import handed_along
from devlint_rules.helpers.ownership import rule_of_mention
from devlint_rules.helpers.rewrites import argument, atom, in_file, is_path, receiver, text_of
from devlint_rules.helpers.scopes import is_bound


def _modern(facts: Facts, mention: Mention) -> str | None:
    """What to write in its place: on the card of a tensor that it goes along with, if one does."""
    text = _in_todays_words(mention)
    if text is None or not text.endswith(_ON_CARD):
        return text
    beside = handed_along(facts, mention.site.node)
    return f"{text.removesuffix(_ON_CARD)}, device={beside}.device)" if beside else text


_ON_CARD = ', device="cuda")'


def _in_todays_words(mention: Mention) -> str | None:
    """The same in today's words; None where that depends on more than the call shows."""
    node, kind = mention.site.node, mention.type_name
    if not isinstance(node, cst.Call) or not node.args:
        return None
    if len(node.args) > 1:
        return of_sizes(node, kind) or _of_list(node, kind)
    value = node.args[0].value
    func, subject = text_of(node.func), receiver(node)
    if func.endswith("set_default_tensor_type"):
        found = meaning(value)
        if found == ("cuda", "torch.float32"):
            return 'torch.set_default_device("cuda")'
        return f"torch.set_default_dtype({found[1]})" if found and found[0] == "cpu" else None
    if subject is not None and func.endswith(".type"):
        if _is_variable(value, kind):
            return None  # it may hold another one where there is no card
        found = meaning(value, kind)
        return f'{atom(subject)}.to("{found[0]}", {found[1]})' if found else None
    found = meaning(node.func, kind)
    if found and isinstance(value, (cst.List, cst.ListComp)):
        where = ', device="cuda"' if found[0] == "cuda" else ""
        return f"torch.tensor({text_of(value)}, dtype={found[1]}{where})"
    return None


def _is_variable(node: cst.BaseExpression, kind: str) -> bool:
    """It is named otherwise than the type that it holds."""
    name = text_of(node).rpartition(".")[2]
    return bool(kind) and is_path(text_of(node)) and name != kind.rpartition(".")[2]


def _of_list(node: cst.Call, kind: str) -> str | None:
    """A list and the device that the old constructor refuses."""
    found = meaning(node.func, kind)
    first, *others = node.args
    device = argument(node, "device")
    if found is None or device is None or len(others) != 1 or first.star:
        return None
    if not isinstance(first.value, (cst.List, cst.ListComp)):
        return None
    where = f", device={text_of(device.value)}"
    return f"torch.tensor({text_of(first.value)}, dtype={found[1]}{where})"


def _fix(facts: Facts, mention: Mention, modern: str | None) -> tuple[Replacement, ...]:
    if modern is None or not in_file(facts, mention.site):
        return ()
    if "torch." not in mention.text and not is_bound(facts, "torch", mention.site.node):
        return ()  # the file has its names alone: `from torch import LongTensor`
    return (Replacement(mention.site, modern),)


def _verdict(mention: Mention) -> tuple[Severity, Assumptions, str]:
    """How bad a legacy type is, what that rests on, and why."""
    elsewhere = runs_without_cuda(mention.site)
    if mention.refused:
        harm = "is a legacy constructor, which refuses `device=` for all but its own device"
        message = "the device that it is given is another than its own"
        return (
            Severity.ERROR,
            assume(AssumptionKind.CALLER_IS_ACCELERATED, mention.site, message),
            harm,
        )
    if mention.moves:
        harm = "changes the device with the dtype: it is a legacy tensor type"
        sign = "it serves the CPU and CUDA alike" if _is_of_other(mention) else ""
        sign = sign or (_alone(mention) if mention.to_card else "")
        return Severity.WARNING, elsewhere + runs_elsewhere(mention.site, sign), harm
    usual = "is a legacy tensor type: it fixes the device with the dtype"
    if mention.follows:
        message = "the code runs on machines with several cards"
        cards = assume(AssumptionKind.OTHER_CARDS_ARE_USED, mention.site, message)
        return Severity.WARNING, cards, f"{usual}, to the current card, not `{mention.follows}`'s"
    if not _names_cuda(mention):
        message = "what is made here is wanted on other devices, too"
        host = assume(AssumptionKind.HOST_CODE_RUNS_ELSEWHERE, mention.site, message)
        return Severity.WARNING, host, usual
    # In code for CUDA alone it is a matter of style; the default for all tensors is deprecated.
    is_style = bool(mention.on_purpose) and "set_default" not in mention.text
    asked = "a device is asked for first" if mention.guarded else ""
    sign = mention.on_purpose if is_style else asked or _alone(mention)
    return Severity.WARNING, elsewhere + runs_elsewhere(mention.site, sign), usual


def _alone(mention: Mention) -> str:
    """That no other machine is served, if that is so; the default for all tensors is old anyway."""
    open_to_others = mention.serves_host or mention.guarded or "set_default" in mention.text
    return "" if open_to_others else NO_OTHER_MACHINE


def _is_of_other(mention: Mention) -> bool:
    """`x.type(y.type())`: to where `y` is, be that the CPU or a card of CUDA."""
    node = mention.site.node
    given = node.args[0].value if isinstance(node, cst.Call) and node.args else None
    is_asked = isinstance(given, cst.Call) and isinstance(given.func, cst.Attribute)
    return is_asked and text_of(node).endswith(".type())")


def _names_cuda(mention: Mention) -> bool:
    name = mention.type_name or mention.text
    return "torch.cuda." in name or "set_default_tensor_type" in mention.text


def _advice(mention: Mention) -> str:
    """Advice for what has no form to write down."""
    if not mention.of_class:
        return _apart(mention)
    made = f"torch.empty(…, device=…).as_subclass({mention.of_class})"
    return f"make a tensor there, and one of the class from it: `{made}`"


def _apart(mention: Mention) -> str:
    """Advice for what has no form to write down: `y.type(x.type())` goes by the device of `x`."""
    node = mention.site.node
    if mention.refused and isinstance(node, cst.Call):
        device, found = argument(node, "device"), meaning(node.func, mention.type_name)
        where = f"device={text_of(device.value)}" if device is not None else "device=…"
        where = f"dtype={found[1]}, {where}" if found is not None else where
        return f"give `{where}` to `torch.tensor` for data, and to `torch.empty` for sizes"
    given = node.args[0].value if isinstance(node, cst.Call) and node.args else None
    func = given.func if isinstance(given, cst.Call) and _is_of_other(mention) else None
    other = text_of(func.value) if isinstance(func, cst.Attribute) else ""
    if not is_path(other):
        return "name them apart: `dtype=` and `device=`"
    return f"name them apart: `dtype={other}.dtype` and `device={other}.device`"


def _check(facts: Facts) -> Iterator[Claim]:
    """One claim for all mentions of a file that do the same harm: they are one habit."""
    groups: dict[object, list[Mention]] = {}
    for mention in facts.mentions:
        if rule_of_mention(mention) == "DEV503":
            groups.setdefault(_habit(mention), []).append(mention)
    for first, *others in groups.values():
        modern = _modern(facts, first)
        severity, assumed, harm = _verdict(first)
        shown = modern if modern is not None and "\n" not in modern else None
        yield Claim(
            first.site,
            severity,
            confidence_of(assumed),
            f"`{first.text}` {harm}"
            + (f" (and {len(others)} more in this file)" if others else ""),
            advice=f"write `{shown}`" if shown else _advice(first),
            trace=twins(others),
            fix=apart(facts, [p for m in (first, *others) for p in _fix_of(facts, m)]),
            applicability=Applicability.UNSAFE,
            assumptions=assumed,
        )


def _habit(mention: Mention) -> object:
    """What a mention does to the code: how bad it is, why, and what that rests on."""
    severity, assumed, harm = _verdict(mention)
    return severity, harm, frozenset(each.kind for each in assumed)


def _fix_of(facts: Facts, mention: Mention) -> tuple[Replacement, ...]:
    return _fix(facts, mention, _modern(facts, mention))


RULE = Rule(
    code="DEV503",
    name="legacy-tensor-type",
    severity=Severity.WARNING,
    summary=("`torch.cuda.FloatTensor`, `.type(torch.FloatTensor)` or `set_default_tensor_type`."),
    what="""\
Reports the tensor types that name a device and a dtype in one: constructors such as
`torch.cuda.FloatTensor(...)`, conversions such as `x.type(torch.FloatTensor)`, and
`torch.set_default_tensor_type`; and the constructor of a class of the project's own that is derived
from `torch.Tensor` and has none itself, where it is given another device than the host's.""",
    why="""\
`x.type(torch.FloatTensor)` reads like a change of dtype, and moves the tensor to the host as well.
There are no such types for newer backends. `set_default_tensor_type` is deprecated since PyTorch
2.1 in favour of `set_default_dtype` and `set_default_device`.""",
    reference="https://docs.pytorch.org/docs/stable/generated/torch.set_default_tensor_type.html",
    bad=(
        """\
import torch

zeros = torch.cuda.FloatTensor(3, 4).fill_(0)
""",
        """\
import torch


def as_float(x: torch.Tensor) -> torch.Tensor:
    return x.type(torch.FloatTensor)
""",
        """\
import torch

torch.set_default_tensor_type("torch.cuda.FloatTensor")
""",
    ),
    good=(
        """\
import torch

zeros = torch.zeros(3, 4, device="cuda")
""",
        """\
import torch


def as_float(x: torch.Tensor) -> torch.Tensor:
    return x.type(torch.float32)
""",
        """\
import torch

torch.set_default_dtype(torch.float32)
""",
    ),
    check=_check,
    fix="""\
`torch.tensor([...], dtype=..., device="cuda")`, `torch.empty(n, 1, dtype=..., device="cuda")`,
`x.to("cpu", torch.float32)`, `torch.set_default_device("cuda")`. Unsafe: whether the move to the
named device was meant, only the author knows. None where one argument may be data or a size
(`torch.LongTensor(rows, device=d)`), which only its value tells.""",
    twin="""\
The guard sees the transfer that the type hides or, on a machine without CUDA, PyTorch's
refusal. A type that is merely old shows nothing.""",
    limits="""\
Types that a variable holds are seen only where it is used as one. A type of the host that moves
nothing (`torch.LongTensor([1, 2])`) or whose result meets what is on the host anyway
(`counts.scatter_(1, x.type(torch.LongTensor), 1)`), and one of CUDA behind a condition, are
`possible` findings.""",
)
