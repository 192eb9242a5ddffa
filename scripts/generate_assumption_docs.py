#!/usr/bin/env python3
"""Write `docs/assumptions.md`, the kinds of assumptions and weights; `--check` writes nothing.

With `--check` it exits with 1 if the page is missing or stale.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import generated_pages

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "assumptions.md"

sys.path[:0] = [str(ROOT)]

from devlint.inference.confidence.policy import BESIDE_ANOTHER, LEFT_OPEN, OF_CALLERS  # noqa: E402
from devlint.inference.domain.assumptions import AssumptionKind  # noqa: E402
from devlint.reporters.assumptions import table  # noqa: E402


def listed(kinds: frozenset[AssumptionKind]) -> str:
    return textwrap.fill(", ".join(f"`{each}`" for each in sorted(k.value for k in kinds)), 100)


TEXT = f"""\
# Assumptions

Generated from `devlint/inference/` by `scripts/generate_assumption_docs.py`.
`devlint explain --assumptions` prints the list.

Code seldom says everything: whether a function is called with tensors on an accelerator, whether a
library returns its result where its arguments were, whether `net` is a model. Where devlint has to
take such a thing for granted, it notes an *assumption*, with the place that caused it. A finding is
as sure as its assumptions leave it; without any it is `certain`. The text report says them
(`= assuming: ...`) under every finding that is less than certain, the JSON report has them under
`assumptions`.

A kind that does not hold in a project is turned off: findings that rest on it are not made. One
that does hold is turned on: it lowers no confidence.

```toml
[tool.devlint.assume]
name-suggests-model = false
script-runs-on-accelerator = true
```

A weight is the share of findings that are to be right, of those that rest on the assumption.
Findings of at least 0.97 are `certain`, of at least 0.85 `likely`, of at least 0.50 `possible`;
below that devlint says nothing. The weights are estimates, weighed on code with known bugs: where
there are few bugs, fewer findings are right ([what was
measured](benchmark.md#how-often-a-finding-is-right)). A finding is as sure as the weakest of its
assumptions. Some kinds hold by themselves, and beside any other one a finding is `possible`:
{listed(frozenset(BESIDE_ANOTHER))}.

What rests on callers out of sight breaks for some of them, and works for others: it is a warning,
though its rule reports errors. Where a call in sight hands in a tensor on an accelerator, or the
kind is turned on, it is an error. These kinds are meant:
{listed(OF_CALLERS)}.

So it is with what the code in sight leaves open, which branch runs, whether a module is moved or
what becomes of a value in code out of sight: in projects that nobody had looked at, few of the
errors that rested on it were.
These kinds are meant:
{listed(LEFT_OPEN)}.

"""


def main(arguments: list[str]) -> int:
    return generated_pages.update({PAGE: TEXT + table()}, Path(__file__).name, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
