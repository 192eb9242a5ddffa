"""DEV103: a module called with an input that is elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from devlint.findings import Severity
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.facts import Facts, Meeting, MeetingKind, StepKind
from devlint.inference.syntax.text import dotted
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers import wrapped_modules
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.meetings import claims, with_both_meant, with_meant
from devlint_rules.helpers.operand_device import brought_there, made_there, module_moved
from devlint_rules.helpers.rewrites import (
    factory_of,
    in_file,
    is_path,
    moved_to,
    name_as_atom,
    short,
    stands_for_device,
    where_it_meets,
)
from devlint_rules.helpers.scopes import function_around, means_the_same, method_around
from devlint_rules.helpers.wording import (
    device_of_module,
    device_there,
    has_methods,
    is_host,
    module_is,
)


def _advice(facts: Facts, meeting: Meeting) -> str:
    left, right = meeting.left, meeting.right
    if meeting.kind is MeetingKind.CARDS:
        return wrapped_modules.advice(meeting)
    which = module_is(meeting)
    if which == "left" and (made := _made_each_call(facts, meeting)):
        return f"make it once, in the constructor, where it is registered: `{made}`"
    if _is_loaded_inside(facts, meeting) and isinstance(meeting.site.node, cst.Call):
        return f"move each batch to the module's device, in `{short(meeting.site.node.func)}`"
    if meeting.inside is not None and not which and is_path(right.name):
        moved = f"each batch of `{left.name}`" if left.loaded else f"`{left.name}`"
        named = stands_for_device(right)
        return f"move {moved} to {'' if named else 'the device of '}`{right.name}` before the call"
    device = device_there(facts, meeting, meeting.site.node)
    if which == "right" or device is None or not has_methods(left):
        return f"move `{left.name}` to the module's device before the call"
    return f"move it before the call: `{name_as_atom(left)}.to({device})`"


def _fix(facts: Facts, meeting: Meeting) -> tuple[Replacement, ...]:
    """Move the input where the module is called, and a module where it is wrapped."""
    if meeting.kind is MeetingKind.CARDS:
        return wrapped_modules.fix(facts, meeting)
    which = module_is(meeting)
    left, right = meeting.left, meeting.right
    if _is_loaded_inside(facts, meeting):
        return ()
    if which == "right" and meeting.inside is not None:
        return brought_there(facts, left, right)  # as the project moved its own module
    if which != "right":
        if which == "left":
            return () if _made_each_call(facts, meeting) else module_moved(facts, left, right)
        return where_it_meets(facts, left, right) or brought_there(facts, left, right)
    if not is_path(right.name) or is_host(right.placement):
        return ()
    own = device_of_module(right.name)
    return moved_to(facts, left, own) or _made_there(facts, meeting, own)


def _made_each_call(facts: Facts, meeting: Meeting) -> str:
    """`self.bn = nn.BatchNorm1d(n)`, of a module that each call of another's method makes: moved
    there, it is untrained and unregistered all the same."""
    made = factory_of(meeting.left)
    if made is None or not in_file(facts, made) or not isinstance(made.node, cst.Call):
        return ""
    around = method_around(facts, made.node)
    if around is None or not _is_module(around[0]):
        return ""
    path = path_to(facts.source.tree, made.node)
    is_later = any(isinstance(step, cst.Lambda) for step in path[: path.index(around[1])])
    if around[1].name.value == "__init__" and not is_later:
        return ""
    return f"self.… = {short(made.node)}"


def _is_module(info: cst.ClassDef) -> bool:
    """By the name of a class that it is derived from."""
    return any(dotted(base.value).rpartition(".")[2].endswith("Module") for base in info.bases)


def _is_loaded_inside(facts: Facts, meeting: Meeting) -> bool:
    """A function is handed the loader, and draws the batches itself."""
    begun = meeting.left.steps[0] if meeting.left.steps else None
    if meeting.inside is None or begun is None or begun.kind is not StepKind.LOADED:
        return False
    there = function_around(facts, begun.site.node)
    return there is not None and there is not function_around(facts, meeting.site.node)


def _made_there(facts: Facts, meeting: Meeting, device: str) -> tuple[Replacement, ...]:
    """An input that is handed over in a container is made on the module's device."""
    made = factory_of(meeting.left)
    if made is None:
        return ()
    if not means_the_same(facts, meeting.right.name, meeting.site.node, made.node):
        return ()
    return made_there(facts, meeting.left, device)


# On projects that nobody had looked at, of findings of this rule that rest on one of these none of
# 36 was right (`benchmarks/labels`).
_GUESSES = frozenset(
    {
        AssumptionKind.BATCH_BELONGS_TOGETHER,
        AssumptionKind.CALLER_IS_ACCELERATED,
        AssumptionKind.MODULE_USES_ALL_INPUTS,
        AssumptionKind.LONG_STORY_HOLDS,
    }
)


def _assumptions(meeting: Meeting) -> Assumptions:
    """An input that may be elsewhere is mostly moved on its way, or by the module."""
    kinds = {each.kind for each in meeting.assumptions}
    is_seen = AssumptionKind.OBJECT_IS_AS_SEEN in kinds or _is_at_hand(meeting)
    if meeting.kind is MeetingKind.CARDS or is_seen or kinds.isdisjoint(_GUESSES):
        return with_both_meant(meeting)
    return with_meant(meeting)


def _is_at_hand(meeting: Meeting) -> bool:
    """A function draws the input from a loader; or it makes the input, or the module, and calls the
    one with the other."""
    begun = meeting.left.steps[0].kind if meeting.left.steps else None
    is_called = meeting.inside is None and bool(module_is(meeting))
    return begun is StepKind.LOADED or (begun is StepKind.CREATED and is_called)


def _check(facts: Facts) -> Iterator[Claim]:
    return claims(
        facts,
        "DEV103",
        advice=partial(_advice, facts),
        fix=_fix,
        assumptions=_assumptions,
        move=lambda _: "move it before the call",
    )


RULE = Rule(
    code="DEV103",
    name="input-not-on-module-device",
    severity=Severity.ERROR,
    summary="A module is called with an input that is on another device.",
    what="""\
Reports a call of an `nn.Module` whose input lives elsewhere than the module's parameters: a batch
or a target that the loop forgot to move, a hidden state made on the default device, the input of a
criterion whose `weight` stayed on the host. So it does a module that is wrapped for cards while it
is on the host: `DistributedDataParallel(net, device_ids=[rank])`, and the call of a `DataParallel`
for several.""",
    why="""\
`Module.to` moves the parameters and buffers, and nothing else. A `DataLoader` yields host tensors.
The first operation of the module on such an input raises `RuntimeError: Expected all tensors to be
on the same device`, or `Input type and weight type should be the same`. With `device_ids`
`DistributedDataParallel` raises a `ValueError` for parameters on the host, and `DataParallel` a
`RuntimeError` when it is called: neither moves them, but for a single card of `DataParallel`.""",
    reference="https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to",
    bad=(
        """\
import torch
from torch import nn
from torch.utils.data import DataLoader


def evaluate(dataset):
    model = nn.Linear(10, 2).cuda()
    total = 0
    for inputs in DataLoader(dataset, batch_size=8):
        outputs = model(inputs)
        total = total + outputs.sum()
    return total
""",
        """\
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(32, 64, batch_first=True)

    def forward(self, x):
        hidden = torch.zeros(1, x.size(0), 64)
        out, hidden = self.rnn(x, hidden)
        return out
""",
        """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Conv2d(3, 8, 3).to(device)
image = torch.rand(1, 3, 32, 32)
features = model(image)
""",
        """\
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def wrapped(local_rank):
    model = nn.Linear(10, 2)
    return DistributedDataParallel(model, device_ids=[local_rank])
""",
    ),
    good=(
        """\
import torch
from torch import nn
from torch.utils.data import DataLoader


def evaluate(dataset):
    model = nn.Linear(10, 2).cuda()
    total = 0
    for inputs in DataLoader(dataset, batch_size=8):
        outputs = model(inputs.cuda())
        total = total + outputs.sum()
    return total
""",
        """\
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(32, 64, batch_first=True)

    def forward(self, x):
        hidden = x.new_zeros(1, x.size(0), 64)
        out, hidden = self.rnn(x, hidden)
        return out
""",
        """\
import torch
from torch import nn

model = nn.Conv2d(3, 8, 3)
image = torch.rand(1, 3, 32, 32)
features = model(image)
""",
        """\
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def wrapped(local_rank):
    model = nn.Linear(10, 2).to(local_rank)
    return DistributedDataParallel(model, device_ids=[local_rank])
""",
    ),
    check=_check,
    fix="""\
Moves the input where the module is called: `x.to(next(model.parameters()).device)`, or makes it
there; moves the module, where that is what was left behind, or is wrapped for a card. Unsafe: the
copy may belong further up, once for several calls.""",
    twin="""\
`devlint confirm` waits for PyTorch's mixed-device error on the way through the line. What a wrapper
refuses ends the run, and is undecided.""",
    limits="""\
A module wrapped by something that moves its inputs itself (`accelerate`, `DataParallel`, a
trainer) is left alone as far as the wrapper is known; one that is wrapped for cards has to be made,
or put on the host, in the same function. A function that calls one of its parameters
is judged where it is called: there it shows what is a module, and where that is. An input that is
elsewhere in one of several branches only, that comes through a function devlint cannot see, or that
only a guess about callers, batches or the model puts elsewhere, is no more than `possible`: mostly
something out of sight moves it, or the model does; not so where the function that calls the model
makes the model or the input. What a method of a module makes
for an input that is left out is no such branch, nor what is made a tensor because it was none (`if
isinstance(x, list): x = torch.tensor(x)`): who hands that in can move nothing. A module that a
plain object holds is taken to be, when a method begins, where its constructor left it, or where
another method, or the code in sight that makes the object, moves it.""",
)
