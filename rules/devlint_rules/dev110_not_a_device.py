"""DEV110: what stands where a device belongs is none."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.facts import Facts, Mistake, MistakenDevice, Site
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers.assumptions import assume, assume_if
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.causes import repeats
from devlint_rules.helpers.rewrites import argument, is_path, moves_to_host, text_of

_ADVICE = {
    Mistake.FLAG: 'choose the device by the flag: `"cuda" if flag else "cpu"`',
    Mistake.CONTEXT: "pass the index itself, or `torch.device(…)`; `torch.cuda.device` is for a "
    "`with`",
    Mistake.OLD_CONTEXT: "pass the index itself",
    Mistake.NEVER_EQUAL: 'compare its type: `{device}.type == "{type}"`',
    Mistake.ALWAYS_UNEQUAL: 'compare its type: `{device}.type != "{type}"`',
    Mistake.NEVER_BARE: "compare its type: `{device}.type == {other}`",
    Mistake.ALWAYS_BARE: "compare its type: `{device}.type != {other}`",
    Mistake.NO_SUCH_TYPE: 'PyTorch calls it "cuda" (or "mps", "xpu", …)',
    Mistake.NO_TYPE: "ask the tensor: `{callee}.is_cuda`",
    Mistake.NO_INDEX: 'say which card: `torch.device("{type}", 0)`; without the call it '
    "is that one",
    Mistake.NO_LIST: "hand in a list: `device_ids=[{text}]`",
    Mistake.CARD_NUMBER: 'name the device: `torch.device("cuda", {text})`',
    Mistake.HIDES_CARDS: 'name cards by their numbers, as in `"0,1"`; `"cuda:0"` is then the first '
    "of them",
    Mistake.MINUS_ONE: "use the tensor's `.device`",
    Mistake.KEYWORD: "use `.to(device, non_blocking=True)`",
    Mistake.FIRST_CARD: "ask for `None`: `-1 if index is None else index`",
    Mistake.NO_CARD: "take the current card: `torch.cuda.current_device()`",
    Mistake.PRECEDENCE: 'put the choice in brackets: `device or ("cuda" if … else "cpu")`',
    Mistake.NO_TEXT: 'ask its type: `{device}.type == "{type}"`',
    Mistake.UNCALLED: "call it: `{text}()`",
    Mistake.CALLED: "write `{callee}`",
    Mistake.READ_ONLY: "leave it out: `{text}` tells where it was moved; keep another device under "
    "another name",
}
# What goes another way than it reads, or is a mistake only where no accelerator is or to an older
# PyTorch.
_MILD = (
    Mistake.OLD_CONTEXT,
    Mistake.ALWAYS_UNEQUAL,
    Mistake.ALWAYS_BARE,
    Mistake.PRECEDENCE,
    Mistake.UNCALLED,
    Mistake.MINUS_ONE,
    Mistake.NO_CARD,
)

_INDEXED = "where a tensor is, a card has an index, as `{callee}:0` has, and this device has none"
_UNEQUAL = "a `torch.device` does not equal a string"
# `text` is what stands there, `callee` what gets it, as the fact says.
_MESSAGES = {
    Mistake.FLAG: "`{callee}` is given `{text}` as its device, which is True or False",
    Mistake.CONTEXT: "`{callee}` is given `{text}` as its device, which is a context manager and "
    "no device",
    Mistake.OLD_CONTEXT: "`{callee}` is given `{text}` as its device, which is a context manager: "
    "an older PyTorch takes the current device instead",
    Mistake.NEVER_EQUAL: f"`{{text}}` is never true: {_UNEQUAL}",
    Mistake.ALWAYS_UNEQUAL: f"`{{text}}` is always true: {_UNEQUAL}",
    Mistake.NEVER_BARE: f"`{{text}}` is never true: {_INDEXED}",
    Mistake.ALWAYS_BARE: f"`{{text}}` is always true: {_INDEXED}",
    Mistake.NO_SUCH_TYPE: 'no device is called "gpu": `{text}` never holds of one',
    Mistake.NO_TYPE: "`{text}` does not tell where `{callee}` is: the type of a tensor is "
    "the same on every device",
    Mistake.NO_INDEX: "`{callee}` needs a card's index, which `{text}` does not have",
    Mistake.NO_LIST: "`{callee}` is given `{text}` for `device_ids`, which is one card and no list",
    Mistake.CARD_NUMBER: "`{callee}` is given `{text}` for `map_location`, which is a number: a "
    "load takes a device or its name",
    Mistake.HIDES_CARDS: "`{callee}` is set to `{text}`, the name of a device: it takes the "
    "numbers of cards, and shows none for anything else",
    Mistake.MINUS_ONE: "`{text}` is -1 on the host, which `{callee}` does not take for a device",
    Mistake.KEYWORD: "`{callee}` of a module takes no `{text}`",
    Mistake.FIRST_CARD: "`{text}` is 0 for the first card, which `or` takes for none: `{callee}`",
    Mistake.NO_CARD: "`{text}` takes the first card where `{callee}` names none: no index is the "
    "current card",
    Mistake.PRECEDENCE: "`{text}` is ignored where no accelerator is: `{callee}` as a whole is "
    "what the condition chooses",
    Mistake.NO_TEXT: "`{text}` raises: a `torch.device` contains no text",
    Mistake.UNCALLED: "`{text}` is not called, and a function is always true",
    Mistake.CALLED: "`{text}` raises: `{callee}` is a property, and no method",
    Mistake.READ_ONLY: "`{text}` can't be set: it is a property of `{callee}`, and has no setter",
}


# By its name it is, if not a `torch.device`:
_ASSUMED = {
    Mistake.NO_LIST: "this is the number of one card",
    Mistake.CARD_NUMBER: "this number of a card arrives at a load",
    Mistake.HIDES_CARDS: "this names a card, as for `torch.device`",
}


_ADVICE_ASSUMED = {
    Mistake.NO_LIST: "hand in a list in any case, of one card `[{text}]`",
    Mistake.CARD_NUMBER: 'name the device where the number is taken: `torch.device("cuda", index)`',
}


def _fix(fact: MistakenDevice) -> tuple[Replacement, ...]:
    """A list of one card, or the device of that number, where the call itself says so."""
    call = fact.site.node
    if fact.inferred or not isinstance(call, cst.Call) or fact.mistake not in _FIXES:
        return ()
    option, written = _FIXES[fact.mistake]
    given = argument(call, option)
    if given is None or ("torch." in written and not fact.callee.startswith("torch.")):
        return ()
    return (Replacement(Site(fact.site.source, given.value), written.format(text_of(given.value))),)


_FIXES = {
    Mistake.NO_LIST: ("device_ids", "[{}]"),
    Mistake.CARD_NUMBER: ("map_location", 'torch.device("cuda", {})'),
}


def _advice(fact: MistakenDevice) -> str:
    """Code to write, with the device and the type that the code names."""
    named = re.search(r"[\"'](\w+)(?::\d+)?[\"']", fact.text)
    node, paths = fact.site.node, list[str]()
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        sides = (node.left, node.comparisons[0].comparator)
        paths = [text_of(side) for side in sides if _is_subject(side)]
    unequal = fact.mistake is Mistake.ALWAYS_UNEQUAL
    kind = named[1] if named is not None else "cpu" if unequal else "cuda"
    advice = _ADVICE_ASSUMED.get(fact.mistake) if fact.inferred else None
    return (advice or _ADVICE[fact.mistake]).format(
        device=paths[0] if paths else "x.device",
        type=kind,
        other=f"{paths[1]}.type" if len(paths) > 1 else f'"{fact.callee}"',
        text=fact.text,
        callee=fact.callee,
    )


def _is_subject(side: cst.BaseExpression) -> bool:
    """`device`, `self.device`, `next(model.parameters()).device`."""
    is_place = isinstance(side, cst.Attribute) and side.attr.value == "device"
    return is_place or is_path(text_of(side))


def _taken_for_device(fact: MistakenDevice) -> Assumptions:
    """What is assumed for it to be a `torch.device`."""
    if fact.given is not None:
        message = f"all calls hand in a `torch.device` for `{fact.given.parameter}`"
        return assume(AssumptionKind.CALL_SHOWS_DEVICE, fact.site, message)
    kind = AssumptionKind.NAME_IS_OF_DEVICE
    message = _ASSUMED.get(fact.mistake, "this is a `torch.device`")
    return assume_if(fact.inferred, kind, fact.site, message)


def _matters(facts: Facts, fact: MistakenDevice) -> Assumptions:
    """What is assumed for it to make a difference."""
    message = "the current card is another one than the first"
    kind = AssumptionKind.OTHER_CARDS_ARE_USED
    cards = assume_if(fact.mistake is Mistake.NO_CARD, kind, fact.site, message)
    in_vain = fact.mistake is Mistake.ALWAYS_UNEQUAL and _guards_nothing(facts, fact.site)
    message = "what this guards does something on the host, too"
    return cards + assume_if(in_vain, AssumptionKind.VAIN_TEST_MATTERS, fact.site, message)


def _guards_nothing(facts: Facts, site: Site) -> bool:
    """All that the test keeps from the host does nothing there: `if x.device != "cpu": x = x.cpu()`
    and `if device != "cpu": torch.cuda.manual_seed(0)`, which waits for CUDA."""
    tests = (each for each in path_to(facts.source.tree, site.node) if isinstance(each, cst.If))
    guard = next((each for each in tests if each.test is site.node), None)
    if guard is None or guard.orelse is not None:
        return False
    return all(
        isinstance(line, cst.SimpleStatementLine) and all(map(_is_vain_on_host, line.body))
        for line in guard.body.body
    )


def _is_vain_on_host(statement: cst.BaseSmallStatement) -> bool:
    if isinstance(statement, cst.Pass):
        return True
    if not isinstance(statement, (cst.Assign, cst.Expr)):
        return False
    value = statement.value
    if isinstance(statement, cst.Expr):
        return isinstance(value, cst.Call) and text_of(value.func) in _WAIT_FOR_CUDA
    made = value.elt if isinstance(value, (cst.ListComp, cst.GeneratorExp)) else value
    return moves_to_host(made)


# Without CUDA the seed is kept for later, and there is no cache.
_WAIT_FOR_CUDA = ("torch.cuda.manual_seed", "torch.cuda.manual_seed_all", "torch.cuda.empty_cache")


def _check(facts: Facts) -> Iterator[Claim]:
    yield from repeats(facts, _claims(facts))


def _claims(facts: Facts) -> Iterator[Claim]:
    for fact in facts.mistaken_devices:
        assumed = _taken_for_device(fact) + _matters(facts, fact)
        yield Claim(
            fact.site,
            Severity.WARNING if fact.mistake in _MILD else Severity.ERROR,
            confidence_of(assumed),
            _MESSAGES[fact.mistake].format(text=fact.text, callee=fact.callee),
            advice=_advice(fact),
            fix=_fix(fact),
            given=fact.given,
            assumptions=assumed,
        )


RULE = Rule(
    code="DEV110",
    name="not-a-device",
    severity=Severity.ERROR,
    summary="A flag, a context manager or a string stands where a device belongs.",
    what="""\
Reports what is no device where one belongs, and what is asked or set of a device and can't be so:

- a truth value, or `torch.cuda.device(i)`, passed as a device; `y.to(x.get_device())`;
- a `torch.device` compared with a string, also one that all calls in sight hand in for a parameter;
  a tensor's compared with one that has no index; the name of a device compared with `"gpu"`;
  `"cuda" in x.device`, `"gpu" in str(device)`, `"cuda" in str(type(x))`;
- `torch.cuda.set_device("cuda")`; a number for `device_ids` or `map_location`; `"cuda:0"` in
  `CUDA_VISIBLE_DEVICES`; `non_blocking` given to the `.cuda()` of a module;
- `device.index or -1`, `device.index or 0` and their like;
  `device or "cuda" if available else "cpu"`, where the `or` binds closer than the `if`;
- `self.device = …` where that is a property without a setter, as in a `LightningModule`;
- `if torch.cuda.is_available:`, which is not called, and `x.is_cuda()`, which is a property.""",
    why="""\
Some of it raises, on every machine or where a card is, and some goes another way than it reads:

- `.cuda(True)` and `device=True` raise `TypeError: argument 'device' must be torch.device, not
  bool`. `torch.cuda.device(i)` is a context manager that selects a device for a `with` block: `.to`
  and factories refuse it with a `TypeError`; the functions of `torch.cuda` take it for its index,
  where an older PyTorch takes the current device instead, and says nothing. `x.get_device()` is -1
  on the host, which is the index of no device.
- `x.device == "cuda"` is False wherever `x` lives, without an error: a `torch.device` equals only a
  `torch.device`, so that the branch behind it never runs. Nor is `x.device == torch.device("cuda")`
  ever true: where a tensor is on a card, its device has an index, as `cuda:0` has. `"cuda" in
  x.device` raises `TypeError`: a `torch.device` is no text. `"gpu" in str(device)` is false of
  every device, and so is `"cuda" in str(type(x))`: the type of a tensor is `torch.Tensor`.
- `torch.cuda.set_device` wants the index of a card and raises `ValueError` for a bare `"cuda"`;
  `Module.cuda` takes a device alone and raises `TypeError` for more; so does `device_ids=0`, which
  is no list, and `map_location=0`, which is called as a function. `CUDA_VISIBLE_DEVICES="cuda:0"`
  names no card, so that none is visible and the work is done on the host.
- `device.index or -1` is -1 for `cuda:0`, whose index is 0, and `device.index or 0` is 0 for
  `"cuda"`, which is the current card: another one for each rank. In `device or "cuda" if available
  else "cpu"` the first half is what the condition chooses: on a machine without CUDA the device
  that was asked for is ignored.
- To set a property that has no setter raises `AttributeError`. And a function that is not called is
  true on every machine: code for CUDA runs where there is none; `x.is_cuda()` and `x.device()`
  raise `TypeError` on every one: what they call is a value.""",
    reference="https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device",
    bad=(
        """\
import torch


def prepare(batch: torch.Tensor, use_gpu=False):
    return batch.cuda(use_gpu)
""",
        """\
import torch

for index in range(torch.cuda.device_count()):
    print(torch.ones(2, device=torch.cuda.device(index)).sum())
""",
        """\
import torch


def fast_path(x: torch.Tensor) -> bool:
    return x.device == "cuda" and x.is_contiguous()
""",
        """\
import torch
from torch import nn


def seed(model: nn.Module, number: int) -> None:
    if next(model.parameters()).device == torch.device("cuda"):
        torch.cuda.manual_seed_all(number)
    torch.manual_seed(number)
""",
        """\
import torch


def card(device: str | torch.device) -> int:
    device = torch.device(device)
    return 0 if device.index is None else device.index
""",
        """\
import torch


def resume(path):
    return torch.load(path, map_location=torch.cuda.current_device())
""",
        """\
import torch


def encode(tokenizer, lines, device: torch.device):
    multiple = 8 if "gpu" in str(device) else None
    return tokenizer(lines, return_tensors="pt", pad_to_multiple_of=multiple).to(device)
""",
        """\
import torch


def one_hot(labels: torch.Tensor, count: int) -> torch.Tensor:
    device = "cuda" if labels.is_cuda() else "cpu"
    return torch.eye(count, device=device)[labels]
""",
    ),
    good=(
        """\
import torch


def prepare(batch: torch.Tensor, use_gpu=False):
    return batch.to("cuda" if use_gpu else "cpu")
""",
        """\
import torch

for index in range(torch.cuda.device_count()):
    print(torch.ones(2, device=torch.device("cuda", index)).sum())
""",
        """\
import torch


def fast_path(x: torch.Tensor) -> bool:
    return x.device.type == "cuda" and x.is_contiguous()
""",
        """\
import torch
from torch import nn


def seed(model: nn.Module, number: int) -> None:
    if next(model.parameters()).device.type == "cuda":
        torch.cuda.manual_seed_all(number)
    torch.manual_seed(number)


def place(x: torch.Tensor) -> torch.Tensor:
    if x.device != torch.device("cuda"):  # always so; the move does nothing where it is there
        x = x.to("cuda")
    return x
""",
        """\
import torch


def card(device: str | torch.device) -> int:
    device = torch.device(device)
    return torch.cuda.current_device() if device.index is None else device.index
""",
        """\
import torch


def resume(path):
    return torch.load(path, map_location=torch.device("cuda", torch.cuda.current_device()))
""",
        """\
import torch


def encode(tokenizer, lines, device: torch.device):
    multiple = 8 if "cuda" in str(device) else None
    return tokenizer(lines, return_tensors="pt", pad_to_multiple_of=multiple).to(device)


def one_hot(labels: torch.Tensor, count: int) -> torch.Tensor:
    return torch.eye(count, device=labels.device)[labels]
""",
    ),
    check=_check,
    fix="Puts the one card into a list, and names the device of a number.",
    twin="""\
PyTorch refuses what is no device, with a `TypeError`, a `ValueError` or a `RuntimeError` on the way
through the line, or takes a flag for a dtype. Undecided: comparisons and choices, at which nothing
is raised, and `y.to(x.get_device())` where `x` was on an accelerator.""",
    limits="""\
A parameter that is named for a device, and may hold a string or a `torch.device`, may be compared
with either, unless its annotation is `torch.device` alone. A device that somebody chose may have no
index, and may be compared with `torch.device("cuda")`; so may that of what is shown to be a tensor
by nothing but its `.device`. What only spares a move of what is there is no finding.""",
)
