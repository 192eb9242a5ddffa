"""DEV311: a loop keeps the graph of each turn with what it adds up or collects."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.facts import Facts, KeptGraph
from devlint.rule import Claim, Note, Replacement, Rule
from devlint_rules.helpers.assumptions import assume, assume_if, warm_file
from devlint_rules.helpers.rewrites import atom, in_file
from devlint_rules.helpers.wording import head_of


def _fix(facts: Facts, kept: KeptGraph) -> tuple[Replacement, ...]:
    """Put `.detach()` behind the value."""
    node = kept.site.node
    if kept.backward is None or not in_file(facts, kept.site):
        return ()
    if not isinstance(node, cst.BaseExpression):
        return ()
    return (Replacement(kept.site, f"{atom(node)}.detach()"),)


def _assumptions(facts: Facts, kept: KeptGraph) -> Assumptions:
    """The assumptions that autograd is on, and that its memory is wanted back."""
    needed = assume(AssumptionKind.TIME_MATTERS, kept.site, "the memory of the graphs is missed")
    message = f"autograd records `{kept.name}`"
    recorded = assume_if(not kept.sure, AssumptionKind.GRAPH_IS_RECORDED, kept.site, message)
    return needed + recorded + warm_file(facts, kept.site)


def _check(facts: Facts) -> Iterator[Claim]:
    for kept in facts.kept_graphs:
        trace = [Note(head_of(kept.loop), "in every iteration of this loop")]
        if kept.backward is not None:
            trace.append(Note(kept.backward, "the backward pass through it, which ends its use"))
            message = (
                f"`{kept.into}` keeps the graph of each `{kept.name}`, which has gone backward"
            )
            advice = (
                f"`{atom(kept.site.node)}.detach()`: the graph is not kept, and the host does not "
                "wait; read the number once behind the loop"
            )
        else:
            message = (
                f"`{kept.into}` keeps the graph of each `{kept.name}`, with all that the model "
                "saved for a backward pass that never comes"
            )
            advice = "run the evaluation under `torch.no_grad()` or `torch.inference_mode()`"
        assumed = _assumptions(facts, kept)
        yield Claim(
            kept.site,
            Severity.WARNING,
            confidence_of(assumed),
            message,
            advice=advice,
            trace=tuple(trace),
            fix=_fix(facts, kept),
            applicability=Applicability.SAFE,
            assumptions=assumed,
        )


RULE = Rule(
    code="DEV311",
    name="graph-kept-in-loop",
    severity=Severity.WARNING,
    summary="A loop adds up or collects tensors with the graph that autograd recorded for each.",
    what="""\
Reports `total += loss` and `outputs.append(output)` in a loop, where the value is recorded by
autograd: behind a backward pass through it in the same loop, and in evaluations that run a model
with gradients on.""",
    why="""\
A recorded tensor holds its graph, and the graph what was saved for the backward pass. The sum holds
the graphs of all turns, so memory grows with each one until it runs out, often far into an epoch.
`.detach()` keeps the value alone, and does not wait for the device as `.item()` does.""",
    reference="https://docs.pytorch.org/docs/stable/notes/faq.html",
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
        total += loss
    return total / len(dataset)
""",
        """\
def fit(model, loader, criterion, optimizer, device):
    history = []
    for inputs, labels in loader:
        loss = criterion(model(inputs.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss)
    return history
""",
        """\
import torch
from torch import nn
from torch.utils.data import DataLoader


def evaluate(model: nn.Module, dataset, device):
    model.eval()
    outputs = []
    for x in DataLoader(dataset):
        outputs.append(model(x.to(device)))
    return torch.cat(outputs)


if __name__ == "__main__":
    print(evaluate(nn.Linear(4, 2).cuda(), torch.randn(8, 4), "cuda"))
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
    return total.item() / len(dataset)
""",
        """\
import torch.nn.functional as F


def accumulate(model, parts, optimizer, device):
    total = 0.0
    for x, y in parts:
        total = total + F.cross_entropy(model(x.to(device)), y.to(device))
    total.backward()  # through all parts: their graphs are needed
    optimizer.step()
""",
        """\
import torch
from torch import nn
from torch.utils.data import DataLoader


def evaluate(model: nn.Module, dataset, device):
    model.eval()
    outputs = []
    with torch.no_grad():
        for x in DataLoader(dataset):
            outputs.append(model(x.to(device)))
    return torch.cat(outputs)
""",
    ),
    check=_check,
    fix="Puts `.detach()` behind the value, where a backward pass has gone through it.",
    twin="The guard does not look at graphs: a run leaves the finding undecided.",
    limits="""\
A sum that a caller goes back through is left alone, and so are values that a method of an object
keeps from call to call. Behind a backward pass most of what was saved is freed: what stays is the
graph itself, which grows more slowly than in an evaluation. An evaluation is a likely finding only
where a script or the module itself calls it: whoever calls the callers may have turned gradients
off. The rule is in preview: of 41 findings on 19 repositories, at most four of each (November
2026), 27 were right and worth saying. Seven were wrong, six of them evaluations, for which these
limits were drawn then; seven stood in loops of a few turns.""",
    preview=True,
)
