"""DEV206: modules in a plain list, tuple or dict."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.findings import Applicability, Confidence, Severity
from devlint.inference.facts import Facts, PlainAttribute, Site
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.attributes import assignment, use_of
from devlint_rules.rewriting import text_of


def _container(value: cst.BaseExpression) -> str:
    return "ModuleDict" if isinstance(value, (cst.Dict, cst.DictComp)) else "ModuleList"


def _holds_containers(value: cst.List | cst.ListComp | cst.Dict | cst.DictComp) -> bool:
    """`[[nn.Linear(…), nn.ReLU()], …]`."""
    if isinstance(value, cst.ListComp):
        parts = [value.elt]
    elif isinstance(value, cst.DictComp):
        parts = [value.value]
    else:
        parts = [element.value for element in value.elements]
    containers = (cst.List, cst.Tuple, cst.Dict, cst.ListComp, cst.DictComp)
    return any(isinstance(part, containers) for part in parts)


def _fix(facts: Facts, fact: PlainAttribute) -> tuple[Replacement, ...]:
    """`self.layers = [nn.Linear(…), …]` becomes `self.layers = nn.ModuleList([…])`."""
    statement = assignment(facts, fact)
    if statement is None or fact.method != "__init__":
        return ()
    value = statement.value
    if not isinstance(value, (cst.List, cst.ListComp, cst.Dict, cst.DictComp)) or value.lpar:
        return ()
    if _holds_containers(value):
        return ()  # each of them would have to be registered, too
    text = text_of(value)
    package = "torch.nn." if "torch.nn." in text else "nn." if "nn." in text else None
    if package is None:  # the name under which this file knows torch.nn is not in sight
        return ()
    return (Replacement(Site(facts.source, value), f"{package}{_container(value)}({text})"),)


def _check(facts: Facts) -> Iterator[Claim]:
    for fact in facts.plain_attributes:
        if not fact.of_modules or fact.excused:
            continue
        statement = assignment(facts, fact)
        wanted = "ModuleList" if statement is None else _container(statement.value)
        yield Claim(
            fact.site,
            Severity.ERROR,
            Confidence.LIKELY,
            f"`self.{fact.attribute}` of `{fact.class_name}` keeps modules in a plain container: "
            "`Module.to`, `parameters()` and `state_dict` pass them by",
            advice=f"register them: `self.{fact.attribute} = nn.{wanted}(…)`",
            trace=use_of(fact),
            fix=_fix(facts, fact),
            applicability=Applicability.UNSAFE,
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
Wraps the container in `nn.ModuleList` or `nn.ModuleDict`. Unsafe: it changes the `state_dict` and
what the optimizer trains.""",
    twin="""\
After `Module.to` the guard looks for modules in plain attributes that stayed where they were.""",
    limits="""\
A list that holds modules registered elsewhere in the class too is not told apart where the
registration is out of sight. Modules kept in a plain list on purpose, to keep them out of
`parameters()`, deserve a suppression with that reason.""",
)
