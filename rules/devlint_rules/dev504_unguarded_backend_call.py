"""DEV504: a call of a backend that raises where the backend is not there."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.facts import Facts, Mention
from devlint.rule import Claim, Rule
from devlint_rules.helpers import pinned_memory
from devlint_rules.helpers.assumptions import (
    assume,
    in_use,
    runs_elsewhere,
    runs_without_cuda,
    sign_of_cuda,
)
from devlint_rules.helpers.mentions import twins, unguarded
from devlint_rules.helpers.ownership import rule_of_mention


def _serves_others(facts: Facts, first: Mention) -> bool:
    """The file works without CUDA elsewhere, and this is the call that breaks it."""
    return first.serves_host and not any(
        rule_of_mention(m) == "DEV501" and not m.guarded and m.in_main == first.in_main
        for m in facts.mentions
    )


def _only_waits(facts: Facts, mentions: list[Mention]) -> bool:
    """Nothing else in a library's file is for CUDA: it works with what it is given, wherever that
    is, until it waits for CUDA. `out = model(x); torch.cuda.synchronize()`"""
    if "cuda" in facts.source.text.replace("torch.cuda.", ""):
        return False
    return len(facts.mentions) == len(mentions) and not any(
        mention.in_main or not mention.text.startswith(_WAIT) for mention in mentions
    )


_WAIT = "torch.cuda.synchronize"


def _assumptions(facts: Facts, mentions: list[Mention]) -> Assumptions:
    """A script for one machine may be meant for that alone."""
    first = mentions[0]
    sign = sign_of_cuda(mentions, _serves_others(facts, first) or _only_waits(facts, mentions))
    without = runs_without_cuda(first.site) + runs_elsewhere(first.site, sign)
    return without + in_use(facts, first.site)


def _causes(facts: Facts) -> Iterator[list[Mention]]:
    """The unguarded calls of a backend, and apart from them what pins: its mending differs."""
    for mentions in unguarded(facts, "DEV504"):
        pins = [mention for mention in mentions if mention.kind == "pin"]
        calls = [mention for mention in mentions if mention.kind != "pin"]
        yield from (group for group in (calls, pins) if group)


def _of_pins(facts: Facts, mentions: list[Mention]) -> Claim:
    first, *others = mentions
    assumed = _assumptions(facts, mentions)
    more = f" (and {len(others)} more in this file)" if others else ""
    return Claim(
        first.site,
        Severity.WARNING,
        confidence_of(assumed),
        f"`{first.text}` raises where there is no accelerator: only its allocator pins{more}",
        advice=pinned_memory.advice(first),
        trace=twins(others),
        fix=pinned_memory.fix(facts, mentions),
        assumptions=assumed,
    )


def _advice(mention: Mention) -> str:
    if "data_parallel(" in mention.text:
        return "`nn.DataParallel(…)`, the class, calls the module itself where there is none"
    return (
        "ask first (`if torch.cuda.is_available():`), or use `torch.accelerator`, which "
        "serves whatever is there"
    )


def _check(facts: Facts) -> Iterator[Claim]:
    for mentions in _causes(facts):
        if mentions[0].kind == "pin":
            yield _of_pins(facts, mentions)
            continue
        first, *others = mentions
        more = f" (and {len(others)} more in this file)" if others else ""
        assumed = _assumptions(facts, mentions)
        yield Claim(
            first.site,
            Severity.WARNING,
            confidence_of(assumed),
            f"`{first.text}` raises where the backend is not there{more}",
            advice=_advice(first),
            trace=twins(others),
            assumptions=assumed,
        )
    for absent in facts.absent_backends:
        assumed = assume(
            AssumptionKind.PACKAGE_WAS_NOT_IMPORTED,
            absent.site,
            f"nothing out of sight imports `{absent.package}`",
        )
        yield Claim(
            absent.site,
            Severity.WARNING,
            confidence_of(assumed),
            f"`{absent.text}` is there only where `{absent.package}` was imported: without it even "
            "the question raises an AttributeError",
            advice=(
                f'ask torch first: `hasattr(torch, "{absent.backend}") and {absent.text}()`, or '
                "use `torch.accelerator`, which serves whatever is there"
            ),
            assumptions=assumed,
        )


RULE = Rule(
    code="DEV504",
    name="unguarded-backend-call",
    severity=Severity.WARNING,
    summary="`torch.cuda.*` that raises where there is no CUDA.",
    what="""\
Reports calls such as `torch.cuda.synchronize()`, `torch.cuda.current_device()`,
`torch.cuda.get_device_name()` and `torch.cuda.Event()` that no condition on availability guards.
Calls that do nothing without CUDA (`manual_seed_all`, `empty_cache`) are no finding.

Reports `torch.nn.parallel.data_parallel(module, inputs)`, the function, which raises where there is
no accelerator: `device type could not be determined`.

Reports `torch.empty(n, pin_memory=True)`, of any factory, and `x.pin_memory()` alike.

Reports `torch.npu.is_available()` and its like, of backends that are not PyTorch's own, in a file
that neither imports their package nor asks whether `torch` has them.""",
    why="""\
These calls start the CUDA context, and raise `AssertionError: Torch not compiled with CUDA enabled`
or `RuntimeError: Found no NVIDIA driver` on a machine without it. Pinned memory comes from the
accelerator's allocator: where there is none, `pin_memory=True` raises a `RuntimeError`, unlike that
of a `DataLoader`, which warns and goes on. Where `torch_npu` was not imported, `torch` has no
attribute `npu`.""",
    reference="https://docs.pytorch.org/docs/stable/accelerator.html",
    bad=(
        """\
import time

import torch


def timed(function):
    torch.cuda.synchronize()
    start = time.perf_counter()
    function()
    torch.cuda.synchronize()
    return time.perf_counter() - start
""",
        """\
import torch

print(torch.cuda.get_device_name(0))
""",
        """\
import torch


def peak():
    index = torch.cuda.current_device()
    return torch.cuda.max_memory_allocated(index)
""",
        """\
import torch


def card():
    if torch.cuda.is_available():
        return "cuda"
    return "npu" if torch.npu.is_available() else "cpu"
""",
        """\
import torch


def batch(tokens, device):
    x = torch.tensor(tokens, pin_memory=True)
    return x.to(device, non_blocking=True)
""",
    ),
    good=(
        """\
import torch


def card():
    if hasattr(torch, "npu") and torch.npu.is_available():
        return "npu"
    return "cpu"
""",
        """\
import time

import torch


def timed(function):
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    start = time.perf_counter()
    function()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start
""",
        """\
import torch

if torch.cuda.is_available():
    print(torch.cuda.get_device_name(0))
""",
        """\
import torch

torch.cuda.manual_seed_all(0)  # does nothing without CUDA
torch.cuda.empty_cache()
""",
        """\
import torch


def batch(tokens, device):
    x = torch.tensor(tokens, pin_memory=torch.cuda.is_available())
    return x.to(device, non_blocking=True)
""",
    ),
    check=_check,
    fix="Where all that pins are options, asks for CUDA in each of them.",
    twin="""\
On a machine without CUDA (`devlint confirm --virtual mps`, or a host) the line raises; what pins
raises on a host alone.""",
    limits="""\
A guard in another file, or where a framework starts, is not seen; hence a warning. A flag that was
set by such a question counts as one (`on_card = device.type == "cuda"`). Within a file a guard
counts for the functions that are called behind it, a constructor's for its class, and that of a
main part or a set-up function (`initialize`, `setup_…`) for all. What works with streams
(`wait_stream`, `record_stream`) is for CUDA alone, and so is what stands beside a collective on
tensors of a card. It is a `possible` one unless the code may run on the host: the function is given
its device, or the file asks whether CUDA is there, has an option for it or falls back on `"cpu"`.
That a tensor's device is asked for is no such sign. So it is where the code demands CUDA for its
tensors anyway (DEV501), or has taken `torch.device("cuda", …)`. What a flag or a function named for
it pins, and what is brought to the host to be pinned, is no finding.""",
)
