"""The rule that answers `reveal_device` (DEV004)."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Confidence, Severity
from devlint.inference.domain.placement import describe
from devlint.inference.facts import Facts, Placed, ValueKind, Whereabouts
from devlint.rule import Claim, Note, Rule


def _words(where: Whereabouts) -> str:
    if where.kind is ValueKind.DEVICE:
        return describe(where.placement)
    plural = "s" if where.held else ""
    return f"{where.kind.value}{plural} on {describe(where.placement)}"


def _answer(placed: Placed) -> str:
    """What is known of the value, with what is assumed."""
    if not placed.whereabouts:
        return f"of `{placed.name}` no device is known"
    words = " or ".join(dict.fromkeys(map(_words, placed.whereabouts)))
    assumed = dict.fromkeys(a.message for where in placed.whereabouts for a in where.assumptions)
    return f"`{placed.name}`: {words}" + (f", assuming {'; '.join(assumed)}" if assumed else "")


def _check(facts: Facts) -> Iterator[Claim]:
    for placed in facts.revealed:
        yield Claim(
            placed.site,
            Severity.PERFORMANCE,
            Confidence.CERTAIN,
            _answer(placed),
            trace=tuple(
                Note(step.site, step.text) for where in placed.whereabouts for step in where.steps
            ),
        )


RULE = Rule(
    code="DEV004",
    name="revealed-device",
    severity=Severity.PERFORMANCE,
    summary="The answer to `reveal_device(x)`: where `x` is, why, and what is assumed.",
    what="""\
Answers `devlint.reveal_device(x)`, as type checkers answer `reveal_type(x)`: on which device the
tensor or module is, by which steps it came there, and under which assumptions. It is answered
without an import, too. When the program runs, the imported function returns its argument and does
nothing else. `devlint infer` answers for every value of a file, and needs no such call.""",
    why="""\
Whoever does not believe a finding can ask step by step. It is a note of the least severity, so
that it fails no build by default; take the call out when you are done.""",
    reference="",
    bad=(
        """\
import torch
from devlint import reveal_device

x = torch.ones(3).cuda() if torch.cuda.is_available() else torch.ones(3)
reveal_device(x)
""",
        """\
import devlint
import torch


def scaled(x: torch.Tensor) -> torch.Tensor:
    return devlint.reveal_device(x * 2)
""",
        """\
import torch

x = torch.ones(3)
reveal_device(x)
""",
    ),
    good=(
        """\
def reveal_device(x):
    return x


reveal_device(3)
""",
    ),
    check=_check,
)
