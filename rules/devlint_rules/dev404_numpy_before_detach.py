"""DEV404: NumPy gets a tensor that requires grad."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.findings import Applicability, Severity
from devlint.inference.domain.placement import may_be_accelerator
from devlint.inference.facts import Facts, UndetachedRead
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers.rewrites import (
    append_to,
    atom,
    in_file,
    move_target,
    parsed,
    receiver,
    text_of,
)
from devlint_rules.helpers.wording import HIDDEN, history

_DETACH = ".detach()"


def _fixed(read: UndetachedRead) -> str | None:
    """The operand, detached: before it is moved, so that the copy needs no graph either."""
    node = read.operand.site.node
    before = receiver(node)
    if before is None or move_target(node) is None:
        return None
    assert isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)
    detached = parsed(f"{atom(before)}{_DETACH}")
    return text_of(node.with_changes(func=node.func.with_changes(value=detached)))


def _advice(read: UndetachedRead) -> str:
    text = _fixed(read)
    if text is None or "\n" in text:
        text = f"{read.operand.name}{_DETACH}"
    return f"detach it from the graph first: `{text}`"


def _fix(facts: Facts, read: UndetachedRead) -> tuple[Replacement, ...]:
    text = _fixed(read)
    if text is None:
        return append_to(facts, read.operand, _DETACH)
    return (Replacement(read.operand.site, text),) if in_file(facts, read.operand.site) else ()


def _check(facts: Facts) -> Iterator[Claim]:
    for read in facts.undetached_reads:
        operand = read.operand
        if may_be_accelerator(operand.placement):
            continue  # DEV401 says that it is elsewhere, and detaches it as well
        yield Claim(
            read.site,
            Severity.ERROR,
            read.confidence,
            f"`{read.sink}` shares memory that autograd knows nothing of, and `{operand.name}` "
            f"requires grad{HIDDEN if read.caught else ''}",
            advice=_advice(read),
            trace=history(operand),
            fix=_fix(facts, read),
            applicability=Applicability.SAFE,
            assumptions=read.assumptions,
        )


RULE = Rule(
    code="DEV404",
    name="numpy-before-detach",
    severity=Severity.ERROR,
    summary="`.numpy()` or a NumPy function gets a tensor that requires grad.",
    what="""\
Reports `.numpy()`, `np.asarray` and other functions of NumPy on a tensor that autograd records: a
leaf that requires grad, a parameter, the output of a layer, or what is computed of one, where
gradients are on.""",
    why="""\
The array would share memory with a tensor whose history autograd keeps, and a write to it would go
unseen: PyTorch raises `RuntimeError: Can't call numpy() on Tensor that requires grad. Use
tensor.detach().numpy() instead.` A copy to the host is recorded as well, so `.cpu()` alone does not
help. Under `torch.no_grad()` the same line works, which is why it is found late: where a model is
run without it for the first time.""",
    reference="https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html",
    bad=(
        """\
import torch

weights = torch.randn(8, device="cuda", requires_grad=True)
(weights**2).sum().backward()
array = weights.cpu().numpy()
""",
        """\
import torch
from torch import nn

layer = nn.Linear(4, 2).cuda()
scores = layer(torch.randn(8, 4, device="cuda")).softmax(dim=-1).cpu()
array = scores.numpy()
""",
        """\
import numpy as np
from torch import nn


def train(model: nn.Module, loader, optimizer):
    history = []
    for images, labels in loader:
        logits = model(images.cuda())
        loss = nn.functional.cross_entropy(logits, labels.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(np.asarray(logits.cpu()))
    return history
""",
    ),
    good=(
        """\
import torch

weights = torch.randn(8, device="cuda", requires_grad=True)
(weights**2).sum().backward()
array = weights.detach().cpu().numpy()
""",
        """\
import torch
from torch import nn

layer = nn.Linear(4, 2).cuda()
with torch.no_grad():
    scores = layer(torch.randn(8, 4, device="cuda")).softmax(dim=-1).cpu()
array = scores.numpy()
""",
        """\
import torch
from torch import nn

layer = nn.Linear(4, 2).cuda()
scores = layer(torch.randn(8, 4, device="cuda")).cpu()
best = scores.argmax(dim=-1).numpy()  # integers have no gradient
""",
    ),
    check=_check,
    fix="Puts `.detach()` before the move to the host. Where nothing is recorded it does nothing.",
    twin="The guard sees PyTorch refuse to convert a tensor that requires grad.",
    limits="""\
A tensor on an accelerator is DEV401, whose fix detaches it as well. In a function that nobody in
sight calls gradients may be off: a finding there is `possible`, unless the function itself runs a
backward pass. A file that freezes parameters is not asked about the outputs of its modules.""",
)
