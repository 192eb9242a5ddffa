"""DEV305: Python goes through a device tensor element by element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from devlint.findings import Severity
from devlint.inference.call_contexts import Given
from devlint.inference.confidence.policy import confidence_of, strength
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.domain.placement import may_be_accelerator
from devlint.inference.facts import Facts, Hotness, Loop, Operand, Site
from devlint.inference.syntax.text import dotted, every, owner_of
from devlint.rule import Claim, Note, Rule
from devlint_rules.helpers.assumptions import assume_if, time_matters, warm_code
from devlint_rules.helpers.rewrites import short, text_of
from devlint_rules.helpers.sync_costs import assumptions, still_busy
from devlint_rules.helpers.wording import and_more, history, loop_note

_ASKING = frozenset({"len", "isinstance", "type", "id", "print"})  # these read no element


class _Access(NamedTuple):
    """A read or a write of one element, from whichever fact it comes."""

    site: Site
    operand: Operand
    loop: Loop
    writes: bool
    assumptions: Assumptions
    whole: str
    of_piece: bool = False
    of_module: bool = False  # of unknown place, in a method of a module: mostly its output
    given: Given | None = None  # the parameter of a plain function that is read


def _accesses(facts: Facts) -> Iterator[_Access]:
    for access in facts.element_accesses:
        if access.writes and _is_fed_back(access.operand, access.loop):
            continue
        site, rows = access.site, access.writes and not access.single
        message = f"`{access.operand.name}` is one element, and no row"
        assumed = (
            time_matters(facts, site)
            + assume_if(rows, AssumptionKind.WRITE_IS_OF_ONE_ELEMENT, site, message)
            + still_busy(facts, access.loop)
            + _once_per_epoch(access.loop)
        )
        whole = _whole(access.operand, access.loop)
        yield _Access(site, access.operand, access.loop, access.writes, assumed, whole)
    for sync in facts.syncs:
        loop = sync.loop
        if loop is None or not sync.elementwise or sync.cold:
            continue
        if loop.hotness is Hotness.HOT or sync.in_step:
            whole = short(sync.whole.node) if sync.whole else _whole(sync.operand, loop)
            assumed = assumptions(facts, sync) + still_busy(facts, loop)
            if not sync.in_step:
                assumed += _once_per_epoch(loop)
            of_module = sync.in_module and sync.operand.placement is None
            of_module = of_module and not _is_kept(sync.operand)
            yield _Access(
                sync.site,
                sync.operand,
                loop,
                False,
                assumed,
                whole,
                sync.of_piece,
                of_module,
                sync.given,
            )


def _once_per_epoch(loop: Loop) -> Assumptions:
    """The assumption that a loop has to be quick which stands beside the training loop."""
    message = "what an epoch does once has to be quick, too"
    return warm_code(loop.per_epoch, loop.site, message)


def _is_fed_back(operand: Operand, around: Loop) -> bool:
    """`tokens[i] = pick(model(tokens))`: a turn needs the whole as it was written so far."""
    written = text_of(owner_of(operand.site.node))
    body = getattr(around.site.node, "body", around.site.node)
    return any(
        text_of(arg.value) == written
        for call in every(body, cst.Call)
        if dotted(call.func) not in _ASKING
        for arg in call.args
    )


def _is_kept(operand: Operand) -> bool:
    """`self.bins[i]`: what an object keeps is no output of a module, and may be a list."""
    return isinstance(owner_of(operand.site.node), cst.Attribute) and not operand.steps


def _message(accesses: list[_Access]) -> str:
    first = accesses[0]
    does, harm = (
        ("writes", "each write starts a kernel")
        if first.writes
        else ("reads", "the host waits for the device at each read")
    )
    over = first.loop.over
    name = "it" if first.whole == over else f"`{first.whole}`"
    more = and_more(len(accesses) - 1)
    how = "piece by piece" if first.of_piece else "element by element"
    return f"the loop over `{over}` {does} {name} {how}{more}: {harm}"


def _advice(access: _Access) -> str:
    if access.writes:
        return (
            "write the operation for the whole tensor; or fill a host tensor and move it once, and "
            "values of the device put together: `torch.stack`"
        )
    if access.of_piece:
        return (
            "write it for the whole tensor, or read all results at once: "
            "`torch.stack(results).tolist()`"
        )
    return (
        "write it for the whole tensor, or read all of it once before the loop: "
        f"`{access.whole}.tolist()`"
    )


def _whole(operand: Operand, around: Loop) -> str:
    """The tensor of which the operand is an element: for the loop's variable what that is over."""
    node = owner_of(operand.site.node)
    loop = around.site.node
    if isinstance(loop, cst.For) and isinstance(node, cst.Name):
        targets = loop.target.elements if isinstance(loop.target, cst.Tuple) else ()
        names = [loop.target, *(element.value for element in targets)]
        if any(isinstance(name, cst.Name) and name.value == node.value for name in names):
            return short(loop.iter)
    return short(node)


def _check(facts: Facts) -> Iterator[Claim]:
    loops: dict[int, list[_Access]] = {}
    for access in _accesses(facts):
        if access.of_module or may_be_accelerator(access.operand.placement):
            loops.setdefault(id(access.loop.site.node), []).append(access)
    for accesses in loops.values():
        # The surest first, and of those the reads: they cost more.
        ranked = sorted(accesses, key=lambda a: (-strength(a.assumptions), a.writes))
        first, others = ranked[0], ranked[1:]
        yield Claim(
            first.site,
            Severity.PERFORMANCE,
            confidence_of(first.assumptions),
            _message(ranked),
            advice=_advice(first),
            trace=(
                *history(first.operand),
                loop_note(first.loop),
                *(Note(other.site, f"`{other.operand.name}` here, too") for other in others),
            ),
            given=first.given,
            assumptions=first.assumptions,
        )


RULE = Rule(
    code="DEV305",
    name="elementwise-device-access",
    severity=Severity.PERFORMANCE,
    summary="Python reads or writes a device tensor element by element.",
    what="""\
Reports a loop that indexes a tensor on an accelerator with the loop's counter down to single
elements, and reads or writes each of them. One finding for each loop.""",
    why="""\
Each element is a kernel of its own, and each read makes the host wait for the device. One operation
on the whole tensor, or one copy to the host before the loop, does the same work.""",
    reference="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    bad=(
        """\
import torch

scores = torch.rand(1000, device="cuda")
total = 0.0
for i in range(len(scores)):
    total += scores[i].item()
""",
        """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
table = torch.zeros(64, device=device)
for i in range(64):
    table[i] = i * 0.5
""",
        """\
import torch

flags = torch.rand(100, device="cuda") > 0.5
kept = []
for i in range(flags.size(0)):
    if flags[i]:
        kept.append(i)
""",
    ),
    good=(
        """\
import torch

scores = torch.rand(1000, device="cuda")
total = scores.sum().item()
""",
        """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
table = torch.arange(64, device=device) * 0.5
""",
        """\
import torch

flags = torch.rand(100, device="cuda") > 0.5
kept = [i for i, flag in enumerate(flags.tolist()) if flag]
""",
    ),
    check=_check,
    twin="The guard counts reads and writes of single elements at the line.",
    limits="""\
In a loop that waits for the device anyway, for rows that a mask picks, say, or that stands beside
the training loop, once per epoch, it is a `possible` one.
Whether `x[i] = …` writes an element or a whole row, which is often worth a loop, mostly is not in
sight: writes are only `possible`. Where each turn hands the whole tensor to a call, as written so
far, there is no other way, and no finding.""",
)
