"""DEV207: a buffer or parameter rebound to a tensor on the default device."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.facts import Facts, PlainAttribute
from devlint.inference.syntax.text import called_name, every
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers.assumptions import assume, assume_if
from devlint_rules.helpers.attributes import assignment, attribute_trace
from devlint_rules.helpers.edits import told
from devlint_rules.helpers.rewrites import (
    add_argument,
    append_to,
    factory_of,
    in_file,
    takes_device,
    text_of,
)
from devlint_rules.helpers.scopes import function_around, is_bound
from devlint_rules.helpers.wording import is_host


def _fix(facts: Facts, fact: PlainAttribute) -> tuple[Replacement, ...]:
    """`device=self.mean.device` at a factory that stands right in the assignment, else a move."""
    made, value = factory_of(fact.operand), fact.operand.site
    device = f"self.{fact.attribute}.device"
    if not is_bound(facts, device, fact.site.node):
        return ()
    if made is not None and made.node is value.node and in_file(facts, value):
        return add_argument(value, f"device={device}") if takes_device(fact.operand, value) else ()
    statement = assignment(facts, fact)
    if statement is None or statement.value is not value.node or fact.overwrites != "buffer":
        return ()
    return append_to(facts, fact.operand, f".to({device})")


def _advice(facts: Facts, fact: PlainAttribute, fix: tuple[Replacement, ...]) -> str:
    own, made = f"self.{fact.attribute}", factory_of(fact.operand)
    if not is_bound(facts, own, fact.site.node):
        return "bring the new one to where the module is"
    if fix:
        anew = told(facts, fix, "move the new one there", "make the new one there")
    elif made is not None and takes_device(fact.operand, made):
        anew = f"pass `device={own}.device`"
    else:
        anew = f"move the new one there: `.to({own}.device)`"
    return f"change it in place, if its shape stays (`{own}.zero_()`, `.copy_(…)`), or {anew}"


def _is_registered_here(facts: Facts, fact: PlainAttribute) -> bool:
    """The method registers it itself, and rebinds it where it was made: `self.rate = Parameter(x)`,
    and then `self.rate = self.rate.clamp(0, 1)`."""
    method = function_around(facts, fact.site.node)
    if method is None:
        return False
    own = f"self.{fact.attribute}"
    parameters = (
        text_of(target.target)
        for each in every(method.body, cst.Assign)
        if isinstance(each.value, cst.Call) and called_name(each.value) == "Parameter"
        for target in each.targets
        if target.target is not fact.site.node
    )
    registered = (
        each.args[0].value
        for each in every(method.body, cst.Call)
        if called_name(each) in ("register_buffer", "register_parameter") and each.args
    )
    names = (each.evaluated_value for each in registered if isinstance(each, cst.SimpleString))
    return own in parameters or fact.attribute in names


def _check(facts: Facts) -> Iterator[Claim]:
    for fact in facts.plain_attributes:
        if not fact.overwrites or fact.excused or fact.of_modules or fact.method == "__init__":
            continue
        if not fact.operand.by_default and not is_host(fact.operand.placement):
            continue
        if _is_registered_here(facts, fact):
            continue
        assumed = (
            assume(AssumptionKind.MODULE_IS_MOVED, fact.site, "the module was moved before")
            + assume_if(
                fact.one_of_several,
                AssumptionKind.KEPT_VALUE_IS_OF_BRANCH,
                fact.site,
                "no other method has put something else there, of what the module keeps",
            )
            + assume_if(
                fact.only_compared,
                AssumptionKind.ATTRIBUTE_MEETS_DEVICE,
                fact.site,
                f"`self.{fact.attribute}` meets what is on the module's device",
            )
        )
        fix = _fix(facts, fact)
        yield Claim(
            fact.site,
            Severity.ERROR,
            confidence_of(assumed),
            f"`self.{fact.attribute}` is a {fact.overwrites} of `{fact.class_name}`, and is "
            "rebound to a tensor on the default device: it leaves the module's device",
            advice=_advice(facts, fact, fix),
            trace=attribute_trace(fact),
            fix=fix,
            applicability=Applicability.UNSAFE,
            assumptions=assumed,
        )


RULE = Rule(
    code="DEV207",
    name="buffer-overwritten",
    severity=Severity.ERROR,
    summary="A buffer or parameter is rebound to a tensor on the default device.",
    what="""\
Reports a method that assigns a tensor made on the default device to the name of a registered buffer
or parameter (or to its `.data`).""",
    why="""\
The assignment keeps the name registered, but with the new tensor, wherever that lives: after
`reset()` the buffer of a module on an accelerator is on the host, and the next `forward` raises.
`zero_`, `fill_` and `copy_` change the values and leave the device alone.""",
    reference=(
        "https://docs.pytorch.org/docs/stable/generated/"
        "torch.nn.Module.html#torch.nn.Module.register_buffer"
    ),
    bad=(
        """\
import torch
from torch import nn


class RunningMean(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.register_buffer("mean", torch.zeros(width))

    def reset(self):
        self.mean = torch.zeros(self.width)

    def forward(self, x):
        return x - self.mean
""",
        """\
import torch
from torch import nn


class Memory(nn.Module):
    def __init__(self, slots, width):
        super().__init__()
        self.register_buffer("keys", torch.zeros(slots, width))

    def clear(self):
        slots, width = self.keys.shape
        self.keys = torch.full((slots, width), -1.0)

    def forward(self, query):
        return query @ self.keys.T
""",
        """\
import torch
from torch import nn


class Counter(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.register_buffer("counts", torch.zeros(classes))

    def start_epoch(self, classes):
        self.counts = torch.ones(classes)

    def forward(self, one_hot):
        return one_hot.sum(dim=0) + self.counts
""",
    ),
    good=(
        """\
import torch
from torch import nn


class RunningMean(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))

    def reset(self):
        self.mean.zero_()

    def forward(self, x):
        return x - self.mean
""",
        """\
import torch
from torch import nn


class Memory(nn.Module):
    def __init__(self, slots, width):
        super().__init__()
        self.register_buffer("keys", torch.zeros(slots, width))

    def clear(self):
        self.keys = torch.full_like(self.keys, -1.0)

    def forward(self, query):
        return query @ self.keys.T
""",
        """\
import torch
from torch import nn


class Counter(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.register_buffer("counts", torch.zeros(classes))

    def start_epoch(self, classes):
        self.counts = torch.ones(classes, device=self.counts.device)

    def forward(self, one_hot):
        return one_hot.sum(dim=0) + self.counts
""",
    ),
    check=_check,
    fix="""\
Passes `device=self.mean.device` to the factory, or moves what is computed there. Unsafe: it fails
where the buffer is None at that time.""",
    twin="`devlint confirm` waits for PyTorch's mixed-device error on the way through the line.",
    limits="An assignment in `__init__`, before the module can have been moved, is left alone.",
)
