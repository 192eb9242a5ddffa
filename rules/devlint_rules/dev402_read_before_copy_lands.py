"""DEV402: a non-blocking copy to the host is read before it has landed."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.facts import Facts, LateRead
from devlint.rule import Claim, Note, Replacement, Rule
from devlint_rules.helpers.assumptions import assume
from devlint_rules.helpers.rewrites import argument, in_file, short, without_argument


def _fix(facts: Facts, late: LateRead) -> tuple[Replacement, ...]:
    """Copy blocking: drop `non_blocking=True`."""
    call = late.copy.node
    if not isinstance(call, cst.Call) or not in_file(facts, late.copy):
        return ()
    if argument(call, "non_blocking") is None:
        return ()
    return (Replacement(late.copy, without_argument(call, "non_blocking")),)


def _check(facts: Facts) -> Iterator[Claim]:
    for late in facts.late_reads:
        assumed = assume(
            AssumptionKind.WORK_OVERLAPS, late.read, "the copy has not landed by chance"
        )
        yield Claim(
            late.read,
            Severity.ERROR,
            confidence_of(assumed),
            f"`{late.operand.name}` is read before its copy to the host has landed: the values "
            "may be garbage",
            advice=(
                "drop `non_blocking=True`, or call `torch.cuda.synchronize()` (or wait for an "
                "event) before the read"
            ),
            trace=(Note(late.copy, f"copied without waiting here, by `{short(late.copy.node)}`"),),
            fix=_fix(facts, late),
            applicability=Applicability.SAFE,
            assumptions=assumed,
        )


RULE = Rule(
    code="DEV402",
    name="read-before-copy-lands",
    severity=Severity.ERROR,
    summary="A copy to the host with `non_blocking=True` is read with no synchronisation.",
    what="""\
Reports a tensor copied from an accelerator to the host with `non_blocking=True` that the host reads
before anything waited for the copy.""",
    why="""\
The call returns before the bytes have arrived. PyTorch orders later kernels on the same stream
behind the copy, but not the host's own reads: they see whatever the memory held. Nothing raises;
the numbers are wrong now and then.""",
    reference="https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
    bad=(
        """\
import torch

loss = torch.rand(16, device="cuda")
host = loss.to("cpu", non_blocking=True)
print(host.sum())
""",
        """\
import torch

features = torch.randn(4, 8, device="cuda")
array = features.to("cpu", non_blocking=True).numpy()
""",
        """\
import torch

mask = torch.rand(10, device="cuda") > 0.5
flags = mask.to("cpu", non_blocking=True)
if flags[0]:
    print("first")
""",
    ),
    good=(
        """\
import torch

loss = torch.rand(16, device="cuda")
host = loss.to("cpu", non_blocking=True)
torch.cuda.synchronize()
print(host.sum())
""",
        """\
import torch

features = torch.randn(4, 8, device="cuda")
array = features.to("cpu").numpy()
""",
        """\
import torch

batch = torch.rand(16, 3).pin_memory()
on_device = batch.to("cuda", non_blocking=True)  # kernels wait for it by themselves
total = on_device.sum()
""",
    ),
    check=_check,
    fix="Drops `non_blocking=True`, so that the call waits for the copy.",
    twin="The guard sees the read of a copy that no synchronisation has followed.",
    limits="""\
A synchronisation in a callee that devlint cannot see is missed. A blocking copy to the host
(`.cpu()`, `.item()`) is taken to wait for all copies before it, as it does on one stream. Some
PyTorch versions wait by themselves where the host memory is pageable; code should not rest on
that.""",
)
