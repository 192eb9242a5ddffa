"""Given some code: what the inference makes of it, as short strings that a test can list.

`reveal(x)` in a snippet asks where `x` lives at that point, as `reveal_type` does of types. It is
written as a move to a numbered meta device, whose fact then tells where its subject was.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path, PurePosixPath
from textwrap import dedent

import libcst as cst

from devlint.inference.api import infer_file
from devlint.inference.call_contexts import Feeds, Verdict
from devlint.inference.conventions import is_rebound
from devlint.inference.domain.assumptions import (
    SHOWN_BY_CALLS,
    Assumption,
    AssumptionKind,
    Assumptions,
)
from devlint.inference.domain.placement import Device, Placement
from devlint.inference.facts import Facts, HostRead, Meeting, Operand
from devlint.inference.syntax import text
from devlint.project.attributes import Attributes
from devlint.project.mentions import has_moving_data, most_demand_cuda, sets_option
from devlint.project.programs import SETS_DEFAULT
from devlint.project.reachability import Reaching
from devlint.project.source import ParsedFile

PRELUDE = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"


def describe(placement: Placement) -> str:
    """A placement as the tests write it: `cpu`, `δ(self)`."""
    return "an unknown device" if placement is None else str(placement)


def parsed(path: str, code: str) -> ParsedFile:
    """A file of the project, with torch, nn and F imported."""
    numbers = iter(range(code.count("reveal(")))
    tree = cst.parse_module(PRELUDE + dedent(code))
    if "reveal(" in code:
        tree = tree.visit(_Reveals(numbers))
    pure = PurePosixPath(path)
    is_package = pure.stem == "__init__"
    dotted = ".".join(pure.parent.parts if is_package else pure.with_suffix("").parts)
    return ParsedFile(path, dotted, is_package, tree.code, tree)


class _Reveals(cst.CSTTransformer):
    def __init__(self, numbers) -> None:
        self.numbers = numbers

    def visit_Call(self, node: cst.Call) -> None:
        # numbered on the way down, which is the order of the source
        if isinstance(node.func, cst.Name) and node.func.value == "reveal":
            self.pending = [*getattr(self, "pending", []), next(self.numbers)]

    def leave_Call(self, node: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        if not (isinstance(node.func, cst.Name) and node.func.value == "reveal"):
            return updated
        subject = updated.args[0].value
        number = self.pending.pop()
        target = cst.SimpleString(f'"meta:{number}"')
        return cst.Call(cst.Attribute(_atom(subject), cst.Name("to")), [cst.Arg(target)])

    def leave_Expr(self, node: cst.Expr, updated: cst.Expr) -> cst.BaseSmallStatement:
        """A discarded move may be taken for one of a module: keep the result."""
        if text.dotted(getattr(node.value, "func", node.value)) != "reveal":
            return updated
        return cst.Assign([cst.AssignTarget(cst.Name("_"))], updated.value)


def _atom(node: cst.BaseExpression) -> cst.BaseExpression:
    if isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) or node.lpar:
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


class Files:
    """The project's files by their paths: what imports find."""

    def __init__(self, files: dict[str, ParsedFile]) -> None:
        self.modules = {file.module_name: file for file in files.values()}

    def load(self, dotted: str) -> ParsedFile | None:
        return self.modules.get(dotted)

    def find(self, dotted: str) -> ParsedFile | None:
        return self.modules.get(dotted)

    def needs_cuda(self, path: str) -> bool:
        return False

    def programs_choose_default_device(self, path: str) -> bool:
        return False

    def programs_offer_host(self, path: str) -> bool:
        return False

    def is_imported(self, path: str) -> bool:
        word = re.compile(rf"^\s*(from|import)\b.*\b{Path(path).stem}\b", re.M)
        return any(word.search(f.text) for f in self.modules.values() if f.path != path)

    def callers_demand_cuda(self, name: str, path: str) -> bool:
        return False

    def is_named_by_importers(self, name: str, path: str) -> bool:
        return self.is_named_elsewhere(name, path)

    def is_named_elsewhere(self, name: str, path: str) -> bool:
        word = re.compile(rf"\b{name}\b")
        return any(word.search(f.text) for f in self.modules.values() if f.path != path)

    def reaches(self, name: str, path: str) -> bool:
        texts = {Path(f.path): f.text.encode() for f in self.modules.values()}
        installed = not self.is_application()
        return Reaching(Path(), texts, installed).reaches(name, Path(path))

    def looks_names_up(self, path: str) -> bool:
        texts = {Path(f.path): f.text.encode() for f in self.modules.values()}
        return Reaching(Path(), texts, not self.is_application()).looks_names_up(Path(path))

    def serves_readers(self, name: str, path: str) -> bool:
        texts = {Path(f.path): f.text.encode() for f in self.modules.values()}
        return Reaching(Path(), texts, not self.is_application()).serves_readers(name, Path(path))

    def rebinds_elsewhere(self, attribute: str, path: str) -> bool:
        owner, _, name = attribute.partition(".")
        return any(
            owner in f.text and is_rebound(f.text, name)
            for f in self.modules.values()
            if f.path != path
        )

    def gives_elsewhere(self, attribute: str, path: str) -> bool:
        texts = {Path(file.path): file.text.encode() for file in self.modules.values()}
        return Attributes(texts).gives(attribute, Path(path))

    def sets_option(self, option: str) -> bool:
        return any(sets_option(file.text.encode(), option) for file in self.modules.values())

    def moves_data(self) -> bool:
        texts = (file.text.encode() for file in self.modules.values())
        return any(map(has_moving_data, texts))

    def is_application(self) -> bool:
        texts = [file.text for file in self.modules.values()]
        runs = any("if __name__ ==" in text for text in texts)
        return runs and not any(file.path == "setup.py" for file in self.modules.values())

    def is_for_cuda(self) -> bool:
        return most_demand_cuda(file.text.encode() for file in self.modules.values())

    def chooses_card(self) -> bool:
        return any("cuda.set_device(" in file.text for file in self.modules.values())

    def saves_from_host(self) -> bool:
        return False

    def settings(self, path: str) -> dict[str, str]:
        texts = {name: file.text for name, file in self.modules.items()}
        return {name: text for name, text in texts.items() if SETS_DEFAULT.search(text.encode())}


def given(code: str, files: dict[str, str] | None = None, path: str = "main.py") -> Facts:
    """The facts about a snippet. `files`: other files of its project, code by path."""
    file = parsed(path, code)
    project = {name: parsed(name, content) for name, content in (files or {}).items()}
    return infer_file(file, Files({**project, path: file}))


def _at(operand: Operand) -> str:
    return f"{operand.name}@{describe(operand.placement)}"


def meetings(facts: Facts) -> list[str]:
    """`mask@cpu + x@δ(self) likely`, with the kind in front where it is no plain operation."""
    return [
        (f"{m.kind.value}: " if m.kind.value != "operation" else "")
        + f"{_at(m.left)} {m.operation} {_at(m.right)} {m.confidence.value}"
        + (" caught" if m.caught else "")
        + (f" inside {text.shorten(m.inside.node)}" if m.inside is not None else "")
        for m in facts.meetings
    ]


def reveals(facts: Facts) -> list[str]:
    """Where each `reveal(…)` found its value, in the order of the source; `?` for unknown.

    A value that may be in several places shows them all: `cpu | cuda`. A value that the inference
    does not know to be a tensor is `no tensor`.
    """
    count = _reveal_count(facts)
    found: dict[int, list[str]] = {}
    for move in facts.moves:
        if _is_reveal(move.target):
            place = move.subject.placement
            shown = "?" if place is None else str(place)
            places = found.setdefault(move.target.index, [])
            if shown not in places:
                places.append(shown)
    return [" | ".join(sorted(found.get(i, ["no tensor"]))) for i in range(count)]


def revealed(code: str, files: dict[str, str] | None = None) -> list[str]:
    """Where the values lie that the code asks to reveal."""
    return reveals(given(code, files))


def met(code: str, files: dict[str, str] | None = None) -> list[str]:
    """The contradictions in the code."""
    return meetings(given(code, files))


def settled(code: str, files: dict[str, str] | None = None) -> Facts:
    """The facts, given what all calls of the project hand to its functions."""
    project = {"main.py": code, **(files or {})}
    facts = {path: given(text, project, path) for path, text in project.items()}
    feeds = Feeds(feed for each in facts.values() for feed in each.feeds)
    found = facts["main.py"]
    for kept in (found.meetings, found.host_reads):
        kept[:] = [
            fact
            if fact.given is None
            else fact._replace(assumptions=after(feeds.verdict(fact.given), fact))
            for fact in kept
        ]
    return found


def after(verdict: Verdict, fact: Meeting | HostRead) -> Assumptions:
    """What a fact rests on, now that calls were seen."""
    shown = AssumptionKind.CALLER_IS_ACCELERATED
    kept = [
        replace(each, kind=shown) if verdict.rises and each.kind in SHOWN_BY_CALLS else each
        for each in fact.assumptions
        if not (verdict.is_shown and each.kind is shown)
    ]
    against = [Assumption(kind, fact.site, message) for kind, message in verdict.against]
    return (*kept, *against)


def _is_reveal(target: object) -> bool:
    return isinstance(target, Device) and target.type == "meta" and target.index is not None


def _reveal_count(facts: Facts) -> int:
    return len(set(re.findall(r'\.to\("meta:(\d+)"\)', facts.source.text)))


def moves(facts: Facts) -> list[str]:
    """`x: cpu -> cuda`, with what is special about the move behind it."""
    return [
        ("module " if m.of_module else "")
        + f"{m.subject.name}: {describe(m.subject.placement)} -> {describe(m.target)}"
        + (" non-blocking" if m.non_blocking else "")
        + (" discarded" if m.discarded and not m.of_module else "")
        + (" invariant" if m.invariant else "")
        for m in facts.moves
        if not _is_reveal(m.target)
    ]


def syncs(facts: Facts) -> list[str]:
    """`.item() of loss@cuda`."""
    return [f"{s.call} of {_at(s.operand)}" for s in facts.syncs]


def host_reads(facts: Facts) -> list[str]:
    """`.numpy() of x@cuda certain`."""
    return [f"{r.sink} of {_at(r.operand)} {r.confidence.value}" for r in facts.host_reads]


def undetached(facts: Facts) -> list[str]:
    """`.numpy() of x.cpu()@cpu certain`."""
    return [f"{r.sink} of {_at(r.operand)} {r.confidence.value}" for r in facts.undetached_reads]


def hidden_copies(facts: Facts) -> list[str]:
    """`index perm@cpu of x@cuda`."""
    return [f"{h.what} {_at(h.operand)} of {_at(h.base)}" for h in facts.hidden_copies]


def plain_attributes(facts: Facts) -> list[str]:
    """`Net.mask@cpu`, with `(modules)` for a container of them."""
    return [
        f"{p.class_name}.{p.attribute}@{describe(p.operand.placement)}"
        + (" (modules)" if p.of_modules else "")
        + (f" overwrites {p.overwrites}" if p.overwrites else "")
        for p in facts.plain_attributes
    ]
