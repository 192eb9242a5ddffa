"""DEV507: autocasting for one device type around work on another."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.domain.placement import Device
from devlint.inference.facts import AutocastElsewhere, Facts
from devlint.rule import Claim, Rule
from devlint_rules.helpers.assumptions import assume
from devlint_rules.helpers.rewrites import is_path
from devlint_rules.helpers.scopes import is_bound


def _check(facts: Facts) -> Iterator[Claim]:
    for fact in facts.autocasts_elsewhere:
        assumed = assume(
            AssumptionKind.CODE_IS_TRACED, fact.site, "autocasting is on where the work is done"
        )
        yield Claim(
            fact.site,
            Severity.WARNING,
            confidence_of(assumed),
            _message(fact),
            advice=_advice(facts, fact),
            assumptions=assumed,
        )


def _message(fact: AutocastElsewhere) -> str:
    if isinstance(fact.place, Device):
        return (
            f"autocasting for `{fact.kind}` does nothing here: `{fact.subject}` is on "
            f"`{fact.place}`"
        )
    return (
        f"autocasting is for `{fact.kind}` alone, `{fact.subject}` on the device that the caller "
        "chooses"
    )


def _advice(facts: Facts, fact: AutocastElsewhere) -> str:
    if isinstance(fact.place, Device):
        return f'`torch.autocast("{fact.place.type}")`, or the move that is missing'
    if not is_path(fact.subject) or not is_bound(facts, fact.subject, fact.site.node):
        return "take the type of its device, `torch.autocast(x.device.type)`"
    return f"take the type of its device: `torch.autocast({fact.subject}.device.type)`"


RULE = Rule(
    code="DEV507",
    name="autocast-elsewhere",
    severity=Severity.WARNING,
    summary="Autocasting for one device type around work that is on another, or on a chosen one.",
    what="""\
Reports `with torch.autocast("cpu"):` around what is computed on CUDA, `with
torch.autocast("cuda"):` (or `torch.cuda.amp.autocast()`) around what is computed on the host, and a
device type that is written out around work on a device that the caller chooses.""",
    why="""\
Autocasting holds for one device type and leaves the others alone: the block computes in full
precision, takes the memory and the time of that, and says nothing. With `"cuda"` written out it
does so on every other accelerator.""",
    reference="https://docs.pytorch.org/docs/stable/amp.html",
    bad=(
        """\
import torch

model = torch.nn.Linear(4, 2).cuda()
batch = torch.ones(8, 4).cuda()
with torch.autocast("cpu", dtype=torch.bfloat16):
    print(model(batch).dtype)
""",
        """\
import torch

model = torch.nn.Linear(4, 2)
with torch.autocast("cuda"):
    print(model(torch.ones(8, 4)).dtype)
""",
        """\
import torch


def predict(model: torch.nn.Module, batch: torch.Tensor, device: torch.device):
    batch = batch.to(device)
    with torch.autocast("cuda"):
        return model(batch)
""",
    ),
    good=(
        """\
import torch

model = torch.nn.Linear(4, 2).cuda()
batch = torch.ones(8, 4).cuda()
with torch.autocast("cuda", dtype=torch.bfloat16):
    print(model(batch).dtype)
""",
        """\
import torch


def predict(model: torch.nn.Module, batch: torch.Tensor, device: torch.device):
    batch = batch.to(device)
    with torch.autocast(device.type):
        return model(batch)
""",
        """\
import torch

model = torch.nn.Linear(4, 2).cuda()
batch = torch.ones(8, 4).cuda()
with torch.autocast("cpu", enabled=False):
    print(model(batch).dtype)
""",
    ),
    check=_check,
    twin="""\
None: the block computes on the device where its tensors are, as it would without autocasting, which
is no event.""",
    limits="""\
Of a block in which anything is somewhere unknown, only what was moved by `.to(device)` is said, and
not in code for CUDA, nor where a condition around the block or its `enabled=` may have asked. Work
that a function called in the block does for itself is not seen. The rule is in preview: of 14
findings in 249 public repositories (November 2026) four were right and worth saying; most others
stood in code that runs on CUDA alone, whatever its parameters say.""",
    preview=True,
)
