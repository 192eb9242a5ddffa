"""DEV113: a Triton kernel is launched where its tensors are not."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.domain.placement import CPU
from devlint.inference.facts import Facts, KernelLaunch
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers.assumptions import assume
from devlint_rules.helpers.operand_device import brought_there
from devlint_rules.helpers.rewrites import is_path
from devlint_rules.helpers.wording import and_more, history


def _check(facts: Facts) -> Iterator[Claim]:
    for launch in facts.kernel_launches:
        if launch.strays:
            yield _stray(facts, launch)
    current = [launch for launch in facts.kernel_launches if not launch.strays]
    if current:
        yield _current(current[0], len(current) - 1)


def _stray(facts: Facts, launch: KernelLaunch) -> Claim:
    tensor = launch.tensor
    on_host = tensor.placement == CPU
    assumed = assume(
        AssumptionKind.CALL_REACHES_OPERATION, launch.site, "the kernel reads what it is given"
    )
    return Claim(
        launch.site,
        Severity.ERROR,
        confidence_of(assumed),
        f"the kernel `{launch.kernel}` gets `{tensor.name}`, which is on the host, where no card "
        "reads it"
        if on_host
        else f"the kernel `{launch.kernel}` runs on the current card, and `{tensor.name}` is on "
        f"`{tensor.placement}`",
        advice=_device(launch) if on_host else _context(launch),
        trace=history(tensor),
        fix=_fix(facts, launch),
        applicability=Applicability.SAFE,
        assumptions=assumed,
    )


def _current(launch: KernelLaunch, others: int) -> Claim:
    assumed = assume(
        AssumptionKind.INPUT_MAY_BE_ACCELERATED,
        launch.site,
        f"callers hand in `{launch.tensor.name}` on another card than the current one",
    )
    return Claim(
        launch.site,
        Severity.WARNING,
        confidence_of(assumed),
        f"the kernel `{launch.kernel}` is launched on the current card{and_more(others)}, not on "
        f"that of `{launch.tensor.name}`",
        advice=_context(launch),
        assumptions=assumed,
    )


def _device(launch: KernelLaunch) -> str:
    if launch.beside is not None and is_path(launch.beside.name):
        return (
            f"make or move it where `{launch.beside.name}` is: `device={launch.beside.name}.device`"
        )
    return "make it on a card, or move it there"


def _context(launch: KernelLaunch) -> str:
    name = launch.tensor.name if is_path(launch.tensor.name) else "x"
    return f"launch it under `with torch.cuda.device({name}.device):`"


def _fix(facts: Facts, launch: KernelLaunch) -> tuple[Replacement, ...]:
    """The tensor made or moved to where the one beside it is."""
    if launch.beside is None or launch.tensor.placement != CPU:
        return ()
    return brought_there(facts, launch.tensor, launch.beside)


RULE = Rule(
    code="DEV113",
    name="kernel-elsewhere",
    severity=Severity.ERROR,
    summary="A Triton kernel is launched on the current card, and a tensor of it is elsewhere.",
    what="""\
Reports the launch of a Triton kernel of the project with a tensor that is on the host, or on a card
by its number (`cuda:1`) where nothing makes that the current one. With the confidence *possible* it
reports launches with tensors of the caller's where nothing in the file chooses the card.""",
    why="""\
Triton launches on the current card, that is, on `cuda:0` until someone chooses another, and hands
the kernel plain addresses. One of host memory gives `ValueError: Pointer argument (at 0) cannot be
accessed from Triton (cpu tensor?)`; so does one of another card, unless the cards can see each
other: then the kernel runs on the wrong card, in no order with the work on the right one. PyTorch's
own operations choose the card of their inputs.""",
    reference="https://docs.pytorch.org/docs/stable/generated/torch.cuda.device.html",
    bad=(
        """\
import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, out, factors, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    values = tl.load(x + offsets, mask=inside) * tl.load(factors + offsets, mask=inside)
    tl.store(out + offsets, values, mask=inside)


def scale(x: torch.Tensor):
    out = torch.empty_like(x)
    factors = torch.ones(x.numel())
    scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, factors, x.numel(), BLOCK=1024)
    return out
""",
        """\
import torch
import triton
import triton.language as tl


@triton.jit
def fill_kernel(out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, 1.0, mask=offsets < n)


def main():
    out = torch.empty(4096, device="cuda:1")
    fill_kernel[(4,)](out, 4096, BLOCK=1024)
    print(out.sum())
""",
        """\
import torch
import triton
import triton.language as tl


@triton.jit
def fill_kernel(out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, 1.0, mask=offsets < n)


def fill(out: torch.Tensor):
    fill_kernel[(triton.cdiv(out.numel(), 1024),)](out, out.numel(), BLOCK=1024)
""",
    ),
    good=(
        """\
import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, out, factors, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    values = tl.load(x + offsets, mask=inside) * tl.load(factors + offsets, mask=inside)
    tl.store(out + offsets, values, mask=inside)


def scale(x: torch.Tensor):
    out = torch.empty_like(x)
    factors = torch.ones(x.numel(), device=x.device)
    with torch.cuda.device(x.device):
        scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, factors, x.numel(), BLOCK=1024)
    return out
""",
        """\
import torch
import triton
import triton.language as tl


@triton.jit
def fill_kernel(out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, 1.0, mask=offsets < n)


def main():
    out = torch.empty(4096, device="cuda:1")
    with torch.cuda.device(out.device):
        fill_kernel[(4,)](out, 4096, BLOCK=1024)
    print(out.sum())
""",
        """\
import torch
import triton
import triton.language as tl


@triton.jit
def fill_kernel(out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, 1.0, mask=offsets < n)


def main(rank):
    torch.cuda.set_device(rank)
    out = torch.empty(4096, device="cuda")
    fill_kernel[(4,)](out, 4096, BLOCK=1024)
""",
    ),
    check=_check,
    fix="""\
Makes or moves a host tensor to where a tensor beside it is, as for DEV102. The context around a
launch is not written.""",
    twin="None: virtual devices compile no kernels.",
    limits="""\
A kernel is a function of the project under `@triton.jit`; those of libraries are not known. Pinned
memory of the host can be read by a card, and is no finding. Where the file chooses a card anywhere,
it is taken to choose the right one. The rule is in preview: 249 repositories gave no finding that
is likely (November 2026); it starts from what users report.""",
    preview=True,
)
