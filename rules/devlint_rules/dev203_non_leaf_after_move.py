"""DEV203: `requires_grad` first, moved second."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.domain.placement import Device
from devlint.inference.facts import Facts, NonLeaf
from devlint.rule import Claim, Note, Replacement, Rule
from devlint_rules.helpers.assumptions import assume, assume_if
from devlint_rules.helpers.causes import repeats
from devlint_rules.helpers.rewrites import (
    argument,
    atom,
    in_file,
    move_target,
    parsed,
    receiver,
    short,
    text_of,
    with_argument,
)
from devlint_rules.helpers.wording import history

_VERDICTS = {
    "optimizer": (Severity.ERROR, "the optimizer refuses a non-leaf tensor"),
    "grad": (Severity.ERROR, "its `.grad` stays None"),
    "attribute": (Severity.ERROR, "the module does not register it"),
    "returned": (Severity.WARNING, "the caller gets a non-leaf tensor"),
}
_UNSEEN = (Severity.WARNING, "its gradient goes to a tensor with no name")
_USES = {
    "optimizer": "handed to the optimizer here",
    "grad": "its `.grad` is read here",
    "attribute": "kept on the module here",
    "returned": "returned here",
}


def _assumptions(fact: NonLeaf) -> Assumptions:
    """An optimizer refuses it, and `.grad` is None; elsewhere nobody need miss the gradient. What a
    caller hands in may be there already: then the move gives the leaf itself."""
    message = f"`{short(fact.operand.site.node)}` is elsewhere before the move"
    is_open = not isinstance(fact.operand.placement, Device)
    return _wanted(fact) + assume_if(
        is_open, AssumptionKind.GIVEN_VALUE_CHANGES_DEVICE, fact.site, message
    )


def _wanted(fact: NonLeaf) -> Assumptions:
    if fact.use in ("optimizer", "grad"):
        return ()
    if fact.use == "attribute" and fact.operand.is_parameter:
        message = "the module is to keep it" if _is_frozen(fact) else "the module is to train it"
        return assume(AssumptionKind.GRADIENT_IS_WANTED, fact.site, message)
    message = "its gradient is wanted, and not that of what was moved"
    return assume(AssumptionKind.GRADIENT_IS_READ_THERE, fact.site, message)


def _is_frozen(fact: NonLeaf) -> bool:
    """`nn.Parameter(masks, requires_grad=False).to(device)`"""
    made = receiver(fact.site.node)
    asked = argument(made, "requires_grad") if isinstance(made, cst.Call) else None
    return asked is not None and text_of(asked.value) == "False"


def _change(fact: NonLeaf) -> str:
    """What the move makes of the tensor."""
    if _is_frozen(fact):
        return "is a plain tensor, since a parameter that is moved is none any more"
    return "is no leaf, since it requires grad before the move"


def _leaf_is_kept(fact: NonLeaf) -> bool:
    """`y = x.cuda()` with `x` the leaf: the gradient lands in `x`, which is all right."""
    return not fact.use and isinstance(fact.operand.site.node, (cst.Name, cst.Attribute))


def _leaf_there(fact: NonLeaf) -> str | None:
    """What makes the leaf on the device, in place of the move."""
    subject, device = receiver(fact.site.node), move_target(fact.site.node)
    if subject is None or device is None:
        return None
    if isinstance(subject, (cst.Name, cst.Attribute)):
        return f"{text_of(subject)}.detach().to({device}).requires_grad_()"
    if not isinstance(subject, cst.Call) or not subject.args:
        return None
    if text_of(subject.func).endswith("Parameter") and subject.args[0].keyword is None:
        moved = parsed(f"{atom(subject.args[0].value)}.to({device})")
        args = (subject.args[0].with_changes(value=moved), *subject.args[1:])
        return text_of(subject.with_changes(args=args))
    if argument(subject, "requires_grad") and not argument(subject, "device"):
        return with_argument(subject, f"device={device}")
    return None


def _advice(fact: NonLeaf) -> str:
    text = _leaf_there(fact)
    if text is not None and "\n" not in text:
        return f"make the leaf on the device: `{text}`"
    if _is_frozen(fact):
        return (
            "move first, then make the parameter: "
            "`nn.Parameter(x.to(device), requires_grad=False)`, or register a buffer"
        )
    return "move first, then ask for the gradient: `x.to(device).requires_grad_()`"


def _fix(facts: Facts, fact: NonLeaf) -> tuple[Replacement, ...]:
    text = _leaf_there(fact)
    if text is None or not in_file(facts, fact.site):
        return ()
    return (Replacement(fact.site, text),)


def _check(facts: Facts) -> Iterator[Claim]:
    yield from repeats(facts, _claims(facts))


def _claims(facts: Facts) -> Iterator[Claim]:
    for fact in facts.non_leaves:
        if _leaf_is_kept(fact):
            continue
        severity, harm = _VERDICTS.get(fact.use, _UNSEEN)
        if _is_frozen(fact):
            severity = Severity.WARNING  # nothing trains it: `state_dict` alone misses it
        trace = history(fact.operand)
        if fact.use_site is not None:
            trace = (*trace, Note(fact.use_site, _USES.get(fact.use, "used here")))
        assumed = _assumptions(fact)
        yield Claim(
            fact.site,
            severity,
            confidence_of(assumed),
            f"`{short(fact.site.node)}` {_change(fact)}: {harm}",
            advice=_advice(fact),
            trace=trace,
            fix=_fix(facts, fact),
            applicability=Applicability.UNSAFE,
            assumptions=assumed,
        )


RULE = Rule(
    code="DEV203",
    name="non-leaf-after-move",
    severity=Severity.ERROR,
    summary="`requires_grad` first, moved second: the optimizer or `.grad` sees a non-leaf.",
    what="""\
Reports a tensor that requires grad, is then moved, and whose copy is used as if it were the
parameter: handed to an optimizer, asked for its `.grad`, or kept on a module.""",
    why="""\
A move is an operation that autograd records, so the copy is not a leaf: an optimizer raises
`ValueError: can't optimize a non-leaf Tensor`, the copy's `.grad` stays None, and an `nn.Parameter`
that was moved is a plain tensor that `parameters()` passes by. Where the move changes nothing (it
is there already, as on a CPU-only machine) `to` returns the leaf itself and all goes well.""",
    reference="https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html",
    bad=(
        """\
import torch

weights = torch.rand(10, 1, requires_grad=True).cuda()
optimizer = torch.optim.SGD([weights], lr=0.1)
""",
        """\
import torch

image = torch.zeros(3, 8, 8, requires_grad=True).to("cuda")
image.pow(2).sum().backward()
step = image.grad.sign()
""",
        """\
import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width)).cuda()

    def forward(self, x):
        return x * self.gain
""",
    ),
    good=(
        """\
import torch

weights = torch.rand(10, 1, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weights], lr=0.1)
""",
        """\
import torch

image = torch.zeros(3, 8, 8).to("cuda").requires_grad_()
image.pow(2).sum().backward()
step = image.grad.sign()
""",
        """\
import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * self.gain
""",
    ),
    check=_check,
    fix="""\
Makes the leaf on the device: `torch.rand(10, 1, requires_grad=True, device="cuda")`,
`nn.Parameter(torch.ones(3).to(device))`. Unsafe: a random factory draws other numbers there, and
the old leaf gets no gradient any more.""",
    twin="The guard sees a leaf that requires grad being moved.",
    limits="""\
A copy used only in computations beside its leaf (`y = x.cuda()`) is right and not reported.""",
)
