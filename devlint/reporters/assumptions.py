"""The kinds of assumptions for people: `devlint explain --assumptions` and docs/assumptions.md."""

from __future__ import annotations

from devlint.inference.confidence.policy import WEIGHTS, confidence
from devlint.inference.domain.assumptions import MEANINGS, AssumptionKind
from devlint.terminal import styler


def listing(color: bool = False) -> str:
    """Each kind with how sure it leaves a finding at most, and what it takes for granted."""
    style = styler(color)
    longest = max(len(kind.value) for kind in AssumptionKind)
    lines = [
        f"{style(kind.value, 'bold')}{' ' * (longest - len(kind.value))}  "
        f"{_at_most(kind):<8}  {MEANINGS[kind]}"
        for kind in AssumptionKind
    ]
    return "\n".join(lines) + "\n"


def table() -> str:
    """The same as a table in Markdown, with the weights."""
    rows = [
        f"| `{kind.value}` | {WEIGHTS[kind]:.2f} | {_at_most(kind)} | {MEANINGS[kind]} |"
        for kind in AssumptionKind
    ]
    head = "| kind | weight | at most | takes for granted |\n| --- | --- | --- | --- |"
    return "\n".join([head, *rows]) + "\n"


def _at_most(kind: AssumptionKind) -> str:
    sure = confidence([kind])
    return "nothing" if sure is None else sure.value
