"""DEV407: the host waits where it can't: in a capture, in `vmap`, in one compiled graph."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.facts import Facts, ForbiddenWait
from devlint.rule import Claim, Note, Rule
from devlint_rules.helpers.assumptions import assume, assume_if
from devlint_rules.helpers.rewrites import short

_TESTS = ("if", "while", "assert")
_NUMBERS = (".item()", "float()", "int()")
_BREAKING = ("if", "while", *_NUMBERS)

_WHERE = {
    "capture": "a CUDA graph is captured",
    "vmap": "`vmap` runs the function",
    "compile": "the function is compiled as one graph",
}
_ADVICE = {
    "capture": "read it behind the capture, from what `replay()` left, or keep it on the device",
    "vmap": "keep it a tensor: `torch.where` for a branch, a 0-dim tensor for a number",
    "compile": "let the device decide: `torch.where` or `torch.cond`, or leave `fullgraph` out",
}


def _check(facts: Facts) -> Iterator[Claim]:
    for wait in facts.forbidden_waits:
        if _has_way_out(wait):
            continue
        trace = [Note(wait.around, f"{_WHERE[wait.where]} here".replace("the function ", ""))]
        if wait.inside is not None:
            trace.append(Note(wait.inside, "the host waits here"))
        assumed = _assumptions(wait)
        yield Claim(
            wait.site,
            Severity.ERROR,
            confidence_of(assumed),
            _claimed(wait),
            advice=_ADVICE[wait.where],
            trace=tuple(trace),
            assumptions=assumed,
        )


def _has_way_out(wait: ForbiddenWait) -> bool:
    """What PyTorch allows, or does without a wait, inside."""
    if wait.where == "vmap":
        return wait.call in ("print()", ".cpu()")
    return wait.where == "compile" and wait.call not in _BREAKING


def _assumptions(wait: ForbiddenWait) -> Assumptions:
    """The assumptions that the code runs in there, and that the release does not capture
    numbers."""
    if wait.where == "capture" and wait.sure and wait.inside is None:
        return ()
    message = f"{_WHERE[wait.where]} with this code in it"
    traced = assume(AssumptionKind.CODE_IS_TRACED, wait.site, message)
    number = wait.where == "compile" and wait.call in _NUMBERS
    captured = "the PyTorch at hand does not capture numbers"  # newer releases do
    matters = AssumptionKind.BREAK_IN_GRAPH_MATTERS
    return traced + assume_if(number, matters, wait.site, captured)


def _claimed(wait: ForbiddenWait) -> str:
    if not wait.name:
        told = f"`{short(wait.site.node)}` waits for the card"
    elif wait.call in _TESTS:
        told = f"`{wait.call} {wait.name}` asks the device for an answer"
    else:
        told = f"`{wait.call}` reads `{wait.name}`"
    return f"{told} while {_WHERE[wait.where]}, which fails there"


RULE = Rule(
    code="DEV407",
    name="forbidden-wait",
    severity=Severity.ERROR,
    summary="The host waits for the device in a graph capture, in `vmap` or under `fullgraph`.",
    what="""\
Reports reads by the host (`.item()`, `if t:`, `float(t)`, `.cpu()`, `nonzero`, `synchronize()`, …)
under `with torch.cuda.graph(g):`, those of its mapped inputs in a function that `torch.vmap` runs,
and branches on a tensor in a function that is compiled with `fullgraph=True`.""",
    why="""\
A capture records kernels and runs none, so there is nothing to wait for: CUDA refuses, and the
capture is lost. `vmap` runs a function once for all of a batch, for which there is no one number to
read and no one branch to take. A branch on a tensor ends a compiled graph, and `fullgraph=True`
makes that an error.""",
    reference="https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs",
    bad=(
        """\
import torch

x = torch.zeros(8, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2
    total = y.sum().item()
""",
        """\
import torch


def shrink(row):
    if row.norm() > 1:
        return row / row.norm()
    return row


shrunk = torch.vmap(shrink)(torch.randn(16, 4, device="cuda"))
""",
        """\
import torch


@torch.compile(fullgraph=True)
def positive(x: torch.Tensor) -> torch.Tensor:
    if x.mean() > 0:
        return x
    return -x
""",
    ),
    good=(
        """\
import torch

x = torch.zeros(8, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2
graph.replay()
total = y.sum().item()
""",
        """\
import torch


def shrink(row):
    return torch.where(row.norm() > 1, row / row.norm(), row)


shrunk = torch.vmap(shrink)(torch.randn(16, 4, device="cuda"))
""",
        """\
import torch


@torch.compile(fullgraph=True)
def halves(x: torch.Tensor) -> torch.Tensor:
    if x.shape[0] > 1:  # a size is known to the host
        return x[: x.shape[0] // 2]
    return x
""",
    ),
    check=_check,
    twin="A virtual device captures and compiles nothing: a run leaves the finding undecided.",
    limits="""\
Of the functions that a mapped or compiled one calls nothing is reported. How much of `.item()` and
`float(t)` one compiled graph takes depends on the release: those are `possible` ones.

A preview: of the 125 files with captures, `vmap` or `fullgraph=True` in 52 public repositories none
had a finding, so that nobody knows yet how often it is right.""",
    preview=True,
)
