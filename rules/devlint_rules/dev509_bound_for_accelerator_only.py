"""DEV509: a name has a value only where an accelerator is, and is read elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.facts import AcceleratorBinding, Facts
from devlint.rule import Claim, Note, Rule
from devlint_rules.helpers.assumptions import (
    function_is_called,
    runs_elsewhere,
    runs_without_cuda,
    warm_file,
)
from devlint_rules.helpers.rewrites import short


def _check(facts: Facts) -> Iterator[Claim]:
    demanded = next((m.text for m in facts.mentions if not m.guarded and m.kind != "load"), "")
    sign = f"`{demanded}` demands it in this file" if demanded else ""
    causes: dict[cst.CSTNode, list[AcceleratorBinding]] = {}
    for fact in facts.accelerator_bindings:
        causes.setdefault(fact.asked.node, []).append(fact)
    for fact, *others in causes.values():
        assumed = (
            runs_without_cuda(fact.site)
            + runs_elsewhere(fact.site, sign)
            + function_is_called(facts, fact.site)
            + warm_file(facts, fact.site)
        )
        yield Claim(
            fact.site,
            Severity.WARNING,
            confidence_of(assumed),
            f"`{fact.name}` has a value only where an accelerator is (`{short(fact.asked.node)}`): "
            f"without one this raises {_error(fact)}",
            advice=f"bind `{fact.name}` for machines without one, too: in an `else`, or before",
            trace=(
                *(Note(site, f"`{fact.name}` gets its value here") for site in fact.bound),
                *(Note(other.site, f"so it is with `{other.name}`") for other in others),
            ),
            assumptions=assumed,
        )


def _error(fact: AcceleratorBinding) -> str:
    return "a NameError" if fact.is_global else "an UnboundLocalError"


RULE = Rule(
    code="DEV509",
    name="bound-for-accelerator-only",
    severity=Severity.WARNING,
    summary="A name that has a value only where an accelerator is, is read elsewhere.",
    what="""\
Reports a name of a function, or of a module, that is bound only in branches for an accelerator
(`if torch.cuda.is_available():`, without an `else` that binds it), and read outside of them.""",
    why="""\
On a machine without an accelerator the branch is not taken, and the name has no value: the read
raises `UnboundLocalError`, or `NameError` in a module. The file asks whether an accelerator is
there, and so it is meant to run where there is none.""",
    reference="https://docs.pytorch.org/docs/stable/notes/cuda.html#device-agnostic-code",
    bad=(
        """\
import torch


def work(rank, build):
    if torch.cuda.is_available():
        gpu = rank % torch.cuda.device_count()
        device = torch.device(f"cuda:{gpu}")
    return build(device)
""",
        """\
import torch


def choose():
    if torch.cuda.is_available():
        device = "cuda"
    elif torch.backends.mps.is_available():
        device = "mps"
    return torch.zeros(1, device=device)
""",
        """\
import torch

use_cuda = torch.cuda.is_available()
if use_cuda:
    options = {"num_workers": 2}
print(options)
""",
    ),
    good=(
        """\
import torch


def work(rank, build):
    if torch.cuda.is_available():
        gpu = rank % torch.cuda.device_count()
        device = torch.device(f"cuda:{gpu}")
    else:
        device = torch.device("cpu")
    return build(device)
""",
        """\
import torch


def choose():
    if not torch.cuda.is_available():
        raise RuntimeError("there is no CUDA")
    else:
        device = "cuda"
    return torch.zeros(1, device=device)
""",
        """\
import torch


def timed(work):
    on_card = torch.cuda.is_available()
    if on_card:
        start = torch.cuda.Event(enable_timing=True)
        start.record()
    work()
    if on_card:
        print(start)
""",
    ),
    check=_check,
    twin="""\
The line raises on a machine without an accelerator, and none takes part in that: no run is judged
by it.""",
    limits="""\
A name that anything else binds in its scope is left alone, whether or not that comes first. So is a
read under any condition on accelerators or on what was bound beside the name, one whose errors are
caught, and one that what leaves, fails or demands an accelerator precedes. A file that demands an
accelerator elsewhere makes it a `possible` one.""",
)
