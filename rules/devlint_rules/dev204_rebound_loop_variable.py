"""DEV204: the loop variable is rebound to the moved tensor, and the container keeps the old one."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.facts import Facts, Rebinding
from devlint.rule import Claim, Rule
from devlint_rules.helpers.assumptions import assume
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.rewrites import is_path, short
from devlint_rules.helpers.scopes import binds, function_around

_VIEW = re.compile(r"(?P<base>.+)\.(?P<view>items|values)\(\)|enumerate\((?P<counted>[\w.]+)\)")


def _container(facts: Facts, fact: Rebinding) -> tuple[str, str]:
    """The container itself, and how to keep the moved tensors in it."""
    name, seen = fact.variable, _VIEW.fullmatch(fact.container)
    if "," in name:
        return fact.container, "build a new list of the moved ones, and use that"
    if seen is None:
        container = fact.container
        built = f"[{_moved(facts, fact)} for {name} in {container}]"
        return container, f"build the moved ones: `{_target(facts, fact)} = {built}`"
    container = seen["base"] or seen["counted"]
    return container, f"write it back: `{container}[…] = {_text_of_move(fact)}`"


def _text_of_move(fact: Rebinding) -> str:
    """`t.to(device)` of `t = t.to(device)`."""
    node = fact.site.node
    return short(node.value if isinstance(node, cst.Assign) else node)


def _moved(facts: Facts, fact: Rebinding) -> str:
    """The element of the new list: where a condition picks what is moved, the others stay."""
    moved = _text_of_move(fact)
    around = path_to(facts.source.tree, fact.site.node)
    for step in around:
        if isinstance(step, cst.If):
            test = short(step.test) if step.body in around else f"not ({short(step.test)})"
            return f"{moved} if {test} else {fact.variable}"
        if isinstance(step, (cst.For, cst.FunctionDef)):
            break
    return moved


def _target(facts: Facts, fact: Rebinding) -> str:
    """The container's own name, where the function has it: that of a function around it would
    become a local one, which is read before it is bound."""
    function = function_around(facts, fact.site.node)
    if not is_path(fact.container):
        return "moved"
    is_own = "." in fact.container or function is None or binds(facts, function, fact.container)
    return fact.container if is_own else "moved"


def _check(facts: Facts) -> Iterator[Claim]:
    for fact in facts.rebindings:
        if not fact.used_later:
            continue
        container, advice = _container(facts, fact)
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
