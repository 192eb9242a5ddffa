"""DEV308: indexing or assigning copies a host tensor to the device in silence."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of, strength
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.facts import Facts, HiddenCopy, Hotness, Site
from devlint.inference.syntax.text import every, owner_of, parts
from devlint.rule import Claim, Note, Rule
from devlint_rules.helpers.assumptions import assume_if, is_cold_file, time_matters, warm_code
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.operand_device import device_for
from devlint_rules.helpers.queues import Counted
from devlint_rules.helpers.repetition import is_set_up
from devlint_rules.helpers.rewrites import (
    factory_of,
    in_file,
    takes_device,
    text_of,
    with_argument,
)
from devlint_rules.helpers.scopes import function_around, method_around
from devlint_rules.helpers.sizes import makes_few
from devlint_rules.helpers.sync_costs import busy_at, repeated
from devlint_rules.helpers.wording import (
    MAX_TWINS,
    and_more,
    device_expression,
    history,
    place_of,
)

_TO_HOST = ("tolist", "numpy", "item")


def _message(fact: HiddenCopy, more: str) -> str:
    tensor, base = fact.operand, fact.base
    if fact.what == "index":
        return (
            f"`{tensor.name}` is on {place_of(tensor)} and indexes `{base.name}` on "
            f"{place_of(base)}{more}: each use copies it there, and the host waits for the copy"
        )
    return (
        f"`{tensor.name}` is on {place_of(tensor)} and is written into `{base.name}` on "
        f"{place_of(base)}{more}: a blocking copy that the code does not show"
    )


def _told(facts: Facts, fact: HiddenCopy, copies: list[HiddenCopy]) -> str:
    """The advice for one copy, or for all factories that stand in one index: mended alone, each
    leaves the others."""
    beside = [copy for copy in copies if copy.site.node is fact.site.node]
    each = dict.fromkeys(_advice(facts, copy) for copy in (fact, *beside))
    made = [text.removeprefix(_MAKE) for text in each if text.startswith(_MAKE)]
    if len(made) < 2 or len(made) < len(each):
        return _advice(facts, fact)
    return f"make them where they are used: {', '.join(made)}"


_MAKE = "make it where it is used: "


def _advice(facts: Facts, fact: HiddenCopy) -> str:
    kept = _kept_as(facts, fact)
    if kept:
        return f'let it move with the module: `self.register_buffer("{kept}", …, persistent=False)`'
    made = factory_of(fact.operand)
    if _is_selection(facts, fact):
        return (
            "select by integers that are made there, or let the mask weigh: there each `x[mask]` "
            "waits for the number of its rows, too"
        )
    if made is None or not takes_device(fact.operand, made) or not isinstance(made.node, cst.Call):
        return "bring it there once, before it is used"
    if fact.operand.mixed:
        return f"{_MAKE}pass `device=` to each factory that it comes from"
    device = device_for(facts, fact.base, made.node)
    if device is None and function_around(facts, made.node) is function_around(
        facts, fact.site.node
    ):
        device = device_expression(facts, fact.base, made.node)
    text = with_argument(made.node, f"device={device}") if device is not None else None
    if text is None or "\n" in text:
        return f"{_MAKE}pass `device=` to the factory"
    return f"{_MAKE}`{text}`"


def _kept_as(facts: Facts, fact: HiddenCopy) -> str:
    """`mask` of `self.mask[i]`: another method than this one has made it."""
    node = owner_of(fact.operand.site.node)
    owner, _, name = text_of(node).partition(".")
    made, method = factory_of(fact.operand), method_around(facts, fact.site.node)
    if owner != "self" or not name.isidentifier() or method is None:
        return ""
    there = function_around(facts, made.node) if made is not None else None
    if there is None or there.name.value != "__init__":
        return ""  # made when the module has been moved already
    kept = (method[0].name.value, name)  # of a module: other classes move nothing
    is_module = any((a.class_name, a.attribute) == kept for a in facts.plain_attributes)
    return name if is_module and there is not method[1] else ""


def _assumptions(facts: Facts, fact: HiddenCopy) -> Assumptions:
    """Code that runs once may make its tensors as it likes; what NumPy gave comes from the host."""
    made, loop, site = factory_of(fact.operand), fact.loop, fact.site
    needed = (
        not fact.operand.by_default
        or _is_read_by_host(facts, fact)
        or (
            made is not None
            and (
                _is_single(made.node)
                or not (takes_device(fact.operand, made) or _is_attribute(fact))
            )
        )
    )
    again = bool(fact.in_step) or (loop is not None and loop.hotness is Hotness.HOT)
    once = not again and is_set_up(facts, site.node)
    few = made is not None and makes_few(facts, made.node)
    function = function_around(facts, site.node)
    around = repeated(loop, Site(facts.source, function) if function is not None else None)
    message = f"`{fact.operand.name}` need not be on the host first"
    return (
        time_matters(facts, site)
        + assume_if(needed, AssumptionKind.HOST_CAN_DO_WITHOUT, site, message)
        + busy_at(facts, site, around, Counted.ANY if few else Counted.NEEDED)
        + warm_code(fact.cold or once, site, "what runs once or seldom has to be quick, too")
    )


def _is_attribute(fact: HiddenCopy) -> bool:
    """`self.classes`: the object may keep it where it is needed."""
    return text_of(fact.operand.site.node).startswith("self.")


def _is_selection(facts: Facts, fact: HiddenCopy) -> bool:
    """`x[mask]` is read: on the device the host would wait for the number of its rows instead."""
    if fact.what != "index" or not fact.operand.boolean:
        return False
    around = next(iter(path_to(facts.source.tree, fact.site.node)), None)
    return not isinstance(around, (cst.AssignTarget, cst.AugAssign))


def _is_read_by_host(facts: Facts, fact: HiddenCopy) -> bool:
    """`x[order]` beside `order.tolist()`, or `(order == 3).nonzero().item()`: on the device the
    host would wait for that instead."""
    node = fact.operand.site.node
    around = function_around(facts, fact.site.node)
    if not isinstance(node, cst.Name) or around is None:
        return False
    return any(
        isinstance(call.func, cst.Attribute)
        and call.func.attr.value in _TO_HOST
        and node.value in _computed_of(call.func.value)
        for call in every(around, cst.Call)
    )


def _computed_of(value: cst.CSTNode) -> Iterator[str]:
    """The names that a value is computed of; what picks rows of another is no part of it."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, cst.Name):
            yield node.value
        elif isinstance(node, (cst.Subscript, cst.Attribute)):
            waiting.append(node.value)
        else:
            waiting += parts(node)


def _is_single(made: cst.CSTNode) -> bool:
    """`torch.randint(0, n, (1,))`: one number costs no more as an index than as an argument."""
    shapes = [
        argument.value
        for argument in (made.args if isinstance(made, cst.Call) else ())
        if isinstance(argument.value, (cst.Tuple, cst.List))
    ]
    return len(shapes) == 1 and all(text_of(e.value) == "1" for e in shapes[0].elements)


def _causes(facts: Facts) -> list[list[HiddenCopy]]:
    """The copies that one change mends: of one host tensor, or of several in one index."""
    causes: list[list[HiddenCopy]] = []
    for fact in facts.hidden_copies:
        if fact.prepares or is_cold_file(facts):
            continue  # data is made on the host, and what is built once costs once
        keys = _keys(fact)
        joined = [cause for cause in causes if any(keys & _keys(other) for other in cause)]
        causes = [cause for cause in causes if cause not in joined]
        causes.append([*(each for cause in joined for each in cause), fact])
    return causes


def _keys(fact: HiddenCopy) -> set[int]:
    """The operation, and the factory that made the host tensor."""
    made = factory_of(fact.operand)
    return {id(fact.site.node), id(made.node if made is not None else fact.site.node)}


def _check(facts: Facts) -> Iterator[Claim]:
    for copies in _causes(facts):
        resting = [(copy, _assumptions(facts, copy)) for copy in copies]
        resting.sort(key=lambda each: -strength(each[1]))
        first, assumed = resting[0]
        others = _other_places(facts, [copy for copy, _ in resting])
        yield Claim(
            first.site,
            Severity.PERFORMANCE,
            confidence_of(assumed),
            _message(first, and_more(len(others))),
            advice=_told(facts, first, copies),
            trace=(
                *history(first.operand),
                *history(first.base),
                *(Note(site, "it is copied here, too") for site in others[:MAX_TWINS]),
            ),
            assumptions=assumed,
            given=first.given,
        )


def _other_places(facts: Facts, copies: list[HiddenCopy]) -> list[Site]:
    places = {id(fact.site.node): fact.site for fact in copies if in_file(facts, fact.site)}
    places.pop(id(copies[0].site.node), None)
    return list(places.values())


RULE = Rule(
    code="DEV308",
    name="hidden-copy",
    severity=Severity.PERFORMANCE,
    summary="An index or a value on the host is copied to the device by indexing or assignment.",
    what="""\
Reports a host tensor that indexes a tensor on the module's, an input's or a chosen device, and one
that is assigned to a part of such a tensor.""",
    why="""\
PyTorch accepts a host index for a device tensor, and `device[i] = host`: it copies the host tensor
first. The copy is from pageable memory, so that the host waits, in every call.""",
    reference="https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution",
    bad=(
        """\
import torch


def shuffle(samples: torch.Tensor) -> torch.Tensor:
    order = torch.randperm(samples.size(0))
    return samples[order].to(samples.device)
""",
        """\
import torch
from torch import nn


class Subsample(nn.Module):
    def forward(self, points: torch.Tensor) -> torch.Tensor:
        chosen = torch.randperm(points.shape[0])[:64]
        return points[chosen]
""",
        """\
import torch


def relabel(nodes: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    table = torch.empty_like(nodes, device=nodes.device)
    for start in range(3):
        table[start] = torch.arange(kept.size(0))
    return table
""",
    ),
    good=(
        """\
import torch


def shuffle(samples: torch.Tensor) -> torch.Tensor:
    order = torch.randperm(samples.size(0), device=samples.device)
    return samples[order]
""",
        """\
import torch
from torch import nn


class Subsample(nn.Module):
    def forward(self, points: torch.Tensor) -> torch.Tensor:
        return points[:64]
""",
        """\
import torch


def first_rows(count: int) -> torch.Tensor:
    rows = torch.zeros(count, 4)
    return rows[torch.arange(2)]
""",
    ),
    check=_check,
    twin="The guard sees the transfer that indexing or assigning makes.",
    limits="""\
Code that prepares data (a `collate_fn`, a `Dataset`) or that builds something once is passed over.
A host index that the caller hands in is not reported: it may be on the device already. Where the
index is needed on the host as well, one explicit copy beside it costs no more.""",
)
