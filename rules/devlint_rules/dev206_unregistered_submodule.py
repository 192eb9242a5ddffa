"""DEV206: modules in a plain list, tuple or dict."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.facts import Facts, PlainAttribute, Site
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers.assumptions import assume, called
from devlint_rules.helpers.attributes import assignment, use_of
from devlint_rules.helpers.rewrites import in_file, parsed, text_of


def _container(value: cst.BaseExpression) -> str:
    return "ModuleDict" if isinstance(value, (cst.Dict, cst.DictComp)) else "ModuleList"


def _package(facts: Facts, value: cst.CSTNode) -> str | None:
    """The name under which the file knows torch.nn, with a dot behind it."""
    text = facts.source.text
    if re.search(r"^(from torch import .*\bnn\b(?! as)|import torch\.nn as nn\b)", text, re.M):
        return "nn."
    if re.search(r"^import torch(\.nn)?\s*$", text, re.M):
        return "torch.nn."
    return next((name for name in ("torch.nn.", "nn.") if name in text_of(value)), None)


def _wrapped(value: cst.BaseExpression, package: str, holds: str = "") -> str | None:
    """`[nn.Linear(…), …]` as a `ModuleList`, a list in a list as one, too; None where something in
    it need not be a module. `holds` is what an inner container has to be made of."""
    if isinstance(value, (cst.List, cst.Tuple)):
        parts = [element.value for element in value.elements]
    elif isinstance(value, cst.ListComp):
        parts = [value.elt]
    elif isinstance(value, cst.DictComp):
        parts = [value.value]
    elif isinstance(value, cst.Dict):
        parts = [element.value for element in value.elements]
    else:
        return None
    if holds and not all(text_of(part).startswith(holds) for part in parts):
        return None
    plain: cst.BaseExpression = cst.List(value.elements) if isinstance(value, cst.Tuple) else value
    for part in parts:
        if isinstance(part, (cst.List, cst.Tuple, cst.Dict, cst.ListComp, cst.DictComp)):
            inner = _wrapped(part, package, package)
            if inner is None:
                return None
            changed = plain.deep_replace(part, parsed(inner))
            assert isinstance(changed, cst.BaseExpression)
            plain = changed
    return f"{package}{_container(value)}({text_of(plain) if parts else ''})"


def _fix(facts: Facts, fact: PlainAttribute) -> tuple[Replacement, ...]:
    """`self.layers = [nn.Linear(…), …]` becomes `self.layers = nn.ModuleList([…])`."""
    statement = assignment(facts, fact)
    if fact.method != "__init__" or not in_file(facts, fact.site):
        return ()
    value = fact.site.node if statement is None else statement.value
    if not isinstance(value, cst.BaseExpression):
        return ()
    if value.lpar and not isinstance(value, cst.Tuple):
        return ()
    package = _package(facts, value)
    text = _wrapped(value, package) if package is not None else None
    if text is None:
        return ()
    if isinstance(value, cst.Tuple) and statement is not None:  # its parentheses go as well
        changed = statement.with_changes(value=parsed(text))
        return (Replacement(Site(facts.source, statement), text_of(changed)),)
    return (Replacement(Site(facts.source, value), text),)


def _check(facts: Facts) -> Iterator[Claim]:
    for fact in facts.plain_attributes:
        if not fact.of_modules or fact.excused:
            continue
        statement = assignment(facts, fact)
        wanted = "ModuleList" if statement is None else _container(statement.value)
        assumed = assume(
            AssumptionKind.MODULE_IS_IN_USE, fact.site, "the module is moved, trained or saved"
        )
        assumed += called(facts, fact.site)
        yield Claim(
            fact.site,
            Severity.ERROR,
            confidence_of(assumed),
            f"`self.{fact.attribute}` of `{fact.class_name}` keeps modules in a plain container: "
            "`Module.to`, `parameters()` and `state_dict` pass them by",
            advice=f"register them: `self.{fact.attribute} = nn.{wanted}(…)`",
            trace=use_of(fact),
            fix=_fix(facts, fact),
            applicability=Applicability.UNSAFE,
            assumptions=assumed,
        )


RULE = Rule(
    code="DEV206",
    name="unregistered-submodule",
    severity=Severity.ERROR,
    summary="Modules in a plain list, tuple or dict.",
    what="""\
Reports an `nn.Module` that keeps other modules in a plain list, tuple or dict, instead of an
`nn.ModuleList` or `nn.ModuleDict`.""",
    why="""\
A module finds its submodules among its attributes; it does not look into plain containers. Their
parameters are not moved by `Module.to`, not given to the optimizer by `parameters()`, and not
saved. On an accelerator the first of them raises; on the CPU they silently are not trained.""",
    reference="https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html",
    bad=(
        """\
from torch import nn


class Stack(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = [nn.Linear(8, 8) for _ in range(depth)]

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
""",
        """\
from torch import nn


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = {"mean": nn.Linear(8, 1), "scale": nn.Linear(8, 1)}

    def forward(self, x, name):
        return self.heads[name](x)
""",
        """\
from torch import nn


class Tower(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.blocks = []
        for width in widths:
            self.blocks.append(nn.Linear(width, width))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
""",
    ),
    good=(
        """\
from torch import nn


class Stack(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
""",
        """\
from torch import nn


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({"mean": nn.Linear(8, 1), "scale": nn.Linear(8, 1)})

    def forward(self, x, name):
        return self.heads[name](x)
""",
        """\
from torch import nn


class Tower(nn.Module):
    def __init__(self, widths):
        super().__init__()
        blocks = []
        for width in widths:
            blocks.append(nn.Linear(width, width))
        self.body = nn.Sequential(*blocks)

    def forward(self, x):
        return self.body(x)
""",
    ),
    check=_check,
    fix="""\
Wraps the container, and those in it, in `nn.ModuleList` or `nn.ModuleDict`. Unsafe: it changes the
`state_dict` and what the optimizer trains.""",
    twin="""\
After `Module.to` the guard looks for modules in plain attributes that stayed where they were.""",
    limits="""\
A list that holds modules registered elsewhere in the class too is not told apart where the
registration is out of sight. Modules kept in a plain list on purpose, to keep them out of
`parameters()`, deserve a suppression with that reason.""",
)
