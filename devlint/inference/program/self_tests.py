"""The check of a module that others import: its `if __name__ == "__main__":`, and what only that
calls.

    class Pad(nn.Module): ...       # layers.py, which others import

    def _show():                    # the check: its author runs it, on the machine at hand
        print(Pad(3).cuda()(torch.rand(2, 8).cuda()).shape)

    if __name__ == "__main__":
        _show()

A file that nobody imports is a program, and so is one whose main part reads options, trains, or
calls `main`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import code, dotted, every, parts
from devlint.inference.syntax.words import demonstration


class SelfTests:
    """What of a file is its own check: the main part, and the functions that only this names, or
    others of them. They give nothing back: what does may be asked for by a name that a user
    gives, `getattr(models, name)`."""

    def __init__(self, unit: Unit) -> None:
        self.main = _main(unit)
        self.nodes: frozenset[cst.CSTNode] = frozenset()
        if self.main is not None:
            self.nodes = frozenset({self.main, *_functions(unit, self.main)})


def note(unit: Unit) -> None:
    """Write the check into the facts of the file."""
    unit.facts.self_tests = unit.kept(SelfTests).nodes


def _main(unit: Unit) -> cst.If | None:
    main = demonstration(unit.tree) if unit.contains("__main__") else None
    if main is None or holds("command-line-text", code(main)):
        return None
    importer = unit.context.importer
    return main if importer is not None and importer.is_imported(unit.source.path) else None


def _functions(unit: Unit, main: cst.If) -> set[cst.CSTNode]:
    importer, path = unit.context.importer, unit.source.path
    assert importer is not None
    own = {node.name.value: node for node in unit.tree.body if isinstance(node, cst.FunctionDef)}
    reached = {name: own[name] for name in _reached(main, own)}
    naming = _naming(unit.tree, reached.keys())
    taken = {
        name
        for name, node in reached.items()
        if importer.is_named_by_importers(name, path) or _is_for_others(node)
    }
    while True:  # what others need as well takes with it what it needs itself
        reached = {name: node for name, node in reached.items() if name not in taken}
        inside = {main, *reached.values()}
        taken = {name for name in reached if not naming[name] <= inside}
        if not taken:
            return {*reached.values()}


def _is_for_others(node: cst.FunctionDef) -> bool:
    """It gives something back, reads options or trains, or what is no part of torch decorates it:
    that may call it."""
    decorators = [each.decorator for each in node.decorators]
    names = [dotted(each.func if isinstance(each, cst.Call) else each) for each in decorators]
    if not all(name.startswith("torch.") for name in names) or _gives_back(node):
        return True
    text = code(node)
    return holds("command-line-text", text) or (".backward(" in text and ".step(" in text)


def _gives_back(node: cst.FunctionDef) -> bool:
    waiting: list[cst.CSTNode] = [node.body]
    while waiting:
        each = waiting.pop()
        if isinstance(each, cst.Return) and each.value is not None:
            return True
        if not isinstance(each, (cst.FunctionDef, cst.ClassDef, cst.BaseExpression)):
            waiting += parts(each)
    return False


def _reached(main: cst.If, functions: Mapping[str, cst.CSTNode]) -> set[str]:
    """What the main part names of these, and what these name in turn."""
    found: set[str] = set()
    waiting: list[cst.CSTNode] = [main]
    while waiting:
        new = {each.value for each in every(waiting.pop(), cst.Name)} & functions.keys() - found
        found |= new
        waiting += [functions[name] for name in new]
    return found


def _naming(tree: cst.Module, names: Collection[str]) -> defaultdict[str, set[cst.CSTNode]]:
    """By name: the statements of the file that name it."""
    naming: defaultdict[str, set[cst.CSTNode]] = defaultdict(set)
    for statement in tree.body:
        for each in every(statement, cst.Name):
            if each.value in names:
                naming[each.value].add(statement)
    return naming
