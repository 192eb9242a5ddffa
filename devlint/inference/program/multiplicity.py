"""Functions that run many times in one step: once for each layer, sample, token or time step.

    class Encoder(nn.Module):
        def __init__(self, count):
            super().__init__()
            self.layers = nn.ModuleList(Layer() for _ in range(count))  # there are many of it

        def forward(self, x):
            for sample in x:
                self.encode(sample)  # and this is called for each of several

A loop around the call shows it, or around what makes the module; so does the name of a layer, of
which every model has many, and a call by a function that runs many times itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.facts import Hotness
from devlint.inference.program.declarations import CallSite, Function, classes_of, functions_of
from devlint.inference.program.loops import LoopState
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import every
from devlint.inference.syntax.words import words


def many_times(unit: Unit, per_step: Container[Function]) -> dict[Function, cst.CSTNode]:
    """The functions of a file that run many times in one step, each with the place that shows it.
    `per_step`: those that run at least once."""
    found: dict[Function, cst.CSTNode] = {}
    reaches: defaultdict[Function | None, list[Function]] = defaultdict(list)
    for function in functions_of(unit):
        for call in function.callers:
            if not call.cold:
                reaches[call.caller].append(function)
            if _is_repeated(call, function, per_step):
                found[function] = call.node
    for info in classes_of(unit):
        methods = [*info.methods.values()]
        for made in info.makers:
            reaches[made.caller] += methods
            if made.loop is not None and made.loop.hotness is not Hotness.EPOCHS:
                found.update(dict.fromkeys(methods, made.node))
        if info.is_module and holds("layer-class", info.name):
            found.update(dict.fromkeys(methods, info.node.name))
    waiting = list(found)
    for reached in waiting:  # grows on the way
        new = [function for function in reaches[reached] if function not in found]
        found.update(dict.fromkeys(new, found[reached]))
        waiting += new
    return found


def _is_repeated(call: CallSite, function: Function, per_step: Container[Function]) -> bool:
    """A loop in a step is around a call."""
    loop = call.loop
    if loop is None or call.cold or call.caller is function or loop.hotness is Hotness.EPOCHS:
        return False
    if call.without_gradients or (call.caller and holds("evaluating-function", call.caller.name)):
        return False
    if loop.trains:  # each turn is a step
        return False
    outer = loop.outer is not None and loop.outer.hotness is Hotness.HOT
    in_step = call.caller in per_step or outer
    return in_step or (loop.hotness is Hotness.HOT and not _goes_over_batches(loop))


def _goes_over_batches(loop: LoopState) -> bool:
    """By its names, `for batch in loader`."""
    node = loop.node
    targets = (node.target,) if isinstance(node, cst.For) else ()
    named = (name.value for name in every(loop.over, cst.Name)) if loop.over is not None else ()
    return any(holds("batch-variable", words(each)) for each in targets) or any(
        holds("loader-name", name) for name in named
    )
