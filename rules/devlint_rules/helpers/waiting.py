"""How sure it is that a sync costs something and could be avoided."""

from __future__ import annotations

import re

import libcst as cst

from devlint.findings import Confidence
from devlint.inference.domain.placement import Variable, VariableKind
from devlint.inference.facts import Facts, Sync
from devlint.inference.syntax.text import dotted, every
from devlint_rules.helpers.blocks import path_to, statements_before
from devlint_rules.helpers.uses import Use, use_of

# A read of a number or of a truth value: what the host does with it mostly can be done on the
# device, or later. The other syncs are often what the algorithm needs.
_NUMBERS = frozenset(
    {".item()", "float()", "int()", "bool()", "round()", "if", "while", "assert", "f-string"}
    | {"print()", "str()", ".format()", "%"}
)


_COLD_FILE = re.compile(
    r"(^|/)((unit_?)?tests?|\w*datasets?|deploy\w*)/"
    r"|(^|/)(test_[^/]*|[^/]*_test|conftest|[^/]*collator|export\w*|convert\w*)\.py$"
)


def is_cold_file(facts: Facts) -> bool:
    """Tests, exports, and data prepared on the host: nobody waits for the device there."""
    return bool(_COLD_FILE.search(facts.source.path))


def has_waited(facts: Facts, node: cst.CSTNode) -> bool:
    """`torch.cuda.synchronize()` stands right above: there is nothing left to wait for."""
    for before in statements_before(facts, node):
        calls = [dotted(call.func) for call in every(before, cst.Call)]
        if any(name.endswith(".synchronize") for name in calls):
            return isinstance(before, cst.SimpleStatementLine)
        if any(not name.startswith("time.") for name in calls):
            return False
    return False


def is_only_asked_for(facts: Facts, sync: Sync) -> bool:
    """`if isinstance(v, torch.Tensor): v = v.item()`: callers may not hand one in."""
    tree, name = getattr(facts.source, "tree", None), sync.operand.name
    if sync.operand.steps or not isinstance(tree, cst.Module):
        return False
    return any(
        isinstance(step, (cst.If, cst.IfExp))
        and any(
            dotted(call.func) == "isinstance" and call.args and dotted(call.args[0].value) == name
            for call in every(step.test, cst.Call)
        )
        for step in path_to(tree, sync.site.node)
    )


def confidence(facts: Facts, sync: Sync) -> Confidence:
    """Likely where the tensor is on an accelerator for the ordinary caller and it can wait."""
    if (
        is_cold_file(facts)
        or sync.perhaps
        or has_waited(facts, sync.site.node)
        or is_only_asked_for(facts, sync)
        or sync.guards_error
        or sync.inside is not None
        or not _on_accelerator(facts, sync)
    ):
        return Confidence.POSSIBLE
    loop = sync.loop
    trains = loop is not None and loop.trains
    if sync.evaluates and sync.for_logging and not (sync.invariant or trains):
        return Confidence.POSSIBLE
    if not sync.elementwise and use_of(facts, sync) is Use.INDEX:
        return Confidence.POSSIBLE  # the host needs it
    if sync.elementwise or sync.invariant:
        return Confidence.LIKELY
    if sync.evaluates and not trains and (loop is None or not loop.nested):
        return Confidence.POSSIBLE
    if sync.call in _NUMBERS:
        return Confidence.LIKELY
    if sync.needed or (loop is None and not sync.call.startswith("torch.")):
        return Confidence.POSSIBLE
    return Confidence.LIKELY


def _on_accelerator(facts: Facts, sync: Sync) -> bool:
    """For the ordinary caller: what a function is given may be a host tensor."""
    placement = sync.operand.placement
    if not isinstance(placement, Variable) or placement.kind is not VariableKind.INPUT:
        return True
    if sync.in_module or sync.in_step or (sync.loop is not None and sync.loop.trains):
        return True
    return sync.elementwise and facts.accelerated
