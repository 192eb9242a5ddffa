"""DEV202: an optimizer built on parameters that are moved afterwards."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.facts import Facts, LateMove
from devlint.rule import Claim, Note, Rule
from devlint_rules.helpers.assumptions import assume, assume_if
from devlint_rules.helpers.rewrites import short

# Optimizers that make their state in the constructor, where the parameters are then.
_EAGER = ("Adagrad",)


def _assumptions(late: LateMove, eager: bool) -> Assumptions:
    """An eager optimizer has its state when it is made; others, what was loaded before the move."""
    if eager:
        return ()
    state = f"`{late.module}` is moved after the optimizer's state was loaded"
    kept = f"the optimizer keeps what `{late.module}` had before the move"
    return assume(AssumptionKind.OPTIMIZER_COMES_FIRST, late.move, state) + assume_if(
        not late.loaded, AssumptionKind.OPTIMIZER_HAS_STATE, late.move, kept
    )


def _check(facts: Facts) -> Iterator[Claim]:
    for late in facts.late_moves:
        optimizer, move = short(late.optimizer.node), short(late.move.node)
        eager = any(name in optimizer for name in _EAGER)
        if eager:
            harm = "its state was made on the old device"
        elif late.loaded:
            harm = "the state loaded into it stays on the old device"
        else:
            harm = "its parameters, or state loaded before the move, may stay behind"
        assumed = _assumptions(late, eager)
        yield Claim(
            late.move,
            Severity.ERROR if eager or late.loaded else Severity.WARNING,
            confidence_of(assumed),
            f"`{late.module}` is moved after an optimizer took its parameters: {harm}",
            advice=f"move first: put `{move}` before the optimizer",
            trace=(Note(late.optimizer, f"the optimizer is built here: `{optimizer}`"),),
            assumptions=assumed,
        )


RULE = Rule(
    code="DEV202",
    name="optimizer-before-move",
    severity=Severity.WARNING,
    summary="An optimizer is built on parameters that are moved afterwards.",
    what="""\
Reports `Module.to`, `.cuda()` or `.cpu()` on a module whose parameters an optimizer already holds.
It is an error for an optimizer that makes its state in the constructor (`Adagrad`), and where state
was loaded before the move: by the constructor of an object, too, whose module another of its
methods moves, or the code that makes it.""",
    why="""\
PyTorch asks to move a model before constructing optimizers for it. `Module.to` mostly changes the
parameters in place, so that the optimizer still sees them; but it replaces them under
`torch.__future__.set_overwrite_module_params_on_conversion` and on XLA, and state that the
optimizer has already made or loaded stays on the old device, where the next `step` meets the new
one.""",
    reference="https://docs.pytorch.org/docs/stable/optim.html",
    bad=(
        """\
from torch import nn, optim

model = nn.Linear(4, 2)
optimizer = optim.Adagrad(model.parameters(), lr=0.1)
model.cuda()
""",
        """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 2)
optimizer = torch.optim.Adam(model.parameters())
model.to(device)
""",
        """\
import torch
from torch import nn


def build(width):
    model = nn.Sequential(nn.Linear(width, width), nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model = model.to("cuda")
    return model, optimizer
""",
    ),
    good=(
        """\
from torch import nn, optim

model = nn.Linear(4, 2).cuda()
optimizer = optim.Adagrad(model.parameters(), lr=0.1)
""",
        """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 2)
model.to(device)
optimizer = torch.optim.Adam(model.parameters())
""",
        """\
import torch
from torch import nn


def build(width):
    model = nn.Sequential(nn.Linear(width, width), nn.ReLU())
    model = model.to("cuda")
    return model, torch.optim.SGD(model.parameters(), lr=0.1)
""",
    ),
    check=_check,
    twin="The guard sees a module move whose parameters an optimizer has taken.",
    limits="""\
With most optimizers on CPU and CUDA the order does no harm today; hence `possible`. A move back to
the host after training is one that devlint cannot always tell from a late one.""",
)
