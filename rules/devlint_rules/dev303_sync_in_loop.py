"""DEV303: the host waits for the device in every iteration of a loop."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of, strength
from devlint.inference.domain.placement import Variable, VariableKind, may_be_accelerator
from devlint.inference.facts import Facts, Hotness, Loop, Site, Sync
from devlint.inference.syntax.text import dotted, every
from devlint.rule import Claim, Note, Rule
from devlint_rules.helpers.blocks import tested_by
from devlint_rules.helpers.chains import reduction
from devlint_rules.helpers.needs import MASKED, asks_for_error, is_stacking
from devlint_rules.helpers.queues import ends_turn
from devlint_rules.helpers.scopes import function_around, values_of
from devlint_rules.helpers.sync_costs import assumptions
from devlint_rules.helpers.turns import shown_each_turn
from devlint_rules.helpers.uses import Use, names_read, use_of
from devlint_rules.helpers.wording import WAITS, and_more, loop_note


def _group(sync: Sync) -> tuple[str, Site] | None:
    """What this sync slows down: a hot loop, or a function that runs once per step."""
    loop, operand = sync.loop, sync.operand
    if sync.cold or sync.elementwise:  # DEV305 says it of elements
        return None
    known = may_be_accelerator(operand.placement)
    if not known and operand.placement is not None:
        return None
    in_step = sync.in_step and not _is_of_epochs(loop)
    if in_step and sync.function is not None and (known or sync.trains):
        return ("function", sync.function)
    if loop is None or loop.hotness is not Hotness.HOT:
        return None
    if not (loop.feeds_device or loop.trains):
        return None
    return ("loop", loop.site) if known or loop.trains else None


def _is_of_epochs(loop: Loop | None) -> bool:
    """The loop takes a step with all the data in each turn: a few hundred in all."""
    return loop is not None and loop.trains and loop.hotness is Hotness.EPOCHS


_BY_USE = {
    Use.INDEX: "hand the number in from the host, which had it before it became a tensor",
    Use.SIZE: "keep the number on the host, where sizes are known, beside the tensor",
    Use.SUMMED: "add up on the device (`total += loss.detach()`) and read the sum once after the "
    "loop",
    Use.HANDED_ON: "keep the value on the device, if what takes it takes a 0-dim tensor for a "
    "number",
    Use.RETURNED: "hand back the tensor, detached, and let callers read it where they show it",
}


def _is_kept_number(sync: Sync) -> bool:
    """`self.alpha.item()`, `if self.ready`: a buffer or a parameter that stands for one number."""
    node = sync.operand.site.node
    is_own = isinstance(node, cst.Attribute) and dotted(node).startswith("self.")
    return is_own and sync.operand.is_parameter


_WHOLE = frozenset({".cpu()", ".numpy()", ".tolist()"})


def _is_of_parameter(facts: Facts, sync: Sync) -> bool:
    """What is asked about is what the caller hands in, and computed of nothing else."""
    placement, function = sync.operand.placement, function_around(facts, sync.site.node)
    if not isinstance(placement, Variable) or placement.kind is not VariableKind.INPUT:
        return False
    if function is None:
        return False
    given = {param.name.value for param in every(function.params, cst.Param)} - {"self"}
    asked: list[cst.CSTNode] = [sync.operand.site.node]
    if isinstance(asked[0], cst.Name) and asked[0].value not in given:
        asked = [*values_of(function, asked[0].value)]
    names = {name.value for node in asked for name in names_read(node)}
    return bool(names & given) and names <= given | {"torch"}


def _chooses_flow(facts: Facts, node: cst.CSTNode) -> bool:
    """The answer chooses what the host does next, `if done: return x`, and not only a value."""
    return tested_by(facts, node) is not None and not _chooses_value(facts, node)


def _chooses_value(facts: Facts, node: cst.CSTNode) -> bool:
    """`if x.isnan().any(): x = torch.zeros(3)`: all that depends on the answer are values."""
    asked = tested_by(facts, node)
    if not isinstance(asked, cst.If):
        return False
    small = [
        each
        for line in asked.body.body
        for each in (line.body if isinstance(line, cst.SimpleStatementLine) else (line,))
    ]
    return all(isinstance(s, (cst.Assign, cst.AugAssign, cst.AnnAssign)) for s in small)


def _advice(facts: Facts, sync: Sync) -> str:
    """By what becomes of the value."""
    if sync.call == MASKED:
        return "let the mask weigh, not select: `(x * mask).sum() / mask.sum()`, or `torch.where`"
    if sync.kept:
        return f"keep the numbers of `self.{sync.kept}` in a Python list, beside it or in its place"
    if is_stacking(sync):
        return "put them together where they are: `torch.stack`"
    use, loop = use_of(facts, sync), sync.loop
    in_loop = loop is not None
    trains = loop is not None and loop.trains
    if sync.is_operand:
        return (
            "let the device compute with it, by an operation that takes a tensor there "
            "(`torch.rand(n, device=…) * limit` for `torch.randint`)"
        )
    if sync.call == "mask assignment":
        return (
            "keep the shape and let the mask choose the values: `torch.where`, or `masked_fill`, "
            "or a sum weighted by it"
        )
    if sync.invariant and in_loop:
        return "read it once before the loop, which does not change it"
    if _is_kept_number(sync) and use is not Use.SHOWN:
        return "keep the number on the host as well, beside the tensor that is saved"
    if use is Use.TESTED:
        if asks_for_error(sync.site.node) and not _chooses_value(facts, sync.site.node):
            return "ask this only now and then, or where a switch for debugging is on"
        if _is_of_parameter(facts, sync):
            return (
                "ask once in the caller and hand the answer in, or let the device decide: "
                "`torch.where`"
            )
        if _chooses_flow(facts, sync.site.node):
            known = "a counter, " if in_loop else ""
            return (
                "let the device decide, by an operation that does no harm where it is not needed, "
                f"or go by what the host knows: {known}a size, a flag beside the tensor"
            )
        counter = ", or go by a counter of the host" if in_loop else ""
        return (
            "let the device decide: `torch.where`, or an operation that does no harm where it is "
            f"not needed{counter}"
        )
    if use is Use.KEPT and trains and sync.call in _WHOLE and not sync.operand.scalar:
        return "keep it detached on the device, and copy all of them at once after the loop"
    if use is Use.SHOWN or (use is Use.KEPT and trains):
        if loop is None or not trains:
            return "read it every n-th time only, or once after the loop"
        if ends_turn(facts, sync.site.node, loop.site.node):
            if shown_each_turn(facts, sync, loop.site.node) is not None:
                return "show it only every n-th step, and read it there"
            return "read it only every n-th step, or keep it detached until the loop is done"
        return "read it behind `backward` and `step`, and only every n-th step"
    if use is Use.SUMMED and not in_loop:
        return "add up on the device, and read the sum where it is needed"
    if use in _BY_USE:
        return _BY_USE[use]
    if not in_loop:
        return "keep the value on the device: a 0-dim tensor serves as a number does"
    return "keep the value on the device, and read all of them once after the loop"


def _claimed(sync: Sync, when: str) -> str:
    name = sync.operand.name
    if sync.inside is not None:
        return f"`{name}` reads from the device {when}: {WAITS}"
    if sync.call in ("if", "while", "assert"):
        return f"`{sync.call} {name}` asks the device for an answer {when}: {WAITS}"
    return f"`{sync.call}` reads `{name}` {when}: {WAITS}"


def _check(facts: Facts) -> Iterator[Claim]:
    groups: dict[tuple[str, int], tuple[str, list[Sync]]] = {}
    for sync, (kind, site) in _grouped(facts):
        groups.setdefault((kind, id(site.node)), (kind, []))[1].append(sync)
    for kind, syncs in groups.values():
        syncs = _distinct(syncs)
        resting = [(sync, assumptions(facts, sync)) for sync in syncs]
        resting.sort(key=lambda each: (-strength(each[1]), each[0].given is not None))
        (first, assumed), *rest = resting
        others = [sync for sync, _ in rest]
        more = and_more(len(others))
        when = "in every iteration" if kind == "loop" else f"in every call of `{first.in_step}`"
        yield Claim(
            first.site,
            Severity.PERFORMANCE,
            confidence_of(assumed),
            _claimed(first, when + more),
            advice=_advice(facts, first),
            trace=(
                *_where(kind, first),
                *(Note(s.site, f"`{s.call}` waits here, too") for s in others),
            ),
            given=first.given,
            assumptions=assumed,
        )


def _grouped(facts: Facts) -> Iterator[tuple[Sync, tuple[str, Site]]]:
    """The syncs with what they slow down. What is read may be one of several values: of one read it
    is said once, of the function if that runs once per step."""
    reduced = {id(move.site.node) for move in facts.moves if reduction(facts, move)}  # DEV309's
    left = ((sync, _group(sync)) for sync in facts.syncs if id(sync.site.node) not in reduced)
    found = [(sync, group) for sync, group in left if group is not None]
    of_function = {id(sync.site.node) for sync, (kind, _) in found if kind == "function"}
    for sync, group in found:
        if group[0] == "function" or id(sync.site.node) not in of_function:
            yield sync, group


def _distinct(syncs: list[Sync]) -> list[Sync]:
    """One for each place: `float(t.item())` waits once."""
    seen: dict[int, Sync] = {}
    for sync in syncs:
        seen.setdefault(id(sync.site.node), sync)
    return list(seen.values())


def _where(kind: str, sync: Sync) -> Iterator[Note]:
    """What is hot: the loop, or the function and the call that makes it so."""
    if sync.loop is not None:
        yield loop_note(sync.loop)
    if kind == "function" and sync.function is not None:
        node = sync.function.node
        name = node.name if isinstance(node, cst.FunctionDef) else node
        yield Note(Site(sync.function.source, name), f"`{sync.in_step}` runs once per step")
        if sync.called_in is not None:
            yield Note(sync.called_in, "it is called here, in a hot loop")
    if sync.inside is not None:
        yield Note(sync.inside, "the host waits here")


RULE = Rule(
    code="DEV303",
    name="sync-in-loop",
    severity=Severity.PERFORMANCE,
    summary="A sync in every iteration of a hot loop, or in a function that runs once per step.",
    what="""\
Reports reads of a device tensor by the host (`.item()`, `float(t)`, `if t:`, `print(t)`,
`.tolist()`, `.cpu()`, `nonzero`, boolean-mask indexing, …) in a hot loop that also feeds the
device, and in functions that run once per step: `forward` of a module, `training_step`, a loss, a
metric's `update`, the step of an optimizer or a sampler, what counts its calls in a buffer, and
what these call in the same file. A loop that reads the gradients of what it goes through is hot.
One finding for each loop or function, with all places in its trace.""",
    why="""\
Kernels are queued and run behind the host's back. A read of their result makes the host wait for
all queued kernels, and then the device waits for the host to queue the next ones. A read every
n-th step, or once after the loop, leaves the queue full.""",
    reference="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    bad=(
        """\
import torch.nn.functional as F
from torch.utils.data import DataLoader


def train(model, dataset, optimizer, device):
    model.to(device)
    total = 0.0
    for x, y in DataLoader(dataset, batch_size=16):
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
""",
        """\
import torch
from torch.utils.data import DataLoader


def accuracy(model, dataset):
    model.cuda()
    hits = 0
    for x, y in DataLoader(dataset, batch_size=16):
        wrong = model(x.cuda()).argmax(dim=1) != y.cuda()
        if wrong.any():
            hits += 1
    return hits
""",
        """\
import torch
from torch.utils.data import DataLoader


def losses(model, dataset):
    model.to("cuda")
    for step, batch in enumerate(DataLoader(dataset)):
        loss = model(batch.to("cuda")).mean()
        print(f"step {step}: {loss}")
        loss.backward()
""",
    ),
    good=(
        """\
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader


def train(model, dataset, optimizer, device):
    model.to(device)
    total = torch.zeros((), device=device)
    for x, y in DataLoader(dataset, batch_size=16):
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return total.item()
""",
        """\
from torch.utils.data import DataLoader


def losses(model, dataset):
    model.to("cuda")
    for step, batch in enumerate(DataLoader(dataset)):
        loss = model(batch.to("cuda")).mean()
        if step % 100 == 0:
            print(f"step {step}: {loss.item()}")
        loss.backward()
""",
        """\
import torch


def total(values: list[float]) -> float:
    result = torch.zeros(())
    for value in values:
        result = result + value
    return result.item()
""",
    ),
    check=_check,
    twin="The guard counts the syncs at the line: more than one confirms it.",
    limits="""\
Whether the wait costs anything depends on how long the queue is, which only a profile shows; hence
severity `performance`. A sampling loop that has to read each token is right as it is. It is a
`possible` one where the queue is short anyway: where a `synchronize()` or another wait stands right
above, as for the rows that a mask picks, in a helper or in the calls in sight as well, behind a
loop that waits in each turn, ahead of all layers of a model; where nothing shows that a step has
many of it, as a loop around the call, around what makes the module or the name of a layer does, and
it holds up no loss; where each turn shows the value at its end, or hands it back to who may; where
the number picks a layer or an element, ends the loop, or decides whether a file is written; where
only an `isinstance` says that the value is a tensor; where the value is shown in a loop that
evaluates; in tests and reference implementations (`attention_ref`); and, as all remarks on speed,
where a file or a function turns on anomaly mode, which waits behind each operation of
`backward`.""",
)
