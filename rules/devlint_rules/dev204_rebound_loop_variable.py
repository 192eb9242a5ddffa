"""DEV204: the loop variable is rebound to the moved tensor, and the container keeps the old one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.facts import Facts, Rebinding
from devlint.rule import Claim, Rule
from devlint_rules.helpers.assumptions import assume
from devlint_rules.helpers.rewriting import short

_VIEW = re.compile(r"(?P<base>.+)\.(?P<view>items|values)\(\)|enumerate\((?P<counted>[\w.]+)\)")


def _container(fact: Rebinding) -> tuple[str, str]:
    """The container itself, and how to keep the moved tensors in it."""
    name, seen = fact.variable, _VIEW.fullmatch(fact.container)
    if "," in name:
        return fact.container, "build a new list of the moved ones, and use that"
    if seen is None:
        container = fact.container
        built = f"[{name}.to(device) for {name} in {container}]"
        return container, f"build the moved ones: `{container} = {built}`"
    container = seen["base"] or seen["counted"]
    return container, f"write it back: `{container}[…] = {name}.to(device)`"


def _check(facts: Facts) -> Iterator[Claim]:
    for fact in facts.rebindings:
        if not fact.used_later:
            continue
        container, advice = _container(fact)
        assumed = assume(
            AssumptionKind.RESULT_WAS_WANTED,
            fact.site,
            "the loop is to change its container",
        )
        yield Claim(
            fact.site,
            Severity.ERROR,
            confidence_of(assumed),
            f"`{short(fact.site.node)}` rebinds the loop's `{fact.variable}`: `{container}` "
            "keeps the old tensors",
            advice=advice,
            assumptions=assumed,
        )


RULE = Rule(
    code="DEV204",
    name="rebound-loop-variable",
    severity=Severity.ERROR,
    summary="`for t in ts: t = t.to(d)`: the container keeps the old tensors.",
    what="""\
Reports a loop over a container of tensors that moves each one and binds the result to the loop
variable, where the container is used afterwards.""",
    why="""\
An assignment to the loop variable changes the name, not the container. `Tensor.to` returns a new
tensor, so the container still holds the tensors on the old device.""",
    reference="https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html",
    bad=(
        """\
import torch

parts = [torch.ones(2), torch.zeros(2)]
for part in parts:
    part = part.to("cuda")
joined = torch.cat(parts)
""",
        """\
def to_device(batch: dict, device):
    for name, tensor in batch.items():
        tensor = tensor.to(device)
    return batch
""",
        """\
import torch


def stack(tensors: list[torch.Tensor]) -> torch.Tensor:
    for tensor in tensors:
        tensor = tensor.cuda()
    return torch.stack(tensors)
""",
    ),
    good=(
        """\
import torch

parts = [torch.ones(2), torch.zeros(2)]
parts = [part.to("cuda") for part in parts]
joined = torch.cat(parts)
""",
        """\
def to_device(batch: dict, device):
    for name, tensor in batch.items():
        batch[name] = tensor.to(device)
    return batch
""",
        """\
import torch


def total(tensors: list[torch.Tensor]) -> float:
    result = 0.0
    for tensor in tensors:
        tensor = tensor.cuda()
        result += tensor.sum()
    return result
""",
    ),
    check=_check,
    twin="The guard sees moved tensors die without having been used.",
    limits="A container that the caller uses after the function has returned is not seen.",
)
