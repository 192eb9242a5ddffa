"""How often a name is used in a function, and how often it is called there.

    def outer(x):
        def step(y): ...
        return step(step(x))

`step` is used three times, and called twice.
"""

from __future__ import annotations

from bisect import bisect_left

import libcst as cst

from devlint.inference.syntax.text import parts


class Names:
    """The names in a function and in those nested in it, by one walk."""

    def __init__(self, node: cst.CSTNode) -> None:
        self._uses: dict[str, list[int]] = {}  # at which step of the walk
        self._calls: dict[str, list[int]] = {}
        self._functions: dict[cst.CSTNode, tuple[int, int]] = {}  # from which step to which
        step = 0
        waiting: list[tuple[cst.CSTNode, int]] = [(node, -1)]
        while waiting:
            current, begun = waiting.pop()
            if begun >= 0:
                self._functions[current] = begun, step
                continue
            step += 1
            if isinstance(current, cst.Name):
                self._uses.setdefault(current.value, []).append(step)
                continue
            if isinstance(current, cst.Call) and isinstance(current.func, cst.Name):
                self._calls.setdefault(current.func.value, []).append(step)
            elif isinstance(current, (cst.FunctionDef, cst.Lambda)):
                waiting.append((current, step))
            waiting += [(part, -1) for part in parts(current)]

    def counts(self, function: cst.FunctionDef | cst.Lambda, name: str) -> tuple[int, int]:
        """How often a name is used in one of the functions, and how often it is called."""
        first, last = self._functions[function]
        uses, calls = (
            bisect_left(steps, last + 1) - bisect_left(steps, first)
            for steps in (self._uses.get(name, []), self._calls.get(name, []))
        )
        return uses, calls
