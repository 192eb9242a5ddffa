"""Code that runs once in each process of a group, and on which card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.program.accelerator_notes import MentionNote, Mentions, functions
from devlint.inference.program.declarations import Function, functions_of
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import code, dotted, parts
from devlint.inference.syntax.words import words


def is_of_each_rank(unit: Unit, note: MentionNote) -> bool:
    """The device is named once per process of a group, and each sees all cards."""
    if note.kind != "device" or _has_own_cards(note.function):
        return False
    # what goes through a process group is there once per rank
    numbered = note.index is not None and not note.guarded and communicates(note.function)
    return numbered or (joins_group(unit) and runs_per_rank(unit, note))


def joins_group(unit: Unit) -> bool:
    """A process group is joined in the file, and the host's is not one of two."""
    text = unit.source.text
    return holds("group-joining-text", text) and ("gloo" not in text or "nccl" in text)


def sets_card(unit: Unit) -> bool:
    """The file makes a card the current one."""
    return holds("current-device-text", unit.source.text)


def _has_own_cards(function: Function | None) -> bool:
    """A worker that is given its cards: `@ray.remote(num_gpus=1)`. It sees no other ones."""
    for inner in functions(function) if function is not None else ():
        owners = [inner.node, *([inner.info.node] if inner.info is not None else [])]
        for decorator in (d for owner in owners for d in getattr(owner, "decorators", ())):
            if "num_gpus" in code(decorator):
                return True
    return False


def runs_per_rank(unit: Unit, note: MentionNote) -> bool:
    """The function joins a process group itself, is handed its rank, or belongs to a script that
    joins one."""
    for function in functions(note.function):
        params = function.node.params
        if any(holds("rank-name", p.name.value) for p in (*params.params, *params.kwonly_params)):
            return True
        if function.says("group-joining-text"):
            return True
    return unit.kept(Mentions).is_script


def knows_its_card(unit: Unit, note: MentionNote) -> bool:
    """The code that joins the process group names the card of its rank, for the model's wrapper or
    from the environment, and makes it the current one nowhere."""
    text = unit.source.text
    if sets_card(unit) or not holds("own-card-text", text):
        return False
    joins = [f for f in functions(note.function) if holds("group-joining-text", f.text)]
    return bool(joins) or (note.function is None and holds("group-joining-text", text))


def communicates(function: Function | None) -> bool:
    """The function sends tensors through a process group, as only NCCL needs them on a card."""
    return any(inner.says("collective-text") for inner in functions(function))


def under_rank_test(note: MentionNote) -> bool:
    """`if rank == 0:` around it, or around all calls of its function: one rank only."""
    function = note.function
    if function is None:
        return False
    ranks = function.unit.kept(_UnderRankTests)
    if note.node in ranks.nodes_of(function):
        return True
    return ranks.all_calls_of(function)


class _UnderRankTests:
    """What stands under a test of the rank in one file, by function."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._nodes: dict[Function, set[cst.CSTNode]] = {}
        self._all_calls: dict[Function, bool] = {}
        # By the last name of what is called: each function that does, and whether all calls there
        # stand under such a test.
        self._callers: dict[str, dict[Function, bool]] | None = None

    def nodes_of(self, function: Function) -> set[cst.CSTNode]:
        """All nodes of a function that do."""
        if function not in self._nodes:
            found = _under(function.node)
            self._nodes[function] = {node for node, under in found if under}
        return self._nodes[function]

    def all_calls_of(self, function: Function) -> bool:
        """A function is called in its file, and each time under a test."""
        known = self._all_calls.get(function)
        if known is None:
            calls = self._calls_of(function.name).items()
            found = [under for caller, under in calls if caller is not function]
            known = self._all_calls[function] = bool(found) and all(found)
        return known

    def _calls_of(self, name: str) -> Mapping[Function, bool]:
        if self._callers is None:
            self._callers = {}
            for function in functions_of(self.unit):
                for node, under in _under(function.node):
                    callee = dotted(node.func) if isinstance(node, cst.Call) else ""
                    if callee:
                        callers = self._callers.setdefault(callee.rpartition(".")[2], {})
                        callers[function] = callers.get(function, True) and under
        return self._callers.get(name, {})


def _under(node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, bool]]:
    """All nodes in a node: for each, whether a test of the rank is around it."""
    waiting = [(node, False)]
    while waiting:
        node, under = waiting.pop()
        yield node, under
        tests = isinstance(node, (cst.If, cst.IfExp)) and holds("rank-condition", words(node.test))
        waiting += [(part, under or tests) for part in parts(node)]
