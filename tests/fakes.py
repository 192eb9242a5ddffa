"""What tests share: a stand-in for inference and rules, so that the engine's tests need neither.

The fake inference notes every `a + b` as a meeting of two placements that contradict. The fake
rule DEV101 claims each; DEV303 claims every call of `sync`, as `performance` and `possible`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import libcst as cst

from devlint import engine
from devlint.config import Config
from devlint.findings import Confidence, Severity
from devlint.inference.domain.placement import CPU, CUDA
from devlint.inference.facts import Facts, Meeting, MeetingKind, Operand, Site, Sync
from devlint.knowledge import Knowledge
from devlint.project.imports import Importer
from devlint.project.source import ParsedFile
from devlint.report import Report
from devlint.rule import Claim, Note, Replacement, Rule

Tree = Callable[[Mapping[str, "str | bytes"]], Path]  # writes files, returns their root


def infer(parsed: ParsedFile, importer: Importer, knowledge: Knowledge) -> Facts:
    facts = Facts(parsed)
    nodes: list[cst.CSTNode] = [parsed.tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, cst.BinaryOperation):
            left = Operand("a", CPU, Site(parsed, node.left))
            right = Operand("b", CUDA, Site(parsed, node.right))
            site = Site(parsed, node)
            meeting = Meeting(site, MeetingKind.OPERATION, "+", left, right, (), False)
            facts.meetings.append(meeting)
        if isinstance(node, cst.Call) and getattr(node.func, "value", "") == "sync":
            operand = Operand("a", CUDA, Site(parsed, node))
            facts.syncs.append(Sync(Site(parsed, node), "sync()", operand, None, False))
        nodes.extend(node.children)
    return facts


def mixed(facts: Facts) -> Iterator[Claim]:
    for meeting in facts.meetings:
        yield Claim(
            meeting.site,
            Severity.ERROR,
            meeting.confidence,
            "`a` is on cpu, `b` is on cuda",
            "move `a` first",
            (Note(meeting.left.site, "`a` is on cpu: made here"),),
            (Replacement(meeting.left.site, "a.to(b.device)"),),
        )


def syncs(facts: Facts) -> Iterator[Claim]:
    for sync in facts.syncs:
        yield Claim(sync.site, Severity.PERFORMANCE, Confidence.LIKELY, "waits for the device")


def guesses(facts: Facts) -> Iterator[Claim]:
    for meeting in facts.meetings:
        yield Claim(meeting.site, Severity.WARNING, Confidence.POSSIBLE, "may be elsewhere")


def rule(code: str, name: str, severity: Severity, check: object) -> Rule:
    return Rule(
        code,
        name,
        severity,
        f"{name}.",
        "What.",
        "Why.",
        "",
        (),
        (),
        check,  # type: ignore[arg-type]
    )


MIXED = rule("DEV101", "mixed-device-operation", Severity.ERROR, mixed)
GUESSED = rule("DEV102", "cpu-tensor-meets-module-device", Severity.WARNING, guesses)
SYNC = rule("DEV303", "sync-in-loop", Severity.PERFORMANCE, syncs)


def all_rules() -> tuple[Rule, ...]:
    from devlint.suppression import RULES

    return (*RULES, MIXED, GUESSED, SYNC)


def check(root: Path, *names: str, **options: object) -> Report:
    """Check files of a project at `root` (default: all of it) with the fakes."""
    config = Config(root, **options)  # type: ignore[arg-type]
    paths = [root / name for name in names] or [root]
    return engine.check(paths, config, all_rules(), infer=infer)


def check_text(root: Path, text: str, **options: object) -> Report:
    (root / "x.py").write_text(text, encoding="utf-8")
    return check(root, "x.py", **options)
