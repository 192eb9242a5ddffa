"""What of a file is compiled: functions that `torch.compile` is given, and what these call.

@torch.compile
def penalty(x):
    zero = torch.tensor(0.0, device=x.device)   # the compiler makes a fill kernel of it
    return torch.maximum(x, zero)
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache

import libcst as cst

from devlint.inference.facts import Facts
from devlint.inference.syntax.text import dotted, every, names_in
from devlint_rules.helpers.blocks import path_to

UNCOMPILED = "the code has to be quick where it is not compiled, too"
_COMPILES = frozenset({"torch.compile", "compile"})


def is_compiled(facts: Facts, node: cst.CSTNode) -> bool:
    """A function around a node is compiled, or something that is calls it."""
    functions = _compiled(facts.source.tree)
    return bool(functions) and any(step in functions for step in path_to(facts.source.tree, node))


@lru_cache(maxsize=1)  # the file under check
def _compiled(tree: cst.Module) -> frozenset[cst.CSTNode]:
    """The functions of a file that are compiled, and those that these name, and so on."""
    calls = [call for call in every(tree, cst.Call) if dotted(call.func) == "torch.compile"]
    functions: defaultdict[str, list[cst.FunctionDef]] = defaultdict(list)
    found: list[cst.FunctionDef] = []
    for function in every(tree, cst.FunctionDef):
        functions[function.name.value].append(function)
        if any(_compiles(each.decorator) for each in function.decorators):
            found.append(function)
    for call in calls:
        given = dotted(call.args[0].value) if call.args else ""
        found += functions.get(given.rpartition(".")[2], ())
    known = set(found)
    for function in found:  # grows on the way
        for path in names_in(function.body):
            owner, _, name = path.rpartition(".")
            own = functions.get(name, ()) if owner in ("", "self", "cls") else ()
            new = [each for each in own if each not in known]
            known.update(new)
            found += new
    return frozenset(known)


def _compiles(decorator: cst.BaseExpression) -> bool:
    node = decorator.func if isinstance(decorator, cst.Call) else decorator
    return dotted(node) in _COMPILES or (
        isinstance(decorator, cst.Call)
        and any(dotted(arg.value) in _COMPILES for arg in decorator.args)
    )
