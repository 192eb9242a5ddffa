"""DEV301: the same tensor is transferred in every iteration."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import libcst as cst

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.placement import CPU
from devlint.inference.facts import DataCopy, DataKind, Facts, Hotness, Loop, Move, Site
from devlint.inference.syntax.text import every
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers.assumptions import time_matters, warm_code
from devlint_rules.helpers.blocks import (
    assignment_of,
    is_written,
    line_before,
    path_to,
    statements_before,
)
from devlint_rules.helpers.causes import repeats
from devlint_rules.helpers.compiled import UNCOMPILED, is_compiled
from devlint_rules.helpers.queues import Counted
from devlint_rules.helpers.repetition import is_copied_each_step
from devlint_rules.helpers.rewrites import in_file, receiver, short, text_of
from devlint_rules.helpers.scopes import function_around
from devlint_rules.helpers.sync_costs import busy_at, repeated
from devlint_rules.helpers.uses import reads_in
from devlint_rules.helpers.wording import history, loop_note


def _is_hot(loop: Loop) -> bool:
    """A loop over epochs that goes back itself has one step, of all the data, in each."""
    return loop.hotness is Hotness.HOT or (loop.hotness is Hotness.EPOCHS and loop.goes_back)


def _is_repeated(move: Move) -> bool:
    if move.loop is None or not _is_hot(move.loop) or not move.invariant:
        return False
    if move.of_module or move.discarded or move.creation is not None:
        return False  # DEV307, DEV201 and DEV304 say it better
    return move.target is not None and move.subject.placement != move.target


def _fix(facts: Facts, move: Move) -> tuple[Replacement, ...]:
    """`w = w.to(d)` on a line before the loop, and `w` in the place of the move."""
    call, subject = move.site.node, receiver(move.site.node)
    if move.loop is None or not isinstance(subject, cst.Name) or not in_file(facts, move.site):
        return ()
    before = line_before(facts, move.loop.site.node)
    if before is None:
        return ()
    statement, indent = before
    name = _name_before(facts, move)
    hoisted = f"{text_of(statement)}\n{indent}{name} = {text_of(call)}"
    return (
        Replacement(Site(facts.source, statement), hoisted),
        Replacement(move.site, name),
    )


def _name_before(facts: Facts, move: Move) -> str:
    """What the copy is bound to before the loop: the name itself, where nothing else reads it on
    the device; a copy for the host gets a name of its own, and so does what has none."""
    moved = receiver(move.site.node)
    if isinstance(moved, cst.Name):
        alone = move.target != CPU or not _is_read_besides(facts, move, moved.value)
        return moved.value if alone else f"{moved.value}_on_host"
    last = moved.attr.value if isinstance(moved, cst.Attribute) else ""
    if move.target == CPU or not (last or isinstance(moved, cst.Subscript)):
        return f"{last}_on_host" if last else "moved"
    return text_of(moved)


def _is_read_besides(facts: Facts, move: Move, name: str) -> bool:
    """The loop, or what follows it, reads a name in other places than moves of it to the host."""
    tree = facts.source.tree
    scope = function_around(facts, move.site.node) or tree
    passed = _moved_to_host(facts)
    before = set(statements_before(facts, move.loop.site.node)) if move.loop is not None else set()
    return any(
        read not in passed and before.isdisjoint(path_to(tree, read))
        for read in reads_in(tree, scope).get(name, ())
    )


@lru_cache(maxsize=1)  # the file under check
def _moved_to_host(facts: Facts) -> frozenset[cst.CSTNode]:
    """What the moves of a file to the host are asked of."""
    moved = (receiver(move.site.node) for move in facts.moves if move.target == CPU)
    return frozenset(each for each in moved if each is not None)


def _is_kept(move: Move) -> bool:
    """`self.window.to(x.device)`, of a tensor that the constructor made on the host, wherever one
    call is one step."""
    if not (move.kept and move.in_step) or move.cold or move.guarded or move.discarded:
        return False
    subject = move.subject
    on_host = subject.by_default and subject.placement == CPU and not subject.moved
    return on_host and not move.of_module and move.target not in (None, CPU)


def _of_kept(facts: Facts, move: Move) -> Claim:
    name = move.subject.name
    assumed = time_matters(facts, move.site)
    return Claim(
        move.site,
        Severity.PERFORMANCE,
        confidence_of(assumed),
        f"`{name}` is made once, on the CPU, and transferred in every call of `{move.in_step}`",
        advice=_kept_where(move),
        trace=history(move.subject),
        assumptions=assumed,
    )


def _kept_where(move: Move) -> str:
    """Only a module takes its buffers along."""
    if move.in_module:
        return (
            f'keep it where the module is: `self.register_buffer("{move.kept}", …, '
            "persistent=False)` in the constructor"
        )
    return "keep what was moved, and move it again only for another device"


def _of_data(facts: Facts, copy: DataCopy) -> Claim:
    """`torch.tensor(self.rows, device=x.device)`, wherever one call is one step."""
    made, data = short(copy.site.node), short(copy.data.node)
    around = repeated(copy.loop, copy.function)
    few = copy.kind is DataKind.WRITTEN
    assumed = time_matters(facts, copy.site)
    assumed += busy_at(facts, copy.site, around, Counted.ANY, sized=few)
    assumed += warm_code(few and is_compiled(facts, copy.site.node), copy.site, UNCOMPILED)
    buffer = "register it as a buffer (`persistent=False`) in the constructor"
    return Claim(
        copy.site,
        Severity.PERFORMANCE,
        confidence_of(assumed),
        f"`{data}` does not change, and `{made}` copies it to the device in every call of "
        f"{_called(copy)}: the host waits for the copy",
        advice=buffer if copy.in_module else "make the tensor once for each device, and keep it",
        assumptions=assumed,
        given=copy.given,
    )


def _is_filled_in_place(facts: Facts, copy: DataCopy) -> bool:
    """`total = torch.tensor([0.0], device=d)`, and then `total.add_(x)`: each call begins anew."""
    assigned = assignment_of(facts, copy.site.node)
    function = function_around(facts, copy.site.node)
    if assigned is None or function is None:
        return False
    names = {text_of(target.target) for target in assigned.targets}
    uses = (name for name in every(function.body, cst.Name) if name.value in names)
    return any(is_written(facts, use) for use in uses)


def _called(copy: DataCopy) -> str:
    """The function that each call makes the copy, by name."""
    node = copy.function.node if copy.function is not None else None
    name = node.name.value if isinstance(node, cst.FunctionDef) else copy.in_step
    return f"`{copy.in_step or name}`" if name else "the function"


def _check(facts: Facts) -> Iterator[Claim]:
    yield from repeats(facts, _claims(facts))


def _claims(facts: Facts) -> Iterator[Claim]:
    for copy in facts.data_copies:
        if is_copied_each_step(copy) and not _is_filled_in_place(facts, copy):
            yield _of_data(facts, copy)
    for move in facts.moves:
        if not _is_repeated(move) or move.loop is None:
            if _is_kept(move):
                yield _of_kept(facts, move)
            continue
        name = move.subject.name
        assumed = time_matters(facts, move.site)
        if move.target == CPU:
            assumed += busy_at(facts, move.site, repeated(move.loop, move.function))
        yield Claim(
            move.site,
            Severity.PERFORMANCE,
            confidence_of(assumed),
            f"`{name}` does not change in the loop over `{move.loop.over}`, "
            "and is transferred in every iteration",
            advice="transfer it once before the loop: "
            f"`{_name_before(facts, move)} = {short(move.site.node)}`",
            trace=(*history(move.subject), loop_note(move.loop)),
            fix=_fix(facts, move),
            applicability=Applicability.UNSAFE,
            assumptions=assumed,
        )


RULE = Rule(
    code="DEV301",
    name="loop-invariant-transfer",
    severity=Severity.PERFORMANCE,
    summary="The same tensor is transferred in every iteration.",
    what="""\
Reports a move inside a hot loop (over batches, steps, tokens or time steps) whose tensor and whose
target both stay the same in that loop, or in `forward`, or what else runs once per step, the move
of a tensor that the constructor made on the host, or the copy of a list that it or the class's body
made, or that is written out there: `torch.tensor(self.rows, device=x.device)`, or with
`.to(x.device)` behind it.""",
    why="""\
Each iteration copies the same bytes across the bus and allocates for them, and from pageable memory
the host waits for the copy. One transfer before the loop does the same.""",
    reference="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    bad=(
        """\
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader


def train(model, dataset, class_weights: torch.Tensor):
    model.cuda()
    for x, y in DataLoader(dataset, batch_size=16):
        loss = F.cross_entropy(model(x.cuda()), y.cuda(), weight=class_weights.cuda())
        loss.backward()
""",
        """\
import torch


def roll_out(model, steps, device):
    model.to(device)
    start = torch.zeros(1, 8)
    state = start.to(device)
    for step in range(steps):
        state = model(state) + start.to(device)
    return state
""",
        """\
import torch
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
mean = torch.tensor([0.5, 0.5, 0.5]).view(1, 3, 1, 1)


def normalised(dataset):
    for images in DataLoader(dataset, batch_size=4):
        yield images.to(device) - mean.to(device)
""",
        """\
import torch
from torch import nn


class Shuffle(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.order = list(reversed(range(width)))

    def forward(self, x):
        return x[:, torch.tensor(self.order, device=x.device)]
""",
    ),
    good=(
        """\
import torch
from torch import nn


class Shuffle(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("order", torch.arange(width).flip(0), persistent=False)

    def forward(self, x):
        return x[:, self.order]
""",
        """\
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader


def train(model, dataset, class_weights: torch.Tensor):
    model.cuda()
    class_weights = class_weights.cuda()
    for x, y in DataLoader(dataset, batch_size=16):
        loss = F.cross_entropy(model(x.cuda()), y.cuda(), weight=class_weights)
        loss.backward()
""",
        """\
import torch


def roll_out(model, steps, device):
    model.to(device)
    start = torch.zeros(1, 8, device=device)
    state = start
    for step in range(steps):
        state = model(state) + start
    return state
""",
        """\
from torch.utils.data import DataLoader


def batches(dataset, device):
    for images in DataLoader(dataset, batch_size=4):
        yield images.to(device)  # another tensor in every iteration
""",
    ),
    check=_check,
    fix="""\
Moves the tensor on a line before the loop. Unsafe: other uses of the name then see the moved
tensor, and the loop may not run at all.""",
    twin="The guard counts the transfers at the line: more than one confirms it.",
    limits="""\
A tensor changed in place by a callee that devlint cannot see looks unchanged. A loop of a few
items (layers, files, devices) and the loop over epochs are not hot. What a function makes of Python
data and changes in place, as a sum that begins at zero, cannot be kept: that is no finding.""",
)
