"""DEV201: the result of a tensor's move is thrown away."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from devlint.findings import Applicability, Confidence, Severity
from devlint.inference.facts import Facts, Move
from devlint.inference.placement import CPU
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.rewriting import in_file, receiver, short, text_of
from devlint_rules.wording import history

_ACCELERATOR = re.compile(r"cuda|gpu|accelerat|\bmps\b|\bxpu\b|\bhpu\b|\bnpu\b", re.I)
_HOST_DEVICE = re.compile(r"device\s*=\s*(torch\.device\()?[\"']cpu[\"']", re.I)
_TARGETS = ("Name", "Attribute", "Subscript")

# Methods of modules that no tensor has.
_OF_MODULES = "eval|train|parameters|named_parameters|state_dict|load_state_dict"


def _is_for_host(text: str) -> bool:
    """A program whose device is the CPU, and that knows of no other."""
    return bool(_HOST_DEVICE.search(text)) and not _ACCELERATOR.search(text)


def _is_module(move: Move) -> bool:
    """Elsewhere in the function it is used as only a module is: `model.eval()`."""
    if move.function is None or not move.subject.name.isidentifier():
        return False
    return bool(
        re.search(rf"(?<![\w.]){move.subject.name}\.({_OF_MODULES})\(", text_of(move.function.node))
    )


def _fix(facts: Facts, move: Move) -> tuple[Replacement, ...]:
    """`x.to(d)` on a line of its own becomes `x = x.to(d)`."""
    subject = receiver(move.site.node)
    if subject is None or type(subject).__name__ not in _TARGETS or not in_file(facts, move.site):
        return ()
    return (Replacement(move.site, f"{text_of(subject)} = {text_of(move.site.node)}"),)


def _check(facts: Facts) -> Iterator[Claim]:
    for move in facts.moves:
        # A move of a nameless tensor on a line of its own is there for its effect: a warm-up.
        if not move.discarded or move.of_module or move.creation is not None:
            continue
        place = move.subject.placement
        if place is not None and place == move.target and not move.to_tensor:
            continue  # it is there already
        if move.target == CPU and _is_for_host(getattr(facts.source, "text", "")):
            continue  # nothing is elsewhere
        if _is_module(move):
            continue
        name, call = move.subject.name, short(move.site.node)
        subject = move.subject.site.node
        if isinstance(subject, cst.Call) and isinstance(subject.func, cst.Name):
            continue  # of what a function gave, for nobody to hold
        target = move.target_node
        if target is not None and text_of(target) == f"{text_of(subject)}.device":
            continue  # it is there already, wherever that is
        yield Claim(
            move.site,
            Severity.ERROR if move.used_later else Severity.WARNING,
            Confidence.CERTAIN if move.used_later else Confidence.LIKELY,
            f"`{call}` returns a new tensor, which is thrown away: `{name}` stays where it was",
            advice=f"keep the result: `{name} = {call}`",
            trace=history(move.subject),
            fix=_fix(facts, move),
            applicability=Applicability.SAFE,
        )


RULE = Rule(
    code="DEV201",
    name="discarded-move",
    severity=Severity.ERROR,
    summary="The result of `t.to(...)`, `.cuda()` or `.cpu()` on a tensor is thrown away.",
    what="""\
Reports a tensor's `.to(device)`, `.cuda()` or `.cpu()` whose result nobody keeps. It is an error
where the tensor is used afterwards, and a warning where it is not.""",
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
move to where the tensor is already does nothing, and is no finding; nor is that of what a function
gave and nobody holds.""",
)
