"""Parameters: which of them is one tensor, so that it has a `.device`."""

from __future__ import annotations

import re

import libcst as cst

from devlint.inference.facts import Facts, Operand, StepKind
from devlint_rules.helpers.rewrites import text_of
from devlint_rules.helpers.scopes import function_around

# What one tensor is asked for, and no container of them: `x.size(0)`, `x[:, 0]`.
_OF_TENSORS = (
    r"(\.(size|shape|device|dtype|dim|ndim|view|permute|unsqueeze|new_\w+|to|is_cuda|clamp"
    r"|(is_)?contiguous)\b|\[[^\]]*(\.\.\.|:\s*,|,\s*:))"
)


def is_tensor(param: cst.Param, function: cst.FunctionDef) -> bool:
    """The parameter is annotated as a tensor, or asked for what only a tensor has."""
    if param.annotation is not None:
        return text_of(param.annotation.annotation) in ("Tensor", "torch.Tensor")
    return bool(re.search(rf"(?<![\w.]){param.name.value}{_OF_TENSORS}", text_of(function)))


def is_tensor_of(facts: Facts, operand: Operand, name: str) -> bool:
    """The parameter where an operand is: one tensor, and not what holds it. The operand's own text
    names it as a whole, `x * 2`, or the parameter is shown to be one."""
    if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.\[(])", text_of(operand.site.node)):
        return True
    for step in operand.steps:
        param, function = step.site.node, function_around(facts, step.site.node)
        if (
            step.kind is StepKind.PARAMETER
            and isinstance(param, cst.Param)
            and function is not None
        ):
            return param.name.value == name and is_tensor(param, function)
    return False
