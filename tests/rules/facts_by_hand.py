"""Facts by hand: a short source text, its expressions by their text, and operands on devices."""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.assumptions import Assumption, AssumptionKind, Assumptions
from devlint.inference.domain.placement import CPU, CUDA, Placement, Variable, VariableKind
from devlint.inference.facts import (
    Facts,
    Hotness,
    Loop,
    Meeting,
    MeetingKind,
    Move,
    Operand,
    Site,
    Step,
    StepKind,
)
from devlint.positions import lay_out
from devlint.project.source import ParsedFile
from devlint.rule import Claim, Rule

SELF = Variable("self", VariableKind.MODULE)
INPUT = Variable("x", VariableKind.INPUT)
CHOSEN = Variable("device", VariableKind.DEVICE)
FLEXIBLE = Variable("t", VariableKind.FLEXIBLE)


class Text(ParsedFile):
    """A source made of one text, with sites by the text of their nodes."""

    def site(self, text: str) -> Site:
        """The first outermost expression with this source, else the first statement."""
        for kinds in ((cst.BaseExpression,), (cst.BaseSmallStatement,)):
            nodes: list[cst.CSTNode] = [self.tree]
            while nodes:
                node = nodes.pop(0)
                if isinstance(node, kinds) and self.tree.code_for_node(node).strip() == text:
                    return Site(self, node)
                nodes.extend(node.children)
        raise AssertionError(f"no node {text!r}")


def source(text: str) -> Text:
    return Text("example.py", "example", False, text, cst.parse_module(text))


def operand(
    text: Text,
    name: str,
    placement: Placement,
    made: str = "",
    takes_device: bool = True,
    **traits: bool,
) -> Operand:
    """A value, made by a call that has a parameter `device`, if it is one that was made."""
    step = Step(StepKind.CREATED, text.site(made), "made here", takes_device) if made else None
    steps = (step,) if step is not None else ()
    return Operand(name, placement, text.site(name), steps, **traits)


def assumed(text: Text, kind: AssumptionKind = AssumptionKind.BRANCH_TAKEN) -> Assumptions:
    """One assumption, by default of those that leave a conclusion likely."""
    return (Assumption(kind, Site(text, text.tree), "it is so"),)


def meeting(left: Operand, right: Operand, at: Site, **fields: object) -> Meeting:
    usual = Meeting(
        site=at,
        kind=MeetingKind.OPERATION,
        operation="+",
        left=left,
        right=right,
        assumptions=(),
        in_module=False,
    )
    return usual._replace(**fields)


def move(text: Text, call: str, subject: Operand, **fields: object) -> Move:
    usual = Move(
        site=text.site(call),
        method="to",
        subject=subject,
        target=CUDA,
        of_module=False,
        discarded=False,
        non_blocking=False,
        loop=None,
        invariant=False,
        creation=None,
        target_node=None,
        guarded=False,
    )
    return usual._replace(**fields)


def loop(text: Text, head: str, hotness: Hotness = Hotness.HOT, feeds: bool = True) -> Loop:
    return Loop(text.site(head), head, hotness, feeds, 1)


def claims(rule: Rule, text: Text, **lists: list[object]) -> list[Claim]:
    return list(rule.check(Facts(text, **lists)))


def only(found: list[Claim]) -> Claim:
    assert len(found) == 1, found
    return found[0]


def fixed(text: Text, claim: Claim) -> str:
    """The text after the claim's fix."""
    spans = lay_out(text, [replacement.site.node for replacement in claim.fix]).spans
    code = text.text
    for replacement in sorted(claim.fix, key=lambda r: spans[r.site.node].start, reverse=True):
        span = spans[replacement.site.node]
        code = code[: span.start] + replacement.text + code[span.end :]
    cst.parse_module(code)
    return code


__all__ = [
    "CHOSEN",
    "CPU",
    "CUDA",
    "FLEXIBLE",
    "INPUT",
    "SELF",
    "Text",
    "claims",
    "fixed",
    "loop",
    "meeting",
    "move",
    "only",
    "operand",
    "source",
]
