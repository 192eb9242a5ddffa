"""DEV201: the result of a tensor's move is thrown away."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.facts import Facts, Meeting, Move, StepKind
from devlint.inference.syntax.attribute_moves import is_mover
from devlint.inference.syntax.text import called_name
from devlint.rule import Claim, Note, Replacement, Rule
from devlint_rules.helpers.assumptions import assume_if, called
from devlint_rules.helpers.causes import uses_of_lost
from devlint_rules.helpers.lost_moves import lost_moves
from devlint_rules.helpers.rewrites import in_file, receiver, short, text_of
from devlint_rules.helpers.wording import MAX_TWINS, history, place_of

_TARGETS = ("Name", "Attribute", "Subscript")


def _fix(facts: Facts, move: Move) -> tuple[Replacement, ...]:
    """`x.to(d)` on a line of its own becomes `x = x.to(d)`."""
    subject = receiver(move.site.node)
    if _is_of_parameter(move) or move.either:
        return ()
    if subject is None or type(subject).__name__ not in _TARGETS or not in_file(facts, move.site):
        return ()
    return (Replacement(move.site, f"{text_of(subject)} = {text_of(move.site.node)}"),)


def _is_of_parameter(move: Move) -> bool:
    """`self.weight.to(d)`, or of what is asked whether it is one: what it returns is no parameter,
    and may not take the name of one."""
    made = [s.site.node for s in move.subject.steps if s.kind is StepKind.REGISTERED]
    is_attribute = isinstance(receiver(move.site.node), cst.Attribute)
    return (
        (is_attribute or not move.subject.steps)
        and move.subject.is_parameter
        and not any(isinstance(m, cst.Call) and called_name(m) == "register_buffer" for m in made)
    )


def _effect(move: Move) -> str:
    """What the statement does without the move: `weight.copy_(new).to(device)` has written."""
    before = receiver(move.site.node)
    name = called_name(before) if isinstance(before, cst.Call) else ""
    writes = name.endswith("_") and not name.endswith("__")
    return f"`{name}` has done its work in place" if writes else ""


def _advice(move: Move) -> str:
    name, call = move.subject.name, short(move.site.node)
    if _is_of_parameter(move):
        moved = f"{name}.data{call[len(name) :]}" if call.startswith(name) else ""
        data = f"`{name}.data = {moved}`" if moved else "its `.data`"
        return f"move the module that has it (`module.to(device)`), or {data}"
    if move.either:
        return f"keep the result, and put it back where `{name}` came from: `{name} = {call}`"
    if name.endswith(")"):
        return "keep the result: assign it to the name that is read later"
    return f"keep the result: `{name} = {call}`"


def _message(move: Move) -> str:
    name, call = move.subject.name, short(move.site.node)
    if move.either:
        return (
            f"`{call}` moves a module, and returns a new tensor of a tensor, which is thrown away: "
            f"`{name}` stays where it was then"
        )
    return f"`{call}` returns a new tensor, which is thrown away: `{name}` stays where it was"


def _told(use: Meeting) -> Note:
    """Where the tensor meets what is where it should be."""
    return Note(use.site, f"`{use.left.name}` meets `{use.right.name}`, on {place_of(use.right)}")


def _is_of_mover(move: Move) -> bool:
    """It stands in a function that is there to move: whoever calls that needs it elsewhere."""
    function = move.function.node if move.function is not None else None
    return isinstance(function, cst.FunctionDef) and is_mover(function.name.value)


def _check(facts: Facts) -> Iterator[Claim]:
    for move in lost_moves(facts):
        name = move.subject.name
        uses = uses_of_lost(facts, move)
        is_needed = bool(uses) or _is_of_mover(move)
        assumed = assume_if(
            not is_needed,
            AssumptionKind.RESULT_WAS_WANTED,
            move.site,
            f"`{name}` is to be used where it was moved",
        )
        though = move.made_elsewhere or _effect(move)
        assumed += assume_if(
            bool(though),
            AssumptionKind.RESULT_IS_MOVED_IN_VAIN,
            move.site,
            f"`{name}` is to be moved here, though {though}",
        )
        assumed += called(facts, move.site)
        yield Claim(
            move.site,
            Severity.ERROR if is_needed else Severity.WARNING,
            confidence_of(assumed),
            _message(move),
            advice=_advice(move),
            trace=(*history(move.subject), *map(_told, uses[:MAX_TWINS])),
            fix=_fix(facts, move),
            applicability=Applicability.SAFE,
            assumptions=assumed,
        )


RULE = Rule(
    code="DEV201",
    name="discarded-move",
    severity=Severity.ERROR,
    summary="The result of `t.to(...)`, `.cuda()` or `.cpu()` on a tensor is thrown away.",
    what="""\
Reports a tensor's `.to(device)`, `.cuda()` or `.cpu()` whose result nobody keeps. It is an error
where the tensor then meets what is where it should be, and in a function that is there to move,
such as `to(self, device)`; else a warning. The operations that then meet the tensor where it was
are in the trace, and no findings of their own. So it does a move of what is asked whether it is a
module or a tensor, `isinstance(part, (nn.Module, nn.Parameter))`: a parameter is a tensor.""",
    why="""\
`Tensor.to` returns a copy on the other device and leaves the tensor itself where it was. Only
`Module.to` works in place, from which the mistake comes. The next operation meets the old tensor
and raises, or runs silently on the CPU.""",
    reference="https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html",
    bad=(
        """\
import torch

images = torch.rand(4, 3, 8, 8)
images.to("cuda")
mean = images.mean()
""",
        """\
import torch
from torch.utils.data import DataLoader


def run(model, dataset, device):
    model.to(device)
    for inputs, targets in DataLoader(dataset):
        inputs = inputs.to(device)
        targets.to(device)
        yield model(inputs), targets
""",
        """\
import torch


def summary(x: torch.Tensor) -> torch.Tensor:
    history = torch.stack([x, x * 2])
    history.cpu()
    return history
""",
    ),
    good=(
        """\
import torch

images = torch.rand(4, 3, 8, 8)
images = images.to("cuda")
mean = images.mean()
""",
        """\
from torch import nn

model = nn.Linear(3, 3)
model.to("cuda")  # a module moves in place
""",
        """\
import torch

torch.zeros(1).cuda()  # starts the CUDA context; there is nothing to keep
""",
    ),
    check=_check,
    fix="Assigns the result: `x = x.to(device)`.",
    twin="The guard sees a moved tensor die by the very statement that made it, unused.",
    limits="""\
Only for receivers that are inferred to be tensors. Containers whose `.to` works in place
(`BatchEncoding`, PyG `Data`, `PackedSequence` does not) are left alone, and so is what has
attributes or methods that no tensor has, and the `to` of a class that a test makes for itself. A
move to where the tensor is already does nothing, and is no finding; of a statement that writes in
place (`x.copy_(y).to(device)`) it is `possible` only. Neither is one of a registered
buffer to where an input of its module is, or one of what a function gave and nobody holds.""",
)
