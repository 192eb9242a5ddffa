"""How sure it is that a sync costs something and could be avoided."""

from __future__ import annotations

import re

from devlint.findings import Confidence
from devlint.inference.domain.placement import Variable, VariableKind
from devlint.inference.facts import Facts, Sync

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


def confidence(facts: Facts, sync: Sync) -> Confidence:
    """Likely where the tensor is on an accelerator for the ordinary caller and it can wait."""
    if (
        is_cold_file(facts)
        or sync.guards_error
        or sync.inside is not None
        or not _on_accelerator(facts, sync)
    ):
        return Confidence.POSSIBLE
    if sync.elementwise:
        return Confidence.LIKELY
    loop = sync.loop
    trains = loop is not None and loop.trains
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
