"""DEV506: a call of `torch.cuda` that `torch.accelerator` has for every accelerator."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.facts import CudaCall, Facts
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers.assumptions import runs_elsewhere, runs_without_cuda


def _check(facts: Facts) -> Iterator[Claim]:
    for fact in facts.cuda_calls:
        assumed = runs_without_cuda(fact.site) + runs_elsewhere(
            fact.site, "it shows to be for CUDA" if fact.on_purpose else ""
        )
        yield Claim(
            fact.site,
            Severity.WARNING,
            confidence_of(assumed),
            f"`{fact.text}` is for CUDA alone: `{fact.stand_in}` is for any accelerator",
            advice=_advice(fact),
            fix=_fix(fact),
            applicability=_applicability(fact),
            assumptions=assumed,
        )


def _applicability(fact: CudaCall) -> Applicability:
    """Safe where all that the project supports has it, on every accelerator."""
    safe = fact.targeted and not fact.complete
    return Applicability.SAFE if safe else Applicability.UNSAFE


def _advice(fact: CudaCall) -> str:
    instead = f"write `{fact.rewritten or fact.stand_in + '(…)'}`{_condition(fact)}"
    if fact.complete:
        instead += f" (on MPS it raises before PyTorch {fact.complete})"
    return instead


def _condition(fact: CudaCall) -> str:
    """The condition that the other call needs around it, as it reads behind it; "" for none."""
    if fact.guarded and fact.test is None:
        return ', and a condition that is not on CUDA: `device.type != "cpu"`'
    if not fact.alike:
        return " behind `torch.accelerator.is_available()`: it raises where there is none"
    return ""


def _fix(fact: CudaCall) -> tuple[Replacement, ...]:
    """The call, and the condition on CUDA that is around it."""
    if not fact.rewritten:
        return ()
    call = Replacement(fact.site, fact.rewritten)
    if fact.test is not None:
        return call, Replacement(fact.test, "torch.accelerator.is_available()")
    return () if _condition(fact) else (call,)


RULE = Rule(
    code="DEV506",
    name="cuda-only-call",
    severity=Severity.WARNING,
    summary="`torch.cuda.*` where `torch.accelerator` does the same for every accelerator.",
    what="""\
Reports calls of `torch.cuda` that `torch.accelerator` has a function for, in the PyTorch that the
project supports: `synchronize`, `device_count`, `current_device` and `set_device` since 2.6,
`device` since 2.8, `empty_cache` and the functions on memory since 2.9, `mem_get_info` since 2.10.
`target-torch` in the configuration names the oldest release that the project supports; without it
only what 2.6 had is reported.""",
    why="""\
The code runs on CUDA alone, although nothing in it is about CUDA: on another accelerator the call
raises, or, behind `if torch.cuda.is_available()`, does not happen: a time is taken before the
device is done, and memory is neither freed nor measured.""",
    reference="https://docs.pytorch.org/docs/stable/accelerator.html",
    bad=(
        """\
import time

import torch


def timed(step, batch):
    start = time.perf_counter()
    step(batch)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start
""",
        """\
import torch


def local_device(rank):
    torch.cuda.set_device(rank % torch.cuda.device_count())
    return torch.cuda.current_device()
""",
        """\
import torch


def workers():
    return max(1, torch.cuda.device_count())
""",
    ),
    good=(
        """\
import time

import torch


def timed(step, batch):
    start = time.perf_counter()
    step(batch)
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()
    return time.perf_counter() - start
""",
        """\
import torch


def wait(device: torch.device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
""",
        """\
import torch


def capability():
    return torch.cuda.get_device_capability()  # torch.accelerator gives something else
""",
    ),
    check=_check,
    fix="""\
Writes the call of `torch.accelerator` and, where the condition around it asks for CUDA and nothing
but such calls stands behind it, that condition. A keyword goes, as `torch.accelerator` takes none,
and `torch.cuda.device(x.device)` becomes `torch.accelerator.device_index(x.device.index)`. No fix
where the two differ: `torch.cuda.empty_cache()` does nothing where there is no CUDA, and
`torch.accelerator.empty_cache()` raises where there is no accelerator. Without `target-torch` it is
not a safe fix, since an older PyTorch has no `torch.accelerator`; nor are, before 2.13, those of
functions on memory, which fail an assertion on MPS.""",
    twin="""\
None: on a machine with CUDA nothing happens that should not. Where the call raises on another
machine, DEV504 says so, and a run shows it.""",
    limits="""\
Silent where the code tells accelerators apart itself (`torch.mps.synchronize()` or `"mps"` beside
it, an `else` that waits for the others), and in functions for CUDA alone: beside `.cuda()`,
`torch.cuda.Event` or NCCL one call is not what binds it. Where the same is true of the file, where
nothing in it asks for a device or is given one, and for `device_count`, `current_device` and
`set_device`, which stand beside launchers, wrappers and NCCL, the finding is a *possible* one. Not
reported are functions of one name that differ: `is_available`, behind which the code may go on to
`"cuda"`; `get_device_capability`, which gives a dictionary; streams. Of backends that are not
PyTorch's own it is not known what they have. The rule is in preview: of 69 findings on 249
repositories, at most nine of each (November 2026), all named the right function, and 52 were worth
saying; of the 17 of them that were read only after these limits had been drawn, 14. The rest stood
in code that is for CUDA in other ways.""",
    preview=True,
)
