"""DEV101: operands of one operation on different devices."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from devlint.findings import Severity
from devlint.inference.facts import Facts, Meeting
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers.meetings import claims, with_both_meant
from devlint_rules.helpers.operand_device import bound_anew, brought_there
from devlint_rules.helpers.rewrites import where_it_meets
from devlint_rules.helpers.wording import device_there, moved, sends_to_group


def _advice(facts: Facts, meeting: Meeting) -> str:
    if sends_to_group(meeting):
        return f"move `{meeting.left.name}` to the card of this process first, or make it there"
    device = device_there(facts, meeting, meeting.site.node)
    anew = bound_anew(facts, meeting.left, meeting.right, device)
    if anew:
        return anew
    if device is None:
        return f"move `{meeting.left.name}` to the device of the other operand before they meet"
    return moved(meeting.left, device)


def _fix(facts: Facts, meeting: Meeting) -> tuple[Replacement, ...]:
    left, right = meeting.left, meeting.right
    if sends_to_group(meeting):
        return ()  # which card the process has is not in sight
    return where_it_meets(facts, left, right) or brought_there(facts, left, right)


def _check(facts: Facts) -> Iterator[Claim]:
    # Where one of two devices is a guess, something out of sight mostly brings them together.
    advice = partial(_advice, facts)
    return claims(facts, "DEV101", advice=advice, fix=_fix, assumptions=with_both_meant)


RULE = Rule(
    code="DEV101",
    name="mixed-device-operation",
    severity=Severity.ERROR,
    summary="Operands of one operation are on different devices.",
    what="""\
Reports an operation (arithmetic, `matmul`, `cat`, `where`, a functional loss, …) whose tensor
operands live on two different devices, for example on the host and on an accelerator. 0-dim CPU
tensors and Python numbers meet every device, as in PyTorch.""",
    why="""\
PyTorch computes where the operands are and does not copy between devices on its own: an operation
on tensors of different devices raises `RuntimeError: Expected all tensors to be on the same
device`. Only `copy_`, `to`, `cuda` and their like copy across. On a machine without an accelerator
the same code runs, so that the error first shows where accelerator time is paid for.""",
    reference="https://docs.pytorch.org/docs/stable/notes/cuda.html",
    bad=(
        """\
import torch

weights = torch.randn(64, 64).cuda()
bias = torch.zeros(64)
out = weights + bias
""",
        """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
queries = torch.randn(8, 16, device=device)
keys = torch.randn(8, 16)
scores = queries @ keys.T
""",
        """\
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader


def train(model, dataset, optimizer):
    model.cuda()
    for images, labels in DataLoader(dataset, batch_size=32):
        logits = model(images.cuda())
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
    ),
    good=(
        """\
import torch

weights = torch.randn(64, 64).cuda()
bias = torch.zeros(64, device=weights.device)
out = weights + bias
""",
        """\
import torch

temperature = torch.tensor(0.7)  # 0-dim: meets every device
logits = torch.randn(8, 100, device="cuda")
scaled = logits / temperature
""",
        """\
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader


def train(model, dataset, optimizer, device):
    model.to(device)
    for images, labels in DataLoader(dataset, batch_size=32):
        images, labels = images.to(device), labels.to(device)
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
    ),
    check=_check,
    fix="""\
Moves the operand that is out of place where the two meet: `bias.to(weights.device)`. Where the
other one has no name, it is made on the device that the other was moved to, if that is bound there.
Unsafe: the copy may belong further up, outside a loop, and the host may need what is made.""",
    twin="`devlint confirm` waits for PyTorch's mixed-device error on the way through the line.",
    limits="""\
A value whose place is unknown meets anything in silence. A tensor made on the default device that
meets a module's or a caller's device is DEV102; two indices of one accelerator are DEV106. Where
one of the two devices is a guess, what an unknown callee gave for example, the finding is
`possible` and not shown by default: on code that works, something out of sight nearly always brings
them together.""",
)
