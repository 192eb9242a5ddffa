"""Where a class assigns an attribute, read from its source: what a plain attribute's report shows.

The line that made a tensor may lie elsewhere, in a layer's ``__init__`` for example.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import lru_cache

from runtime_guard.core.sites import Site


@lru_cache(maxsize=256)
def where_assigned(owner: type, name: str) -> Site | None:
    """The first ``self.name = …`` in the class ``owner`` or its bases; None without source."""
    for cls in inspect.getmro(owner):
        try:
            file = inspect.getfile(cls)
            lines, first = inspect.getsourcelines(cls)
            tree = ast.parse(textwrap.dedent("".join(lines)))
        except (OSError, TypeError, SyntaxError):
            continue
        for method in ast.walk(tree):
            if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) and method.args.args:
                found = _assignment(method, method.args.args[0].arg, name)
                if found is not None:
                    line, end = first + found.lineno - 1, first + (found.end_lineno or 1) - 1
                    return Site(file, line, end, method.name)
    return None


def _assignment(method: ast.AST, owner: str, name: str) -> ast.stmt | None:
    for node in ast.walk(method):
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for part in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
                    if (
                        isinstance(part, ast.Attribute)
                        and part.attr == name
                        and isinstance(part.value, ast.Name)
                        and part.value.id == owner
                    ):
                        return node
    return None
