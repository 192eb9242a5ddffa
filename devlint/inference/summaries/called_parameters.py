"""Called parameters: what a callee gives for the call of what it was handed, once that is in sight.

    def apply(f, x):
        return f(x)         # out of sight: taken to keep the device of `x`

    apply(net, x)           # a module does, and so do functions of torch: no guess any more

A function in sight may bring its result elsewhere, and then nothing is known of it.
"""

from __future__ import annotations

from devlint.inference.domain.host import External
from devlint.inference.domain.placement import same_place
from devlint.inference.domain.provenance import Provenance
from devlint.inference.domain.tensors import INDIRECT, Tensor
from devlint.inference.domain.value import Value
from devlint.inference.models.module_places import placed, stateful
from devlint.inference.program.assumption_sites import guessed_step
from devlint.inference.program.declarations import Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.values import FunctionValue, Instance
from devlint.inference.summaries.arguments import Binding
from devlint.knowledge import Result


def keeps_place(binding: Binding, call: Provenance | None, operand: Tensor) -> bool | None:
    """Whether what this call hands in, and its callee calls, gives back what is where its operand
    is; None where that is out of sight still."""
    if call is None or call.called is None:
        return None
    handed = binding.handed_in(call.called)
    if handed is None or (call.parent and guessed_step(binding.frame, call.parent)):
        return None  # it came through another call out of sight before
    return _keeps(binding.frame, handed, operand)


def _keeps(frame: Frame, called: Value, operand: Tensor) -> bool | None:
    if type(called) is Instance and called.module:
        return _module_keeps(frame, called, operand)
    if type(called) is FunctionValue:
        return _function_keeps(frame, called.function)
    if type(called) is External:
        known = frame.unit.context.knowledge.function(called.name)
        if known is None or known.result is Result.UNKNOWN:
            return None
        return known.result in (Result.OPERANDS, Result.FIRST)
    return None


def _module_keeps(frame: Frame, module: Instance, operand: Tensor) -> bool | None:
    info = module.info
    if info is None and not module.library:
        return None
    forward = info.method("forward") if info is not None else None
    if info is not None and forward is None:
        return None
    kept = True if forward is None else _function_keeps(frame, forward)
    if kept is not True or not stateful(frame, module):
        return kept
    return True if same_place(placed(frame, module)[0], operand.place) else None


def _function_keeps(frame: Frame, function: Function) -> bool | None:
    """All that it returns is where what it is handed is, or where its module is."""
    summary = frame.interpreter.summarize(function)
    result = summary.result if summary is not None else None
    if summary is None or type(result) is not Tensor or result.place is None:
        return None
    if result.traits & INDIRECT:
        return None
    kept = {p.variable for p in summary.parameters if not p.is_device}
    kept |= {each.variable for each in (function.info.lineage() if function.info else ())}
    return result.place in kept
