"""DEV209: something of a module that was made on the meta device never gets data."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.facts import Facts, Leftover, MetaLeftover
from devlint.rule import Claim, Note, Replacement, Rule
from devlint_rules.helpers.assumptions import assume
from devlint_rules.helpers.rewrites import add_argument, in_file, short

_MESSAGES = {
    Leftover.MOVED: "`{name}` was made on meta and has no data to move: `{text}` raises",
    Leftover.UNASSIGNED: "`{name}` was made on meta, where nothing can be copied to: `{text}` "
    "leaves it without data",
    Leftover.BUFFER: "the buffer `{buffer}` of `{name}` is in no state and still on meta: `{text}` "
    "raises",
    Leftover.EMPTY: "the buffer `{buffer}` of `{name}` is in no state: behind `{text}` it holds "
    "whatever was in memory",
}
_AGAIN = "compute the buffers again behind it, or make the module off meta"
_ADVICE = {
    Leftover.MOVED: "`{name}.to_empty(device=…)` gives it memory; then load or initialise it",
    Leftover.UNASSIGNED: "pass `assign=True`, or call `{name}.to_empty(device=…)` first",
    Leftover.BUFFER: "compute `{buffer}` anew in front of it, or make the module off meta",
    Leftover.EMPTY: _AGAIN,
}


def _check(facts: Facts) -> Iterator[Claim]:
    for fact in facts.meta_leftovers:
        words = {"name": fact.name, "buffer": fact.buffer, "text": short(fact.site.node)}
        trace = [Note(fact.made, f"`{fact.name}` is made here, on meta")]
        if fact.registered is not None:
            trace.append(Note(fact.registered, "registered here, with `persistent=False`"))
        assumed = assume(
            AssumptionKind.MODULE_IS_MOVED, fact.site, "the module is used, or moved, as it is"
        )
        yield Claim(
            fact.site,
            Severity.ERROR,
            confidence_of(assumed),
            _MESSAGES[fact.leftover].format(**words),
            advice=_ADVICE[fact.leftover].format(**words),
            trace=tuple(trace),
            fix=_fix(facts, fact),
            applicability=Applicability.UNSAFE,
            assumptions=assumed,
        )


def _fix(facts: Facts, fact: MetaLeftover) -> tuple[Replacement, ...]:
    """`load_state_dict(state, assign=True)`."""
    if fact.leftover is not Leftover.UNASSIGNED or not in_file(facts, fact.site):
        return ()
    assert isinstance(fact.site.node, cst.Call)
    if any(arg.keyword and arg.keyword.value == "assign" for arg in fact.site.node.args):
        return ()
    return add_argument(fact.site, "assign=True")


RULE = Rule(
    code="DEV209",
    name="meta-leftover",
    severity=Severity.ERROR,
    summary="A module was made on the meta device, and something of it never gets data.",
    what="""\
Reports, for a module made under `torch.device("meta")` or `init_empty_weights()`: a move before
anything gave it data; `load_state_dict` without `assign=True` and without `to_empty`; and buffers
that are registered with `persistent=False`, which no state has: with `assign=True` they stay on
meta, and behind `to_empty` they hold whatever was in memory.""",
    why="""\
A tensor on meta has a shape and no data. To move it raises `NotImplementedError: Cannot copy out of
meta tensor; no data!`; to copy into it does nothing, with a warning for each parameter. A buffer
that is not saved, like the frequencies of rotary embeddings, is filled by the constructor alone,
which has run on meta: it meets real tensors in `forward` as a tensor on meta, or, behind
`to_empty`, in silence as noise.""",
    reference="https://docs.pytorch.org/docs/stable/meta.html",
    bad=(
        """\
import torch
from torch import nn


def build(path, device: torch.device):
    with torch.device("meta"):
        model = nn.Linear(8, 8)
    model.to(device)
    model.load_state_dict(torch.load(path, map_location=device))
    return model
""",
        """\
import torch
from torch import nn


def build(path):
    with torch.device("meta"):
        model = nn.Linear(8, 8)
    model.load_state_dict(torch.load(path, map_location="cpu"))
    return model
""",
        """\
import torch
from torch import nn


class Rotary(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(8, 8)
        self.register_buffer("angles", torch.arange(8.0), persistent=False)

    def forward(self, x):
        return self.project(x) * self.angles.cos()


def build(path, device: torch.device):
    with torch.device("meta"):
        model = Rotary()
    model.to_empty(device=device)
    model.load_state_dict(torch.load(path, map_location=device))
    return model
""",
    ),
    good=(
        """\
import torch
from torch import nn


def build(path, device: torch.device):
    with torch.device("meta"):
        model = nn.Linear(8, 8)
    model.to_empty(device=device)
    model.load_state_dict(torch.load(path, map_location=device))
    return model
""",
        """\
import torch
from torch import nn


def build(path, device: torch.device):
    with torch.device("meta"):
        model = nn.Linear(8, 8)
    model.load_state_dict(torch.load(path, map_location="cpu"), assign=True)
    return model.to(device)
""",
        """\
import torch
from torch import nn


class Rotary(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(8, 8)
        self.register_buffer("angles", torch.empty(8), persistent=False)
        self.fill()

    def fill(self):
        self.angles.copy_(torch.arange(8.0))

    def forward(self, x):
        return self.project(x) * self.angles.cos()


def build(path, device: torch.device):
    with torch.device("meta"):
        model = Rotary()
    model.to_empty(device=device)
    model.fill()
    model.load_state_dict(torch.load(path, map_location=device))
    return model
""",
    ),
    check=_check,
    fix="""\
Passes `assign=True` to `load_state_dict`. It is an unsafe fix: the module then has the dtype and
the device of what was loaded, and optimizers built before hold other parameters.""",
    twin="""\
None of its own: a run raises at the move, and warns at the copy, on every machine.""",
    limits="""\
A module is followed within the function that makes it, until something that may fill it gets it: a
function out of sight, a method of its own class, or whoever walks over its parameters or buffers.
Buffers are looked for in the classes of the project; those of libraries are not known. Under
`init_empty_weights()` buffers are real unless it is told `include_buffers=True`. The rule is in
preview: 249 repositories gave no finding (November 2026); it starts from what users report.""",
    preview=True,
)
