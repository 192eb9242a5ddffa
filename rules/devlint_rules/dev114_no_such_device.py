"""DEV114: an object is asked for a device that nothing gives it."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.facts import Facts, MissingDevice
from devlint.rule import Claim, Note, Rule
from devlint_rules.helpers.assumptions import assume, function_is_called
from devlint_rules.helpers.rewrites import text_of
from devlint_rules.helpers.wording import MAX_TWINS, and_more


def _check(facts: Facts) -> Iterator[Claim]:
    for fact in facts.missing_devices:
        assumed = assume(
            AssumptionKind.ATTRIBUTE_IS_GIVEN_NOWHERE,
            fact.site,
            f"nothing out of sight gives `{fact.class_name}` its `{fact.attribute}`",
        ) + function_is_called(facts, fact.site)
        read = text_of(fact.site.node)
        has_none = ": a module has none of its own" if fact.is_module else ""
        yield Claim(
            fact.site,
            Severity.ERROR,
            confidence_of(assumed),
            f"`{read}` is read{and_more(len(fact.others))}, and nothing gives "
            f"`{fact.class_name}` a `{fact.attribute}`{has_none}",
            advice=_advice(fact),
            trace=tuple(Note(site, "it is read here, too") for site in fact.others[:MAX_TWINS]),
            assumptions=assumed,
        )


def _advice(fact: MissingDevice) -> str:
    if fact.at_hand:
        return f"take the device of what comes in: `{fact.at_hand}.device`"
    read = text_of(fact.site.node)
    owner = read.rpartition(".")[0]
    if fact.has_parameters:
        return f"take that of its parameters: `next({owner}.parameters()).device`"
    return f"let the constructor take a device and keep it as `{read}`"


RULE = Rule(
    code="DEV114",
    name="no-such-device",
    severity=Severity.ERROR,
    summary="`self.device` is read, and nothing gives the object one: a module has none.",
    what="""\
Reports a method that reads `self.device`, or another attribute that is a device by its name or by
what it is given to (`device=self.place`), where neither the class, nor its bases and subclasses,
nor any code of the project gives its objects such an attribute.""",
    why="""\
An `nn.Module` has parameters and buffers, each with a device, and no device of its own: they may be
on several. So `self.device` raises `AttributeError: 'Head' object has no attribute 'device'` when
the line is reached, which no import and no constructor shows. Code that came from a class that has
one (a `PreTrainedModel`, a `LightningModule`) does not tell.""",
    reference="https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html",
    bad=(
        """\
import torch
from torch import nn
from torch.nn.functional import cross_entropy


class SmoothLoss(nn.Module):
    def __init__(self, factor=0.5):
        super().__init__()
        self.factor = factor

    def forward(self, logits, target):
        weight = torch.ones(logits.shape[-1], device=self.device)
        return self.factor * cross_entropy(logits, target, weight)
""",
        """\
import torch
from torch import nn


class Sampler(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.project = nn.Linear(width, width)

    def sample(self, count):
        noise = torch.randn(count, self.project.in_features).to(self.device)
        return self(noise)

    def forward(self, x):
        return self.project(x)
""",
        """\
import torch


class Padding:
    def __init__(self, value):
        self.value = value

    def __call__(self, rows):
        padded = torch.full((len(rows), max(map(len, rows))), self.value)
        for index, row in enumerate(rows):
            padded[index, : len(row)] = torch.as_tensor(row)
        return padded.to(self.device)


print(Padding(0)([[1, 2, 3], [4]]))
""",
    ),
    good=(
        """\
import torch
from torch import nn
from torch.nn.functional import cross_entropy


class SmoothLoss(nn.Module):
    def __init__(self, factor=0.5):
        super().__init__()
        self.factor = factor

    def forward(self, logits, target):
        weight = torch.ones(logits.shape[-1], device=logits.device)
        return self.factor * cross_entropy(logits, target, weight)
""",
        """\
import torch
from torch import nn


class Sampler(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.project = nn.Linear(width, width)

    @property
    def device(self):
        return next(self.parameters()).device

    def sample(self, count):
        noise = torch.randn(count, self.project.in_features).to(self.device)
        return self(noise)

    def forward(self, x):
        return self.project(x)
""",
        """\
import torch
from torch import nn


class Noise(nn.Module):
    def forward(self, x):
        return x + torch.randn(x.shape, device=self.device)


noise = Noise()
noise.device = torch.device("cuda")
""",
    ),
    check=_check,
    twin="""\
None: Python raises an `AttributeError` where the line is reached, on every machine.""",
    limits="""\
Only where all bases are in sight, or are such of torch as have no device; silent where the class
has attributes whose names it works out (`setattr(self, name, value)`, `__getattr__`), asks for the
attribute by its name (`hasattr(self, "device")`) or tries to read it, and of a class that is half
of another: with abstract methods, a module without `forward`, or a plain class that its file does
not call.""",
)
