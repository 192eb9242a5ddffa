"""Whether the host needs what it reads from the device where it reads it."""

from __future__ import annotations

import builtins
from functools import lru_cache

import libcst as cst

from devlint.inference.facts import Facts, Sync
from devlint.inference.syntax.text import called_name, dotted, every, last_statement
from devlint_rules.helpers.blocks import assignment_of, path_to, tested_by
from devlint_rules.helpers.calls import calls_of
from devlint_rules.helpers.rewrites import text_of
from devlint_rules.helpers.scopes import function_around
from devlint_rules.helpers.uses import Use, is_reduced, reads_in, use_of

MASKED = "mask indexing"

# A read of a number or of a truth value: what the host does with it mostly can be done on the
# device, or later. The other syncs are often what the algorithm needs.
NUMBERS = frozenset(
    {".item()", "float()", "int()", "bool()", "round()", "if", "while", "assert", "f-string"}
    | {"print()", "str()", ".format()", "%"}
)

# Questions about values that should not come up.
_DOUBTS = frozenset({"isnan", "isinf", "isfinite"})


def asks_for_error(node: cst.CSTNode) -> bool:
    """`loss.isnan().any()`: the answer is no, as long as all is well."""
    return any(called_name(call) in _DOUBTS for call in every(node, cst.Call))


def is_stacking(sync: Sync) -> bool:
    """`torch.tensor([loss, norm])`: the host reads each of them, only to make a tensor again."""
    return sync.call.endswith(" of tensors")


def is_needed(facts: Facts, sync: Sync) -> bool:
    """The host works on with the number there, or its callee does."""
    if sync.inside is not None:
        return True
    if sync.elementwise or sync.kept or is_stacking(sync):
        return False  # what the constructor made, the host had then
    if use_of(facts, sync) is Use.INDEX or _ends_loop(facts, sync) or _is_of_written(facts, sync):
        return True
    if _starts_work(facts, sync):
        return True
    if sync.call == MASKED:  # rows of which nobody knows how many: the host has to ask
        return not is_reduced(facts, sync.site.node)
    if sync.invariant or sync.call in NUMBERS:
        return False
    if sync.call == ".cpu()" and _is_collected(facts, sync):
        return True
    return sync.needed or (sync.loop is None and not sync.call.startswith("torch."))


def _is_collected(facts: Facts, sync: Sync) -> bool:
    """`rows.append(distances(q, table).cpu())`: the device may not hold all of them."""
    trains = sync.trains or (sync.loop is not None and sync.loop.trains)
    return use_of(facts, sync) is Use.KEPT and not trains and not sync.operand.scalar


def _is_of_written(facts: Facts, sync: Sync) -> bool:
    """`limit = scores[i].item(); scores[rows] = 0`: unread, it is a view of what is changed."""
    node = sync.operand.site.node
    function = function_around(facts, sync.site.node)
    if not isinstance(node, cst.Subscript) or function is None:
        return False
    return text_of(node.value) in _written_in(function)


@lru_cache(maxsize=64)  # a function may have many reads
def _written_in(function: cst.FunctionDef) -> frozenset[str]:
    """What a function writes elements of."""
    written = (each.target for each in every(function, cst.AssignTarget))
    return frozenset(text_of(each.value) for each in written if isinstance(each, cst.Subscript))


def _starts_work(facts: Facts, sync: Sync) -> bool:
    """`if unsure.any(): x = self.refine(x)`: the answer saves what a function of the code's own
    would do. Of torch's operations the device may well do one more."""
    asked = tested_by(facts, sync.site.node)
    if not isinstance(asked, cst.If) or isinstance(last_statement(asked.body), _LEAVING):
        return False  # `if empty: return self.nothing()`
    branches = [asked.body, *([asked.orelse] if asked.orelse is not None else [])]
    return any(_is_own(call) for branch in branches for call in every(branch, cst.Call))


_LEAVING = (cst.Return, cst.Raise, cst.Continue, cst.Break)


_KEEPS = frozenset({"torch.save", "np.save", "numpy.save", "pickle.dump", "json.dump"})


def _is_own(call: cst.Call) -> bool:
    """`refine(x)`, `self.refine(x)`: by its name neither Python's nor a class. A file is the host's
    to write, and all processes have to meet where one calls the others."""
    name = dotted(call.func).removeprefix("self.")
    if name in _KEEPS or name.startswith(("dist.", "torch.distributed.")):
        return True
    return name.isidentifier() and name.islower() and not hasattr(builtins, name)


def _ends_loop(facts: Facts, sync: Sync) -> bool:
    """`if change < limit: break`, `while not done`: without the answer the host cannot go on. Be it
    under a name, `number = loss.item()`, or in a function that hands the answer back."""
    node = sync.site.node
    if sync.loop is not None:
        if _stops(facts, node):
            return True
        names = _names_for(facts, node)
        known = reads_in(facts.source.tree, sync.loop.site.node) if names else {}
        reads = (read for name in names for read in known.get(name, ()))
        if any(_breaks(facts, read) for read in reads):
            return True
    function = function_around(facts, node)
    if function is None or not _is_handed_back(facts, node):
        return False
    calls = calls_of(facts, function)
    return bool(calls) and all(_stops(facts, call) for call in calls)


def _stops(facts: Facts, node: cst.CSTNode) -> bool:
    """The condition that a node stands in is that of a loop, or of the way out of one."""
    return isinstance(tested_by(facts, node), cst.While) or _breaks(facts, node)


def _breaks(facts: Facts, node: cst.CSTNode) -> bool:
    asked = tested_by(facts, node)
    return isinstance(asked, cst.If) and isinstance(last_statement(asked.body), cst.Break)


def _is_handed_back(facts: Facts, node: cst.CSTNode) -> bool:
    """`return x.sum().item() == n`."""
    around = path_to(facts.source.tree, node)
    statements = (each for each in around if isinstance(each, cst.BaseSmallStatement))
    return isinstance(next(statements, None), cst.Return)


def _names_for(facts: Facts, node: cst.CSTNode) -> frozenset[str]:
    """The names that a value is bound to, as it is."""
    bound = assignment_of(facts, node)
    targets = [each.target for each in bound.targets] if bound is not None else []
    return frozenset(target.value for target in targets if isinstance(target, cst.Name))
