"""DEV105: a `torch.Generator` on another device than what it fills."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.domain.placement import Variable, VariableKind, describe
from devlint.inference.facts import Facts, Meeting, Move, Site
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers.assumptions import assume
from devlint_rules.helpers.edits import told
from devlint_rules.helpers.meetings import causes_of
from devlint_rules.helpers.operand_device import brought_there, device_for
from devlint_rules.helpers.rewrites import (
    add_argument,
    argument,
    factory_of,
    in_file,
    short,
    text_of,
)
from devlint_rules.helpers.scopes import function_around, means_the_same
from devlint_rules.helpers.wording import (
    HIDDEN,
    device_expression,
    is_host,
    meeting_trace,
    place_of,
)

# Noise for what is at hand. Indices are drawn for data, whose generators are the host's.
_NOISE = frozenset({"rand", "randn", "normal"})


def _device(meeting: Meeting) -> str | None:
    """The `device=` that the filled tensor was made with, as it is written there."""
    filled = (meeting.right.site, factory_of(meeting.right))
    for site in filled:
        if site is not None and isinstance(site.node, cst.Call):
            given = argument(site.node, "device")
            if given is not None:
                return text_of(given.value)
    return None


def _fix(facts: Facts, meeting: Meeting) -> tuple[Replacement, ...]:
    """`torch.Generator()` on the device that it fills, where that can be said there; a tensor that
    is filled by an accelerator's generator is made there instead."""
    made = factory_of(meeting.left)
    if made is None or not isinstance(made.node, cst.Call) or not in_file(facts, made):
        return ()
    if meeting.right.by_default:
        return brought_there(facts, meeting.right, meeting.left)
    if is_host(meeting.right.placement):
        return ()
    device = _known_there(facts, meeting, made)
    if device is None:
        return ()
    chosen = argument(made.node, "device")
    if chosen is not None:
        return (Replacement(Site(made.source, chosen.value), device),)
    return () if made.node.args else add_argument(made, f"device={device}")


def _known_there(facts: Facts, meeting: Meeting, made: Site) -> str | None:
    """The device of the filled tensor, in words that mean the same where the generator is made."""
    device = _device(meeting)
    if device is None or not means_the_same(facts, device, meeting.right.site.node, made.node):
        device = device_for(facts, meeting.right, made.node)
    return device


def _drawn_for(facts: Facts, move: Move) -> str:
    """The caller's generator, which what is moved to an input or a module was drawn with."""
    call = move.creation.node if move.creation is not None else None
    target = move.target
    if not isinstance(call, cst.Call) or not isinstance(target, Variable):
        return ""
    if short(call.func).rpartition(".")[2] not in _NOISE:
        return ""
    generator = argument(call, "generator")
    name = text_of(generator.value) if generator is not None else ""
    function = function_around(facts, call)
    if target.kind is VariableKind.DEVICE or argument(call, "device") or function is None:
        return ""
    params = (*function.params.params, *function.params.kwonly_params)
    handed_in = any(param.name.value == name for param in params)
    return name if handed_in and means_the_same(facts, name, call, call) else ""


def _refused(facts: Facts, move: Move, generator: str) -> Claim:
    made = move.creation
    assert made is not None and isinstance(made.node, cst.Call)
    assumed = assume(
        AssumptionKind.CALL_REACHES_OPERATION,
        made,
        f"`{generator}` is of that device, too",
    )
    return Claim(
        made,
        Severity.WARNING,
        confidence_of(assumed),
        f"`{short(made.node.func)}` draws on the CPU for what lives on {describe(move.target)}: it "
        f"refuses a `{generator}` of that device",
        advice=f"draw where the generator is, and move then: `device={generator}.device`",
        assumptions=assumed,
    )


def _advice(facts: Facts, meeting: Meeting) -> str:
    if is_host(meeting.right.placement):
        return "make the generator on the host: `torch.Generator()`"
    if meeting.inside:  # where a callee fills it, which is told its device by that name, or by none
        return "make the generator on the device of what it fills: `torch.Generator(device=…)`"
    made = factory_of(meeting.left)
    device = _known_there(facts, meeting, made) if made is not None else None
    if device is None:
        place = made.node if made is not None else meeting.site.node
        device = device_expression(facts, meeting.right, place) or "…"
    return f"make the generator there: `torch.Generator(device={device}){_seed(made)}`"


def _seed(made: Site | None) -> str:
    """The seed of `torch.manual_seed(0)`, for a generator that is made instead."""
    node = made.node if made is not None else None
    if not isinstance(node, cst.Call) or not text_of(node.func).endswith(".manual_seed"):
        return ""
    return f".manual_seed({', '.join(text_of(each) for each in node.args)})"


def _check(facts: Facts) -> Iterator[Claim]:
    refused = set()
    for move in facts.moves:
        generator = _drawn_for(facts, move)
        if generator and move.creation is not None:
            refused.add(move.creation.node)
            yield _refused(facts, move, generator)
    for cause in causes_of(facts, "DEV105"):
        meeting = cause.meeting
        if meeting.inside is not None and meeting.inside.node in refused:
            continue  # said there, whoever hands in the generator
        left, right = meeting.left, meeting.right
        fix = _fix(facts, meeting)
        yield Claim(
            meeting.site,
            Severity.ERROR,
            meeting.confidence,
            f"`{meeting.operation}` fills a tensor on {place_of(right)} with the generator "
            f"`{left.name}`, which is on {place_of(left)}{HIDDEN if meeting.caught else ''}",
            advice=told(facts, fix, make="make what it fills where the generator is")
            if fix and right.by_default
            else _advice(facts, meeting),
            trace=meeting_trace(meeting, cause.twins),
            fix=fix,
            applicability=Applicability.UNSAFE,
            assumptions=meeting.assumptions,
        )


RULE = Rule(
    code="DEV105",
    name="generator-on-wrong-device",
    severity=Severity.ERROR,
    summary="A `torch.Generator` on another device than what it fills.",
    what="""\
Reports a random factory or in-place sampler that is given a `generator=` of another device than
that of the tensor it fills, also where a call hands it on, and a `DataLoader`, a sampler or a split
that is given one of an accelerator: they draw on the host; also noise (`torch.randn`) without
`device=` that is drawn with the caller's generator, and moved to an input's or a module's device at
once.""",
    why="""\
`torch.Generator()` is a CPU generator, and so is what `torch.manual_seed(0)` returns. Filling an
accelerator's tensor with it raises
`RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'`. Draw on the host and
move, for numbers
that are the same on every device, or make the generator on the device.""",
    reference="https://docs.pytorch.org/docs/stable/generated/torch.Generator.html",
    bad=(
        """\
import torch

generator = torch.Generator().manual_seed(0)
noise = torch.randn(4, 4, generator=generator, device="cuda")
""",
        """\
import torch

generator = torch.Generator()
weights = torch.empty(10, device="cuda")
weights.normal_(generator=generator)
""",
        """\
import torch

noise = torch.randn(4, 4, generator=torch.manual_seed(0), device="cuda")
""",
        """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
generator = torch.Generator("cpu")
probabilities = torch.full((3, 5), 0.2).to(device)
drawn = torch.multinomial(probabilities, 2, generator=generator)
""",
        """\
import torch


def step(x: torch.Tensor, generator: torch.Generator | None = None) -> torch.Tensor:
    noise = torch.randn(x.shape, generator=generator).to(x.device)
    return x + noise
""",
    ),
    good=(
        """\
import torch

generator = torch.Generator(device="cuda").manual_seed(0)
noise = torch.randn(4, 4, generator=generator, device="cuda")
""",
        """\
import torch

generator = torch.Generator().manual_seed(0)
noise = torch.randn(4, 4, generator=generator).to("cuda")
""",
        """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
generator = torch.Generator(device)
drawn = torch.rand(3, generator=generator, device=device)
""",
        """\
import torch


def step(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    noise = torch.randn(x.shape, generator=generator, device=generator.device)
    return x + noise.to(x.device)
""",
    ),
    check=_check,
    fix="""\
Makes the generator on the device that it fills, or on the generator's what is made to be filled.
Unsafe: the same seed gives other numbers there.""",
    twin="`devlint confirm` waits for PyTorch's refusal of the generator at the line.",
    limits="""\
A generator handed in by the caller may be anywhere: it is reported only where the result is moved
to an input's or a module's device, and not to a device that the caller names beside it.""",
)
